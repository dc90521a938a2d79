//! The picture: heading, legend, lifelines, axis, and the strip that says when the network was idle and why.

use svg::Document;
use svg::node::element::{Group, Line, Path, Polyline, Rectangle, Style, Text, Title};

use super::lines::{Lifeline, lifelines};
use super::scale::{Scale, in_words};
use super::{MOST_LINES, MOST_STEPS};
use crate::event::Stage;
use crate::summary::{Reason, Summary, busy_times, idle_times};
use crate::timeline::Timeline;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 152.0;
const RIGHT: f64 = 24.0;
const INDENT: f64 = 24.0;
const TOP: f64 = 112.0;
const BAND: f64 = 58.0;
/// Distance of a stage's start and end from the edges of its band.
const MARGIN: f64 = 15.0;
/// PEs of one step stand so far from each other at most.
const SPREAD: f64 = 5.0;
const STRIP: f64 = 22.0;
const PES_IN_LEGEND: usize = 6;

const STYLE: &str = "\
text { font-family: 'Source Sans 3', 'Helvetica Neue', Arial, sans-serif; font-size: 13px; fill: #333b45 }
.title { font-size: 19px; font-weight: 600; fill: #14181d }
.sub { font-size: 13px; fill: #5a6673 }
.stage { font-size: 14px; font-weight: 600; text-anchor: end }
.edge { font-size: 10.5px; fill: #8a94a0; text-anchor: end }
.tick { text-anchor: middle; fill: #5a6673 }
.grid { stroke: #e3e7ec; stroke-width: 1 }
.rail { stroke: #cfd6de; stroke-width: 1; stroke-dasharray: 1 4 }
.lifeline { fill: none; stroke-width: 1.6; stroke-linejoin: round; stroke-opacity: 0.85 }
.even { stroke: #c8352b } .odd { stroke: #1f6fb4 }
.mark.even { fill: #c8352b; stroke: #ffffff } .mark.odd { fill: #1f6fb4; stroke: #ffffff } .mark { stroke-width: 0.8 }
.key { fill: none; stroke: #333b45; stroke-width: 1.6 } .mark.key { fill: #333b45; stroke: none }";
const BUSY: &str = "#4d6a86";
const DASHES: [&str; 4] = ["none", "7 3", "2.5 2.5", "9 3 2 3"];

pub(super) fn draw(timeline: &Timeline, title: &str, steps_in_all: usize) -> String {
    let picture = Picture::of(timeline);
    let style = Style::new(STYLE);
    let background = Rectangle::new().set("width", WIDTH).set("height", picture.height()).set("fill", "#ffffff");
    let document = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, picture.height()))
        .set("width", WIDTH)
        .set("height", picture.height())
        .set("role", "img")
        .add(Title::new(title))
        .add(style)
        .add(background)
        .add(picture.heading(title, steps_in_all))
        .add(picture.legend())
        .add(picture.axes())
        .add(picture.lines())
        .add(picture.strip());
    document.to_string()
}

struct Picture<'a> {
    timeline: &'a Timeline,
    summary: Summary,
    stages: Vec<Stage>,
    pes: Vec<(usize, u32)>,
    lifelines: Vec<Lifeline>,
    scale: Scale,
}

impl<'a> Picture<'a> {
    fn of(timeline: &'a Timeline) -> Self {
        let mut stages: Vec<_> = timeline.events.iter().map(|placed| placed.event.stage).collect();
        stages.sort_unstable();
        stages.dedup();
        let pes = timeline.pes();
        let lifelines = lifelines(timeline, &pes);
        let start = timeline.events.iter().map(|placed| placed.event.start_ns).min().unwrap_or(0);
        let end = timeline.events.iter().map(|placed| placed.event.end_ns).max().unwrap_or(start);
        let scale = Scale::new(start, end, LEFT, WIDTH - LEFT - RIGHT);
        Self { timeline, summary: Summary::of(timeline), stages, pes, lifelines, scale }
    }

    fn bottom(&self) -> f64 {
        TOP + BAND * self.stages.len() as f64
    }

    fn height(&self) -> f64 {
        self.bottom() + STRIP + 104.0
    }

    fn heading(&self, title: &str, steps_in_all: usize) -> Group {
        let steps = self.timeline.steps();
        let range = match steps[..] {
            [] => "no steps".to_owned(),
            [only] => format!("step {only}"),
            [first, .., last] => format!("steps {first} to {last}"),
        };
        let of = if steps.len() < steps_in_all { format!(" of {steps_in_all} in all") } else { String::new() };
        let pes = match self.pes.len() {
            1 => "1 PE".to_owned(),
            number => format!("{number} PEs"),
        };
        let mut figures = vec![format!("{range}{of}, {pes}")];
        let summary = &self.summary;
        let input = match summary.input {
            crate::Input::Receive => "receive",
            crate::Input::Load => "load",
        };
        let times =
            [("frame period", summary.frame_period_s), (input, summary.receive_s), ("render", summary.render_s)];
        figures.extend(times.iter().filter_map(|(name, time)| time.map(|time| format!("{name} {}", in_words(time)))));
        figures.extend(summary.overlap.map(|share| format!("{:.0} % of rendering overlapped", share * 100.0)));
        Group::new().add(text(INDENT, 34.0, "title", title)).add(text(INDENT, 57.0, "sub", &figures.join("  ·  ")))
    }

    fn legend(&self) -> Group {
        let mut group = Group::new().set("class", "legend");
        let (mut x, y) = (INDENT, 88.0);
        for (class, name) in [("even", "even steps"), ("odd", "odd steps")] {
            group = group.add(stroke(x, y - 4.0, format!("lifeline {class}"), "none")).add(text(x + 34.0, y, "", name));
            x += 124.0;
        }
        if self.pes.len() > 1 {
            for (index, (_, pe)) in self.pes.iter().enumerate().take(PES_IN_LEGEND) {
                group = group
                    .add(stroke(x, y - 4.0, "key".to_owned(), dashes(Some(index))))
                    .add(mark(x + 14.0, y - 4.0, "mark key", Some(index)))
                    .add(text(x + 34.0, y, "", &format!("PE {pe}")));
                x += 92.0;
            }
            if let Some(more) = self.pes.len().checked_sub(PES_IN_LEGEND).filter(|more| *more > 0) {
                group = group.add(text(x, y, "sub", &format!("and {more} more")));
            }
        }
        group
    }

    fn axes(&self) -> Group {
        let mut group = Group::new().set("class", "axes");
        let (ticks, unit) = self.scale.ticks();
        for tick in ticks {
            group = group.add(line(tick.x, TOP, tick.x, self.bottom() + STRIP + 22.0, "grid")).add(text(
                tick.x,
                self.bottom() + STRIP + 40.0,
                "tick",
                &tick.label,
            ));
        }
        for (row, stage) in self.stages.iter().enumerate() {
            let bottom = self.bottom() - BAND * row as f64;
            let (start, end) = (bottom - MARGIN, bottom - BAND + MARGIN);
            group = group
                .add(line(LEFT, bottom, WIDTH - RIGHT, bottom, "grid"))
                .add(line(LEFT, start, WIDTH - RIGHT, start, "rail"))
                .add(line(LEFT, end, WIDTH - RIGHT, end, "rail"))
                .add(text(LEFT - 42.0, bottom - BAND / 2.0 + 5.0, "stage", stage.name()))
                .add(text(LEFT - 8.0, start + 3.5, "edge", "start"))
                .add(text(LEFT - 8.0, end + 3.5, "edge", "end"));
        }
        let label = format!("time since the first event shown, {unit}");
        group.add(line(LEFT, TOP, WIDTH - RIGHT, TOP, "grid")).add(text(
            (LEFT + WIDTH - RIGHT) / 2.0,
            self.bottom() + STRIP + 60.0,
            "tick",
            &label,
        ))
    }

    fn lines(&self) -> Group {
        let mut group = Group::new().set("class", "lifelines");
        for lifeline in self.lifelines.iter().take(MOST_LINES) {
            let class = if lifeline.step % 2 == 0 { "even" } else { "odd" };
            let points = self.points(lifeline);
            let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let marks = points.iter().map(|(x, y)| mark(*x, *y, &format!("mark {class}"), lifeline.pe));
            let shape = Polyline::new()
                .set("class", format!("lifeline {class}"))
                .set("stroke-dasharray", dashes(lifeline.pe))
                .set("points", path.join(" "));
            let one = Group::new().add(Title::new(self.in_words(lifeline))).add(shape);
            group = group.add(marks.fold(one, Group::add));
        }
        group
    }

    fn points(&self, lifeline: &Lifeline) -> Vec<(f64, f64)> {
        let number = self.pes.len().max(1) as f64;
        let spread = SPREAD.min(2.0 * MARGIN * 0.6 / number);
        let aside = lifeline.pe.map_or(0.0, |pe| (pe as f64 - (number - 1.0) / 2.0) * spread);
        let place = |(stage, (start, end)): (&Stage, &(i64, i64))| {
            let row = self.stages.iter().position(|other| other == stage).unwrap_or(0);
            let bottom = self.bottom() - BAND * row as f64;
            [(self.scale.x(*start), bottom - MARGIN - aside), (self.scale.x(*end), bottom - BAND + MARGIN - aside)]
        };
        lifeline.stages.iter().flat_map(place).collect()
    }

    fn in_words(&self, lifeline: &Lifeline) -> String {
        let pe = lifeline.pe.map_or_else(String::new, |pe| format!(", PE {}", self.pes[pe].1));
        let stage = |(stage, (start, end)): (&Stage, &(i64, i64))| {
            format!("{} {}", stage.name(), in_words((end - start) as f64 * 1e-9))
        };
        let stages: Vec<_> = lifeline.stages.iter().map(stage).collect();
        format!("step {}{pe}: {}", lifeline.step, stages.join(", "))
    }

    fn strip(&self) -> Group {
        let y = self.bottom() + 14.0;
        let tenths = |x: f64| (x * 10.0).round() / 10.0;
        let part = |from: i64, to: i64, colour: &str| {
            let (left, right) = (tenths(self.scale.x(from)), tenths(self.scale.x(to)));
            Rectangle::new()
                .set("x", left)
                .set("y", y)
                .set("width", tenths(right - left))
                .set("height", STRIP)
                .set("fill", colour)
        };
        let mut group =
            Group::new().set("class", "network").add(text(LEFT - 8.0, y + 15.0, "stage", self.input_label()));
        for (from, to) in busy_times(self.timeline).as_slice() {
            group = group.add(part(*from, *to, BUSY));
        }
        for (from, to, reason) in idle_times(self.timeline) {
            group = group.add(part(from, to, colour(reason)));
        }
        group.add(self.strip_legend())
    }

    fn input_label(&self) -> &'static str {
        match self.summary.input {
            crate::Input::Receive => "network",
            crate::Input::Load => "input",
        }
    }

    fn strip_legend(&self) -> Group {
        let network = &self.summary.network;
        let mut entries = vec![(BUSY, format!("busy {:.0} %", network.busy * 100.0))];
        for reason in Reason::ALL {
            if let Some(share) = network.idle.get(&reason) {
                entries.push((colour(reason), format!("idle, {}: {:.1} %", words(reason), share * 100.0)));
            }
        }
        let (mut group, mut x, y) = (Group::new(), INDENT, self.height() - 18.0);
        for (colour, words) in entries {
            let swatch =
                Rectangle::new().set("x", x).set("y", y - 11.0).set("width", 14).set("height", 12).set("fill", colour);
            group = group.add(swatch).add(text(x + 20.0, y, "", &words));
            x += 46.0 + 6.6 * words.chars().count() as f64;
        }
        group
    }
}

fn colour(reason: Reason) -> &'static str {
    match reason {
        Reason::Source => "#f0c24b",
        Reason::Render => "#e2733f",
        Reason::Credit => "#8e5aa8",
        Reason::Path => "#8fc1a9",
        Reason::Unknown => "#d5dae0",
    }
}

fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Source => "waiting for the source",
        Reason::Render => "waiting for rendering",
        Reason::Credit => "waiting for credit",
        Reason::Path => "on the path",
        Reason::Unknown => "reason not recorded",
    }
}

fn dashes(pe: Option<usize>) -> &'static str {
    DASHES[pe.unwrap_or(0) % DASHES.len()]
}

/// Circle, square, diamond or triangle.
fn mark(x: f64, y: f64, class: &str, pe: Option<usize>) -> Path {
    let shape = match pe.unwrap_or(0) % 4 {
        0 => "m-3.2,0a3.2,3.2 0 1,0 6.4,0a3.2,3.2 0 1,0 -6.4,0z",
        1 => "m-2.9,-2.9h5.8v5.8h-5.8z",
        2 => "m-3.9,0l3.9,-3.9l3.9,3.9l-3.9,3.9z",
        _ => "m-3.6,3l3.6,-6.4l3.6,6.4z",
    };
    Path::new().set("class", class).set("d", format!("M{x:.1},{y:.1}{shape}"))
}

fn stroke(x: f64, y: f64, class: String, dashes: &str) -> Line {
    Line::new()
        .set("class", class)
        .set("stroke-dasharray", dashes)
        .set("x1", x)
        .set("y1", y)
        .set("x2", x + 28.0)
        .set("y2", y)
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64, class: &str) -> Line {
    Line::new().set("class", class).set("x1", x1).set("y1", y1).set("x2", x2).set("y2", y2)
}

fn text(x: f64, y: f64, class: &str, words: &str) -> Text {
    let text = Text::new(words).set("x", x).set("y", y);
    if class.is_empty() { text } else { text.set("class", class) }
}

const _: () = assert!(MOST_STEPS <= MOST_LINES);
