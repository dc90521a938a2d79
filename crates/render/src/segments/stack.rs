//! Draws the segments of a keyframe from any camera, through any transfer function.

use rayon::prelude::*;
use thiserror::Error;

use super::blocks::Blocks;
use super::geometry::SegmentGeometry;
use super::pieces::{Cursor, Pieces};
use super::tile::{SegmentTile, SegmentTileError};
use super::{Knot, SegmentKeyframe};
use crate::camera::dot;
use crate::integrals::Integrals;
use crate::slabs::TilePlace;
use crate::world_box::WorldBox;
use crate::{Camera, Image, TransferFunction, View};

/// Most rays accepted: 4096 x 4096.
const MAX_RAYS: usize = 1 << 24;
/// Most knots accepted of all rays together: 1 GiB decoded.
const MOST_KNOTS: u64 = 1 << 25;
/// Distance of places that are read, in distances of planes: between two, values count as linear.
const STEP: f64 = 0.5;
/// A ray ends at this opacity.
const OPAQUE: f64 = 1.0 - 1.0 / 1024.0;

/// Decoded segments, ready to be drawn.
#[derive(Clone, Debug)]
pub struct SegmentStack {
    key: View,
    geometry: SegmentGeometry,
    pieces: Pieces,
    blocks: Blocks,
}

/// Why tiles do not make a stack.
#[derive(Debug, Error)]
pub enum SegmentStackError {
    /// A tile cannot be decoded.
    #[error(transparent)]
    Tile(#[from] SegmentTileError),
    /// More rays than are accepted.
    #[error(
        "{knots} knots of {width} x {height} rays are more than the {MOST_KNOTS} of {MAX_RAYS} accepted: use fewer rays or \
         segments"
    )]
    TooLarge {
        /// Knots of all tiles.
        knots: u64,
        /// Rays per row.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A tile lies elsewhere than tiles can.
    #[error("tile at {lo:?} of {size:?} rays is not one of {width} x {height} rays")]
    Place {
        /// Its first ray.
        lo: [u16; 2],
        /// Its size.
        size: [u16; 2],
        /// Rays per row of the keyframe.
        width: u16,
        /// Rows of the keyframe.
        height: u16,
    },
    /// A plane beyond the last.
    #[error("tile at {lo:?} has a knot at plane {plane} of {planes}: it is damaged, send it again")]
    Plane {
        /// First ray of the tile.
        lo: [u16; 2],
        /// The plane.
        plane: u16,
        /// Planes of the keyframe.
        planes: u16,
    },
}

impl SegmentStack {
    /// Decodes the tiles of a keyframe; where one is missing nothing is shown, and others are as they were.
    ///
    /// # Errors
    /// [`SegmentStackError`] if there are too many rays, or a tile is damaged or lies where none can.
    pub fn from_keyframe(keyframe: &SegmentKeyframe) -> Result<Self, SegmentStackError> {
        let geometry = keyframe.geometry;
        let [width, height] = [geometry.width, geometry.height].map(usize::from);
        let knots = keyframe.tiles.iter().map(|tile| u64::from(tile.knots)).sum();
        if width * height > MAX_RAYS || knots > MOST_KNOTS {
            return Err(SegmentStackError::TooLarge { knots, width: geometry.width, height: geometry.height });
        }
        let places = geometry.tile_places();
        let decode = |tile: &SegmentTile| rays_of(tile, &geometry, &places);
        let decoded = keyframe.tiles.par_iter().map(decode).collect::<Result<Vec<_>, _>>()?;
        let mut rays: Vec<&[Knot]> = vec![&[]; width * height];
        for (tile, knots) in keyframe.tiles.iter().zip(&decoded) {
            let [lo, size] = [tile.lo, tile.size].map(|pair| pair.map(usize::from));
            for (i, knots) in knots.iter().enumerate() {
                rays[(lo[1] + i / size[0]) * width + lo[0] + i % size[0]] = knots;
            }
        }
        let pieces = Pieces::of(&rays);
        let blocks = Blocks::of(&pieces, [width, height], usize::from(geometry.planes));
        Ok(Self { key: keyframe.camera.view(width, height), geometry, pieces, blocks })
    }

