//! How close each proxy would come to the exact image, and at how many bytes, before any is made.
//!
//! Some hundred rays are cast exactly, and as a viewer would see them through each proxy, and up to a thousand while it is uncertain how much that
//! errs: its samples are taken from the field where such a ray needs them, and nowhere else. Bytes are those of a few tiles or bricks, encoded, times how many there are. Of a
//! volume that several processes have parts of, rays see the part that is here; bytes are those of the whole, if the other parts are
//! like it: [`Prediction::of_parts`] joins what is predicted of all. Held to measured figures in `tests.rs`; how well, in `docs/src/proxies.md`.

mod bytes;
mod levels;
mod models;
mod segments;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use visapult_volume::ValueRange;

use self::models::{Base, Met, Model};
use crate::kept_range::bricks_keep;
use crate::key_rays::rays_of_box;
use crate::{Camera, CodeBits, KeyView, Pyramid, TransferFunction, View, Volume};

/// Rays along the edge of a probe image.
const PROBE_EDGE: usize = 24;
/// Rays of a view, at most.
const RAYS: usize = PROBE_EDGE * PROBE_EDGE;
/// Parts of them that are cast at a time.
const BATCHES: usize = 4;
const BATCH: usize = RAYS / BATCHES;
/// Further rays in each cell along outlines, where few rays may carry most of the error.
const FURTHER: usize = 3;
/// One cell in so many counts as such, at most.
const OUTLINED: usize = 3;
/// Where in their cells rays of one row, or column, lie: multiples of these are spread most evenly over a square (Roberts 2018).
const SPREAD: [f64; 2] = [0.754_877_7, 0.569_840_3];
/// Distance of samples that stands for the truth.
const TRUE_STEP: f64 = 0.5;
/// Opacity from which on a ray belongs to the foreground.
const FOREGROUND: f32 = 1.0 / 255.0;
/// Least mean squared error, in squares of 8-bit codes: what lies below looks exact.
const LEAST_ERROR: f64 = 1e-3;
/// Rays of a view that must see something before anything is said about it.
const FEWEST_RAYS: f64 = 4.0;
/// The same before it is said that it is known.
const MANY_RAYS: f64 = 48.0;
/// Standard deviation of a mean squared error that is known, as a share of it: 0.5 dB.
const KNOWN_TO: f64 = 0.12;
/// Mean squared error that few rays may carry without any of them having been met: 50 dB.
const NO_ERROR: f64 = 0.65;

/// What can be sent, and how finely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Bricks.
    Bricks {
        /// Level of detail, 0 the finest.
        level: u32,
        /// Width of their codes.
        bits: CodeBits,
    },
    /// Slabs of colour, with as many rays as [`KeyView::of_slabs`] says.
    Slabs {
        /// How many.
        slabs: u16,
    },
    /// Scalar slabs, with as many rays as [`KeyView::of_scalar_slabs`] says.
    ScalarSlabs {
        /// How many.
        slabs: u16,
    },
    /// Segments, with as many rays as [`SegmentKey::of_picture`](crate::SegmentKey::of_picture) says.
    Segments {
        /// Most of a ray.
        segments: u16,
    },
}

/// What one proxy would be worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The proxy.
    pub form: Form,
    /// Its bytes on the wire.
    pub bytes: u64,
    /// PSNR over the foreground in dB, for each view that was asked for; at most 78. Empty where too few rays see anything to tell.
    pub psnr_db: Vec<f64>,
    /// Share of the rays that see anything.
    pub seen: f64,
}

impl Prediction {
    fn of_nothing(form: Form) -> Self {
        Self { form, bytes: 0, psnr_db: Vec::new(), seen: 0.0 }
    }

