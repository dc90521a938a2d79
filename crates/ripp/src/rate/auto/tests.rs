//! What the controller makes of rounds that are told to it.

use super::*;

/// Causes of twenty rounds in which a queue of somebody else stands, whatever is sent.
fn beside_a_standing_queue(mut auto: Auto) -> Causes {
    for _ in 0..20 {
        let bps = auto.rate_bps() as f64;
        auto.on_round(&Round {
            seconds: 0.05,
            least_rtt_s: 0.05,
            paced_bps: bps,
            sent_bps: bps,
            delivered_bps: bps,
            queue_s: 0.05,
            last_queue_s: 0.05,
            ..Round::default()
        });
    }
    auto.causes().clone()
}

#[test]
fn no_more_is_sent_than_is_allowed_however_little_that_is() {
    let mut auto = Auto::new(10_000_000, Some(100_000));
    for most_bps in [100_000, 20_000, 1] {
        auto.set_most(most_bps);
        auto.on_train(1e9);
        assert_eq!(auto.rate_bps(), most_bps);
        (0..20).for_each(|_| {
            auto.on_round(&round_over(1e9, &auto));
        });
        assert_eq!(auto.rate_bps(), most_bps);
    }
    auto.set_most(1_000_000);
    (0..20).for_each(|_| {
        auto.on_round(&round_over(1e3, &auto));
    });
    assert!(auto.rate_bps() >= LEAST_BPS as u64);
}

#[test]
fn what_one_has_found_another_goes_on_from_and_neither_sends_more_than_its_part() {
    let mut found = Auto::new(1_000_000, None);
    (0..40).for_each(|_| {
        found.on_round(&round_over(1e8, &found));
    });
    assert!(!found.is_starting() && found.path_bps > 9e7, "{}", found.path_bps);
    let mut other = Auto::new(1_000_000, Some(80_000_000));
    other.learn(&found, 5e7);
    [&mut other, &mut found].into_iter().for_each(|auto| auto.go_on_at(5e7));
    assert_eq!((found.rate_bps(), other.rate_bps(), other.most_bps()), (50_000_000, 50_000_000, 80_000_000));
    assert!(!other.is_starting() && matches!(found.phase, Phase::Hold { .. }));
    // Alone on the path it finds the rest again, as far as it may.
    let mut sent = other.rate_bps() as f64;
    for _ in 0..20 {
        // What arrives in a round was sent in the one before.
        let now = other.rate_bps() as f64;
        let before = round_over(1e8, &Auto::new(sent as u64, None));
        other.on_round(&Round { paced_bps: sent, sent_bps: sent, delivered_bps: sent.min(1e8), ..before });
        sent = now;
    }
    assert!(other.path_bps > 7.5e7, "{}", other.path_bps);
}

#[test]
fn a_dedicated_path_is_shared_with_nobody() {
    let auto = || Auto::new(10_000_000, None);
    assert!(beside_a_standing_queue(auto()).rounds(Cause::Shared) > 0);
    assert_eq!(beside_a_standing_queue(auto().dedicated()).rounds(Cause::Shared), 0);
}

#[test]
fn a_receiver_that_drops_once_keeps_its_rate_and_one_that_does_so_again_soon_is_spared() {
    let drops = |kernel_drops| Round {
        seconds: 0.1,
        least_rtt_s: 0.08,
        paced_bps: 1e7,
        sent_bps: 1e7,
        delivered_bps: if kernel_drops > 0 { 5e6 } else { 1e7 },
        kernel_drops,
        ..Round::default()
    };
    let rate_after = |rounds: &[u32]| {
        let mut auto = Auto::new(10_000_000, None);
        auto.phase = Phase::Hold { rounds: 4 };
        rounds.iter().for_each(|kernel_drops| {
            auto.on_round(&drops(*kernel_drops));
        });
        auto.path_bps
    };
    assert_eq!(rate_after(&[9]), 1e7);
    assert_eq!(rate_after(&[9, 0, 0, 0, 0, 9]), 1e7);
    assert_eq!(rate_after(&[9, 9]), 6e6);
    assert_eq!(rate_after(&[9, 0, 0, 0, 9]), 6e6);
}

/// A round at the controller's rate on a path that carries `path_bps`: of what is more a queue is made.
fn round_over(path_bps: f64, auto: &Auto) -> Round {
    let sent_bps = auto.rate_bps() as f64;
    let queue_s = if sent_bps > 1.02 * path_bps { 0.02 } else { 0.0 };
    Round {
        seconds: 0.1,
        least_rtt_s: 0.08,
        paced_bps: sent_bps,
        sent_bps,
        delivered_bps: sent_bps.min(path_bps),
        queue_s,
        last_queue_s: queue_s,
        ..Round::default()
    }
}

