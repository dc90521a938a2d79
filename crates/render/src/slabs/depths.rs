//! Between which depths there is anything to see: slabs are not spent on the rest.

use rayon::prelude::*;
use visapult_volume::Block;

use crate::camera::dot;
use crate::cpu::table::Table;
use crate::macrocells::Macrocells;
use crate::transfer_function::REFERENCE_LENGTH;
use crate::volume::Placement;
use crate::world_box::WorldBox;
use crate::{TransferFunction, Volume};

/// No value at all.
const NONE: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

/// Least and largest distance from `eye` along `normal` of the cells, placed so, that `transfer_function` shows of the box that is `shown`; `None` where it shows
/// nothing.
///
/// Cells are those between neighbouring samples: how the volume is split into blocks makes no difference.
pub(super) fn visible_depths(
    volume: &Volume,
    placement: &Placement,
    shown: &WorldBox,
    transfer_function: &TransferFunction,
    eye: [f64; 3],
    normal: [f64; 3],
) -> Option<[f64; 2]> {
    let range = transfer_function.resolved_range(volume.range())?;
    let table = Table::new(transfer_function, range, REFERENCE_LENGTH);
    let at_eye = dot(eye, normal);
    let of_block = |(block, cells): (&Block, &Macrocells)| {
        let positions = [0, 1, 2].map(|axis| positions(volume, placement, block, axis));
        let visible = Visible { block, cells, table: &table, positions, shown };
        Some([visible.least(normal)? - at_eye, -visible.least(normal.map(|c| -c))? - at_eye])
    };
    let of_blocks = volume.blocks().iter().zip(volume.macrocells()).filter_map(of_block);
    of_blocks.reduce(|[near, far], [lo, hi]| [near.min(lo), far.max(hi)])
}

/// What is visible of a block. Ranges are of samples, by axis: a cell lies between two.
struct Visible<'a> {
    block: &'a Block,
    cells: &'a Macrocells,
    table: &'a Table,
    /// World positions of samples along each axis; those at the grid's ends are its faces.
    positions: [Vec<f64>; 3],
    /// What lies outside is cut away.
    shown: &'a WorldBox,
}

