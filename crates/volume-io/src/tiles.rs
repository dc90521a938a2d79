//! Reads arrays that are stored in tiles: tiles are decoded by all threads, then put in place by all threads.
//!
//! Invariant: decoded tiles that wait for their place hold `WAITING_VALUES`, or one tile where a tile is larger.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rayon::prelude::*;
use visapult_volume::Box3;

use crate::SourceError;

/// Decoded values that may wait for their place: 16 MiB of `f32`.
const WAITING_VALUES: usize = 1 << 22;

/// The parts of `bounds` in each tile of a lattice of tiles of `edge` samples, x fastest.
pub(crate) fn covering(bounds: &Box3, edge: [usize; 3]) -> Vec<Box3> {
    let cells = |axis: usize| {
        let (lo, hi) = (bounds.lo[axis], bounds.hi[axis]);
        (lo / edge[axis]..hi.div_ceil(edge[axis]))
            .map(move |cell| ((cell * edge[axis]).max(lo), (cell * edge[axis]).saturating_add(edge[axis]).min(hi)))
            .collect::<Vec<_>>()
    };
    let [xs, ys, zs] = [cells(0), cells(1), cells(2)];
    let mut tiles = Vec::with_capacity(xs.len() * ys.len() * zs.len());
    for z in &zs {
        for y in &ys {
            tiles.extend(xs.iter().map(|x| Box3::new([x.0, y.0, z.0], [x.1, y.1, z.1])));
        }
    }
    tiles.retain(|tile| !tile.is_empty());
    tiles
}

/// Boxes of whole grains that `bounds` is made in piece by piece, of at most so many samples where one grain is not more.
pub(crate) fn pieces(bounds: &Box3, grain: [usize; 3], most: usize) -> Vec<Box3> {
    let size = bounds.size();
    let mut held = 1;
    let edge = std::array::from_fn(|axis| {
        let edge = (most / held / grain[axis]).max(1).saturating_mul(grain[axis]);
        held *= edge.min(size[axis]).max(1);
        edge
    });
    let first: [usize; 3] = std::array::from_fn(|axis| bounds.lo[axis] / grain[axis] * grain[axis]);
    let moved = |at: [usize; 3], by: fn(usize, usize) -> usize| std::array::from_fn(|axis| by(at[axis], first[axis]));
    let from_first = Box3::new(moved(bounds.lo, std::ops::Sub::sub), moved(bounds.hi, std::ops::Sub::sub));
    let back = |piece: Box3| Box3::new(moved(piece.lo, std::ops::Add::add), moved(piece.hi, std::ops::Add::add));
    covering(&from_first, edge).into_iter().map(back).collect()
}

/// Fills `out` (`[z, y, x]` of `bounds`) from `tiles`, each decoded by `decode` into `[z, y, x]` of itself.
pub(crate) fn read_tiles(
    tiles: &[Box3],
    bounds: &Box3,
    out: &mut [f32],
    decode: impl Fn(&Box3, &mut [f32]) -> Result<(), SourceError> + Sync,
) -> Result<(), SourceError> {
    read_each(tiles, bounds, out, |index, out| decode(&tiles[index], out))
}

/// The same where tiles are known by their numbers. They may leave out samples of `bounds`, and overlap: then the later one counts.
pub(crate) fn read_each(
    tiles: &[Box3],
    bounds: &Box3,
    out: &mut [f32],
    decode: impl Fn(usize, &mut [f32]) -> Result<(), SourceError> + Sync,
) -> Result<(), SourceError> {
    let mut buffers: Vec<Vec<f32>> = Vec::new();
    let mut done = 0;
    while done < tiles.len() {
        let batch = &tiles[done..done + batch_length(&tiles[done..])];
        buffers.resize_with(batch.len().max(buffers.len()), Vec::new);
        batch.par_iter().zip(&mut buffers).enumerate().try_for_each(|(index, (tile, buffer))| {
            buffer.resize(tile.volume(), 0.0);
            decode(done + index, buffer)
        })?;
        place(batch, &buffers, bounds, out);
        done += batch.len();
    }
    Ok(())
}

