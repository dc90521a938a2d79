//! What the samples of a brick before another lead one to expect of it, and symbols that tell how it differs.
//!
//! Invariant: with the predictor that they were made with, symbols give the codes back, whatever those are.

use super::quantise::Code;

/// How a code is expected from those before it: its left neighbour, the code above (in the row before) and that behind (in the slice before).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    /// As the left one.
    Left,
    /// From the left one on, as codes above and behind went on from their left ones, on average.
    Gradients,
    /// From the left one and those above by the median edge detector of JPEG-LS (Weinberger, Seroussi and Sapiro 2000).
    Above,
    /// The same with those behind.
    Behind,
}

impl Predictor {
    const ALL: [Self; 4] = [Self::Left, Self::Gradients, Self::Above, Self::Behind];

    /// As it is told on the wire.
    pub(super) fn number(self) -> u8 {
        self as u8
    }

    /// `None` of a number that no predictor has.
    pub(super) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The one whose symbols are smallest in sum, of codes of a brick of `size`. Every second row is looked at; the first, which nothing lies before, is not.
    pub(super) fn best<C: Code>(codes: &[C], size: [usize; 3]) -> Self {
        let cost = |predictor: &Self| -> u64 {
            let rows = rows_of(codes, size).skip(1).step_by(2);
            rows.map(|row| u64::from(predictor.way(row.above, row.behind).cost(row.codes))).sum()
        };
        Self::ALL.into_iter().min_by_key(cost).unwrap_or(Self::Left)
    }

    /// Appends the symbols of the codes of a brick of `size`.
    pub(super) fn symbols<C: Code>(self, codes: &[C], size: [usize; 3], symbols: &mut Vec<C>) {
        for row in rows_of(codes, size) {
            let way = self.way(row.above, row.behind);
            let start = symbols.len();
            symbols.extend_from_slice(row.codes);
            symbols[start] = symbol(row.codes[0], way.first());
            for (x, out) in symbols[start..].iter_mut().enumerate().skip(1) {
                *out = symbol(row.codes[x], way.expected(row.codes[x - 1].to_i32(), x));
            }
        }
    }

    /// The codes of a brick of `size` that has these symbols.
    pub(super) fn codes<C: Code>(self, symbols: &[C], size: [usize; 3]) -> Vec<C> {
        let [width, height, _] = size;
        let mut codes = vec![C::default(); symbols.len()];
        for (number, symbols) in symbols.chunks_exact(width).enumerate() {
            let (before, rest) = codes.split_at_mut(number * width);
            let [above, behind] = rows_beside(before, number, width, height);
            let way = self.way(above, behind);
            let mut left = code(symbols[0], way.first());
            rest[0] = left;
            for (x, out) in rest[..width].iter_mut().enumerate().skip(1) {
                left = code(symbols[x], way.expected(left.to_i32(), x));
                *out = left;
            }
        }
        codes
    }

    /// How it goes along a row that has these beside it.
    fn way<'a, C: Code>(self, above: Option<&'a [C]>, behind: Option<&'a [C]>) -> Way<'a, C> {
        match (self, above, behind) {
            (_, None, None) => Way::Alone,
            (Self::Left, Some(row), _) | (Self::Left, _, Some(row)) => Way::Left(row),
            (Self::Gradients, Some(above), Some(behind)) => Way::Gradients(above, behind),
            (Self::Gradients, Some(row), None) | (Self::Gradients, None, Some(row)) => Way::Gradients(row, row),
            (Self::Above, Some(row), _) | (Self::Above, None, Some(row)) => Way::Edges(row),
            (Self::Behind, _, Some(row)) | (Self::Behind, Some(row), None) => Way::Edges(row),
        }
    }
}

/// How codes of a row are expected: from the rows beside it.
#[derive(Clone, Copy)]
enum Way<'a, C> {
    Alone,
    Left(&'a [C]),
    Gradients(&'a [C], &'a [C]),
    Edges(&'a [C]),
}

impl<C: Code> Way<'_, C> {
    /// What is expected of the first.
    #[inline(always)]
    fn first(self) -> i32 {
        match self {
            Self::Alone => 0,
            Self::Left(row) | Self::Gradients(row, _) | Self::Edges(row) => row[0].to_i32(),
        }
    }

    /// What is expected at `x > 0`, where the code before is `left`.
    #[inline(always)]
    fn expected(self, left: i32, x: usize) -> i32 {
        let pair = |row: &[C]| [row[x - 1].to_i32(), row[x].to_i32()];
        match self {
            Self::Alone | Self::Left(_) => left,
            Self::Gradients(above, behind) => {
                let ([a, b], [c, d]) = (pair(above), pair(behind));
                left + ((b - a + d - c) >> 1)
            }
            Self::Edges(row) => {
                let [corner, beside] = pair(row);
                (left + beside - corner).clamp(left.min(beside), left.max(beside))
            }
        }
    }

    /// The sum of a row's symbols.
    fn cost(self, row: &[C]) -> u32 {
        let first = symbol(row[0], self.first()).to_i32() as u32;
        let symbols = row.iter().enumerate().skip(1);
        first
            + symbols.map(|(x, code)| symbol(*code, self.expected(row[x - 1].to_i32(), x)).to_i32() as u32).sum::<u32>()
    }
}

