//! A source as if it stored one of its levels alone, or no finer ones, or one that is coarser than all it stores.

use visapult_volume::{Box3, Grid, StepSpan, coarsened_size, halve};

use crate::options::with_option;
use crate::{Along, ReadRequest, Source, SourceError, SourceInfo, Together};

/// A level that is made may be so short; below, no more of it is to be seen.
const LEAST_EDGE: usize = 8;
/// Samples of a stored level that are held while a coarser one is made from them.
pub(crate) const HELD: usize = 8 << 20;

struct FromLevel {
    source: Box<dyn Source>,
    info: SourceInfo,
    /// The finest level that is read.
    stored: usize,
    /// How often that is halved.
    halvings: u32,
}

/// The grids that [`at_level`] can give: those that are stored, finest first, and then those that are made.
pub fn levels_of(info: &SourceInfo) -> Vec<Grid> {
    let mut levels = info.levels.clone();
    while let Some(coarsest) = levels.last()
        && coarsest.size.into_iter().max() > Some(LEAST_EDGE)
    {
        levels.push(halved(coarsest));
    }
    levels
}

/// `source` with its level `level` alone, 0 being the finest; its name says which. Beyond the coarsest that it stores, each level has half the
/// samples of the one before along every axis: the means of cubes of 2 x 2 x 2, made whenever they are read.
///
/// # Errors
/// [`SourceError::Request`] if there is no such level.
pub fn at_level(source: Box<dyn Source>, level: usize) -> Result<Box<dyn Source>, SourceError> {
    limited(source, level, 1)
}

/// The same with the coarser ones that it stores.
///
/// # Errors
/// [`SourceError::Request`] if there is no such level.
pub fn from_level(source: Box<dyn Source>, level: usize) -> Result<Box<dyn Source>, SourceError> {
    limited(source, level, usize::MAX)
}

/// At most so many levels, from `level` on.
fn limited(source: Box<dyn Source>, level: usize, most: usize) -> Result<Box<dyn Source>, SourceError> {
    let mut info = source.info().clone();
    let levels = levels_of(&info);
    let Some(grid) = levels.get(level).cloned() else {
        let problem = format!("it has no level {level}: 0 to {} are possible", levels.len() - 1);
        return Err(SourceError::Request { name: info.name, problem });
    };
    let stored = level.min(info.levels.len() - 1);
    for _ in stored..level {
        info.along.iter_mut().for_each(Along::halve);
    }
    let coarser = info.levels.iter().skip(level + 1).cloned();
    info.levels = [grid].into_iter().chain(coarser).take(most).collect();
    info.name = with_option(&info.name, &format!("level={level}"));
    Ok(Box::new(FromLevel { source, info, stored, halvings: (level - stored) as u32 }))
}

/// The grid of the means of 2 x 2 x 2 samples each. An axis of one sample stays as it is.
fn halved(grid: &Grid) -> Grid {
    let mut coarse = Grid { size: coarsened_size(grid.size, 1), ..grid.clone() };
    for axis in (0..3).filter(|&axis| grid.size[axis] > 1) {
        coarse.spacing[axis] *= 2.0;
        coarse.origin[axis] += grid.spacing[axis] / 2.0;
    }
    coarse
}

impl Source for FromLevel {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.source.steps()
    }

    fn behind(&self) -> Option<&dyn Source> {
        Some(self.source.as_ref())
    }

    fn grain(&self, field: usize, level: usize) -> [usize; 3] {
        self.source.grain(field, self.stored + level).map(|samples| (samples >> self.halvings).max(1))
    }

    fn together(&self, field: usize, level: usize) -> Together {
        let stored = self.source.together(field, self.stored + level);
        let along = |axis: usize| self.info.levels[level].size[axis] > 1;
        let halved = (0..3).filter(|&axis| along(axis)).count() as u32 * self.halvings;
        // Of few samples of a coarse level many are read.
        Together { samples: stored.samples.checked_shr(halved).unwrap_or(0), ..stored }
    }

    fn samples_read(&self) -> usize {
        self.source.info().levels[self.stored].sample_count()
    }

    fn is_as_stored(&self, field: usize, level: usize) -> bool {
        self.halvings == 0 && self.source.is_as_stored(field, self.stored + level)
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps(), out.len())?;
        if self.halvings == 0 {
            return self.source.read(&ReadRequest { level: self.stored + request.level, ..*request }, out);
        }
        let bounds = request.bounds;
        for tile in tiles(&bounds, self.halvings) {
            let values = self.means(request, &tile)?;
            place(&values, &tile, out, &bounds);
        }
        Ok(())
    }
}

impl FromLevel {
    /// The samples of `coarse`, made from the level that is read.
    fn means(&self, request: &ReadRequest, coarse: &Box3) -> Result<Vec<f32>, SourceError> {
        let whole = self.source.info().levels[self.stored].size;
        let fine = Box3 {
            lo: coarse.lo.map(|lo| lo << self.halvings),
            hi: std::array::from_fn(|axis| (coarse.hi[axis] << self.halvings).min(whole[axis])),
        };
        let mut size = fine.size();
        let mut values = vec![0.0; fine.volume()];
        self.source.read(&ReadRequest { level: self.stored, bounds: fine, ..*request }, &mut values)?;
        for _ in 0..self.halvings {
            (values, size) = halve(&values, size);
        }
        Ok(values)
    }
}

