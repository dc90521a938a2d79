//! Fields of several shapes in one source, of which those of one are shown together: which that is where none is named, and what is said of the others.

use std::fmt;

use serde::Serialize;

use crate::coordinates::cut;

/// Shapes that a message names, and fields of each.
const MAX_SHAPES: usize = 4;
const MAX_NAMES: usize = 3;
/// Shapes that are told beside those that are shown.
const MAX_OTHERS: usize = 3;
/// Bytes of what opens one of them.
const MAX_OPENED: usize = 200;
/// Characters of a name that names several fields.
const MAX_JOINED: usize = 1 << 16;

/// Fields of several shapes, each to be opened by a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// What holds them.
    pub source: String,
    /// What stands between that and the name of a field.
    #[serde(skip)]
    mark: String,
    /// In the order in which a shape was found first.
    pub shapes: Vec<Alike>,
}

/// Fields of one shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alike {
    /// Samples along x, y, z.
    pub size: [usize; 3],
    /// Steps that they have.
    pub steps: u64,
    /// Their paths in the source.
    pub fields: Vec<String>,
    /// The most that one of them covers.
    #[serde(skip)]
    covers: f64,
}

/// A field of a source, before it is known whether it can be shown with the others.
pub(crate) struct Candidate {
    pub(crate) size: [usize; 3],
    /// None where it has no steps: it is the same at all.
    pub(crate) steps: Option<u64>,
    /// Its path in the source.
    pub(crate) name: String,
    /// How much space, or how many samples where nothing is known of that.
    pub(crate) covers: f64,
}

impl Candidate {
    /// Of a field of which its samples alone are known.
    pub(crate) fn of(size: [usize; 3], steps: Option<u64>, name: String) -> Self {
        Self { size, steps, name, covers: size.iter().map(|samples| *samples as f64).product() }
    }

    fn is_with(&self, size: [usize; 3], steps: Option<u64>) -> bool {
        self.size == size && (self.steps.is_none() || self.steps == steps)
    }
}

impl Choice {
    /// Passes fields that can be shown together: all of one size, and at the same steps, or at all. `mark` stands between the name of one and that of what holds them.
    ///
    /// # Errors
    /// What there is to choose from.
    pub(crate) fn unless_alike(mark: &str, fields: Vec<Candidate>) -> Result<(), Self> {
        let Some(size) = fields.first().map(|field| field.size) else { return Ok(()) };
        let steps = fields.iter().filter_map(|field| field.steps).max();
        if fields.iter().all(|field| field.is_with(size, steps)) { Ok(()) } else { Err(Self::of(mark, fields)) }
    }

    fn of(mark: &str, fields: Vec<Candidate>) -> Self {
        let mut shapes: Vec<Alike> = Vec::new();
        for Candidate { size, steps, name, covers } in fields {
            let steps = steps.unwrap_or(1);
            match shapes.iter_mut().find(|alike| (alike.size, alike.steps) == (size, steps)) {
                Some(alike) => {
                    alike.fields.push(name);
                    alike.covers = alike.covers.max(covers);
                }
                None => shapes.push(Alike { size, steps, fields: vec![name], covers }),
            }
        }
        Self { source: String::new(), mark: mark.to_owned(), shapes }
    }

    /// Those of the shape that most have, and of as many those that cover more: of the volumes, where there are some.
    #[must_use]
    pub fn most(&self) -> Option<&Alike> {
        let more = |one: &&Alike, other: &&Alike| {
            let of_as_many = || one.covers.total_cmp(&other.covers);
            one.is_volume()
                .cmp(&other.is_volume())
                .then(one.fields.len().cmp(&other.fields.len()))
                .then_with(of_as_many)
        };
        self.shapes.iter().rev().max_by(more)
    }

    /// The names of those, where they can be told all together with commas between them.
    pub(crate) fn together(&self) -> Option<&[String]> {
        let fields = &self.most()?.fields;
        let is_short = fields.iter().map(|field| field.len() + 1).sum::<usize>() <= MAX_JOINED;
        (is_short && fields.iter().all(|field| !field.contains(','))).then_some(fields)
    }

    /// Of fields that all have so many steps.
    pub(crate) fn at_steps(mut self, steps: u64) -> Self {
        self.shapes.iter_mut().for_each(|alike| alike.steps = steps);
        self
    }

