//! Tiles of layers: colour and opacity per texel, and their bytes on the wire.

use thiserror::Error;

use super::geometry::TilePlace;
use crate::codec::{CodecError, with_decoder, with_encoder};

/// Texels along the edge of a tile without its overlap.
pub const TILE_EDGE: usize = 64;

/// Texels along the edge of the largest tile: one texel of overlap on each side.
pub(super) const TILE_EDGE_MAX: usize = TILE_EDGE + 2;

/// Largest code of an opacity; the code grows with the square root of the opacity, so that faint layers, of which many
/// lie behind each other, are stored more finely than opaque ones.
pub(super) const ALPHA_CODES: u16 = 1023;

/// Bytes per texel before compression.
pub(crate) const TEXEL_BYTES: usize = 5;
/// Those of colours.
const COLORS: usize = 3;

/// A tile of one layer as it crosses the wire: see `docs/src/view-protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlabTile {
    /// Which slab, 0 nearest.
    pub slab: u16,
    /// First texel `[x, y]`.
    pub lo: [u16; 2],
    /// Texels `[width, height]`, at most 66 each.
    pub size: [u16; 2],
    /// One zstd frame of five planes.
    pub payload: Vec<u8>,
}

/// Why a tile cannot be decoded.
#[derive(Debug, Error)]
pub enum TileError {
    /// A size no tile has.
    #[error("tile at {lo:?} claims {size:?} texels: 1 to {most} per axis are possible")]
    Size {
        /// First texel.
        lo: [u16; 2],
        /// Claimed texels per axis.
        size: [u16; 2],
        /// Texels per axis of the largest such tile.
        most: usize,
    },
    /// The payload is damaged.
    #[error("tile at {lo:?}: {cause}")]
    Payload {
        /// First texel.
        lo: [u16; 2],
        /// What is wrong with it.
        cause: CodecError,
    },
}

impl TileError {
    /// Refuses tiles without texels, and those with more than `most` along an axis.
    pub(crate) fn of_size(lo: [u16; 2], size: [u16; 2], most: usize) -> Result<(), Self> {
        let possible = size.iter().all(|edge| (1..=most).contains(&usize::from(*edge)));
        if possible { Ok(()) } else { Err(Self::Size { lo, size, most }) }
    }
}

impl SlabTile {
    /// The tile at `place` of symbols as [`TexelPlanes::encode`] has them before they are packed.
    pub(crate) fn of_symbols(slab: usize, place: &TilePlace, symbols: &[u8]) -> Self {
        let colors = symbols.len() / TEXEL_BYTES * COLORS;
        let payload = with_encoder(|encoder| encoder.frame_of(symbols, colors));
        Self::new(slab, place, payload)
    }

    pub(super) fn new(slab: usize, place: &TilePlace, payload: Vec<u8>) -> Self {
        let [lo, size] = place.words();
        Self { slab: slab as u16, lo, size, payload }
    }

    /// Bytes in a message: 16 of header and the payload.
    pub fn wire_bytes(&self) -> usize {
        16 + self.payload.len()
    }

    /// Number of texels.
    pub fn texel_count(&self) -> usize {
        usize::from(self.size[0]) * usize::from(self.size[1])
    }

    /// The texels, row by row from the top.
    ///
    /// # Errors
    /// [`TileError`] if the size is impossible or the payload damaged.
    pub fn decode(&self) -> Result<TexelPlanes, TileError> {
        TileError::of_size(self.lo, self.size, TILE_EDGE_MAX)?;
        let count = self.texel_count();
        let mut planes = TexelPlanes::of_size(count);
        let decoded: Result<(), CodecError> = with_decoder(|decoder| {
            decoder.open(&self.payload, COLORS * count, &[count])?;
            let width = usize::from(self.size[0]);
            planes.rgb.iter_mut().for_each(|plane| decoder.read_image_8(plane, width));
            decoder.read_image_16(&mut planes.alpha, width);
            planes.alpha.iter_mut().for_each(|code| *code = (*code).min(ALPHA_CODES));
            Ok(())
        });
        decoded.map(|()| planes).map_err(|cause| TileError::Payload { lo: self.lo, cause })
    }
}

/// Texels in planes: unassociated display colours of 8 bits, and codes of the opacity across the slab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TexelPlanes {
    /// Red, green and blue.
    pub rgb: [Vec<u8>; 3],
    /// Code of the opacity along the slab's normal: code `c` is the opacity `(c / ALPHA_CODES)^2`.
    pub alpha: Vec<u16>,
}

impl TexelPlanes {
    pub(super) fn of_size(count: usize) -> Self {
        Self { rgb: std::array::from_fn(|_| vec![0; count]), alpha: vec![0; count] }
    }

    /// One frame of the planes, in rows of `width`. Colours continue into texels without any, which costs next to nothing.
    pub(super) fn encode(&mut self, width: usize) -> Vec<u8> {
        for plane in &mut self.rgb {
            let first = self.alpha.iter().position(|&a| a > 0).map_or(0, |i| plane[i]);
            let mut last = first;
            for (color, &alpha) in plane.iter_mut().zip(&self.alpha) {
                last = if alpha > 0 { *color } else { last };
                *color = last;
            }
        }
        with_encoder(|encoder| {
            self.rgb.iter().for_each(|plane| encoder.push_image_8(plane, width));
            encoder.push_image_16(&self.alpha, width);
            encoder.finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn random_tile(seed: u64) -> (SlabTile, TexelPlanes) {
        let mut random = Random::new(seed);
        let mut planes = TexelPlanes::of_size(66 * 40);
        for i in 0..66 * 40 {
            planes.alpha[i] = if random.unit() < 0.5 { 0 } else { (random.next_u32() % 1024) as u16 };
            planes.rgb.iter_mut().for_each(|plane| plane[i] = random.next_u32() as u8);
        }
        let payload = planes.encode(66);
        (SlabTile { slab: 3, lo: [63, 127], size: [66, 40], payload }, planes)
    }

    #[test]
    fn tiles_come_back_with_colours_continued_into_empty_texels() {
        let (tile, planes) = random_tile(10);
        let decoded = tile.decode().unwrap();
        assert_eq!(decoded, planes);
        let first = planes.alpha.iter().position(|&a| a > 0).unwrap();
        assert!(decoded.rgb[0][..first].iter().all(|&r| r == decoded.rgb[0][first]));
    }

    #[test]
    fn damaged_tiles_are_errors_or_of_the_size_they_claim() {
        let (tile, _) = random_tile(11);
        let mut random = Random::new(12);
        let mut decoded = 0;
        for _ in 0..500 {
            let mut damaged = tile.clone();
            let at = random.next_u32() as usize % damaged.payload.len();
            damaged.payload[at] = random.next_u32() as u8;
            if random.unit() < 0.5 {
                damaged.size[(random.next_u32() % 2) as usize] = (random.next_u32() % 70) as u16;
            }
            if let Ok(planes) = damaged.decode() {
                assert_eq!(planes.alpha.len(), damaged.texel_count());
                decoded += 1;
            }
        }
        assert!((1..500).contains(&decoded), "{decoded}");
        let huge = SlabTile { size: [67, 1], ..tile };
        assert!(matches!(huge.decode(), Err(TileError::Size { .. })));
    }
}
