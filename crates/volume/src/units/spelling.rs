//! Units however they are written: `m/s`, `m s-1`, `m.s^-1` and `metres per second` are one.
//!
//! A unit is a product of powers of names, as UDUNITS and the SI write it; what is written otherwise is the same as itself alone.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use super::{power_of_metre, symbol};

/// Characters of a unit that is looked into, and brackets in brackets.
const MOST_CHARACTERS: usize = 100;
const MOST_DEPTH: usize = 4;
/// A power of one, so that powers such as 0.1 can be added exactly.
const ONE: f64 = 1e6;
const MOST_POWER: f64 = 100.0;
const SUPERSCRIPTS: &str = "\u{2070}\u{b9}\u{b2}\u{b3}\u{2074}\u{2075}\u{2076}\u{2077}\u{2078}\u{2079}";
const SUPERSCRIPT_MINUS: char = '\u{207b}';

/// Whether two units are the same in other words.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((Factors::of(one), Factors::of(other)), (Some(one), Some(other)) if one == other)
}

/// Whether a unit is one over a length, as that of a wave number; angles in it do not matter, nor does the h of cosmology.
pub fn is_inverse_length(unit: &str) -> bool {
    let Some(Factors(mut powers)) = Factors::of(unit) else { return false };
    powers.retain(|name, _| !["rad", "h"].contains(&name.as_str()));
    let is_inverse = |(name, power): (&String, &i64)| super::length(name).is_some() && *power == -(ONE as i64);
    powers.len() == 1 && powers.iter().all(is_inverse)
}

/// The powers of the names in a unit; those that cancel out are left out.
#[derive(PartialEq)]
struct Factors(BTreeMap<String, i64>);

impl Factors {
    fn of(unit: &str) -> Option<Self> {
        if unit.chars().nth(MOST_CHARACTERS).is_some() {
            return None;
        }
        let mut powers = BTreeMap::new();
        let mut text = unit.chars().peekable();
        product(&mut text, 1.0, 0, &mut powers)?;
        powers.retain(|_, power| *power != 0);
        // Nothing else is left behind a bracket that nobody opened.
        text.next().is_none().then_some(Self(powers))
    }
}

/// Reads factors, to the end or to the bracket that closes them.
fn product(text: &mut Peekable<Chars<'_>>, power: f64, depth: usize, powers: &mut BTreeMap<String, i64>) -> Option<()> {
    let mut is_below = false;
    while let Some(&sign) = text.peek() {
        let below = if is_below { -power } else { power };
        match sign {
            ')' if depth > 0 => break,
            '(' if depth < MOST_DEPTH => {
                text.next();
                let mut inside = BTreeMap::new();
                product(text, below, depth + 1, &mut inside)?;
                text.next_if_eq(&')')?;
                let outer = exponent(text)?;
                for (name, inner) in inside {
                    *powers.entry(name).or_insert(0) += (inner as f64 * outer).round() as i64;
                }
                is_below = false;
            }
            '/' if is_below => return None,
            '/' => {
                text.next();
                is_below = true;
            }
            _ if sign.is_whitespace() || "*.\u{b7}\u{22c5}\u{d7}".contains(sign) => {
                text.next();
            }
            _ if sign.is_ascii_digit() => {
                let number = number(text)?;
                let power = exponent_of_number(text)?;
                if number != 1.0 {
                    *powers.entry(number.to_string()).or_insert(0) += (below * power * ONE).round() as i64;
                }
                is_below = false;
            }
            _ if is_of_name(sign) => {
                let name = taken(text, is_of_name);
                if name.eq_ignore_ascii_case("per") {
                    is_below = !is_below;
                    continue;
                }
                let power = below * exponent(text)?;
                if let Some(name) = named(&name) {
                    *powers.entry(name).or_insert(0) += (power * ONE).round() as i64;
                }
                is_below = false;
            }
            _ => return None,
        }
    }
    (!is_below).then_some(())
}

fn is_of_name(sign: char) -> bool {
    (sign.is_alphabetic() || "_%\u{b0}\u{b5}".contains(sign)) && !SUPERSCRIPTS.contains(sign)
}

fn taken(text: &mut Peekable<Chars<'_>>, is_part: impl Fn(char) -> bool) -> String {
    std::iter::from_fn(|| text.next_if(|sign| is_part(*sign))).collect()
}

