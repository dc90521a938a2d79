//! What the head asks of the hands about one step, and how it puts the answers together.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use visapult_render::{
    Camera, EncodedBrick, Form, KeyView, LevelCoding, Prediction, Predictor, RayPart, Rendering, ScalarKeyframe,
    SegmentKey, SegmentKeyframe, SlabKeyframe, Subject, TransferFunction, Volume, image_of_patches, join_scalar_slabs,
    join_segments, make_segments, runs, scalar_slab_parts, visible_depths,
};
use visapult_volume::{Centering, ValueRange};
use visapult_volume_io::SourceInfo;

use super::bytes::Reader;
use super::images::ImagePlan;
use super::messages::{OfStep, Question, What};
use super::parts::Part;
use super::slabs::SlabPlan;
use super::{Crew, Membership};
use crate::error::PipelineError;
use crate::lock::lock;
use crate::statistics::Counts;
use crate::step_store::StepKey;
use crate::wire::Spot;

/// Hands that are there and have not all answered within this time are left out.
const PATIENCE: Duration = Duration::from_secs(60);

/// A step that several processes have parts of, at the head.
#[derive(Clone, Debug)]
pub(crate) struct CrewStep {
    crew: Arc<Crew>,
    membership: Membership,
    key: StepKey,
    /// What that is, in words.
    shown: String,
    pes: usize,
    /// Processes that have not given something that was asked of them.
    missing: Arc<Mutex<BTreeSet<usize>>>,
}

/// Questions that are on their way.
pub(crate) struct Asked<'a> {
    step: &'a CrewStep,
    answers: Vec<(usize, mpsc::Receiver<Vec<u8>>)>,
}

impl Asked<'_> {
    /// The answers that come, by rank; the step notes whose do not.
    pub(crate) fn answers<T>(self, read: impl Fn(&mut Reader<'_>) -> Option<T>) -> Vec<(usize, T)> {
        let until = Instant::now() + PATIENCE;
        let answer = |(hand, answer): (usize, mpsc::Receiver<Vec<u8>>)| {
            let bytes = answer.recv_timeout(until.saturating_duration_since(Instant::now())).unwrap_or_default();
            let read = read(&mut Reader(&bytes));
            if read.is_none() {
                self.step.miss(hand);
            }
            Some((hand, read?))
        };
        self.answers.into_iter().filter_map(answer).collect()
    }
}

impl CrewStep {
    pub(crate) fn new(crew: &Arc<Crew>, membership: Membership, key: StepKey, shown: String, pes: usize) -> Self {
        Self { crew: Arc::clone(crew), membership, key, shown, pes, missing: Arc::default() }
    }

    /// The members whose step it is.
    pub(crate) fn epoch(&self) -> u64 {
        self.membership.epoch
    }

    /// Fails if a process has not given something that was asked of it: what was made has holes.
    pub(crate) fn whole(&self) -> Result<(), PipelineError> {
        let missing = lock(&self.missing);
        if missing.is_empty() {
            return Ok(());
        }
        let ranks: Vec<String> = missing.iter().map(usize::to_string).collect();
        Err(PipelineError::PartMissing { step: self.key.step, processes: ranks.join(", ") })
    }

    fn miss(&self, rank: usize) {
        if lock(&self.missing).insert(rank) {
            tracing::warn!("process {rank} of the back end has not given its part of step {}", self.key.step);
        }
    }

    /// What the hands show where a page points.
    pub(crate) fn pick(&self, spot: &Spot, transfer_function: &TransferFunction) -> Vec<RayPart> {
        let (spot, transfer_function) = (spot.clone(), transfer_function.clone());
        let asked = self.ask(&What::Of(OfStep::Pick { spot, transfer_function }));
        asked.answers(|reader| reader.ray_parts()).into_iter().flat_map(|(_, parts)| parts).collect()
    }