impl Visible<'_> {
    /// The least position along `normal` of a visible cell.
    ///
    /// Along a row of macrocells positions do not fall, counted from one of its ends: the first visible one is the nearest there. In a visible
    /// macrocell at least one cell is visible: no need to look into those behind the far end of another.
    fn least(&self, normal: [f64; 3]) -> Option<f64> {
        let length = self.cells.counts[0];
        let rows = || (0..self.cells.ranges.len() / length).into_par_iter();
        let index = |row: usize, place: usize| row * length + if normal[0] < 0.0 { length - 1 - place } else { place };
        let range = |index: usize| if self.is_shown(&self.samples(index)) { self.cells.ranges[index] } else { NONE };
        let ranges = |row: usize| (0..length).map(move |place| range(index(row, place)));
        let is_visible = |index: usize| self.is_shown(&self.samples(index)) && self.table.any_visible(range(index));
        let firsts: Vec<usize> = rows().map(|row| self.first_visible(ranges(row)).unwrap_or(length)).collect();
        let far = |index: usize| -self.along(&self.samples(index), normal.map(|c| -c));
        let first = |row: usize| (firsts[row] < length).then(|| index(row, firsts[row]));
        // Of what is cut, all that is visible may be cut away.
        let nearest = rows().filter_map(first).filter(|first| self.is_whole(&self.samples(*first))).map(far);
        let enough = nearest.reduce(|| f64::INFINITY, f64::min);
        let near = |samples: &[[usize; 2]; 3]| self.along(samples, normal);
        let candidates = |row: usize| {
            let macrocells = (firsts[row]..length).map(move |place| index(row, place));
            macrocells.take_while(|index| near(&self.samples(*index)) < enough).filter(|index| is_visible(*index))
        };
        let inside = rows().flat_map_iter(candidates).flat_map_iter(|index| cells_of(&self.samples(index)));
        let visible = inside.filter(|cell| near(cell) < enough && self.is_shown(cell) && self.is_visible(cell));
        let least = visible.map(|cell| near(&cell)).reduce(|| enough, f64::min);
        least.is_finite().then_some(least)
    }

    /// The place of the first of some ranges of values of which anything is visible.
    ///
    /// What lies within values of which nothing is visible is not looked up: most of what is empty has nearly the same values.
    fn first_visible(&self, mut ranges: impl Iterator<Item = [f32; 2]>) -> Option<usize> {
        let mut unseen = NONE;
        ranges.position(|range| {
            if range[0] >= unseen[0] && range[1] <= unseen[1] {
                return false;
            }
            let both = [range[0].min(unseen[0]), range[1].max(unseen[1])];
            unseen = if self.table.any_visible(both) { range } else { both };
            self.table.any_visible(range)
        })
    }

    /// The samples at the ends of a macrocell.
    fn samples(&self, index: usize) -> [[usize; 2]; 3] {
        let [nx, ny, _] = self.cells.counts;
        let cell = [index % nx, index / nx % ny, index / (nx * ny)];
        [0, 1, 2].map(|axis| {
            let first = cell[axis] * Macrocells::EDGE;
            [first, (first + Macrocells::EDGE).min(self.positions[axis].len() - 1)]
        })
    }

    /// The least position along `normal` of what is shown between samples.
    fn along(&self, samples: &[[usize; 2]; 3], normal: [f64; 3]) -> f64 {
        let place = |axis: usize, i: usize| self.positions[axis][i].clamp(self.shown.lo[axis], self.shown.hi[axis]);
        (0..3).map(|axis| samples[axis].map(|i| place(axis, i) * normal[axis])).map(|[a, b]| a.min(b)).sum()
    }

    /// Whether not all between samples is cut away.
    fn is_shown(&self, samples: &[[usize; 2]; 3]) -> bool {
        let [lo, hi] = self.ends(samples);
        (0..3).all(|axis| lo[axis].max(self.shown.lo[axis]) < hi[axis].min(self.shown.hi[axis]))
    }

    /// Whether nothing between samples is.
    fn is_whole(&self, samples: &[[usize; 2]; 3]) -> bool {
        let [lo, hi] = self.ends(samples);
        (0..3).all(|axis| lo[axis] >= self.shown.lo[axis] && hi[axis] <= self.shown.hi[axis])
    }

    fn ends(&self, samples: &[[usize; 2]; 3]) -> [[f64; 3]; 2] {
        [0, 1].map(|end| [0, 1, 2].map(|axis| self.positions[axis][samples[axis][end]]))
    }

    fn is_visible(&self, cell: &[[usize; 2]; 3]) -> bool {
        let size = self.block.stored.size();
        let at = |axis: usize, i: usize| cell[axis][i].min(size[axis] - 1);
        let value = |corner: usize| {
            let [x, y, z] = [0, 1, 2].map(|axis| at(axis, corner >> axis & 1));
            self.block.values[(z * size[1] + y) * size[0] + x]
        };
        let ends = |[lo, hi]: [f32; 2], value: f32| [lo.min(value), hi.max(value)];
        self.table.any_visible((0..8).map(value).fold([f32::INFINITY, f32::NEG_INFINITY], ends))
    }
}

/// The cells between the first and the last of some samples.
fn cells_of([x, y, z]: &[[usize; 2]; 3]) -> impl Iterator<Item = [[usize; 2]; 3]> + use<> {
    let [x, y, z] = [x, y, z].map(|[first, last]| *first..*last);
    let rows = z.flat_map(move |z| y.clone().map(move |y| (y, z)));
    rows.flat_map(move |(y, z)| x.clone().map(move |x| [x, y, z].map(|first| [first, first + 1])))
}

