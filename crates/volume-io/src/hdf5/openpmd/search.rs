//! Goes through the files and iterations of a series, for the fields and steps of a source.
//!
//! Invariant: no more than a bounded number of arrays is looked at, whatever there is.

use std::sync::Arc;

use super::left_out::LeftOut;
use super::mesh::{BEHIND_LINK, End, components, is_of, names};
use super::series::{Base, Iteration, Moment, Series};
use super::survey::{MOST_LOOKED_AT, Survey};
use crate::SourceError;
use crate::choice::Refusal;
use crate::coordinates::cut;
use crate::near::instead;
use crate::place::Place;

/// What has been found.
struct Search<'a> {
    series: &'a Series,
    /// What is to be found in files, and what that means in the last one in which it is an iteration, or meshes.
    inside: &'a str,
    wanted: Option<(Option<u64>, String)>,
    survey: Option<Survey>,
    /// Meshes of the first iteration that has some.
    refused: LeftOut,
    /// Iterations and files.
    left_out: LeftOut,
    /// What there is instead: the numbers of other iterations, and the names of other meshes.
    others: Vec<u64>,
    other_meshes: Vec<String>,
    /// Iterations and arrays that were looked at before there was a field.
    tried: usize,
}

/// The fields and steps of what `inside` names in the files at `place`; `None` where that is no mesh.
pub(super) fn survey(series: &Series, place: &Place, inside: Option<&str>) -> Result<Option<Survey>, SourceError> {
    let mut search = Search::of(series, inside.unwrap_or_default().trim_matches('/'));
    for file in 0..series.files() {
        match search.file(file) {
            Ok(true) => {}
            Ok(false) if series.files() == 1 => return Ok(None),
            Ok(false) => search.left_out.add(format!("{} (no such mesh is in it)", series.shown(file))),
            Err(problem) if series.files() == 1 => return Err(problem),
            Err(problem) => search.left_out.add(problem.to_string()),
        }
    }
    search.found(place)
}

impl<'a> Search<'a> {
    fn of(series: &'a Series, inside: &'a str) -> Self {
        let (refused, left_out) = Default::default();
        let (others, other_meshes) = Default::default();
        Self { series, inside, wanted: None, survey: None, refused, left_out, others, other_meshes, tried: 0 }
    }

    /// Goes through the iterations of a file; `false` where something else is wanted.
    fn file(&mut self, file: usize) -> Result<bool, SourceError> {
        let opened = self.series.open(file)?;
        let wrong = |problem: String| SourceError::format(opened.home.place.display(), problem);
        let base = Arc::new(Base::of(&opened.file));
        let Some((wanted, name)) = base.wanted(self.inside) else { return Ok(false) };
        let all = base.group(&opened.file).map_err(wrong)?;
        for iteration in base.iterations(&all, file).map_err(wrong)? {
            let number = iteration.number;
            if wanted.is_some_and(|wanted| wanted != number) {
                self.others.push(number);
                continue;
            }
            if iteration.is_linked {
                self.left_out.add(format!("iteration {number} ({BEHIND_LINK})"));
                continue;
            }
            let moment = iteration.moment_in(&all).map_err(wrong)?;
            match &mut self.survey {
                Some(survey) => survey.add(iteration, &moment, &mut self.left_out),
                None if self.tried < MOST_LOOKED_AT => {
                    let mark =
                        wanted.map_or_else(|| ":/".to_owned(), |_| format!(":/{}/", moment.path.trim_matches('/')));
                    self.begin(iteration, &moment, &name, &mark).map_err(wrong)?;
                }
                None => break,
            }
        }
        self.wanted = Some((wanted, name));
        Ok(true)
    }

    /// Takes an iteration for the first step, if it has fields.
    fn begin(&mut self, iteration: Iteration, moment: &Moment, wanted: &str, mark: &str) -> Result<(), String> {
        let mut refused = LeftOut::default();
        let meshes = moment.meshes();
        let first = match &meshes {
            Some(meshes) => components(meshes, wanted, &mut refused)?,
            None => Vec::new(),
        };
        self.tried += 1 + refused.count();
        if first.is_empty() {
            self.left_out.add(format!("iteration {} (no such mesh is in it)", iteration.number));
            if let Some(meshes) = meshes.as_ref().filter(|_| self.other_meshes.is_empty()) {
                self.other_meshes = names(meshes, "").unwrap_or_default();
            }
        } else {
            self.survey = Some(Survey::begin(iteration, first, moment.time, mark));
        }
        if self.refused.count() == 0 || self.survey.is_some() {
            self.refused = refused;
        }
        Ok(())
    }

    fn found(mut self, place: &Place) -> Result<Option<Survey>, SourceError> {
        let wrong = |problem: String| SourceError::format(place.display(), problem);
        let Some(mut survey) = self.survey.take() else {
            return self.problem().map_or(Ok(None), |problem| Err(wrong(problem)));
        };
        let are_listed = self.inside.contains(',');
        let refused = |refusal: Refusal| if are_listed { refusal.of_named() } else { refusal };
        survey.check_sizes().map_err(|refusal| SourceError::refused(place.display(), refused(refusal)))?;
        survey.settle().map_err(wrong)?;
        let is_one_iteration = matches!(self.wanted, Some((Some(_), _)));
        let hint = self.series.hint(place).filter(|_| !is_one_iteration);
        survey.axes.remarks.extend(self.refused.remark().into_iter().chain(self.left_out.remark()).chain(hint));
        Ok(Some(survey))
    }

    /// Why there is no field, and what is there; `None` where something is that is no mesh.
    fn problem(&self) -> Option<String> {
        let end = self.series.end_of(self.inside);
        if matches!(end, End::Else) {
            return None;
        }
        if self.inside.is_empty() || self.refused.count() > 0 {
            return Some(nothing(&self.refused, &self.left_out));
        }
        match self.wanted.as_ref()? {
            (Some(number), name) if self.tried == 0 || name.is_empty() => {
                let mut others = self.others.clone();
                others.sort_unstable();
                others.dedup();
                let others: Vec<_> = others.iter().map(u64::to_string).collect();
                let instead = instead(&number.to_string(), &others);
                Some(format!("there is no iteration {number} with meshes in it{instead}"))
            }
            _ if matches!(end, End::Group) => None,
            (_, name) => match self.missing_of(name) {
                "" => Some(format!("'{}' names nothing beside a comma", cut(name))),
                missing => {
                    let instead = instead(missing, &self.other_meshes);
                    Some(format!("there is no mesh '{}' in it{instead}", cut(missing)))
                }
            },
        }
    }

    /// Which of several names is that of no mesh; of one, all that was asked for.
    fn missing_of<'b>(&'b self, name: &'b str) -> &'b str {
        let is_missing = |part: &&str| !self.other_meshes.iter().any(|mesh| is_of(mesh, part));
        let missing = || name.split(',').find(is_missing);
        if name.contains(',') { missing().unwrap_or(name) } else { self.inside }
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
