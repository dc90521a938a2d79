//! Decoded chunks that hold several steps, kept because the next step is in them, too.
//!
//! Invariants: what is kept of a source is bounded by [`MOST_BYTES`] and by the memory that is free when it is opened. Nobody waits for what another
//! thread decodes: two that want a chunk at once both decode it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lru::LruCache;

use crate::flat::Layout;
use crate::memory::free_bytes;
use crate::scalar::Encoding;
use crate::source::Together;

/// Bytes of a source that are kept at most, and of the free memory the part that may be.
const MOST_BYTES: u64 = 256 << 20;
const PART_OF_FREE: u64 = 16;

/// What is kept of the arrays of a source.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    most_bytes: OnceLock<usize>,
    arrays: AtomicUsize,
    kept: Mutex<Kept>,
}

/// Chunks that were used last.
#[derive(Debug)]
struct Kept {
    chunks: LruCache<(Row, [u64; 3]), Arc<Vec<u8>>>,
    bytes: usize,
}

/// Chunks side by side, which hold the same steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Row {
    array: usize,
    channel: u64,
    /// The number of the chunks along the steps.
    steps: u64,
}

/// The chunks of one array.
#[derive(Debug)]
pub(crate) struct Shelf {
    decoded: Arc<Decoded>,
    array: usize,
    /// Of a chunk.
    steps: u64,
    samples: usize,
    bytes: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { chunks: LruCache::unbounded(), bytes: 0 }
    }
}

impl Decoded {
    #[cfg(test)]
    fn of_bytes(most: usize) -> Arc<Self> {
        Arc::new(Self { most_bytes: most.into(), ..Self::default() })
    }

    /// For an array with chunks of so many samples and steps; `None` where nothing is gained, or one does not fit.
    pub(crate) fn shelf(self: &Arc<Self>, samples: usize, steps: u64, value_bytes: usize) -> Option<Shelf> {
        let bytes = usize::try_from(steps).ok()?.checked_mul(samples)?.checked_mul(value_bytes)?;
        let is_worth = steps > 1 && bytes > 0 && bytes <= self.most_bytes();
        let array = self.arrays.fetch_add(1, Ordering::Relaxed);
        is_worth.then(|| Shelf { decoded: Arc::clone(self), array, steps, samples, bytes })
    }

    fn most_bytes(&self) -> usize {
        *self.most_bytes.get_or_init(|| (free_bytes(1) / PART_OF_FREE).min(MOST_BYTES) as usize)
    }

    fn find(&self, row: Row, place: [u64; 3]) -> Option<Arc<Vec<u8>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.chunks.get(&(row, place)).map(Arc::clone)
    }

    /// Keeps a chunk in place of those of other rows that were not used for the longest. Those of its own stay: what is read step by step wants them all in
    /// turn, and has none twice if each drives out the next.
    fn keep(&self, row: Row, place: [u64; 3], chunk: &Arc<Vec<u8>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.chunks.contains(&(row, place)) {
            return;
        }
        while kept.bytes.saturating_add(chunk.len()) > self.most_bytes() {
            if kept.chunks.peek_lru().is_none_or(|((oldest, _), _)| *oldest == row) {
                return;
            }
            kept.bytes -= kept.chunks.pop_lru().map_or(0, |(_, chunk)| chunk.len());
        }
        kept.bytes += chunk.len();
        kept.chunks.put((row, place), Arc::clone(chunk));
    }
}

impl Shelf {
    /// A chunk by its number along the steps, z, y and x, decoded now unless it is kept.
    pub(crate) fn chunk<E>(
        &self,
        channel: u64,
        [steps, z, y, x]: [u64; 4],
        decode: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Arc<Vec<u8>>, E> {
        let (row, place) = (Row { array: self.array, channel, steps }, [z, y, x]);
        if let Some(chunk) = self.decoded.find(row, place) {
            return Ok(chunk);
        }
        let chunk = Arc::new(decode()?);
        self.decoded.keep(row, place, &chunk);
        Ok(chunk)
    }

    /// The steps that are decoded together.
    pub(crate) fn together(&self) -> Together {
        Together { steps: self.steps, samples: (self.decoded.most_bytes() / self.bytes).saturating_mul(self.samples) }
    }
}

/// What is decoded together where chunks of so many steps may be kept.
pub(crate) fn together(shelf: Option<&Shelf>, steps: u64) -> Together {
    let none_kept = || if steps > 1 { Together { steps, samples: 0 } } else { Together::ALONE };
    shelf.map_or_else(none_kept, Shelf::together)
}

/// The values in a box of `size` samples from `first` on, out of a decoded chunk that lies so, of the step and channel that begin at `start`.
pub(crate) fn cut_out(
    encoding: &Encoding,
    chunk: &[u8],
    layout: &Layout,
    start: u64,
    first: [usize; 3],
    [nx, ny, _]: [usize; 3],
    out: &mut [f32],
) {
    let (width, apart) = (encoding.bytes(), layout.strides[0] as usize);
    let mut bytes = vec![0; if apart == 1 { 0 } else { nx * width }];
    for (row, out) in out.chunks_exact_mut(nx).enumerate() {
        let at = (start + layout.place([first[0], first[1] + row % ny, first[2] + row / ny])) as usize;
        if apart == 1 {
            encoding.decode(&chunk[at * width..(at + nx) * width], out);
            continue;
        }
        match width {
            1 => gather::<1>(chunk, at, apart, &mut bytes),
            2 => gather::<2>(chunk, at, apart, &mut bytes),
            4 => gather::<4>(chunk, at, apart, &mut bytes),
            _ => gather::<8>(chunk, at, apart, &mut bytes),
        }
        encoding.decode(&bytes, out);
    }
}

/// Fills `row` with values that lie `apart` from each other.
fn gather<const WIDTH: usize>(chunk: &[u8], first: usize, apart: usize, row: &mut [u8]) {
    let (values, _) = chunk.as_chunks::<WIDTH>();
    let (row, _) = row.as_chunks_mut::<WIDTH>();
    row.iter_mut().zip(values[first..].iter().step_by(apart)).for_each(|(to, from)| *to = *from);
}

#[cfg(test)]
mod tests {
    use visapult_volume::ScalarType;

