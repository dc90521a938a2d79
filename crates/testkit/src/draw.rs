//! Random numbers of the shapes that schedules need.

use fastrand::Rng;

/// One millisecond in nanoseconds.
pub const MS: u64 = 1_000_000;
/// One second in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// True with probability `p`.
pub fn chance(rng: &mut Rng, p: f64) -> bool {
    rng.f64() < p
}

/// A number between `least` and `most`, each decade as likely as the others.
pub fn log_uniform(rng: &mut Rng, least: u64, most: u64) -> u64 {
    let (least, most) = (least.max(1) as f64, most as f64);
    (least * (most / least).powf(rng.f64())) as u64
}

/// Up to `most` disjoint intervals `(from, to)` before `end`, each at most `longest` long.
pub fn intervals(rng: &mut Rng, most: usize, end: u64, longest: u64) -> Vec<(u64, u64)> {
    let mut from = 0;
    let mut found = Vec::new();
    for _ in 0..rng.usize(1..=most) {
        from += rng.u64(0..end);
        let to = from + log_uniform(rng, MS, longest);
        found.push((from, to));
        from = to + MS;
    }
    found
}

/// A random integer whose size is random too, so that bounds and their neighbours come often.
pub fn nasty(rng: &mut Rng) -> u64 {
    match rng.u8(0..6) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << rng.u32(0..64),
        3 => (1_u64 << rng.u32(0..64)).wrapping_sub(1),
        4 => u64::MAX - rng.u64(0..100),
        _ => rng.u64(..) >> rng.u32(0..64),
    }
}
