//! How a flow is received, and which of its fields.

use std::collections::BTreeSet;
use std::sync::Arc;

use visapult_ripp_net::{Mode, Options};
use visapult_volume::FieldInfo;
use visapult_volume_io::{name_within_logarithm, vectors_of};

use crate::crew::Crew;

/// Fields that are asked for from the start. Others are asked for once they are looked at, and come from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// The first one.
    #[default]
    First,
    /// One by its name, or those that the magnitude or logarithm of that name is made of; the first if there is none of that name.
    Named(String),
    /// All of them.
    All,
}

/// How a flow is received.
#[derive(Clone, Debug)]
pub struct FlowOptions {
    /// PEs that the grid is split over, if so many fit.
    pub pes: usize,
    /// Fields that are asked for from the start.
    pub watch: Watch,
    /// What is asked of the transport for pieces.
    pub mode: Mode,
    /// Steps of a running simulation that are asked for ahead at most; none limits it to what the path holds. With 0 a step is asked for when
    /// the last one has gone to the pages: nothing overlaps.
    pub ahead: Option<usize>,
    /// Bytes of received steps that are kept.
    pub history_bytes: usize,
    /// How the transport receives.
    pub session: Options,
    /// The other processes that receive it, each for PEs of its own.
    pub crew: Option<Arc<Crew>>,
}

impl Default for FlowOptions {
    fn default() -> Self {
        Self {
            pes: 1,
            watch: Watch::First,
            mode: Mode::Reliable,
            ahead: None,
            history_bytes: 512 << 20,
            session: Options::default(),
            crew: None,
        }
    }
}

impl Watch {
    /// The numbers of the fields where it takes no list of them to know.
    pub(super) fn known(&self) -> Vec<usize> {
        match self {
            Self::First => vec![0],
            Self::Named(_) | Self::All => Vec::new(),
        }
    }

    /// The numbers of the fields.
    pub(super) fn numbers(&self, fields: &[FieldInfo]) -> BTreeSet<usize> {
        match self {
            Self::First => BTreeSet::from([0]),
            Self::Named(name) => {
                let own = needed_for(name, fields).or_else(|| needed_for(name_within_logarithm(name)?, fields));
                own.unwrap_or_else(|| BTreeSet::from([0]))
            }
            Self::All => (0..fields.len()).collect(),
        }
    }
}

/// The field of that name, or the components of the vector whose magnitude has it.
fn needed_for(name: &str, fields: &[FieldInfo]) -> Option<BTreeSet<usize>> {
    if let Some(own) = fields.iter().position(|field| field.name == name) {
        return Some(BTreeSet::from([own]));
    }
    let vector = vectors_of(fields).into_iter().find(|vector| vector.magnitude == name)?;
    Some(vector.components.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use visapult_volume::ScalarType;

    use super::*;

    #[test]
    fn what_a_magnitude_or_a_logarithm_is_made_of_is_asked_for() {
        let fields = ["rho", "Bx", "By", "Bz"].map(|name| FieldInfo {
            name: name.to_owned(),
            unit: String::new(),
            scalar_type: ScalarType::F32,
            declared_range: None,
        });
        let numbers = |name: &str| Watch::Named(name.to_owned()).numbers(&fields).into_iter().collect::<Vec<_>>();
        assert_eq!([numbers("Bz"), numbers("log10(By)"), numbers("B")], [[3], [2], [0]]);
        assert_eq!([numbers("|B|"), numbers("log10(|B|)")], [[1, 2, 3], [1, 2, 3]]);
    }
}
