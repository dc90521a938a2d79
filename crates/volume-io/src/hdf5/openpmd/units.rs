//! What units are called of which openPMD tells the powers of the seven base units.

/// Base units of `unitDimension`: length, mass, time, current, temperature, amount, luminous intensity.
const BASE: [&str; 7] = ["m", "kg", "s", "A", "K", "mol", "cd"];
/// Their places in the order in which people write them.
const WRITTEN: [usize; 7] = [1, 0, 2, 3, 4, 5, 6];

/// Powers of the first four base units, where they are those of one quantity alone, and what its unit is called.
const NAMED: [([i8; 4], &str); 11] = [
    ([1, 1, -3, -1], "V/m"),
    ([0, 1, -2, -1], "T"),
    ([2, 1, -3, -1], "V"),
    ([-2, 0, 0, 1], "A/m^2"),
    ([0, 0, 1, 1], "C"),
    ([-3, 0, 1, 1], "C/m^3"),
    ([1, 0, -1, 0], "m/s"),
    ([-3, 1, 0, 0], "kg/m^3"),
    ([1, 1, -2, 0], "N"),
    ([2, 1, -3, 0], "W"),
    ([0, 1, -3, 0], "W/m^2"),
];

/// The unit of such powers; nothing where they are all 0.
pub(super) fn named(powers: &[f64; 7]) -> String {
    let is_as =
        |known: &[i8; 4]| powers.iter().zip(known.iter().chain(&[0; 3])).all(|(one, other)| *one == f64::from(*other));
    if let Some((_, name)) = NAMED.iter().find(|(known, _)| is_as(known)) {
        return (*name).to_owned();
    }
    let parts = WRITTEN.into_iter().filter(|base| powers[*base] != 0.0).map(|base| match powers[base] {
        1.0 => BASE[base].to_owned(),
        power => format!("{}^{power}", BASE[base]),
    });
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_their_units_and_others_those_they_are_made_of() {
        for (powers, unit) in [
            ([1.0, 1.0, -3.0, -1.0, 0.0, 0.0, 0.0], "V/m"),
            ([0.0, 1.0, -2.0, -1.0, 0.0, 0.0, 0.0], "T"),
            ([-3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "m^-3"),
            ([1.0, 1.0, -3.0, -1.0, 1.0, 0.0, 0.0], "kg m s^-3 A^-1 K"),
            ([-1.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0], "kg^0.5 m^-1.5"),
            ([0.0; 7], ""),
        ] {
            assert_eq!(named(&powers), unit);
        }
    }
}
