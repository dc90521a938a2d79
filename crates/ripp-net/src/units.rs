//! Rates, sizes, memory and transports as people write them, on the command line and in files, and numbers as they read them.

use std::ops::RangeInclusive;

use visapult_ripp::control::Transport;
use visapult_ripp::memory::Memory;

/// A rate below this that has no unit has lost it.
const LEAST_BARE: u64 = 10_000;
/// Bytes that the largest IP packet may have.
const MTUS: RangeInclusive<u16> = 1_200..=9_000;

/// Bits per second: `950M`, `10Gbit`, `1.5G`, `300 Mbit/s`.
///
/// # Errors
/// What was expected instead.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let is_bytes = ["Bps", "B/s", "B"].iter().any(|unit| text.trim().ends_with(unit));
    if is_bytes {
        return Err(format!(
            "{text:?} is in bytes: write bits per second, eight for each byte, such as 950M or 10Gbit"
        ));
    }
    let rest = ["bit/s", "bps", "bit", "b/s"].iter().find_map(|unit| lower.strip_suffix(unit)).unwrap_or(&lower);
    let (number, scale) = scaled(rest.trim(), &[("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12)]);
    if number == lower
        && let Some(bps) = whole(number, scale).filter(|bps| (1..LEAST_BARE).contains(bps))
    {
        return Err(format!(
            "{bps} would be bits per second: write {number}M for megabits, or {number}bit/s if that is meant"
        ));
    }
    whole(number, scale)
        .filter(|&bps| bps > 0)
        .ok_or_else(|| format!("{text:?} is no rate: write bits per second, such as 950M or 10Gbit"))
}

/// The same as a number: whole ones, and those that have a fraction.
///
/// # Errors
/// What was expected instead.
pub fn check_rate(bps: f64) -> Result<u64, String> {
    if !(1.0..1e18).contains(&bps) {
        return Err(format!("{bps} is no rate: give bits per second"));
    }
    if bps < LEAST_BARE as f64 {
        return Err(format!(
            "{bps} would be bits per second: give \"{bps}M\" for megabits, or \"{bps}bit/s\" if that is meant"
        ));
    }
    Ok(bps.round() as u64)
}

/// Bytes: `64MiB`, `1G`, `4096`.
///
/// # Errors
/// What was expected instead.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    if let Some(number) = text.trim().strip_suffix('b')
        && number.ends_with(|prefix: char| prefix.is_ascii_alphabetic())
    {
        return Err(format!("{text:?} may be bits or bytes: write bytes, as {number}B"));
    }
    let binary = [("kib", 1024.0), ("mib", 1_048_576.0), ("gib", 1_073_741_824.0), ("tib", 1_099_511_627_776.0)];
    let decimal = [
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("tb", 1e12),
        ("k", 1e3),
        ("m", 1e6),
        ("g", 1e9),
        ("t", 1e12),
        ("b", 1.0),
    ];
    let units: Vec<_> = binary.into_iter().chain(decimal).collect();
    let (number, scale) = scaled(&lower, &units);
    whole(number, scale)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| format!("{text:?} is no size: write bytes, such as 64MiB or 1G"))
}

/// Memory of a session: a size, and not too small a one.
///
/// # Errors
/// What was expected instead.
pub fn parse_memory(text: &str) -> Result<Memory, String> {
    Memory::new(parse_bytes(text)?).map_err(|cause| cause.to_string())
}

/// The largest IP packet in bytes; none of `auto`, which probes the path.
///
/// # Errors
/// What was expected instead.
pub fn parse_mtu(text: &str) -> Result<Option<u16>, String> {
    if text == "auto" {
        return Ok(None);
    }
    let bytes = text.parse().map_err(|_| format!("{text:?} is no number: write auto, or {}", mtus()))?;
    check_mtu(bytes).map(Some)
}

/// The same as a number.
///
/// # Errors
/// Those that are allowed.
pub fn check_mtu(bytes: i64) -> Result<u16, String> {
    let mtu = u16::try_from(bytes).ok().filter(|mtu| MTUS.contains(mtu));
    mtu.ok_or_else(|| format!("{bytes} is out of bounds: allowed are {}", mtus()))
}

fn mtus() -> String {
    format!("{} to {} bytes", MTUS.start(), MTUS.end())
}

/// How data moves; none of `auto`, which tries all.
///
/// # Errors
/// What is allowed.
pub fn parse_transport(text: &str) -> Result<Option<Transport>, String> {
    match text {
        "auto" => Ok(None),
        "udp" => Ok(Some(Transport::Udp)),
        "tcp" => Ok(Some(Transport::Tcp)),
        other => Err(format!("{other:?} is unknown: allowed are \"udp\", \"tcp\" and \"auto\"")),
    }
}

/// A number with the largest decimal prefix that leaves 1 of it at least: `(2.5, "G")` of 2.5e9. What has none is below 1000.
#[must_use]
pub fn prefixed(value: f64) -> (f64, &'static str) {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (scale, prefix) = prefixes.into_iter().find(|(scale, _)| value >= *scale).unwrap_or((1.0, ""));
    (value / scale, prefix)
}