    fn ask(&self, what: &What) -> Asked<'_> {
        let hands = self
            .membership
            .members
            .iter()
            .filter(|rank| **rank != self.crew.rank() && !self.membership.share(**rank, self.pes).is_empty());
        let ask = |&hand: &usize| {
            let StepKey { field, step } = self.key;
            let question = Question { field, step, shown: self.shown.clone(), what: what.clone() };
            (hand, self.crew.ask(hand, &question))
        };
        Asked { step: self, answers: hands.map(ask).collect() }
    }

    /// Makes the hands load it: the ranges of their values.
    pub(crate) fn load(&self) -> Asked<'_> {
        self.ask(&What::Of(OfStep::Load))
    }

    pub(crate) fn count(&self, over: ValueRange) -> Asked<'_> {
        self.ask(&What::Of(OfStep::Count([over.lo, over.hi])))
    }

    pub(crate) fn bricks(&self, coding: LevelCoding) -> Asked<'_> {
        let LevelCoding { level, bits, kept } = coding;
        let kept = kept.map(|kept| [kept.lo, kept.hi]);
        self.ask(&What::Of(OfStep::Bricks { level, bits: bits.bits(), kept }))
    }

    /// The exact image that all processes make together.
    pub(crate) fn image(
        &self,
        volume: &Volume,
        camera: &Camera,
        transfer_function: &TransferFunction,
        size: [usize; 2],
        sample_step: f64,
        pool: &ThreadPool,
    ) -> Rendering {
        let runs = runs(volume, camera, |pe| self.membership.owner(pe, self.pes));
        let (number, transfer_function) = (self.crew.next_number(), transfer_function.clone());
        let plan = ImagePlan { number, camera: *camera, transfer_function, size, sample_step, runs };
        let asked = self.ask(&What::Image(plan.clone()));
        let own = self.crew.follow_image(&plan, Some(volume), pool);
        let (patches, samples) = self.together(own, asked.answers(|reader| reader.image()));
        Rendering { image: image_of_patches(size, &patches), samples }
    }

    /// The slabs that all processes make together.
    pub(crate) fn slabs(
        &self,
        volume: &Volume,
        key: &KeyView,
        transfer_function: &TransferFunction,
        sample_step: f64,
        pool: &ThreadPool,
    ) -> SlabKeyframe {
        let depths = self.depths(volume, key, transfer_function, pool);
        let (tiles, samples) = depths.map_or_else(Default::default, |depths| {
            let owner = |pe| self.membership.owner(pe, self.pes);
            let number = self.crew.next_number();
            let plan = SlabPlan::new(number, volume, key, transfer_function, sample_step, depths, owner);
            let asked = self.ask(&What::Slabs(plan.clone()));
            let own = self.crew.follow_slabs(&plan, Some(volume), pool);
            self.together(own, asked.answers(|reader| reader.slabs()))
        });
        SlabKeyframe::of_tiles(volume, key, depths, tiles, samples)
    }

    /// The segments of all processes: each makes those of its PEs, needing nobody.
    pub(crate) fn segments(
        &self,
        volume: &Volume,
        key: &SegmentKey,
        transfer_function: &TransferFunction,
        range: ValueRange,
        pool: &ThreadPool,
    ) -> SegmentKeyframe {
        let asked = self.ask(&What::Of(OfStep::Segments {
            camera: key.camera,
            rays: [key.width, key.height],
            segments: key.segments,
            transfer_function: transfer_function.clone(),
            range: [range.lo, range.hi],
        }));
        let own = pool.install(|| make_segments(volume, key, transfer_function, range));
        let (camera, geometry) = (own.camera, own.geometry);
        let (hands, others): (Vec<usize>, Vec<_>) = asked.answers(|reader| reader.segments()).into_iter().unzip();
        let others = others.into_iter().map(|(tiles, samples)| SegmentKeyframe { camera, geometry, tiles, samples });
        let mut parts: Vec<SegmentKeyframe> = [own].into_iter().chain(others).collect();
        pool.install(|| join_segments(&parts)).ok().flatten().unwrap_or_else(|| {
            hands.iter().for_each(|hand| self.miss(*hand));
            parts.swap_remove(0)
        })
    }

    /// What `forms` would be worth: every process judges by its PEs. `own` does for those of this process, the `subject`.
    pub(crate) fn predictions(
        &self,
        own: &Predictor<'_>,
        subject: &Subject<'_>,
        views: &[Camera],
        forms: &[Form],
        pool: &ThreadPool,
    ) -> Vec<Prediction> {
        let asked = self.ask(&What::Of(OfStep::Predictions {
            camera: subject.key,
            aspect: subject.aspect,
            transfer_function: subject.transfer_function.clone(),
            views: views.to_vec(),
            forms: forms.to_vec(),
        }));
        let own = (subject.share(), pool.install(|| own.predict(forms)));
        let others = asked.answers(|reader| reader.predictions(forms)).into_iter().map(|(_, answer)| answer);
        let all: Vec<(f64, Vec<Prediction>)> = [own].into_iter().chain(others).collect();
        let of_form = |form: usize| all.iter().map(|(share, of)| (*share, of[form].clone())).collect::<Vec<_>>();
        (0..forms.len()).filter_map(|form| Prediction::of_parts(&of_form(form))).collect()
    }

    /// The scalar slabs of all processes: each samples its PEs, needing nobody.
    pub(crate) fn scalar_slabs(
        &self,
        volume: &Volume,
        key: &KeyView,
        range: ValueRange,
        pool: &ThreadPool,
    ) -> ScalarKeyframe {
        let asked = self.ask(&What::Of(OfStep::ScalarSlabs {
            camera: key.camera,
            rays: [key.width, key.height],
            slabs: key.slabs,
            range: [range.lo, range.hi],
        }));
        let mut parts = pool.install(|| scalar_slab_parts(volume, key, range));
        let (hands, others): (Vec<usize>, Vec<_>) = asked.answers(|reader| reader.face_parts()).into_iter().unzip();
        parts.extend(others.into_iter().flatten());
        pool.install(|| join_scalar_slabs(volume, key, range, parts)).unwrap_or_else(|_| {
            hands.iter().for_each(|hand| self.miss(*hand));
            ScalarKeyframe::of_nothing(volume, key, range)
        })
    }

    /// What all have made, and the samples taken; the step notes whose parts are missing.
    fn together<T>(&self, own: Option<Part<T>>, others: Vec<(usize, Part<T>)>) -> (Vec<T>, u64) {
        let (mut made, mut samples) = (Vec::new(), 0);
        for part in own.into_iter().chain(others.into_iter().map(|(_, part)| part)) {
            part.missing.iter().for_each(|rank| self.miss(*rank as usize));
            made.extend(part.made);
            samples += part.samples;
        }
        (made, samples)
    }

    fn depths(
        &self,
        volume: &Volume,
        key: &KeyView,
        transfer_function: &TransferFunction,
        pool: &ThreadPool,
    ) -> Option<[f64; 2]> {
        let asked =
            self.ask(&What::Of(OfStep::Depths { camera: key.camera, transfer_function: transfer_function.clone() }));
        let own = pool.install(|| visible_depths(volume, key, transfer_function));
        let others = asked.answers(|reader| reader.depths()).into_iter().map(|(_, depths)| depths);
        others.chain([own]).flatten().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
    }
}