    use super::*;
    use crate::roles::Role;
    use crate::scalar::ByteOrder;

    /// How many of so many chunks of a row are decoded, when each is wanted in turn.
    fn decoded(shelf: &Shelf, row: u64, chunks: u64) -> usize {
        let mut count = 0;
        for x in 0..chunks {
            let decode = || {
                count += 1;
                Ok::<_, ()>(vec![x as u8; shelf.bytes])
            };
            assert_eq!(shelf.chunk(0, [row, 0, 0, x], decode).unwrap()[0], x as u8);
        }
        count
    }

    #[test]
    fn a_row_that_fits_is_decoded_once_and_gives_way_to_the_next() {
        let of_source = Decoded::of_bytes(100);
        let shelf = of_source.shelf(5, 2, 1).unwrap();
        assert_eq!(shelf.together(), Together { steps: 2, samples: 50 });
        assert_eq!([0, 0, 1, 1, 0].map(|row| decoded(&shelf, row, 10)), [10, 0, 10, 0, 10]);
        // Another array takes the room of what was not used for the longest, and no more.
        let other = of_source.shelf(10, 2, 1).unwrap();
        assert_eq!([decoded(&other, 0, 2), decoded(&shelf, 0, 10), decoded(&other, 0, 2)], [2, 4, 0]);
    }

    #[test]
    fn of_a_row_that_does_not_fit_as_much_as_fits_is_decoded_once() {
        let shelf = Decoded::of_bytes(100).shelf(5, 2, 1).unwrap();
        assert_eq!([0; 3].map(|row| decoded(&shelf, row, 15)), [15, 5, 5]);
        assert!(shelf.decoded.kept.lock().unwrap().bytes <= 100);
    }

    #[test]
    fn what_holds_one_step_or_too_much_is_not_kept() {
        let of_source = Decoded::of_bytes(100);
        assert!(of_source.shelf(50, 1, 1).is_none());
        assert!(of_source.shelf(50, 2, 2).is_none());
        assert!(of_source.shelf(usize::MAX, u64::MAX, 8).is_none());
        assert_eq!(together(None, 1), Together::ALONE);
        assert_eq!(together(None, 7), Together { steps: 7, samples: 0 });
    }

    #[test]
    fn a_box_of_a_step_and_channel_is_cut_out_of_any_order_and_width() {
        let (size, steps) = ([3, 4, 5], 2);
        let space = [Role::Space(2), Role::Space(1), Role::Space(0)];
        let x_first = [&[Role::Step, Role::Channel][..], &space].concat();
        let channels_first = [&[Role::Step][..], &space, &[Role::Channel]].concat();
        let orders = [x_first.clone(), channels_first, x_first.into_iter().rev().collect()];
        for (scalar, roles) in [ScalarType::U8, ScalarType::I16, ScalarType::F32, ScalarType::F64]
            .into_iter()
            .flat_map(|scalar| orders.iter().map(move |roles| (scalar, roles)))
        {
            let layout = Layout::in_order(size, steps, 2, roles).unwrap();
            let values = 0..240_u8;
            let chunk: Vec<u8> = match scalar {
                ScalarType::U8 => values.collect(),
                ScalarType::I16 => values.flat_map(|value| i16::from(value).to_ne_bytes()).collect(),
                ScalarType::F32 => values.flat_map(|value| f32::from(value).to_ne_bytes()).collect(),
                _ => values.flat_map(|value| f64::from(value).to_ne_bytes()).collect(),
            };
            let mut out = [0.0; 12];
            let encoding = Encoding::plain(scalar, ByteOrder::NATIVE);
            let start = layout.start(1, 1);
            cut_out(&encoding, &chunk, &layout, start, [1, 2, 0], [2, 2, 3], &mut out);
            let wanted = (0..12).map(|i| (start + layout.place([1 + i % 2, 2 + i / 2 % 2, i / 4])) as f32);
            assert!(out.into_iter().eq(wanted), "{scalar:?}, {roles:?}");
        }
    }
}