/// Cuts `bounds` into boxes of whole rows and a square section, each of which is made from not many more than [`HELD`] samples: chunked files are
/// read chunk by chunk, plain ones in long pieces.
pub(crate) fn tiles(bounds: &Box3, halvings: u32) -> Vec<Box3> {
    let row = (bounds.size()[0] << halvings).max(1);
    let edge = (((HELD / row) as f64).sqrt() as usize >> halvings).max(1);
    let cuts = |axis: usize| (bounds.lo[axis]..bounds.hi[axis]).step_by(edge);
    let tile = |z: usize, y: usize| Box3 {
        lo: [bounds.lo[0], y, z],
        hi: [bounds.hi[0], (y + edge).min(bounds.hi[1]), (z + edge).min(bounds.hi[2])],
    };
    cuts(2).flat_map(|z| cuts(1).map(move |y| tile(z, y))).collect()
}

/// Copies the rows of `tile` to where they belong in `out`.
pub(crate) fn place(values: &[f32], tile: &Box3, out: &mut [f32], bounds: &Box3) {
    let ([nx, ny, _], [_, rows, _]) = (tile.size(), bounds.size());
    for (i, row) in values.chunks_exact(nx.max(1)).enumerate() {
        let (y, z) = (tile.lo[1] + i % ny - bounds.lo[1], tile.lo[2] + i / ny - bounds.lo[2]);
        out[(z * rows + y) * nx..][..nx].copy_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Ramp, ramp, value};

    #[test]
    fn a_level_that_is_not_stored_has_the_means_at_their_places() {
        let source = at_level(ramp([401, 300, 290]), 2).unwrap();
        let grid = source.info().grid().clone();
        assert_eq!((source.info().name.as_str(), grid.size), ("ramp?level=2", [101, 75, 73]));
        assert_eq!((grid.spacing, grid.origin), ([4.0, 8.0, 16.0], [1.5, 3.0, 6.0]));
        let bounds = Box3 { lo: [3, 0, 1], hi: [101, 75, 73] };
        let mut out = vec![0.0; bounds.volume()];
        source.read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut out).unwrap();
        // Of a ramp the mean is what is at the middle; the last is of one column, and of two planes.
        assert_eq!(out[0], 13.5 + 150.0 + 55_000.0);
        let [nx, ny, _] = bounds.size();
        assert_eq!(out[(nx * ny) * 4 + nx * 7 + 20], value([92, 28, 20]) + 1.5 + 150.0 + 15_000.0);
        assert_eq!(out[out.len() - 1], 400.0 + 29_750.0 + 2_885_000.0);
    }

    #[test]
    fn levels_that_are_stored_stay_below_the_one_that_is_shown() {
        let stored = || {
            let mut info = ramp([64, 64, 64]).info().clone();
            info.levels = [64, 32, 16].map(|edge| Grid::of_size([edge; 3])).to_vec();
            Box::new(Ramp(info))
        };
        let source = from_level(stored(), 1).unwrap();
        let edges = |source: &dyn Source| source.info().levels.iter().map(|grid| grid.size[0]).collect::<Vec<_>>();
        assert_eq!((edges(source.as_ref()), source.samples_read()), (vec![32, 16], 32 * 32 * 32));
        for level in [0, 1] {
            let mut out = [0.0];
            let bounds = Box3 { lo: [3, 2, 1], hi: [4, 3, 2] };
            source.read(&ReadRequest { field: 0, step: 0, level, bounds }, &mut out).unwrap();
            assert_eq!(out[0], value([3, 2, 1]) + 0.25 * (level + 1) as f32);
        }
        assert_eq!([0, 1].map(|level| source.is_as_stored(0, level)), [false, true]);
        assert_eq!([1, 2, 3].map(|level| at_level(stored(), level).unwrap().is_as_stored(0, 0)), [false, true, false]);
        assert_eq!(edges(at_level(stored(), 1).unwrap().as_ref()), [32]);
        assert_eq!(from_level(stored(), 3).unwrap().samples_read(), 16 * 16 * 16);
    }

    #[test]
    fn levels_end_where_there_is_nothing_more_to_see() {
        let levels = levels_of(ramp([64, 1, 20]).info());
        assert_eq!(
            levels.iter().map(|grid| grid.size).collect::<Vec<_>>(),
            [[64, 1, 20], [32, 1, 10], [16, 1, 5], [8, 1, 3]]
        );
        assert_eq!((levels[3].spacing[1], levels[3].origin[1]), (2.0, 0.0));
        let refused = at_level(ramp([64, 1, 20]), 4).err().unwrap().to_string();
        assert!(refused.contains("no level 4: 0 to 3"), "{refused}");
    }
}