    /// Casts one ray per pixel through the frustum of the key view.
    pub fn render(&self, camera: &Camera, width: usize, height: usize, function: &TransferFunction) -> Image {
        let mut image = Image::transparent(width, height);
        let Some(scene) = self.scene(function) else { return image };
        let view = camera.view(width, height);
        let shown = view.shown(self.geometry.edges.map(f64::from));
        image.rgba.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, pixels)| {
            for (column, pixel) in pixels.iter_mut().enumerate() {
                let direction = view.direction(column as f64 + 0.5, row as f64 + 0.5);
                *pixel = scene.cast(&shown, view.eye, direction);
            }
        });
        image
    }

    /// What `function` shows; `None` where it has no range.
    fn scene(&self, function: &TransferFunction) -> Option<Scene<'_>> {
        let integrals = self.geometry.integrals(function)?;
        Some(Scene { stack: self, visible: self.blocks.visible(&integrals), integrals })
    }
}

fn rays_of(
    tile: &SegmentTile,
    geometry: &SegmentGeometry,
    places: &[TilePlace],
) -> Result<Vec<Vec<Knot>>, SegmentStackError> {
    let SegmentGeometry { width, height, planes, .. } = *geometry;
    let SegmentTile { lo, size, .. } = *tile;
    if !places.iter().any(|place| place.words() == [lo, size]) {
        return Err(SegmentStackError::Place { lo, size, width, height });
    }
    let rays = tile.decode()?;
    match rays.iter().filter_map(|knots| knots.last()).find(|knot| knot.plane >= planes) {
        Some(&Knot { plane, .. }) => Err(SegmentStackError::Plane { lo, plane, planes }),
        None => Ok(rays),
    }
}

/// A ray as it passes pixels and planes of the key view: place `(start + t step)`, with pixels still to be divided by its depth.
pub(super) struct Path {
    /// Where it enters and leaves what is shown of the box.
    ends: [f64; 2],
    start: [f64; 3],
    step: [f64; 3],
    center: [f64; 2],
    edges: [f64; 2],
    near: f64,
    per_depth: f64,
}

impl Path {
    /// `None` beside what is `shown` of the box.
    pub(super) fn new(
        key: &View,
        geometry: &SegmentGeometry,
        shown: &WorldBox,
        eye: [f64; 3],
        direction: [f64; 3],
    ) -> Option<Self> {
        let (t_in, t_out) = shown.passed(eye, direction)?;
        let across = [key.width as f64 / 2.0 / key.half_width, -(key.height as f64) / 2.0 / key.half_height];
        let into = |v: [f64; 3]| [dot(v, key.right) * across[0], dot(v, key.up) * across[1], dot(v, key.forward)];
        Some(Self {
            ends: [t_in, t_out],
            start: into(std::array::from_fn(|a| eye[a] - key.eye[a])),
            step: into(direction),
            center: [key.width as f64 / 2.0 - 0.5, key.height as f64 / 2.0 - 0.5],
            edges: [key.width as f64 - 0.5, key.height as f64 - 0.5],
            near: f64::from(geometry.near),
            per_depth: 1.0 / f64::from(geometry.spacing),
        })
    }

