//! What follows the question mark of `demo:wave?...`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::SourceError;

/// How the simulation runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Options {
    /// Samples per edge.
    pub(super) n: usize,
    /// Solver steps per published step.
    pub(super) every: u32,
    /// Published steps per second, at most.
    pub(super) rate: f64,
    /// Solver threads.
    pub(super) threads: usize,
    /// Moving sources.
    pub(super) sources: usize,
    /// Bytes of published steps kept.
    pub(super) history_bytes: usize,
}

const ACCEPTED: &str = "accepted are n=16..512 (samples per edge), every=1..1000 (solver steps per published step), \
rate=0.1..1000 (published steps per second), threads=1..256, sources=1..16, history=1..65536 (MiB)";

impl Options {
    pub(super) fn parse(url: &str) -> Result<Self, SourceError> {
        let wrong = |problem: String| SourceError::Option { url: url.to_owned(), problem };
        let (name, query) = url.split_once('?').unwrap_or((url, ""));
        if name != "demo:wave" {
            return Err(wrong("there is no such demo: the one there is, is demo:wave".to_owned()));
        }
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(256));
        let mut options = Self { n: 128, every: 4, rate: 12.0, threads, sources: 5, history_bytes: 256 << 20 };
        for option in query.split('&').filter(|option| !option.is_empty()) {
            options.set(option).map_err(wrong)?;
        }
        Ok(options)
    }

    fn set(&mut self, option: &str) -> Result<(), String> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match key {
            "n" => self.n = within(option, value, 16..=512)?,
            "every" => self.every = within(option, value, 1..=1000)?,
            "rate" => self.rate = within(option, value, 0.1..=1000.0)?,
            "threads" => self.threads = within(option, value, 1..=256)?,
            "sources" => self.sources = within(option, value, 1..=16)?,
            "history" => self.history_bytes = within(option, value, 1..=65536)? << 20,
            _ => return Err(format!("unknown option '{key}'; {ACCEPTED}")),
        }
        Ok(())
    }
}

fn within<T: FromStr + PartialOrd>(option: &str, value: &str, range: RangeInclusive<T>) -> Result<T, String> {
    let parsed = value.parse().ok().filter(|value| range.contains(value));
    parsed.ok_or_else(|| format!("option '{option}' has no usable value; {ACCEPTED}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_override_the_defaults() {
        let options = Options::parse("demo:wave?n=64&rate=2.5&history=8").unwrap();
        assert_eq!((options.n, options.rate, options.history_bytes, options.every), (64, 2.5, 8 << 20, 4));
        assert_eq!(Options::parse("demo:wave").unwrap().n, 128);
        assert_eq!(Options::parse("demo:wave?").unwrap().n, 128);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_is_accepted() {
        for (url, part) in [
            ("demo:wave?m=3", "unknown option 'm'"),
            ("demo:wave?n", "'n' has no usable value"),
            ("demo:wave?n=4096", "'n=4096' has no usable value"),
            ("demo:wave?rate=NaN", "'rate=NaN' has no usable value"),
            ("demo:wave?n=64&threads=0", "'threads=0' has no usable value"),
        ] {
            let error = Options::parse(url).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("accepted are n=16..512"), "{error}");
        }
        assert!(Options::parse("demo:fluid").unwrap_err().to_string().contains("demo:wave"));
    }
}
