//! Values of a level of detail at any place, as they are or as bricks keep them.

use std::sync::Arc;

use rayon::prelude::*;
use visapult_volume::{Block, Box3, ValueRange};

use super::Subject;
use crate::bricks::{BOX_SIZE, Samples};
use crate::cpu::table::Table;
use crate::interpolation::{self, trilinear};
use crate::kept_range::with_zero_on_a_code;
use crate::macrocells::Macrocells;
use crate::volume::Placement;
use crate::{CodeBits, Pyramid, Volume};

/// Of each block, whether anything in each macrocell is visible.
pub(super) struct Visible(Vec<Arc<[bool]>>);

impl Visible {
    /// Through `table`, whatever length its samples stand for.
    pub(super) fn new(table: &Table, volume: &Volume) -> Self {
        let of_block = |cells: &Macrocells| {
            let visible: Vec<bool> =
                cells.ranges.par_iter().with_min_len(4096).map(|range| table.any_visible(*range)).collect();
            visible.into()
        };
        Self(volume.macrocells().iter().map(of_block).collect())
    }
}

/// The values of one level, block by block.
pub(super) struct Level<'a> {
    scale: [f64; 3],
    offset: [f64; 3],
    /// Samples along each axis.
    size: [usize; 3],
    /// How far the next sample is: 0 where there is one alone.
    next: [usize; 3],
    parts: Vec<Part<'a>>,
}

/// Where a value is read.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    part: usize,
    cell: [usize; 3],
    weight: [f32; 3],
}

struct Part<'a> {
    /// Samples that the block owns.
    bounds: Box3,
    stored: Box3,
    values: &'a [f32],
    /// From one row to the next, and from one plane.
    strides: [usize; 2],
    /// Least value and distance of codes of each box of bricks; empty where values are as they are.
    codes: Vec<[f32; 2]>,
    /// Boxes along x and y.
    across: [usize; 2],
    /// Values beyond are at its ends, where there is one.
    kept: Option<ValueRange>,
    /// Whether anything in each macrocell is visible; empty where that is not known.
    visible: Arc<[bool]>,
    /// Macrocells along x and y.
    cells: [usize; 2],
}

impl<'a> Level<'a> {
    /// The field itself.
    pub(super) fn exact(subject: &Subject<'a>) -> Self {
        let part = |block: &'a Block| Part::new(block.owned, block.stored, &block.values);
        Self::new(subject, 0, subject.volume.blocks().iter().map(part).collect())
    }

    /// The finest level, without what is not `visible`: it counts as missing.
    pub(super) fn shown_by(mut self, visible: &Visible, volume: &Volume) -> Self {
        for ((part, visible), cells) in self.parts.iter_mut().zip(&visible.0).zip(volume.macrocells()) {
            part.visible = Arc::clone(visible);
            part.cells = [cells.counts[0], cells.counts[1]];
        }
        self
    }

    /// What bricks of so many bits keep of `level`.
    pub(super) fn of_bricks(subject: &Subject<'a>, level: u32, bits: CodeBits) -> Self {
        let volume = subject.volume;
        let blocks = volume.blocks().iter().zip(subject.pyramids).zip(volume.macrocells());
        let kept = subject.bricks_keep(bits);
        let part = |((block, pyramid), cells): ((&'a Block, &'a Pyramid), &Macrocells)| {
            let Samples { values, stored, bounds } = pyramid.samples(block, level);
            let across = [0, 1].map(|axis| bounds.size()[axis].div_ceil(BOX_SIZE[axis]));
            let codes_of = |bounds| codes_of(&bounds, level, bits, &block.stored, cells, kept);
            let codes = bounds.bricks(BOX_SIZE).map(codes_of).collect();
            Part { codes, across, kept, ..Part::new(bounds, stored, values) }
        };
        Self::new(subject, level, blocks.map(part).collect())
    }

    fn new(subject: &Subject<'_>, level: u32, parts: Vec<Part<'a>>) -> Self {
        let grid = subject.volume.grid();
        let Placement { scale, offset, .. } = Placement::of_level(grid, level, subject.key.stretch);
        let size = visapult_volume::coarsened_size(grid.size, level);
        Self { scale, offset, size, next: size.map(|n| usize::from(n > 1)), parts }
    }

    /// The value at a world position, held beyond the outermost samples; NaN where it is missing. `part` is where the last one was found.
    pub(super) fn value(&self, world: [f64; 3], part: &mut usize) -> f32 {
        let at = std::array::from_fn(|axis| world[axis] * self.scale[axis] + self.offset[axis]);
        self.spot(at, part).map_or(f32::NAN, |spot| self.read(&spot))
    }

    /// A ray in samples: where it starts, and how far it goes in one world unit.
    pub(super) fn line(&self, eye: [f64; 3], direction: [f64; 3]) -> [[f64; 3]; 2] {
        let start = std::array::from_fn(|axis| eye[axis] * self.scale[axis] + self.offset[axis]);
        [start, std::array::from_fn(|axis| direction[axis] * self.scale[axis])]
    }

    /// Where the value at a place in samples is read; `None` where it is missing.
    #[inline]
    pub(super) fn spot(&self, at: [f64; 3], part: &mut usize) -> Option<Spot> {
        let mut cell = [0; 3];
        let mut weight = [0.0; 3];
        for axis in 0..3 {
            (cell[axis], weight[axis]) = interpolation::cell(at[axis], self.size[axis]);
        }
        if !self.parts.get(*part).is_some_and(|part| holds(&part.bounds, cell)) {
            *part = self.owner(cell)?;
        }
        (!self.parts[*part].hides(cell)).then_some(Spot { part: *part, cell, weight })
    }

