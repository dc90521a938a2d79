//! Values of a place over time: read on a thread of their own, few steps of all the time first and those between later, and told as they come.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;
use std::thread;
use std::time::{Duration, Instant};

use visapult_render::{Picked, samples_around};
use visapult_volume::{StepIndex, StepSpan};
use visapult_volume_io::{ReadRequest, Source, SourceError};

use super::SessionShared;
use crate::back_end::BackEnd;
use crate::lock::lock;
use crate::wire::{AtStep, Series};

/// Most steps that are read.
const MOST_VALUES: u64 = 4096;
/// The same where each comes over a network.
const MOST_FAR: u64 = 512;
/// Values are gathered for this long before they are told.
const GATHERED: Duration = Duration::from_millis(100);

/// Whose values are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) number: u32,
    pub(super) field: usize,
    pub(super) place: [f64; 3],
}

/// What has been read, and is not told yet.
#[derive(Debug)]
pub(super) struct Gathered {
    question: Question,
    series: Series,
    is_news: bool,
}

impl Gathered {
    pub(super) fn new(question: Question) -> Self {
        Self { question, series: nothing_of(question), is_news: false }
    }

    /// What is to be told.
    pub(super) fn news(&self) -> Option<&Series> {
        self.is_news.then_some(&self.series)
    }

    pub(super) fn told(&mut self) {
        self.series.values.clear();
        self.is_news = false;
    }

    fn add(&mut self, part: Series) {
        self.series.values.extend(part.values);
        self.series.of = part.of;
        self.series.is_over = part.is_over;
        self.series.problem = self.series.problem.take().or(part.problem);
        self.is_news = true;
    }
}

fn nothing_of(Question { number, field, .. }: Question) -> Series {
    Series { number, field, values: Vec::new(), of: 0, is_over: false, problem: None }
}

/// Reads what is asked, and what is asked meanwhile: there is one such thread of a session at a time, however often it asks.
pub(super) fn read(back_end: Weak<BackEnd>, session: Weak<SessionShared>) {
    thread::spawn(move || {
        while let Some(question) = next(&session) {
            // Where it ends sooner another one is asked, or nobody asks any more.
            let all = || read_all(&back_end, &session, question);
            if catch_unwind(AssertUnwindSafe(all)).is_err() {
                let problem = Some("the server failed to read them: please report it".to_owned());
                let _ = give(&session, Series { is_over: true, problem, ..nothing_of(question) });
            }
        }
    });
}

/// What is asked and not read; none, and this thread is the session's no more, where nothing is.
fn next(session: &Weak<SessionShared>) -> Option<Question> {
    let session = session.upgrade()?;
    let mut state = lock(&session.state);
    let is_open = !state.closed;
    let asked = state.series.as_ref().filter(|gathered| is_open && !gathered.series.is_over);
    let question = asked.map(|gathered| gathered.question);
    state.is_reading = question.is_some();
    question
}

/// Reads until all values are told; ends sooner, with none, where they are not wanted any more.
fn read_all(back_end: &Weak<BackEnd>, session: &Weak<SessionShared>, question: Question) -> Option<()> {
    let steps = order(back_end.upgrade()?.store().source(), question.field);
    let mut part = Series { of: steps.len() as u64, ..nothing_of(question) };
    let mut since = Instant::now();
    for step in steps {
        // Not held for longer: who ends it waits for nobody.
        let back_end = back_end.upgrade()?;
        let source = back_end.store().source();
        let value = value_at(source, question, step).unwrap_or_else(|problem| {
            part.problem.get_or_insert(problem.to_string());
            None
        });
        part.values.push(AtStep { step, time: source.time_of(step), value });
        drop(back_end);
        if since.elapsed() >= GATHERED {
            give(session, part.clone())?;
            part.values.clear();
            since = Instant::now();
        }
    }
    give(session, Series { is_over: true, ..part })
}

