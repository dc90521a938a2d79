//! How fast: a fixed rate on a declared path, or a controller that finds the rate.

mod auto;
mod cause;
mod evidence;
mod fixed;
mod round;
mod route;
mod verdict;

pub use auto::Auto;
pub use cause::{Cause, Causes};
pub use evidence::Evidence;
pub use fixed::Fixed;
pub use round::{Round, RoundMeter, Seen};
pub use verdict::Verdict;

use std::time::Duration;

use crate::division::demand;
use crate::lane_out::Sizes;
use crate::time::Time;

/// Decides the rate of a lane, once a round trip.
#[derive(Clone, Debug)]
pub enum Controller {
    /// A rate that is kept, for paths of one's own.
    Fixed(Fixed),
    /// A rate that is found, and shared.
    Auto(Box<Auto>),
}

impl Controller {
    /// Bits of IP packets per second to send at.
    #[must_use]
    pub fn rate_bps(&self) -> u64 {
        match self {
            Self::Fixed(fixed) => fixed.rate_bps(),
            Self::Auto(auto) => auto.rate_bps(),
        }
    }

    /// The greatest rate that it may find, in bits of IP packets per second; endless where none was asked for.
    #[must_use]
    pub fn most_bps(&self) -> u64 {
        match self {
            Self::Fixed(fixed) => fixed.rate_bps(),
            Self::Auto(auto) => auto.most_bps(),
        }
    }

    /// Goes no faster than this from here on, in bits of IP packets per second; a rate that is fixed is fixed at it.
    pub fn set_most(&mut self, most_bps: u64) {
        match self {
            Self::Fixed(fixed) => fixed.ask(most_bps),
            Self::Auto(auto) => auto.set_most(most_bps),
        }
    }

    /// What it would make use of if it might go at `may_bps` and no faster, in bits per second, and `least_bps` at least. A fixed rate is kept whatever
    /// the path carries of it.
    #[must_use]
    pub fn demand_bps(&self, may_bps: f64, least_bps: f64) -> f64 {
        match self {
            Self::Fixed(_) => f64::INFINITY,
            Self::Auto(auto) => demand(auto.rate_bps() as f64, may_bps, least_bps),
        }
    }

    /// Most bytes under way, for a least round-trip time in seconds.
    #[must_use]
    pub fn most_under_way(&self, least_rtt_s: f64) -> u64 {
        match self {
            Self::Fixed(_) => u64::MAX,
            Self::Auto(auto) => auto.most_under_way(least_rtt_s),
        }
    }

    /// The rate is still being looked for.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        matches!(self, Self::Auto(auto) if auto.is_starting())
    }

    /// What the path is taken to carry of it, in bits per second.
    pub(crate) fn path_bps(&self) -> f64 {
        match self {
            Self::Fixed(fixed) => fixed.rate_bps() as f64,
            Self::Auto(auto) => auto.path_bps(),
        }
    }

    /// Looks for the rate of a path of this round-trip time anew, with datagrams of these sizes. A rate that is fixed is kept.
    pub(crate) fn begin_again(&mut self, sizes: Sizes, rtt: Duration) {
        if let Self::Auto(auto) = self {
            auto.begin_again(Auto::first_bps(sizes, rtt));
        }
    }

    /// Goes on at this rate, in bits per second, because others send beside it from here on. A rate that is fixed is divided by who asked for it.
    pub(crate) fn go_on_at(&mut self, bps: f64) {
        if let Self::Auto(auto) = self {
            auto.go_on_at(bps);
        }
    }

    /// Goes on at this rate, in bits per second, and knows of the path what the controller of another lane does.
    pub(crate) fn learn(&mut self, from: &Self, bps: f64) {
        if let (Self::Auto(auto), Self::Auto(from)) = (self, from) {
            auto.learn(from, bps);
            auto.go_on_at(bps);
        }
    }

    /// The rate is as high as was asked for: it is looked for no further.
    #[must_use]
    pub fn is_capped(&self) -> bool {
        match self {
            Self::Fixed(fixed) => !fixed.is_broken(),
            Self::Auto(auto) => auto.is_capped(),
        }
    }

    /// Learns from what a round trip showed; true if the route has become longer, so that what was least before is of no account.
    #[must_use]
    pub fn on_round(&mut self, now: Time, round: &Round) -> bool {
        match self {
            Self::Fixed(fixed) => {
                fixed.on_round(now, round);
                false
            }
            Self::Auto(auto) => auto.on_round(round),
        }
    }

    /// Learns from the arrival of a train of datagrams that left together: bits per second between its first and last.
    pub fn on_train(&mut self, train_bps: f64) {
        if let Self::Auto(auto) = self {
            auto.on_train(train_bps);
        }
    }

    /// What the rounds so far were limited by.
    #[must_use]
    pub fn causes(&self) -> &Causes {
        match self {
            Self::Fixed(fixed) => fixed.causes(),
            Self::Auto(auto) => auto.causes(),
        }
    }
}
