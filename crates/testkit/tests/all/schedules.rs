//! Ten thousand schedules, none of which may break a promise.

use visapult_testkit::suite::run_many;

const SCHEDULES: u64 = if cfg!(debug_assertions) { 300 } else { 10_000 };

#[test]
fn no_schedule_breaks_a_promise() {
    let (totals, failures) = run_many(0, SCHEDULES);
    let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(totals.objects.0 > SCHEDULES && totals.verified > 0, "{totals:?}");
    assert!(totals.rekeys > SCHEDULES && totals.marked > SCHEDULES && totals.restarted > 0, "{totals:?}");
    assert!(totals.refused > SCHEDULES, "{totals:?}");
}

#[test]
fn a_seed_tells_everything() {
    for seed in 0..20 {
        let runs = [(); 2].map(|()| visapult_testkit::suite::run_one(seed, false).map(|run| format!("{run:?}")));
        let [once, again] = runs.map(|run| run.unwrap_or_else(|failure| failure.to_string()));
        assert_eq!(once, again);
    }
}