    /// What a proxy of a whole would be worth, where this is predicted for parts of it, each with its share of the samples: about that of the
    /// parts that are seen, by how much of them that is. Parts lie side by side, or one behind another and hidden by it. `None` of no parts.
    #[must_use]
    pub fn of_parts(parts: &[(f64, Self)]) -> Option<Self> {
        let form = parts.first()?.1.form;
        let weighted = |value: &dyn Fn(&(f64, Self)) -> [f64; 2]| {
            let [sum, weights] =
                parts.iter().map(value).fold([0.0; 2], |a, [value, weight]| [a[0] + value * weight, a[1] + weight]);
            if weights > 0.0 { sum / weights } else { 0.0 }
        };
        let views = parts.iter().map(|(_, part)| part.psnr_db.len()).max().unwrap_or(0);
        let mean_squared = |view: usize| {
            weighted(&|(_, part)| part.psnr_db.get(view).map_or([0.0; 2], |db| [mean_of_db(*db), part.seen]))
        };
        Some(Self {
            form,
            bytes: weighted(&|(share, part)| [part.bytes as f64, *share]) as u64,
            psnr_db: (0..views).map(|view| psnr_db(mean_squared(view))).collect(),
            seen: parts.iter().map(|(_, part)| part.seen).sum::<f64>().min(1.0),
        })
    }
}

/// What is shown, and from where proxies would be made.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The field, or what this process has of it.
    pub volume: &'a Volume,
    /// Coarser levels of its blocks.
    pub pyramids: &'a [Pyramid],
    /// Colours and opacities.
    pub transfer_function: &'a TransferFunction,
    /// The key view.
    pub key: Camera,
    /// Shape of the pictures, width over height.
    pub aspect: f64,
}

impl<'a> Subject<'a> {
    /// What each of `forms` would be worth to somebody who looks from `views`.
    ///
    /// # Panics
    /// If a form is bricks of a level that the pyramids lack.
    pub fn predict(&self, views: &[Camera], forms: &[Form]) -> Vec<Prediction> {
        Predictor::new(*self, views).predict(forms)
    }

    /// What of the values bricks of so many bits would keep for the transfer function, if not all.
    fn bricks_keep(&self, bits: CodeBits) -> Option<ValueRange> {
        bricks_keep(self.volume.range(), self.transfer_function.range, None, bits)
    }

    /// Part of the grid's samples that is here.
    pub fn share(&self) -> f64 {
        let owned: usize = self.volume.blocks().iter().map(|block| block.owned.volume()).sum();
        owned.max(1) as f64 / self.volume.grid().sample_count() as f64
    }

    /// Of slabs of either kind; `None` of what has none.
    fn key_view(&self, form: Form) -> Option<KeyView> {
        match form {
            Form::ScalarSlabs { slabs } => Some(KeyView::of_scalar_slabs(self.volume, self.key, slabs, self.aspect)),
            Form::Slabs { slabs } => Some(KeyView::of_slabs(self.volume, self.key, slabs, self.aspect)),
            Form::Bricks { .. } | Form::Segments { .. } => None,
        }
    }
}

/// Predicts what forms would be worth from some views: what is needed for several of them is made once.
pub struct Predictor<'a> {
    subject: Subject<'a>,
    views: usize,
    /// `None` where the volume has no finite value.
    probe: Option<Probe<'a>>,
}

impl<'a> Predictor<'a> {
    /// For those who look from `views`.
    pub fn new(subject: Subject<'a>, views: &[Camera]) -> Self {
        Self { subject, views: views.len(), probe: Probe::new(&subject, views) }
    }

