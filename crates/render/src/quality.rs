//! How far an image is from the true one: PSNR and SSIM of 8-bit RGB on black.

use thiserror::Error;

use crate::Image;

/// Agreement of an image with the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Peak signal to noise ratio over all pixels, in dB; infinite for equal images.
    pub psnr_db: f64,
    /// The same over the foreground: pixels whose alpha in the true image exceeds 1/255. NaN where there is none.
    pub foreground_psnr_db: f64,
    /// Mean structural similarity (Wang et al. 2004) over channels and pixels: Gaussian window of 11 x 11, sigma 1.5,
    /// K1 = 0.01, K2 = 0.03, windows that lie inside the image. NaN for images smaller than the window.
    pub ssim: f64,
}

/// The images differ in size.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("images of {left:?} and {right:?} pixels cannot be compared: render both at one size")]
pub struct SizeMismatch {
    left: [usize; 2],
    right: [usize; 2],
}

impl Quality {
    /// Compares `image` with `truth`.
    ///
    /// # Errors
    /// [`SizeMismatch`] if the sizes differ.
    pub fn of(image: &Image, truth: &Image) -> Result<Self, SizeMismatch> {
        let (left, right) = ([image.width, image.height], [truth.width, truth.height]);
        if left != right {
            return Err(SizeMismatch { left, right });
        }
        let (a, b) = (image.to_rgb8_over([0.0; 3]), truth.to_rgb8_over([0.0; 3]));
        let everywhere = squared_errors(&a, &b).collect::<Vec<_>>();
        let in_front = everywhere.iter().zip(&truth.rgba).filter(|(_, truth)| truth[3] > 1.0 / 255.0);
        Ok(Self {
            psnr_db: psnr_db(everywhere.iter().copied()),
            foreground_psnr_db: psnr_db(in_front.map(|(error, _)| *error)),
            ssim: ssim(&a, &b, truth.width, truth.height),
        })
    }
}

/// Squared error per pixel, summed over the channels.
fn squared_errors(a: &[u8], b: &[u8]) -> impl Iterator<Item = f64> {
    let channel_error = |(a, b): (&u8, &u8)| f64::from(i32::from(*a) - i32::from(*b)).powi(2);
    a.chunks_exact(3).zip(b.chunks_exact(3)).map(move |(a, b)| a.iter().zip(b).map(channel_error).sum())
}

fn psnr_db(pixel_errors: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = pixel_errors.fold((0.0, 0.0), |(sum, count), error| (sum + error, count + 1.0));
    10.0 * (255.0 * 255.0 * 3.0 * count / sum).log10()
}

/// Taps of the window to either side of its centre.
const REACH: usize = 5;

fn ssim(a: &[u8], b: &[u8], width: usize, height: usize) -> f64 {
    let channel = |rgb: &[u8], c: usize| rgb.iter().skip(c).step_by(3).map(|&v| f64::from(v)).collect::<Vec<_>>();
    let per_channel = (0..3).map(|c| ssim_of_channel(&channel(a, c), &channel(b, c), width, height));
    per_channel.sum::<f64>() / 3.0
}

fn ssim_of_channel(a: &[f64], b: &[f64], width: usize, height: usize) -> f64 {
    let blurred = |f: &dyn Fn(f64, f64) -> f64| {
        let product: Vec<f64> = a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect();
        blur(&product, width, height)
    };
    let (mean_a, mean_b) = (blurred(&|a, _| a), blurred(&|_, b| b));
    let (aa, bb, ab) = (blurred(&|a, _| a * a), blurred(&|_, b| b * b), blurred(&|a, b| a * b));
    let (c1, c2) = ((0.01_f64 * 255.0).powi(2), (0.03_f64 * 255.0).powi(2));
    let similarity = |i: usize| {
        let (ma, mb) = (mean_a[i], mean_b[i]);
        let (va, vb, cov) = (aa[i] - ma * ma, bb[i] - mb * mb, ab[i] - ma * mb);
        (2.0 * ma * mb + c1) * (2.0 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))
    };
    (0..mean_a.len()).map(similarity).sum::<f64>() / mean_a.len() as f64
}

/// Convolves with the window, keeping the positions at which it lies inside: `2 * REACH` fewer along each axis.
fn blur(values: &[f64], width: usize, height: usize) -> Vec<f64> {
    let weights: Vec<f64> =
        (0..=2 * REACH).map(|i| (-(i as f64 - REACH as f64).powi(2) / (2.0 * 1.5 * 1.5)).exp()).collect();
    let total: f64 = weights.iter().sum();
    let windowed = |at: &dyn Fn(usize) -> f64| -> f64 {
        weights.iter().enumerate().map(|(k, weight)| weight * at(k)).sum::<f64>() / total
    };
    let inside = |edge: usize| edge.saturating_sub(2 * REACH);
    let (w, h) = (inside(width), inside(height));
    let cells = |rows: usize| (0..rows).flat_map(move |y| (0..w).map(move |x| (x, y)));
    let along_x: Vec<f64> = cells(height).map(|(x, y)| windowed(&|k| values[y * width + x + k])).collect();
    cells(h).map(|(x, y)| windowed(&|k| along_x[(y + k) * w + x])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn noise(width: usize, height: usize, seed: u64) -> Image {
        let mut random = Random::new(seed);
        let mut grey = || (random.next_u32() % 200) as f32 / 255.0;
        let rgba = (0..width * height).map(|_| [grey(), grey(), grey(), 1.0]).collect();
        Image { width, height, rgba }
    }

    #[test]
    fn equal_images_are_infinitely_close() {
        let image = noise(20, 16, 8);
        let quality = Quality::of(&image, &image).unwrap();
        assert_eq!((quality.psnr_db, quality.foreground_psnr_db), (f64::INFINITY, f64::INFINITY));
        assert!((quality.ssim - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_error_of_one_code_everywhere_is_48_db() {
        let truth = noise(16, 16, 9);
        let mut image = truth.clone();
        image.rgba.iter_mut().for_each(|p| *p = [p[0] + 1.0 / 255.0, p[1] + 1.0 / 255.0, p[2] + 1.0 / 255.0, p[3]]);
        let expected = 20.0 * 255.0_f64.log10();
        assert!((Quality::of(&image, &truth).unwrap().psnr_db - expected).abs() < 1e-9);
    }

    #[test]
    fn the_foreground_alone_counts_where_most_is_background() {
        let mut truth = Image::transparent(100, 1);
        truth.rgba[7] = [0.5, 0.5, 0.5, 1.0];
        let mut image = truth.clone();
        image.rgba[7] = [0.4, 0.4, 0.4, 1.0];
        let quality = Quality::of(&image, &truth).unwrap();
        assert!((quality.psnr_db - quality.foreground_psnr_db - 20.0).abs() < 1e-9);
        assert!(quality.ssim.is_nan());
    }

    #[test]
    fn ssim_of_flat_images_is_the_luminance_term() {
        let flat = |v: f32| Image { width: 12, height: 12, rgba: vec![[v / 255.0, v / 255.0, v / 255.0, 1.0]; 144] };
        let c1 = (0.01_f64 * 255.0).powi(2);
        let expected = (2.0 * 100.0 * 150.0 + c1) / (100.0 * 100.0 + 150.0 * 150.0 + c1);
        assert!((Quality::of(&flat(100.0), &flat(150.0)).unwrap().ssim - expected).abs() < 1e-9);
    }

    #[test]
    fn images_of_different_sizes_are_refused() {
        assert!(Quality::of(&noise(4, 4, 1), &noise(4, 5, 1)).is_err());
    }
}
