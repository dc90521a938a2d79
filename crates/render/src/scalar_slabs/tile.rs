//! Tiles of faces: values as codes, and their bytes on the wire.

use super::sample::ELSEWHERE;
use crate::codec::{CodecError, with_decoder, with_encoder};
use crate::slabs::{TILE_EDGE, TileError, TilePlace};

/// Largest code of a value; code 0 is a missing one, 1 the low end of the range.
pub(crate) const VALUE_CODES: u16 = 1023;

/// Codes between processes alone: of a texel whose value another one has, and of one that nobody needs.
pub(super) const ELSEWHERE_CODE: u16 = VALUE_CODES + 1;
pub(super) const NEEDLESS_CODE: u16 = VALUE_CODES + 2;

/// A tile of one face as it crosses the wire: see `docs/src/view-protocol.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceTile {
    /// Which face, 0 nearest.
    pub face: u16,
    /// First texel `[x, y]`.
    pub lo: [u16; 2],
    /// Texels `[width, height]`, at most 64 each.
    pub size: [u16; 2],
    /// One zstd frame of one plane of codes.
    pub payload: Vec<u8>,
}

impl FaceTile {
    /// Bytes in a message: 16 of header and the payload.
    pub fn wire_bytes(&self) -> usize {
        16 + self.payload.len()
    }

    /// Codes of the texels, row by row from the top, none above `VALUE_CODES`.
    ///
    /// # Errors
    /// [`TileError`] if the size is impossible or the payload damaged.
    pub fn decode(&self) -> Result<Vec<u16>, TileError> {
        let mut codes = self.codes()?;
        codes.iter_mut().for_each(|code| *code = (*code).min(VALUE_CODES));
        Ok(codes)
    }

    /// The same with the codes that are for processes alone.
    pub(super) fn codes(&self) -> Result<Vec<u16>, TileError> {
        let [width, height] = self.size.map(usize::from);
        TileError::of_size(self.lo, self.size, TILE_EDGE)?;
        let mut codes = vec![0; width * height];
        let decoded: Result<(), CodecError> = with_decoder(|decoder| {
            decoder.open(&self.payload, 0, &[codes.len()])?;
            decoder.read_image_16(&mut codes, width);
            Ok(())
        });
        decoded.map(|()| codes).map_err(|cause| TileError::Payload { lo: self.lo, cause })
    }
}

/// Codes values over a range.
pub(crate) struct Quantiser {
    lo: f64,
    per_value: f64,
}

impl Quantiser {
    pub(crate) fn new([lo, hi]: [f32; 2]) -> Self {
        let extent = f64::from(hi) - f64::from(lo);
        Self { lo: f64::from(lo), per_value: if extent > 0.0 { f64::from(VALUE_CODES - 1) / extent } else { 0.0 } }
    }

    fn code(&self, value: f32) -> u16 {
        if value.is_nan() {
            return 0;
        }
        if value.is_infinite() {
            return if value == ELSEWHERE { ELSEWHERE_CODE } else { NEEDLESS_CODE };
        }
        let step = ((f64::from(value) - self.lo) * self.per_value + 0.5).clamp(0.0, f64::from(VALUE_CODES - 1));
        step as u16 + 1
    }

    /// The tile of `values`; `None` where all are missing or needless.
    pub(crate) fn tile(&self, face: usize, place: &TilePlace, values: &[f32]) -> Option<FaceTile> {
        finished(face, place, self.codes(values))
    }

    /// What the blocks of one process have of a tile; `None` where that is nothing.
    pub(super) fn part(&self, face: usize, place: &TilePlace, values: &[f32]) -> Option<FacePart> {
        let codes = self.codes(values);
        if !codes.contains(&ELSEWHERE_CODE) {
            return Some(FacePart { tile: finished(face, place, codes)?, is_whole: true });
        }
        let has_any = codes.iter().any(|code| *code <= VALUE_CODES);
        has_any.then(|| FacePart { tile: encoded(face, place, &codes), is_whole: false })
    }

    fn codes(&self, values: &[f32]) -> Vec<u16> {
        values.iter().map(|value| self.code(*value)).collect()
    }
}

/// What one process of several has of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacePart {
    /// Its codes; where others have more of it, with marks at what it lacks.
    pub tile: FaceTile,
    /// Whether no other process has any of it.
    pub is_whole: bool,
}

/// The tile of these codes; `None` where no value is among them.
pub(super) fn finished(face: usize, place: &TilePlace, mut codes: Vec<u16>) -> Option<FaceTile> {
    if !codes.iter().any(|code| (1..=VALUE_CODES).contains(code)) {
        return None;
    }
    continue_values(&mut codes, place.size[0]);
    Some(encoded(face, place, &codes))
}

