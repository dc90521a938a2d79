//! Casts a tile of rays into layers: one partial image for each slab between parallel planes, for proxies.
//!
//! Samples lie at the same depths along the planes' normal for all rays, a whole number of them in every slab, and stand
//! for the length along the normal: the opacity of a layer is that of crossing it straight. Samples that the faces of
//! the box cut count by the part inside. No ray ends early: what is hidden here shows from elsewhere.

use super::caster::{Scene, SceneBlock, Visible};
use super::dispatch::{InstructionSet, Task};
use super::lanes::{Indices, LANES, Lanes, STRIDE};
use super::march::{BlockScene, sweep_of};
use super::rays::{PACKET_EDGE, RaySetup, Rays, SampleRange};
use crate::{TransferFunction, View, Volume};

/// Equally thick slabs between planes perpendicular to `normal`, nearest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LayerPlanes {
    /// Unit normal, away from the eye: the view direction, or an axis of the grid.
    pub(crate) normal: [f64; 3],
    /// Distance of the first plane from the eye along `normal`, in world units.
    pub(crate) near: f64,
    /// Distance of the last plane; what lies outside `near..far` is in no slab.
    pub(crate) far: f64,
    /// Number of slabs.
    pub(crate) count: usize,
    /// Samples in each slab.
    pub(crate) samples: usize,
}

/// Pixels of the key view's image, from column `x` and row `y` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileRect {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// The layers of one tile; reuse it for the next tile to keep its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerTile {
    width: usize,
    height: usize,
    /// `[slab, y, x]`, associated RGBA.
    rgba: Vec<[f32; 4]>,
    visible: Vec<bool>,
}

/// A volume seen through a transfer function, ready to be cast into the layers of one view.
pub(crate) struct LayerCaster<'a> {
    volume: &'a Volume,
    view: View,
    planes: LayerPlanes,
    visible: Option<Visible>,
    instruction_set: InstructionSet,
}

impl<'a> LayerCaster<'a> {
    /// Prepares to cast rays of `view` into `planes`.
    pub(crate) fn new(
        volume: &'a Volume,
        transfer_function: &TransferFunction,
        view: View,
        planes: LayerPlanes,
    ) -> Self {
        let visible =
            planes.are_usable().then(|| Visible::new(volume, transfer_function, planes.sample_length())).flatten();
        Self { volume, view, planes, visible, instruction_set: InstructionSet::best() }
    }

    /// The same, on another instruction set than the best.
    #[cfg(test)]
    pub(super) fn on(self, instruction_set: InstructionSet) -> Self {
        Self { instruction_set, ..self }
    }

    /// Casts the rays of `rect` through the blocks of `run`, PEs from front to back; gives the number of samples taken. `out` is
    /// overwritten. Runs on the calling thread.
    pub(crate) fn march(&self, run: &[usize], rect: &TileRect, out: &mut LayerTile) -> u64 {
        out.clear(rect, self.planes.count);
        let Some(visible) = &self.visible else { return 0 };
        let scene = Scene::new(self.volume, visible, &self.view, run);
        self.instruction_set.run(LayersTask { scene: &scene, rect, planes: &self.planes, out })
    }
}

impl LayerPlanes {
    pub(crate) fn are_usable(&self) -> bool {
        self.far > self.near && self.count > 0 && self.samples > 0
    }

    pub(crate) fn sample_length(&self) -> f64 {
        (self.far - self.near) / (self.count * self.samples) as f64
    }
}

impl LayerTile {
    /// Associated RGBA of a slab, row by row; `None` where nothing in it is visible.
    pub(crate) fn layer(&self, slab: usize) -> Option<&[[f32; 4]]> {
        let pixels = self.width * self.height;
        self.visible[slab].then(|| &self.rgba[slab * pixels..][..pixels])
    }

