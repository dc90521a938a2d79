//! Goes through the files and iterations of a series, for the fields and steps of a source.
//!
//! Invariant: no more than a bounded number of arrays is looked at, whatever there is.

use super::left_out::LeftOut;
use super::mesh::components;
use super::series::{Base, Iteration, Moment, Series};
use super::survey::{MOST_LOOKED_AT, Survey};
use crate::SourceError;
use crate::place::Place;

/// What has been found.
struct Search<'a> {
    series: &'a Series,
    /// What is to be found in files.
    inside: &'a str,
    survey: Option<Survey>,
    /// Meshes of the first iteration that has some.
    refused: LeftOut,
    /// Iterations and files.
    left_out: LeftOut,
    /// Arrays that were looked at before there was a field.
    tried: usize,
    is_one_iteration: bool,
}

/// The fields and steps of what `inside` names in the files at `place`; `None` where that is no mesh.
pub(super) fn survey(series: &Series, place: &Place, inside: Option<&str>) -> Result<Option<Survey>, SourceError> {
    let inside = inside.unwrap_or_default().trim_matches('/');
    let (refused, left_out) = Default::default();
    let mut search = Search { series, inside, survey: None, refused, left_out, tried: 0, is_one_iteration: false };
    for file in 0..series.files() {
        match search.file(file) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(problem) if series.files() == 1 => return Err(problem),
            Err(problem) => search.left_out.add(problem.to_string()),
        }
    }
    search.found(place)
}

impl Search<'_> {
    /// Goes through the iterations of a file; `false` where something else is wanted.
    fn file(&mut self, file: usize) -> Result<bool, SourceError> {
        let opened = self.series.open(file)?;
        let wrong = |problem: String| SourceError::format(opened.home.place.display(), problem);
        let base = Base::of(&opened.file);
        let Some((number, name)) = base.wanted(self.inside) else { return Ok(false) };
        self.is_one_iteration = number.is_some();
        for iteration in base.iterations(&opened, file).map_err(wrong)? {
            if number.is_some_and(|number| number != iteration.number) {
                continue;
            }
            let moment = base.moment(&opened.file, &iteration).map_err(wrong)?;
            match &mut self.survey {
                Some(survey) => survey.add(iteration, &moment, &mut self.left_out),
                None if self.tried < MOST_LOOKED_AT => self.begin(&base, iteration, &moment, &name).map_err(wrong)?,
                None => break,
            }
        }
        Ok(true)
    }

    /// Takes an iteration for the first step, if it has fields.
    fn begin(&mut self, base: &Base, iteration: Iteration, moment: &Moment, wanted: &str) -> Result<(), String> {
        let mut refused = LeftOut::default();
        let first = match &moment.meshes {
            Some(meshes) => components(meshes, wanted, &mut refused)?,
            None => Vec::new(),
        };
        self.tried += 1 + refused.count();
        if first.is_empty() {
            self.left_out.add(format!("iteration {} (no such mesh is in it)", iteration.number));
        } else {
            self.survey = Some(Survey::begin(base.clone(), iteration, first, moment.time));
        }
        if self.refused.count() == 0 || self.survey.is_some() {
            self.refused = refused;
        }
        Ok(())
    }

    fn found(self, place: &Place) -> Result<Option<Survey>, SourceError> {
        let wrong = |problem: String| SourceError::format(place.display(), problem);
        let Some(mut survey) = self.survey else {
            if self.inside.is_empty() || self.refused.count() > 0 {
                return Err(wrong(nothing(&self.refused, &self.left_out)));
            }
            return self.series.missing(self.inside).map_or(Ok(None), |problem| Err(wrong(problem)));
        };
        survey.check_sizes().map_err(|choice| SourceError::refused(place.display(), choice))?;
        survey.settle().map_err(wrong)?;
        let hint = self.series.hint(place).filter(|_| !self.is_one_iteration);
        survey.axes.remarks.extend(self.refused.remark().into_iter().chain(self.left_out.remark()).chain(hint));
        Ok(Some(survey))
    }
}

/// What is said where there is no field.
fn nothing(refused: &LeftOut, left_out: &LeftOut) -> String {
    let there = match (refused.count(), left_out.count()) {
        (0, 0) => "no iteration is there".to_owned(),
        (0, _) => left_out.listed(),
        _ => refused.listed(),
    };
    format!(
        "it has no mesh on a cartesian grid of 2 or 3 axes: {there}; write one (of thetaMode: openPMD-viewer's get_field with theta=None), particles are not read"
    )
}