/// The same where tiles come from far away: `fetches` of them are waited for at one time, on threads of their own, and put in place as they come.
pub(crate) fn fetch_tiles(
    tiles: &[Box3],
    fetches: usize,
    bounds: &Box3,
    out: &mut [f32],
    fetch: impl Fn(&Box3, &mut [f32]) -> Result<(), SourceError> + Sync,
) -> Result<(), SourceError> {
    let next = AtomicUsize::new(0);
    let outcome = Mutex::new(Ok(()));
    let out = Mutex::new(out);
    let work = || {
        let mut values = Vec::new();
        while let Some(tile) = tiles.get(next.fetch_add(1, Ordering::Relaxed)) {
            values.resize(tile.volume(), 0.0);
            match fetch(tile, &mut values) {
                Ok(()) => put(tile, &values, bounds, &mut out.lock().unwrap_or_else(PoisonError::into_inner)),
                Err(cause) => {
                    // Nobody begins another.
                    next.store(tiles.len(), Ordering::Relaxed);
                    *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Err(cause);
                    return;
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..fetches.min(tiles.len()) {
            // Who cannot have more threads waits longer.
            if thread::Builder::new().name("fetch".to_owned()).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn put(tile: &Box3, values: &[f32], bounds: &Box3, out: &mut [f32]) {
    let ([width, height, _], [nx, ny, _]) = (tile.size(), bounds.size());
    for (row, values) in values.chunks_exact(width).enumerate() {
        let [x, y, z] = std::array::from_fn(|axis| tile.lo[axis] - bounds.lo[axis]);
        let at = ((z + row / height) * ny + y + row % height) * nx + x;
        out[at..at + width].copy_from_slice(values);
    }
}

fn batch_length(tiles: &[Box3]) -> usize {
    let mut waiting = 0_usize;
    let fitting = tiles.iter().take_while(|tile| {
        waiting = waiting.saturating_add(tile.volume());
        waiting <= WAITING_VALUES
    });
    fitting.count().max(1)
}

fn place(tiles: &[Box3], buffers: &[Vec<f32>], bounds: &Box3, out: &mut [f32]) {
    let [nx, ny, _] = bounds.size();
    let lo = tiles.iter().map(|tile| tile.lo[2]).min().unwrap_or(bounds.lo[2]);
    let hi = tiles.iter().map(|tile| tile.hi[2]).max().unwrap_or(lo);
    let planes = &mut out[(lo - bounds.lo[2]) * nx * ny..(hi - bounds.lo[2]) * nx * ny];
    planes.par_chunks_mut(nx * ny).enumerate().for_each(|(index, plane)| {
        let z = lo + index;
        for (tile, values) in tiles.iter().zip(buffers).filter(|(tile, _)| tile.lo[2] <= z && z < tile.hi[2]) {
            let [width, height, _] = tile.size();
            let rows = &values[(z - tile.lo[2]) * width * height..][..width * height];
            for (y, row) in rows.chunks_exact(width).enumerate() {
                let at = (tile.lo[1] - bounds.lo[1] + y) * nx + tile.lo[0] - bounds.lo[0];
                plane[at..at + width].copy_from_slice(row);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_any_box_and_every_value_finds_its_place() {
        let bounds = Box3::new([3, 0, 5], [40, 33, 9]);
        let value = |x: usize, y: usize, z: usize| (x + 100 * y + 10_000 * z) as f32;
        for edge in [[16, 16, 16], [1, 7, 3], [usize::MAX, 5, 1], [4, usize::MAX, 100]] {
            let tiles = covering(&bounds, edge);
            assert_eq!(tiles.iter().map(Box3::volume).sum::<usize>(), bounds.volume());
            let mut out = vec![f32::NAN; bounds.volume()];
            let decode = |tile: &Box3, out: &mut [f32]| {
                let [nx, ny, _] = tile.size();
                for (i, v) in out.iter_mut().enumerate() {
                    *v = value(tile.lo[0] + i % nx, tile.lo[1] + i / nx % ny, tile.lo[2] + i / (nx * ny));
                }
                Ok(())
            };
            let right = |(i, v): (usize, &f32)| *v == value(3 + i % 37, i / 37 % 33, 5 + i / (37 * 33));
            read_tiles(&tiles, &bounds, &mut out, decode).unwrap();
            assert!(out.iter().enumerate().all(right), "{edge:?}");
            for fetches in [1, 7] {
                out.fill(f32::NAN);
                fetch_tiles(&tiles, fetches, &bounds, &mut out, decode).unwrap();
                assert!(out.iter().enumerate().all(right), "{edge:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_fetched_ends_it() {
        let bounds = Box3::of_size([8, 8, 8]);
        let fetched = AtomicUsize::new(0);
        let refuse = |_: &Box3, _: &mut [f32]| {
            fetched.fetch_add(1, Ordering::Relaxed);
            Err(SourceError::unsupported("it"))
        };
        assert!(fetch_tiles(&covering(&bounds, [1; 3]), 4, &bounds, &mut [0.0; 512], refuse).is_err());
        assert!(fetched.into_inner() <= 4);
    }

    #[test]
    fn an_empty_box_has_no_tiles() {
        assert!(covering(&Box3::new([4, 4, 4], [4, 9, 9]), [4, 4, 4]).is_empty());
    }

    #[test]
    fn pieces_are_whole_grains_and_few_samples() {
        let bounds = Box3::new([3, 2, 1], [103, 52, 41]);
        for (grain, most, due) in [
            ([1, 1, 1], 5000, 40),
            ([1, 1, 1], 1, 200_000),
            ([1000, 1000, 1], 20_000, 10),
            ([32, 32, 32], 1, 16),
            ([32, 32, 32], 1 << 20, 1),
        ] {
            let pieces = pieces(&bounds, grain, most);
            assert_eq!(pieces.iter().map(Box3::volume).sum::<usize>(), bounds.volume());
            assert_eq!(pieces.len(), due, "{grain:?}, {most}");
            let is_within = |piece: &Box3| {
                (0..3).all(|axis| piece.lo[axis] == bounds.lo[axis] || piece.lo[axis].is_multiple_of(grain[axis]))
            };
            assert!(pieces.iter().all(is_within));
        }
    }
}
