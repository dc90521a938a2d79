//! Codes of a brick as floats of 16 or 32 bits, and the extremes of its macrocells.
//!
//! Every loop over samples runs along slices of one length and has no branches, so that the compiler makes SIMD of it.

/// Samples per edge of a macrocell: the unit in which empty space is skipped.
const CELL_EDGE: usize = 4;
/// How many samples along an edge interpolation inside a macrocell reads: from one before its first on.
const READ: usize = CELL_EDGE + 2;

/// Where a brick lies in its level's grid, in samples, x first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) lo: [usize; 3],
    pub(crate) size: [usize; 3],
}

/// What codes stand for: `first + (code - 1) per_code`, held to [0, 1]; code 0 for no data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) first: f32,
    pub(crate) per_code: f32,
    pub(crate) missing: f32,
    /// The half float nearest to it.
    pub(crate) missing_half: u16,
}

/// Floats that codes become.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Floats {
    /// Of 16 bits, in the place of the codes.
    Halves,
    /// Of 32 bits.
    Singles,
}

/// What is made of the codes of one brick after another, in memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Brick {
    /// In `[z, y, x]` order; half floats once they are unpacked.
    pub(crate) samples: Vec<u16>,
    /// The same as singles, where these were asked for.
    pub(crate) singles: Vec<f32>,
    /// Least and largest value of each macrocell, `[z, y, x]`; the least is infinite, and the largest minus that, where there is no data.
    pub(crate) extremes: [Vec<f32>; 2],
    /// The extremes as codes, the least ones less 1; and what they are made from: those along z, and along y.
    codes: [Vec<u16>; 2],
    planes: Vec<u16>,
    rows: Vec<u16>,
}

impl Brick {
    /// Makes of the codes in `samples` what they stand for. Interpolation inside macrocell `m` reads samples `4 m - 1` to `4 m + 4`: those at
    /// the brick's border count for macrocells beyond it, too.
    ///
    /// # Panics
    /// If there are not as many codes as the brick has samples.
    pub(crate) fn unpack(&mut self, place: Place, scale: Scale, floats: Floats) {
        assert_eq!(self.samples.len(), place.size.iter().product(), "codes");
        let [x, y, z] = [0, 1, 2].map(|axis| touched(place.lo[axis], place.size[axis]));
        let [width, height, depth] = place.size;
        // One less than codes: no data is the largest.
        let least = |a: u16, b: u16| a.min(b);
        along(&self.samples, &z, width * height, depth, |code| code.wrapping_sub(1), least, &mut self.planes);
        along(&self.planes, &y, width, height, |code| code, least, &mut self.rows);
        along(&self.rows, &x, 1, width, |code| code, least, &mut self.codes[0]);
        along(&self.samples, &z, width * height, depth, |code| code, u16::max, &mut self.planes);
        along(&self.planes, &y, width, height, |code| code, u16::max, &mut self.rows);
        along(&self.rows, &x, 1, width, |code| code, u16::max, &mut self.codes[1]);
        let [least, most] = &self.codes;
        let [lo, hi] = &mut self.extremes;
        let is_empty = |most: u16| most == 0;
        lo.clear();
        lo.extend(least.iter().zip(most).map(
            |(least, most)| {
                if is_empty(*most) { f32::INFINITY } else { scale.value(*least) }
            },
        ));
        hi.clear();
        hi.extend(most.iter().map(
            |most| {
                if is_empty(*most) { f32::NEG_INFINITY } else { scale.value(most.wrapping_sub(1)) }
            },
        ));
        match floats {
            Floats::Halves => self.make_halves(scale),
            Floats::Singles => self.make_singles(scale),
        }
    }

    fn make_halves(&mut self, scale: Scale) {
        for sample in &mut self.samples {
            let half = half_of_share(scale.value(sample.wrapping_sub(1)));
            *sample = if *sample == 0 { scale.missing_half } else { half };
        }
    }

