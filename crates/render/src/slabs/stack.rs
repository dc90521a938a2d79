//! Draws the layers of a keyframe from any camera.

use rayon::prelude::*;
use thiserror::Error;

use super::SlabKeyframe;
use super::geometry::SlabGeometry;
use super::tile::{ALPHA_CODES, SlabTile, TILE_EDGE, TileError};
use crate::camera::dot;
use crate::{Camera, Image, View};

/// Least cosine between a ray and the normal at which path lengths are still corrected: beyond, a ray leaves the box
/// before it has crossed the slab.
const LEAST_COSINE: f64 = 0.05;

/// Decoded layers, ready to be drawn.
#[derive(Clone, Debug)]
pub struct SlabStack {
    layers: Layers,
    /// Place in `tiles` of each tile, `[slab][row][column]`; `NO_TILE` where nothing is.
    index: Vec<u32>,
    tiles: Vec<Tile>,
}

/// Where layers lie, whatever their texels are read from.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    /// The key view.
    pub(crate) key: View,
    pub(crate) geometry: SlabGeometry,
}

const NO_TILE: u32 = u32::MAX;

/// Most places for tiles in all layers together: 64 MiB of index.
const MAX_PLACES: usize = 1 << 24;

/// Associated RGBA of 16 bits, and where its texels lie.
#[derive(Clone, Debug)]
struct Tile {
    lo: [usize; 2],
    width: usize,
    texels: Vec<[u16; 4]>,
}

/// Why tiles do not make a stack.
#[derive(Debug, Error)]
pub enum SlabStackError {
    /// A tile cannot be decoded.
    #[error(transparent)]
    Tile(#[from] TileError),
    /// More layers, or larger ones, than are accepted.
    #[error(
        "{slabs} layers of {width} x {height} are more than the {MAX_PLACES} tiles accepted: use fewer slabs or rays"
    )]
    TooLarge {
        /// Slabs of the keyframe.
        slabs: u16,
        /// Texels per row.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A tile lies elsewhere than tiles can.
    #[error("tile of slab {slab} at {lo:?} of {size:?} texels is not one of {slabs} layers of {width} x {height}")]
    Place {
        /// Its slab.
        slab: u16,
        /// Its first texel.
        lo: [u16; 2],
        /// Its size.
        size: [u16; 2],
        /// Slabs of the keyframe.
        slabs: u16,
        /// Texels per row.
        width: u16,
        /// Rows.
        height: u16,
    },
}

impl SlabStack {
    /// Decodes the tiles of a keyframe.
    ///
    /// # Errors
    /// [`SlabStackError`] if there are too many layers, or a tile is damaged or lies where none can.
    pub fn from_keyframe(keyframe: &SlabKeyframe) -> Result<Self, SlabStackError> {
        let geometry = keyframe.geometry;
        let [columns, rows] = geometry.tile_counts();
        if columns * rows * usize::from(geometry.slabs) > MAX_PLACES {
            let SlabGeometry { slabs, width, height, .. } = geometry;
            return Err(SlabStackError::TooLarge { slabs, width, height });
        }
        let tiles = keyframe.tiles.par_iter().map(|tile| decode(tile, &geometry)).collect::<Result<Vec<_>, _>>()?;
        let mut index = vec![NO_TILE; columns * rows * usize::from(geometry.slabs)];
        for (number, (tile, encoded)) in tiles.iter().zip(&keyframe.tiles).enumerate() {
            let [column, row] = cell_of(tile.lo);
            index[(usize::from(encoded.slab) * rows + row) * columns + column] = number as u32;
        }
        let key = keyframe.camera.view(usize::from(geometry.width), usize::from(geometry.height));
        Ok(Self { layers: Layers { key, geometry }, index, tiles })
    }

    /// Draws the layers as `camera` sees them.
    pub fn render(&self, camera: &Camera, width: usize, height: usize) -> Image {
        let view = camera.view(width, height);
        let mut image = Image::transparent(width, height);
        image.rgba.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, pixels)| {
            for (column, pixel) in pixels.iter_mut().enumerate() {
                let direction = view.direction(column as f64 + 0.5, row as f64 + 0.5);
                *pixel = self.layers.composite(view.eye, direction, |slab, at| self.lookup(slab, at));
            }
        });
        image
    }

    /// Associated colour of a layer at `at`, in texels with their centres at whole numbers; `None` where it is empty.
    fn lookup(&self, slab: usize, at: [f64; 2]) -> Option<[f32; 4]> {
        let edges = [self.layers.geometry.width, self.layers.geometry.height].map(f64::from);
        if !(0..2).all(|axis| at[axis] >= -0.5 && at[axis] <= edges[axis] - 0.5) {
            return None;
        }
        let [columns, rows] = self.layers.geometry.tile_counts();
        let cell: [usize; 2] =
            std::array::from_fn(|axis| ((at[axis] + 0.5) as usize / TILE_EDGE).min([columns, rows][axis] - 1));
        let number = self.index[(slab * rows + cell[1]) * columns + cell[0]];
        self.tiles.get(number as usize)?.bilinear([at[0] as f32, at[1] as f32])
    }
}

