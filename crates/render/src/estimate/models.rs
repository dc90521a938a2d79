//! What rays show through proxies that are not made: each takes its samples from the field where the ray needs them.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use super::levels::{Level, Spot, Visible, rounded};
use super::{Form, Subject, TRUE_STEP};
use crate::cpu::table::Table;
use crate::integrals::Integrals;
use crate::interpolation::{bilinear, texel_cell};
use crate::scalar_slabs::{Faces, Quantiser, ScalarKeyframe, VALUE_CODES, reached};
use crate::slabs::{Layers, samples_per_slab, visible_depths};
use crate::volume::Placement;
use crate::world_box::WorldBox;
use crate::{SlabGeometry, View};

/// Samples of a ray that are read before any is composited: reading one need not wait for another.
const AHEAD: usize = 16;
/// The same of those in a slab.
const AHEAD_IN_SLAB: usize = 4;
/// Opacity at which a ray ends.
const OPAQUE: f32 = 1.0 - 1.0 / 1024.0;
/// Mean squared error, in squares of 8-bit codes, that codes of colour layers add: 57 dB where nothing else errs.
const CODES_OF_LAYERS: f64 = 0.12;

/// A proxy as rays see it.
pub(super) enum Model<'a> {
    Bricks(Marched<'a>),
    Layers(LayerModel<'a>),
    Faces(FaceModel<'a>),
    /// There is nothing to see.
    Nothing,
}

/// What models have in common.
pub(super) struct Base<'a> {
    /// The field itself, as finely sampled as stands for the truth.
    pub(super) exact: Marched<'a>,
    range: [f32; 2],
    /// Of samples as far apart as a viewer takes them.
    table: Arc<Table>,
    visible: Visible,
    /// Between which there is anything to see from the key view, once that is asked for.
    depths: OnceLock<Option<[f64; 2]>>,
}

impl<'a> Base<'a> {
    /// `None` where the volume has no finite value.
    pub(super) fn new(subject: &Subject<'a>) -> Option<Self> {
        let (volume, function) = (subject.volume, subject.transfer_function);
        let range = function.resolved_range(volume.range())?;
        let step = volume.placement(subject.key.stretch).step;
        let table = |sample_step: f64| Arc::new(Table::new(function, range, sample_step * step));
        let (finer, table) = rayon::join(|| table(TRUE_STEP), || table(1.0));
        let visible = Visible::new(&table, volume);
        let exact = Marched::new(subject, finer, TRUE_STEP, Level::exact(subject).shown_by(&visible, volume));
        Some(Self { exact, range, table, visible, depths: OnceLock::new() })
    }
}

impl<'a> Model<'a> {
    pub(super) fn new(subject: &Subject<'a>, base: &Base<'a>, form: Form) -> Self {
        match form {
            Form::Bricks { level, bits } => {
                let kept = Level::of_bricks(subject, level, bits);
                let kept = if level == 0 { kept.shown_by(&base.visible, subject.volume) } else { kept };
                Self::Bricks(Marched::new(subject, Arc::clone(&base.table), 1.0, kept))
            }
            Form::Slabs { .. } => LayerModel::new(subject, form, base).map_or(Self::Nothing, Self::Layers),
            Form::ScalarSlabs { .. } => FaceModel::new(subject, form, base.range).map_or(Self::Nothing, Self::Faces),
            // They are predicted by themselves.
            Form::Segments { .. } => Self::Nothing,
        }
    }

    /// Associated colour of a ray; `met` is what models before have met along it.
    pub(super) fn color(&self, eye: [f64; 3], direction: [f64; 3], met: &mut Met) -> [f32; 4] {
        match self {
            Self::Bricks(marched) => marched.color(eye, direction),
            Self::Layers(model) => model.layers.composite(eye, direction, |slab, at| model.mixed(slab, at)),
            Self::Faces(model) => model.color(eye, direction, met),
            Self::Nothing => [0.0; 4],
        }
    }

    /// Whether the angle makes no difference to its error.
    pub(super) fn is_alike_from_everywhere(&self) -> bool {
        matches!(self, Self::Bricks(_))
    }

    /// Mean squared error that is not that of its samples.
    pub(super) fn noise(&self) -> f64 {
        if matches!(self, Self::Layers(_)) { CODES_OF_LAYERS } else { 0.0 }
    }
}

/// Bricks, sampled along the ray.
pub(super) struct Marched<'a> {
    level: Level<'a>,
    table: Arc<Table>,
    dt: f64,
    shown: WorldBox,
}

impl<'a> Marched<'a> {
    /// Samples lie `sample_step` of the finest level's smallest distances apart, as `table` is for.
    fn new(subject: &Subject<'_>, table: Arc<Table>, sample_step: f64, level: Level<'a>) -> Self {
        let Placement { edges, step, .. } = subject.volume.placement(subject.key.stretch);
        Self { level, table, dt: sample_step * step, shown: WorldBox::cropped(edges, subject.key.crop) }
    }

