//! How a flow is received, and which of its fields.

use std::collections::BTreeSet;
use std::sync::Arc;

use visapult_ripp_net::{Mode, Options};
use visapult_volume::FieldInfo;
use visapult_volume_io::name_within_logarithm;

use crate::crew::Crew;

/// Fields that are asked for from the start. Others are asked for once they are looked at, and come from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// The first one.
    #[default]
    First,
    /// One by its name or that of its logarithm, the first if there is none of that name.
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
                let place = |name: &str| fields.iter().position(|field| field.name == name);
                let own = place(name).or_else(|| place(name_within_logarithm(name)?));
                BTreeSet::from([own.unwrap_or(0)])
            }
            Self::All => (0..fields.len()).collect(),
        }
    }
}
