//! The link of a share: where its rate is bounded, its copies divide that among them, each way for itself.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::Share;
use super::copies::Copy;
use crate::lock::lock;
use crate::request::Verb;
use crate::weights::{Claim, MOST_WEIGHT, Meter, divide};

/// Which way a copy's content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Out,
    In,
    /// In, from another share.
    Fetched,
}

/// What a copy has of the link.
#[derive(Debug)]
pub(super) struct Portion {
    way: Way,
    weight: u32,
    /// Of a copy that is fetched: bytes that have arrived, and what it may; others are asked, and told.
    pub(super) arrived: AtomicU64,
    pub(super) most_bps: AtomicU64,
    state: Mutex<(Meter, f64)>,
}

impl Portion {
    pub(super) fn of(verb: &Verb, weight: u32) -> Self {
        let way = match verb {
            Verb::Put { .. } => Way::In,
            Verb::Fetch { .. } => Way::Fetched,
            Verb::Get { .. } | Verb::Stripe { .. } | Verb::Fetches { .. } => Way::Out,
        };
        let state = Mutex::new((Meter::new(Instant::now(), 0), 0.0));
        Self {
            way,
            weight: weight.clamp(1, MOST_WEIGHT),
            arrived: AtomicU64::new(0),
            most_bps: AtomicU64::new(0),
            state,
        }
    }
}

impl Share {
    /// Divides the link anew, by what each copy has made use of since it was divided last.
    pub(super) fn divide_link(&self) {
        let Some(total_bps) = self.session.rate.most_bps().filter(|&bps| bps > 0) else { return };
        let copies = self.copies.look();
        for is_out in [true, false] {
            let some: Vec<&Copy> =
                copies.values().map(AsRef::as_ref).filter(|copy| (copy.portion.way == Way::Out) == is_out).collect();
            let claims: Vec<Claim> = some.iter().map(|copy| self.claim(copy)).collect();
            for (copy, may_bps) in some.iter().zip(divide(total_bps as f64, &claims)) {
                copy.allow(may_bps);
            }
        }
    }

    fn claim(&self, copy: &Copy) -> Claim {
        let person_weight = self.rights.weight(&copy.session);
        let bytes = copy.carried();
        let mut state = lock(&copy.portion.state);
        let used_bps = state.0.rate_bps(Instant::now(), bytes);
        let who = copy.session.member().map(ToOwned::to_owned);
        Claim { who, person_weight, weight: copy.portion.weight, used_bps, may_bps: state.1 }
    }
}

impl Copy {
    /// Bytes that it has carried.
    fn carried(&self) -> u64 {
        match self.portion.way {
            Way::Out => self.session.statistics().sent().wire_bytes,
            Way::In => self.session.statistics().received_bytes,
            Way::Fetched => self.portion.arrived.load(Ordering::Relaxed),
        }
    }

    fn allow(&self, may_bps: f64) {
        lock(&self.portion.state).1 = may_bps;
        let bps = (may_bps as u64).max(1);
        match self.portion.way {
            Way::Out => self.session.limit(bps, 0),
            Way::In => self.session.limit(0, bps),
            Way::Fetched => self.portion.most_bps.store(bps, Ordering::Relaxed),
        }
    }
}
