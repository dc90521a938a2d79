//! Decides what a session is sent, from what its link has been measured to carry.
//!
//! Owns no clock and no session. The rule: all bricks give full quality from every angle, so they are sent where the link
//! carries them within the goal. Else slabs do, for their size hardly depends on the size of the grid: scalar ones better bricks of
//! half the resolution up to 45 degrees of turning; slabs of colour do so up to 20 degrees only, at more bytes, and a keyframe
//! for each of many steps costs more than it shows (`docs/src/proxies.md`): there, bricks of half the resolution are preferred.

use std::time::Duration;

use crate::wire::{Plan, ProxyChoice, ProxyKind};

/// Time in which a picture at rest should be complete.
const REST_GOAL: Duration = Duration::from_secs(3);
/// Time a step of a running simulation may take to send, at the least.
const SHORTEST_STEP_GOAL: Duration = Duration::from_millis(100);
/// Finest level a page is asked to hold, in samples: 512^3 half floats are 256 MiB of its memory.
const MOST_SAMPLES_IN_PAGE: u64 = 512 * 512 * 512;
/// Coarsest level of bricks that slabs of colour do not better.
const FINE_ENOUGH: u32 = 1;
/// Throughput assumed before anything has been measured, in bytes per second.
const UNMEASURED_BYTES_PER_S: f64 = 12.5e6;

/// What is known when a plan is made.
#[derive(Clone, Debug)]
pub(crate) struct Situation {
    /// Measured throughput, in bytes per second; none before the first acknowledgement.
    pub throughput_bytes_per_s: Option<f64>,
    /// Samples of each level, finest first.
    pub level_samples: Vec<u64>,
    /// Bytes per sample of encoded 8-bit bricks, measured on the last levels sent.
    pub bytes_per_sample: f64,
    /// Bytes of a slab keyframe, measured on the last one.
    pub slab_bytes: u64,
    /// Whether slabs are scalar.
    pub scalar_slabs: bool,
    /// Time between steps where they are followed or played.
    pub step_interval: Option<Duration>,
    /// What the user asks for.
    pub choice: ProxyChoice,
}

impl Situation {
    /// Expected bytes of bricks at `level`, at 8 bits per sample.
    pub(crate) fn level_bytes(&self, level: u32) -> u64 {
        (self.level_samples[level as usize] as f64 * self.bytes_per_sample) as u64
    }

    /// Coarsest level of bricks that slabs do not better.
    fn fine_enough(&self) -> u32 {
        if self.scalar_slabs && self.step_interval.is_none() { 0 } else { FINE_ENOUGH }
    }

    fn coarsest(&self) -> u32 {
        self.level_samples.len() as u32 - 1
    }

    fn goal(&self) -> Duration {
        self.step_interval.map_or(REST_GOAL, |interval| interval.max(SHORTEST_STEP_GOAL))
    }
}

/// Chooses proxy, level and precision.
pub(crate) fn plan(situation: &Situation) -> Plan {
    let bytes_per_s = situation.throughput_bytes_per_s.unwrap_or(UNMEASURED_BYTES_PER_S);
    let goal = situation.goal();
    let budget = (bytes_per_s * goal.as_secs_f64()) as u64;
    let finest = finest_level_within(situation, budget);
    let proxy = match situation.choice {
        ProxyChoice::Bricks => ProxyKind::Bricks,
        ProxyChoice::Segments => ProxyKind::Segments,
        ProxyChoice::Slabs => ProxyKind::Slabs,
        ProxyChoice::Auto if finest <= situation.fine_enough() || situation.slab_bytes > budget => ProxyKind::Bricks,
        ProxyChoice::Auto => ProxyKind::Slabs,
    };
    let level = match proxy {
        ProxyKind::Bricks => finest,
        ProxyKind::Slabs | ProxyKind::Segments => {
            finest_level_within(situation, budget.saturating_sub(situation.slab_bytes) / 4)
                .max(1.min(situation.coarsest()))
        }
    };
    let bricks_bytes = situation.level_bytes(level);
    let bits = if situation.step_interval.is_none() && level == 0 && 2 * bricks_bytes <= budget / 3 { 16 } else { 8 };
    let bytes = match proxy {
        ProxyKind::Bricks => bricks_bytes * u64::from(bits / 8),
        ProxyKind::Slabs | ProxyKind::Segments => bricks_bytes + situation.slab_bytes,
    };
    let reason = reason(situation, proxy, level, bytes, goal);
    Plan { proxy, level, bits, reason, throughput_bps: situation.throughput_bytes_per_s.unwrap_or(0.0) * 8.0, bytes }
}

fn finest_level_within(situation: &Situation, budget: u64) -> u32 {
    let fits = |level: &u32| {
        situation.level_bytes(*level) <= budget && situation.level_samples[*level as usize] <= MOST_SAMPLES_IN_PAGE
    };
    (0..situation.level_samples.len() as u32).find(fits).unwrap_or(situation.coarsest())
}

