//! What iterations have in common: which meshes are fields, where they are, and which iterations are steps.

use std::sync::Arc;

use super::left_out::LeftOut;
use super::mesh::{Component, Meshes};
use super::series::{Iteration, Moment};
use crate::axes::{Axes, is_same};
use crate::choice::{Candidate, Choice, Refusal};
use crate::coordinates::cut;

/// Arrays that are looked at when a source is opened; those of later iterations are when they are read.
pub(super) const MOST_LOOKED_AT: usize = 20_000;

/// The steps and fields of a source.
pub(super) struct Survey {
    pub(super) iterations: Vec<Iteration>,
    /// The fields, as the first iteration has them.
    pub(super) first: Vec<Component>,
    pub(super) axes: Axes,
    times: Vec<f64>,
    looked_at: usize,
    /// The first iteration whose grid lies elsewhere.
    moved: Option<u64>,
    /// What there is to choose from, where the fields have several sizes: others are then shown, in which iterations does not matter.
    choice: Option<Choice>,
}

impl Survey {
    /// With the first iteration and its fields, of which there is one at least. `mark` stands between the name of a field and that of what holds it.
    pub(super) fn begin(iteration: Iteration, first: Vec<Component>, time: f64, mark: &str) -> Self {
        let axes = Axes::of_size(first[0].shape.size);
        let looked_at = first.len();
        let choice = Choice::unless_alike(mark, first.iter().map(candidate).collect()).err();
        Self { iterations: vec![iteration], first, axes, times: vec![time], looked_at, moved: None, choice }
    }

    /// Takes an iteration for a step, if all fields are in it.
    pub(super) fn add(&mut self, iteration: Iteration, moment: &Moment, left_out: &mut LeftOut) {
        if self.choice.is_none() && self.looked_at < MOST_LOOKED_AT {
            match self.check(moment) {
                Ok(true) => {}
                Ok(false) => self.moved = self.moved.or(Some(iteration.number)),
                Err(problem) => return left_out.add(format!("iteration {} ({problem})", iteration.number)),
            }
        }
        self.iterations.push(iteration);
        self.times.push(moment.time);
    }

    /// Whether all fields lie where they did in the first iteration.
    fn check(&mut self, moment: &Moment) -> Result<bool, String> {
        let group = moment.meshes().ok_or("it has no meshes")?;
        let mut meshes = Meshes::of(&group);
        let mut is_there = true;
        for first in &self.first {
            self.looked_at += 1;
            let now = meshes.component(&first.name).map_err(|problem| format!("{}: {problem}", cut(&first.name)))?;
            if now.shape != first.shape {
                return Err(format!("{} has another shape", cut(&first.name)));
            }
            is_there &= is_same(&now.nodes, &first.nodes) && now.position == first.position;
        }
        Ok(is_there)
    }

    /// Refuses fields of several sizes.
    pub(super) fn check_sizes(&mut self) -> Result<(), Refusal> {
        let steps = self.iterations.len() as u64;
        self.choice.take().map_or(Ok(()), |choice| Err(choice.at_steps(steps).into()))
    }

    /// Where and when the fields are, and what is remarked of that.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        let is_staggered = self.first.iter().any(|field| field.position != self.first[0].position);
        let is_timed = self.times.iter().any(|time| !time.is_nan());
        let times: Arc<[f64]> = if is_timed { self.times.as_slice().into() } else { Arc::default() };
        let axes = |field: &Component| {
            let grid = if is_staggered { field.nodes.clone() } else { field.placed() };
            let (times, time_unit) = (Arc::clone(&times), "s".to_owned());
            (field.name.clone(), Axes { grid, times, time_unit, ..Axes::of_size(field.shape.size) })
        };
        let fields: Vec<_> = self.first.iter().map(axes).collect();
        self.axes = Axes::of_all(&fields)
            .map_err(|problem| format!("{problem}: add ':/' and one of their names to the file's"))?;
        let remarks = &mut self.axes.remarks;
        for remark in self.first.iter().flat_map(|field| &field.remarks) {
            if !remarks.contains(remark) {
                remarks.push(remark.clone());
            }
        }
        if is_staggered {
            remarks.push("fields lie staggered within cells: all are shown where the nodes of the grid are (add ':/' and a field's name to see it alone, in its place)".to_owned());
        }
        if let Some(moved) = self.moved {
            let first = self.iterations[0].number;
            remarks.push(format!(
                "from iteration {moved} on the grid lies elsewhere: all are shown where iteration {first} is"
            ));
        }
        Ok(())
    }
}

fn candidate(field: &Component) -> Candidate {
    let (size, spacing) = (field.shape.size, field.nodes.spacing);
    let covers = size.iter().zip(spacing).map(|(samples, spacing)| *samples as f64 * spacing.abs()).product();
    Candidate { covers, ..Candidate::of(size, None, field.name.clone()) }
}
