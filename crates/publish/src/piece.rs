//! A piece: the samples that a rank's block and a PE's box share, as float32 in `[z, y, x]` order, little endian.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use visapult_ripp_net::{MemorySink, Sink, Source};
use visapult_volume::Box3;

use crate::stamp::Stamp;

/// The transport's flow that pieces travel in.
pub const PIECES: &str = "pieces";

const VALUE: usize = size_of::<f32>();

/// Where the bytes of a piece lie in a box that contains it.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Bytes that follow each other in both.
    run: usize,
    runs: usize,
    /// Runs in a plane of the piece.
    runs_in_plane: usize,
    /// Bytes from the start of the box to the piece's first value, from one run to the next, and from one plane to the next.
    first: usize,
    next_run: usize,
    next_plane: usize,
}

impl Rows {
    /// `piece` lies inside `within`.
    pub fn new(piece: &Box3, within: &Box3) -> Self {
        let ([nx, ny, nz], [wx, wy, _]) = (piece.size(), within.size());
        let [dx, dy, dz]: [usize; 3] = std::array::from_fn(|axis| piece.lo[axis] - within.lo[axis]);
        let (row, plane) = (wx * VALUE, wx * wy * VALUE);
        let first = dz * plane + dy * row + dx * VALUE;
        let (run, runs_in_plane, planes) = match (nx == wx, ny == wy) {
            (true, true) => (nx * ny * nz * VALUE, 1, 1),
            (true, false) => (nx * ny * VALUE, 1, nz),
            (false, _) => (nx * VALUE, ny, nz),
        };
        Self { run, runs: runs_in_plane * planes, runs_in_plane, first, next_run: row, next_plane: plane }
    }

    /// Bytes of the piece.
    pub const fn bytes(&self) -> usize {
        self.run * self.runs
    }

    /// Calls `each` with the place in the box, and the place in a buffer of `length` bytes that begins at `offset` of the piece.
    ///
    /// # Errors
    /// If the buffer leaves the piece, or `each` says so.
    pub fn each(
        &self,
        offset: u64,
        length: usize,
        mut each: impl FnMut(usize, Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        if start.checked_add(length).is_none_or(|end| end > self.bytes()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "beyond the end of the piece"));
        }
        let mut done = 0;
        while done < length {
            let (run, into) = ((start + done) / self.run, (start + done) % self.run);
            let part = (self.run - into).min(length - done);
            let (plane, row) = (run / self.runs_in_plane, run % self.runs_in_plane);
            each(self.first + plane * self.next_plane + row * self.next_run + into, done..done + part)?;
            done += part;
        }
        Ok(())
    }
}

/// A piece to be sent: read from the block that was published, again where it was lost.
pub(crate) struct PieceSource {
    rows: Rows,
    values: Arc<Vec<f32>>,
    stamp: Option<Stamp>,
}

impl PieceSource {
    /// `values` are those of `block`, which contains `piece`.
    pub(crate) fn new(piece: &Box3, block: &Box3, values: Arc<Vec<f32>>, stamp: Option<Stamp>) -> Self {
        Self { rows: Rows::new(piece, block), values, stamp }
    }
}

impl Source for PieceSource {
    fn length(&self) -> u64 {
        self.rows.bytes() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if let Some(stamp) = &self.stamp {
            stamp.touch(into.len());
        }
        let bytes: &[u8] = bytemuck::cast_slice(&self.values);
        self.rows.each(offset, into.len(), |at, part| {
            let length = part.len();
            into[part].copy_from_slice(&bytes[at..at + length]);
            Ok(())
        })
    }
}

/// A piece being received: every byte goes to its place in the PE's buffer at once.
pub struct PieceSink {
    rows: Rows,
    buffer: Arc<MemorySink>,
    stamp: Option<Stamp>,
}

impl PieceSink {
    /// `buffer` holds `stored`, which contains `piece`.
    pub fn new(piece: &Box3, stored: &Box3, buffer: Arc<MemorySink>) -> Self {
        Self { rows: Rows::new(piece, stored), buffer, stamp: None }
    }

    /// The same, with its way stamped.
    pub fn stamped(self, stamp: Option<Stamp>) -> Self {
        Self { stamp, ..self }
    }
}

impl Sink for PieceSink {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(stamp) = &self.stamp {
            stamp.touch(bytes.len());
        }
        self.rows.each(offset, bytes.len(), |at, part| self.buffer.write_at(at as u64, &bytes[part]))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.rows.each(offset, into.len(), |at, part| self.buffer.read_at(at as u64, &mut into[part]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value says where it is.
    fn block(bounds: &Box3) -> Arc<Vec<f32>> {
        let [nx, ny, _] = bounds.size();
        let value = |i: usize| {
            let [x, y, z] = [bounds.lo[0] + i % nx, bounds.lo[1] + i / nx % ny, bounds.lo[2] + i / (nx * ny)];
            (x + 100 * y + 10_000 * z) as f32
        };
        Arc::new((0..bounds.volume()).map(value).collect())
    }

    #[test]
    fn pieces_sent_in_odd_parts_arrive_where_they_belong() {
        let whole = Box3::of_size([9, 7, 5]);
        let blocks = [Box3::new([0, 0, 0], [4, 7, 5]), Box3::new([4, 0, 0], [9, 7, 5])];
        for stored in
            [whole, Box3::new([2, 1, 1], [7, 6, 4]), Box3::new([0, 0, 2], [9, 7, 3]), Box3::new([3, 0, 0], [5, 7, 5])]
        {
            let buffer = Arc::new(MemorySink::new(stored.volume() * VALUE));
            for own in &blocks {
                let Some(piece) = own.intersection(&stored) else { continue };
                let source = PieceSource::new(&piece, own, block(own), None);
                let sink = PieceSink::new(&piece, &stored, Arc::clone(&buffer));
                let mut at = 0;
                while at < source.length() {
                    let mut part = vec![0; 13.min((source.length() - at) as usize)];
                    source.read_at(at, &mut part).unwrap();
                    sink.write_at(at, &part).unwrap();
                    at += part.len() as u64;
                }
                let mut again = vec![0; piece.volume() * VALUE];
                sink.read_at(0, &mut again).unwrap();
                let mut sent = vec![0; piece.volume() * VALUE];
                source.read_at(0, &mut sent).unwrap();
                assert_eq!(again, sent);
            }
            let mut got = vec![0.0_f32; stored.volume()];
            buffer.read_at(0, bytemuck::cast_slice_mut(&mut got)).unwrap();
            assert_eq!(got, *block(&stored), "{stored}");
        }
    }

    #[test]
    fn nothing_lies_beyond_the_end() {
        let whole = Box3::of_size([3, 3, 3]);
        let source = PieceSource::new(&whole, &whole, block(&whole), None);
        assert!(source.read_at(100, &mut [0; 9]).is_err());
        assert!(source.read_at(u64::MAX, &mut [0; 9]).is_err());
    }
}
