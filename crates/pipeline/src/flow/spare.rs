//! Memory of steps that are not kept any more, which serves others: fresh memory costs more to touch than to fill.
//!
//! Invariant: no memory is given that somebody still has.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use visapult_ripp_net::{MemorySink, NoMemory};

use super::received::ReceivedStep;

/// Bytes of memory that are worth a thread to touch them.
const WORTH_TOUCHING: usize = 1 << 20;
/// Steps whose memory is kept to be used again: that of the latest may still be looked at.
const SPARE_STEPS: usize = 2;

/// Memory that is there for further steps.
#[derive(Debug, Default)]
pub(super) struct SpareMemory {
    /// By step, the oldest first.
    steps: VecDeque<Vec<Arc<MemorySink>>>,
    /// What was not touched yet.
    fresh: Vec<Arc<MemorySink>>,
}

impl SpareMemory {
    /// Memory of `length` bytes that nobody else has.
    ///
    /// # Errors
    /// If there is not so much.
    pub(super) fn take(&mut self, length: usize) -> Result<Arc<MemorySink>, NoMemory> {
        let is_free = |memory: &Arc<MemorySink>| memory.length() == length && Arc::strong_count(memory) == 1;
        for step in &mut self.steps {
            if let Some(free) = step.iter().position(is_free) {
                return Ok(step.swap_remove(free));
            }
        }
        let memory = Arc::new(MemorySink::untouched(length)?);
        self.fresh.push(Arc::clone(&memory));
        Ok(memory)
    }

    /// Touches what is fresh, beside its filling: no page is missing then when most of the data comes.
    pub(super) fn touch(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        if fresh.iter().any(|memory| memory.length() >= WORTH_TOUCHING) {
            let touch = move || fresh.iter().for_each(|memory| memory.touch());
            // Without a thread, whoever fills it touches it.
            let _ = thread::Builder::new().name("flow-touch".to_owned()).spawn(touch);
        }
    }

    /// Keeps the memory of a step, in place of that of earlier ones.
    pub(super) fn keep(&mut self, step: &ReceivedStep) {
        let memory = step.fields.values().flatten().map(|buffer| Arc::clone(&buffer.memory)).collect();
        self.steps.push_back(memory);
        let excess = self.steps.len().saturating_sub(SPARE_STEPS);
        self.steps.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use visapult_volume::Box3;

    use super::super::received::PeBuffer;
    use super::*;

    #[test]
    fn memory_serves_another_step_once_nobody_has_it() {
        let (length, stored) = (96, Box3::of_size([4, 2, 3]));
        let memory = Arc::new(MemorySink::try_new(length).unwrap());
        let kept = Arc::as_ptr(&memory);
        let fields = BTreeMap::from([(0, vec![PeBuffer { stored, memory }])]);
        let step = ReceivedStep {
            step: 6,
            time: None,
            fields,
            bytes: 96,
            fresh_bytes: 96,
            missing: Vec::new(),
            at: Instant::now(),
        };
        let mut spare = SpareMemory::default();
        spare.keep(&step);
        assert_ne!(Arc::as_ptr(&spare.take(length).unwrap()), kept);
        drop(step);
        assert_ne!(Arc::as_ptr(&spare.take(length + 4).unwrap()), kept);
        let again = spare.take(length).unwrap();
        assert_eq!(Arc::as_ptr(&again), kept);
        assert_ne!(Arc::as_ptr(&spare.take(length).unwrap()), kept);
    }
}
