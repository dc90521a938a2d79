//! The layers of one tile, quantised.

use super::geometry::TilePlace;
use super::tile::{ALPHA_CODES, SlabTile, TexelPlanes};
use crate::codec::whole;
use crate::cpu::{Lanes, Task, run_best};

/// Makes tiles of the layers of one place after another; keep one per thread, it reuses its memory.
#[derive(Default)]
pub(crate) struct LayerCoder {
    planes: TexelPlanes,
    /// By texel, what comes through the layers so far over what comes through their codes.
    ratios: Vec<f32>,
}

impl LayerCoder {
    /// The tiles at `place` of the layers of `count` slabs, of associated RGBA row by row; none where every texel rounds to nothing.
    pub(crate) fn tiles<'a>(
        &mut self,
        place: &TilePlace,
        count: usize,
        layer: impl Fn(usize) -> Option<&'a [[f32; 4]]>,
    ) -> Vec<SlabTile> {
        self.ratios.clear();
        (0..count).filter_map(|slab| self.tile(slab, place, layer(slab)?)).collect()
    }

    /// The tile of the next layer behind those that this place had so far.
    pub(crate) fn tile(&mut self, slab: usize, place: &TilePlace, rgba: &[[f32; 4]]) -> Option<SlabTile> {
        if rgba.iter().all(|color| color[3] < LEAST_ALPHA) {
            return None;
        }
        self.planes.rgb.iter_mut().for_each(|plane| plane.resize(rgba.len(), 0));
        self.planes.alpha.resize(rgba.len(), 0);
        self.ratios.resize(rgba.len(), 1.0);
        let Self { planes, ratios } = self;
        run_best(Coding { rgba, planes, ratios, phase: phase_of(slab) });
        Some(SlabTile::new(slab, place, self.planes.encode(place.size[0])))
    }
}

/// The texels of a layer, to be coded.
struct Coding<'a> {
    rgba: &'a [[f32; 4]],
    planes: &'a mut TexelPlanes,
    ratios: &'a mut [f32],
    phase: f32,
}

impl Task for Coding<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let [red, green, blue] = &mut self.planes.rgb;
        let colors = red.iter_mut().zip(green).zip(blue);
        for (((((red, green), blue), code), ratio), &color) in
            colors.zip(&mut self.planes.alpha).zip(self.ratios).zip(self.rgba)
        {
            let [r, g, b, alpha] = texel_of(color, self.phase, ratio);
            (*red, *green, *blue, *code) = (r as u8, g as u8, b as u8, alpha);
        }
    }
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

/// By how much the optical depth of the codes may differ before the next code is made to make up for it.
const CARRIED: f32 = 4e-4;

/// How much of a difference is made up for by what lies behind: what a nearly opaque layer is off by, which is more, is not to change those
/// that show beside it from elsewhere.
const MOST_CARRIED: f32 = 4e-3;

/// Unassociated colour of 8 bits and code of the opacity. `ratio` is what comes through the layers before over what comes through their codes.
///
/// Colours of faint texels are rounded to multiples of up to `2^COARSEST`, so that `alpha * colour` is off by at most half
/// a code: what cannot be seen is not sent.
///
/// Without branches, so that the compiler makes SIMD of it.
#[inline(always)]
fn texel_of([r, g, b, alpha]: [f32; 4], phase: f32, ratio: &mut f32) -> [u16; 4] {
    let shows = alpha >= LEAST_ALPHA;
    let phase = if alpha < FAINT { phase } else { 0.5 };
    let exponent = (alpha.to_bits() >> 23) as i32 - 127;
    let coarse = (-2 - exponent).clamp(0, COARSEST);
    let per_step = 255.0 / (alpha * (1 << coarse) as f32);
    let color = |c: f32| (whole(c * per_step + phase) << coarse).min(255);
    let (code, after) = alpha_code(alpha, phase, *ratio);
    *ratio = if shows { after } else { *ratio };
    [color(r), color(g), color(b), code].map(|code| if shows { code as u16 } else { 0 })
}

