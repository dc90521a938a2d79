//! Planes there and back, and what damaged frames do.

use super::*;
use crate::testing::Random;

fn round_trip(bytes: &[u8], words: &[u16]) {
    let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
    encoder.push_8(bytes);
    encoder.push_16(words);
    let frame = encoder.finish();
    let mut decoder = PlaneDecoder::new();
    decoder.open(&frame, bytes.len() + 2 * words.len()).unwrap();
    let (mut got_bytes, mut got_words) = (vec![1; bytes.len()], vec![1; words.len()]);
    decoder.read_8(&mut got_bytes);
    decoder.read_16(&mut got_words);
    assert_eq!((got_bytes.as_slice(), got_words.as_slice()), (bytes, words));
}

#[test]
fn planes_survive_encoding_whatever_they_hold() {
    let mut random = Random::new(1);
    for length in [0, 1, 2, 7, 64, 4356] {
        let bytes: Vec<u8> = (0..length).map(|_| random.next_u32() as u8).collect();
        let words: Vec<u16> = (0..length).map(|_| random.next_u32() as u16).collect();
        round_trip(&bytes, &words);
        round_trip(&words.iter().map(|w| (w & 3) as u8).collect::<Vec<_>>(), &vec![65535; length]);
    }
}

#[test]
fn differences_wrap_and_sixteen_bits_come_low_bytes_first() {
    let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
    encoder.push_8(&[200, 10, 10]);
    encoder.push_16(&[0x0102, 0x0001, 0xffff]);
    let frame = encoder.finish();
    let raw = zstd::decode_all(frame.as_slice()).unwrap();
    assert_eq!(raw, [200, 66, 0, 0x02, 0xff, 0xfe, 0x01, 0xfe, 0xff]);
}

#[test]
fn images_survive_encoding_whatever_they_hold() {
    let mut random = Random::new(13);
    for (width, height) in [(1, 1), (1, 9), (9, 1), (66, 65), (5, 0)] {
        let words: Vec<u16> = (0..width * height).map(|_| random.next_u32() as u16).collect();
        let bytes: Vec<u8> = words.iter().map(|w| *w as u8).collect();
        let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
        encoder.push_image_16(&words, width);
        encoder.push_image_8(&bytes, width);
        let frame = encoder.finish();
        let mut decoder = PlaneDecoder::new();
        decoder.open(&frame, 3 * words.len()).unwrap();
        let (mut got_words, mut got_bytes) = (vec![1; words.len()], vec![1; words.len()]);
        decoder.read_image_16(&mut got_words, width);
        decoder.read_image_8(&mut got_bytes, width);
        assert_eq!((got_words, got_bytes), (words, bytes));
    }
}

#[test]
fn images_are_differences_to_the_plane_through_three_neighbours() {
    let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
    encoder.push_image_8(&[10, 12, 13, 16], 2);
    encoder.push_image_16(&[10, 12, 13, 14], 2);
    let raw = zstd::decode_all(encoder.finish().as_slice()).unwrap();
    assert_eq!(raw, [10, 2, 3, 1, 20, 4, 6, 1, 0, 0, 0, 0]);
}

#[test]
fn an_encoder_starts_afresh_after_each_frame() {
    let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
    encoder.push_8(&[1, 2, 3]);
    let first = encoder.finish();
    encoder.push_8(&[1, 2, 3]);
    assert_eq!(encoder.finish(), first);
}

#[test]
fn a_frame_of_another_size_is_refused() {
    let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
    encoder.push_8(&[5; 100]);
    let frame = encoder.finish();
    let mut decoder = PlaneDecoder::new();
    assert!(matches!(decoder.open(&frame, 99), Err(CodecError::Frame { .. })));
    assert!(matches!(decoder.open(&frame, 101), Err(CodecError::Length { expected: 101, got: 100 })));
    assert!(decoder.open(&frame, 100).is_ok());
}

#[test]
fn damaged_frames_are_errors_and_stay_within_bounds() {
    let mut random = Random::new(2);
    let plane: Vec<u8> = (0..4096).map(|_| (random.next_u32() % 5) as u8).collect();
    let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
    encoder.push_8(&plane);
    let frame = encoder.finish();
    let mut decoder = PlaneDecoder::new();
    for _ in 0..2000 {
        let mut damaged = frame.clone();
        let at = random.next_u32() as usize % damaged.len();
        damaged[at] ^= 1 << (random.next_u32() % 8);
        damaged.truncate(damaged.len() - (random.next_u32() % 3) as usize);
        // A flipped bit may still decode; what counts is that nothing larger comes out.
        let _ = decoder.open(&damaged, plane.len());
        assert_eq!(decoder.differences.len(), plane.len());
    }
}