    /// Associated colour of a ray.
    pub(super) fn color(&self, eye: [f64; 3], direction: [f64; 3]) -> [f32; 4] {
        let mut color = [0.0; 4];
        let Some((enter, leave)) = self.shown.passed(eye, direction) else { return color };
        let mut part = 0;
        let samples = ((leave - enter) / self.dt - 0.5).ceil().max(0.0) as usize;
        let [start, step] = self.level.line(eye, direction);
        let mut spot = |k: usize| {
            let t = enter + (k as f64 + 0.5) * self.dt;
            self.level.spot(std::array::from_fn(|axis| start[axis] + t * step[axis]), &mut part)
        };
        for first in (0..samples).step_by(AHEAD) {
            let mut spots = [None; AHEAD];
            spots.iter_mut().zip(first..samples).for_each(|(place, k)| *place = spot(k));
            for spot in spots.iter().flatten() {
                put_behind(&mut color, self.table.entry(self.level.read(spot)));
            }
            if color[3] > OPAQUE {
                break;
            }
        }
        color
    }
}

pub(super) fn put_behind(color: &mut [f32; 4], behind: [f32; 4]) {
    let through = 1.0 - color[3];
    color.iter_mut().zip(behind).for_each(|(sum, behind)| *sum += through * behind);
}

/// A sample of which a part lies in the box.
fn thinned(color: [f32; 4], share: f32) -> [f32; 4] {
    let alpha = 1.0 - (1.0 - color[3]).max(0.0).powf(share);
    let scale = if color[3] > 0.0 { alpha / color[3] } else { 0.0 };
    color.map(|c| c * scale)
}

/// Layers of colour, cast where they are looked at.
pub(super) struct LayerModel<'a> {
    pub(super) layers: Layers,
    level: Level<'a>,
    table: Table,
    samples: usize,
    shown: WorldBox,
}

impl<'a> LayerModel<'a> {
    /// `None` where nothing is visible.
    fn new(subject: &Subject<'a>, form: Form, base: &Base<'a>) -> Option<Self> {
        let (volume, function, key) = (subject.volume, subject.transfer_function, subject.key_view(form)?);
        // Slabs of one key view span the same, however many they are.
        let depths = (*base.depths.get_or_init(|| visible_depths(volume, &key, function)))?;
        let edges = volume.placement(key.camera.stretch).edges;
        let mut geometry: SlabGeometry = key.geometry(edges);
        geometry.narrow(depths);
        let samples = samples_per_slab(volume, &key, &geometry, 1.0);
        let table = Table::new(function, base.range, geometry.thickness() / samples as f64);
        let layers = Layers { key: key.view(), geometry };
        let level = Level::exact(subject).shown_by(&base.visible, volume);
        Some(Self { shown: layers.key.shown(edges), layers, level, table, samples })
    }

    /// Associated colour of a layer at a place in texels, mixed from the four around; `None` where it is empty.
    fn mixed(&self, slab: usize, at: [f64; 2]) -> Option<[f32; 4]> {
        let key = &self.layers.key;
        let (low, [across, down]) = texel_cell(at, [key.width, key.height])?;
        let shares = [(1.0 - across) * (1.0 - down), across * (1.0 - down), (1.0 - across) * down, across * down];
        let mut color = [0.0; 4];
        for (texel, share) in around(key, low).into_iter().zip(shares) {
            color.iter_mut().zip(self.texel(slab, texel)).for_each(|(sum, texel)| *sum += share * texel);
        }
        (color[3] > 0.0).then_some(color)
    }

    /// Associated colour of a texel.
    pub(super) fn texel(&self, slab: usize, at: [usize; 2]) -> [f32; 4] {
        let (key, geometry) = (&self.layers.key, &self.layers.geometry);
        let direction = at_depth_one(key, at);
        let (mut color, mut part) = ([0.0; 4], 0);
        let length = geometry.thickness() / self.samples as f64;
        let front = f64::from(geometry.near) + slab as f64 * geometry.thickness();
        let Some((enter, leave)) = self.shown.passed(key.eye, direction) else { return color };
        let [start, step] = self.level.line(key.eye, direction);
        // Where a sample is read, and which share of it lies in the box.
        let mut spot = |sample: usize| -> Option<(Spot, f32)> {
            let near = front + sample as f64 * length;
            let (from, to) = (near.max(enter), (near + length).min(leave));
            let t = (from + to) / 2.0;
            let spot = || self.level.spot(std::array::from_fn(|axis| start[axis] + t * step[axis]), &mut part);
            (from < to).then(spot).flatten().map(|spot| (spot, ((to - from) / length) as f32))
        };
        for first in (0..self.samples).step_by(AHEAD_IN_SLAB) {
            let mut spots = [None; AHEAD_IN_SLAB];
            let count = AHEAD_IN_SLAB.min(self.samples - first);
            spots[..count].iter_mut().zip(first..).for_each(|(place, sample)| *place = spot(sample));
            for (spot, share) in spots[..count].iter().flatten() {
                let whole = self.table.entry(self.level.read(spot));
                put_behind(&mut color, if *share < 0.999 { thinned(whole, *share) } else { whole });
            }
        }
        color
    }
}

