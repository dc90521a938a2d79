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

/// What stands between a name and the letter of a component.
const SEPARATORS: [char; 4] = ['_', '-', ' ', '.'];
/// Letters by which components are told apart.
const LETTERS: [[char; 3]; 4] = [['x', 'y', 'z'], ['X', 'Y', 'Z'], ['u', 'v', 'w'], ['U', 'V', 'W']];

/// The vectors among `fields`: two or three of one unit whose names differ in a letter alone, x, y, z behind a name (`Bx`, `velocity_x`, `E/x`) or before one (`x_velocity`), or u, v, w
/// by themselves or with what winds and currents have beside them (`u10`, `ua`, `uo`, `water_u`). One whose magnitude is a field already is none, nor one of which z has another unit.
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
        // What rises beside a wind is often told by pressure.
        if !stem.is_wind() && third.as_ref().is_some_and(|third| !alike(&third)) {
            return None;
        }
        let third = third.as_ref().filter(alike);
        if third.is_none() && !stem.tells_two() {
            return None;
        }
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
                let behind = last.strip_prefix(letter).filter(|behind| is_beside_wind(behind));
                stems.extend(behind.map(|behind| stem("", behind)));
                let before = last.strip_suffix(letter).filter(|before| is_before_wind(before));
                stems.extend(before.map(|before| stem(before, "")));
                continue;
            }
            let before = last.strip_suffix(letter).filter(|before| !before.is_empty() || !folder.is_empty());
            let before = before.filter(|before| !is_row(before));
            stems.extend(before.map(|before| stem(before, "")));
            let behind = last.strip_prefix(letter).filter(|behind| behind.starts_with(['_', '-', ' ']));
            stems.extend(behind.map(|behind| stem("", behind)));
        }
    }
    stems
}

/// What stands behind u and v of winds and currents: a height in metres, or what data centres write there.
fn is_beside_wind(behind: &str) -> bool {
    let known = ["a", "o", "as", "vel", "grd"];
    known.iter().any(|known| behind.eq_ignore_ascii_case(known)) || behind.bytes().all(|sign| sign.is_ascii_digit())
}

/// What stands before them: a height, or a word of its own.
fn is_before_wind(before: &str) -> bool {
    !before.is_empty() && (before.ends_with('_') || before.bytes().all(|sign| sign.is_ascii_digit()))
}

/// Whether what stands before a component is a row of a tensor: `tau_x` of `tau_xy`.
fn is_row(before: &str) -> bool {
    let mut signs = before.chars().rev();
    signs.next().is_some_and(|last| "xyzXYZ".contains(last))
        && signs.next().is_some_and(|sign| SEPARATORS.contains(&sign))
}

impl Stem {
    fn is_wind(&self) -> bool {
        self.letters[0].eq_ignore_ascii_case(&'u')
    }

    /// Whether two components are no coincidence of names: not of `mix` and `miy`.
    fn tells_two(&self) -> bool {
        let last = self.before.rsplit('/').next().unwrap_or_default();
        self.is_wind() || last.len() <= 1 || last.ends_with(SEPARATORS) || !self.behind.is_empty()
    }

    fn magnitude(&self, components: usize) -> String {
        let Self { before, behind, letters } = self;
        if self.is_wind() {
            let named: Vec<String> = letters[..components].iter().map(|letter| format!("{letter}{behind}")).collect();
            return format!("|{before}{}|", named.join(", "));
        }
        let or_folder = |sign| SEPARATORS.contains(&sign) || sign == '/';
        format!("|{}{}|", before.trim_end_matches(or_folder), behind.trim_start_matches(or_folder))
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
        assert_eq!(of(&["uo", "vo"]), one("|uo, vo|", &[0, 1]));
        assert_eq!(of(&["UVEL", "VVEL", "WVEL"]), one("|UVEL, VVEL, WVEL|", &[0, 1, 2]));
        assert_eq!(of(&["10u", "10v"]), one("|10u, v|", &[0, 1]));
        assert_eq!(of(&["water_u", "water_v"]), one("|water_u, v|", &[0, 1]));
        assert_eq!(of(&["E_x", "E_y", "Ex", "Ey"]), one("|E|", &[0, 1]));
    }

    #[test]
    fn what_is_of_another_unit_is_no_component() {
        assert_eq!(vectors(&[("u", "m/s"), ("v", "m/s"), ("w", "Pa/s")]), one("|u, v|", &[0, 1]));
        for units in [["T", "nT", "T"], ["T", "T", ""], ["T", "T", "nT"]] {
            assert_eq!(vectors(&[("Bx", units[0]), ("By", units[1]), ("Bz", units[2])]), [], "{units:?}");
        }
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
            &["mix", "miy"],
            &["flux", "fluy"],
            &["tau_xx", "tau_xy", "tau_xz"],
            &[],
        ] {
            assert_eq!(of(names), [], "{names:?}");
        }
    }
}
