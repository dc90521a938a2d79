//! Many schedules on all cores, and what failed of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::schedule::Schedule;
use crate::world::{Summary, World};

/// A run that broke a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed that brings it back.
    pub seed: u64,
    /// What was broken.
    pub what: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, what } = self;
        write!(
            out,
            "seed {seed}: {what}\n  again: cargo run --release -p visapult-testkit --bin simulate -- --schedules 1 --seed {seed} --trace"
        )
    }
}

/// What many runs did.
#[derive(Debug, Default)]
pub struct Totals {
    /// Objects done and failed.
    pub objects: (u64, u64),
    /// Bytes verified.
    pub verified: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Virtual seconds.
    pub seconds: f64,
    /// Datagrams marked congestion-experienced, changes of keys, and sessions in which an end was restarted.
    pub marked: u64,
    /// See `marked`.
    pub rekeys: u64,
    /// See `marked`.
    pub restarted: u64,
    /// Datagrams that receivers refused for want of memory.
    pub refused: u64,
    /// Seeds of runs that took longer than with a good rate.
    pub slow: Vec<u64>,
}

/// Runs one schedule.
///
/// # Errors
/// If it breaks a promise, or panics.
pub fn run_one(seed: u64, trace: bool) -> Result<Summary, Failure> {
    let run = || World::new(Schedule::draw(seed), trace).run();
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("panic: {}", text.unwrap_or_default()))
    });
    result.map_err(|what| Failure { seed, what })
}

/// Runs `count` schedules with the seeds from `first` on; stops beginning new ones after some failures.
#[must_use]
pub fn run_many(first: u64, count: u64) -> (Totals, Vec<Failure>) {
    const ENOUGH: u64 = 20;
    let failed = AtomicU64::new(0);
    let runs = (first..first + count).into_par_iter().filter(|_| failed.load(Ordering::Relaxed) < ENOUGH);
    let (mut totals, failures) = runs
        .map(|seed| (seed, run_one(seed, false).inspect_err(|_| _ = failed.fetch_add(1, Ordering::Relaxed))))
        .fold(<(Totals, Vec<Failure>)>::default, |mut so_far, (seed, run)| {
            match run {
                Ok(summary) => so_far.0.add(seed, &summary),
                Err(failure) => so_far.1.push(failure),
            }
            so_far
        })
        .reduce(Default::default, |mut one, other| {
            one.0.merge(other.0);
            one.1.extend(other.1);
            one
        });
    totals.seconds = (totals.seconds * 1e3).round() / 1e3;
    (totals, failures)
}

impl Totals {
    fn add(&mut self, seed: u64, run: &Summary) {
        self.merge(Self {
            objects: (run.objects.0 as u64, run.objects.1 as u64),
            verified: run.verified,
            datagrams: run.datagrams,
            marked: run.marked,
            rekeys: run.rekeys,
            restarted: u64::from(run.restarted),
            refused: run.refused,
            seconds: run.ended as f64 * 1e-9,
            slow: run.slow.then_some(seed).into_iter().collect(),
        });
    }

    fn merge(&mut self, other: Self) {
        self.objects.0 += other.objects.0;
        self.objects.1 += other.objects.1;
        self.verified += other.verified;
        self.datagrams += other.datagrams;
        self.marked += other.marked;
        self.rekeys += other.rekeys;
        self.restarted += other.restarted;
        self.refused += other.refused;
        self.seconds += other.seconds;
        self.slow.extend(other.slow);
    }
}