/// From the eye to where a texel lies at depth 1.
fn at_depth_one(key: &View, [x, y]: [usize; 2]) -> [f64; 3] {
    key.at_depth_one(x as f64 + 0.5, y as f64 + 0.5)
}

/// The four texels whose first is `at`, as far as there are so many.
fn around(key: &View, [x, y]: [usize; 2]) -> [[usize; 2]; 4] {
    let [right, below] = [(x + 1).min(key.width - 1), (y + 1).min(key.height - 1)];
    [[x, y], [right, y], [x, below], [right, below]]
}

/// The values of faces that a ray has met.
#[derive(Default)]
pub(super) struct Met {
    /// Slabs between them.
    slabs: usize,
    /// NaN where none is known.
    values: Vec<f32>,
}

impl Met {
    /// Another ray is cast.
    pub(super) fn clear(&mut self) {
        self.slabs = 0;
    }
}

/// Faces, sampled where they are looked at.
pub(super) struct FaceModel<'a> {
    pub(super) faces: Faces,
    shown: WorldBox,
    level: Level<'a>,
    integrals: Integrals,
    pub(super) quantiser: Quantiser,
    /// Least and largest value, and distance of codes.
    kept: [f32; 3],
    /// Edges of the box that holds all texels that are sent.
    reached: [f64; 3],
}

impl<'a> FaceModel<'a> {
    /// `None` of what is no scalar slabs.
    fn new(subject: &Subject<'a>, form: Form, range: [f32; 2]) -> Option<Self> {
        let (volume, key) = (subject.volume, subject.key_view(form)?);
        let edges = volume.placement(key.camera.stretch).edges;
        let kept = ScalarKeyframe::values_kept(volume.range(), subject.transfer_function.range);
        let geometry = key.geometry(edges).in_front_of_the_eye();
        Some(Self {
            reached: reached(volume, &key.view(), &geometry),
            shown: WorldBox::cropped(edges, key.camera.crop),
            faces: Faces { key: key.view(), geometry },
            level: Level::exact(subject),
            integrals: Integrals::new(subject.transfer_function, range),
            quantiser: Quantiser::new([kept.lo, kept.hi]),
            kept: [kept.lo, kept.hi, (kept.hi - kept.lo) / f32::from(VALUE_CODES - 1)],
        })
    }

    /// Associated colour of a ray. Where another has so many times the slabs, this one's faces are among its faces.
    fn color(&self, eye: [f64; 3], direction: [f64; 3], met: &mut Met) -> [f32; 4] {
        let slabs = usize::from(self.faces.geometry.slabs);
        let composite = |value: &dyn Fn(usize, [f64; 2]) -> f32| {
            self.faces.composite(&self.shown, eye, direction, &self.integrals, value)
        };
        if met.slabs > slabs && met.slabs.is_multiple_of(slabs) {
            let every = met.slabs / slabs;
            let known = |face: usize| Some(met.values[every * face]).filter(|value| !value.is_nan());
            return composite(&|face, at| known(face).unwrap_or_else(|| self.value(face, at)));
        }
        met.slabs = slabs;
        met.values.clear();
        met.values.resize(slabs + 1, f32::NAN);
        let values = Cell::from_mut(&mut met.values[..]).as_slice_of_cells();
        composite(&|face, at| {
            let value = self.value(face, at);
            values[face].set(value);
            value
        })
    }

    /// The value of a face at a place in texels, mixed from the four around.
    fn value(&self, face: usize, at: [f64; 2]) -> f32 {
        let key = &self.faces.key;
        let Some((low, weight)) = texel_cell(at, [key.width, key.height]) else { return f32::NAN };
        let mut part = 0;
        bilinear(around(key, low).map(|texel| self.texel(face, texel, &mut part)), weight)
    }

    pub(super) fn texel(&self, face: usize, at: [usize; 2], part: &mut usize) -> f32 {
        let (key, geometry) = (&self.faces.key, &self.faces.geometry);
        let direction = at_depth_one(key, at);
        let t = f64::from(geometry.near) + face as f64 * geometry.thickness();
        let world: [f64; 3] = std::array::from_fn(|axis| key.eye[axis] + t * direction[axis]);
        if (0..3).any(|axis| world[axis].abs() > self.reached[axis] / 2.0) {
            return f32::NAN;
        }
        let ([lo, hi, step], value) = (self.kept, self.level.value(world, part));
        if step > 0.0 { lo + rounded((value.clamp(lo, hi) - lo) / step) * step } else { value }
    }
}
