//! A level of bricks as a volume: what a viewer renders from any side.

use rayon::prelude::*;
use visapult_volume::{Grid, coarsened_size};

use super::encode::{BrickError, EncodedBrick};
use super::quantise::CodeBits;
use crate::{Volume, VolumeError};

/// Decodes the bricks of `level` of the grid `finest` into a volume in the same box; samples of no brick are no data.
///
/// # Errors
/// [`BrickError`] if a brick is damaged or lies outside the level, or the grid is unusable.
pub fn volume_of_bricks(
    finest: &Grid,
    level: u32,
    bits: CodeBits,
    bricks: &[EncodedBrick],
) -> Result<Volume, BrickError> {
    finest.validate().map_err(VolumeError::from)?;
    let size = coarsened_size(finest.size, level);
    let outside = |brick: &&EncodedBrick| {
        let hi = brick.bounds().hi;
        (0..3).any(|axis| hi[axis] > size[axis])
    };
    if let Some(EncodedBrick { lo, size: brick_size, .. }) = bricks.iter().find(outside) {
        return Err(BrickError::Outside { lo: *lo, size: *brick_size, level, level_size: size });
    }
    let decoded = bricks.par_iter().map(|brick| brick.decode(bits)).collect::<Result<Vec<_>, _>>()?;
    let mut values = vec![f32::NAN; size.iter().product()];
    for (brick, decoded) in bricks.iter().zip(&decoded) {
        let width = usize::from(brick.size[0]);
        for (row, samples) in decoded.chunks_exact(width).enumerate() {
            let [x, y, z] = brick.place(row * width);
            let start = (z * size[1] + y) * size[0] + x;
            values[start..start + width].copy_from_slice(samples);
        }
    }
    Ok(Volume::of_level(finest, level, values)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bricks::{LevelCoding, Pyramid, encode_level};
    use crate::{Camera, Quality, TransferFunction, render_exact};

    const EDGE: usize = 41;

    fn finest() -> Volume {
        let at = |i: usize| [i % EDGE, i / EDGE % EDGE, i / (EDGE * EDGE)].map(|n| n as f32 / (EDGE - 1) as f32);
        let value = |[x, y, z]: [f32; 3]| (5.0 * x).sin() * (4.0 * y).cos() + z;
        Volume::whole(Grid::of_size([EDGE; 3]), (0..EDGE.pow(3)).map(|i| value(at(i))).collect()).unwrap()
    }

    fn bricks(volume: &Volume, level: u32) -> Vec<EncodedBrick> {
        let block = &volume.blocks()[0];
        encode_level(block, &Pyramid::of(block, level + 1), LevelCoding::of_all(level, CodeBits::EIGHT))
    }

    #[test]
    fn a_level_renders_like_the_finest_from_any_side() {
        let points = vec![[0.0, 0.1, 0.2, 0.9, 0.0], [1.0, 0.9, 0.3, 0.1, 0.1]];
        let function = TransferFunction { range: Some([-1.0, 2.0]), points };
        let fine = finest();
        for (level, bar) in [(0, 50.0), (1, 40.0), (2, 33.0)] {
            let volume = volume_of_bricks(fine.grid(), level, CodeBits::EIGHT, &bricks(&fine, level)).unwrap();
            for azimuth_deg in [0.0, 75.0, 200.0] {
                let camera = Camera { azimuth_deg, ..Camera::default() };
                let image = render_exact(&volume, &camera, &function, 64, 64, 1.0).image;
                let truth = render_exact(&fine, &camera, &function, 64, 64, 1.0).image;
                let quality = Quality::of(&image, &truth).unwrap().foreground_psnr_db;
                assert!(quality >= bar, "level {level} from {azimuth_deg} degrees: {quality:.1} dB");
            }
        }
    }

    #[test]
    fn bricks_outside_the_level_are_refused_and_missing_ones_are_no_data() {
        let fine = finest();
        let mut some = bricks(&fine, 0);
        let gone = some.pop().unwrap();
        let volume = volume_of_bricks(fine.grid(), 0, CodeBits::EIGHT, &some).unwrap();
        let block = &volume.blocks()[0];
        assert!(block.values[block.index_of(gone.place(0))].is_nan());
        assert!(block.values[0].is_finite());
        let refused = volume_of_bricks(fine.grid(), 1, CodeBits::EIGHT, &some);
        assert!(matches!(refused, Err(BrickError::Outside { .. })));
    }
}
