//! A field on a grid, as the blocks of its PEs, ready to be rendered.

use thiserror::Error;
use visapult_volume::{Block, Decomposition, DecompositionError, Grid, GridError, ValueRange, coarsened_size};

use crate::macrocells::Macrocells;

/// The blocks of one step of one field, all or those of some PEs, with what the ray caster needs to know about each.
///
/// Values that are not finite count as missing: they are NaN here, and render transparent.
#[derive(Clone, Debug)]
pub struct Volume {
    grid: Grid,
    frame: Frame,
    decomposition: Decomposition,
    /// PE of the first block.
    first: usize,
    blocks: Vec<Block>,
    macrocells: Vec<Macrocells>,
    range: Option<ValueRange>,
    /// Values of blocks that are one sample wide, doubled along x; empty for the others.
    doubled: Vec<Vec<f32>>,
}

/// The box that samples lie in: that of the finest grid, whichever level of it they are of.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    finest: Grid,
    level: u32,
}

impl Frame {
    /// Where the samples lie for who sees axes so many times as long.
    pub(crate) fn placement(&self, stretch: [f64; 3]) -> Placement {
        Placement::of_level(&self.finest, self.level, stretch)
    }
}

/// Where the samples of a volume lie in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placement {
    /// Edges of the box in world units.
    pub(crate) edges: [f64; 3],
    /// `sample = world * scale + offset`, per axis.
    pub(crate) scale: [f64; 3],
    pub(crate) offset: [f64; 3],
    /// Unit of the sampling step: smallest world distance between neighbouring samples of the finest level.
    pub(crate) step: f64,
}

impl Placement {
    fn of(grid: &Grid) -> Self {
        let (scale, offset) = grid.sample_from_world();
        Self { edges: grid.world_edges(), scale, offset, step: grid.world_step() }
    }

    /// Sample `i` of the level lies at `(i + 1/2) 2^level - 1/2` of `finest`, in the same box.
    pub(crate) fn of_level(finest: &Grid, level: u32, stretch: [f64; 3]) -> Self {
        let fine = Self::of(&finest.stretched(stretch));
        let cube = f64::from(level).exp2();
        let scale = fine.scale.map(|scale| scale / cube);
        Self { scale, offset: fine.offset.map(|offset| (offset + 0.5) / cube - 0.5), ..fine }
    }
}

/// Why blocks do not make a volume.
#[derive(Debug, Error, PartialEq)]
pub enum VolumeError {
    /// The grid is unusable.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The grid cannot be split.
    #[error(transparent)]
    Decomposition(#[from] DecompositionError),
    /// Blocks and decomposition differ in number.
    #[error("{blocks} blocks for a decomposition into {boxes}")]
    BlockCount {
        /// Blocks given.
        blocks: usize,
        /// Boxes of the decomposition.
        boxes: usize,
    },
    /// A block is not the one that the decomposition has at its place, or lacks its ghost layer.
    #[error("block {index} owns or stores another box than its place in the decomposition needs")]
    BlockBox {
        /// Place of the block.
        index: usize,
    },
    /// A block has too few or too many values.
    #[error("block {index} has {values} values for {samples} samples")]
    ValueCount {
        /// Place of the block.
        index: usize,
        /// Values given.
        values: usize,
        /// Samples of its stored box.
        samples: usize,
    },
    /// A block is larger than 32-bit sample numbers reach.
    #[error("block {index} has more than 2^31 samples: split the grid over more PEs")]
    BlockTooLarge {
        /// Place of the block.
        index: usize,
    },
}

impl Volume {
    /// A volume of `blocks`, in the order of `decomposition.boxes()`, each with one ghost layer ([`Block::stored_for`]).
    ///
    /// # Errors
    /// [`VolumeError`] if the blocks are not exactly those of the decomposition of the grid.
    pub fn new(grid: Grid, decomposition: Decomposition, blocks: Vec<Block>) -> Result<Self, VolumeError> {
        let boxes = decomposition.boxes().len();
        if boxes != blocks.len() {
            return Err(VolumeError::BlockCount { blocks: blocks.len(), boxes });
        }
        Self::part(grid, decomposition, 0, blocks)
    }

    /// The part of a volume that the PEs from `first` on have: as [`Volume::new`], of some blocks.
    ///
    /// # Errors
    /// [`VolumeError`] if the blocks are not those of the decomposition from `first` on.
    pub fn part(
        grid: Grid,
        decomposition: Decomposition,
        first: usize,
        mut blocks: Vec<Block>,
    ) -> Result<Self, VolumeError> {
        grid.validate()?;
        let mut boxes = decomposition.boxes();
        if first.checked_add(blocks.len()).is_none_or(|end| end > boxes.len()) {
            return Err(VolumeError::BlockCount { blocks: blocks.len(), boxes: boxes.len().saturating_sub(first) });
        }
        boxes.drain(..first);
        for (index, (block, owned)) in blocks.iter().zip(&boxes).enumerate() {
            let ghosted = Block::stored_for(owned, &grid.bounds());
            if block.owned != *owned || !block.stored.contains(&ghosted) || !grid.bounds().contains(&block.stored) {
                return Err(VolumeError::BlockBox { index });
            }
            let (samples, values) = (block.stored.volume(), block.values.len());
            if samples != values {
                return Err(VolumeError::ValueCount { index, values, samples });
            }
            if samples > i32::MAX as usize {
                return Err(VolumeError::BlockTooLarge { index });
            }
        }
        let macrocells: Vec<Macrocells> = blocks.iter_mut().map(Macrocells::of).collect();
        let range = macrocells.iter().filter_map(Macrocells::range).reduce(ValueRange::union);
        let double = |block: &Block| {
            let thin = block.stored.size()[0] == 1;
            if thin { block.values.iter().flat_map(|&value| [value; 2]).collect() } else { Vec::new() }
        };
        let doubled = blocks.iter().map(double).collect();
        let frame = Frame { finest: grid.clone(), level: 0 };
        Ok(Self { grid, frame, decomposition, first, blocks, macrocells, range, doubled })
    }

