//! Which fields are components of one vector, by their names and units.

use std::collections::{BTreeMap, BTreeSet};

use visapult_volume::FieldInfo;

/// A vector of which a source has the components as fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Name of its magnitude: `|E|`, `|u, v, w|`.
    pub magnitude: String,
    /// The numbers of two or three fields.
    pub components: Vec<usize>,
}

/// What components have in common, and how each is told from the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stem {
    before: String,
    behind: String,
    letters: [char; 3],
}

/// Letters by which components are told apart.
const LETTERS: [[char; 3]; 4] = [['x', 'y', 'z'], ['X', 'Y', 'Z'], ['u', 'v', 'w'], ['U', 'V', 'W']];

/// The vectors among `fields`: two or three of one unit whose names differ in a letter alone, x, y, z behind a name (`Bx`, `velocity_x`, `E/x`) or before one (`x_velocity`), or u, v, w
/// by themselves or before digits and an `a` (`u`, `u10`, `ua`). One whose magnitude is a field already is none.
pub fn vectors_of(fields: &[FieldInfo]) -> Vec<Vector> {
    let mut found: BTreeMap<Stem, [Option<usize>; 3]> = BTreeMap::new();
    for (number, field) in fields.iter().enumerate() {
        for (stem, component) in stems_of(&field.name) {
            found.entry(stem).or_default()[component].get_or_insert(number);
        }
    }
    let vector = |(stem, [one, other, third]): (&Stem, &[Option<usize>; 3])| {
        let (one, other) = (one.as_ref()?, other.as_ref()?);
        let alike = |number: &&usize| fields[**number].unit == fields[*one].unit;
        let third = third.as_ref().filter(alike);
        let components: Vec<usize> = [Some(one), Some(other), third].into_iter().flatten().copied().collect();
        let magnitude = stem.magnitude(components.len());
        let is_new = fields.iter().all(|field| field.name != magnitude);
        (alike(&other) && is_new).then_some(Vector { magnitude, components })
    };
    let mut vectors: Vec<Vector> = found.iter().filter_map(vector).collect();
    vectors.sort_by(|a, b| a.components.cmp(&b.components));
    let mut named = BTreeSet::new();
    vectors.retain(|vector| named.insert(vector.magnitude.clone()));
    vectors
}

/// What a field of such a name would be a component of.
fn stems_of(name: &str) -> Vec<(Stem, usize)> {
    let (folder, last) = name.rsplit_once('/').map_or(("", name), |(folder, last)| (&name[..=folder.len()], last));
    let mut stems = Vec::new();
    for letters in LETTERS {
        for (component, letter) in letters.into_iter().enumerate() {
            let stem = |before: &str, behind: &str| {
                let before = format!("{folder}{before}");
                (Stem { before, behind: behind.to_owned(), letters }, component)
            };
            if letters[0].eq_ignore_ascii_case(&'u') {
                let behind = last.strip_prefix(letter).filter(|behind| is_height(behind));
                stems.extend(behind.map(|behind| stem("", behind)));
                continue;
            }
            let before = last.strip_suffix(letter).filter(|before| !before.is_empty() || !folder.is_empty());
            stems.extend(before.map(|before| stem(before, "")));
            let behind = last.strip_prefix(letter).filter(|behind| behind.starts_with(['_', '-', ' ']));
            stems.extend(behind.map(|behind| stem("", behind)));
        }
    }
    stems
}

/// What stands behind u and v of winds: a height in metres, or the `a` of air.
fn is_height(behind: &str) -> bool {
    behind == "a" || behind.bytes().all(|sign| sign.is_ascii_digit())
}

impl Stem {
    fn magnitude(&self, components: usize) -> String {
        let Self { before, behind, letters } = self;
        if letters[0].eq_ignore_ascii_case(&'u') {
            let named: Vec<String> = letters[..components].iter().map(|letter| format!("{letter}{behind}")).collect();
            return format!("|{before}{}|", named.join(", "));
        }
        let signs = ['_', '-', ' ', '.', '/'];
        format!("|{}{}|", before.trim_end_matches(signs), behind.trim_start_matches(signs))
    }
}

#[cfg(test)]
mod tests {
    use visapult_volume::ScalarType;

    use super::*;

    fn vectors(named: &[(&str, &str)]) -> Vec<(String, Vec<usize>)> {
        let field = |(name, unit): &(&str, &str)| FieldInfo {
            name: (*name).to_owned(),
            unit: (*unit).to_owned(),
            scalar_type: ScalarType::F32,
            declared_range: None,
        };
        let fields: Vec<FieldInfo> = named.iter().map(field).collect();
        vectors_of(&fields).into_iter().map(|vector| (vector.magnitude, vector.components)).collect()
    }

    fn of(names: &[&str]) -> Vec<(String, Vec<usize>)> {
        vectors(&names.iter().map(|name| (*name, "")).collect::<Vec<_>>())
    }

    fn one(magnitude: &str, components: &[usize]) -> Vec<(String, Vec<usize>)> {
        vec![(magnitude.to_owned(), components.to_vec())]
    }

    #[test]
    fn names_that_differ_in_a_letter_alone_are_of_a_vector() {
        assert_eq!(of(&["rho", "Bz", "By", "Bx"]), one("|B|", &[3, 2, 1]));
        assert_eq!(of(&["velocity_x", "velocity_y", "velocity_z"]), one("|velocity|", &[0, 1, 2]));
        assert_eq!(of(&["E/x", "E/y", "E/z"]), one("|E|", &[0, 1, 2]));
        assert_eq!(of(&["run/E.x", "run/E.y"]), one("|run/E|", &[0, 1]));
        assert_eq!(of(&["x_velocity", "y_velocity", "z_velocity"]), one("|velocity|", &[0, 1, 2]));
        assert_eq!(of(&["momentumX", "momentumY", "momentumZ"]), one("|momentum|", &[0, 1, 2]));
        assert_eq!(of(&["u", "v", "w"]), one("|u, v, w|", &[0, 1, 2]));
        assert_eq!(of(&["wind/U10", "wind/V10"]), one("|wind/U10, V10|", &[0, 1]));
        let both = of(&["Bx", "Ex", "By", "Ey", "Bz", "Ez"]);
        assert_eq!(both, [one("|B|", &[0, 2, 4]), one("|E|", &[1, 3, 5])].concat());
        assert_eq!(of(&["E_x", "E_y", "Ex", "Ey"]), one("|E|", &[0, 1]));
    }

    #[test]
    fn what_is_of_another_unit_is_no_component() {
        assert_eq!(vectors(&[("u", "m/s"), ("v", "m/s"), ("w", "Pa/s")]), one("|u, v|", &[0, 1]));
        assert_eq!(vectors(&[("Bx", "T"), ("By", "nT"), ("Bz", "T")]), []);
    }

    #[test]
    fn others_are_none() {
        for names in [
            &["x", "y", "z"][..],
            &["Bx", "Bz"],
            &["vapour", "uapour"],
            &["Bx", "by"],
            &["Bx", "By", "Bz", "|B|"],
            &["xy", "yy"],
            &[],
        ] {
            assert_eq!(of(names), [], "{names:?}");
        }
    }
}
