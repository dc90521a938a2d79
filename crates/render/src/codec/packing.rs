//! Symbols of planes as the bytes that zstd compresses, and back.
//!
//! A *part* is symbols of one width that are about as large everywhere. *Plain*, it is the byte 0, their low bytes, and of those of 16 bits their high bytes.
//! *Packed*, it is the byte 1, them as nibbles, 15 for what is larger than 14, and these whole, as plain ones are. zstd's Huffman codes take a bit for each
//! byte at least, and symbols of smooth fields need less.

/// The nibble of what does not fit into one.
const LARGE: u8 = 15;
/// Of so many symbols, at most one is large where they are packed.
const PER_LARGE: usize = 8;

const PLAIN: u8 = 0;
const PACKED: u8 = 1;

/// Parts of symbols: one of those of 8 bits, if there are any, then those of 16 bits.
#[derive(Default)]
pub(super) struct Symbols {
    pub(super) narrow: Vec<u8>,
    pub(super) wide: Vec<u16>,
    /// Where parts of `wide` end.
    ends: Vec<usize>,
}

impl Symbols {
    pub(super) fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
        self.ends.clear();
    }

    /// So many, whatever they are.
    pub(super) fn resize(&mut self, narrow: usize, wide: &[usize]) {
        self.clear();
        self.narrow.resize(narrow, 0);
        for count in wide {
            self.wide.resize(self.wide.len() + count, 0);
            self.end_part();
        }
    }

    /// What follows is another part.
    pub(super) fn end_part(&mut self) {
        if self.ends.last().copied().unwrap_or(0) < self.wide.len() {
            self.ends.push(self.wide.len());
        }
    }

    /// Most bytes that they are written in.
    pub(super) fn most_bytes(&self) -> usize {
        usize::from(!self.narrow.is_empty()) + self.narrow.len() + self.ends.len() + 2 * self.wide.len()
    }

    /// Writes them in place of what `bytes` held, each part in the way that compresses better; `kinds` are where bytes of another kind begin.
    pub(super) fn write(&mut self, bytes: &mut Vec<u8>, kinds: &mut Vec<usize>) {
        bytes.clear();
        kinds.clear();
        self.end_part();
        write_part(&self.narrow, bytes, kinds);
        let mut start = 0;
        for &end in &self.ends {
            write_part(&self.wide[start..end], bytes, kinds);
            start = end;
        }
    }

    /// Reads as many as there are.
    ///
    /// # Errors
    /// If `bytes` do not hold as many, or are written in another way.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), Misfit> {
        let mut read = read_part(bytes, &mut self.narrow)?;
        let mut start = 0;
        for &end in &self.ends {
            read += read_part(&bytes[read..], &mut self.wide[start..end]).map_err(|misfit| misfit.after(read))?;
            start = end;
        }
        if read == bytes.len() { Ok(()) } else { Err(Misfit::Length(read)) }
    }

    /// Reads as many as there are from their low bytes, and high bytes of one part.
    pub(super) fn read_plain(&mut self, bytes: &[u8]) {
        let (narrow, wide) = bytes.split_at(self.narrow.len());
        self.narrow.copy_from_slice(narrow);
        join(wide, &mut self.wide);
    }
}

/// Why bytes are not the symbols that they should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// So many bytes belong there.
    Length(usize),
    /// No part begins with this byte.
    Way(u8),
}

impl Misfit {
    /// The same behind `bytes` that fit.
    fn after(self, bytes: usize) -> Self {
        match self {
            Self::Length(due) => Self::Length(bytes + due),
            way @ Self::Way(_) => way,
        }
    }
}

/// A symbol of 8 or 16 bits.
trait Symbol: Copy {
    const BYTES: usize;
    fn of_bytes(low: u8, high: u8) -> Self;
    fn low(self) -> u8;
    fn high(self) -> u8;
    /// It, or [`LARGE`].
    fn nibble(self) -> u8;
}

