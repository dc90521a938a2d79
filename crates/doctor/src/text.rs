//! Rates, sizes and times as people read them.

use visapult_ripp_net::units::prefixed;

/// Bits per second.
pub(crate) fn rate(bps: f64) -> String {
    if bps == 0.0 {
        return "0 bit/s".to_owned();
    }
    let (value, prefix) = prefixed(bps);
    format!("{} {prefix}bit/s", short(value))
}

/// Bytes, in powers of two as systems set them.
pub(crate) fn size(bytes: f64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")].map(|(power, unit)| (f64::powi(2.0, power), unit));
    let (scale, unit) = units.into_iter().find(|(scale, _)| bytes >= *scale).unwrap_or((1.0, "bytes"));
    format!("{} {unit}", short(bytes / scale))
}

/// Seconds.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", short(s)),
        s if s >= 1e-3 => format!("{} ms", short(s * 1e3)),
        s if s >= 1e-6 => format!("{} us", short(s * 1e6)),
        s => format!("{} ns", short(s * 1e9)),
    }
}

/// A share.
pub(crate) fn share(part: f64) -> String {
    if part > 0.0 { format!("{} %", short(part * 100.0)) } else { "0 %".to_owned() }
}

/// Two or three digits that mean something.
fn short(value: f64) -> String {
    let text = match value {
        v if v >= 10.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    };
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_digits_are_told() {
        assert_eq!(
            (rate(1e9), rate(339.2e6), rate(2.54e9)),
            ("1 Gbit/s".into(), "339 Mbit/s".into(), "2.5 Gbit/s".into())
        );
        assert_eq!((size(212_992.0), size(4_194_304.0)), ("208 KiB".into(), "4 MiB".into()));
        assert_eq!((time(0.0017), time(2.5e-5), time(12.0)), ("1.7 ms".into(), "25 us".into(), "12 s".into()));
        assert_eq!((share(0.011), share(0.25), share(0.0)), ("1.1 %".into(), "25 %".into(), "0 %".into()));
    }
}