/// The code of an opacity, one more or less where that brings what comes through all codes back to what comes through all layers; and the ratio of the two
/// behind it.
#[inline(always)]
fn alpha_code(alpha: f32, phase: f32, ratio: f32) -> (i32, f32) {
    let top = f32::from(ALPHA_CODES);
    let through = (1.0 - alpha) * ratio;
    let of_code = |code: f32| {
        let root = code * (1.0 / f32::from(ALPHA_CODES));
        (1.0 - root * root).max(f32::MIN_POSITIVE)
    };
    let code = (whole(alpha.sqrt() * top + phase) as f32).min(top);
    let coded = of_code(code);
    let off = through - coded;
    // More comes through the layers than through the codes where the code is too large.
    let less = if off > CARRIED * coded { -1.0 } else { 0.0 };
    let change = if off < -CARRIED * coded { 1.0 } else { less };
    let other = (code + change).clamp(0.0, top);
    let other_coded = of_code(other);
    let other_off = through - other_coded;
    let is_better = other_off.abs() * coded < off.abs() * other_coded;
    let code = if is_better { other } else { code };
    let off = if is_better { other_off } else { off };
    let coded = if is_better { other_coded } else { coded };
    (whole(code), 1.0 + (off / coded).clamp(-MOST_CARRIED, MOST_CARRIED))
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
            let [r, g, b, code] = texel_of(associated, random.unit(), &mut 1.0);
            let root_error = f32::from(code) / f32::from(ALPHA_CODES) - alpha.sqrt();
            assert!(root_error.abs() <= 1.0001 / f32::from(ALPHA_CODES));
            for (code, color) in [r, g, b].into_iter().zip(color).filter(|_| code > 0) {
                let error = (f32::from(code) / 255.0 - color).abs();
                assert!(error * alpha <= 0.5001 / 255.0 && error <= 16.001 / 255.0, "{code} for {color}, {alpha}");
            }
        }
        assert_eq!(texel_of([1.0; 4], 0.9, &mut 1.0), [255, 255, 255, 1023]);
        assert_eq!(texel_of([0.0; 4], 0.9, &mut 1.0)[3], 0);
    }

    #[test]
    fn errors_of_faint_layers_cancel_along_a_ray() {
        for alpha in [0.003_f32, 0.01, 0.06] {
            for color in [0.2, 0.503, 0.77] {
                let mut ratio = 1.0;
                let texels = (0..64).map(|slab| texel_of([color * alpha, 0.0, 0.0, alpha], phase_of(slab), &mut ratio));
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

    #[test]
    fn codes_keep_the_optical_depth_of_a_ray_through_faint_layers() {
        let mut random = Random::new(21);
        for _ in 0..2000 {
            let (count, most) = (1 + random.next_u32() as usize % 128, random.unit().powi(3) * FAINT);
            let (mut ratio, mut exact, mut coded) = (1.0, 0.0, 0.0);
            for slab in 0..count {
                let alpha = most * random.unit();
                let [.., code] = texel_of([0.0, 0.0, 0.0, alpha], phase_of(slab), &mut ratio);
                exact -= (1.0 - f64::from(alpha)).ln();
                coded -= (1.0 - (f64::from(code) / f64::from(ALPHA_CODES)).powi(2)).ln();
            }
            assert!((coded - exact).abs() <= 1e-3, "{coded} for {exact} in {count} layers of at most {most}");
        }
    }

    #[test]
    fn what_an_opaque_layer_is_off_by_does_not_show_behind_it() {
        let mut ratio = 1.0;
        let [.., opaque] = texel_of([0.0, 0.0, 0.0, 0.9985], 0.5, &mut ratio);
        assert_eq!(opaque, 1022);
        let behind: Vec<u16> =
            (0..8).map(|slab| texel_of([0.0, 0.0, 0.0, 0.01], phase_of(slab), &mut ratio)[3]).collect();
        assert!(behind.iter().all(|code| (101..=104).contains(code)), "{behind:?}");
    }
}
