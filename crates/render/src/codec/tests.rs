//! Planes there and back, and what damaged frames do.

use super::*;
use crate::testing::Random;

#[test]
fn images_survive_encoding_whatever_they_hold() {
    let mut random = Random::new(13);
    for (width, height) in [(1, 1), (1, 9), (9, 1), (66, 65), (5, 0)] {
        let words: Vec<u16> = (0..width * height).map(|_| random.next_u32() as u16).collect();
        let bytes: Vec<u8> = words.iter().map(|w| *w as u8).collect();
        let mut encoder = PlaneEncoder::new();
        encoder.push_image_16(&words, width);
        encoder.push_image_8(&bytes, width);
        let frame = encoder.finish();
        let mut decoder = PlaneDecoder::new();
        decoder.open(&frame, words.len(), &[words.len()]).unwrap();
        let (mut got_words, mut got_bytes) = (vec![1; words.len()], vec![1; words.len()]);
        decoder.read_image_16(&mut got_words, width);
        decoder.read_image_8(&mut got_bytes, width);
        assert_eq!((got_words, got_bytes), (words, bytes));
    }
}

#[test]
fn images_are_differences_to_the_plane_through_three_neighbours() {
    let mut encoder = PlaneEncoder::new();
    encoder.push_image_8(&[10, 12, 13, 16], 2);
    encoder.push_image_16(&[10, 12, 13, 14, 0, 1023], 2);
    let raw = zstd::decode_all(encoder.finish().as_slice()).unwrap();
    // Differences 10, 2, 3, 1 and 10, 2, 3, -1, -13, 1022.
    assert_eq!(raw, [0, 20, 4, 6, 2, 0, 20, 4, 6, 1, 25, 252, 0, 0, 0, 0, 0, 7]);
}

#[test]
fn signs_are_interleaved_whatever_the_width() {
    for symbol in 0..=u8::MAX {
        assert_eq!(interleave_signs_8(separate_signs_8(symbol)), symbol);
        assert_eq!(interleave_signs(i16::from(separate_signs_8(symbol) as i8) as u16), u16::from(symbol));
    }
    assert_eq!([0, 255, 1, 254].map(interleave_signs_8), [0, 1, 2, 3]);
    assert!((0..=u16::MAX).all(|symbol| interleave_signs(separate_signs(symbol)) == symbol));
}

#[test]
fn an_encoder_starts_afresh_after_each_frame() {
    let mut encoder = PlaneEncoder::new();
    encoder.push_image_8(&[1, 2, 3], 3);
    let first = encoder.finish();
    encoder.push_image_8(&[1, 2, 3], 3);
    assert_eq!(encoder.finish(), first);
}

#[test]
fn symbols_made_elsewhere_give_the_frame_of_their_planes() {
    let mut random = Random::new(3);
    for most in [4, 200] {
        let bytes: Vec<u8> = (0..96).map(|_| (random.next_u32() % most) as u8).collect();
        let words: Vec<u16> = bytes[..32].iter().map(|byte| 3 * u16::from(*byte)).collect();
        let mut encoder = PlaneEncoder::new();
        encoder.push_image_8(&bytes, 8);
        encoder.push_image_16(&words, 8);
        let plain = [encoder.symbols_8().clone(), halves(encoder.symbols_16(), 0), halves(encoder.symbols_16(), 8)];
        let expected = encoder.finish();
        assert_eq!(encoder.frame_of(&plain.concat(), bytes.len()), expected);
    }
}

fn halves(symbols: &[u16], shift: u32) -> Vec<u8> {
    symbols.iter().map(|symbol| (symbol >> shift) as u8).collect()
}

#[test]
fn what_differs_in_kind_has_codes_of_its_own() {
    let mut random = Random::new(4);
    let mut drawn =
        |values: [u16; 4]| -> Vec<u16> { (0..4096).map(|_| values[random.next_u32() as usize % 4]).collect() };
    let (one, other) = (drawn([100, 101, 102, 103]), drawn([200, 201, 202, 203]));
    let mut encoder = PlaneEncoder::new();
    encoder.push_symbols_16(&one);
    encoder.push_symbols_16(&other);
    let frame = encoder.finish();
    // Two bits each, and some; with codes for eight values it would be three.
    assert!(frame.len() < 5 * 512 + 100, "{}", frame.len());
    let mut decoder = PlaneDecoder::new();
    decoder.open(&frame, 0, &[4096, 4096]).unwrap();
    assert_eq!(decoder.next_16(8192), [one, other].concat());
}

#[test]
fn a_frame_of_another_size_is_refused() {
    let mut encoder = PlaneEncoder::new();
    let plane: Vec<u8> = (0..100).map(|i| if i % 2 == 0 { 0 } else { 128 }).collect();
    encoder.push_image_8(&plane, 100);
    let frame = encoder.finish();
    let mut decoder = PlaneDecoder::new();
    assert!(matches!(decoder.open(&frame, 99, &[]), Err(CodecError::Frame { .. })));
    assert!(matches!(decoder.open(&frame, 300, &[]), Err(CodecError::Length { expected: 301, got: 101 })));
    assert!(decoder.open(&frame, 100, &[]).is_ok());
}

#[test]
fn damaged_frames_are_errors_and_stay_within_bounds() {
    let mut random = Random::new(2);
    let plane: Vec<u8> = (0..4096).map(|_| (random.next_u32() % 5) as u8).collect();
    let mut encoder = PlaneEncoder::new();
    encoder.push_image_8(&plane, 64);
    let frame = encoder.finish();
    let mut decoder = PlaneDecoder::new();
    let mut decoded = 0;
    for _ in 0..2000 {
        let mut damaged = frame.clone();
        let at = random.next_u32() as usize % damaged.len();
        damaged[at] ^= 1 << (random.next_u32() % 8);
        damaged.truncate(damaged.len() - (random.next_u32() % 3) as usize);
        // A flipped bit may still decode; what counts is that nothing larger comes out.
        decoded += usize::from(decoder.open(&damaged, plane.len(), &[]).is_ok());
        assert_eq!((decoder.bytes.len(), decoder.symbols.narrow.len()), (1 + plane.len(), plane.len()));
    }
    assert!((1..2000).contains(&decoded), "{decoded}");
}