    /// Makes it the empty layers of `rect`.
    pub(crate) fn clear(&mut self, rect: &TileRect, count: usize) {
        let (old, pixels) = (self.width * self.height, rect.width * rect.height);
        if old == pixels && self.visible.len() == count {
            let layers = self.rgba.chunks_mut(pixels.max(1)).zip(&self.visible);
            layers.filter(|(_, visible)| **visible).for_each(|(layer, _)| layer.fill([0.0; 4]));
        } else {
            self.rgba.clear();
            self.rgba.resize(pixels * count, [0.0; 4]);
        }
        (self.width, self.height) = (rect.width, rect.height);
        self.visible.clear();
        self.visible.resize(count, false);
    }

    fn index(&self, slab: usize, x: usize, y: usize) -> usize {
        (slab * self.height + y) * self.width + x
    }

    /// The colours of a packet in a slab; transparent past the tile's end.
    #[inline(always)]
    fn packet(&self, slab: usize, [x, y]: [usize; 2]) -> [[f32; 4]; LANES] {
        let mut colors = [[0.0; 4]; LANES];
        if self.visible[slab] {
            for row in 0..PACKET_EDGE.min(self.height - y) {
                let columns = PACKET_EDGE.min(self.width - x);
                let start = self.index(slab, x, y + row);
                colors[row * PACKET_EDGE..][..columns].copy_from_slice(&self.rgba[start..start + columns]);
            }
        }
        colors
    }

    #[inline(always)]
    fn set_packet(&mut self, slab: usize, [x, y]: [usize; 2], colors: &[[f32; 4]; LANES]) {
        if colors.iter().all(|color| color[3] <= 0.0) {
            return;
        }
        self.visible[slab] = true;
        for row in 0..PACKET_EDGE.min(self.height - y) {
            let columns = PACKET_EDGE.min(self.width - x);
            let start = self.index(slab, x, y + row);
            self.rgba[start..start + columns].copy_from_slice(&colors[row * PACKET_EDGE..][..columns]);
        }
    }

    /// Puts `color` behind one pixel of a slab.
    pub(crate) fn composite(&mut self, slab: usize, [x, y]: [usize; 2], color: [f32; 4]) {
        if color[3] > 0.0 {
            self.visible[slab] = true;
            let index = self.index(slab, x, y);
            let front = &mut self.rgba[index];
            let through = 1.0 - front[3];
            front.iter_mut().zip(color).for_each(|(f, b)| *f += through * b);
        }
    }
}

struct LayersTask<'a, 'b> {
    scene: &'a Scene<'a>,
    rect: &'b TileRect,
    planes: &'b LayerPlanes,
    out: &'b mut LayerTile,
}

/// Samples that a face of the box cuts, one for each ray.
struct CutSamples {
    /// Number of the sample.
    number: [usize; LANES],
    /// Part of it that lies inside; 0 where the ray has none.
    share: [f64; LANES],
    /// Sample coordinates of the middle of that part, by axis.
    position: [[f64; LANES]; 3],
}

impl Task for LayersTask<'_, '_> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) -> u64 {
        let mut samples = 0;
        for y in (0..self.rect.height).step_by(PACKET_EDGE) {
            for x in (0..self.rect.width).step_by(PACKET_EDGE) {
                let (rays, cut) = self.packet([x, y]);
                for block in &self.scene.blocks {
                    samples += self.composite_cut(lanes, block, &cut[0], [x, y]);
                    let range = rays.in_box(&block.owned, &self.scene.bounds);
                    if !range.is_empty() {
                        samples += self.march_block(lanes, block, &rays, &range, [x, y]);
                    }
                    samples += self.composite_cut(lanes, block, &cut[1], [x, y]);
                }
            }
        }
        samples
    }
}