impl Symbol for u8 {
    const BYTES: usize = 1;
    fn of_bytes(low: u8, _: u8) -> Self {
        low
    }
    fn low(self) -> u8 {
        self
    }
    fn high(self) -> u8 {
        0
    }
    fn nibble(self) -> u8 {
        self.min(LARGE)
    }
}

impl Symbol for u16 {
    const BYTES: usize = 2;
    fn of_bytes(low: u8, high: u8) -> Self {
        Self::from_le_bytes([low, high])
    }
    fn low(self) -> u8 {
        self as u8
    }
    fn high(self) -> u8 {
        (self >> 8) as u8
    }
    fn nibble(self) -> u8 {
        self.min(u16::from(LARGE)) as u8
    }
}

fn write_part<S: Symbol>(symbols: &[S], bytes: &mut Vec<u8>, kinds: &mut Vec<usize>) {
    if symbols.is_empty() {
        return;
    }
    kinds.push(bytes.len());
    let large = symbols.iter().filter(|symbol| symbol.nibble() == LARGE).count();
    if PER_LARGE * large > symbols.len() {
        bytes.push(PLAIN);
        return split(symbols, bytes);
    }
    bytes.push(PACKED);
    let (pairs, last) = symbols.as_chunks::<2>();
    bytes.extend(pairs.iter().map(|[one, other]| one.nibble() | other.nibble() << 4));
    bytes.extend(last.iter().map(|symbol| symbol.nibble()));
    kinds.push(bytes.len());
    let large: Vec<S> = symbols.iter().copied().filter(|symbol| symbol.nibble() == LARGE).collect();
    split(&large, bytes);
}

/// Reads as many as there are from the beginning of `bytes`, and tells how many bytes that took.
fn read_part<S: Symbol>(bytes: &[u8], symbols: &mut [S]) -> Result<usize, Misfit> {
    if symbols.is_empty() {
        return Ok(0);
    }
    let (&way, bytes) = bytes.split_first().ok_or(Misfit::Length(1))?;
    let read = match way {
        PLAIN => read_plain_part(bytes, symbols),
        PACKED => read_packed_part(bytes, symbols),
        way => Err(Misfit::Way(way)),
    };
    Ok(1 + read.map_err(|misfit| misfit.after(1))?)
}

fn read_plain_part<S: Symbol>(bytes: &[u8], symbols: &mut [S]) -> Result<usize, Misfit> {
    let plain = S::BYTES * symbols.len();
    join(bytes.get(..plain).ok_or(Misfit::Length(plain))?, symbols);
    Ok(plain)
}

fn read_packed_part<S: Symbol>(bytes: &[u8], symbols: &mut [S]) -> Result<usize, Misfit> {
    let nibbles = symbols.len().div_ceil(2);
    let (packed, bytes) = bytes.split_at_checked(nibbles).ok_or(Misfit::Length(nibbles))?;
    let (pairs, last) = symbols.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(packed) {
        *pair = [S::of_bytes(byte & LARGE, 0), S::of_bytes(byte >> 4, 0)];
    }
    last.iter_mut().for_each(|symbol| *symbol = S::of_bytes(packed[nibbles - 1] & LARGE, 0));
    let large = symbols.iter().filter(|symbol| symbol.nibble() == LARGE).count();
    let whole = bytes.get(..S::BYTES * large).ok_or(Misfit::Length(nibbles + S::BYTES * large))?;
    let (low, high) = whole.split_at(large);
    for (i, symbol) in symbols.iter_mut().filter(|symbol| symbol.nibble() == LARGE).enumerate() {
        *symbol = S::of_bytes(low[i], high.get(i).copied().unwrap_or(0));
    }
    Ok(nibbles + whole.len())
}

/// Appends all low bytes, then all high bytes.
fn split<S: Symbol>(symbols: &[S], bytes: &mut Vec<u8>) {
    bytes.extend(symbols.iter().map(|symbol| symbol.low()));
    if S::BYTES > 1 {
        bytes.extend(symbols.iter().map(|symbol| symbol.high()));
    }
}

