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

/// Looks through `steps` of `field`, or the first of them where all are too much. What has no steps is looked through once.
///
/// # Errors
/// [`PipelineError`] if it cannot be read.
pub(crate) fn survey(source: &dyn Source, field: usize, steps: StepSpan) -> Result<Survey, PipelineError> {
    let levels = &source.info().levels;
    let samples_of = |level: usize| levels[level].sample_count();
    let most = if source.is_far() { MOST_FAR } else { MOST_SAMPLES };
    let small = (0..levels.len()).find(|&level| samples_of(level) <= most);
    let level = small.unwrap_or(levels.len() - 1);
    let size = levels[level].size;
    let parts = if small.is_some() { layers(size) } else { probes(size) };
    let mut values = memory::values(source.info(), parts.iter().map(Box3::volume).max().unwrap_or(0))?;
    let count = usize::try_from(steps.last - steps.first).unwrap_or(usize::MAX).saturating_add(1);
    let fit = small.is_some() && samples_of(level).saturating_mul(count) <= most.min(MOST_OF_STEPS);
    let is_static = source.is_static(field);
    let first = StepSpan { last: steps.first, ..steps };
    let read = if fit && !is_static { steps } else { first };
    let (mut range, mut missing, mut infinite, mut looked_at) = (None, 0, 0, 0_usize);
    for step in read.first..=read.last {
        for &bounds in &parts {
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

/// Layers that tile the grid; bars where a plane is too much at once.
fn layers([nx, ny, nz]: [usize; 3]) -> Vec<Box3> {
    let rows = (PART_SAMPLES / nx).clamp(1, ny);
    let planes = if rows < ny { 1 } else { (PART_SAMPLES / (nx * ny)).clamp(1, nz) };
    let starts = |length: usize, part: usize| (0..length).step_by(part).map(move |lo| (lo, (lo + part).min(length)));
    let layer = |(z, to_z)| starts(ny, rows).map(move |(y, to_y)| Box3 { lo: [0, y, z], hi: [nx, to_y, to_z] });
    starts(nz, planes).flat_map(layer).collect()
}

/// Small boxes from one corner of the grid to the other, evenly spread.
fn probes(size: [usize; 3]) -> Vec<Box3> {
    let edges = size.map(|length| length.min(PROBE_EDGE));
    let places = [0, 1, 2].map(|axis| {
        let mut places: Vec<usize> = (0..PROBES).map(|i| (size[axis] - edges[axis]) * i / (PROBES - 1)).collect();
        places.dedup();
        places
    });
    let along = |axis: usize| places[axis].iter().copied();
    let corners = along(2).flat_map(|z| along(1).flat_map(move |y| along(0).map(move |x| [x, y, z])));
    corners.map(|lo| Box3 { lo, hi: std::array::from_fn(|axis| lo[axis] + edges[axis]) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_tile_the_grid_and_are_bounded() {
        for size in [[3, 5, 7], [1024, 1024, 1000], [1 << 20, 300, 2], [40_000, 20_000, 1]] {
            let layers = layers(size);
            assert_eq!(layers.iter().map(Box3::volume).sum::<usize>(), size.iter().product::<usize>());
            assert!(layers.iter().all(|layer| layer.volume() <= PART_SAMPLES), "{size:?}");
            assert!(layers.windows(2).all(|pair| pair[0].intersection(&pair[1]).is_none()), "{size:?}");
        }
    }

    #[test]
    fn probes_lie_in_the_grid_and_reach_its_corners() {
        let size = [8000, 1 << 20, 1];
        let probes = probes(size);
        assert!(probes.iter().all(|probe| Box3::of_size(size).contains(probe)));
        assert_eq!(probes.first().map(|probe| probe.lo), Some([0; 3]));
        assert_eq!(probes.last().map(|probe| probe.hi), Some(size));
    }
}