#[test]
fn where_nothing_waits_a_probe_that_succeeds_is_followed_by_one_of_twice_the_rate_unless_others_were_there() {
    let rate_after_success = |was_shared| {
        let mut auto = Auto::new(10_000_000, None);
        (auto.phase, auto.was_shared) = (Phase::Judge { index: 0 }, was_shared);
        let sent = 1.08e7;
        auto.on_round(&Round { paced_bps: sent, sent_bps: sent, delivered_bps: sent, ..round_over(4e7, &auto) });
        assert_eq!(auto.path_bps, sent);
        auto.rate_bps()
    };
    assert_eq!(rate_after_success(false), 21_600_000);
    assert_eq!(rate_after_success(true), 17_280_000);
}

#[test]
fn what_a_pause_cut_is_sent_again_before_the_next_probe_and_what_the_path_lost_is_not() {
    let rates_after_a_cut = |path_bps| {
        let mut auto = Auto::new(10_000_000, None);
        auto.phase = Phase::Hold { rounds: 6 };
        auto.on_round(&Round { queue_s: 0.05, last_queue_s: 0.05, delivered_bps: 6e6, ..round_over(1e7, &auto) });
        assert_eq!(auto.path_bps, 6e6);
        (0..5).for_each(|_| {
            auto.on_round(&round_over(path_bps, &auto));
        });
        auto.path_bps
    };
    assert!(rates_after_a_cut(1e7) > 8.5e6);
    assert!(rates_after_a_cut(6e6) < 6.5e6);
}

#[test]
fn a_pause_in_a_round_and_what_it_held_back_in_the_next_make_one_rate() {
    let mut auto = Auto::new(10_000_000, None);
    auto.phase = Phase::Hold { rounds: 6 };
    let queued = |delivered_bps| Round {
        queue_s: 0.05,
        last_queue_s: 0.05,
        delivered_bps,
        ..round_over(1e7, &Auto::new(10_000_000, None))
    };
    auto.on_round(&queued(7e6));
    auto.on_round(&queued(13e6));
    assert_eq!(auto.path_bps, 1e7);
}

#[test]
fn a_probe_that_the_sender_could_not_send_whole_is_judged_by_what_it_sent() {
    let mut auto = Auto::new(10_000_000, None);
    auto.phase = Phase::Judge { index: 3 };
    auto.on_round(&Round { paced_bps: 2e7, sent_bps: 1.5e7, delivered_bps: 1.5e7, ..round_over(2e7, &auto) });
    assert_eq!(auto.path_bps, 1.5e7);
}

#[test]
fn a_receiver_that_stalls_keeps_its_rate() {
    let mut auto = Auto::new(10_000_000, None);
    auto.phase = Phase::Hold { rounds: 4 };
    let round = Round {
        seconds: 0.3,
        stalled_s: 0.29,
        behind_s: 0.29,
        sent_bps: 1e7,
        paced_bps: 1e7,
        delivered_bps: 1e6,
        ..Round::default()
    };
    auto.on_round(&Round { queue_s: 0.2, last_queue_s: 0.2, least_rtt_s: 0.02, ..round });
    assert_eq!(auto.rate_bps(), 10_000_000);
    assert_eq!(auto.causes().rounds(Cause::Receiver), 1);
}

/// Told of rounds in which no more than `carried_bps` arrives, and no more than `allowed_bps` is sent.
fn told_of(auto: &mut Auto, carried_bps: f64, allowed_bps: f64) {
    let paced_bps = auto.rate_bps() as f64;
    let sent_bps = paced_bps.min(allowed_bps);
    let delivered_bps = sent_bps.min(carried_bps);
    auto.on_round(&Round {
        seconds: 0.05,
        least_rtt_s: 0.02,
        rtt_s: 0.02,
        paced_bps,
        sent_bps,
        delivered_bps,
        loss: 1.0 - delivered_bps / sent_bps,
        capped: auto.is_capped() || allowed_bps < paced_bps,
        ..Round::default()
    });
}

#[test]
fn what_may_not_be_sent_is_not_looked_for() {
    const MOST_BPS: u64 = 20_000_000;
    for train_bps in [None, Some(1e6), Some(21e6), Some(1e9)] {
        // What bounds it is its own, or the receiver's.
        for (own, allowed_bps) in [(Some(MOST_BPS), f64::INFINITY), (None, MOST_BPS as f64)] {
            let mut auto = Auto::new(1_000_000, own);
            if let Some(bps) = train_bps {
                auto.on_train(bps);
            }
            (0..100).for_each(|_| told_of(&mut auto, 1e9, allowed_bps));
            assert!(!auto.is_starting(), "a train of {train_bps:?}");
            assert!(auto.path_bps >= 0.95 * MOST_BPS as f64, "{} after a train of {train_bps:?}", auto.path_bps);
        }
    }
}

#[test]
fn a_policer_just_below_what_is_allowed_is_heeded() {
    let mut auto = Auto::new(1_000_000, Some(20_000_000));
    (0..200).for_each(|_| told_of(&mut auto, 18.4e6, f64::INFINITY));
    assert!(auto.rate_bps() < 18_800_000, "{}", auto.rate_bps());
}
