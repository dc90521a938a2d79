//! Work stamped as a stage of a step.

use visapult_trace::{Span, Stage, begin, is_on};

/// Does `work` as a stage at one PE; `bytes` tells what it has moved.
pub(crate) fn at_pe<R>(
    stage: Stage,
    pe: usize,
    step: u64,
    work: impl FnOnce() -> R,
    bytes: impl FnOnce(&R) -> usize,
) -> R {
    let span = begin(stage, number(pe), step);
    let result = work();
    span.end(bytes(&result) as u64);
    result
}

/// Does `work` as a stage that all PEs are at together.
pub(crate) fn at_all<R>(stage: Stage, pes: usize, step: u64, work: impl FnOnce() -> R) -> R {
    let spans: Vec<Span> =
        if is_on() { (0..pes).map(|pe| begin(stage, number(pe), step)).collect() } else { Vec::new() };
    let result = work();
    spans.into_iter().for_each(|span| span.end(0));
    result
}

fn number(pe: usize) -> u32 {
    u32::try_from(pe).unwrap_or(u32::MAX)
}