/// A number such as 1, 0.01 or 1e-3.
fn number(text: &mut Peekable<Chars<'_>>) -> Option<f64> {
    let mut digits = taken(text, |sign| sign.is_ascii_digit() || sign == '.');
    let mut ahead = text.clone();
    if ahead.next_if(|sign| "eE".contains(*sign)).is_some() {
        let sign = ahead.next_if(|sign| "+-".contains(*sign)).map(String::from).unwrap_or_default();
        let power = taken(&mut ahead, |sign| sign.is_ascii_digit());
        if !power.is_empty() {
            digits += &format!("e{sign}{power}");
            *text = ahead;
        }
    }
    digits.parse().ok()
}

/// The power behind a number, which has none without a sign for it: 10 is no power of 1.
fn exponent_of_number(text: &mut Peekable<Chars<'_>>) -> Option<f64> {
    let is_raised = text.peek().is_some_and(|sign| *sign == '^' || *sign == '*' || *sign == SUPERSCRIPT_MINUS);
    if is_raised || text.peek().is_some_and(|sign| SUPERSCRIPTS.contains(*sign)) { exponent(text) } else { Some(1.0) }
}

/// The power behind a name or a bracket: `2`, `-2`, `^-2`, `**2`, `^(-2)`, `^0.5` or superscripts. `None` of one that is none.
fn exponent(text: &mut Peekable<Chars<'_>>) -> Option<f64> {
    let superscript = taken(text, |sign| SUPERSCRIPTS.contains(sign) || sign == SUPERSCRIPT_MINUS);
    if !superscript.is_empty() {
        let digit = |sign: char| SUPERSCRIPTS.chars().position(|known| known == sign).map(|digit| digit.to_string());
        let digits: String = superscript.chars().map(|sign| digit(sign).unwrap_or_else(|| "-".to_owned())).collect();
        return digits.parse().ok().filter(|power: &f64| power.abs() <= MOST_POWER);
    }
    let mut ahead = text.clone();
    let is_told = match (ahead.next(), ahead.next()) {
        (Some('^'), _) => text.next().is_some(),
        (Some('*'), Some('*')) => text.next().is_some() && text.next().is_some(),
        _ => false,
    };
    let bracket = is_told.then(|| text.next_if(|sign| "({".contains(*sign))).flatten();
    let sign = text.next_if(|sign| "+-\u{2212}".contains(*sign));
    let mut digits = taken(text, |sign| sign.is_ascii_digit());
    let mut ahead = text.clone();
    if is_told && ahead.next() == Some('.') && ahead.peek().is_some_and(char::is_ascii_digit) {
        *text = ahead;
        digits += &format!(".{}", taken(text, |sign| sign.is_ascii_digit()));
    }
    if bracket.is_some() {
        text.next_if(|sign| ")}".contains(*sign))?;
    }
    match (digits.is_empty(), is_told || sign.is_some()) {
        (true, true) => None,
        (true, false) => Some(1.0),
        _ => {
            let power = digits.parse().ok().filter(|power: &f64| *power <= MOST_POWER)?;
            Some(if sign.is_some_and(|sign| sign != '+') { -power } else { power })
        }
    }
}

/// The one name of a unit that has several; `None` of what stands for the number one.
fn named(name: &str) -> Option<String> {
    let name = name.replace(['\u{b5}', '\u{3bc}'], "u");
    let length = power_of_metre(&name).map(|power| match power {
        0 => "m",
        3 => "km",
        -2 => "cm",
        -3 => "mm",
        -6 => "um",
        _ => "nm",
    });
    if let Some(length) = length {
        return Some(length.to_owned());
    }
    let known = match name.as_str() {
        "degK" | "degk" | "deg_K" => "K",
        "degC" | "degc" | "deg_C" | "deg_c" | "\u{b0}C" => "degC",
        "deg" | "\u{b0}" => "degrees",
        "sec" | "secs" => "s",
        "hr" | "hrs" => "h",
        "mbar" | "mb" => "hPa",
        "amp" | "amps" => "A",
        _ => return word(&name),
    };
    Some(known.to_owned())
}