    /// What each of `forms` would be worth.
    ///
    /// # Panics
    /// If a form is bricks of a level that the pyramids lack.
    pub fn predict(&self, forms: &[Form]) -> Vec<Prediction> {
        let Some(probe) = &self.probe else {
            return forms.iter().map(|form| Prediction::of_nothing(*form)).collect();
        };
        let (subject, base) = (&self.subject, &probe.base);
        let models: Vec<Model<'a>> =
            forms.par_iter().with_max_len(1).map(|form| Model::new(subject, base, *form)).collect();
        let (errors, bytes) = rayon::join(|| probe.errors(&models), || bytes::of(subject, forms, &models));
        let predict = |(number, (form, bytes)): (usize, (&Form, u64))| {
            if let Form::Segments { segments } = form {
                return segments::predict(subject, probe, *segments, self.views);
            }
            let of_view = |view| errors.psnr_db(number, view, &models[number]);
            let psnr_db = (0..self.views).map(of_view).collect::<Option<_>>().unwrap_or_default();
            Prediction { form: *form, bytes, psnr_db, seen: errors.seen(number) }
        };
        forms.iter().zip(bytes).enumerate().map(predict).collect()
    }
}

/// Rays that are cast exactly, and through models.
struct Probe<'a> {
    base: Base<'a>,
    views: Vec<View>,
    /// Colours of the rays of all views that have been cast exactly; none where nothing is seen.
    truths: Vec<OnceLock<Option<[u8; 3]>>>,
}

impl<'a> Probe<'a> {
    /// `None` where the volume has no finite value.
    fn new(subject: &Subject<'a>, views: &[Camera]) -> Option<Self> {
        let edges = subject.volume.placement(subject.key.stretch).edges;
        let views: Vec<View> = views.iter().map(|view| rays_of_box(view, edges, subject.aspect, PROBE_EDGE)).collect();
        let truths = std::iter::repeat_with(OnceLock::new).take(views.len() * RAYS * (1 + FURTHER)).collect();
        Some(Self { base: Base::new(subject)?, views, truths })
    }

    /// From where a ray of a view goes, and in which direction.
    fn ray(&self, view: usize, ray: usize) -> ([f64; 3], [f64; 3]) {
        let [x, y] = probe_place(ray, PROBE_EDGE);
        (self.views[view].eye, self.views[view].direction(x, y))
    }

    /// What a ray of a view shows of the field itself; `None` where that is nothing.
    fn truth(&self, view: usize, ray: usize) -> Option<[u8; 3]> {
        let cast = || {
            let (eye, direction) = self.ray(view, ray);
            foreground(self.base.exact.color(eye, direction))
        };
        *self.truths[view * RAYS * (1 + FURTHER) + ray].get_or_init(cast)
    }

