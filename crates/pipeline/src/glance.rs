//! A first look at a step that takes long to read: its coarsest level of bricks, made of few of its values.
//!
//! Where rows can be read one by one, that is one through the middle of the cube of each coarse sample; where coarser levels are stored, all of the coarsest
//! that is fine enough. Elsewhere a look would take as long as the step. What it tells of ranges is of the values that were read.

use std::convert::Infallible;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use visapult_render::{CodeBits, EncodedBrick, LevelCoding, Pyramid, bricks_keep, encode_level};
use visapult_volume::{Block, Box3, ValueRange, coarsened_size};
use visapult_volume_io::{ReadRequest, Source, SourceError};

use crate::defaults::Defaults;
use crate::keyframes::Encoded;
use crate::statistics::{FieldStatistics, count};
use crate::step_store::StepKey;
use crate::wire::bricks_bodies;

/// Samples that are read for a step at least where a look comes first: fewer are there at once.
const LARGE: usize = 1 << 26;
/// The same of a source that is far away.
const LARGE_FAR: usize = 1 << 22;
/// Samples of a stored level that are read for a look, at most.
const MOST_OF_LEVEL: usize = 1 << 22;
/// What is read for it is such a part of the step at most.
const LEAST_GAIN: usize = 8;
/// Samples of rows that are read for it, at most: 1024 rows of 16 384.
const MOST_OF_ROWS: usize = 1 << 24;

/// What is known of a step before all of it is read.
pub(crate) struct Glance {
    /// Time of the step; NaN where unknown.
    pub(crate) time: f64,
    /// Of the values that were read.
    pub(crate) statistics: FieldStatistics,
    /// What a viewer starts with until the step is there.
    pub(crate) defaults: Defaults,
    level: u32,
    size: [usize; 3],
    bricks: Vec<EncodedBrick>,
    /// What of the values they hold, if not all.
    kept: Option<ValueRange>,
}

impl Glance {
    /// A look at a step, of which the coarsest of so many `levels` is shown first; none where it would take long, too, or the step will be there at once.
    pub(crate) fn of(source: &dyn Source, key: StepKey, levels: u32) -> Option<Self> {
        let least = if source.is_far() { LARGE_FAR } else { LARGE };
        if source.info().live || source.samples_read() <= least {
            return None;
        }
        let probe = Probe::of(source, key, levels - 1)?;
        // What is wrong with the source is told by whoever reads the step.
        let rows = probe.rows().ok()?;
        let Probe { level, size, .. } = probe;
        let coarse = block(size, probe.means(&rows));
        let read = block([probe.row_length(), size[1], size[2]], rows);
        let range = ValueRange::of(&read.values);
        let declared = source.info().fields[key.field].declared_range;
        let counted = |over| Ok::<_, Infallible>(count(slice::from_ref(&read), over));
        let Ok((defaults, counts)) = Defaults::of_file(source.scale(key.field), declared, range, counted);
        let kept = bricks_keep(range, defaults.transfer_function.range, None, CodeBits::EIGHT);
        let coding = LevelCoding { level: 0, bits: CodeBits::EIGHT, kept };
        Some(Self {
            time: source.time_of(key.step).unwrap_or(f64::NAN),
            statistics: counts.of_step(range),
            defaults,
            level,
            size,
            bricks: encode_level(&coarse, &Pyramid::default(), coding),
            kept,
        })
    }

    /// Its bricks for so many data connections, all over the first.
    pub(crate) fn encoded(&self, groups: usize) -> Arc<Encoded> {
        let mut of_group = vec![Vec::new(); groups];
        of_group[0].extend(&self.bricks);
        let range = self.kept.or(self.statistics.range).map(|r| [r.lo, r.hi]);
        Encoded::new(bricks_bodies(self.level, CodeBits::EIGHT.bits(), self.size, range, &of_group))
    }
}

/// Which values of a step are read, and what they stand for.
struct Probe<'a> {
    source: &'a dyn Source,
    key: StepKey,
    /// The level of bricks that is made, and its samples.
    level: u32,
    size: [usize; 3],
    /// The stored level that is read: all of it at once, or row by row.
    stored: usize,
    at_once: bool,
}

impl<'a> Probe<'a> {
    fn of(source: &'a dyn Source, key: StepKey, level: u32) -> Option<Self> {
        let levels = &source.info().levels;
        let size = coarsened_size(levels[0].size, level);
        let is_fine_enough = |stored: &usize| (0..3).all(|axis| levels[*stored].size[axis] >= size[axis]);
        let stored = (0..levels.len()).rev().find(is_fine_enough)?;
        let samples = levels[stored].sample_count();
        let at_once = samples <= MOST_OF_LEVEL.min(levels[0].sample_count() / LEAST_GAIN);
        let of_rows = levels[stored].size[0] * size[1] * size[2];
        let row_by_row =
            source.grain(key.field, stored)[1..] == [1, 1] && of_rows <= MOST_OF_ROWS.min(samples / LEAST_GAIN);
        (at_once || row_by_row).then_some(Self { source, key, level, size, stored, at_once })
    }

    fn row_length(&self) -> usize {
        self.source.info().levels[self.stored].size[0]
    }