/// None where it is not wanted any more.
fn give(session: &Weak<SessionShared>, part: Series) -> Option<()> {
    let session = session.upgrade()?;
    let mut state = lock(&session.state);
    let is_open = !state.closed;
    state.series.as_mut().filter(|gathered| gathered.series.number == part.number && is_open)?.add(part);
    drop(state);
    session.wake();
    Some(())
}

fn value_at(source: &dyn Source, question: Question, step: StepIndex) -> Result<Option<f32>, SourceError> {
    let grid = source.info().grid();
    let bounds = samples_around(grid, question.place);
    let mut values = vec![0.0; bounds.volume()];
    source.read(&ReadRequest { field: question.field, step, level: 0, bounds }, &mut values)?;
    Ok(Picked::of_samples(grid, values, question.place).value)
}

/// The steps to read. Those of a simulation are told as they come.
fn order(source: &dyn Source, field: usize) -> Vec<StepIndex> {
    let steps = source.steps();
    if source.info().live {
        Vec::new()
    } else if source.is_static(field) {
        vec![steps.first]
    } else {
        coarse_first(steps, if source.is_far() { MOST_FAR } else { MOST_VALUES }, source.together(field, 0).steps)
    }
}

/// At most so many steps, evenly spread: some from all over the time, then those in the middle between them, and so on; those of `together` that are
/// decoded together one after the other.
fn coarse_first(StepSpan { first, last }: StepSpan, most: u64, together: u64) -> Vec<StepIndex> {
    let powers = || std::iter::successors(Some(1_u64), |power| power.checked_mul(2));
    let count = last - first + 1;
    let apart = powers().find(|apart| count.div_ceil(*apart) <= most).unwrap_or(count);
    let read = count.div_ceil(apart);
    let of_group = (together / apart).clamp(1, read);
    let groups = read.div_ceil(of_group);
    let strides: Vec<u64> = powers().take_while(|stride| *stride < groups).collect();
    // The first is there from the beginning.
    let between = |stride: u64| (stride..groups).step_by(2 * stride as usize);
    let groups = std::iter::once(0).chain(strides.into_iter().rev().flat_map(between));
    let steps = groups.flat_map(|group| (group * of_group..read).take(of_group as usize));
    steps.map(|step| first + step * apart).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn of(first: u64, last: u64, together: u64) -> Vec<StepIndex> {
        coarse_first(StepSpan { first, last }, MOST_VALUES, together)
    }

    #[test]
    fn every_step_is_read_once_and_the_whole_time_is_seen_at_once() {
        assert_eq!(of(5, 5, 1), [5]);
        assert_eq!(of(0, 7, 1), [0, 4, 2, 6, 1, 3, 5, 7]);
        assert_eq!(of(10, 20, 4), [10, 11, 12, 13, 18, 19, 20, 14, 15, 16, 17]);
        for (last, together) in [(1, 1), (99, 1), (4095, 1), (1000, 7), (3, 500)] {
            let steps = of(0, last, together);
            assert_eq!(steps.len() as u64, last + 1);
            assert_eq!(steps.into_iter().collect::<BTreeSet<_>>(), (0..=last).collect());
        }
    }

    #[test]
    fn of_very_many_steps_so_many_are_read_evenly_spread() {
        for (together, most) in [(1, MOST_VALUES), (24, MOST_VALUES), (1 << 40, MOST_VALUES), (1, MOST_FAR)] {
            let mut steps = coarse_first(StepSpan { first: 7, last: 1_000_006 }, most, together);
            assert!((most / 2..=most).contains(&(steps.len() as u64)), "{}", steps.len());
            steps.sort_unstable();
            let apart = steps[1] - steps[0];
            assert!(steps.windows(2).all(|pair| pair[1] - pair[0] == apart) && steps[0] == 7);
            assert!(steps.last().unwrap() + apart > 1_000_006);
        }
        assert!(of(0, u64::MAX - 1, 1).len() as u64 <= MOST_VALUES);
    }
}
