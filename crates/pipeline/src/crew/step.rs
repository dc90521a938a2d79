//! What the head asks of the hands about one step, and how it puts the answers together.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rayon::ThreadPool;
use visapult_render::{
    Camera, CodeBits, EncodedBrick, KeyView, Patch, Rendering, SlabKeyframe, TransferFunction, Volume, cast_runs,
    composite_runs, composite_slabs, render_runs, runs, visible_depths,
};
use visapult_volume::ValueRange;

use super::bytes::{Precision, Reader};
use super::messages::{Question, What};
use super::{Crew, Membership};
use crate::statistics::FieldStatistics;
use crate::step_store::StepKey;

/// A hand that is there and has not answered within this time is left out.
const PATIENCE: Duration = Duration::from_secs(60);

/// A step that several processes have parts of, at the head.
#[derive(Clone, Debug)]
pub(crate) struct CrewStep {
    crew: Arc<Crew>,
    membership: Membership,
    key: StepKey,
    pes: usize,
}

/// Questions that are on their way.
pub(crate) struct Asked(Vec<(usize, mpsc::Receiver<Vec<u8>>)>);

impl Asked {
    /// The answers that come, by rank.
    pub(crate) fn answers<T>(self, read: impl Fn(&mut Reader<'_>) -> Option<T>) -> Vec<(usize, T)> {
        let answer = |(hand, answer): (usize, mpsc::Receiver<Vec<u8>>)| {
            let bytes = answer.recv_timeout(PATIENCE).ok()?;
            Some((hand, read(&mut Reader(&bytes))?))
        };
        self.0.into_iter().filter_map(answer).collect()
    }
}

impl CrewStep {
    pub(crate) fn new(crew: &Arc<Crew>, membership: Membership, key: StepKey, pes: usize) -> Self {
        Self { crew: Arc::clone(crew), membership, key, pes }
    }

    /// The members whose step it is.
    pub(crate) fn epoch(&self) -> u64 {
        self.membership.epoch
    }

    fn ask(&self, what: impl Fn(usize) -> What) -> Asked {
        let hands = self
            .membership
            .members
            .iter()
            .filter(|rank| **rank != self.crew.rank() && !self.membership.share(**rank, self.pes).is_empty());
        let ask = |&hand: &usize| {
            let question = Question { field: self.key.field, step: self.key.step, what: what(hand) };
            (hand, self.crew.ask(hand, &question))
        };
        Asked(hands.map(ask).collect())
    }

    /// Makes the hands load it: the ranges of their values.
    pub(crate) fn load(&self) -> Asked {
        self.ask(|_| What::Load)
    }

    pub(crate) fn count(&self, over: ValueRange) -> Asked {
        self.ask(|_| What::Count([over.lo, over.hi]))
    }

    pub(crate) fn bricks(&self, level: u32, bits: CodeBits) -> Asked {
        self.ask(|_| What::Bricks { level, bits: bits.bits() })
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
        let runs = self.runs(volume, camera);
        let asked = self.ask(|hand| What::Image {
            camera: *camera,
            transfer_function: transfer_function.clone(),
            size,
            sample_step,
            runs: of(&runs, hand),
        });
        let own_runs = of(&runs, self.crew.rank());
        let own = pool.install(|| render_runs(volume, camera, transfer_function, size, sample_step, &own_runs));
        let made = self.in_order(&runs, own, asked.answers(|reader| reader.patches(Precision::Single)));
        Rendering { image: pool.install(|| composite_runs(size, &made)), samples: 0 }
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
        let runs = self.runs(volume, &key.camera);
        let mut made = Vec::new();
        if let Some(depths) = depths {
            let asked = self.ask(|hand| What::Slabs {
                camera: key.camera,
                transfer_function: transfer_function.clone(),
                slabs: key.slabs,
                sample_step,
                depths,
                runs: of(&runs, hand),
            });
            let own_runs = of(&runs, self.crew.rank());
            let own = pool.install(|| cast_runs(volume, key, transfer_function, sample_step, depths, &own_runs));
            made = self.in_order(&runs, own, asked.answers(|reader| reader.patches(Precision::Half)));
        }
        pool.install(|| composite_slabs(volume, key, depths, sample_step, &made))
    }

    fn depths(
        &self,
        volume: &Volume,
        key: &KeyView,
        transfer_function: &TransferFunction,
        pool: &ThreadPool,
    ) -> Option<[f64; 2]> {
        let asked = self.ask(|_| What::Depths { camera: key.camera, transfer_function: transfer_function.clone() });
        let own = pool.install(|| visible_depths(volume, key, transfer_function));
        let others = asked.answers(|reader| reader.depths()).into_iter().map(|(_, depths)| depths);
        others.chain([own]).flatten().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
    }

    fn runs(&self, volume: &Volume, camera: &Camera) -> Vec<(usize, Vec<usize>)> {
        runs(volume, camera, |pe| self.membership.owner(pe, self.pes))
    }

    /// What the processes have made of their runs, in the order of all runs; nothing of those who have not answered.
    fn in_order(
        &self,
        runs: &[(usize, Vec<usize>)],
        own: Vec<Vec<Patch>>,
        others: Vec<(usize, Vec<Vec<Patch>>)>,
    ) -> Vec<Vec<Patch>> {
        let mut made: HashMap<usize, _> =
            others.into_iter().map(|(hand, patches)| (hand, patches.into_iter())).collect();
        made.insert(self.crew.rank(), own.into_iter());
        runs.iter().map(|(owner, _)| made.get_mut(owner).and_then(Iterator::next).unwrap_or_default()).collect()
    }
}

fn of(runs: &[(usize, Vec<usize>)], owner: usize) -> Vec<Vec<usize>> {
    runs.iter().filter(|(other, _)| *other == owner).map(|(_, run)| run.clone()).collect()
}

/// Ranges of parts as that of the whole.
pub(crate) fn range_of(own: Option<ValueRange>, asked: Asked) -> Option<ValueRange> {
    let others = asked.answers(|reader| reader.range()).into_iter().map(|(_, range)| range);
    others.chain([own]).flatten().reduce(ValueRange::union)
}

/// Adds what the hands have counted.
pub(crate) fn add_counts(own: &mut FieldStatistics, asked: Asked) {
    for (_, counts) in asked.answers(|reader| reader.numbers()) {
        let Some((missing, bins)) = counts.split_last() else { continue };
        own.missing += missing;
        own.histogram.iter_mut().zip(bins).for_each(|(own, other)| *own += other);
        own.finite += bins.iter().sum::<u64>();
    }
}

/// Bricks by PE, of all processes that have answered.
pub(crate) fn all_bricks(
    first: usize,
    own: Vec<Vec<EncodedBrick>>,
    step: Option<(&CrewStep, Asked)>,
) -> Vec<(usize, Vec<EncodedBrick>)> {
    let numbered = |first: usize, of_pe: Vec<Vec<EncodedBrick>>| {
        of_pe.into_iter().enumerate().map(move |(i, bricks)| (first + i, bricks))
    };
    let mut all: Vec<_> = numbered(first, own).collect();
    if let Some((step, asked)) = step {
        for (hand, of_pe) in asked.answers(|reader| reader.bricks()) {
            all.extend(numbered(step.membership.share(hand, step.pes).start, of_pe));
        }
    }
    all.sort_by_key(|(pe, _)| *pe);
    all
}