fn encoded(face: usize, place: &TilePlace, codes: &[u16]) -> FaceTile {
    let payload = with_encoder(|encoder| {
        encoder.push_image_16(codes, place.size[0]);
        encoder.finish()
    });
    let [lo, size] = place.words();
    FaceTile { face: face as u16, lo, size, payload }
}

/// In rows of `width`, needless texels take the code of the one before them, those at the start of a row that of the first needed one of
/// the row or of the row above: they then cost next to nothing.
fn continue_values(codes: &mut [u16], width: usize) {
    let is_needed = |code: &&u16| **code != NEEDLESS_CODE;
    let mut start = codes.iter().find(is_needed).copied().unwrap_or(0);
    for row in codes.chunks_mut(width) {
        start = row.iter().find(is_needed).copied().unwrap_or(start);
        let mut last = start;
        for code in row {
            last = if *code == NEEDLESS_CODE { last } else { *code };
            *code = last;
        }
    }
}

/// The value of a code of a range; NaN for a missing one.
pub(super) fn value_of(code: u16, [lo, hi]: [f32; 2]) -> f32 {
    if code == 0 {
        return f32::NAN;
    }
    let share = f64::from(code - 1) / f64::from(VALUE_CODES - 1);
    (f64::from(lo) + share * (f64::from(hi) - f64::from(lo))) as f32
}

#[cfg(test)]
mod tests {
    use super::super::sample::NEEDLESS;
    use super::*;
    use crate::testing::Random;

    const PLACE: TilePlace = TilePlace { lo: [64, 0], size: [64, 30] };

    fn tile(values: &[f32]) -> Option<FaceTile> {
        Quantiser::new([-2.0, 3.0]).tile(7, &PLACE, values)
    }

    #[test]
    fn values_come_back_to_half_a_step_and_missing_ones_as_such() {
        let mut random = Random::new(4);
        let mut value = || if random.unit() < 0.1 { f32::NAN } else { random.unit() * 5.0 - 2.0 };
        let values: Vec<f32> = (0..64 * 30).map(|_| value()).collect();
        let codes = tile(&values).unwrap().decode().unwrap();
        for (code, value) in codes.iter().zip(&values) {
            let back = value_of(*code, [-2.0, 3.0]);
            assert!(back.is_nan() && value.is_nan() || (back - value).abs() <= 0.5001 * 5.0 / 1022.0);
        }
    }

    #[test]
    fn tiles_without_a_value_are_not_made() {
        assert_eq!(tile(&[f32::NAN; 64 * 30]), None);
        assert_eq!(tile(&[NEEDLESS; 64 * 30]), None);
    }

    #[test]
    fn constant_tiles_with_needless_texels_cost_few_bytes() {
        let mut values = vec![1.5; 64 * 30];
        values[..500].fill(NEEDLESS);
        values.iter_mut().skip(1000).step_by(7).for_each(|value| *value = NEEDLESS);
        let bytes = tile(&values).unwrap().wire_bytes();
        assert!(bytes <= 48, "{bytes} bytes");
    }

    #[test]
    fn a_range_of_one_value_keeps_it() {
        let tile = Quantiser::new([2.5, 2.5]).tile(0, &PLACE, &[2.5; 64 * 30]).unwrap();
        assert!(tile.decode().unwrap().iter().all(|code| value_of(*code, [2.5, 2.5]) == 2.5));
    }

    #[test]
    fn damaged_tiles_are_errors_or_of_the_size_they_claim() {
        let mut random = Random::new(12);
        let values: Vec<f32> = (0..64 * 30).map(|_| random.unit()).collect();
        let whole = tile(&values).unwrap();
        let mut decoded = 0;
        for _ in 0..500 {
            let mut damaged = whole.clone();
            let at = random.next_u32() as usize % damaged.payload.len();
            damaged.payload[at] = random.next_u32() as u8;
            if random.unit() < 0.5 {
                damaged.size[(random.next_u32() % 2) as usize] = (random.next_u32() % 70) as u16;
            }
            if let Ok(codes) = damaged.decode() {
                assert_eq!(codes.len(), usize::from(damaged.size[0]) * usize::from(damaged.size[1]));
                assert!(codes.iter().all(|code| *code <= VALUE_CODES));
                decoded += 1;
            }
        }
        assert!((1..500).contains(&decoded), "{decoded}");
        let huge = FaceTile { size: [65, 1], ..whole };
        assert!(matches!(huge.decode(), Err(TileError::Size { .. })));
    }
}
