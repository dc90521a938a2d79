//! An exact image in compressed tiles: what a resting view is sent.

use rayon::prelude::*;

use crate::Image;
use crate::codec::with_encoder;

/// Edge of a tile, in pixels.
const TILE_EDGE: usize = 128;

/// An exact image in encoded tiles; those left out are transparent.
#[derive(Clone, Debug)]
pub struct Still {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// The tiles that are not wholly transparent.
    pub tiles: Vec<StillTile>,
}

/// One rectangle of a still: planes R, G, B, A of associated 8-bit values, as differences, in one zstd frame.
#[derive(Clone, Debug)]
pub struct StillTile {
    /// First column.
    pub x: u16,
    /// First row, from the top.
    pub y: u16,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// The compressed planes.
    pub payload: Vec<u8>,
}

impl Still {
    /// Cuts and compresses an image, in the caller's rayon pool.
    ///
    /// # Panics
    /// If the image has an edge of more than 65 535 pixels.
    pub fn of(image: &Image) -> Self {
        let rgba = image.to_rgba8();
        let (columns, rows) = (image.width.div_ceil(TILE_EDGE), image.height.div_ceil(TILE_EDGE));
        let tiles = (0..columns * rows)
            .into_par_iter()
            .filter_map(|index| encode_tile(&rgba, image, [index % columns, index / columns]))
            .collect();
        Self { width: image.width, height: image.height, tiles }
    }
}

fn encode_tile(rgba: &[u8], image: &Image, place: [usize; 2]) -> Option<StillTile> {
    let [x, y] = place.map(|n| n * TILE_EDGE);
    let (width, height) = (TILE_EDGE.min(image.width - x), TILE_EDGE.min(image.height - y));
    let rows = (y..y + height).map(|row| &rgba[4 * (row * image.width + x)..][..4 * width]);
    let pixels: Vec<u8> = rows.flatten().copied().collect();
    if pixels.iter().skip(3).step_by(4).all(|&alpha| alpha == 0) {
        return None;
    }
    let payload = with_encoder(|encoder| {
        for channel in 0..4 {
            let plane: Vec<u8> = pixels.iter().skip(channel).step_by(4).copied().collect();
            encoder.push_image_8(&plane, width);
        }
        encoder.finish()
    });
    let narrow = |n: usize| u16::try_from(n).expect("images have edges of at most 65 535 pixels");
    Some(StillTile { x: narrow(x), y: narrow(y), width: narrow(width), height: narrow(height), payload })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlaneDecoder;

    #[test]
    fn tiles_give_the_picture_back_and_leave_out_what_is_transparent() {
        let mut image = Image::transparent(300, 140);
        image.rgba[5 * 300 + 290] = [0.25, 0.5, 0.0, 1.0];
        let still = Still::of(&image);
        assert_eq!(still.tiles.len(), 1);
        let tile = &still.tiles[0];
        assert_eq!((tile.x, tile.y, tile.width, tile.height), (256, 0, 44, 128));
        let count = 44 * 128;
        let mut decoder = PlaneDecoder::new();
        decoder.open(&tile.payload, 4 * count, &[]).unwrap();
        let mut plane = vec![0; count];
        let texel: Vec<u8> = (0..4)
            .map(|_| {
                decoder.read_image_8(&mut plane, 44);
                plane[5 * 44 + 34]
            })
            .collect();
        assert_eq!(texel, [64, 128, 0, 255]);
    }
}
