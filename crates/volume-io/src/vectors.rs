//! Which fields are components of one vector, by their names and units.

use std::collections::{BTreeMap, BTreeSet};

use visapult_volume::{FieldInfo, units};

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

/// How vectors of three numbered components are called, in small letters: of bare numbers, others are as likely members of a family.
const NUMBERED: &str = "acc bcc bx current displacement flux force mom momentum v vel velocity vx";
/// What has a value along each axis without being a vector, in small letters: coefficients and stresses.
const ALONG_AXES: &str =
    "cond conductivity diff diffusivity k kappa perm permeability porosity sigma strain stress viscosity";
/// What stands between a name and the letter of a component.
const SEPARATORS: [char; 4] = ['_', '-', ' ', '.'];
/// Letters by which components are told apart.
const LETTERS: [[char; 3]; 4] = [['x', 'y', 'z'], ['X', 'Y', 'Z'], ['u', 'v', 'w'], ['U', 'V', 'W']];
/// Numbers by which they are, where there is no other beside them.
const NUMBERS: [char; 3] = ['1', '2', '3'];

/// The vectors among `fields`: two or three of one unit whose names differ in a letter alone, x, y, z behind a name (`Bx`, `velocity_x`, `E/x`) or before one (`x_velocity`), or u, v, w
/// by themselves or with what winds and currents have beside them (`u10`, `ua`, `uo`, `water_u`); and three whose names differ in the numbers 1, 2, 3 alone, if vectors are called so (`vel1`,
/// `Bcc1`). One whose magnitude is a field already is none, nor one of which z has another unit, nor coefficients along each axis (`kx` that are no wave numbers).
pub fn vectors_of(fields: &[FieldInfo]) -> Vec<Vector> {
    let mut found: BTreeMap<Stem, [Option<usize>; 3]> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (number, field) in fields.iter().enumerate() {
        names.insert(field.name.as_str());
        for (stem, component) in stems_of(&field.name) {
            found.entry(stem).or_default()[component].get_or_insert(number);
        }
    }
    let vector = |(stem, components): (&Stem, &[Option<usize>; 3])| {
        let components = stem.components(*components, fields)?;
        let magnitude = stem.magnitude(components.len());
        // Beside vx1 is vy1, or vx4: components of several.
        let has_sibling = stem.sibling().is_some_and(|sibling| names.contains(sibling.as_str()));
        let is_family =
            stem.is_numbered() && (has_sibling || [0, 4].iter().any(|n| names.contains(stem.with(n).as_str())));
        (!is_family && !names.contains(magnitude.as_str())).then_some(Vector { magnitude, components })
    };
    let (mut vectors, mut numbered) = (Vec::new(), Vec::new());
    for stem in &found {
        let kind = if stem.0.is_numbered() { &mut numbered } else { &mut vectors };
        kind.extend(vector(stem));
    }
    // Where u1 and v1 are of a wind, u1, u2 and u3 are of one component of it.
    let is_taken = |component: &usize| vectors.iter().any(|vector: &Vector| vector.components.contains(component));
    numbered.retain(|vector| !vector.components.iter().any(is_taken));
    vectors.append(&mut numbered);
    vectors.sort_by(|a, b| a.components.cmp(&b.components));
    let mut named = BTreeSet::new();
    vectors.retain(|vector| named.insert(vector.magnitude.clone()));
    vectors
}