fn reason(situation: &Situation, proxy: ProxyKind, level: u32, bytes: u64, goal: Duration) -> String {
    let link = match situation.throughput_bytes_per_s {
        Some(rate) => format!("{:.0} Mbit/s measured", rate * 8e-6),
        None => "link not measured yet".to_owned(),
    };
    let megabytes = |bytes: u64| bytes as f64 * 1e-6;
    let goal_s = goal.as_secs_f64();
    let what = match (proxy, situation.choice) {
        (ProxyKind::Bricks, ProxyChoice::Bricks) => "bricks, as chosen".to_owned(),
        (ProxyKind::Slabs, ProxyChoice::Slabs) => "slabs, as chosen".to_owned(),
        (ProxyKind::Segments, _) => "segments, as chosen".to_owned(),
        (ProxyKind::Bricks, _) if level == 0 => "all bricks fit".to_owned(),
        (ProxyKind::Bricks, _) if level <= situation.fine_enough() => {
            format!("bricks down to level {level} fit, and do as well as slabs")
        }
        (ProxyKind::Bricks, _) => format!("bricks down to level {level} fit, slabs do not"),
        (ProxyKind::Slabs, _) => {
            format!("slabs fit, the finest bricks ({:.1} MB) do not", megabytes(situation.level_bytes(0)))
        }
    };
    format!("{what}: {:.1} MB for a goal of {goal_s:.1} s; {link}", megabytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(edge: u64) -> Situation {
        let levels = (0..).map(|l| (edge >> l).pow(3)).take_while(|&n| n >= 32 * 32 * 32).collect();
        Situation {
            throughput_bytes_per_s: Some(100e6),
            level_samples: levels,
            bytes_per_sample: 0.6,
            slab_bytes: 6_000_000,
            scalar_slabs: true,
            step_interval: None,
            choice: ProxyChoice::Auto,
        }
    }

    #[test]
    fn a_small_volume_on_a_fast_link_is_sent_whole() {
        let plan = plan(&cube(256));
        assert_eq!((plan.proxy, plan.level, plan.bits), (ProxyKind::Bricks, 0, 16));
    }

    #[test]
    fn a_large_volume_on_a_slow_link_becomes_slabs_over_coarse_bricks() {
        let plan = plan(&Situation { throughput_bytes_per_s: Some(2.5e6), ..cube(512) });
        assert_eq!(plan.proxy, ProxyKind::Slabs);
        assert!(plan.level >= 1);
        assert!(plan.reason.contains("slabs fit"), "{}", plan.reason);
    }

    #[test]
    fn bricks_of_half_the_resolution_give_way_to_scalar_slabs_at_rest() {
        let slow = Situation { throughput_bytes_per_s: Some(2e6), slab_bytes: 2_400_000, ..cube(256) };
        assert_eq!(plan(&slow).proxy, ProxyKind::Slabs);
        for preferring_bricks in [
            Situation { scalar_slabs: false, ..slow.clone() },
            Situation { step_interval: Some(Duration::from_secs(3)), ..slow.clone() },
            Situation { throughput_bytes_per_s: Some(0.7e6), ..slow },
        ] {
            let plan = plan(&preferring_bricks);
            assert_eq!((plan.proxy, plan.level), (ProxyKind::Bricks, 1), "{}", plan.reason);
        }
    }

    #[test]
    fn a_hopeless_link_still_gets_the_coarsest_bricks() {
        let plan = plan(&Situation { throughput_bytes_per_s: Some(1e3), ..cube(256) });
        assert_eq!((plan.proxy, plan.level, plan.bits), (ProxyKind::Bricks, 3, 8));
    }

    #[test]
    fn steps_that_follow_each_other_leave_less_time() {
        let rest = plan(&Situation { throughput_bytes_per_s: Some(10e6), ..cube(256) });
        let live = plan(&Situation {
            throughput_bytes_per_s: Some(10e6),
            step_interval: Some(Duration::from_millis(100)),
            slab_bytes: 2_000_000,
            ..cube(256)
        });
        assert_eq!(rest.level, 0);
        assert!(live.level > 0 && live.bits == 8);
    }

    #[test]
    fn the_user_has_the_last_word() {
        let slabs = plan(&Situation { choice: ProxyChoice::Slabs, ..cube(128) });
        assert_eq!(slabs.proxy, ProxyKind::Slabs);
        let segments = plan(&Situation { choice: ProxyChoice::Segments, ..cube(128) });
        assert_eq!(segments.proxy, ProxyKind::Segments);
        let bricks = plan(&Situation { choice: ProxyChoice::Bricks, throughput_bytes_per_s: Some(1e6), ..cube(512) });
        assert_eq!(bricks.proxy, ProxyKind::Bricks);
    }
}
