//! The layers of one tile, quantised.

use super::geometry::TilePlace;
use super::tile::{ALPHA_CODES, SlabTile, TexelPlanes};

/// The tile of slab `slab` at `place`, of associated RGBA row by row; `None` where every texel rounds to nothing.
///
/// `planes` is memory to be used again.
pub(crate) fn tile_of(slab: usize, place: &TilePlace, rgba: &[[f32; 4]], planes: &mut TexelPlanes) -> Option<SlabTile> {
    if rgba.iter().all(|color| color[3] < LEAST_ALPHA) {
        return None;
    }
    planes.rgb.iter_mut().for_each(|plane| plane.resize(rgba.len(), 0));
    planes.alpha.resize(rgba.len(), 0);
    let [red, green, blue] = &mut planes.rgb;
    let colors = red.iter_mut().zip(green).zip(blue);
    let phase = phase_of(slab);
    for ((((red, green), blue), code), &color) in colors.zip(&mut planes.alpha).zip(rgba) {
        let [r, g, b, alpha] = texel_of(color, phase);
        (*red, *green, *blue, *code) = (r as u8, g as u8, b as u8, alpha);
    }
    Some(SlabTile {
        slab: slab as u16,
        lo: place.lo.map(|n| n as u16),
        size: place.size.map(|n| n as u16),
        payload: planes.encode(place.size[0]),
    })
}

/// Opacity that rounds to the smallest code above 0.
const LEAST_ALPHA: f32 = 0.25 / (ALPHA_CODES as f32 * ALPHA_CODES as f32);

/// Coarsest rounding of colours, as a power of two.
const COARSEST: i32 = 4;

/// Opacity from which on a texel is not one of many faint ones along a ray.
const FAINT: f32 = 0.25;

/// Where between two codes values of a slab are rounded up rather than down.
///
/// It differs from slab to slab, so that the errors of faint layers, of which a ray crosses many, cancel; within a slab it
/// is the same, so that what is smooth stays smooth. Multiples of the golden ratio are spread most evenly.
fn phase_of(slab: usize) -> f32 {
    (slab as f32 * 0.618_034).fract()
}

/// Unassociated colour of 8 bits and code of the opacity.
///
/// Colours of faint texels are rounded to multiples of up to `2^COARSEST`, so that `alpha * colour` is off by at most half
/// a code: what cannot be seen is not sent.
#[inline(always)]
fn texel_of([r, g, b, alpha]: [f32; 4], phase: f32) -> [u16; 4] {
    if alpha < LEAST_ALPHA {
        return [0; 4];
    }
    let phase = if alpha < FAINT { phase } else { 0.5 };
    let exponent = (alpha.to_bits() >> 23) as i32 - 127;
    let coarse = (-2 - exponent).clamp(0, COARSEST);
    let per_step = 255.0 / (alpha * (1 << coarse) as f32);
    let color = |c: f32| (((c * per_step + phase) as i32) << coarse).min(255) as u16;
    let code = (alpha.sqrt() * f32::from(ALPHA_CODES) + phase).min(f32::from(ALPHA_CODES)) as i32;
    [color(r), color(g), color(b), code as u16]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn texels_keep_what_can_be_seen() {
        let mut random = Random::new(20);
        for _ in 0..10_000 {
            let alpha = random.unit().powi(3);
            let color: [f32; 3] = std::array::from_fn(|_| random.unit());
            let associated = [color[0] * alpha, color[1] * alpha, color[2] * alpha, alpha];
            let [r, g, b, code] = texel_of(associated, random.unit());
            let root_error = f32::from(code) / f32::from(ALPHA_CODES) - alpha.sqrt();
            assert!(root_error.abs() <= 1.0001 / f32::from(ALPHA_CODES));
            for (code, color) in [r, g, b].into_iter().zip(color).filter(|_| code > 0) {
                let error = (f32::from(code) / 255.0 - color).abs();
                assert!(error * alpha <= 0.5001 / 255.0 && error <= 16.001 / 255.0, "{code} for {color}, {alpha}");
            }
        }
        assert_eq!(texel_of([1.0; 4], 0.9), [255, 255, 255, 1023]);
        assert_eq!(texel_of([0.0; 4], 0.9)[3], 0);
    }

    #[test]
    fn errors_of_faint_layers_cancel_along_a_ray() {
        for alpha in [0.003_f32, 0.01, 0.06] {
            for color in [0.2, 0.503, 0.77] {
                let texels = (0..64).map(|slab| texel_of([color * alpha, 0.0, 0.0, alpha], phase_of(slab)));
                let (mut colors, mut alphas) = (0.0, 0.0);
                for [red, .., code] in texels {
                    colors += f32::from(red) / 255.0 / 64.0;
                    alphas += (f32::from(code) / f32::from(ALPHA_CODES)).powi(2) / 64.0;
                }
                assert!((colors - color).abs() < 0.3 / 255.0, "{colors} for {color} at {alpha}");
                assert!((alphas / alpha - 1.0).abs() < 2e-3, "{alphas} for {alpha}");
            }
        }
    }
}