/// World positions of a block's samples along an axis; two where there is one, for then it fills the box.
fn positions(volume: &Volume, placement: &Placement, block: &Block, axis: usize) -> Vec<f64> {
    let half = placement.edges[axis] / 2.0;
    let (first, count, last) = (block.stored.lo[axis], block.stored.size()[axis], volume.grid().size[axis] - 1);
    let world = |i: usize| match first + i {
        0 => -half,
        sample if sample >= last => half,
        sample => (sample as f64 - placement.offset[axis]) / placement.scale[axis],
    };
    (0..count.max(2)).map(world).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use visapult_volume::Grid;

    #[test]
    fn depths_enclose_what_is_visible_and_little_more() {
        let edge = 33;
        let mut values = vec![0.0; edge * edge * edge];
        values[(16 * edge + 16) * edge + 16] = 1.0;
        let volume = Volume::whole(Grid::of_size([edge; 3]), values).unwrap();
        let points = vec![[0.0, 1.0, 1.0, 1.0, 0.0], [0.2, 1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]];
        let function = TransferFunction { range: None, points };
        let placement = volume.placement([1.0; 3]);
        let (eye, normal) = ([0.0, 0.0, 3.0], [0.0, 0.0, -1.0]);
        let depths = |crop, function| {
            visible_depths(&volume, &placement, &WorldBox::cropped(placement.edges, crop), function, eye, normal)
        };
        let whole = [[0.0, 1.0]; 3];
        let [near, far] = depths(whole, &function).unwrap();
        let cell = Macrocells::EDGE as f64 / 32.0;
        assert!(near <= 3.0 && 3.0 - near <= 2.0 * cell && far >= 3.0 && far - 3.0 <= 2.0 * cell);
        let clear = TransferFunction { range: None, points: vec![[0.0; 5]] };
        assert_eq!(depths(whole, &clear), None);
        // Half of the cells that are visible lie in front of the middle.
        assert_eq!(depths([whole[0], whole[1], [0.5, 1.0]], &function), Some([near, 3.0]));
        assert_eq!(depths([whole[0], [0.0, 0.4], whole[2]], &function), None);
    }

    #[test]
    fn depths_do_not_depend_on_how_the_volume_is_split() {
        let edge = 41;
        let wave = |i: usize| {
            ((i % edge) as f32 * 0.31 + (i / edge % edge) as f32 * 0.17).sin() + (i / edge / edge) as f32 / 41.0
        };
        let values: Vec<f32> = (0..edge * edge * edge).map(wave).collect();
        let points = vec![[0.6, 1.0, 1.0, 1.0, 0.0], [0.7, 1.0, 1.0, 1.0, 1.0], [0.8, 1.0, 1.0, 1.0, 0.0]];
        let function = TransferFunction { range: Some([-1.0, 2.0]), points };
        let depths = |pes| {
            let grid = Grid::of_size([edge; 3]);
            let split = visapult_volume::Decomposition::new(grid.size, pes, 1).unwrap();
            let volume = Volume::new(grid, split, crate::testing::blocks_of(&values, [edge; 3], pes, 1)).unwrap();
            let (placement, normal) = (volume.placement([1.0; 3]), [-0.27, -0.53, -0.8]);
            let shown = WorldBox::cropped(placement.edges, [[0.0, 0.7], [0.3, 1.0], [0.01, 0.99]]);
            visible_depths(&volume, &placement, &shown, &function, [1.0, 2.0, 3.0], normal).unwrap()
        };
        let one = depths(1);
        for pes in [2, 8, 27] {
            assert_eq!(depths(pes), one, "{pes} PEs");
        }
    }

    #[test]
    fn what_is_visible_everywhere_fills_the_box() {
        let volume = Volume::whole(Grid::of_size([10, 1, 7]), vec![1.0; 70]).unwrap();
        let white = TransferFunction { range: Some([0.0, 2.0]), points: vec![[0.0, 1.0, 1.0, 1.0, 1.0]] };
        let placement = volume.placement([1.0; 3]);
        let half = placement.edges.map(|edge| edge / 2.0);
        for (axis, half) in half.into_iter().enumerate() {
            let normal = [0, 1, 2].map(|a| if a == axis { 1.0 } else { 0.0 });
            let shown = WorldBox::centred(placement.edges);
            let depths = visible_depths(&volume, &placement, &shown, &white, [0.0; 3], normal);
            assert_eq!(depths, Some([-half, half]));
        }
    }
}
