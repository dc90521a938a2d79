//! Units: which are the same in other words, and which, of coordinates, are powers of ten of another.

mod spelling;

pub use spelling::{is_inverse_length, is_same};

/// Makes values of one unit values of another: by a power of ten, which divides where it is negative, for those below 1 are not exact.
#[derive(Clone, Copy)]
pub(crate) struct Conversion(i32);

impl Conversion {
    /// `None` where units cannot be compared.
    pub(crate) fn of(unit: &str, to: &str) -> Option<Self> {
        if is_same(unit, to) {
            return Some(Self(0));
        }
        let ((one, power), (other, to_power)) = (length(unit)?, length(to)?);
        (one == other).then_some(Self(power - to_power))
    }

    pub(crate) fn of_value(self, value: f64) -> f64 {
        let factor = 10_f64.powi(self.0.abs());
        if self.0 < 0 { value / factor } else { value * factor }
    }
}

/// A unit of length of which others are powers of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Metre,
    Parsec,
}

/// Which power of ten such a unit is of what unit of length.
fn length(unit: &str) -> Option<(Length, i32)> {
    match unit {
        "pc" => Some((Length::Parsec, 0)),
        "kpc" => Some((Length::Parsec, 3)),
        "Mpc" => Some((Length::Parsec, 6)),
        "Gpc" => Some((Length::Parsec, 9)),
        _ => Some((Length::Metre, power_of_metre(unit)?)),
    }
}

/// The power of ten that such a unit of length is of a metre.
fn power_of_metre(unit: &str) -> Option<i32> {
    match symbol(unit) {
        "m" => return Some(0),
        "km" => return Some(3),
        "cm" => return Some(-2),
        "mm" => return Some(-3),
        "um" | "\u{b5}m" | "\u{3bc}m" => return Some(-6),
        "nm" => return Some(-9),
        _ => {}
    }
    match unit.to_ascii_lowercase().as_str() {
        "centimetre" | "centimetres" | "centimeter" | "centimeters" => Some(-2),
        "millimetre" | "millimetres" | "millimeter" | "millimeters" => Some(-3),
        "micrometre" | "micrometres" | "micrometer" | "micrometers" | "micron" | "microns" => Some(-6),
        "nanometre" | "nanometres" | "nanometer" | "nanometers" => Some(-9),
        _ => None,
    }
}

/// Whether such a unit, in small letters, is one of pressure.
pub fn is_pressure(unit: &str) -> bool {
    matches!(unit, "pa" | "hpa" | "mb" | "mbar" | "millibar" | "bar" | "dbar" | "decibar")
}

/// Whether such a unit, in small letters, is that of latitudes (Climate and Forecast conventions, 4.1).
pub fn is_north(unit: &str) -> bool {
    matches!(unit, "degrees_north" | "degree_north" | "degrees_n" | "degree_n" | "degreesn" | "degreen")
}

/// Whether it is that of longitudes (4.2).
pub fn is_east(unit: &str) -> bool {
    matches!(unit, "degrees_east" | "degree_east" | "degrees_e" | "degree_e" | "degreese" | "degreee")
}

/// One word for units that are written in several ways.
pub fn symbol(unit: &str) -> &str {
    match unit.to_ascii_lowercase().as_str() {
        "degree" | "degrees" => "degrees",
        other if is_north(other) || is_east(other) => "degrees",
        // The number one is none (Climate and Forecast conventions, 3.1).
        "1" => "",
        "metre" | "metres" | "meter" | "meters" => "m",
        "kilometre" | "kilometres" | "kilometer" | "kilometers" => "km",
        _ => unit,
    }
}
