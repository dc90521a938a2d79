//! The layers of one tile, quantised.

use super::geometry::TilePlace;
use super::tile::{ALPHA_CODES, SlabTile, TexelPlanes};

/// The tile of slab `slab` at `place`, of associated RGBA row by row; `None` where every texel rounds to nothing.
///
/// `planes` is memory to be used again.
pub(super) fn tile_of(slab: usize, place: &TilePlace, rgba: &[[f32; 4]], planes: &mut TexelPlanes) -> Option<SlabTile> {
    if rgba.iter().all(|color| color[3] < LEAST_ALPHA) {
        return None;
    }
    let [red, green, blue] = &mut planes.rgb;
    red.clear();
    green.clear();
    blue.clear();
    planes.alpha.clear();
    for &color in rgba {
        let [r, g, b, alpha] = texel_of(color);
        red.push(r as u8);
        green.push(g as u8);
        blue.push(b as u8);
        planes.alpha.push(alpha);
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

/// Unassociated colour of 8 bits and code of the opacity.
///
/// Colours of faint texels are rounded more coarsely, so that `alpha * colour` is off by at most a quarter of a code:
/// what cannot be seen is not sent.
#[inline(always)]
fn texel_of([r, g, b, alpha]: [f32; 4]) -> [u16; 4] {
    let scale = if alpha >= LEAST_ALPHA { 255.0 / alpha } else { 0.0 };
    let exponent = (alpha.to_bits() >> 23) as i32 - 127;
    let coarse = (-2 - exponent).clamp(0, COARSEST);
    let color = |c: f32| {
        let code = (c * scale + 0.5).min(255.0) as i32;
        (((code + (1 << coarse >> 1)) >> coarse) << coarse).min(255) as u16
    };
    let code = (alpha.max(0.0).sqrt() * f32::from(ALPHA_CODES) + 0.5).min(f32::from(ALPHA_CODES)) as i32;
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
            let [r, g, b, code] = texel_of([color[0] * alpha, color[1] * alpha, color[2] * alpha, alpha]);
            let root_error = f32::from(code) / f32::from(ALPHA_CODES) - alpha.sqrt();
            assert!(root_error.abs() <= 0.5001 / f32::from(ALPHA_CODES));
            for (code, color) in [r, g, b].into_iter().zip(color).filter(|_| code > 0) {
                let error = (f32::from(code) / 255.0 - color).abs();
                assert!(error * alpha <= 0.7501 / 255.0 && error <= 8.6 / 255.0, "{code} for {color}, {alpha}");
            }
        }
        assert_eq!(texel_of([1.0; 4]), [255, 255, 255, 1023]);
        assert_eq!(texel_of([0.0; 4])[3], 0);
    }
}