/// The same of whole words: capitals make no difference to them, as they do to symbols (mb and Mb).
fn word(name: &str) -> Option<String> {
    let known = match name.to_ascii_lowercase().as_str() {
        "kelvin" | "kelvins" | "degree_kelvin" | "degrees_kelvin" => "K",
        "celsius" | "degree_celsius" | "degrees_celsius" => "degC",
        "second" | "seconds" => "s",
        "minute" | "minutes" => "min",
        "hour" | "hours" => "h",
        "day" | "days" => "d",
        "gram" | "grams" => "g",
        "kilogram" | "kilograms" => "kg",
        "pascal" | "pascals" => "Pa",
        "hectopascal" | "hectopascals" | "millibar" | "millibars" => "hPa",
        "newton" | "newtons" => "N",
        "joule" | "joules" => "J",
        "watt" | "watts" => "W",
        "volt" | "volts" => "V",
        "ampere" | "amperes" => "A",
        "tesla" | "teslas" => "T",
        "gauss" => "G",
        "coulomb" | "coulombs" => "C",
        "mole" | "moles" => "mol",
        "radian" | "radians" => "rad",
        "percent" => "%",
        "dimensionless" | "unitless" | "none" => return None,
        _ => symbol(name),
    };
    Some(known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_other_words_is_the_same() {
        for all in [
            &["m/s", "m s-1", "m s^-1", "m.s-1", "m*s**-1", "m\u{b7}s\u{207b}\u{b9}", "metres per second", "m/sec"][..],
            &["kg/m3", "kg m-3", "kg m^-3", "kg/m^3", "kg/m\u{b3}", "kg.m-3", "kilogram m^{-3}", "kg/(m m2)"],
            &["K", "kelvin", "degK", "Kelvin"],
            &["degC", "degree_Celsius", "\u{b0}C", "celsius"],
            &["J/kg/K", "J kg-1 K-1", "J/(kg K)", "J (kg K)^-1"],
            &["Pa s-1", "Pa/s", "pascal / second"],
            &["kg m-2 s-1", "kg/m2/s", "kg/(m^2 s)", "kg s-1 m-2"],
            &["1", "", "kg/kg", "kg kg-1", "dimensionless", "m m-1"],
            &["um", "\u{b5}m", "\u{3bc}m", "micrometre"],
            &["1e-3 kg", "0.001 kg"],
            &["degrees_north", "degrees_east", "degree"],
            &["mb", "hPa", "millibar"],
            &["kg^0.5 m^-1.5", "m^-1.5 kg^0.5"],
            &["V/m", "V m-1", "volt/metre"],
        ] {
            for pair in all.windows(2) {
                assert!(is_same(pair[0], pair[1]), "{pair:?}");
            }
        }
    }

    #[test]
    fn what_is_of_another_unit_is_not() {
        for (one, other) in [
            ("m/s", "ms"),
            ("m s-1", "ms-1"),
            ("m/s", "mm/s"),
            ("K", "degC"),
            ("M", "m"),
            ("S", "s"),
            ("T", "nT"),
            ("Mbar", "hPa"),
            ("MB", "mb"),
            ("Pa", ""),
            ("kg", "1e-3 kg"),
            ("m2", "m"),
            ("W/m2", "W/m"),
            ("J/kg K", "J/(kg K)"),
            ("days since 2000-01-01", "days since 2001-01-01"),
        ] {
            assert!(!is_same(one, other), "{one}, {other}");
        }
    }

    #[test]
    fn what_is_no_product_of_powers_is_the_same_as_itself_alone() {
        let deep = "(".repeat(60);
        for unit in
            ["m//s", "m^", "N-m", "m)", "(m", "10log(W)", "a^9999999999999999999", "?", "m^(2", "/", "s-", &deep]
        {
            assert!(is_same(unit, unit) && !is_same(unit, "m"), "{unit}");
        }
        assert!(!is_same("m/", "m") && !is_same("/", ""));
        assert!(!is_same(&"m ".repeat(60), &" m".repeat(60)));
    }

    #[test]
    fn wave_numbers_are_in_one_over_a_length() {
        for unit in ["1/m", "m-1", "rad/m", "cm^-1", "h/Mpc", "1/km"] {
            assert!(is_inverse_length(unit), "{unit}");
        }
        for unit in ["", "m", "m2/s", "1/m2", "1/s", "W m-1 K-1", "?"] {
            assert!(!is_inverse_length(unit), "{unit}");
        }
    }
}
