//! What all PEs do together, made of messages between two.
//!
//! All PEs make the same calls in the same order, and messages of one sender keep their order: one tag serves for all calls.
//! Who leaves in the middle fails the PEs that wait for it, and so on along the chain; who is lost fails all at once.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::{Comm, CommError, WireTag};

const COLLECTIVE: WireTag = 256;
/// Where parts are put together: the first.
const ROOT: usize = 0;
/// How often a wait looks whether some other PE was lost.
const LOOK: Duration = Duration::from_millis(200);

impl Comm {
    /// Waits until all PEs are here (dissemination: Hensgen, Finkel & Manber 1988).
    ///
    /// # Errors
    /// [`CommError`] if a PE is gone.
    pub fn barrier(&self) -> Result<(), CommError> {
        let _alone = self.alone();
        let mut distance = 1;
        while distance < self.size {
            self.post((self.rank + distance) % self.size, COLLECTIVE, Vec::new())?;
            self.take_together((self.rank + self.size - distance) % self.size)?;
            distance *= 2;
        }
        Ok(())
    }

    /// Brings the bytes of all PEs to all PEs, by rank; [`MAX_MESSAGE_BYTES`](crate::MAX_MESSAGE_BYTES) in all.
    ///
    /// # Errors
    /// [`CommError`] if a PE is gone, or all together is too large.
    pub fn all_gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, CommError> {
        let _alone = self.alone();
        let together = self.bring(bytes)?.map(|parts| join(&parts)).unwrap_or_default();
        let together = self.pass_on(together)?;
        split(&together, self.size).ok_or(CommError::OutOfStep { rank: ROOT })
    }

    fn alone(&self) -> impl Drop + '_ {
        self.collective.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of all PEs, by rank; the others than the root get nothing.
    fn bring(&self, bytes: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        if self.rank != ROOT {
            return self.post(ROOT, COLLECTIVE, bytes).map(|()| None);
        }
        let others = (1..self.size).map(|rank| self.take_together(rank));
        std::iter::once(Ok(bytes)).chain(others).collect::<Result<_, _>>().map(Some)
    }

    /// What the root gave, whatever the others did (binomial tree).
    fn pass_on(&self, bytes: Vec<u8>) -> Result<Vec<u8>, CommError> {
        let (parent, children) = place_in_tree(self.rank, self.size);
        let bytes = match parent {
            Some(parent) => self.take_together(parent)?,
            None => bytes,
        };
        for child in children {
            self.post(child, COLLECTIVE, bytes.clone())?;
        }
        Ok(bytes)
    }

    fn take_together(&self, from: usize) -> Result<Vec<u8>, CommError> {
        loop {
            if let Some(bytes) = self.inbox.take(from, COLLECTIVE, Some(Instant::now() + LOOK))? {
                return Ok(bytes);
            }
            if let Some(lost) = self.inbox.lost() {
                return Err(lost);
            }
        }
    }
}

/// Parent and children of a place in the binomial tree over `size` places with its root at 0: children are farther by powers of two
/// below the place's lowest set bit.
fn place_in_tree(place: usize, size: usize) -> (Option<usize>, Vec<usize>) {
    let lowest = if place == 0 { size.next_power_of_two() } else { place & place.wrapping_neg() };
    let parent = (place > 0).then(|| place - lowest);
    let steps = std::iter::successors(Some(lowest / 2), |step| Some(step / 2)).take_while(|step| *step > 0);
    (parent, steps.map(|step| place + step).filter(|child| *child < size).collect())
}

fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut together = Vec::with_capacity(parts.iter().map(|part| 8 + part.len()).sum());
    for part in parts {
        together.extend_from_slice(&(part.len() as u64).to_le_bytes());
        together.extend_from_slice(part);
    }
    together
}

fn split(mut together: &[u8], parts: usize) -> Option<Vec<Vec<u8>>> {
    let part = |_| {
        let (length, rest) = together.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        together = rest;
        Some(part.to_vec())
    };
    (0..parts).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_reaches_every_place_once_from_its_parent() {
        for size in 1..40 {
            let mut reached = vec![0; size];
            for place in 0..size {
                for child in place_in_tree(place, size).1 {
                    reached[child] += 1;
                    assert_eq!(place_in_tree(child, size).0, Some(place), "{size}");
                }
            }
            assert_eq!(reached[0], 0);
            assert!(reached[1..].iter().all(|times| *times == 1), "{size}: {reached:?}");
        }
    }

    #[test]
    fn parts_joined_split_into_the_same_parts_and_damaged_ones_into_none() {
        let parts = vec![vec![1, 2, 3], vec![], vec![4]];
        let together = join(&parts);
        assert_eq!(split(&together, 3), Some(parts));
        assert_eq!(split(&together[..together.len() - 1], 3), None);
        assert_eq!(split(&[0xff; 16], 1), None);
    }
}
