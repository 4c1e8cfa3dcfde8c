//! What a bench program writes: one line a measurement, its name, a tab, then microseconds.
//!
//! Other lines are talk (a device's name, a warning) and are passed over. A name that comes twice
//! is an error: nobody could say which of the two counts.

/// The measurements of one run, in the order in which they came.
pub(super) fn parse(output: &str) -> Result<Vec<(String, f64)>, String> {
    let mut found: Vec<(String, f64)> = Vec::new();
    for line in output.lines() {
        let Some((name, value)) = line.split_once('\t') else {
            continue;
        };
        let value: f64 = value
            .trim()
            .parse()
            .map_err(|_| format!("`{line}` has no number of microseconds behind its tab"))?;
        if !(value.is_finite() && value > 0.0) {
            return Err(format!("`{line}` is no time: it must be above zero"));
        }
        if found.iter().any(|(known, _)| known == name) {
            return Err(format!("`{name}` comes twice in one run"));
        }
        found.push((name.to_owned(), value));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn measurements_are_read_and_talk_is_passed_over() {
        let found = parse("2 threads\nexp_4M\t663.7\nadd_4M\t  983\n\n");
        let expected = [("exp_4M".to_owned(), 663.7), ("add_4M".to_owned(), 983.0)];
        assert_eq!(found.as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for output in [
            "exp\tfast",
            "exp\t0",
            "exp\t-1",
            "exp\tinf",
            "exp\tNaN",
            "exp\t",
        ] {
            assert!(parse(output).is_err(), "{output}");
        }
    }

    #[test]
    fn a_name_that_comes_twice_is_refused() {
        assert!(parse("exp\t1\nexp\t2\n").is_err());
    }
}
