//! Slabs that several processes make together: each casts its own PEs, and every place of tiles is put together and compressed by one.
//!
//! Where the PEs of one process alone show, it needs nobody; where those of several do, the others send it what they show there.

use std::collections::{BTreeMap, BTreeSet};

use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use visapult_render::{
    Camera, KeyView, Patch, SlabCaster, SlabTile, TransferFunction, Volume, composite_slabs, is_run, owners_by_place,
    runs,
};

use super::Crew;
use super::bytes::Precision;
use super::parts::{Part, Runs, of};

/// Who does what for a keyframe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SlabPlan {
    /// Its number.
    number: u64,
    /// The key view.
    camera: Camera,
    /// With its range.
    transfer_function: TransferFunction,
    /// Rays per row and column.
    rays: [u16; 2],
    /// Number of slabs.
    slabs: u16,
    /// Distance of samples.
    sample_step: f64,
    /// Between which all PEs together show anything.
    depths: [f64; 2],
    /// Of all PEs.
    runs: Runs,
    /// By place, the processes whose PEs may show there; the first puts it together.
    places: Vec<Vec<usize>>,
}

impl SlabPlan {
    /// A plan for what `volume`, any part of the whole, shows in `key`.
    pub(super) fn new(
        number: u64,
        volume: &Volume,
        key: &KeyView,
        transfer_function: &TransferFunction,
        sample_step: f64,
        depths: [f64; 2],
        owner: impl Fn(usize) -> usize + Copy,
    ) -> Self {
        Self {
            number,
            camera: key.camera,
            transfer_function: transfer_function.clone(),
            rays: [key.width, key.height],
            slabs: key.slabs,
            sample_step,
            depths,
            runs: runs(volume, &key.camera, owner),
            places: shared_out(owners_by_place(volume, key, owner)),
        }
    }

    fn key(&self) -> KeyView {
        let [width, height] = self.rays;
        KeyView { width, height, slabs: self.slabs, ..KeyView::new(self.camera) }
    }

    /// Whether it can be followed with a part of the volume.
    fn fits(&self, volume: &Volume) -> bool {
        let has_rays = self.rays.iter().all(|edge| *edge > 0);
        has_rays
            && self.camera.validate().is_ok()
            && self.runs.iter().all(|(_, run)| is_run(run, volume.decomposition()))
    }

    /// Places where only the PEs of process `rank` show.
    fn alone(&self, rank: usize) -> Vec<usize> {
        self.places_with(|owners| owners[..] == [rank])
    }

    /// Places where the PEs of process `rank` show, and others.
    fn shared(&self, rank: usize) -> Vec<usize> {
        self.places_with(|owners| owners.len() > 1 && owners.contains(&rank))
    }

    fn places_with(&self, is_meant: impl Fn(&Vec<usize>) -> bool) -> Vec<usize> {
        (0..self.places.len()).filter(|place| is_meant(&self.places[*place])).collect()
    }

    /// Who puts a place together.
    fn composer(&self, place: usize) -> Option<usize> {
        self.places.get(place)?.first().copied()
    }

    /// To whom `rank` owes its part.
    fn takers(&self, rank: usize) -> BTreeSet<usize> {
        let composers = self.shared(rank).into_iter().filter_map(|place| self.composer(place));
        composers.filter(|composer| *composer != rank).collect()
    }

    /// Who owes `rank` a part.
    fn givers(&self, rank: usize) -> BTreeSet<usize> {
        let own = self.places.iter().filter(|owners| owners.first() == Some(&rank));
        own.flatten().copied().filter(|owner| *owner != rank).collect()
    }
}

/// Gives every place to one of those who show there: of them, to the one that has the fewest places so far.
fn shared_out(mut places: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut loads = BTreeMap::<usize, usize>::new();
    for owners in places.iter().filter(|owners| owners.len() == 1) {
        *loads.entry(owners[0]).or_default() += 1;
    }
    for owners in places.iter_mut().filter(|owners| owners.len() > 1) {
        let load = |at: &usize| loads.get(&owners[*at]).copied().unwrap_or_default();
        let idlest = (0..owners.len()).min_by_key(load).unwrap_or_default();
        owners.swap(0, idlest);
        *loads.entry(owners[0]).or_default() += 1;
    }
    places
}

impl Crew {
    /// Does what a plan asks of this process, which has `volume`; without, the others are told not to wait.
    pub(super) fn follow_slabs(
        &self,
        plan: &SlabPlan,
        volume: Option<&Volume>,
        pool: &ThreadPool,
    ) -> Option<Part<SlabTile>> {
        let takers = plan.takers(self.rank);
        let Some(volume) = volume.filter(|volume| plan.fits(volume)) else {
            self.give_nothing(plan.number, takers);
            return None;
        };
        let (key, own_runs) = (plan.key(), of(&plan.runs, self.rank));
        let caster = SlabCaster::new(volume, &key, &plan.transfer_function, plan.sample_step, plan.depths);
        let shared = plan.shared(self.rank);
        let cast = || own_runs.iter().map(|run| caster.patches(run, &shared)).unzip();
        let (mut own, samples): (Vec<Vec<Patch>>, Vec<u64>) = pool.install(cast);
        let composer = |patch: &Patch| plan.composer(patch.tile as usize);
        self.give_out(plan.number, &mut own, takers, composer, Precision::Half);
        let (mut made, alone) = pool.install(|| caster.tiles(&own_runs.concat(), &plan.alone(self.rank)));
        let givers = plan.givers(self.rank);
        let (patches, missing) = self.take_in(plan.number, &plan.runs, own, givers, Precision::Half);
        made.extend(pool.install(|| composite_slabs(volume, &key, &patches)));
        Some(Part { made, samples: samples.iter().sum::<u64>() + alone, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_put_together_by_one_of_those_who_show_there_and_by_each_as_many() {
        let mut places = vec![vec![0, 1, 2]; 7];
        places.extend([vec![1], vec![], vec![1]]);
        let given = shared_out(places.clone());
        for (before, after) in places.iter().zip(&given) {
            let mut sorted = after.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, *before);
        }
        let count = |rank| given.iter().filter(|owners| owners.first() == Some(&rank)).count();
        assert_eq!([0, 1, 2].map(count), [3, 3, 3]);
    }

    #[test]
    fn who_owes_somebody_a_part_is_waited_for() {
        let plan = SlabPlan {
            number: 1,
            camera: Camera::default(),
            transfer_function: TransferFunction { range: None, points: Vec::new() },
            rays: [512, 512],
            slabs: 4,
            sample_step: 1.0,
            depths: [1.0, 2.0],
            runs: vec![(0, vec![0]), (1, vec![1, 2]), (0, vec![3])],
            places: vec![vec![0], vec![1, 0], vec![], vec![2, 1], vec![1]],
        };
        for rank in 0..4 {
            let takers = plan.takers(rank);
            assert!((0..4).all(|other| plan.givers(other).contains(&rank) == takers.contains(&other)));
        }
        assert_eq!((plan.alone(1), plan.shared(1)), (vec![4], vec![1, 3]));
    }
}
