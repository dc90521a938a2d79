//! Images with associated alpha, and their 8-bit forms.

use thiserror::Error;

/// A float image; what rendering makes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Display colours times opacity, and opacity: associated RGBA, row by row from the top.
    pub rgba: Vec<[f32; 4]>,
}

/// Why an image could not be written as PNG.
#[derive(Debug, Error)]
#[error("cannot encode a {width} x {height} PNG: {cause}")]
pub struct PngError {
    width: usize,
    height: usize,
    cause: png::EncodingError,
}

impl Image {
    /// A transparent image.
    pub fn transparent(width: usize, height: usize) -> Self {
        Self { width, height, rgba: vec![[0.0; 4]; width * height] }
    }

    /// Four bytes per pixel, associated alpha.
    pub fn to_rgba8(&self) -> Vec<u8> {
        self.rgba.iter().flat_map(|pixel| pixel.map(to_u8)).collect()
    }

    /// Three bytes per pixel, over an opaque `background`.
    pub fn to_rgb8_over(&self, background: [f32; 3]) -> Vec<u8> {
        let over = |&[r, g, b, a]: &[f32; 4]| {
            let behind = background.map(|c| c * (1.0 - a));
            [to_u8(r + behind[0]), to_u8(g + behind[1]), to_u8(b + behind[2])]
        };
        self.rgba.iter().flat_map(over).collect()
    }

    /// An RGB PNG over an opaque `background`.
    ///
    /// # Errors
    /// [`PngError`] where the image has no pixels or more than a PNG can hold.
    pub fn to_png_over(&self, background: [f32; 3]) -> Result<Vec<u8>, PngError> {
        let (width, height) = (self.width, self.height);
        let encode = || -> Result<Vec<u8>, png::EncodingError> {
            let mut out = Vec::new();
            let edge = |n: usize| u32::try_from(n).unwrap_or(0);
            let mut encoder = png::Encoder::new(&mut out, edge(width), edge(height));
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&self.to_rgb8_over(background))?;
            writer.finish()?;
            Ok(out)
        };
        encode().map_err(|cause| PngError { width, height, cause })
    }
}

/// `floor(clip(v, 0, 1) * 255 + 0.5)`.
pub(crate) fn to_u8(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pixel: [f32; 4]) -> Image {
        Image { width: 1, height: 1, rgba: vec![pixel] }
    }

    #[test]
    fn bytes_round_to_nearest_and_clip() {
        assert_eq!(one([0.5, 1.5, -1.0, f32::NAN]).to_rgba8(), [128, 255, 0, 0]);
    }

    #[test]
    fn the_background_shows_through_what_is_not_opaque() {
        assert_eq!(one([0.25, 0.0, 0.0, 0.5]).to_rgb8_over([1.0, 1.0, 0.0]), [191, 128, 0]);
    }

    #[test]
    fn png_reads_back() {
        let image = Image { width: 2, height: 1, rgba: vec![[0.5, 0.25, 0.0, 0.5], [0.0; 4]] };
        let bytes = image.to_png_over([0.0, 0.0, 1.0]).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2, 1));
        assert_eq!(pixels, [128, 64, 128, 0, 0, 255]);
    }

    #[test]
    fn an_image_without_pixels_is_no_png() {
        assert!(Image::transparent(0, 3).to_png_over([0.0; 3]).is_err());
    }
}
