//! Values at the centres of fine cells from those of coarse ones: trilinear, and constant beyond the outermost centres.

use rayon::prelude::*;
use visapult_volume::Box3;

/// Where the centre of a fine cell lies along one axis, in cells of the coarse values that are held.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    /// The cell whose centre is at or before it, and the one behind: the same where it lies on the first, or beyond the outermost.
    cells: [usize; 2],
    /// How far it is on the way from one to the other.
    way: f32,
    /// The cell that it is in.
    nearest: usize,
}

/// Fills `out`, the cells of `bounds`, from the values that `coarse` has in the cells of `held`. The coarse level has `size` cells, each of
/// them `ratio` fine ones along each axis. Where what lies between eight values is not finite, it is the value of the cell.
pub(super) fn prolong(
    coarse: &[f32],
    held: &Box3,
    size: [usize; 3],
    ratio: [usize; 3],
    bounds: &Box3,
    out: &mut [f32],
) {
    let along = |axis: usize| places(bounds, held, size, ratio, axis);
    let [xs, ys, zs] = [along(0), along(1), along(2)];
    let [width, height, _] = held.size();
    let row_of = |y: usize, z: usize| &coarse[(z * height + y) * width..][..width];
    let plane = (xs.len() * ys.len()).max(1);
    out.par_chunks_mut(plane).zip(&zs).for_each_init(Vec::new, |row, (plane, z)| {
        for (out, y) in plane.chunks_exact_mut(xs.len()).zip(&ys) {
            between_rows(y, z, row_of, row);
            let nearest = row_of(y.nearest, z.nearest);
            for (out, x) in out.iter_mut().zip(&xs) {
                let value = between(row[x.cells[0]], row[x.cells[1]], x.way);
                *out = if value.is_finite() { value } else { nearest[x.nearest] };
            }
        }
    });
}

/// The coarse row through the centres of fine cells.
fn between_rows<'a>(y: &Place, z: &Place, row_of: impl Fn(usize, usize) -> &'a [f32], row: &mut Vec<f32>) {
    let [[near, far], [near_behind, far_behind]] = z.cells.map(|z| y.cells.map(|y| row_of(y, z)));
    row.clear();
    row.extend((0..near.len()).map(|x| {
        let front = between(near[x], far[x], y.way);
        between(front, between(near_behind[x], far_behind[x], y.way), z.way)
    }));
}

/// Equal values give that value.
fn between(a: f32, b: f32, way: f32) -> f32 {
    a + (b - a) * way
}

/// Counted from the beginning of the level, so that they do not depend on what is asked for.
fn places(bounds: &Box3, held: &Box3, size: [usize; 3], ratio: [usize; 3], axis: usize) -> Vec<Place> {
    let (last, first_held) = (size[axis] - 1, held.lo[axis]);
    let of_cell = |fine: usize| {
        // In halves of fine cells from the centre of the first coarse one.
        let (at, apart) = ((2 * fine + 1) as i64 - ratio[axis] as i64, 2 * ratio[axis] as i64);
        let (before, rest) = (at.div_euclid(apart), at.rem_euclid(apart));
        let is_between = rest > 0 && before >= 0 && (before as usize) < last;
        let first = (before.max(0) as usize).min(last);
        Place {
            cells: [first - first_held, first + usize::from(is_between) - first_held],
            way: if is_between { rest as f32 / apart as f32 } else { 0.0 },
            nearest: fine / ratio[axis] - first_held,
        }
    };
    (bounds.lo[axis]..bounds.hi[axis]).map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_lie_between_centres_and_on_them_where_the_ratio_is_odd() {
        let along = |ratio: usize, size: usize| {
            let fine = Box3::of_size([ratio * size, 1, 1]);
            places(&fine, &Box3::of_size([size, 1, 1]), [size, 1, 1], [ratio, 1, 1], 0)
        };
        let place = |cells, way, nearest| Place { cells, way, nearest };
        let of_two = [place([0, 0], 0.0, 0), place([0, 1], 0.25, 0), place([0, 1], 0.75, 1), place([1, 1], 0.0, 1)];
        assert_eq!(along(2, 2), of_two);
        assert_eq!(along(3, 3)[4], place([1, 1], 0.0, 1));
        assert_eq!(along(3, 3)[3], place([0, 1], 2.0 / 3.0, 1));
        assert_eq!(along(1, 2), [place([0, 0], 0.0, 0), place([1, 1], 0.0, 1)]);
    }
}