/// What a field of such a name would be a component of.
fn stems_of(name: &str) -> Vec<(Stem, usize)> {
    let (folder, last) = name.rsplit_once('/').map_or(("", name), |(folder, last)| (&name[..=folder.len()], last));
    let mut stems = Vec::new();
    for (component, number) in NUMBERS.into_iter().enumerate() {
        let before = last.strip_suffix(number).filter(|before| is_one_of(NUMBERED, before));
        stems.extend(before.map(|before| {
            (Stem { before: format!("{folder}{before}"), behind: String::new(), letters: NUMBERS }, component)
        }));
    }
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

/// Whether it is one of these names, but for what parts it from a component.
fn is_one_of(names: &str, before: &str) -> bool {
    let before = before.trim_end_matches(SEPARATORS);
    names.split(' ').any(|name| name.eq_ignore_ascii_case(before))
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

    fn is_numbered(&self) -> bool {
        self.letters == NUMBERS
    }

    /// The fields that are the components, two or three of these, if they are those of a vector.
    fn components(&self, [one, other, third]: [Option<usize>; 3], fields: &[FieldInfo]) -> Option<Vec<usize>> {
        let (one, other) = (one?, other?);
        let unit = &fields[one].unit;
        let alike = |number: &usize| units::is_same(&fields[*number].unit, unit);
        // What rises beside a wind is often told by pressure.
        if !alike(&other) || (!self.is_wind() && third.is_some_and(|third| !alike(&third))) {
            return None;
        }
        let third = third.filter(alike);
        if (third.is_none() && !self.tells_two()) || (self.is_along_axes() && !units::is_inverse_length(unit)) {
            return None;
        }
        Some([Some(one), Some(other), third].into_iter().flatten().collect())
    }

    /// Whether two components are no coincidence of names: not of `mix` and `miy`.
    fn tells_two(&self) -> bool {
        let last = self.last();
        !self.is_numbered()
            && (self.is_wind() || last.len() <= 1 || last.ends_with(SEPARATORS) || !self.behind.is_empty())
    }

    /// Whether it is called as what has a value along each axis and is no vector, if it is no wave number.
    fn is_along_axes(&self) -> bool {
        let named = if self.behind.is_empty() { self.last() } else { self.behind.trim_start_matches(SEPARATORS) };
        !self.is_wind() && is_one_of(ALONG_AXES, named)
    }

    fn last(&self) -> &str {
        self.before.rsplit('/').next().unwrap_or_default()
    }

    /// The name that the first of another axis would have: `vy1` of `vx1`.
    fn sibling(&self) -> Option<String> {
        let (axis, other) = if self.before.ends_with('X') { ('X', 'Y') } else { ('x', 'y') };
        self.before.strip_suffix(axis).map(|before| format!("{before}{other}1{}", self.behind))
    }

    /// The name with such a number in place of a component's.
    fn with(&self, number: &i32) -> String {
        format!("{}{number}{}", self.before, self.behind)
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
    fn units_that_are_written_otherwise_are_the_same() {
        assert_eq!(vectors(&[("u", "m/s"), ("v", "m s-1"), ("w", "m.s^-1")]), one("|u, v, w|", &[0, 1, 2]));
        assert_eq!(vectors(&[("Bx", "T"), ("By", "tesla")]), one("|B|", &[0, 1]));
    }

    #[test]
    fn three_numbers_tell_components_where_vectors_are_called_so() {
        assert_eq!(of(&["rho", "Bcc1", "Bcc2", "Bcc3"]), one("|Bcc|", &[1, 2, 3]));
        assert_eq!(of(&["prim/vel1", "prim/vel2", "prim/vel3"]), one("|prim/vel|", &[0, 1, 2]));
        assert_eq!(of(&["v3", "v2", "v1"]), one("|v|", &[2, 1, 0]));
        assert_eq!(of(&["vx1", "vx2", "vx3"]), one("|vx|", &[0, 1, 2]));
        assert_eq!(of(&["mom_1", "mom_2", "mom_3"]), one("|mom|", &[0, 1, 2]));
        assert_eq!(vectors(&[("v1", "m/s"), ("v2", "m s-1"), ("v3", "m/s")]), one("|v|", &[0, 1, 2]));
        assert_eq!(vectors(&[("v1", "m/s"), ("v2", "m/s"), ("v3", "Pa")]), []);
        for names in [
            &["v1", "v2"][..],
            &["v1", "v2", "v3", "v4"],
            &["v0", "v1", "v2", "v3"],
            &["v1", "v2", "V3"],
            &["tracer1", "tracer2", "tracer3"],
            &["T1", "T2", "T3"],
            &["v11", "v12", "v13"],
            &["1", "2", "3"],
        ] {
            assert_eq!(of(names), [], "{names:?}");
        }
    }

    #[test]
    fn a_wind_at_three_levels_is_a_wind() {
        let winds = [one("|u1, v1|", &[0, 3]), one("|u2, v2|", &[1, 4]), one("|u3, v3|", &[2, 5])].concat();
        assert_eq!(of(&["u1", "u2", "u3", "v1", "v2", "v3"]), winds);
    }

    #[test]
    fn what_is_along_each_axis_is_a_vector_of_wave_numbers_alone() {
        let all = |unit| vectors(&[("kx", unit), ("ky", unit), ("kz", unit)]);
        for unit in ["1/m", "m-1", "rad/m"] {
            assert_eq!(all(unit), one("|k|", &[0, 1, 2]), "{unit}");
        }
        for unit in ["", "m2/s", "m^2", "W/(m K)", "m/s"] {
            assert_eq!(all(unit), [], "{unit}");
        }
        assert_eq!(of(&["perm_x", "perm_y", "perm_z"]), []);
        assert_eq!(of(&["x_diffusivity", "y_diffusivity", "z_diffusivity"]), []);
        // Those of a record are what the file says they are.
        assert_eq!(of(&["sigma/x", "sigma/y"]), one("|sigma|", &[0, 1]));
        assert_eq!(of(&["Jx", "Jy", "Jz"]), one("|J|", &[0, 1, 2]));
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
            &["vx1", "vx2", "vx3", "vy1", "vy2", "vy3"],
            &["m1", "m2", "m3"],
            &[],
        ] {
            assert_eq!(of(names), [], "{names:?}");
        }
    }
}