/// Bytes with two or three significant digits: `2.3 TB`, `950 kB`, `12 bytes`.
#[must_use]
pub fn bytes_for_people(bytes: u64) -> String {
    match prefixed(bytes as f64) {
        (number, "") => format!("{number:.0} bytes"),
        (number, prefix) if number < 10.0 => format!("{number:.1} {prefix}B"),
        (number, prefix) => format!("{number:.0} {prefix}B"),
    }
}

fn scaled<'a>(text: &'a str, units: &[(&str, f64)]) -> (&'a str, f64) {
    let found =
        units.iter().find_map(|(unit, scale)| text.strip_suffix(unit).map(|number| (number.trim_end(), *scale)));
    found.unwrap_or((text, 1.0))
}

fn whole(number: &str, scale: f64) -> Option<u64> {
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = number.parse::<f64>().ok().filter(|_| plain)? * scale;
    (value < 1e18).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_size_of_32_mib_at_least() {
        assert_eq!(parse_memory("64MiB").map(Memory::bytes), Ok(64 << 20));
        assert_eq!(parse_memory("32 MiB"), Ok(Memory::LEAST));
        for text in ["31MiB", "32MB", "1", "0"] {
            let why = parse_memory(text).unwrap_err();
            assert!(why.contains("32MiB") || text == "0", "{text}: {why}");
        }
    }

    #[test]
    fn rates_are_bits_per_second() {
        for (text, bps) in [
            ("950M", 950_000_000),
            ("10Gbit", 10_000_000_000),
            ("1.5 Gbit/s", 1_500_000_000),
            ("9600bit/s", 9600),
            ("10000", 10_000),
            ("0.5k", 500),
            ("2kbps", 2000),
        ] {
            assert_eq!(parse_rate(text), Ok(bps), "{text}");
        }
        for bad in ["", "fast", "-1M", "0", "1e9", "10GiB", "inf", "4MB/s", "4MB", "4MBps"] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
        let forgotten = parse_rate(" 950 ").unwrap_err();
        assert_eq!(forgotten, "950 would be bits per second: write 950M for megabits, or 950bit/s if that is meant");
        assert!(parse_rate("9999").is_err() && parse_rate("1.5").is_err());
    }

    #[test]
    fn a_number_that_has_lost_its_unit_is_no_rate_either() {
        assert_eq!([10_000.0, 950e6, 1.5e10].map(check_rate), [10_000, 950_000_000, 15_000_000_000].map(Ok));
        for bps in [1.0, 950.0, 9_999.5] {
            let forgotten = check_rate(bps).unwrap_err();
            assert!(forgotten.contains(&format!("give \"{bps}M\"")), "{forgotten}");
            assert!(parse_rate(&format!("{bps}M")).is_ok() && parse_rate(&format!("{bps}bit/s")).is_ok());
        }
        for bps in [0.0, -1.0, 1e18, f64::NAN, f64::INFINITY] {
            assert!(check_rate(bps).unwrap_err().contains("is no rate"), "{bps}");
        }
    }

    #[test]
    fn a_packet_has_1200_to_9000_bytes() {
        assert_eq!(
            (parse_mtu("auto"), parse_mtu("1200"), parse_mtu("9000")),
            (Ok(None), Ok(Some(1_200)), Ok(Some(9_000)))
        );
        for wrong in ["", "1199", "9001", "-1500", "67036", "1500B", "AUTO"] {
            let why = parse_mtu(wrong).unwrap_err();
            assert!(why.contains("1200 to 9000 bytes"), "{wrong}: {why}");
        }
    }

    #[test]
    fn prefixes_leave_one_at_least() {
        let told = [0.0, 999.0, 1e3, 999_999.0, 2.5e9, 3e12, 4e15].map(prefixed);
        let expected = [(0.0, ""), (999.0, ""), (1.0, "k"), (999.999, "k"), (2.5, "G"), (3.0, "T"), (4000.0, "T")];
        assert_eq!(told, expected);
    }

    #[test]
    fn bytes_are_told_as_people_say_them() {
        let told = [2_340_571_428_571, 23_400_000_000, 950_000, 12].map(bytes_for_people);
        assert_eq!(told, ["2.3 TB", "23 GB", "950 kB", "12 bytes"]);
    }

    #[test]
    fn sizes_are_bytes() {
        for (text, bytes) in [
            ("64MiB", 64 << 20),
            ("1G", 1_000_000_000),
            ("1GB", 1_000_000_000),
            ("4096", 4096),
            ("0.5 KiB", 512),
            ("7B", 7),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for (bits, bytes) in [("1Gb", "1GB"), ("2 Mib", "2 MiB"), ("64kb", "64kB")] {
            assert!(parse_bytes(bits).unwrap_err().ends_with(&format!("write bytes, as {bytes}")));
            assert!(parse_bytes(bytes).is_ok() && parse_bytes(&bytes.to_lowercase()).is_err());
        }
        assert!(parse_bytes("1X").is_err() && parse_bytes("0").is_err());
    }
}