impl LayersTask<'_, '_> {
    /// The rays of a packet, with the samples that lie wholly in the box, and those that are cut where it is entered and
    /// left.
    #[inline(always)]
    fn packet(&self, [x, y]: [usize; 2]) -> (Rays, [CutSamples; 2]) {
        let setup = &self.scene.setup;
        let (planes, length) = (self.planes, self.planes.sample_length());
        let all = (planes.count * planes.samples) as f64;
        let mut rays = Rays::none();
        let mut cut = [CutSamples::none(), CutSamples::none()];
        let end = [self.rect.x + self.rect.width, self.rect.y + self.rect.height];
        for lane in 0..LANES {
            let Some(chord) = setup.chord(lane, [self.rect.x + x, self.rect.y + y], end) else { continue };
            let cosine = RaySetup::cosine(chord.direction, planes.normal);
            let enter = ((chord.t_in * cosine - planes.near) / length).max(0.0);
            let leave = ((chord.t_out * cosine - planes.near) / length).min(all);
            if cosine <= 0.0 || enter >= leave {
                continue;
            }
            let t_of = |number: f64| (planes.near + number * length) / cosine;
            (rays.range.from[lane], rays.range.to[lane]) = (enter.ceil(), leave.floor());
            setup.set(&mut rays, lane, chord.direction, t_of(0.5), length / cosine);
            let ends = [(enter, enter.ceil().min(leave)), (leave.floor().max(enter.ceil()), leave)];
            for (cut, (lo, hi)) in cut.iter_mut().zip(ends) {
                if lo < hi {
                    let position = setup.sample_at(chord.direction, t_of(0.5 * (lo + hi)));
                    cut.set(lane, lo.floor() as usize, hi - lo, position);
                }
            }
        }
        (rays, cut)
    }

    /// Composites the cut samples that lie in a block.
    #[inline(always)]
    fn composite_cut<L: Lanes>(
        &mut self,
        lanes: L,
        block: &SceneBlock<'_>,
        cut: &CutSamples,
        [x, y]: [usize; 2],
    ) -> u64 {
        let owned = cut.in_box(block, &self.scene.bounds);
        if !owned.contains(&true) {
            return 0;
        }
        let position = [0, 1, 2].map(|axis| {
            let local: [f32; LANES] =
                std::array::from_fn(|lane| (cut.position[axis][lane] - block.origin[axis] as f64) as f32);
            lanes.load(&local)
        });
        let values = lanes.store(lanes.interpolate(block.scene.cells, [position])[0]);
        let mut samples = 0;
        for lane in (0..LANES).filter(|&lane| owned[lane]) {
            let [rgb @ .., alpha] = self.scene.table.entry(values[lane]);
            samples += 1;
            if alpha > 0.0 {
                let part = 1.0 - (1.0 - alpha).powf(cut.share[lane] as f32);
                let [r, g, b] = rgb.map(|c| c * part / alpha);
                let pixel = [x + lane % PACKET_EDGE, y + lane / PACKET_EDGE];
                self.out.composite(cut.number[lane] / self.planes.samples, pixel, [r, g, b, part]);
            }
        }
        samples
    }