/// A field and its grid as far as a picture depends on them: the same words for the same; none where there is no such field.
pub(crate) fn in_words(info: &SourceInfo, field: usize) -> Option<String> {
    let (name, grid) = (&info.fields.get(field)?.name, info.grid());
    let [[nx, ny, nz], [x, y, z]] = [grid.size.map(|n| n.to_string()), grid.spacing.map(|length| length.to_string())];
    let what = match grid.centering {
        Centering::Point => "point samples",
        Centering::Cell => "cells",
    };
    Some(format!("{name} on {nx} x {ny} x {nz} {what}, {x} x {y} x {z} apart"))
}

/// Ranges of parts as that of the whole.
pub(crate) fn range_of(own: Option<ValueRange>, asked: Asked<'_>) -> Option<ValueRange> {
    let others = asked.answers(|reader| reader.range()).into_iter().map(|(_, range)| range);
    others.chain([own]).flatten().reduce(ValueRange::union)
}

/// What the hands have counted.
pub(crate) fn counts_of(asked: Asked<'_>) -> Vec<Counts> {
    asked.answers(|reader| reader.counts()).into_iter().map(|(_, counts)| counts).collect()
}

/// Bricks by PE, of all processes that have answered.
pub(crate) fn all_bricks(
    first: usize,
    own: Vec<Vec<EncodedBrick>>,
    asked: Option<Asked<'_>>,
) -> Vec<(usize, Vec<EncodedBrick>)> {
    let numbered = |first: usize, of_pe: Vec<Vec<EncodedBrick>>| {
        of_pe.into_iter().enumerate().map(move |(i, bricks)| (first + i, bricks))
    };
    let mut all: Vec<_> = numbered(first, own).collect();
    if let Some(asked) = asked {
        let step = asked.step;
        for (hand, of_pe) in asked.answers(|reader| reader.bricks()) {
            all.extend(numbered(step.membership.share(hand, step.pes).start, of_pe));
        }
    }
    all.sort_by_key(|(pe, _)| *pe);
    all
}
