//! Tiles of rays as bytes: knots of each ray, their codes as differences to what the rays before lead one to expect.

use thiserror::Error;

use super::fit::MAX_KNOTS;
use super::line::{Knot, Line};
use super::tolerance::TOP_CODE;
use crate::codec::{CodecError, interleave_signs, separate_signs, with_decoder, with_encoder};

/// Rays along the edge of a tile, at most.
pub(super) const SEGMENT_TILE_EDGE: usize = 64;

/// Set in the difference of a knot that starts a run of its ray, but not its first one.
const STARTS_RUN: u16 = 0x8000;

/// A tile of rays as it crosses a wire: see `docs/src/proxies.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentTile {
    /// First ray `[x, y]`.
    pub lo: [u16; 2],
    /// Rays `[width, height]`, at most 64 each.
    pub size: [u16; 2],
    /// Knots of all rays together.
    pub knots: u32,
    /// One zstd frame: knots per ray, distances of knots in planes, differences of codes.
    pub payload: Vec<u8>,
}

/// Why a tile cannot be decoded.
#[derive(Debug, Error)]
pub enum SegmentTileError {
    /// A size no tile has, or more knots than its rays can have.
    #[error(
        "tile at {lo:?} claims {size:?} rays and {knots} knots: 1 to {SEGMENT_TILE_EDGE} rays per axis of at most \
         {MAX_KNOTS} knots each are possible"
    )]
    Size {
        /// First ray.
        lo: [u16; 2],
        /// Claimed rays per axis.
        size: [u16; 2],
        /// Claimed knots.
        knots: u32,
    },
    /// The payload is damaged.
    #[error("tile at {lo:?}: {cause}")]
    Payload {
        /// First ray.
        lo: [u16; 2],
        /// What is wrong with it.
        cause: CodecError,
    },
    /// Planes that do not follow one another, or another number of knots than claimed.
    #[error("tile at {lo:?}: the knots of its ray {ray} do not follow one another: it is damaged, send it again")]
    Knots {
        /// First ray of the tile.
        lo: [u16; 2],
        /// Which ray, counted from 0.
        ray: usize,
    },
}

impl SegmentTile {
    /// Bytes in a message: 16 of header and the payload.
    pub fn wire_bytes(&self) -> usize {
        16 + self.payload.len()
    }

    /// The tile of `rays`, row by row.
    pub(super) fn encode(lo: [u16; 2], size: [u16; 2], rays: &[Vec<Knot>]) -> Self {
        let width = usize::from(size[0]);
        let counts: Vec<u8> = rays.iter().map(|knots| knots.len() as u8).collect();
        let lines: Vec<Line<'_>> = rays.iter().map(|knots| Line::new(&knots[..])).collect();
        let (mut lengths, mut differences) = (Vec::new(), Vec::new());
        let mut first = 0;
        for (ray, knots) in rays.iter().enumerate() {
            let mut plane = first;
            for (i, knot) in knots.iter().enumerate() {
                lengths.push(interleave_signs(knot.plane.wrapping_sub(plane)));
                plane = knot.plane;
                first = knots[0].plane;
                let difference = knot.code.wrapping_sub(predict(&lines, width, ray, &knots[..i], plane));
                let run = if knot.starts_run && i > 0 { STARTS_RUN } else { 0 };
                differences.push((interleave_signs(difference) & !STARTS_RUN) | run);
            }
        }
        let payload = with_encoder(|encoder| {
            encoder.push_image_8(&counts, width);
            encoder.push_symbols_16(&lengths);
            encoder.push_symbols_16(&differences);
            encoder.finish()
        });
        Self { lo, size, knots: differences.len() as u32, payload }
    }

    /// The knots of each ray, row by row.
    ///
    /// # Errors
    /// [`SegmentTileError`] if the numbers are impossible or the payload damaged.
    pub fn decode(&self) -> Result<Vec<Vec<Knot>>, SegmentTileError> {
        let Self { lo, size, knots, .. } = *self;
        let rays: usize = size.iter().map(|edge| usize::from(*edge)).product();
        let possible = size.iter().all(|edge| (1..=SEGMENT_TILE_EDGE).contains(&usize::from(*edge)));
        let knots = knots as usize;
        if !possible || knots > rays * MAX_KNOTS {
            return Err(SegmentTileError::Size { lo, size, knots: self.knots });
        }
        let width = usize::from(size[0]);
        let mut counts = vec![0; rays];
        let lists: Result<_, CodecError> = with_decoder(|decoder| {
            decoder.open(&self.payload, rays, &[knots, knots])?;
            decoder.read_image_8(&mut counts, width);
            Ok((decoder.next_16(knots).to_vec(), decoder.next_16(knots).to_vec()))
        });
        let (lengths, differences) = lists.map_err(|cause| SegmentTileError::Payload { lo, cause })?;
        let mut lists = lengths.into_iter().zip(differences);
        let mut decoded: Vec<Line<'_>> = Vec::with_capacity(rays);
        let mut first = 0;
        for (ray, &count) in counts.iter().enumerate() {
            let damaged = SegmentTileError::Knots { lo, ray };
            let Some(knots) = ray_of(&decoded, width, first, lists.by_ref().take(usize::from(count))) else {
                return Err(damaged);
            };
            if knots.len() < usize::from(count) {
                return Err(damaged);
            }
            first = knots.first().map_or(first, |knot| knot.plane);
            decoded.push(Line::new(knots));
        }
        if lists.next().is_some() {
            return Err(SegmentTileError::Knots { lo, ray: rays });
        }
        Ok(decoded.into_iter().map(Line::into_knots).collect())
    }
}