/// A row of codes, and those beside it that come before.
struct Row<'a, C> {
    codes: &'a [C],
    above: Option<&'a [C]>,
    behind: Option<&'a [C]>,
}

fn rows_of<C>(codes: &[C], [width, height, _]: [usize; 3]) -> impl Iterator<Item = Row<'_, C>> {
    codes.chunks_exact(width).enumerate().map(move |(number, row)| {
        let [above, behind] = rows_beside(codes, number, width, height);
        Row { codes: row, above, behind }
    })
}

/// The rows above and behind row `number`.
fn rows_beside<C>(codes: &[C], number: usize, width: usize, height: usize) -> [Option<&[C]>; 2] {
    let row = |back: usize| Some(&codes[number.checked_sub(back)? * width..][..width]);
    [if number.is_multiple_of(height) { None } else { row(1) }, row(height)]
}

/// The difference of a code to what was expected, its sign interleaved, in as many bits as codes have.
#[inline(always)]
fn symbol<C: Code>(code: C, expected: i32) -> C {
    C::from_i32(code.to_i32() - expected).interleaved()
}

#[inline(always)]
fn code<C: Code>(symbol: C, expected: i32) -> C {
    C::from_i32(expected + symbol.separated().to_i32())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    const SIZE: [usize; 3] = [7, 4, 3];

    fn random_codes<C: Code>(seed: u64) -> Vec<C> {
        let mut random = Random::new(seed);
        (0..SIZE.iter().product::<usize>()).map(|_| C::from_i32(random.next_u32() as i32)).collect()
    }

    fn come_back<C: Code + PartialEq + std::fmt::Debug>(codes: &[C], size: [usize; 3]) {
        for predictor in Predictor::ALL {
            let mut symbols = Vec::new();
            predictor.symbols(codes, size, &mut symbols);
            assert_eq!(predictor.codes(&symbols, size), codes, "{predictor:?}");
        }
    }

    #[test]
    fn any_codes_come_back() {
        come_back::<u8>(&random_codes(1), SIZE);
        come_back::<u16>(&random_codes(2), SIZE);
        come_back::<u8>(&[0, 255, 0, 255, 255, 0], [1, 2, 3]);
        come_back::<u16>(&[0, 65535, 1, 0], [4, 1, 1]);
    }

    fn best_and_symbols(value: impl Fn(i32, i32, i32) -> i32) -> (Predictor, Vec<u8>) {
        let [nx, ny, nz] = SIZE.map(|n| n as i32);
        let places = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (x, y, z))));
        let codes: Vec<u8> = places.map(|(x, y, z)| value(x, y, z) as u8).collect();
        let (best, mut symbols) = (Predictor::best(&codes, SIZE), Vec::new());
        best.symbols(&codes, SIZE, &mut symbols);
        (best, symbols)
    }

    #[test]
    fn slopes_are_told_by_gradients_edges_by_the_median_and_what_is_not_like_its_neighbours_by_itself() {
        let inner = |symbols: Vec<u8>| {
            symbols.into_iter().enumerate().filter(|(i, _)| i % 7 > 0 && i / 7 % 4 > 0 && i / 28 > 0)
        };
        let (best, symbols) = best_and_symbols(|x, y, z| 3 * x + 5 * y + 7 * z + x * x);
        assert_eq!(best, Predictor::Gradients);
        assert!(inner(symbols).all(|(_, symbol)| symbol == 0));
        let (best, symbols) = best_and_symbols(|x, y, z| if x > 3 { 200 } else { 10 * y + 90 * z });
        assert_eq!(best, Predictor::Above);
        assert!(inner(symbols).all(|(_, symbol)| symbol <= 40));
        let (best, _) = best_and_symbols(|x, y, z| if x > 3 { 200 } else { 90 * y + 10 * z });
        assert_eq!(best, Predictor::Behind);
        let (best, _) = best_and_symbols(|x, y, z| if (y + z) % 2 == 0 { 10 * x } else { 200 - 10 * x });
        assert_eq!(best, Predictor::Left);
    }

    #[test]
    fn symbols_are_differences_modulo_the_width() {
        let mut symbols = Vec::new();
        // 10; 250 - 10 = -16; 3 - 250 = 9. Below it: 12 - 10 = 2, and so on.
        Predictor::Left.symbols::<u8>(&[10, 250, 3, 12, 12, 11], [3, 2, 1], &mut symbols);
        assert_eq!(symbols, [20, 31, 18, 4, 0, 1]);
        assert_eq!(Predictor::of_number(4), None);
        assert!(Predictor::ALL.iter().all(|predictor| Predictor::of_number(predictor.number()) == Some(*predictor)));
    }
}