    fn make_singles(&mut self, scale: Scale) {
        self.singles.resize(self.samples.len(), 0.0);
        for (single, sample) in self.singles.iter_mut().zip(&self.samples) {
            let value = scale.value(sample.wrapping_sub(1));
            *single = if *sample == 0 { scale.missing } else { value };
        }
    }
}

impl Scale {
    /// Of a code, one less.
    #[inline(always)]
    fn value(self, before: u16) -> f32 {
        // By way of 32 bits, from which there is an instruction.
        let value = self.first + i32::from(before) as f32 * self.per_code;
        // Comparisons that are false where it is no number, and are instructions of their own.
        let value = if value > 0.0 { value } else { 0.0 };
        if value < 1.0 { value } else { 1.0 }
    }
}

/// The nearest half float to a number in [0, 1], ties to even.
#[inline(always)]
fn half_of_share(value: f32) -> u16 {
    // Its exponent counts from 15, not 127: scaled, the bits are where they belong, those of the smallest numbers, too.
    let bits = (value * f32::from_bits((127 - 112) << 23)).to_bits();
    ((bits + 0xfff + (bits >> 13 & 1)) >> 13) as u16
}

/// Per macrocell that reads any of `size` samples from `lo` on, those that it reads; the outermost again for what lies beyond.
fn touched(lo: usize, size: usize) -> Vec<[usize; READ]> {
    // One macrocell is before the first one of the grid.
    let first = lo.div_ceil(CELL_EDGE);
    let last = (lo + size) / CELL_EDGE + 1;
    let of_cell = |cell: usize| {
        std::array::from_fn(|n| {
            (cell * CELL_EDGE + n).clamp(lo + CELL_EDGE + 1, lo + size + CELL_EDGE) - lo - CELL_EDGE - 1
        })
    };
    (first..=last).map(of_cell).collect()
}

/// The extremes over `touched` of what values are along an axis of `size` of them that lie `inner` apart.
fn along(
    values: &[u16],
    touched: &[[usize; READ]],
    inner: usize,
    size: usize,
    what: impl Fn(u16) -> u16,
    extreme: impl Fn(u16, u16) -> u16,
    out: &mut Vec<u16>,
) {
    let blocks = values.chunks_exact(inner * size);
    out.resize(blocks.len() * touched.len() * inner, 0);
    let places = blocks.flat_map(|block| touched.iter().map(move |places| (block, places)));
    for (out, (block, places)) in out.chunks_exact_mut(inner).zip(places) {
        extremes(out, places.map(|at| &block[at * inner..(at + 1) * inner]), &what, &extreme);
    }
}

