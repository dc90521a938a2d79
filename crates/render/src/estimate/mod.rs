//! How close each proxy would come to the exact image, and at how many bytes, before any is made.
//!
//! A thousand rays are cast exactly, and as a viewer would see them through each proxy: its samples are taken from the field
//! where such a ray needs them, and nowhere else. Bytes are those of a few tiles or bricks, encoded, times how many there are. Of a
//! volume that several processes have parts of, rays see the part that is here; bytes are those of the whole, if the other parts are
//! like it. Held to measured figures in `tests.rs`; how well, in `docs/src/proxies.md`.

mod bytes;
mod levels;
mod models;
mod segments;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use self::levels::Level;
use self::models::{Marched, Model};
use crate::key_rays::rays_of_box;
use crate::{Camera, KeyView, Pyramid, TransferFunction, View, Volume};

/// Rays along the edge of a probe image.
const PROBE_EDGE: usize = 32;
/// Where in their cells rays of one row, or column, lie: multiples of these are spread most evenly over a square (Roberts 2018).
const SPREAD: [f64; 2] = [0.754_877_7, 0.569_840_3];
/// Distance of samples that stands for the truth.
const TRUE_STEP: f64 = 0.5;
/// Opacity from which on a ray belongs to the foreground.
const FOREGROUND: f32 = 1.0 / 255.0;
/// Least mean squared error, in squares of 8-bit codes: what lies below looks exact.
const LEAST_ERROR: f64 = 1e-3;
/// Rays of a view that must see something before anything is said about it.
const FEWEST_RAYS: u32 = 4;

/// What can be sent, and how finely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Bricks of 8 bits.
    Bricks {
        /// Level of detail, 0 the finest.
        level: u32,
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
        let models: Vec<Model<'a>> = forms.par_iter().with_max_len(1).map(|form| Model::new(self, *form)).collect();
        let (errors, bytes) = rayon::join(
            || Probe::new(self, views, &models).map(|probe| probe.errors()).unwrap_or_default(),
            || forms.par_iter().zip(&models).map(|(form, model)| bytes::of(self, *form, model)).collect::<Vec<_>>(),
        );
        let predict = |(number, (form, bytes)): (usize, (&Form, u64))| {
            if let Form::Segments { segments } = form {
                return segments::predict(self, *segments, views.len());
            }
            let of_view = |view| errors.psnr_db(number, view, &models[number]);
            let psnr_db = (0..views.len()).map(of_view).collect::<Option<_>>().unwrap_or_default();
            Prediction { form: *form, bytes, psnr_db }
        };
        forms.iter().zip(bytes).enumerate().map(predict).collect()
    }

    /// Part of the grid's samples that is here.
    fn share(&self) -> f64 {
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

/// Rays that are cast exactly, and through models.
struct Probe<'a> {
    exact: Marched<'a>,
    models: &'a [Model<'a>],
    views: Vec<View>,
}

impl<'a> Probe<'a> {
    /// `None` where the volume has no finite value.
    fn new(subject: &Subject<'a>, views: &[Camera], models: &'a [Model<'a>]) -> Option<Self> {
        let (volume, function) = (subject.volume, subject.transfer_function);
        let range = function.resolved_range(volume.range())?;
        let exact = Marched::new(volume, function, range, TRUE_STEP, || Level::exact(volume));
        let edges = volume.placement().edges;
        let views = views.iter().map(|camera| rays_of_box(camera, edges, subject.aspect, PROBE_EDGE)).collect();
        Some(Self { exact, models, views })
    }

    fn errors(&self) -> Errors {
        let nothing = || Errors { views: self.views.len(), sums: vec![(0.0, 0); self.views.len() * self.models.len()] };
        let rays = self.views.len() * PROBE_EDGE * PROBE_EDGE;
        let add = |mut errors: Errors, ray: usize| {
            self.cast(ray, &mut errors);
            errors
        };
        (0..rays).into_par_iter().with_max_len(64).fold(nothing, add).reduce(nothing, Errors::merged)
    }

    fn cast(&self, ray: usize, errors: &mut Errors) {
        let number = ray / PROBE_EDGE.pow(2);
        let [x, y] = probe_place(ray % PROBE_EDGE.pow(2));
        let (eye, direction) = (self.views[number].eye, self.views[number].direction(x, y));
        let color = self.exact.color(eye, direction);
        if color[3] <= FOREGROUND {
            return;
        }
        let truth = codes(color);
        for (place, model) in self.models.iter().enumerate() {
            let seen = codes(model.color(eye, direction));
            let (sum, count) = &mut errors.sums[place * self.views.len() + number];
            (*sum, *count) = (*sum + error_of(seen, truth), *count + 1);
        }
    }
}

/// Squared errors in squares of 8-bit codes, and how many, of each model and view.
#[derive(Default)]
struct Errors {
    views: usize,
    sums: Vec<(f64, u32)>,
}

impl Errors {
    fn merged(mut self, other: Self) -> Self {
        for (mine, theirs) in self.sums.iter_mut().zip(other.sums) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
        }
        self
    }

    /// PSNR of a view; over all views where the model errs alike from everywhere. `None` where too few rays see anything.
    fn psnr_db(&self, model: usize, view: usize, kind: &Model<'_>) -> Option<f64> {
        let of_model = self.sums.get(model * self.views..(model + 1) * self.views)?;
        let taken = if kind.is_alike_from_everywhere() { of_model } else { &of_model[view..=view] };
        let (sum, count) = taken.iter().fold((0.0, 0), |(sum, count), more| (sum + more.0, count + more.1));
        (count >= FEWEST_RAYS).then(|| psnr_db(sum / f64::from(count) + kind.noise()))
    }
}

/// Where a ray of a probe image lies, in its pixels.
fn probe_place(ray: usize) -> [f64; 2] {
    let [column, row] = [ray % PROBE_EDGE, ray / PROBE_EDGE].map(|n| n as f64);
    // Rays of a row or column do not lie in line: what is regular itself is met everywhere.
    [column + (row * SPREAD[0]).fract(), row + (column * SPREAD[1]).fract()]
}

/// Mean squared error of a pixel, in squares of 8-bit codes.
fn error_of(seen: [u8; 3], truth: [u8; 3]) -> f64 {
    (0..3).map(|c| (f64::from(seen[c]) - f64::from(truth[c])).powi(2)).sum::<f64>() / 3.0
}

/// PSNR of a mean squared error.
fn psnr_db(mean: f64) -> f64 {
    10.0 * (255.0 * 255.0 / mean.max(LEAST_ERROR)).log10()
}

/// Colours on black in 8 bits.
fn codes(color: [f32; 4]) -> [u8; 3] {
    std::array::from_fn(|c| (color[c] * 255.0 + 0.5) as u8)
}
