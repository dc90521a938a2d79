//! What a summary and a picture say of runs whose every time is known.

use visapult_trace::{Input, PlotOptions, Reason, Stage, Summary, Timeline, lifelines};

use crate::synthetic::{event, run, timeline};

fn close(found: Option<f64>, expected: f64) {
    assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} instead of {expected}");
}

fn plot(timeline: &Timeline) -> String {
    lifelines(timeline, &PlotOptions { title: "A <run> & its \"lines\"".to_owned(), steps: None })
}

fn count(svg: &str, class: &str) -> usize {
    let document = roxmltree::Document::parse(svg).unwrap();
    let has = |node: &roxmltree::Node| {
        node.tag_name().name() == "polyline"
            && node.attribute("class").is_some_and(|it| it.split(' ').any(|it| it == class))
    };
    document.descendants().filter(has).count()
}

#[test]
fn overlapped_work_has_the_period_of_the_longer_part() {
    let summary = Summary::of(&run(true, 4, 12));
    assert_eq!((summary.steps, summary.pes, summary.input), (12, 4, Input::Receive));
    close(summary.frame_period_s, 0.100);
    close(summary.frame_period_mean_s, 0.100);
    close(summary.receive_s, 0.100);
    close(summary.render_s, 0.060);
    close(summary.max_s, 0.100);
    close(summary.sum_s, 0.160);
    assert_eq!(summary.bytes, 12 * 4 * 1000);
    // The last step is rendered after all has arrived: 11 of 12 overlap.
    close(summary.overlap, 11.0 / 12.0);
}

#[test]
fn work_in_turns_has_the_period_of_the_sum_and_no_overlap() {
    let summary = Summary::of(&run(false, 4, 12));
    close(summary.frame_period_s, 0.170);
    close(summary.overlap, 0.0);
    let network = &summary.network;
    assert!((network.busy + network.idle.values().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(network.idle[&Reason::Source] > network.idle[&Reason::Path]);
}

#[test]
fn each_idle_time_has_its_reason() {
    let received = [event(Stage::Receive, 0, 0, 0, 100), event(Stage::Receive, 0, 1, 200, 300)];
    let idle = |others: &[visapult_trace::Event]| {
        let all = received.iter().chain(others).copied();
        Summary::of(&timeline(all)).network.idle.into_iter().map(|(why, share)| (why, (share * 300.0).round() as i64))
    };
    let source = [event(Stage::Put, 0, 1, 100, 130), event(Stage::SendPiece, 0, 1, 180, 280)];
    let rendering = [event(Stage::Render, 0, 0, 110, 150)];
    assert_eq!(
        idle(&[source, [rendering[0], rendering[0]]].concat()).collect::<Vec<_>>(),
        [(Reason::Source, 30), (Reason::Render, 20), (Reason::Credit, 30), (Reason::Path, 20)]
    );
    assert_eq!(idle(&source).collect::<Vec<_>>(), [(Reason::Source, 30), (Reason::Credit, 50), (Reason::Path, 20)]);
    assert_eq!(idle(&rendering).collect::<Vec<_>>(), [(Reason::Render, 40), (Reason::Unknown, 60)]);
}

#[test]
fn the_wait_for_a_late_rank_is_the_sources_though_others_have_sent_theirs() {
    let events = [
        event(Stage::Put, 0, 0, 0, 10),
        event(Stage::SendPiece, 0, 0, 10, 20),
        event(Stage::Receive, 0, 0, 15, 25),
        event(Stage::Put, 1, 0, 0, 70),
        event(Stage::SendPiece, 1, 0, 75, 90),
        event(Stage::Receive, 0, 0, 85, 95),
    ];
    let network = Summary::of(&timeline(events)).network;
    let idle: Vec<_> = network.idle.iter().map(|(reason, share)| (*reason, (share * 80.0).round() as i64)).collect();
    assert_eq!(idle, [(Reason::Source, 45), (Reason::Credit, 5), (Reason::Path, 10)]);
}

#[test]
fn a_run_from_files_is_told_by_its_loading() {
    let events = (0..5).flat_map(|step| {
        let at = step as i64 * 50;
        [event(Stage::Load, 0, step, at, at + 20), event(Stage::Render, 0, step, at + 20, at + 50)]
    });
    let summary = Summary::of(&timeline(events));
    assert_eq!(summary.input, Input::Load);
    close(summary.frame_period_s, 0.050);
    assert_eq!(summary.network.idle.keys().collect::<Vec<_>>(), [&Reason::Render]);
}

#[test]
fn a_timeline_of_nothing_has_no_figures_and_an_empty_picture() {
    let summary = Summary::of(&Timeline::default());
    assert_eq!((summary.frame_period_s, summary.overlap, summary.rate_bps), (None, None, None));
    assert_eq!(count(&plot(&Timeline::default()), "lifeline"), 0);
}

#[test]
fn the_picture_has_a_line_for_each_step_and_pe_in_two_colours() {
    let svg = plot(&run(true, 3, 11));
    assert_eq!((count(&svg, "lifeline"), count(&svg, "even"), count(&svg, "odd")), (33, 18, 15));
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/overlapped.svg"), svg).unwrap();
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/serial.svg"), plot(&run(false, 3, 7))).unwrap();
}

#[test]
fn the_picture_names_its_stages_its_unit_its_pes_and_its_title() {
    let svg = plot(&run(false, 2, 6));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let words: Vec<_> =
        document.descendants().filter(|node| node.is_text()).filter_map(|node| node.text()).map(str::trim).collect();
    for expected in ["A <run> & its \"lines\"", "source put", "receive", "render", "drawn", "PE 1", "network"] {
        assert!(words.contains(&expected), "{expected} is not in {words:?}");
    }
    assert!(words.contains(&"time since the first event shown, ms"), "{words:?}");
}

#[test]
fn every_point_lies_within_the_picture() {
    let svg = plot(&run(true, 20, 7));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let height: f64 = document.root_element().attribute("height").unwrap().parse().unwrap();
    for line in document.descendants().filter(|node| node.tag_name().name() == "polyline") {
        let number = |text: &str| text.parse::<f64>().unwrap();
        for (x, y) in line.attribute("points").unwrap().split(' ').map(|point| point.split_once(',').unwrap()) {
            assert!((152.0..=1176.0).contains(&number(x)) && (0.0..height).contains(&number(y)), "{x},{y}");
        }
    }
}

#[test]
fn of_more_steps_than_can_be_told_apart_the_middle_ones_are_shown() {
    let many = run(true, 1, 200);
    let svg = plot(&many);
    assert_eq!(count(&svg, "lifeline"), 40);
    assert!(svg.contains("steps 80 to 119 of 200 in all"));
    let chosen = PlotOptions { title: String::new(), steps: Some((5, 7)) };
    assert_eq!(count(&lifelines(&many, &chosen), "lifeline"), 3);
}
