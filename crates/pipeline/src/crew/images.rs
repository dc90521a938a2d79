//! Exact images that several processes make together: each casts its own PEs, and every place of the image is put together by one.

use std::collections::BTreeSet;

use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use visapult_render::{Camera, Patch, TransferFunction, Volume, composite_places, is_run, render_runs};

use super::Crew;
use super::bytes::Precision;
use super::parts::{Part, Runs, of};
use crate::config::MOST_EDGE;

/// What all do for an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ImagePlan {
    /// Its number.
    pub(super) number: u64,
    /// Where the eye is.
    pub(super) camera: Camera,
    /// With its range.
    pub(super) transfer_function: TransferFunction,
    /// Pixels.
    pub(super) size: [usize; 2],
    /// Distance of samples.
    pub(super) sample_step: f64,
    /// Of all PEs.
    pub(super) runs: Runs,
}

impl ImagePlan {
    /// Whether it can be followed with a part of the volume.
    fn fits(&self, volume: &Volume) -> bool {
        self.camera.validate().is_ok()
            && self.size.iter().all(|edge| (1..=MOST_EDGE).contains(edge))
            && self.runs.iter().all(|(_, run)| is_run(run, volume.decomposition()))
    }

    /// Those who make it: each puts as many places together as the others, give or take one.
    fn makers(&self) -> BTreeSet<usize> {
        self.runs.iter().map(|(owner, _)| *owner).collect()
    }
}

impl Crew {
    /// Does what a plan asks of this process, which has `volume`; without, the others are told not to wait.
    pub(super) fn follow_image(
        &self,
        plan: &ImagePlan,
        volume: Option<&Volume>,
        pool: &ThreadPool,
    ) -> Option<Part<Patch>> {
        // It owes all others its part, and they owe it theirs.
        let makers = plan.makers();
        let others: BTreeSet<usize> = makers.iter().copied().filter(|maker| *maker != self.rank).collect();
        let Some(volume) = volume.filter(|volume| plan.fits(volume)) else {
            self.give_nothing(plan.number, others);
            return None;
        };
        let ImagePlan { camera, transfer_function, size, sample_step, .. } = plan;
        let own_runs = of(&plan.runs, self.rank);
        let cast = || render_runs(volume, camera, transfer_function, *size, *sample_step, &own_runs);
        let (mut own, samples) = pool.install(cast);
        let composer = |patch: &Patch| makers.iter().nth(patch.tile as usize % makers.len().max(1)).copied();
        self.give_out(plan.number, &mut own, others.clone(), composer, Precision::Single);
        let (made, missing) = self.take_in(plan.number, &plan.runs, own, others, Precision::Single);
        Some(Part { made: pool.install(|| composite_places(*size, &made)), samples, missing })
    }
}
