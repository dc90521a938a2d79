//! Looks through the values of steps, part by part; of what is very large at one step, a coarser level, or a few parts.
//!
//! Invariant: the memory that is taken does not grow with the source.

use rayon::prelude::*;
use visapult_volume::{Box3, StepSpan, ValueRange};
use visapult_volume_io::{ReadRequest, Source};

use crate::error::PipelineError;
use crate::memory;

/// Samples that are looked at, all of them, in a time that people wait.
const MOST_SAMPLES: usize = 1 << 30;
/// The same of a source that is far away.
const MOST_FAR: usize = 1 << 24;
/// Samples of several steps that are looked at.
const MOST_OF_STEPS: usize = 1 << 28;
/// Samples read at once.
const PART_SAMPLES: usize = 1 << 26;
/// Parts along each axis of what has more samples, and their edge.
const PROBES: usize = 4;
const PROBE_EDGE: usize = 64;

/// What was seen of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Survey {
    /// The steps that were looked at: of a field without steps one tells of all.
    pub(crate) steps: StepSpan,
    /// The stored level that was looked at, 0 being the finest.
    pub(crate) level: usize,
    /// The share of its values in these steps that were looked at, up to 1.
    pub(crate) share: f64,
    /// Smallest and largest finite value.
    pub(crate) range: Option<ValueRange>,
    /// Values that are missing.
    pub(crate) missing: u64,
    /// Values that are infinite, or beyond what single precision holds.
    pub(crate) infinite: u64,
}

/// Looks through `steps` of `field`, or the first of them where all are too much. What has no steps is looked through once. Where steps are decoded
/// together all count that are, as often as they are.
///
/// # Errors
/// [`PipelineError`] if it cannot be read.
pub(crate) fn survey(source: &dyn Source, field: usize, steps: StepSpan) -> Result<Survey, PipelineError> {
    let levels = &source.info().levels;
    let samples_of = |level: usize| levels[level].sample_count();
    let most = if source.is_far() { MOST_FAR } else { MOST_SAMPLES };
    let decoded_steps =
        |level: usize| usize::try_from(source.together(field, level).steps).unwrap_or(usize::MAX).max(1);
    let small = (0..levels.len()).find(|&level| samples_of(level).saturating_mul(decoded_steps(level)) <= most);
    let level = small.unwrap_or(levels.len() - 1);
    let (size, grain) = (levels[level].size, source.grain(field, level));
    let grain = within(grain, size);
    let kept = Some(source.together(field, level).samples).filter(|&kept| kept >= volume(grain));
    let parts = match small {
        Some(_) => parts(size, grain, kept.map_or(PART_SAMPLES, |kept| kept.min(PART_SAMPLES))),
        None if decoded_steps(level) == 1 => probes(size, PROBES),
        None => fewer_probes(size, grain, most / decoded_steps(level)),
    };
    let mut values = memory::values(source.info(), parts.iter().map(Box3::volume).max().unwrap_or(0))?;
    let count = usize::try_from(steps.last - steps.first).unwrap_or(usize::MAX).saturating_add(1);
    // Where they cannot be kept each step decodes the others again.
    let times = if kept.is_some() { 1 } else { decoded_steps(level) };
    let decoded = samples_of(level).saturating_mul(count).saturating_mul(times);
    let fit = small.is_some() && decoded <= most.min(MOST_OF_STEPS);
    let is_static = source.is_static(field);
    let first = StepSpan { last: steps.first, ..steps };
    let read = if fit && !is_static { steps } else { first };
    let (mut range, mut missing, mut infinite, mut looked_at) = (None, 0, 0, 0_usize);
    for &bounds in &parts {
        for step in read.first..=read.last {
            let values = &mut values[..bounds.volume()];
            source.read(&ReadRequest { field, step, level, bounds }, values).map_err(PipelineError::source)?;
            range = union(range, range_of(values));
            missing += values.par_iter().filter(|value| value.is_nan()).count() as u64;
            infinite += values.par_iter().filter(|value| value.is_infinite()).count() as u64;
            looked_at += values.len();
        }
    }
    let samples = samples_of(level) as f64 * (read.last - read.first + 1) as f64;
    let steps = if is_static { steps } else { read };
    Ok(Survey { steps, level, share: looked_at as f64 / samples, range, missing, infinite })
}

fn range_of(values: &[f32]) -> Option<ValueRange> {
    values.par_chunks(1 << 16).map(ValueRange::of).reduce(|| None, union)
}

fn union(a: Option<ValueRange>, b: Option<ValueRange>) -> Option<ValueRange> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.union(b)),
        (a, b) => a.or(b),
    }
}