    /// What there is besides [most](Self::most), and how it is opened, for one line beside those: `Also there (open as run.nc:/PS): PS, TS (5 x 4)`.
    #[must_use]
    pub fn others(&self) -> Option<String> {
        let most = self.most()?;
        let others = self.shapes.iter().filter(|alike| !std::ptr::eq(*alike, most));
        let told = |alike: &Alike| {
            let edges: Vec<_> = alike.size.iter().filter(|samples| **samples > 1).map(usize::to_string).collect();
            let steps = if alike.steps == most.steps {
                String::new()
            } else {
                format!(", {} step{}", alike.steps, if alike.steps == 1 { "" } else { "s" })
            };
            format!("{} ({}{steps})", alike.named(), edges.join(" x "))
        };
        let listed: Vec<_> = others.clone().take(MAX_OTHERS).map(told).collect();
        let more = if others.clone().count() > MAX_OTHERS { ", ..." } else { "" };
        let first = others.clone().next()?.fields.first()?;
        let opened = format!(" (open as {}{}{first})", self.name_on_disk(), self.mark);
        let opened = if opened.len() <= MAX_OPENED { opened } else { String::new() };
        Some(format!("Also there{opened}: {}{more}", listed.join(", ")))
    }

    /// Without the folders before it: a Zarr folder has others in it.
    fn name_on_disk(&self) -> &str {
        let whole = self.source.trim_end_matches('/');
        let last = whole.rfind('/').map_or(0, |slash| slash + 1);
        let folder = whole.find(".zarr/").map_or(last, |end| whole[..end].rfind('/').map_or(0, |slash| slash + 1));
        &whole[folder.min(last)..]
    }

    /// As a source's user calls what holds them.
    pub(crate) fn held_by(self, source: String) -> Self {
        Self { source, ..self }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shapes.iter().map(|alike| alike.fields.len()).sum()
    }

    /// A few of each of a few shapes.
    fn listed(&self) -> String {
        let shapes = self
            .shapes
            .iter()
            .take(MAX_SHAPES)
            .map(|alike| format!("{} of {alike} ({})", alike.fields.len(), alike.named()));
        let more = if self.shapes.len() > MAX_SHAPES { ", ..." } else { "" };
        shapes.collect::<Vec<_>>().join(", ") + more
    }

    /// What a field is opened by.
    #[must_use]
    pub fn url_of(&self, field: &str) -> String {
        format!("{}{}{field}", self.source, self.mark)
    }

    /// The first of them, as it is opened.
    #[must_use]
    pub fn example(&self) -> String {
        let first = self.shapes.first().and_then(|alike| alike.fields.first());
        self.url_of(first.map_or("NAME", String::as_str))
    }
}

impl Alike {
    /// A few of their names.
    fn named(&self) -> String {
        let names: Vec<_> = self.fields.iter().take(MAX_NAMES).map(|name| cut(name)).collect();
        names.join(", ") + if self.fields.len() > MAX_NAMES { ", ..." } else { "" }
    }

    fn is_volume(&self) -> bool {
        self.size.iter().all(|samples| *samples > 1)
    }
}

impl fmt::Display for Alike {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [nx, ny, nz] = self.size;
        write!(out, "{nx} x {ny} x {nz}")?;
        if self.steps == 1 { Ok(()) } else { write!(out, " in {} steps", self.steps) }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, shapes) = (self.count(), self.listed());
        write!(out, "its {count} fields differ in shape: {shapes}; ")?;
        write!(out, "name one, such as {} (visapult info lists them)", self.example())
    }
}

/// Why the fields of a source cannot be had.
#[derive(Debug)]
pub(crate) enum Refusal {
    Problem(String),
    Choice(Choice),
}

impl Refusal {
    /// Of fields that were named: of those nothing is chosen.
    pub(crate) fn of_named(self) -> Self {
        match self {
            Self::Choice(choice) => Self::Problem(format!(
                "the fields that are named differ in shape: {}; name those of one",
                choice.listed()
            )),
            problem @ Self::Problem(_) => problem,
        }
    }
}

impl From<Choice> for Refusal {
    fn from(choice: Choice) -> Self {
        Self::Choice(choice)
    }
}

impl From<String> for Refusal {
    fn from(problem: String) -> Self {
        Self::Problem(problem)
    }
}

