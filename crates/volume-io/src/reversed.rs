//! Samples of axes that run backwards in a file, put into the order of the grid.

use rayon::prelude::*;
use visapult_volume::Reversed;

/// Puts samples of a box of `size`, in the order of the file, into that of the grid.
pub(crate) fn turn(reversed: Reversed, size: [usize; 3], samples: &mut [f32]) {
    let ([nx, ny, _], [x, y, z]) = (size, reversed.0);
    if reversed == Reversed::default() || samples.is_empty() {
        return;
    }
    if z {
        swap_ends(samples, nx * ny);
    }
    samples.par_chunks_mut(nx * ny).for_each(|plane| {
        if y {
            swap_ends(plane, nx);
        }
        if x {
            plane.chunks_exact_mut(nx).for_each(<[f32]>::reverse);
        }
    });
}

/// Reverses the order of the pieces of `length` samples.
fn swap_ends(samples: &mut [f32], length: usize) {
    let (front, back) = samples.split_at_mut(samples.len() / length / 2 * length);
    front.chunks_exact_mut(length).zip(back.rchunks_exact_mut(length)).for_each(|(a, b)| a.swap_with_slice(b));
}

#[cfg(test)]
mod tests {
    use visapult_volume::Box3;

    use super::*;

    #[test]
    fn any_box_of_a_turned_grid_is_that_of_the_turned_whole() {
        let size = [3, 4, 5];
        let at = |x: usize, y: usize, z: usize| ((z * 4 + y) * 3 + x) as f32;
        for bits in 0..8 {
            let backwards = std::array::from_fn(|axis| bits >> axis & 1 == 1);
            let reversed = Reversed(backwards);
            let bounds = Box3::new([0, 1, 2], [2, 4, 3]);
            let there = reversed.in_source(&bounds, size);
            let samples = |bounds: &Box3, value: &dyn Fn([usize; 3]) -> f32| {
                let mut samples = Vec::new();
                for z in bounds.lo[2]..bounds.hi[2] {
                    for y in bounds.lo[1]..bounds.hi[1] {
                        samples.extend((bounds.lo[0]..bounds.hi[0]).map(|x| value([x, y, z])));
                    }
                }
                samples
            };
            let mut read = samples(&there, &|[x, y, z]| at(x, y, z));
            turn(reversed, bounds.size(), &mut read);
            let turned = |at: [usize; 3]| -> [usize; 3] {
                std::array::from_fn(|axis| if backwards[axis] { size[axis] - 1 - at[axis] } else { at[axis] })
            };
            let wanted = samples(&bounds, &|sample| {
                let [x, y, z] = turned(sample);
                at(x, y, z)
            });
            assert_eq!(read, wanted, "{backwards:?}");
        }
    }
}