    /// The value there.
    #[inline]
    pub(super) fn read(&self, spot: &Spot) -> f32 {
        trilinear(self.corners(&self.parts[spot.part], spot.cell), spot.weight)
    }

    fn owner(&self, cell: [usize; 3]) -> Option<usize> {
        self.parts.iter().position(|part| holds(&part.bounds, cell))
    }

    /// The eight values around a place, x fastest.
    #[inline]
    fn corners(&self, part: &Part<'_>, cell: [usize; 3]) -> [f32; 8] {
        if (0..3).any(|axis| cell[axis] + self.next[axis] >= part.stored.hi[axis]) {
            return part.coded(std::array::from_fn(|corner| self.corner(part, cell, corner)), cell);
        }
        let [x, y, z] = [self.next[0], self.next[1] * part.strides[0], self.next[2] * part.strides[1]];
        let v = &part.values[part.index(cell)..];
        part.coded([v[0], v[x], v[y], v[x + y], v[z], v[x + z], v[y + z], v[x + y + z]], cell)
    }

    /// One of the values around a place of `part`, of whichever part has it; the nearest of `part` where another process has it.
    fn corner(&self, part: &Part<'_>, cell: [usize; 3], corner: usize) -> f32 {
        let at = std::array::from_fn(|axis| cell[axis] + (corner >> axis & 1) * self.next[axis]);
        let held = || (part, std::array::from_fn(|axis| at[axis].min(part.stored.hi[axis] - 1)));
        let (part, at) = self.owner(at).map_or_else(held, |owner| (&self.parts[owner], at));
        part.values[part.index(at)]
    }
}

impl<'a> Part<'a> {
    fn new(bounds: Box3, stored: Box3, values: &'a [f32]) -> Self {
        let [nx, ny, _] = stored.size();
        let (codes, visible) = (Vec::new(), Arc::default());
        Self {
            bounds,
            stored,
            values,
            strides: [nx, nx * ny],
            codes,
            across: [0; 2],
            kept: None,
            visible,
            cells: [0; 2],
        }
    }

    #[inline]
    fn index(&self, at: [usize; 3]) -> usize {
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| at[axis] - self.stored.lo[axis]);
        z * self.strides[1] + y * self.strides[0] + x
    }

    #[inline]
    fn hides(&self, cell: [usize; 3]) -> bool {
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| (cell[axis] - self.stored.lo[axis]) / Macrocells::EDGE);
        self.visible.get((z * self.cells[1] + y) * self.cells[0] + x) == Some(&false)
    }

    /// The values that codes stand for; those of the box at `cell` are taken for all corners.
    #[inline]
    fn coded(&self, values: [f32; 8], cell: [usize; 3]) -> [f32; 8] {
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| (cell[axis] - self.bounds.lo[axis]) / BOX_SIZE[axis]);
        let values = self.kept.map_or(values, |kept| values.map(|value| value.clamp(kept.lo, kept.hi)));
        match self.codes.get((z * self.across[1] + y) * self.across[0] + x) {
            Some(&[lo, step]) if step > 0.0 => {
                let per_step = 1.0 / step;
                values.map(|value| lo + rounded((value - lo) * per_step) * step)
            }
            _ => values,
        }
    }
}

/// The nearest whole number of one below 2^22: NaN stays NaN, and nothing is called.
pub(super) fn rounded(value: f32) -> f32 {
    const TO_WHOLE: f32 = 12_582_912.0;
    (value + TO_WHOLE) - TO_WHOLE
}

fn holds(bounds: &Box3, at: [usize; 3]) -> bool {
    (0..3).all(|axis| bounds.lo[axis] <= at[axis] && at[axis] < bounds.hi[axis])
}

/// Least value of a box of bricks, and distance of their codes, from the ranges of the macrocells that it meets: at least what they are.
fn codes_of(
    bounds: &Box3,
    level: u32,
    bits: CodeBits,
    stored: &Box3,
    cells: &Macrocells,
    kept: Option<ValueRange>,
) -> [f32; 2] {
    let among = |axis: usize| {
        let cell = |fine: usize| (fine.max(stored.lo[axis]) - stored.lo[axis]) / Macrocells::EDGE;
        let end = cell((bounds.hi[axis] << level) - 1) + 1;
        cell(bounds.lo[axis] << level).min(cells.counts[axis] - 1)..end.min(cells.counts[axis])
    };
    let (mut lo, mut hi) = (f32::INFINITY, f32::NEG_INFINITY);
    for (z, y) in among(2).flat_map(|z| among(1).map(move |y| (z, y))) {
        let row = (z * cells.counts[1] + y) * cells.counts[0];
        for range in &cells.ranges[row..][among(0)] {
            (lo, hi) = (lo.min(range[0]), hi.max(range[1]));
        }
    }
    if let Some(kept) = kept.filter(|_| lo <= hi) {
        (lo, hi) = (lo.clamp(kept.lo, kept.hi), hi.clamp(kept.lo, kept.hi));
    }
    let steps = bits.steps();
    let ValueRange { lo, hi } = with_zero_on_a_code(ValueRange { lo, hi }, steps);
    [lo, (f64::from(hi) - f64::from(lo)).max(0.0) as f32 / steps as f32]
}