    /// Casts rays until it is known well enough how all models err; if need be, more of them along outlines.
    fn errors(&self, models: &[Model<'a>]) -> Errors {
        let mut errors = Errors::none(self.views.len(), models.len());
        for batch in 0..BATCHES {
            if !errors.any_is_open(models) {
                break;
            }
            let of_view = |view| (0..BATCH).map(move |number| (view, in_batch(batch, number, PROBE_EDGE), 1.0));
            errors = errors.merged(self.errors_along((0..self.views.len()).flat_map(of_view).collect(), models));
        }
        if errors.any_is_open(models) {
            let of_view = |view| {
                let outlined = outlined(PROBE_EDGE, |ray| self.truth(view, ray));
                outlined
                    .into_iter()
                    .flat_map(move |ray| further(ray, RAYS))
                    .map(move |(ray, weight)| (view, ray, weight))
            };
            errors = errors.merged(self.errors_along((0..self.views.len()).flat_map(of_view).collect(), models));
        }
        errors
    }

    /// How models err along rays, each of a view, and with a weight.
    fn errors_along(&self, rays: Vec<(usize, usize, f64)>, models: &[Model<'a>]) -> Errors {
        let nothing = || (Errors::none(self.views.len(), models.len()), Met::default());
        let add = |(mut errors, mut met): (Errors, Met), ray| {
            self.cast(ray, models, &mut met, &mut errors);
            (errors, met)
        };
        let errors = rays.into_par_iter().with_max_len(32).fold(nothing, add).map(|(errors, _)| errors);
        errors.reduce(|| nothing().0, Errors::merged)
    }

    /// Casts a ray of a view through all models: they are compared, and must not have met other rays.
    fn cast(&self, (view, ray, weight): (usize, usize, f64), models: &[Model<'a>], met: &mut Met, errors: &mut Errors) {
        let number = self.views.len();
        // What errs alike from everywhere is looked at from one view along each ray.
        let cell = ray % RAYS;
        let is_turn = (cell / 2 + cell / PROBE_EDGE / 2) % number == view;
        let is_cast =
            |model: &Model<'_>| !matches!(model, Model::Nothing) && (is_turn || !model.is_alike_from_everywhere());
        if !models.iter().any(is_cast) {
            return;
        }
        let ((eye, direction), truth) = (self.ray(view, ray), self.truth(view, ray));
        met.clear();
        for (place, model) in models.iter().enumerate().filter(|(_, model)| is_cast(model)) {
            let sum = &mut errors.sums[place * number + view];
            sum.cast += weight;
            if let Some(truth) = truth {
                sum.add(error_of(codes(model.color(eye, direction, met)), truth), weight);
            }
        }
    }
}

/// Squared errors, in squares of 8-bit codes.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Rays that were cast, and those of them that see anything, by their weights.
    cast: f64,
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, error: f64, weight: f64) {
        let (sum, squares) = (weight * error, weight * error * error);
        *self = self.plus(&Self { cast: 0.0, count: weight, sum, squares });
    }

    fn plus(&self, more: &Self) -> Self {
        let (sum, squares) = (self.sum + more.sum, self.squares + more.squares);
        Self { cast: self.cast + more.cast, count: self.count + more.count, sum, squares }
    }

    /// Share of the rays that see anything.
    fn seen(&self) -> f64 {
        self.count / self.cast.max(1.0)
    }

    /// PSNR where models add so much `noise`; `None` where too few rays see anything.
    fn psnr_db(&self, noise: f64) -> Option<f64> {
        (self.count >= FEWEST_RAYS).then(|| psnr_db(self.sum / self.count + noise))
    }

    /// Whether more rays would tell little more. Where next to none err, those that do may not have been met: that takes all rays.
    fn is_known(&self) -> bool {
        if self.count < MANY_RAYS {
            return false;
        }
        let mean = self.sum / self.count;
        let deviation = ((self.squares / self.count - mean * mean).max(0.0) / self.count).sqrt();
        mean > NO_ERROR && deviation <= KNOWN_TO * mean
    }
}

/// How each model errs, seen from each view.
struct Errors {
    views: usize,
    sums: Vec<Sum>,
}

impl Errors {
    fn none(views: usize, models: usize) -> Self {
        Self { views, sums: vec![Sum::default(); views * models] }
    }

    fn merged(self, other: Self) -> Self {
        Self { views: self.views, sums: self.sums.iter().zip(&other.sums).map(|(a, b)| a.plus(b)).collect() }
    }

    /// From where what is seen of a model tells how it errs from a view: from everywhere, where it errs alike.
    fn of(&self, model: usize, view: usize, kind: &Model<'_>) -> Sum {
        let of_model = &self.sums[model * self.views..(model + 1) * self.views];
        let taken = if kind.is_alike_from_everywhere() { of_model } else { &of_model[view..=view] };
        taken.iter().fold(Sum::default(), |sum, more| sum.plus(more))
    }

