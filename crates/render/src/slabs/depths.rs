//! Between which depths there is anything to see: slabs are not spent on the rest.

use visapult_volume::Block;

use crate::camera::dot;
use crate::cpu::table::Table;
use crate::macrocells::Macrocells;
use crate::transfer_function::REFERENCE_LENGTH;
use crate::{TransferFunction, Volume};

/// Least and largest distance from `eye` along `normal` of what `transfer_function` shows; `None` where it shows nothing.
pub(super) fn visible_depths(
    volume: &Volume,
    transfer_function: &TransferFunction,
    eye: [f64; 3],
    normal: [f64; 3],
) -> Option<[f64; 2]> {
    let range = transfer_function.resolved_range(volume.range())?;
    let table = Table::new(transfer_function, range, REFERENCE_LENGTH);
    let mut depths: Option<[f64; 2]> = None;
    for (block, cells) in volume.blocks().iter().zip(volume.macrocells()) {
        let edges = [0, 1, 2].map(|axis| cell_edges(volume, block, cells, axis));
        for (index, _) in cells.ranges.iter().enumerate().filter(|(_, range)| table.any_visible(**range)) {
            let [nx, ny, _] = cells.counts;
            let cell = [index % nx, index / nx % ny, index / (nx * ny)];
            let (mut near, mut far) = (-dot(eye, normal), -dot(eye, normal));
            for axis in 0..3 {
                let ends = [edges[axis][cell[axis]] * normal[axis], edges[axis][cell[axis] + 1] * normal[axis]];
                (near, far) = (near + ends[0].min(ends[1]), far + ends[0].max(ends[1]));
            }
            depths = Some(depths.map_or([near, far], |[lo, hi]| [lo.min(near), hi.max(far)]));
        }
    }
    depths
}

/// World positions of the planes between a block's macrocells along an axis; those at the grid's ends are its faces.
fn cell_edges(volume: &Volume, block: &Block, cells: &Macrocells, axis: usize) -> Vec<f64> {
    let placement = volume.placement();
    let half = placement.edges[axis] / 2.0;
    let last = volume.grid().size[axis] - 1;
    let world = |cell: usize| {
        let sample = block.stored.lo[axis] + (cell * Macrocells::EDGE).min(block.stored.size()[axis] - 1);
        match sample {
            0 if cell == 0 => -half,
            sample if sample == last => half,
            sample => (sample as f64 - placement.offset[axis]) / placement.scale[axis],
        }
    };
    (0..=cells.counts[axis]).map(world).collect()
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
        let [near, far] = visible_depths(&volume, &function, [0.0, 0.0, 3.0], [0.0, 0.0, -1.0]).unwrap();
        let cell = Macrocells::EDGE as f64 / 32.0;
        assert!(near <= 3.0 && 3.0 - near <= 2.0 * cell && far >= 3.0 && far - 3.0 <= 2.0 * cell);
        let clear = TransferFunction { range: None, points: vec![[0.0; 5]] };
        assert_eq!(visible_depths(&volume, &clear, [0.0, 0.0, 3.0], [0.0, 0.0, -1.0]), None);
    }

    #[test]
    fn what_is_visible_everywhere_fills_the_box() {
        let volume = Volume::whole(Grid::of_size([10, 1, 7]), vec![1.0; 70]).unwrap();
        let white = TransferFunction { range: Some([0.0, 2.0]), points: vec![[0.0, 1.0, 1.0, 1.0, 1.0]] };
        let half = volume.placement().edges.map(|edge| edge / 2.0);
        for (axis, half) in half.into_iter().enumerate() {
            let normal = [0, 1, 2].map(|a| if a == axis { 1.0 } else { 0.0 });
            let depths = visible_depths(&volume, &white, [0.0; 3], normal);
            assert_eq!(depths, Some([-half, half]));
        }
    }
}