    /// A volume of one block: `values` of the whole grid, `[z, y, x]`.
    ///
    /// # Errors
    /// [`VolumeError`] if the grid is unusable or `values` has another length.
    pub fn whole(grid: Grid, values: Vec<f32>) -> Result<Self, VolumeError> {
        grid.validate()?;
        let decomposition = Decomposition::new(grid.size, 1, 1)?;
        let block = Block { owned: grid.bounds(), stored: grid.bounds(), values: values.into() };
        Self::new(grid, decomposition, vec![block])
    }

    /// A volume of one block from the `values` of a level of detail of the grid `finest`, in the same box.
    ///
    /// # Errors
    /// [`VolumeError`] if the grid is unusable or `values` has another length.
    pub fn of_level(finest: &Grid, level: u32, values: Vec<f32>) -> Result<Self, VolumeError> {
        finest.validate()?;
        let size = coarsened_size(finest.size, level);
        let spacing = finest.spacing.map(|spacing| spacing * f64::from(level).exp2());
        let origin = std::array::from_fn(|a| finest.origin[a] + (spacing[a] - finest.spacing[a]) / 2.0);
        let frame = Frame { finest: finest.clone(), level };
        let volume = Self::whole(Grid { size, spacing, origin, ..finest.clone() }, values)?;
        Ok(Self { frame, ..volume })
    }

    /// The box that the samples lie in.
    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Where the samples lie for who sees axes so many times as long.
    pub(crate) fn placement(&self, stretch: [f64; 3]) -> Placement {
        self.frame.placement(stretch)
    }

    /// The grid of all blocks.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// How the grid is split.
    pub fn decomposition(&self) -> &Decomposition {
        &self.decomposition
    }

    /// PE of the first block.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The blocks, in the order of `decomposition().boxes()` from [`Volume::first`] on.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Gives the blocks back, so that their memory can be used again.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// Smallest and largest values of small cubes of each block.
    pub(crate) fn macrocells(&self) -> &[Macrocells] {
        &self.macrocells
    }

    /// Values and size of a block's stored box, with at least two samples along x.
    pub(crate) fn padded(&self, index: usize) -> (&[f32], [usize; 3]) {
        let [nx, ny, nz] = self.blocks[index].stored.size();
        if nx > 1 { (&self.blocks[index].values, [nx, ny, nz]) } else { (&self.doubled[index], [2, ny, nz]) }
    }

    /// Range of the finite values; `None` where there is none.
    pub fn range(&self) -> Option<ValueRange> {
        self.range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_ignores_what_is_not_finite() {
        let mut values = vec![1.0; 1000];
        (values[3], values[500], values[999], values[7]) = (-2.0, f32::NAN, 5.0, f32::INFINITY);
        let volume = Volume::whole(Grid::of_size([10, 10, 10]), values).unwrap();
        assert_eq!(volume.range(), Some(ValueRange { lo: -2.0, hi: 5.0 }));
        assert!(volume.blocks()[0].values[7].is_nan());
        let nothing = Volume::whole(Grid::of_size([3, 1, 1]), vec![f32::NAN; 3]).unwrap();
        assert_eq!(nothing.range(), None);
    }

    #[test]
    fn a_level_lies_in_the_box_of_its_finest_grid() {
        let finest = Grid::of_size([9, 8, 8]);
        let fine = Placement::of(&finest);
        let volume = Volume::of_level(&finest, 1, vec![0.0; 5 * 4 * 4]).unwrap();
        assert_eq!(volume.grid().size, [5, 4, 4]);
        assert_eq!((volume.grid().spacing, volume.grid().origin), ([2.0; 3], [0.5; 3]));
        let level = volume.placement([1.0; 3]);
        assert_eq!((level.edges, level.step), (fine.edges, fine.step));
        let world_of = |fine_sample: f64| (fine_sample - fine.offset[0]) / fine.scale[0];
        for i in 0..5 {
            let at = world_of((f64::from(i) + 0.5) * 2.0 - 0.5) * level.scale[0] + level.offset[0];
            assert!((at - f64::from(i)).abs() < 1e-12);
        }
    }

    #[test]
    fn blocks_that_do_not_fit_the_decomposition_are_refused() {
        let grid = Grid::of_size([8, 8, 8]);
        let short = Volume::whole(grid.clone(), vec![0.0; 511]);
        assert_eq!(short.unwrap_err(), VolumeError::ValueCount { index: 0, values: 511, samples: 512 });
        let split = Decomposition::new(grid.size, 2, 1).unwrap();
        let none = Volume::new(grid.clone(), split.clone(), Vec::new());
        assert_eq!(none.unwrap_err(), VolumeError::BlockCount { blocks: 0, boxes: 2 });
        let without_ghosts = |owned| Block { owned, stored: owned, values: vec![0.0; 256].into() };
        let bare = Volume::new(grid, split.clone(), split.boxes().into_iter().map(without_ghosts).collect());
        assert_eq!(bare.unwrap_err(), VolumeError::BlockBox { index: 0 });
    }
}