    /// Marches a packet through a block, one slab after another.
    #[inline(always)]
    fn march_block<L: Lanes>(
        &mut self,
        lanes: L,
        block: &SceneBlock<'_>,
        rays: &Rays,
        range: &SampleRange,
        corner: [usize; 2],
    ) -> u64 {
        let BlockScene { cells, occupancy } = block.scene;
        let (start, stop) = span(range);
        let mut all = *range;
        for lane in 0..LANES {
            // Every ray counts from the same sample: those of a slab stay together.
            (all.from[lane], all.to[lane]) = if range.from[lane] < range.to[lane] { (start, stop) } else { (0.0, 0.0) };
        }
        let lines = rays.lines(&all, block.origin);
        let sweep = sweep_of(&lines);
        let [x, y, z] = &lines.first;
        let first = [lanes.load(x), lanes.load(y), lanes.load(z)];
        let [x, y, z] = &lines.step;
        let step = [lanes.load(x), lanes.load(y), lanes.load(z)];
        let none = lanes.splat(0.0);
        let middle: [f32; LANES] =
            std::array::from_fn(|lane| ((range.from[lane] + range.to[lane] - 1.0) * 0.5 - start) as f32);
        let reach: [f32; LANES] = std::array::from_fn(|lane| ((range.to[lane] - range.from[lane]) * 0.5) as f32);
        let (middle, reach) = (lanes.load(&middle), lanes.load(&reach));
        let (start, count) = (start as usize, (stop - start) as usize);
        let per_slab = self.planes.samples;
        let mut slab = start / per_slab;
        let mut front = lanes.load_colors(&self.out.packet(slab, corner));
        let (mut at, mut samples) = (0_usize, 0);
        while at < count {
            let empty = occupancy.empty_samples(&sweep, at as f32);
            if empty > 0.0 {
                at = at.saturating_add(empty as usize);
                continue;
            }
            let mut off = [none; STRIDE];
            let mut positions = [[none; 3]; STRIDE];
            for i in 0..STRIDE {
                let number = lanes.splat((at + i) as f32);
                off[i] = lanes.max(lanes.sub(number, middle), lanes.sub(middle, number));
                for axis in 0..3 {
                    positions[i][axis] = lanes.mul_add(number, step[axis], first[axis]);
                }
            }
            let values = lanes.interpolate(cells, positions);
            let mut entries = [Indices::default(); STRIDE];
            for i in 0..STRIDE {
                entries[i] = lanes.entries(self.scene.table, values[i], off[i], reach);
            }
            let stretch = STRIDE.min(count - at);
            for (number, entries) in (start + at..).zip(&entries[..stretch]) {
                if !(slab * per_slab..(slab + 1) * per_slab).contains(&number) {
                    self.out.set_packet(slab, corner, &lanes.store_colors(front));
                    slab = number / per_slab;
                    front = lanes.load_colors(&self.out.packet(slab, corner));
                }
                front = lanes.composite(front, self.scene.table, entries);
            }
            samples += (0..LANES).map(|lane| overlap(range, lane, start + at, stretch)).sum::<u64>();
            at += stretch;
        }
        self.out.set_packet(slab, corner, &lanes.store_colors(front));
        samples
    }
}

/// First sample of any ray, and the first past the last of all rays.
#[inline(always)]
fn span(range: &SampleRange) -> (f64, f64) {
    let (mut start, mut stop) = (f64::INFINITY, 0.0_f64);
    for lane in 0..LANES {
        if range.from[lane] < range.to[lane] {
            (start, stop) = (start.min(range.from[lane]), stop.max(range.to[lane]));
        }
    }
    (start, stop)
}

/// Samples of a ray among the `count` from `start` on.
#[inline(always)]
fn overlap(range: &SampleRange, lane: usize, start: usize, count: usize) -> u64 {
    let (start, stop) = (start as f64, (start + count) as f64);
    (range.to[lane].min(stop) - range.from[lane].max(start)).max(0.0) as u64
}

impl CutSamples {
    fn none() -> Self {
        Self { number: [0; LANES], share: [0.0; LANES], position: [[0.0; LANES]; 3] }
    }

    fn set(&mut self, lane: usize, number: usize, share: f64, position: [f64; 3]) {
        self.number[lane] = number;
        self.share[lane] = share;
        (0..3).for_each(|axis| self.position[axis][lane] = position[axis]);
    }

    /// Which of them a block owns.
    fn in_box(&self, block: &SceneBlock<'_>, bounds: &visapult_volume::Box3) -> [bool; LANES] {
        let (owned, outer) = (&block.owned, bounds);
        std::array::from_fn(|lane| {
            self.share[lane] > 0.0
                && (0..3).all(|axis| {
                    let at = self.position[axis][lane];
                    (owned.lo[axis] == outer.lo[axis] || at >= owned.lo[axis] as f64)
                        && (owned.hi[axis] == outer.hi[axis] || at < owned.hi[axis] as f64)
                })
        })
    }
}