    /// Whether more rays are to be cast for any model and view.
    fn any_is_open(&self, models: &[Model<'_>]) -> bool {
        let is_open = |(number, model): (usize, &Model<'_>)| {
            !matches!(model, Model::Nothing) && (0..self.views).any(|view| !self.of(number, view, model).is_known())
        };
        models.iter().enumerate().any(is_open)
    }

    fn seen(&self, model: usize) -> f64 {
        let of_model = &self.sums[model * self.views..(model + 1) * self.views];
        of_model.iter().fold(Sum::default(), |sum, more| sum.plus(more)).seen()
    }

    fn psnr_db(&self, model: usize, view: usize, kind: &Model<'_>) -> Option<f64> {
        self.of(model, view, kind).psnr_db(kind.noise())
    }
}

/// Of an image of so many rays along its `edge`, those of a batch are spread over it: every second of every second row.
fn in_batch(batch: usize, number: usize, edge: usize) -> usize {
    let half = edge / 2;
    let [column, row] = [number % half, number / half].map(|n| 2 * n);
    // The second is as far as can be from the first.
    let [right, below] = [[0, 0], [1, 1], [1, 0], [0, 1]][batch % BATCHES];
    (row + below) * edge + column + right
}

/// Where a ray of an image of so many rays along its `edge` lies, in its pixels; those beyond so many are further ones of the same cells.
fn probe_place(ray: usize, edge: usize) -> [f64; 2] {
    let (cell, further) = (ray % (edge * edge), (ray / (edge * edge)) as f64);
    let [column, row] = [cell % edge, cell / edge].map(|n| n as f64);
    // Rays of a row or column do not lie in line: what is regular itself is met everywhere.
    [column + ((row + further) * SPREAD[0]).fract(), row + ((column + further) * SPREAD[1]).fract()]
}

/// The cells of an image of so many rays along its `edge` where what they see differs most from what those beside them do.
fn outlined(edge: usize, truth: impl Fn(usize) -> Option<[u8; 3]> + Sync) -> Vec<usize> {
    let seen: Vec<[u8; 3]> = (0..edge * edge).into_par_iter().map(|ray| truth(ray).unwrap_or_default()).collect();
    let differs = |ray: usize| {
        let (column, row) = (ray % edge, ray / edge);
        let beside = [
            (column > 0).then(|| ray - 1),
            (column + 1 < edge).then(|| ray + 1),
            (row > 0).then(|| ray - edge),
            (row + 1 < edge).then(|| ray + edge),
        ];
        // Beyond the image is nothing to be seen.
        let of = |other: Option<usize>| error_of(seen[ray], other.map_or([0; 3], |other| seen[other]));
        beside.into_iter().map(of).fold(0.0, f64::max)
    };
    let mut cells: Vec<(f64, usize)> = (0..seen.len()).map(|ray| (differs(ray), ray)).collect();
    cells.retain(|(differs, _)| *differs > 0.0);
    cells.sort_by(|a, b| b.0.total_cmp(&a.0));
    cells.into_iter().take(seen.len() / OUTLINED).map(|(_, ray)| ray).collect()
}

/// Further rays of the cell of `ray`, of so many `rays`, and their weights: with it, which has been counted as one, they count as one.
fn further(ray: usize, rays: usize) -> impl Iterator<Item = (usize, f64)> {
    let weight = 1.0 / (1 + FURTHER) as f64;
    (0..=FURTHER).map(move |number| (ray + number * rays, if number == 0 { weight - 1.0 } else { weight }))
}

/// Mean squared error of a pixel, in squares of 8-bit codes.
fn error_of(seen: [u8; 3], truth: [u8; 3]) -> f64 {
    (0..3).map(|c| (f64::from(seen[c]) - f64::from(truth[c])).powi(2)).sum::<f64>() / 3.0
}

/// PSNR of a mean squared error.
fn psnr_db(mean: f64) -> f64 {
    10.0 * (255.0 * 255.0 / mean.max(LEAST_ERROR)).log10()
}

/// The mean squared error of a PSNR.
fn mean_of_db(db: f64) -> f64 {
    255.0 * 255.0 / 10.0_f64.powf(db / 10.0)
}

/// The colours of a ray that belongs to the foreground.
fn foreground(color: [f32; 4]) -> Option<[u8; 3]> {
    (color[3] > FOREGROUND).then(|| codes(color))
}

/// Colours on black in 8 bits.
fn codes(color: [f32; 4]) -> [u8; 3] {
    std::array::from_fn(|c| (color[c] * 255.0 + 0.5) as u8)
}