/// The knots of the ray after `before`; `None` where planes run backwards.
fn ray_of(before: &[Line<'_>], width: usize, first: u16, lists: impl Iterator<Item = (u16, u16)>) -> Option<Vec<Knot>> {
    let mut knots: Vec<Knot> = Vec::new();
    let mut plane = first;
    for (length, difference) in lists {
        let next = plane.wrapping_add(separate_signs(length));
        let starts_run = knots.is_empty() || difference & STARTS_RUN != 0;
        if knots.last().is_some_and(|last| next <= last.plane) {
            return None;
        }
        plane = next;
        let predicted = predict(before, width, before.len(), &knots, plane);
        let code = predicted.wrapping_add(separate_signs(difference & !STARTS_RUN)).min(TOP_CODE);
        knots.push(Knot { plane, code, starts_run });
    }
    Some(knots)
}

/// The code to expect of a knot of ray `ray` at `plane`, after the knots `own`: on the plane through the rays to the left,
/// above, and above to the left, where they have a value there.
fn predict(rays: &[Line<'_>], width: usize, ray: usize, own: &[Knot], plane: u16) -> u16 {
    let at = |back: usize| rays.get(ray.checked_sub(back)?)?.value_at(plane);
    let in_row = !ray.is_multiple_of(width);
    let left = if in_row { at(1) } else { None };
    let above = at(width);
    let corner = if in_row { at(width + 1) } else { None };
    let expected = match (left, above, corner) {
        (Some(left), Some(above), Some(corner)) => left + above - corner,
        (Some(one), _, _) | (None, Some(one), _) | (None, None, Some(one)) => one,
        (None, None, None) => return own.last().map_or(TOP_CODE / 2, |knot| knot.code),
    };
    (expected + 0.5).floor().clamp(0.0, f64::from(TOP_CODE)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn random_rays(seed: u64, count: usize) -> Vec<Vec<Knot>> {
        let mut random = Random::new(seed);
        let mut ray = || {
            let mut plane = (random.next_u32() % 50) as u16;
            let knots = (random.next_u32() % 20) as usize;
            (0..knots)
                .map(|i| {
                    plane += 1 + (random.next_u32() % 400) as u16;
                    let code = (random.next_u32() % (u32::from(TOP_CODE) + 1)) as u16;
                    Knot { plane, code, starts_run: i == 0 || random.unit() < 0.2 }
                })
                .collect()
        };
        (0..count).map(|_| ray()).collect()
    }

    #[test]
    fn rays_come_back() {
        for (seed, size) in [(1, [64, 64]), (2, [5, 64]), (3, [1, 1]), (4, [64, 3])] {
            let rays = random_rays(seed, usize::from(size[0]) * usize::from(size[1]));
            let tile = SegmentTile::encode([64, 128], size, &rays);
            assert_eq!(tile.decode().unwrap(), rays);
        }
    }

    #[test]
    fn damaged_tiles_are_errors_or_rays_that_can_be() {
        let tile = SegmentTile::encode([0, 0], [40, 30], &random_rays(5, 1200));
        let mut random = Random::new(6);
        let mut decoded = 0;
        for _ in 0..300 {
            let mut damaged = tile.clone();
            let at = random.next_u32() as usize % damaged.payload.len();
            damaged.payload[at] = random.next_u32() as u8;
            if random.unit() < 0.3 {
                damaged.size[(random.next_u32() % 2) as usize] = (random.next_u32() % 70) as u16;
                damaged.knots = random.next_u32() % 20_000;
            }
            let rays = damaged.decode();
            decoded += usize::from(rays.is_ok());
            for knots in rays.unwrap_or_default() {
                assert!(knots.windows(2).all(|pair| pair[0].plane < pair[1].plane));
                assert!(knots.iter().all(|knot| knot.code <= TOP_CODE));
            }
        }
        assert!((1..300).contains(&decoded), "{decoded}");
        let huge = SegmentTile { knots: u32::MAX, ..tile.clone() };
        assert!(matches!(huge.decode(), Err(SegmentTileError::Size { .. })));
        let empty = SegmentTile { size: [0, 4], ..tile };
        assert!(matches!(empty.decode(), Err(SegmentTileError::Size { .. })));
    }
}
