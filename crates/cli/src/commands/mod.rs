//! The commands of the program: one file and one line in this table each.
//!
//! A command's file has its arguments, with an example for `--help`, and `run`.

macro_rules! commands {
    ($($(#[$attribute:meta])* $variant:ident($module:ident),)*) => {
        $(mod $module;)*

        /// What the program can do.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])* $variant($module::Arguments),)*
        }

        impl Command {
            /// Does it.
            pub(crate) fn run(&self) -> crate::error::Result<()> {
                match self {
                    $(Self::$variant(arguments) => arguments.run(),)*
                }
            }
        }
    };
}

commands! {
    Run(run),
    Chat(chat),
    Pull(pull),
    List(list),
    Inspect(inspect),
    Quantize(quantize),
    Tokenize(tokenize),
    Perplexity(perplexity),
    Devices(devices),
    Cache(cache),
    Bench(bench),
}

pub(crate) use devices::about as about_gpu;

/// How to choose the next token, for the commands that answer.
#[derive(Debug, clap::Args)]
struct SamplingArguments {
    /// Tokens of the answer at most.
    #[arg(long, default_value_t = 512)]
    max_tokens: usize,
    /// Divides the logits; 0 always takes the likeliest token (greedy).
    #[arg(long, default_value_t = 0.0)]
    temperature: f32,
    /// Keep the K likeliest tokens; 0 keeps all.
    #[arg(long, value_name = "K", default_value_t = 0)]
    top_k: usize,
    /// Keep the fewest tokens whose probabilities reach P together; 1 keeps all.
    #[arg(long, value_name = "P", default_value_t = 1.0)]
    top_p: f32,
    /// Keep tokens that are at least P times as likely as the likeliest; 0 keeps all.
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    min_p: f32,
    /// Makes recent tokens less likely; 1 does nothing.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    repeat_penalty: f32,
    /// Where the random numbers start: the same seed gives the same answer.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl SamplingArguments {
    fn options(&self) -> tallow_llm::GenerateOptions {
        tallow_llm::GenerateOptions {
            max_tokens: self.max_tokens,
            sampling: tallow_llm::sampling::SamplingOptions {
                temperature: self.temperature,
                top_k: self.top_k,
                top_p: self.top_p,
                min_p: self.min_p,
                repeat_penalty: self.repeat_penalty,
                seed: self.seed,
                ..Default::default()
            },
            ..Default::default()
        }
    }
}

/// An error if something other than a file stands at `path`: a device, a pipe or a folder cannot
/// be replaced by a file that appears whole.
fn refuse_special_file(path: &std::path::Path) -> crate::error::Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(crate::error::Error::Text(format!(
            "write {}: it is no regular file; name a file",
            path.display()
        ))),
        _ => Ok(()),
    }
}
