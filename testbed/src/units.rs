//! Rates, sizes, times and shares as people write them.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What could not be read, and how it should look.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}: write it like {example}")]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

/// Bits per second. Decimal: 1G is 10^9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub u64);

/// Bytes. KB and MB are decimal, KiB and MiB binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A share from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

/// How much a queue holds before it drops at its tail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// So many times the product of rate and round-trip time.
    BandwidthDelay(f64),
    /// What the link sends in this time.
    Time(Duration),
    /// Bytes of IP packets.
    Bytes(u64),
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || unit_error(text, "a rate", "1G, 950M or 10Gbit");
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let is_of_bytes = ["B", "B/s", "Bps"].iter().any(|bytes| unit.ends_with(bytes));
        let lower = unit.to_ascii_lowercase();
        let prefix = ["bit/s", "bps", "bit", "b/s"].iter().find_map(|unit| lower.strip_suffix(unit)).unwrap_or(&lower);
        let scale = match prefix {
            _ if is_of_bytes => return Err(error()),
            "" => 1.0,
            "k" => 1e3,
            "m" => 1e6,
            "g" => 1e9,
            _ => return Err(error()),
        };
        let rate = (number * scale).round();
        if !(1.0..=1e13).contains(&rate) {
            return Err(error());
        }
        Ok(Self(rate as u64))
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || unit_error(text, "a size", "1500, 64KiB or 4MB");
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let scale = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1e3,
            "m" | "mb" => 1e6,
            "g" | "gb" => 1e9,
            "kib" => 1024.0,
            "mib" => 1024.0 * 1024.0,
            "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(error()),
        };
        let size = (number * scale).round();
        if !(0.0..=1e12).contains(&size) {
            return Err(error());
        }
        Ok(Self(size as u64))
    }
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || unit_error(text, "a share", "0.1% or 0.001");
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let share = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(error()),
        };
        if !(0.0..=1.0).contains(&share) {
            return Err(error());
        }
        Ok(Self(share))
    }
}

impl FromStr for QueueLimit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || unit_error(text, "a queue", "1bdp, 25ms or 4MiB");
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        if unit.eq_ignore_ascii_case("bdp") {
            return if number > 0.0 && number <= 1000.0 { Ok(Self::BandwidthDelay(number)) } else { Err(error()) };
        }
        duration(text)
            .ok()
            .filter(|_| !unit.is_empty())
            .map(Self::Time)
            .or_else(|| text.parse::<Bytes>().ok().map(|bytes| Self::Bytes(bytes.0)))
            .ok_or_else(error)
    }
}

/// Reads a time: `80ms`, `25us`, `5s`, `2m`, `1h`.
///
/// # Errors
/// If it is none, or longer than a year.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let error = || unit_error(text, "a time", "80ms, 25us or 5s");
    let (number, unit) = number_and_unit(text).ok_or_else(error)?;
    let scale = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" if number == 0.0 => 0.0,
        _ => return Err(error()),
    };
    let seconds = number * scale;
    if !(0.0..=31_536_000.0).contains(&seconds) {
        return Err(error());
    }
    Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
}

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().ok()?;
    Some((number, text[end..].trim()))
}

fn unit_error(text: &str, what: &'static str, example: &'static str) -> UnitError {
    UnitError { text: text.to_owned(), what, example }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_decimal_bits_per_second() {
        for (text, rate) in [
            ("1G", 1_000_000_000),
            ("950M", 950_000_000),
            ("10Gbit/s", 10_000_000_000),
            ("10gbit", 10_000_000_000),
            ("64k", 64_000),
            ("9600", 9600),
        ] {
            assert_eq!(text.parse(), Ok(Rate(rate)), "{text}");
        }
        for text in ["", "fast", "0", "-1M", "1X", "1e400", "1GB", "4MB/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_tell_decimal_from_binary() {
        assert_eq!("64KiB".parse(), Ok(Bytes(65536)));
        assert_eq!("64KB".parse(), Ok(Bytes(64000)));
        assert_eq!("64kib".parse(), Ok(Bytes(65536)));
        assert_eq!("1500".parse(), Ok(Bytes(1500)));
    }

    #[test]
    fn shares_are_percent_or_fractions() {
        assert_eq!("50%".parse(), Ok(Share(0.5)));
        assert_eq!("0.25".parse(), Ok(Share(0.25)));
        assert!("101%".parse::<Share>().is_err());
    }

    #[test]
    fn queues_are_times_sizes_or_products() {
        assert_eq!("25ms".parse(), Ok(QueueLimit::Time(Duration::from_millis(25))));
        assert_eq!("4MiB".parse(), Ok(QueueLimit::Bytes(4 << 20)));
        assert_eq!("0.5bdp".parse(), Ok(QueueLimit::BandwidthDelay(0.5)));
        assert!("lots".parse::<QueueLimit>().is_err());
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(duration("80ms"), Ok(Duration::from_millis(80)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        assert!(duration("80").is_err());
    }
}
