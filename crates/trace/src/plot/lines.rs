//! From events to lifelines: what each step went through on its way over each PE.

use std::collections::BTreeMap;

use crate::event::{Site, Stage};
use crate::timeline::{Placed, Timeline};

/// The way of one step over one PE: the source's part and the viewers' part are shared by all PEs.
pub(super) struct Lifeline {
    pub(super) step: u64,
    /// Index among the PEs of the picture; none where no PE was traced.
    pub(super) pe: Option<usize>,
    /// Start and end of each stage, in the order of the path; nanoseconds.
    pub(super) stages: BTreeMap<Stage, (i64, i64)>,
}

type Stages = BTreeMap<Stage, (i64, i64)>;

/// The lifelines of a timeline, by step and PE.
pub(super) fn lifelines(timeline: &Timeline, pes: &[(usize, u32)]) -> Vec<Lifeline> {
    let mut shared: BTreeMap<u64, Stages> = BTreeMap::new();
    let mut own: BTreeMap<u64, BTreeMap<usize, Stages>> = BTreeMap::new();
    for Placed { process, event } in &timeline.events {
        let stages = if event.stage.site() == Site::BackEnd {
            let Some(pe) = pes.iter().position(|pe| *pe == (*process, event.member)) else { continue };
            own.entry(event.step).or_default().entry(pe).or_default()
        } else {
            shared.entry(event.step).or_default()
        };
        let span = stages.entry(event.stage).or_insert((event.start_ns, event.end_ns));
        *span = (span.0.min(event.start_ns), span.1.max(event.end_ns));
    }
    timeline.steps().into_iter().flat_map(|step| of_step(step, shared.remove(&step), own.remove(&step))).collect()
}

fn of_step(step: u64, shared: Option<Stages>, own: Option<BTreeMap<usize, Stages>>) -> Vec<Lifeline> {
    let shared = shared.unwrap_or_default();
    match own {
        None => vec![Lifeline { step, pe: None, stages: shared }],
        Some(own) => {
            let whole = |(pe, mut stages): (usize, Stages)| {
                stages.extend(&shared);
                Lifeline { step, pe: Some(pe), stages }
            };
            own.into_iter().map(whole).collect()
        }
    }
}
