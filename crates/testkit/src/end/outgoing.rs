//! The objects that an end sends: their bytes, when they are offered and taken back, and what became of them.

use std::collections::HashMap;

use fastrand::Rng;
use visapult_ripp::outbox::Mode;
use visapult_ripp::sending::{SendEvent, Sending};
use visapult_ripp::time::Time;

use super::Trouble;
use crate::lane::Contents;
use crate::schedule::EndPlan;

/// What became of an object, at its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has this many bytes of it.
    Done(u64),
    /// It failed, and why.
    Failed(String),
}

/// The bytes of an object.
#[must_use]
pub(super) fn contents(seed: u64, side: usize, object: u32, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    Rng::with_seed(seed.rotate_left(17) ^ (u64::from(object) << 1 | side as u64)).fill(&mut bytes);
    bytes
}

#[derive(Debug)]
pub(super) struct Outgoing {
    seed: u64,
    side: usize,
    plan: EndPlan,
    flows: Vec<u16>,
    bytes: HashMap<u32, Vec<u8>>,
    outcomes: Vec<Option<Outcome>>,
    cancels: Vec<(u64, u32)>,
}

impl Contents for Outgoing {
    fn bytes(&self, object: u32, offset: u64, length: u64) -> &[u8] {
        self.bytes.get(&object).map_or(&[], |bytes| &bytes[offset as usize..(offset + length) as usize])
    }
}

impl Outgoing {
    pub(super) fn new(plan: &EndPlan, seed: u64, side: usize, sending: &mut Sending) -> Self {
        let open = |&(mode, weight): &(Mode, u32)| sending.open_flow("flow", mode, weight);
        let flows = plan.flows.iter().filter_map(open).collect();
        Self { seed, side, plan: plan.clone(), flows, bytes: HashMap::new(), outcomes: Vec::new(), cancels: Vec::new() }
    }

    /// Offers the objects whose time has come, and takes back others.
    pub(super) fn begin_due(&mut self, world: u64, now: Time, sending: &mut Sending) {
        while let Some(plan) = self.plan.objects.get(self.outcomes.len())
            && plan.at <= world
            && sending.live() < self.plan.ahead
        {
            let Some(object) = sending.offer(self.flows[plan.flow], "object", plan.length, now) else { return };
            self.bytes.insert(object, contents(self.seed, self.side, object, plan.length));
            self.outcomes.push(None);
            self.cancels.extend(plan.cancel.map(|at| (at, object)));
        }
        self.cancels.retain(|&(at, object)| {
            if at <= world {
                sending.cancel(object, "taken back");
            }
            at > world
        });
    }

    pub(super) fn next_due(&self, sending: &Sending) -> u64 {
        let may_offer = sending.live() < self.plan.ahead;
        let offer = self.plan.objects.get(self.outcomes.len()).filter(|_| may_offer).map(|plan| plan.at);
        self.cancels.iter().map(|&(at, _)| at).chain(offer).min().unwrap_or(u64::MAX)
    }

    pub(super) fn has_offered_all(&self) -> bool {
        self.outcomes.len() == self.plan.objects.len()
    }

    /// Nothing more comes of what is under way.
    pub(super) fn fail_all(&mut self, why: &str) {
        for outcome in &mut self.outcomes {
            outcome.get_or_insert_with(|| Outcome::Failed(why.to_owned()));
        }
    }

    pub(super) fn outcomes(&self) -> &[Option<Outcome>] {
        &self.outcomes
    }

    pub(super) fn describe(&self, sending: &Sending) -> String {
        let live = (0..self.outcomes.len()).filter(|&object| self.outcomes[object].is_none());
        let describe = |object: usize| {
            let plan = &self.plan.objects[object];
            format!("({object}, {:?}, {:?})", self.plan.flows[plan.flow].0, sending.outbox.progress(object as u32))
        };
        live.map(describe).collect()
    }

    pub(super) fn on_event(&mut self, event: SendEvent, sending: &mut Sending, trusts: bool) -> Result<(), Trouble> {
        match event {
            SendEvent::Accepted { .. } => Ok(()),
            SendEvent::Digest { object } => {
                if let Some(bytes) = self.bytes.get(&object) {
                    sending.digest(object, blake3::hash(bytes).to_hex().to_string());
                }
                Ok(())
            }
            SendEvent::Done { object, arrived } => {
                let plan = &self.plan.objects[object as usize];
                let reliable = self.plan.flows[plan.flow].0 == Mode::Reliable;
                if trusts && reliable && arrived != plan.length {
                    return Err(Trouble::Broken(format!(
                        "object {object} is done with {arrived} of {} bytes",
                        plan.length
                    )));
                }
                self.end(object, Outcome::Done(arrived))
            }
            SendEvent::Failed { object, why } => self.end(object, Outcome::Failed(why)),
        }
    }

    fn end(&mut self, object: u32, outcome: Outcome) -> Result<(), Trouble> {
        self.bytes.remove(&object);
        match self.outcomes[object as usize].replace(outcome) {
            None => Ok(()),
            Some(before) => Err(Trouble::Broken(format!("object {object} ended twice, first {before:?}"))),
        }
    }
}