    /// Associated colour of what lies along it: `value` is read at rays and planes, and up to where `leap` tells nothing shows.
    #[inline(always)]
    pub(super) fn gathered(
        &self,
        integrals: &Integrals,
        mut value: impl FnMut([f32; 3]) -> Option<f32>,
        leap: impl Fn(f64, Option<[f32; 3]>) -> f64,
    ) -> [f32; 4] {
        let [t_in, t_out] = self.ends;
        let dt = STEP / self.per_depth;
        let steps = ((t_out - t_in) / dt).ceil() as usize;
        let mut value = |at: Option<[f32; 3]>| value(at?);
        let mut color = [0.0; 4];
        let (mut k, mut at, mut before) = (0, self.at(t_in), None);
        while k < steps && color[3] < OPAQUE {
            let t = t_in + k as f64 * dt;
            let leap = ((leap(t, at) - t_in) / dt).min(steps as f64) as usize;
            if leap > k {
                (k, at, before) = (leap, self.at(t_in + leap as f64 * dt), None);
                continue;
            }
            let length = (t_out - t).min(dt);
            let end = self.at(t + length);
            let ends = [before.unwrap_or_else(|| value(at)), value(end)];
            (k, at, before) = (k + 1, end, Some(ends[1]));
            let (from, to, length) = match ends {
                [Some(from), Some(to)] => (from, to, length),
                [Some(one), None] | [None, Some(one)] => (one, one, length / 2.0),
                [None, None] => continue,
            };
            let (piece, through) = (integrals.piece(from, to, length), 1.0 - color[3]);
            color.iter_mut().zip(piece).for_each(|(sum, piece)| *sum += through * piece);
        }
        color.map(|c| c as f32)
    }

    /// Ray numbers and plane at `t`, with fractions; `None` outside the key view.
    #[inline(always)]
    fn at(&self, t: f64) -> Option<[f32; 3]> {
        let [x, y, z]: [f64; 3] = std::array::from_fn(|a| self.start[a] + t * self.step[a]);
        if z <= 0.0 {
            return None;
        }
        let per = 1.0 / z;
        let (x, y) = (x * per + self.center[0], y * per + self.center[1]);
        let inside = x >= -0.5 && y >= -0.5 && x < self.edges[0] && y < self.edges[1];
        inside.then(|| [x.max(0.0) as f32, y.max(0.0) as f32, ((z - self.near) * self.per_depth) as f32])
    }

    /// Where, after `t`, the path first meets one of the faces between `lo` and `hi`, in rays and planes.
    fn exit(&self, t: f64, lo: [f64; 3], hi: [f64; 3]) -> f64 {
        let [_, _, z] = self.start;
        let mut first = f64::INFINITY;
        let mut meet = |at: f64| first = if at > t { first.min(at) } else { first };
        for face in [lo, hi] {
            let [x, y, plane] = face;
            for (a, place) in [x - self.center[0], y - self.center[1]].into_iter().enumerate() {
                meet((place * z - self.start[a]) / (self.step[a] - place * self.step[2]));
            }
            meet((self.near + plane / self.per_depth - z) / self.step[2]);
        }
        first
    }
}

/// Segments seen through a transfer function.
struct Scene<'a> {
    stack: &'a SegmentStack,
    /// Per block, whether anything of it shows.
    visible: Vec<bool>,
    integrals: Integrals,
}

impl Scene<'_> {
    /// Associated colour of a ray.
    fn cast(&self, shown: &WorldBox, eye: [f64; 3], direction: [f64; 3]) -> [f32; 4] {
        let stack = self.stack;
        let Some(path) = Path::new(&stack.key, &stack.geometry, shown, eye, direction) else { return [0.0; 4] };
        let mut cursor = Cursor::default();
        let value = |at| stack.pieces.mixed(at, stack.key.width, &mut cursor);
        path.gathered(&self.integrals, value, |t, at| self.leap(&path, t, at))
    }

    /// Up to where nothing shows of the path that is at place `at` at `t`; 0 where something does there, or nothing is known.
    #[inline(always)]
    fn leap(&self, path: &Path, t: f64, at: Option<[f32; 3]>) -> f64 {
        let Some((block, lo, hi)) = at.and_then(|at| self.stack.blocks.at(at)) else { return 0.0 };
        if self.visible[block] { 0.0 } else { path.exit(t, lo, hi) }
    }
}
