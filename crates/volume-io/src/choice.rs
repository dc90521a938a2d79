//! Fields of several shapes in one source, of which one is to be chosen: they cannot be shown together.

use std::fmt;

use serde::Serialize;

use crate::coordinates::cut;

/// Shapes that a message names, and fields of each.
const MAX_SHAPES: usize = 4;
const MAX_NAMES: usize = 3;
/// Characters of a name that names several fields.
const MAX_JOINED: usize = 1 << 16;

/// Fields of several shapes, each to be opened by a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What holds them.
    pub source: String,
    /// What stands between that and the name of a field.
    #[serde(skip)]
    mark: &'static str,
    /// Whether several can be opened by one name, with commas between theirs.
    #[serde(skip)]
    joins: bool,
    /// In the order in which a shape was found first.
    pub shapes: Vec<Alike>,
}

/// Fields of one shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alike {
    /// Samples along x, y, z.
    pub size: [usize; 3],
    /// Steps that they have.
    pub steps: u64,
    /// Their paths in the source.
    pub fields: Vec<String>,
}

impl Choice {
    /// Of fields of such sizes, steps and names. `mark` stands between a name and that of what holds them.
    pub(crate) fn of(mark: &'static str, fields: impl IntoIterator<Item = ([usize; 3], u64, String)>) -> Self {
        let mut shapes: Vec<Alike> = Vec::new();
        for (size, steps, name) in fields {
            match shapes.iter_mut().find(|alike| (alike.size, alike.steps) == (size, steps)) {
                Some(alike) => alike.fields.push(name),
                None => shapes.push(Alike { size, steps, fields: vec![name] }),
            }
        }
        Self { source: String::new(), mark, joins: false, shapes }
    }

    /// Of fields of which several can be opened together.
    pub(crate) fn that_join(self) -> Self {
        Self { joins: true, ..self }
    }

    /// The volumes of the shape that most of them have, of as many samples as any.
    #[must_use]
    pub fn most(&self) -> Option<&Alike> {
        let volumes = self.shapes.iter().filter(|alike| alike.size.iter().all(|samples| *samples > 1));
        volumes.rev().max_by_key(|alike| (alike.fields.len(), alike.size.iter().map(|n| *n as u128).product::<u128>()))
    }

    /// What those are opened by, all together, where that can be.
    pub(crate) fn together(&self) -> Option<String> {
        let fields = &self.most()?.fields;
        let can_be_told = self.joins && fields.iter().all(|field| !field.contains(','));
        Some(self.url_of(&fields.join(","))).filter(|named| can_be_told && named.len() <= MAX_JOINED)
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

impl fmt::Display for Alike {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [nx, ny, nz] = self.size;
        write!(out, "{nx} x {ny} x {nz}")?;
        if self.steps == 1 { Ok(()) } else { write!(out, " in {} steps", self.steps) }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes = self.shapes.iter().take(MAX_SHAPES).map(|alike| {
            let names: Vec<_> = alike.fields.iter().take(MAX_NAMES).map(|name| cut(name)).collect();
            let more = if alike.fields.len() > MAX_NAMES { ", ..." } else { "" };
            format!("{} of {alike} ({}{more})", alike.fields.len(), names.join(", "))
        });
        let shapes: Vec<_> = shapes.collect();
        let more = if self.shapes.len() > MAX_SHAPES { ", ..." } else { "" };
        write!(out, "its {} fields differ in shape: {}{more}; ", self.count(), shapes.join(", "))?;
        write!(out, "name one, such as {} (visapult info lists them)", self.example())
    }
}

/// Why the fields of a source cannot be had.
#[derive(Debug)]
pub(crate) enum Refusal {
    Problem(String),
    Choice(Choice),
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

    #[test]
    fn the_volumes_that_are_most_are_opened_together() {
        let of = |fields: &[([usize; 3], &str)]| {
            let fields = fields.iter().map(|(size, name)| (*size, 1, (*name).to_owned()));
            Choice::of(":/", fields).held_by("run.nc".to_owned())
        };
        let fields = [([4, 5, 1], "PS"), ([4, 5, 1], "TS"), ([4, 5, 6], "T"), ([4, 5, 7], "W"), ([4, 5, 6], "g/U")];
        assert_eq!(of(&fields).that_join().together().unwrap(), "run.nc:/T,g/U");
        assert_eq!(of(&fields).together(), None);
        assert_eq!(of(&fields[2..4]).that_join().together().unwrap(), "run.nc:/W");
        assert_eq!(of(&fields[..2]).that_join().together(), None);
        assert_eq!(of(&[([4, 5, 6], "a,b"), ([4, 5, 7], "c"), ([4, 5, 6], "d")]).that_join().together(), None);
    }

    #[test]
    fn what_is_told_of_many_fields_is_short() {
        let field = |n: usize| ([4, 5, n % 7 + 1], (n % 2) as u64 + 1, format!("group/field {n}"));
        let choice = Choice::of(":/", (0..3000).map(field)).held_by("run.h5".to_owned());
        assert_eq!((choice.shapes.len(), choice.count()), (14, 3000));
        let told = choice.to_string();
        assert!(told.starts_with("its 3000 fields differ in shape: 215 of 4 x 5 x 1 (group/field 0, "), "{told}");
        assert!(told.ends_with("name one, such as run.h5:/group/field 0 (visapult info lists them)"), "{told}");
        assert!(told.len() < 500, "{told}");
    }
}
