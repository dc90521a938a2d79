//! Lifelines as the papers draw them: time across, stages up, a line for each step in one of two colours.

mod lines;
mod page;
mod scale;

use crate::timeline::Timeline;

/// What is drawn.
#[derive(Clone, Debug)]
pub struct PlotOptions {
    /// Stands above it all.
    pub title: String,
    /// The first and last step; without, all, or the middle ones where there are more than can be told apart.
    pub steps: Option<(u64, u64)>,
}

/// Steps that can be told apart in one picture.
const MOST_STEPS: usize = 40;
/// Lines in one picture.
const MOST_LINES: usize = 2000;

/// Draws the lifelines of a timeline: an SVG file.
#[must_use]
pub fn lifelines(timeline: &Timeline, options: &PlotOptions) -> String {
    let all = timeline.steps();
    let chosen = options.steps.or_else(|| middle(&all));
    let shown = chosen.map_or_else(|| timeline.clone(), |(first, last)| timeline.of_steps(first, last));
    page::draw(&shown, &options.title, all.len())
}

fn middle(steps: &[u64]) -> Option<(u64, u64)> {
    let from = steps.len().checked_sub(MOST_STEPS).filter(|more| *more > 0)? / 2;
    Some((steps[from], steps[from + MOST_STEPS - 1]))
}