/// Boxes that tile the grid, of at most so many samples: layers, bars where a plane is too much at once, parts of these where a bar is. They end where
/// grains do, if one is not too much.
fn parts(size: [usize; 3], grain: [usize; 3], most: usize) -> Vec<Box3> {
    let grain = if volume(grain) <= most { grain } else { [1; 3] };
    let mut edges = size;
    for axis in [2, 1, 0] {
        edges[axis] = 1;
        let fitting = most / volume(edges);
        edges[axis] = (fitting / grain[axis] * grain[axis]).clamp(grain[axis], size[axis]);
        if volume(edges) <= most {
            break;
        }
    }
    Box3::of_size(size).bricks(edges).collect()
}

/// So many small boxes along each axis, evenly spread from one corner of the grid to the other.
fn probes(size: [usize; 3], count: usize) -> Vec<Box3> {
    let edges = size.map(|length| length.min(PROBE_EDGE));
    let places = [0, 1, 2].map(|axis| {
        let between = (count - 1).max(1);
        let mut places: Vec<usize> = (0..count).map(|i| (size[axis] - edges[axis]) * i / between).collect();
        places.dedup();
        places
    });
    let along = |axis: usize| places[axis].iter().copied();
    let corners = along(2).flat_map(|z| along(1).flat_map(move |y| along(0).map(move |x| [x, y, z])));
    corners.map(|lo| Box3 { lo, hi: std::array::from_fn(|axis| lo[axis] + edges[axis]) }).collect()
}

/// As many as can be had of `most` samples if all of each grain are decoded; at least a part of one grain.
fn fewer_probes(size: [usize; 3], grain: [usize; 3], most: usize) -> Vec<Box3> {
    let decoded = |probe: &Box3| {
        let grains = |axis: usize| probe.hi[axis].div_ceil(grain[axis]) - probe.lo[axis] / grain[axis];
        volume(std::array::from_fn(|axis| grains(axis).saturating_mul(grain[axis]).min(size[axis])))
    };
    let fits = |probes: &Vec<Box3>| probes.iter().map(decoded).fold(0, usize::saturating_add) <= most;
    let fewer = (1..=PROBES).rev().map(|count| probes(size, count));
    fewer.into_iter().find(fits).unwrap_or_else(|| vec![Box3::of_size(within(grain, [PROBE_EDGE; 3]))])
}

/// Edges of one sample at least, and none longer than those of `size`.
fn within(edges: [usize; 3], size: [usize; 3]) -> [usize; 3] {
    std::array::from_fn(|axis| edges[axis].clamp(1, size[axis]))
}

fn volume(edges: [usize; 3]) -> usize {
    edges.into_iter().fold(1, usize::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_tile_the_grid_and_are_bounded() {
        for size in [[3, 5, 7], [1024, 1024, 1000], [1 << 20, 300, 2], [40_000, 20_000, 1]] {
            for (grain, most) in [([1; 3], PART_SAMPLES), ([64, 30, 7], 1 << 20), ([1 << 20, 1, 1], 1 << 18)] {
                let parts = parts(size, within(grain, size), most);
                assert_eq!(parts.iter().map(Box3::volume).sum::<usize>(), size.iter().product::<usize>());
                assert!(parts.iter().all(|part| part.volume() <= most), "{size:?}");
                assert!(parts.windows(2).all(|pair| pair[0].intersection(&pair[1]).is_none()), "{size:?}");
            }
        }
    }

    #[test]
    fn parts_end_where_grains_do_unless_one_is_too_much() {
        let ends = |most| parts([100, 90, 80], [32, 40, 10], most).iter().map(|part| part.hi).collect::<Vec<_>>();
        assert_eq!(ends(usize::MAX), [[100, 90, 80]]);
        assert_eq!(ends(100 * 90 * 79).iter().map(|hi| hi[2]).collect::<Vec<_>>(), [70, 80]);
        assert!(ends(64 * 40 * 10).iter().all(|hi| [64, 100].contains(&hi[0]) && hi[2] % 10 == 0));
        assert!(ends(1000).iter().any(|hi| hi[2] == 1));
    }

    #[test]
    fn probes_lie_in_the_grid_and_reach_its_corners() {
        let size = [8000, 1 << 20, 1];
        let probes = probes(size, PROBES);
        assert!(probes.iter().all(|probe| Box3::of_size(size).contains(probe)));
        assert_eq!(probes.first().map(|probe| probe.lo), Some([0; 3]));
        assert_eq!(probes.last().map(|probe| probe.hi), Some(size));
    }

    #[test]
    fn there_are_fewer_probes_where_each_decodes_much() {
        let count = |most| fewer_probes([512; 3], [64; 3], most).len();
        assert_eq!([usize::MAX, 1 << 22, 1 << 19, 1 << 18, 0].map(count), [64, 8, 1, 1, 1]);
        assert_eq!(fewer_probes([512; 3], [8; 3], 0)[0].size(), [8; 3]);
    }
}
