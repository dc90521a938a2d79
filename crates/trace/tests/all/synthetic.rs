//! Runs whose every time is known.

use visapult_trace::{Event, Placed, Process, Stage, Timeline};

pub(crate) const MS: i64 = 1_000_000;

pub(crate) fn event(stage: Stage, member: u32, step: u64, start_ms: i64, end_ms: i64) -> Event {
    Event { stage, member, step, bytes: 1000, start_ns: start_ms * MS, end_ns: end_ms * MS }
}

pub(crate) fn process(host: &str, role: &str) -> Process {
    Process { host: host.to_owned(), role: role.to_owned(), aligned: true, epoch_ns: None }
}

/// Events of one process called `backend`.
pub(crate) fn timeline(events: impl IntoIterator<Item = Event>) -> Timeline {
    let mut events: Vec<_> = events.into_iter().map(|event| Placed { process: 0, event }).collect();
    events.sort_by_key(|placed| placed.event.start_ns);
    Timeline { processes: vec![process("node1", "backend")], events, ..Timeline::default() }
}

/// A source, a back end and a page: receiving takes 100 ms a step, rendering 60; one after the other, or at the same time.
pub(crate) fn run(overlapped: bool, pes: u32, steps: u64) -> Timeline {
    let mut all = Timeline {
        processes: vec![process("cluster", "simulation"), process("node1", "backend")],
        ..Timeline::default()
    };
    let mut add = |process, event| all.events.push(Placed { process, event });
    for step in 0..steps {
        let at = step as i64 * if overlapped { 100 } else { 170 } + 40;
        for rank in 0..2 {
            add(0, event(Stage::Put, rank, step, at - 40, at - 30 + i64::from(rank)));
            add(0, event(Stage::SendPiece, rank, step, at - 10, at + 85 + i64::from(rank)));
        }
        for pe in 0..pes {
            let late = i64::from(pe);
            add(1, event(Stage::Receive, pe, step, at, at + 97 + late));
            add(1, event(Stage::Render, pe, step, at + 101, at + 161 - late));
            add(1, event(Stage::Encode, pe, step, at + 161, at + 168));
        }
        add(1, event(Stage::Send, 0, step, at + 168, at + 190));
        add(1, event(Stage::Receipt, 0, step, at + 175, at + 200));
        add(1, event(Stage::Draw, 0, step, at + 200, at + 208));
    }
    all.events.sort_by_key(|placed| (placed.event.start_ns, placed.event.stage, placed.event.member));
    all
}