    /// One row through the middle of each cube, y before z.
    fn rows(&self) -> Result<Vec<f32>, SourceError> {
        let [nx, ny, nz] = self.source.info().levels[self.stored].size;
        let row = |y: usize, z: usize| Box3 { lo: [0, y, z], hi: [nx, y + 1, z + 1] };
        let places = (0..self.size[2]).flat_map(|z| (0..self.size[1]).map(move |y| (y, z)));
        let mut rows = places.map(|(y, z)| (self.middle(1, y), self.middle(2, z)));
        let mut out = vec![0.0; nx * self.size[1] * self.size[2]];
        let mut outs = out.chunks_exact_mut(nx);
        if self.at_once {
            let mut all = vec![0.0; nx * ny * nz];
            self.read(Box3::of_size([nx, ny, nz]), &mut all)?;
            rows.zip(outs).for_each(|((y, z), out)| out.copy_from_slice(&all[(z * ny + y) * nx..][..nx]));
        } else {
            rows.try_for_each(|(y, z)| outs.next().map_or(Ok(()), |out| self.read(row(y, z), out)))?;
        }
        Ok(out)
    }

    fn read(&self, bounds: Box3, out: &mut [f32]) -> Result<(), SourceError> {
        let StepKey { field, step } = self.key;
        self.source.read(&ReadRequest { field, step, level: self.stored, bounds }, out)
    }

    /// The samples of the level of bricks: means along these rows.
    fn means(&self, rows: &[f32]) -> Vec<f32> {
        let of_row = |row: &[f32]| (0..self.size[0]).map(|x| finite_mean(&row[self.cube(0, x)])).collect::<Vec<_>>();
        rows.chunks_exact(self.row_length()).flat_map(of_row).collect()
    }

    fn middle(&self, axis: usize, i: usize) -> usize {
        let cube = self.cube(axis, i);
        (cube.start + cube.end) / 2
    }

    /// The samples of the stored level along an axis that sample `i` of the level of bricks stands for.
    fn cube(&self, axis: usize, i: usize) -> Range<usize> {
        let [finest, stored] = [0, self.stored].map(|level| self.source.info().levels[level].size[axis]);
        let place = |fine: usize| fine.min(finest) * stored / finest;
        let start = place(i << self.level);
        start..place((i + 1) << self.level).max(start + 1)
    }
}

/// NaN where nothing is finite.
fn finite_mean(values: &[f32]) -> f32 {
    let finite = values.iter().filter(|value| value.is_finite());
    let (sum, count) = finite.fold((0.0, 0_u32), |(sum, count), value| (sum + f64::from(*value), count + 1));
    if count == 0 { f32::NAN } else { (sum / f64::from(count)) as f32 }
}

fn block(size: [usize; 3], values: Vec<f32>) -> Block {
    let all = Box3::of_size(size);
    Block { owned: all, stored: all, values: values.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Gate, Ramp};

    const KEY: StepKey = StepKey { field: 0, step: 0 };

    /// The samples of the coarsest level of bricks of a look, with their places.
    fn samples(glance: &Glance) -> Vec<([usize; 3], f32)> {
        let of_brick = |brick: &EncodedBrick| {
            let values = brick.decode(CodeBits::EIGHT).unwrap();
            values.into_iter().enumerate().map(|(i, value)| (brick.place(i), value)).collect::<Vec<_>>()
        };
        glance.bricks.iter().flat_map(of_brick).collect()
    }

    /// Holds each sample to the mean of the ramp over its cube: along y and z to half the distance of what is read, and to half a code.
    fn assert_like_means(glance: &Glance, size: [usize; 3], apart: f64) {
        let cube = 1 << glance.level;
        let samples = samples(glance);
        assert_eq!(samples.len(), coarsened_size(size, glance.level).iter().product::<usize>());
        for (at, value) in samples {
            let middle: f64 = (0..3)
                .map(|axis| ((at[axis] * cube + (at[axis] * cube + cube).min(size[axis])) as f64 - 1.0) / 2.0)
                .sum();
            assert!((f64::from(value) - middle).abs() <= apart + 2.7, "{value} at {at:?} is not {middle}");
        }
    }

    #[test]
    fn few_rows_of_a_large_file_tell_its_coarsest_level() {
        let size = [600, 411, 300];
        let ramp = Ramp::of(&[size], [1; 3]);
        let glance = Glance::of(&ramp, KEY, 6).unwrap();
        assert_eq!((glance.level, glance.size), (5, [19, 13, 10]));
        assert_like_means(&glance, size, 1.0);
        assert_eq!(ramp.read_samples(), 600 * 13 * 10);
        let range = glance.statistics.range.unwrap();
        assert_eq!((glance.statistics.finite, range.lo), (600 * 13 * 10, 16.0 + 16.0));
        assert_eq!(glance.defaults.data_range, Some(range));
    }

    #[test]
    fn a_coarser_level_that_is_stored_is_read_instead() {
        let (size, middle, coarse) = ([512, 512, 300], [128, 128, 75], [8, 8, 5]);
        let ramp = Ramp::of(&[size, middle, coarse], [64; 3]);
        assert_like_means(&Glance::of(&ramp, KEY, 5).unwrap(), size, 4.0);
        assert_eq!(ramp.read_samples(), middle.iter().product::<usize>());
    }

    #[test]
    fn what_takes_as_long_as_the_step_is_not_looked_at() {
        assert!(Glance::of(&Ramp::of(&[[512, 512, 300]], [64; 3]), KEY, 5).is_none());
        assert!(Glance::of(&Ramp::of(&[[256; 3]], [1; 3]), KEY, 4).is_none());
        // Means of a much larger file: to read these is to read that.
        assert!(Glance::of(&Ramp::of(&[[40; 3]], [1; 3]).held(usize::MAX, &Gate::default()), KEY, 2).is_none());
    }
}
