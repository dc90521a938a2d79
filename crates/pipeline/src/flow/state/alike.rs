//! What all ranks of a simulation declare alike, beside grid and fields: pictures do not depend on it, so it is said where they do not.

use visapult_publish::Parameter;
use visapult_publish::messages::Declaration;

use super::State;

/// What a rank has declared.
#[derive(Clone, Default)]
pub(super) struct Alike {
    time_unit: String,
    calendar: String,
    every: bool,
    /// Their values are those of now.
    parameters: Vec<Parameter>,
}

impl Alike {
    pub(super) fn of(declaration: &Declaration) -> Self {
        let Declaration { time_unit, calendar, every, parameters, .. } = declaration.clone();
        Self { time_unit, calendar, every, parameters }
    }

    /// What `rank` declares otherwise than `other`, which is `there`.
    fn difference(&self, rank: usize, other: usize, there: &Self) -> Option<String> {
        if self.every != there.every {
            let [with, without] = if self.every { [rank, other] } else { [other, rank] };
            return Some(format!("rank {with} asks that every step arrives, and rank {without} does not"));
        }
        if self.time_unit != there.time_unit {
            let (own, theirs) = (&self.time_unit, &there.time_unit);
            return Some(format!("rank {rank} declares the time unit {own:?}, and rank {other} {theirs:?}"));
        }
        if self.calendar != there.calendar {
            let (own, theirs) = (&self.calendar, &there.calendar);
            return Some(format!("rank {rank} declares the calendar {own:?}, and rank {other} {theirs:?}"));
        }
        let [own, theirs] = [self, there].map(|it| it.parameters.iter().map(told).collect::<Vec<_>>());
        let place = (0..own.len().max(theirs.len())).find(|&place| own.get(place) != theirs.get(place))?;
        let [own, theirs] = [own, theirs].map(|it| it.into_iter().nth(place).unwrap_or_else(|| "none".to_owned()));
        Some(format!("parameter {place} of rank {rank} is {own}, and of rank {other} {theirs}"))
    }
}

/// A parameter, but for its value.
fn told(parameter: &Parameter) -> String {
    let Parameter { name, unit, kind, least, most, .. } = parameter;
    let of = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    format!("{name:?} ({kind:?}, {least} to {most}{of})")
}

impl State {
    /// What to say of a rank that has come and does not go together with those that are there, once.
    pub(in crate::flow) fn name_unlike(&mut self, rank: usize) -> Option<String> {
        let mut others = self.links.iter().enumerate().filter(|(other, link)| *other != rank && link.session.is_some());
        let own = &self.links[rank].alike;
        let difference = others.find_map(|(other, link)| own.difference(rank, other, &link.alike))?;
        let is_new = !std::mem::replace(&mut self.is_unlike_named, true);
        is_new.then(|| format!("{difference}: all ranks are to declare the same"))
    }
}

#[cfg(test)]
mod tests {
    use visapult_publish::ParameterKind;

    use super::*;

    fn declared() -> Alike {
        let speed = Parameter {
            name: "speed".to_owned(),
            unit: "m/s".to_owned(),
            kind: ParameterKind::Number,
            least: 0.0,
            most: 2.0,
            value: 1.0,
        };
        Alike { time_unit: "s".to_owned(), calendar: String::new(), every: false, parameters: vec![speed] }
    }

    #[test]
    fn what_a_rank_declares_otherwise_is_named() {
        let all = declared();
        let slower = Parameter { most: 1.5, ..all.parameters[0].clone() };
        for (own, expected) in [
            (Alike { every: true, ..all.clone() }, "rank 1 asks that every step arrives, and rank 0 does not"),
            (
                Alike { time_unit: "h".to_owned(), ..all.clone() },
                "rank 1 declares the time unit \"h\", and rank 0 \"s\"",
            ),
            (
                Alike { calendar: "noleap".to_owned(), ..all.clone() },
                "rank 1 declares the calendar \"noleap\", and rank 0 \"\"",
            ),
            (
                Alike { parameters: vec![slower], ..all.clone() },
                "parameter 0 of rank 1 is \"speed\" (Number, 0 to 1.5 m/s), and of rank 0 \"speed\" (Number, 0 to 2 m/s)",
            ),
            (
                Alike { parameters: Vec::new(), ..all.clone() },
                "parameter 0 of rank 1 is none, and of rank 0 \"speed\" (Number, 0 to 2 m/s)",
            ),
        ] {
            assert_eq!(own.difference(1, 0, &all).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_viewers_have_changed_is_no_difference() {
        let (all, mut own) = (declared(), declared());
        own.parameters[0].value = 0.5;
        assert_eq!(own.difference(1, 0, &all), None);
    }
}