impl From<&str> for Refusal {
    fn from(problem: &str) -> Self {
        Self::Problem(problem.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [([usize; 3], &str); 5] =
        [([4, 5, 1], "PS"), ([4, 5, 1], "TS"), ([4, 5, 6], "T"), ([4, 5, 7], "W"), ([4, 5, 6], "g/U")];

    fn of(fields: &[([usize; 3], &str)]) -> Choice {
        let candidate = |(size, name): &([usize; 3], &str)| Candidate::of(*size, None, (*name).to_owned());
        Choice::of(":/", fields.iter().map(candidate).collect()).held_by("run.nc".to_owned())
    }

    #[test]
    fn the_volumes_that_are_most_are_opened_together() {
        assert_eq!(of(&FIELDS).together().unwrap(), ["T", "g/U"]);
        assert_eq!(of(&FIELDS[2..4]).together().unwrap(), ["W"]);
        assert_eq!(of(&[([4, 5, 6], "a,b"), ([4, 5, 7], "c"), ([4, 5, 6], "d")]).together(), None);
    }

    #[test]
    fn where_there_is_no_volume_those_are_shown_that_are_most() {
        assert_eq!(of(&[([9, 9, 1], "soil"), FIELDS[0], FIELDS[1]]).together().unwrap(), ["PS", "TS"]);
    }

    #[test]
    fn of_as_many_those_are_shown_that_cover_more() {
        let candidate =
            |edge, name: &str, covers| Candidate { covers, ..Candidate::of([edge; 3], None, name.to_owned()) };
        let choice = Choice::of(":/", vec![candidate(96, "E_lvl1", 1.0), candidate(64, "E", 8.0)]);
        assert_eq!(choice.together().unwrap(), ["E"]);
    }

    #[test]
    fn what_has_no_steps_is_alike_at_all_of_the_others() {
        let all = |steps: &[Option<u64>]| {
            let candidate = |steps: &Option<u64>| Candidate::of([4, 5, 6], *steps, "T".to_owned());
            Choice::unless_alike("/", steps.iter().map(candidate).collect()).is_ok()
        };
        assert!(all(&[]) && all(&[None, None]) && all(&[None, Some(3), Some(3)]));
        assert!(!all(&[Some(1), Some(3)]));
    }

    #[test]
    fn fields_that_are_named_are_refused_without_a_choice() {
        let Refusal::Problem(problem) = Refusal::from(of(&FIELDS[1..3])).of_named() else { panic!() };
        assert_eq!(
            problem,
            "the fields that are named differ in shape: 1 of 4 x 5 x 1 (TS), 1 of 4 x 5 x 6 (T); name those of one"
        );
    }

    #[test]
    fn what_there_is_besides_is_told_with_what_opens_it() {
        assert_eq!(
            of(&FIELDS).held_by("/data/run.nc".to_owned()).others().unwrap(),
            "Also there (open as run.nc:/PS): PS, TS (4 x 5), W (4 x 5 x 7)"
        );
        let steps = |steps, name: &str| Candidate::of([4, 5, 6], Some(steps), name.to_owned());
        let choice = Choice::of("/", vec![steps(1, "mask"), steps(3, "T"), steps(3, "U")]);
        assert_eq!(
            choice.held_by("runs/a.zarr/".to_owned()).others().unwrap(),
            "Also there (open as a.zarr/mask): mask (4 x 5 x 6, 1 step)"
        );
        let many = (1..20).map(|edge| Candidate::of([edge, 5, 6], None, format!("{}{edge}", "name".repeat(50))));
        let told = Choice::of("/", many.collect()).others().unwrap();
        assert!(told.len() < 400 && told.starts_with("Also there: n") && told.ends_with("(3 x 5 x 6), ..."), "{told}");
    }

    #[test]
    fn what_is_told_of_many_fields_is_short() {
        let field = |n: usize| Candidate::of([4, 5, n % 7 + 1], Some((n % 2) as u64 + 1), format!("group/field {n}"));
        let choice = Choice::of(":/", (0..3000).map(field).collect()).held_by("run.h5".to_owned());
        assert_eq!((choice.shapes.len(), choice.count()), (14, 3000));
        let told = choice.to_string();
        assert!(told.starts_with("its 3000 fields differ in shape: 215 of 4 x 5 x 1 (group/field 0, "), "{told}");
        assert!(told.ends_with("name one, such as run.h5:/group/field 0 (visapult info lists them)"), "{told}");
        assert!(told.len() < 500, "{told}");
    }
}
