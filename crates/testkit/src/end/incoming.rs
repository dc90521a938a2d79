//! The objects that an end receives: where their bytes go, and whether those are right.

use std::collections::HashMap;

use fastrand::Rng;
use visapult_ripp::inbox::Refusal;
use visapult_ripp::receiving::{ReceiveEvent, Receiving};
use visapult_ripp::wire::DataHeader;

use super::Trouble;
use super::outgoing::contents;
use crate::draw::{MS, chance};
use crate::schedule::EndPlan;

/// The largest object that is accepted.
const MOST_LENGTH: u64 = 16 << 20;
/// Most bytes in all objects being received.
const MOST_BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Incoming {
    rng: Rng,
    seed: u64,
    from: usize,
    moods: (f64, f64),
    buffers: HashMap<u32, Vec<u8>>,
    buffered: u64,
    /// Objects that wait for the end to accept them: when, and their lengths.
    waiting: Vec<(u64, u32, u64)>,
    verified: (usize, u64),
    written: u64,
}

impl Incoming {
    pub(super) fn new(rng: Rng, seed: u64, from: usize, plan: &EndPlan) -> Self {
        Self {
            rng,
            seed,
            from,
            moods: plan.moods,
            buffers: HashMap::new(),
            buffered: 0,
            waiting: Vec::new(),
            verified: (0, 0),
            written: 0,
        }
    }

    pub(super) fn accept_due(&mut self, world: u64, receiving: &mut Receiving) -> Result<(), Trouble> {
        let waiting = std::mem::take(&mut self.waiting);
        for (at, object, length) in waiting {
            if at <= world {
                self.accept(object, length, receiving)?;
            } else {
                self.waiting.push((at, object, length));
            }
        }
        Ok(())
    }

    pub(super) fn next_due(&self) -> u64 {
        self.waiting.iter().map(|&(at, ..)| at).min().unwrap_or(u64::MAX)
    }

    pub(super) fn verified(&self) -> (usize, u64) {
        self.verified
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn describe(&self, receiving: &Receiving) -> String {
        self.buffers.keys().map(|&object| format!("({object}, {:?})", receiving.progress(object))).collect()
    }

    /// Writes what is new of a region to its place.
    pub(super) fn place(
        &mut self,
        header: &DataHeader,
        payload: &[u8],
        receiving: &mut Receiving,
    ) -> Result<Result<(), Refusal>, Trouble> {
        let Some(object) = receiving.object_of(header.object_low) else { return Ok(Err(Refusal::Unknown)) };
        self.place_at(object, header.offset, payload, receiving)
    }

    fn place_at(
        &mut self,
        object: u32,
        offset: u64,
        payload: &[u8],
        receiving: &mut Receiving,
    ) -> Result<Result<(), Refusal>, Trouble> {
        let mut runs = Vec::new();
        let length = payload.len() as u64;
        if let Err(refusal) = receiving.claim(object, offset, length, |from, to| runs.push((from, to))) {
            return Ok(Err(refusal));
        }
        let Some(buffer) = self.buffers.get_mut(&object) else {
            return Err(Trouble::Broken(format!("bytes claimed of object {object}, which has no place")));
        };
        let mut written = 0;
        for (from, to) in runs {
            let source = (from - offset) as usize..(to - offset) as usize;
            buffer[from as usize..to as usize].copy_from_slice(&payload[source]);
            written += to - from;
        }
        self.written += written;
        receiving.written(object, written);
        Ok(Ok(()))
    }

    pub(super) fn on_event(
        &mut self,
        world: u64,
        event: ReceiveEvent,
        receiving: &mut Receiving,
        trusts: bool,
    ) -> Result<(), Trouble> {
        match event {
            ReceiveEvent::Offered { object, length, .. } => self.on_offer(world, object, length, receiving)?,
            ReceiveEvent::Whole { object, digest } => {
                let Some(buffer) = self.close(object) else { return Ok(()) };
                let fault = digest.is_some_and(|digest| blake3::hash(&buffer).to_hex().as_str() != digest);
                if trusts {
                    self.compare(object, &buffer, &[])?;
                }
                self.verified.0 += 1;
                let length = buffer.len() as u64;
                receiving.finish(object, length, fault.then(|| "the digest differs".to_owned()));
            }
            ReceiveEvent::Ended { object, holes } => {
                let Some(buffer) = self.close(object) else { return Ok(()) };
                if trusts {
                    self.compare(object, &buffer, &holes)?;
                }
                let missing: u64 = holes.iter().map(|(from, to)| to - from).sum();
                receiving.finish(object, buffer.len() as u64 - missing, None);
            }
            ReceiveEvent::Cancelled { object, .. } => {
                self.waiting.retain(|&(_, waiting, _)| waiting != object);
                self.close(object);
            }
        }
        Ok(())
    }

    fn on_offer(&mut self, world: u64, object: u32, length: u64, receiving: &mut Receiving) -> Result<(), Trouble> {
        if chance(&mut self.rng, self.moods.0) {
            receiving.refuse(object, "not wanted");
        } else if chance(&mut self.rng, self.moods.1) {
            self.waiting.push((world + self.rng.u64(0..300 * MS), object, length));
        } else {
            self.accept(object, length, receiving)?;
        }
        Ok(())
    }

    fn accept(&mut self, object: u32, length: u64, receiving: &mut Receiving) -> Result<(), Trouble> {
        if length > MOST_LENGTH || self.buffered + length > MOST_BYTES {
            receiving.refuse(object, "no room");
            return Ok(());
        }
        self.buffered += length;
        self.buffers.insert(object, vec![0; length as usize]);
        if receiving.accept(object).is_err() {
            // The sender took it back meanwhile.
            self.close(object);
            return Ok(());
        }
        for (offset, bytes) in receiving.take_held(object) {
            let placed = self.place_at(object, offset, &bytes, receiving)?;
            // What is kept was told to have come.
            placed.map_err(|refusal| Trouble::Session(refusal.to_string()))?;
        }
        Ok(())
    }

    fn close(&mut self, object: u32) -> Option<Vec<u8>> {
        let buffer = self.buffers.remove(&object)?;
        self.buffered -= buffer.len() as u64;
        Some(buffer)
    }

    /// Holds what came against what was sent, but for the holes.
    fn compare(&mut self, object: u32, buffer: &[u8], holes: &[(u64, u64)]) -> Result<(), Trouble> {
        let expected = contents(self.seed, self.from, object, buffer.len() as u64);
        let mut at = 0;
        for (from, to) in
            holes.iter().map(|&(from, to)| (from as usize, to as usize)).chain([(buffer.len(), buffer.len())])
        {
            if buffer[at..from] != expected[at..from] {
                return Err(Trouble::Broken(format!("wrong bytes in object {object} within {at}..{from}")));
            }
            self.verified.1 += (from - at) as u64;
            at = to;
        }
        Ok(())
    }
}
