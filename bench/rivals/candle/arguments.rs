//! What both programs take: `--threads N`, `--only NAME` (as often as wanted), and what is left.

/// The arguments that every rival understands.
pub struct Arguments {
    only: Vec<String>,
    samples: Option<usize>,
    /// What is no option.
    pub rest: Vec<String>,
}

impl Arguments {
    /// Reads the command line and sets the thread count, which candle takes from the environment.
    pub fn read() -> Result<Self, String> {
        let mut found = Self {
            only: Vec::new(),
            samples: None,
            rest: Vec::new(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = |name: &str| words.next().ok_or(format!("{name} needs a value"));
            match word.as_str() {
                "--threads" => set_threads(&value("--threads")?)?,
                "--only" => found.only.push(value("--only")?),
                "--samples" => found.samples = Some(count(&value("--samples")?)?),
                "--tsv" => {}
                option if option.starts_with('-') => {
                    return Err(format!("unknown option {option}"));
                }
                _ => found.rest.push(word),
            }
        }
        Ok(found)
    }

    /// Whether the measurement of this name is asked for; `by_default` without any `--only`.
    pub fn wants(&self, name: &str, by_default: bool) -> bool {
        match self.only.is_empty() {
            true => by_default,
            false => self.only.iter().any(|only| only == name),
        }
    }

    /// How many samples to take the median of.
    pub fn samples(&self, by_default: usize) -> usize {
        self.samples.unwrap_or(by_default)
    }
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`{text}` is no count above zero")),
    }
}

fn set_threads(text: &str) -> Result<(), String> {
    let threads = count(text)?.to_string();
    for variable in ["RAYON_NUM_THREADS", "CANDLE_NUM_THREADS"] {
        // SAFETY: called at the start of main, before any other thread exists.
        unsafe { std::env::set_var(variable, &threads) };
    }
    Ok(())
}

/// The middle of the samples.
pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