impl Layers {
    /// Composites the layers that a ray from `eye` meets, front to back.
    ///
    /// `lookup`: associated colour of a layer at a place in texels with their centres at whole numbers; `None` where it is empty.
    pub(crate) fn composite(
        &self,
        eye: [f64; 3],
        direction: [f64; 3],
        lookup: impl Fn(usize, [f64; 2]) -> Option<[f32; 4]>,
    ) -> [f32; 4] {
        let normal = self.geometry.normal.map(f64::from);
        let from_key: [f64; 3] = std::array::from_fn(|axis| eye[axis] - self.key.eye[axis]);
        let (eye_depth, cosine) = (dot(from_key, normal), dot(direction, normal));
        if cosine.abs() < 1e-6 {
            return [0.0; 4];
        }
        let exponent = (1.0 / cosine.abs().max(LEAST_COSINE)) as f32;
        // The ray in key view coordinates, where a plane's texels are one division away.
        let into_key = |v: [f64; 3]| {
            let (w, h) = (self.key.width as f64 / 2.0, self.key.height as f64 / 2.0);
            let x = dot(v, self.key.right) / self.key.half_width * w;
            let y = -dot(v, self.key.up) / self.key.half_height * h;
            [x, y, dot(v, self.key.forward)]
        };
        let (start, step) = (into_key(from_key), into_key(direction));
        let center = [self.key.width as f64 / 2.0 - 0.5, self.key.height as f64 / 2.0 - 0.5];
        let mut color = [0.0_f32; 4];
        let slabs = usize::from(self.geometry.slabs);
        for place in 0..slabs {
            let slab = if cosine > 0.0 { place } else { slabs - 1 - place };
            let t = (self.geometry.middle(slab) - eye_depth) / cosine;
            let [x, y, z] = std::array::from_fn(|axis| start[axis] + t * step[axis]);
            if t <= 0.0 || z <= 0.0 {
                continue;
            }
            let Some(texel) = lookup(slab, [x / z + center[0], y / z + center[1]]) else { continue };
            let corrected = 1.0 - (1.0 - texel[3]).max(0.0).powf(exponent);
            let weight = (1.0 - color[3]) * corrected / texel[3];
            for c in 0..3 {
                color[c] += weight * texel[c];
            }
            color[3] += (1.0 - color[3]) * corrected;
            if color[3] > 1.0 - 1.0 / 1024.0 {
                break;
            }
        }
        color
    }
}

impl Tile {
    fn bilinear(&self, at: [f32; 2]) -> Option<[f32; 4]> {
        let size = [self.width, self.texels.len() / self.width];
        let mut low = [0; 2];
        let mut weight = [0.0; 2];
        for axis in 0..2 {
            let last = size[axis] - 1;
            let place = (at[axis] - self.lo[axis] as f32).clamp(0.0, last as f32);
            low[axis] = (place as usize).min(last.saturating_sub(1));
            weight[axis] = place - low[axis] as f32;
        }
        let step = [usize::from(size[0] > 1), usize::from(size[1] > 1) * self.width];
        let first = low[1] * self.width + low[0];
        let corners = [first, first + step[0], first + step[1], first + step[0] + step[1]].map(|i| self.texels[i]);
        if corners.iter().all(|texel| texel[3] == 0) {
            return None;
        }
        let shares = [
            (1.0 - weight[0]) * (1.0 - weight[1]),
            weight[0] * (1.0 - weight[1]),
            (1.0 - weight[0]) * weight[1],
            weight[0] * weight[1],
        ];
        let mixed: [f32; 4] =
            std::array::from_fn(|c| (0..4).map(|i| shares[i] * f32::from(corners[i][c])).sum::<f32>() / 65535.0);
        (mixed[3] > 0.0).then_some(mixed)
    }
}

fn cell_of(lo: [usize; 2]) -> [usize; 2] {
    lo.map(|texel| (texel + 1) / TILE_EDGE)
}

fn decode(tile: &SlabTile, geometry: &SlabGeometry) -> Result<Tile, SlabStackError> {
    let lo = tile.lo.map(usize::from);
    let [columns, rows] = geometry.tile_counts();
    let cell = cell_of(lo);
    let inside = tile.slab < geometry.slabs && cell[0] < columns && cell[1] < rows;
    let place = geometry.tile_place([cell[0].min(columns.max(1) - 1), cell[1].min(rows.max(1) - 1)]);
    if !inside || place.lo != lo || place.size != tile.size.map(usize::from) {
        let SlabGeometry { slabs, width, height, .. } = *geometry;
        return Err(SlabStackError::Place { slab: tile.slab, lo: tile.lo, size: tile.size, slabs, width, height });
    }
    let planes = tile.decode()?;
    let associated = |(i, &code): (usize, &u16)| {
        let alpha = (f32::from(code) / f32::from(ALPHA_CODES)).powi(2) * 65535.0;
        let color = |c: usize| (f32::from(planes.rgb[c][i]) / 255.0 * alpha + 0.5) as u16;
        [color(0), color(1), color(2), (alpha + 0.5) as u16]
    };
    let texels = planes.alpha.iter().enumerate().map(associated).collect();
    Ok(Tile { lo, width: place.size[0], texels })
}