/// The extremes of six rows.
fn extremes(out: &mut [u16], rows: [&[u16]; READ], what: &impl Fn(u16) -> u16, extreme: &impl Fn(u16, u16) -> u16) {
    let rows = rows.map(|row| &row[..out.len()]);
    for (i, out) in out.iter_mut().enumerate() {
        let [a, b, c, d, e, f] = rows.map(|row| what(row[i]));
        *out = extreme(extreme(extreme(a, b), extreme(c, d)), extreme(e, f));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING: u16 = 0xfb53;
    const SCALE: Scale = Scale { first: 0.1, per_code: 0.001, missing: -60000.0, missing_half: MISSING };

    /// Numbers that look random, some of them 0.
    fn codes(count: usize, most: u32) -> Vec<u16> {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % (most + 1)
        };
        (0..count).map(|_| if next() % 5 == 0 { 0 } else { next() as u16 }).collect()
    }

    fn unpacked(place: Place, scale: Scale, codes: &[u16]) -> Brick {
        let mut brick = Brick { samples: codes.to_vec(), ..Brick::default() };
        brick.unpack(place, scale, Floats::Halves);
        brick
    }

    fn number_of_half(half: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(half >> 10 & 31), f64::from(half & 0x3ff));
        if exponent == 0 { mantissa * 2_f64.powi(-24) } else { (1024.0 + mantissa) * 2_f64.powi(exponent - 25) }
    }

    #[test]
    fn halves_are_the_nearest_to_shares() {
        let halves: Vec<f64> = (0..=0x3c00).map(number_of_half).collect();
        for i in 0..=100_000_u32 {
            let share = (f64::from(i) / 100_000.0).powi(3) as f32;
            let made = number_of_half(half_of_share(share));
            let after = halves.partition_point(|half| *half < f64::from(share)).min(halves.len() - 1);
            let nearest = [halves[after], halves[after.saturating_sub(1)]]
                .map(|half| (half - f64::from(share)).abs())
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            assert!((made - f64::from(share)).abs() <= nearest * (1.0 + 1e-9), "{made} for {share}");
        }
        assert_eq!([0.0, 1.0, 0.5].map(half_of_share), [0, 0x3c00, 0x3800]);
    }

    #[test]
    fn samples_are_what_codes_stand_for() {
        let place = Place { lo: [0; 3], size: [5, 1, 1] };
        let samples = unpacked(place, SCALE, &[0, 1, 101, 901, 1201]).samples;
        let expected = [0.1, 0.2, 1.0, 1.0].map(half_of_share);
        assert_eq!((samples[0], &samples[1..]), (MISSING, &expected[..]));
        let strange = Scale { first: f32::NAN, per_code: f32::INFINITY, ..SCALE };
        assert_eq!(unpacked(place, strange, &[0, 1, 2, 3, 4]).samples, [MISSING, 0, 0, 0, 0]);
    }

    #[test]
    fn singles_tell_apart_what_halves_do_not() {
        let place = Place { lo: [0; 3], size: [4, 1, 1] };
        let fine = Scale { first: 0.0, per_code: 1.0 / 65534.0, ..SCALE };
        let codes = [0, 60_000, 60_001, 65_535];
        let mut brick = Brick { samples: codes.to_vec(), ..Brick::default() };
        brick.unpack(place, fine, Floats::Singles);
        assert_eq!(brick.singles, [-60000.0, 59_999.0 / 65534.0, 60_000.0 / 65534.0, 1.0]);
        let halves = unpacked(place, fine, &codes);
        assert_eq!(halves.samples[1], halves.samples[2]);
        assert_eq!(halves.extremes, brick.extremes);
    }

    #[test]
    fn macrocells_have_the_extremes_of_all_samples_that_they_read() {
        for (lo, size) in
            [([0, 0, 0], [19, 12, 9]), ([64, 32, 128], [64, 3, 1]), ([1, 6, 3], [1, 1, 8]), ([7, 8, 5], [6, 9, 10])]
        {
            let place = Place { lo, size };
            let codes = codes(size.iter().product(), 1000);
            let brick = unpacked(place, SCALE, &codes);
            let range = |axis: usize| {
                let (lo, size) = (lo[axis] as isize, size[axis] as isize);
                (lo - 1).div_euclid(4)..=(lo + size).div_euclid(4)
            };
            let mut number = 0;
            for (cz, cy, cx) in range(2).flat_map(|z| range(1).flat_map(move |y| range(0).map(move |x| (z, y, x)))) {
                let reads = |cell: isize, at: usize| (4 * cell - 1..=4 * cell + 4).contains(&(at as isize));
                let of_cell = codes.iter().enumerate().filter_map(|(i, code)| {
                    let [x, y, z] = [i % size[0], i / size[0] % size[1], i / size[0] / size[1]];
                    let is_read = reads(cx, lo[0] + x) && reads(cy, lo[1] + y) && reads(cz, lo[2] + z);
                    (is_read && *code > 0).then_some(*code)
                });
                let (least, most) = (of_cell.clone().min(), of_cell.max());
                let value = |code: u16| SCALE.value(code - 1);
                assert_eq!(brick.extremes[0][number], least.map_or(f32::INFINITY, value), "{place:?}, {number}");
                assert_eq!(brick.extremes[1][number], most.map_or(f32::NEG_INFINITY, value), "{place:?}, {number}");
                number += 1;
            }
            assert_eq!(brick.extremes.each_ref().map(Vec::len), [number; 2]);
        }
    }
}
