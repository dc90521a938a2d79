//! Casts a tile of rays into layers: one partial image for each slab between planes, for proxies.
//!
//! Samples are those of the exact image, each in the slab it lies in, so that at the key view the layers composite to
//! the exact image. No ray ends early: what is hidden here shows from elsewhere.

use super::caster::{Caster, Scene};
use super::dispatch::Task;
use super::lanes::{LANES, Lanes};
use super::march::march;
use super::rays::PACKET_EDGE;
use crate::View;

/// Equally thick slabs between planes perpendicular to `normal`, nearest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerPlanes {
    /// Unit normal, away from the eye: the view direction, or an axis of the grid.
    pub normal: [f64; 3],
    /// Distance of the first plane from the eye along `normal`, in world units.
    pub near: f64,
    /// Distance of the last plane. Samples outside `near..far` count to the outermost slabs.
    pub far: f64,
    /// Number of slabs.
    pub count: usize,
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
pub struct LayerTile {
    width: usize,
    height: usize,
    /// `[slab, y, x]`, associated RGBA.
    rgba: Vec<[f32; 4]>,
    visible: Vec<bool>,
}

impl LayerTile {
    /// Associated RGBA of a slab, row by row; `None` where nothing in it is visible.
    pub fn layer(&self, slab: usize) -> Option<&[[f32; 4]]> {
        let pixels = self.width * self.height;
        self.visible[slab].then(|| &self.rgba[slab * pixels..][..pixels])
    }

    fn clear(&mut self, rect: &TileRect, count: usize) {
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

    fn pixels(&self, slab: usize, x: usize, y: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (width, height) = (self.width, self.height);
        let inside = move |lane: &usize| x + lane % PACKET_EDGE < width && y + lane / PACKET_EDGE < height;
        let place = move |lane| ((slab * height + y + lane / PACKET_EDGE) * width + x + lane % PACKET_EDGE, lane);
        (0..LANES).filter(inside).map(place)
    }
}

impl Caster<'_> {
    /// Casts the rays of `rect` of `view` into the slabs of `planes`; gives the number of samples taken.
    ///
    /// `out` is overwritten. Runs on the calling thread.
    pub fn march_layers(&self, view: &View, rect: &TileRect, planes: &LayerPlanes, out: &mut LayerTile) -> u64 {
        out.clear(rect, planes.count);
        let Some(visible) = &self.visible else { return 0 };
        let scene = Scene::new(self, visible, view);
        self.instruction_set.run(LayersTask { scene: &scene, rect, planes, out })
    }
}

struct LayersTask<'a, 'b> {
    scene: &'a Scene<'a>,
    rect: &'b TileRect,
    planes: &'b LayerPlanes,
    out: &'b mut LayerTile,
}

impl Task for LayersTask<'_, '_> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u64 {
        let Self { scene, rect, planes, out } = self;
        let thickness = (planes.far - planes.near) / planes.count as f64;
        let mut samples = 0;
        let end = [rect.x + rect.width, rect.y + rect.height];
        for y in (0..rect.height).step_by(PACKET_EDGE) {
            for x in (0..rect.width).step_by(PACKET_EDGE) {
                let rays = scene.setup.packet(rect.x + x, rect.y + y, end);
                if rays.is_empty() {
                    continue;
                }
                for block in &scene.blocks {
                    let inside = rays.in_box(rays.all(), &block.owned, &scene.bounds);
                    let Some(depths) = rays.depths(&inside, planes.normal) else { continue };
                    let slab_of = |depth: f64| ((depth - planes.near) / thickness).floor();
                    let last = planes.count - 1;
                    let first_slab = slab_of(depths[0] - 1e-9).max(0.0).min(last as f64) as usize;
                    let last_slab = slab_of(depths[1] + 1e-9).max(0.0).min(last as f64) as usize;
                    for slab in first_slab..=last_slab {
                        let plane = |slab: usize| planes.near + slab as f64 * thickness;
                        let near = if slab == 0 { f64::NEG_INFINITY } else { plane(slab) };
                        let far = if slab == last { f64::INFINITY } else { plane(slab + 1) };
                        let range = rays.between(inside, planes.normal, near, far);
                        let Some(lines) = rays.lines(&range, block.origin) else { continue };
                        let mut colors = [[0.0; 4]; LANES];
                        out.pixels(slab, x, y).for_each(|(pixel, lane)| colors[lane] = out.rgba[pixel]);
                        samples += march(lanes, &block.scene, scene.table, &lines, &mut colors, f32::INFINITY);
                        if colors.iter().any(|color| color[3] > 0.0) {
                            out.visible[slab] = true;
                            out.pixels(slab, x, y).for_each(|(pixel, lane)| out.rgba[pixel] = colors[lane]);
                        }
                    }
                }
            }
        }
        samples
    }
}
