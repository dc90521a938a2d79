//! Renders images of a volume: prepares it for a transfer function once, then casts tiles in parallel.

use rayon::prelude::*;
use visapult_volume::Box3;

use super::dispatch::{InstructionSet, Task};
use super::lanes::{Cells, Lanes};
use super::march::{BlockScene, march};
use super::occupancy::Occupancy;
use super::rays::{PACKET_EDGE, RaySetup};
use super::table::Table;
use crate::{Camera, Image, Rendering, TransferFunction, View, Volume};

/// Pixels along the edge of a tile, the unit of parallel work.
const TILE_EDGE: usize = 32;
/// Opacity at which a ray ends.
pub(crate) const OPAQUE: f32 = 1.0 - 1.0 / 1024.0;

/// A volume seen through a transfer function, ready to be cast.
pub(crate) struct Caster<'a> {
    volume: &'a Volume,
    camera: Camera,
    dt: f64,
    /// `None` where the volume has no finite value: nothing is visible.
    visible: Option<Visible>,
    instruction_set: InstructionSet,
}

/// The transfer function's table, and what it shows of each block.
pub(super) struct Visible {
    pub(super) table: Table,
    pub(super) occupancies: Vec<Occupancy>,
}

impl Visible {
    /// For samples that stand for a length `dt`; `None` where the volume has no finite value.
    pub(super) fn new(volume: &Volume, transfer_function: &TransferFunction, dt: f64) -> Option<Self> {
        let range = transfer_function.resolved_range(volume.range())?;
        let table = Table::new(transfer_function, range, dt);
        let occupancies = volume.macrocells().iter().map(|cells| Occupancy::new(cells, &table)).collect();
        Some(Self { table, occupancies })
    }
}

impl<'a> Caster<'a> {
    /// Prepares to cast rays with a sample every `sample_step` smallest spacings.
    pub(crate) fn new(
        volume: &'a Volume,
        camera: &Camera,
        transfer_function: &TransferFunction,
        sample_step: f64,
    ) -> Self {
        let dt = sample_step * volume.placement(camera.stretch).step;
        let visible = Visible::new(volume, transfer_function, dt);
        Self { volume, camera: *camera, dt, visible, instruction_set: InstructionSet::best() }
    }

    /// The same, on another instruction set than the best.
    #[cfg(test)]
    pub(super) fn on(self, instruction_set: InstructionSet) -> Self {
        Self { instruction_set, ..self }
    }

    /// Casts one ray per pixel.
    pub(crate) fn render(&self, width: usize, height: usize) -> Rendering {
        let view = self.camera.view(width, height);
        self.render_run(&view, &front_to_back(self.volume, &view))
    }

    /// Casts one ray per pixel, through the blocks of `run` alone: PEs from front to back.
    pub(crate) fn render_run(&self, view: &View, run: &[usize]) -> Rendering {
        let mut image = Image::transparent(view.width, view.height);
        let Some(visible) = &self.visible else { return Rendering { image, samples: 0 } };
        let scene = Scene::new(self.volume, visible, view, run);
        let samples = tiles_of(&mut image)
            .into_par_iter()
            .with_max_len(1)
            .map(|tile| self.instruction_set.run(TileTask { scene: &scene, dt: self.dt, tile }))
            .sum();
        Rendering { image, samples }
    }
}

/// Everything a packet needs, for one view.
pub(super) struct Scene<'a> {
    pub(super) setup: RaySetup<'a>,
    pub(super) table: &'a Table,
    pub(super) bounds: Box3,
    /// Front to back.
    pub(super) blocks: Vec<SceneBlock<'a>>,
}

pub(super) struct SceneBlock<'a> {
    pub(super) owned: Box3,
    pub(super) origin: [usize; 3],
    pub(super) scene: BlockScene<'a>,
}

/// All PEs, as they lie behind one another in `view`.
pub(crate) fn front_to_back(volume: &Volume, view: &View) -> Vec<usize> {
    volume.decomposition().front_to_back(RaySetup::new(view, volume.frame()).eye())
}

impl<'a> Scene<'a> {
    /// The blocks of `run`, PEs from front to back; those that are not in the volume are left out.
    pub(super) fn new(volume: &'a Volume, visible: &'a Visible, view: &'a View, run: &[usize]) -> Self {
        let setup = RaySetup::new(view, volume.frame());
        let block = |pe: &usize| {
            let index = pe.checked_sub(volume.first()).filter(|index| *index < volume.blocks().len())?;
            let block = &volume.blocks()[index];
            let (values, size) = volume.padded(index);
            let scene = BlockScene { cells: Cells::new(values, size)?, occupancy: &visible.occupancies[index] };
            Some(SceneBlock { owned: block.owned, origin: block.stored.lo, scene })
        };
        let blocks = run.iter().filter_map(block).collect();
        Self { setup, table: &visible.table, bounds: volume.grid().bounds(), blocks }
    }
}

/// Rows of pixels of one tile.
struct Tile<'a> {
    x: usize,
    y: usize,
    rows: Vec<&'a mut [[f32; 4]]>,
}

/// Cuts an image into tiles that can be written at the same time.
fn tiles_of(image: &mut Image) -> Vec<Tile<'_>> {
    let across = image.width.div_ceil(TILE_EDGE);
    let mut tiles: Vec<Tile<'_>> = (0..across * image.height.div_ceil(TILE_EDGE))
        .map(|index| Tile { x: index % across * TILE_EDGE, y: index / across * TILE_EDGE, rows: Vec::new() })
        .collect();
    for (y, row) in image.rgba.chunks_mut(image.width.max(1)).enumerate() {
        for (x, piece) in row.chunks_mut(TILE_EDGE).enumerate() {
            tiles[y / TILE_EDGE * across + x].rows.push(piece);
        }
    }
    tiles
}

struct TileTask<'a, 'b> {
    scene: &'a Scene<'a>,
    dt: f64,
    tile: Tile<'b>,
}

impl Task for TileTask<'_, '_> {
    type Output = u64;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u64 {
        let Self { scene, dt, mut tile } = self;
        let height = tile.rows.len();
        let width = tile.rows.first().map_or(0, |row| row.len());
        let mut samples = 0;
        for y in (0..height).step_by(PACKET_EDGE) {
            for x in (0..width).step_by(PACKET_EDGE) {
                let rays = scene.setup.exact([tile.x + x, tile.y + y], [tile.x + width, tile.y + height], dt);
                if rays.range.is_empty() {
                    continue;
                }
                let mut colors = [[0.0; 4]; PACKET_EDGE * PACKET_EDGE];
                for block in &scene.blocks {
                    let range = rays.in_box(&block.owned, &scene.bounds);
                    if !range.is_empty() {
                        let lines = rays.lines(&range, block.origin);
                        samples += march(lanes, &block.scene, scene.table, &lines, &mut colors, OPAQUE);
                    }
                }
                for (row, colors) in tile.rows[y..].iter_mut().zip(colors.chunks(PACKET_EDGE)) {
                    row[x..].iter_mut().zip(colors).for_each(|(pixel, color)| *pixel = *color);
                }
            }
        }
        samples
    }
}