fn join<S: Symbol>(bytes: &[u8], symbols: &mut [S]) {
    let (low, high) = bytes.split_at(symbols.len());
    if S::BYTES > 1 {
        symbols.iter_mut().zip(low).zip(high).for_each(|((symbol, low), high)| *symbol = S::of_bytes(*low, *high));
    } else {
        symbols.iter_mut().zip(low).for_each(|(symbol, low)| *symbol = S::of_bytes(*low, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn written(narrow: &[u8], wide: &[&[u16]]) -> (Vec<u8>, Vec<usize>) {
        let mut symbols = Symbols { narrow: narrow.to_vec(), ..Symbols::default() };
        for part in wide {
            symbols.wide.extend_from_slice(part);
            symbols.end_part();
        }
        let (mut bytes, mut kinds) = (vec![1, 2, 3], vec![4]);
        symbols.write(&mut bytes, &mut kinds);
        assert!(bytes.len() <= symbols.most_bytes());
        (bytes, kinds)
    }

    fn read(bytes: &[u8], narrow: usize, wide: &[usize]) -> Result<(Vec<u8>, Vec<u16>), Misfit> {
        let mut symbols = Symbols::default();
        symbols.resize(narrow, wide);
        symbols.read(bytes).map(|()| (symbols.narrow, symbols.wide))
    }

    #[test]
    fn symbols_come_back_whatever_they_are() {
        let mut random = Random::new(7);
        for (narrow, wide) in [(0, 0), (1, 0), (0, 1), (3, 2), (17, 0), (0, 64), (301, 300)] {
            // From none that is large to all.
            for bits in [1, 4, 5, 8, 16] {
                let symbol = |random: &mut Random| random.next_u32() & ((1 << bits) - 1);
                let narrow: Vec<u8> = (0..narrow).map(|_| symbol(&mut random) as u8).collect();
                let wide: Vec<u16> = (0..wide).map(|_| symbol(&mut random) as u16).collect();
                let (one, other) = wide.split_at(wide.len() / 3);
                let (bytes, _) = written(&narrow, &[one, other]);
                assert_eq!(read(&bytes, narrow.len(), &[one.len(), other.len()]), Ok((narrow, wide)));
            }
        }
    }

    #[test]
    fn small_symbols_are_nibbles_and_large_ones_follow() {
        let narrow = [1, 2, 3, 0, 200, 14, 0, 0, 0];
        let wide: [&[u16]; 2] = [&[4, 0x0102, 5, 0, 0, 0, 0, 0], &[7, 300]];
        let (bytes, kinds) = written(&narrow, &wide);
        assert_eq!(bytes, [1, 0x21, 0x03, 0xef, 0, 0, 200, 1, 0xf4, 5, 0, 0, 2, 1, 0, 7, 44, 0, 1]);
        assert_eq!(kinds, [0, 6, 7, 12, 14]);
    }

    #[test]
    fn other_numbers_of_bytes_are_refused() {
        let (bytes, _) = written(&[1, 2, 3, 0, 200, 14, 0, 0], &[&[300]]);
        assert_eq!(read(&[], 8, &[1]), Err(Misfit::Length(1)));
        assert_eq!(read(&bytes[..4], 8, &[1]), Err(Misfit::Length(5)));
        assert_eq!(read(&bytes[..5], 8, &[1]), Err(Misfit::Length(6)));
        assert_eq!(read(&bytes[..6], 8, &[1]), Err(Misfit::Length(7)));
        assert_eq!(read(&bytes[..8], 8, &[1]), Err(Misfit::Length(9)));
        assert_eq!(read(&[bytes, vec![0]].concat(), 8, &[1]), Err(Misfit::Length(9)));
    }

    #[test]
    fn parts_that_are_written_in_no_known_way_are_refused() {
        let (mut bytes, _) = written(&[200, 201], &[&[300]]);
        let wide = 3;
        assert_eq!([bytes[0], bytes[wide]], [PLAIN, PLAIN]);
        bytes[wide] = 2;
        assert_eq!(read(&bytes, 2, &[1]), Err(Misfit::Way(2)));
        bytes[0] = 255;
        assert_eq!(read(&bytes, 2, &[1]), Err(Misfit::Way(255)));
    }
}
