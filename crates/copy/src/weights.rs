//! How copies that share a link divide its rate: by the weights of their people, and of the copies of each; what one leaves, the others have.
//!
//! Knows no session and no clock: it is told what each did with what it had, and says what each may do from here on.

use std::time::{Duration, Instant};

use visapult_ripp_net::division;

/// How often a rate is divided anew.
pub(crate) const EVERY: Duration = Duration::from_millis(100);
/// Without a byte for so long it makes no use of anything.
const IDLE: Duration = Duration::from_millis(500);
/// What all copies together are left of the whole rate, that they may begin.
const LEAST_SHARE: f64 = 0.02;

/// Greatest weight.
pub(crate) const MOST_WEIGHT: u32 = 1000;

/// What a copy made use of, and what it may.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim {
    /// Copies of the same person divide what is that person's.
    pub(crate) who: Option<String>,
    pub(crate) person_weight: u32,
    pub(crate) weight: u32,
    pub(crate) used_bps: f64,
    /// 0 for one that has just come.
    pub(crate) may_bps: f64,
}

/// What each may do from here on, of `total_bps` in all.
pub(crate) fn divide(total_bps: f64, claims: &[Claim]) -> Vec<f64> {
    let mut people: Vec<(&Option<String>, Vec<usize>)> = Vec::new();
    for (at, claim) in claims.iter().enumerate() {
        match people.iter_mut().find(|(who, _)| *who == &claim.who) {
            Some((_, own)) => own.push(at),
            None => people.push((&claim.who, vec![at])),
        }
    }
    let least_bps = LEAST_SHARE * total_bps / claims.len().max(1) as f64;
    let demand = |at: usize| division::demand(claims[at].used_bps, claims[at].may_bps, least_bps);
    let of_people: Vec<_> =
        people.iter().map(|(_, own)| (claims[own[0]].person_weight, own.iter().map(|&at| demand(at)).sum())).collect();
    let mut shares = vec![0.0; claims.len()];
    for ((_, own), share_bps) in people.iter().zip(division::divide(total_bps, &of_people)) {
        let of_own: Vec<_> = own.iter().map(|&at| (claims[at].weight, demand(at))).collect();
        own.iter().zip(division::divide(share_bps, &of_own)).for_each(|(&at, share_bps)| shares[at] = share_bps);
    }
    shares
}

/// What somebody has made use of, in bytes counted from its beginning, as a rate.
#[derive(Debug)]
pub(crate) struct Meter {
    at: Instant,
    bytes: u64,
    bps: f64,
}

impl Meter {
    pub(crate) const fn new(now: Instant, bytes: u64) -> Self {
        Self { at: now, bytes, bps: 0.0 }
    }

    /// Bits per second since bytes were last counted; as it was then, if that is not long ago.
    pub(crate) fn rate_bps(&mut self, now: Instant, bytes: u64) -> f64 {
        let elapsed = now.duration_since(self.at);
        if elapsed >= IDLE || elapsed >= EVERY / 2 && bytes != self.bytes {
            let bps = bytes.saturating_sub(self.bytes) as f64 * 8.0 / elapsed.as_secs_f64();
            *self = Self { at: now, bytes, bps };
        }
        self.bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: f64 = 1e9;

    fn claim(who: &str, person_weight: u32, weight: u32) -> Claim {
        Claim { who: Some(who.to_owned()), person_weight, weight, used_bps: 0.0, may_bps: 0.0 }
    }

    /// Divides again and again, each making use of no more than it wants.
    fn settle(claims: &mut [Claim], wants: &[f64], rounds: usize) -> Vec<f64> {
        for _ in 0..rounds {
            let shares = divide(TOTAL, claims);
            assert!(shares.iter().sum::<f64>() <= TOTAL * 1.000_001, "{shares:?}");
            for ((claim, may_bps), want) in claims.iter_mut().zip(shares).zip(wants) {
                (claim.may_bps, claim.used_bps) = (may_bps, want.min(may_bps));
            }
        }
        claims.iter().map(|claim| (claim.used_bps / TOTAL * 1000.0).round() / 1000.0).collect()
    }

    #[test]
    fn copies_that_want_all_have_it_by_weight() {
        let mut claims = [claim("ada", 1, 3), claim("ada", 1, 1)];
        assert_eq!(settle(&mut claims, &[f64::INFINITY; 2], 1), [0.75, 0.25]);
        assert_eq!(settle(&mut claims, &[f64::INFINITY; 2], 20), [0.75, 0.25]);
    }

    #[test]
    fn what_an_idle_copy_leaves_the_others_have_until_it_comes_back() {
        let mut claims = [claim("ada", 1, 3), claim("ada", 1, 1)];
        settle(&mut claims, &[f64::INFINITY; 2], 5);
        let idle = settle(&mut claims, &[0.0, f64::INFINITY], 2);
        assert_eq!(idle, [0.0, 0.99]);
        assert_eq!(settle(&mut claims, &[f64::INFINITY; 2], 2), [0.75, 0.25]);
    }

    #[test]
    fn one_that_is_slow_by_itself_has_what_it_can_and_no_more() {
        let mut claims = [claim("ada", 1, 3), claim("ada", 1, 1)];
        let slow = settle(&mut claims, &[0.1 * TOTAL, f64::INFINITY], 10);
        assert!(slow[0] == 0.1 && (0.87..0.88).contains(&slow[1]), "{slow:?}");
    }

    #[test]
    fn many_copies_of_one_person_have_no_more_than_one() {
        let mut claims = [claim("ada", 1, 1), claim("ada", 1, 1), claim("ada", 1, 2), claim("grace", 1, 1)];
        assert_eq!(settle(&mut claims, &[f64::INFINITY; 4], 5), [0.125, 0.125, 0.25, 0.5]);
        claims.iter_mut().skip(3).for_each(|grace| grace.person_weight = 3);
        assert_eq!(settle(&mut claims, &[f64::INFINITY; 4], 5)[3], 0.75);
        assert_eq!(settle(&mut claims, &[0.0, 0.0, f64::INFINITY, 0.0], 5)[2], 0.985);
    }

    #[test]
    fn a_meter_tells_the_rate_since_it_was_asked() {
        let began = Instant::now();
        let mut meter = Meter::new(began, 500);
        assert_eq!(meter.rate_bps(began + Duration::from_secs(2), 1500), 4000.0);
        assert_eq!(meter.rate_bps(began + Duration::from_millis(2001), 9000), 4000.0);
        assert_eq!(meter.rate_bps(began + Duration::from_millis(2200), 1500), 4000.0);
        assert_eq!(meter.rate_bps(began + Duration::from_secs(3), 1500), 0.0);
    }
}
