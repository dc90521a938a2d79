//! Draws faces from any camera, through any transfer function.

use rayon::prelude::*;
use thiserror::Error;
use visapult_volume::ValueRange;

use super::tile::value_of;
use super::{FaceTile, ScalarKeyframe};
use crate::camera::dot;
use crate::integrals::Integrals;
use crate::interpolation::{bilinear, texel_cell};
use crate::slabs::{SlabGeometry, TILE_EDGE, TileError};
use crate::world_box::WorldBox;
use crate::{Camera, Image, TransferFunction, View};

/// Least cosine between a ray and the slabs' normal: beyond, a ray meets no two faces within the box.
const LEAST_COSINE: f64 = 1e-3;

/// Opacity at which a ray ends.
const OPAQUE: f64 = 1.0 - 1.0 / 1024.0;

/// Most texels in all faces together: 512 MiB of values.
const MAX_TEXELS: usize = 1 << 27;

/// Decoded faces, ready to be drawn.
#[derive(Clone, Debug)]
pub struct ScalarStack {
    faces: Faces,
    /// Edges of the box, centred at the origin: beyond it nothing is shown.
    edges: [f64; 3],
    range: [f32; 2],
    /// `[face, y, x]`; NaN where there is none.
    values: Vec<f32>,
}

/// Where faces lie, whatever their values are read from.
#[derive(Clone, Debug)]
pub(crate) struct Faces {
    /// The key view.
    pub(crate) key: View,
    pub(crate) geometry: SlabGeometry,
}

/// Why tiles do not make a stack.
#[derive(Debug, Error)]
pub enum ScalarStackError {
    /// A tile cannot be decoded.
    #[error(transparent)]
    Tile(#[from] TileError),
    /// More faces, or larger ones, than are accepted.
    #[error(
        "{faces} faces of {width} x {height} are more than the {MAX_TEXELS} texels accepted: use fewer slabs or rays"
    )]
    TooLarge {
        /// Faces of the keyframe.
        faces: usize,
        /// Texels per row.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A tile lies elsewhere than tiles can.
    #[error("tile of face {face} at {lo:?} of {size:?} texels is not one of {faces} faces of {width} x {height}")]
    Place {
        /// Its face.
        face: u16,
        /// Its first texel.
        lo: [u16; 2],
        /// Its size.
        size: [u16; 2],
        /// Faces of the keyframe.
        faces: usize,
        /// Texels per row.
        width: u16,
        /// Rows.
        height: u16,
    },
}

impl ScalarStack {
    /// Decodes the tiles of a keyframe; those that are lacking are transparent.
    ///
    /// # Errors
    /// [`ScalarStackError`] if there are too many texels, or a tile is damaged or lies where none can.
    pub fn from_keyframe(keyframe: &ScalarKeyframe) -> Result<Self, ScalarStackError> {
        let geometry = keyframe.geometry;
        let (faces, SlabGeometry { width, height, .. }) = (geometry.face_count(), geometry);
        let texels = faces * usize::from(width) * usize::from(height);
        if texels > MAX_TEXELS {
            return Err(ScalarStackError::TooLarge { faces, width, height });
        }
        let decode = |tile: &FaceTile| check_place(tile, &geometry).and_then(|()| Ok(tile.decode()?));
        let decoded = keyframe.tiles.par_iter().map(decode).collect::<Result<Vec<_>, _>>()?;
        let mut values = vec![f32::NAN; texels];
        for (tile, codes) in keyframe.tiles.iter().zip(&decoded) {
            for (row, codes) in codes.chunks(usize::from(tile.size[0])).enumerate() {
                let line = usize::from(tile.face) * usize::from(height) + usize::from(tile.lo[1]) + row;
                let start = line * usize::from(width) + usize::from(tile.lo[0]);
                values[start..start + codes.len()]
                    .iter_mut()
                    .zip(codes)
                    .for_each(|(value, code)| *value = value_of(*code, keyframe.range));
            }
        }
        let key = keyframe.camera.view(usize::from(width), usize::from(height));
        Ok(Self { faces: Faces { key, geometry }, edges: keyframe.edges.map(f64::from), range: keyframe.range, values })
    }

    /// Draws the field as `camera` sees it through `transfer_function`, whose range, where it has none, is the keyframe's.
    pub fn render(&self, camera: &Camera, transfer_function: &TransferFunction, width: usize, height: usize) -> Image {
        let mut image = Image::transparent(width, height);
        let [lo, hi] = self.range;
        let Some(range) = transfer_function.resolved_range(Some(ValueRange { lo, hi })) else { return image };
        let integrals = Integrals::new(transfer_function, range);
        let view = camera.view(width, height);
        let shown = view.shown(self.edges);
        image.rgba.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, pixels)| {
            for (column, pixel) in pixels.iter_mut().enumerate() {
                let direction = view.direction(column as f64 + 0.5, row as f64 + 0.5);
                *pixel =
                    self.faces.composite(&shown, view.eye, direction, &integrals, |face, at| self.lookup(face, at));
            }
        });
        image
    }

    /// The value of a face at `at`, in texels with their centres at whole numbers; NaN where one of those around is missing.
    fn lookup(&self, face: usize, at: [f64; 2]) -> f32 {
        let size = [self.faces.key.width, self.faces.key.height];
        let Some(([x, y], weight)) = texel_cell(at, size) else { return f32::NAN };
        let [right, below] = [usize::from(size[0] > 1), usize::from(size[1] > 1) * size[0]];
        let v = &self.values[(face * size[1] + y) * size[0] + x..];
        bilinear([v[0], v[right], v[below], v[right + below]], weight)
    }
}

impl Faces {
    /// Composites what a ray meets between the faces in the box that is shown, front to back.
    ///
    /// `value`: of a face at a place in texels with their centres at whole numbers; NaN where there is none.
    pub(crate) fn composite(
        &self,
        shown: &WorldBox,
        eye: [f64; 3],
        direction: [f64; 3],
        integrals: &Integrals,
        value: impl Fn(usize, [f64; 2]) -> f32,
    ) -> [f32; 4] {
        let Some((enter, leave)) = shown.passed(eye, direction) else { return [0.0; 4] };
        let Some(line) = KeyLine::new(self, eye, direction) else { return [0.0; 4] };
        let slabs = f64::from(self.geometry.slabs);
        let first = ((enter - line.first) / line.spacing).floor().clamp(0.0, slabs);
        let last = ((leave - line.first) / line.spacing).ceil().clamp(0.0, slabs);
        let (first, last) = (first as i64, last as i64);
        let value = |number: i64| line.place(number).map_or(f32::NAN, |(face, at)| value(face, at));
        let mut values = [f32::NAN, value(first - 1), value(first), value(first + 1)];
        let mut color = [0.0_f64; 4];
        for slab in first..last {
            values = [values[1], values[2], values[3], value(slab + 2)];
            let middle = middle_of(values);
            if middle.is_nan() {
                continue;
            }
            let start = line.first + slab as f64 * line.spacing;
            let half = line.spacing / 2.0;
            for (start, ends) in [(start, [values[1], middle]), (start + half, [middle, values[2]])] {
                let at = [start.max(enter), (start + half).min(leave)];
                if at[0] < at[1] {
                    let [front, back] = at.map(|t| ends[0] + ((t - start) / half) as f32 * (ends[1] - ends[0]));
                    let piece = integrals.piece(front, back, at[1] - at[0]);
                    let through = 1.0 - color[3];
                    color.iter_mut().zip(piece).for_each(|(sum, piece)| *sum += through * piece);
                }
            }
            if color[3] > OPAQUE {
                break;
            }
        }
        color.map(|c| c as f32)
    }
}

/// A ray, and where in the key view's faces it meets them, in the order in which it does.
struct KeyLine<'a> {
    faces: &'a Faces,
    /// Whether it meets the last face first.
    is_reversed: bool,
    /// Distance along the ray of the face it meets first; of those after it, this much more each.
    first: f64,
    spacing: f64,
    /// Texel coordinates times depth, and depth in the key view: at the first face, and the change to the next.
    origin: [f64; 3],
    step: [f64; 3],
}

impl<'a> KeyLine<'a> {
    fn new(faces: &'a Faces, eye: [f64; 3], direction: [f64; 3]) -> Option<Self> {
        let (key, geometry) = (&faces.key, &faces.geometry);
        let normal = geometry.normal.map(f64::from);
        let cosine = dot(direction, normal);
        let spacing = geometry.thickness() / cosine.abs();
        if cosine.abs() < LEAST_COSINE || spacing <= 0.0 {
            return None;
        }
        let is_reversed = cosine < 0.0;
        let nearest = f64::from(if is_reversed { geometry.far } else { geometry.near });
        let from_key: [f64; 3] = std::array::from_fn(|axis| eye[axis] - key.eye[axis]);
        let first = (nearest - dot(from_key, normal)) / cosine;
        let [w, h] = [key.width, key.height].map(|n| n as f64 / 2.0);
        let into_key = |v: [f64; 3]| {
            [dot(v, key.right) / key.half_width * w, -dot(v, key.up) / key.half_height * h, dot(v, key.forward)]
        };
        let origin = into_key(std::array::from_fn(|axis| from_key[axis] + first * direction[axis]));
        Some(Self { faces, is_reversed, first, spacing, origin, step: into_key(direction.map(|d| d * spacing)) })
    }

    /// The face that the ray meets, and where, in texels; none where there is none.
    fn place(&self, number: i64) -> Option<(usize, [f64; 2])> {
        let slabs = i64::from(self.faces.geometry.slabs);
        let [x, y, depth]: [f64; 3] = std::array::from_fn(|axis| self.origin[axis] + number as f64 * self.step[axis]);
        if !(0..=slabs).contains(&number) || depth <= 0.0 {
            return None;
        }
        let face = if self.is_reversed { slabs - number } else { number } as usize;
        let half = [self.faces.key.width, self.faces.key.height].map(|n| n as f64 / 2.0 - 0.5);
        Some((face, [x / depth + half[0], y / depth + half[1]]))
    }
}

/// The value half-way between the two inner of four faces, by the cubic through all; beyond the outermost ones values go on
/// linearly. NaN where one of the inner ones is missing.
fn middle_of([before, front, back, after]: [f32; 4]) -> f32 {
    let or = |value: f32, other: f32| if value.is_nan() { other } else { value };
    let around = or(before, 2.0 * front - back) + or(after, 2.0 * back - front);
    (9.0 * (front + back) - around) / 16.0
}

/// Refuses a tile that lies where none can.
pub(super) fn check_place(tile: &FaceTile, geometry: &SlabGeometry) -> Result<(), ScalarStackError> {
    let (faces, SlabGeometry { width, height, .. }) = (geometry.face_count(), *geometry);
    let fits = |axis: usize, edge: u16| {
        let (lo, size, edge) = (usize::from(tile.lo[axis]), usize::from(tile.size[axis]), usize::from(edge));
        lo.is_multiple_of(TILE_EDGE) && lo < edge && size == TILE_EDGE.min(edge - lo)
    };
    if usize::from(tile.face) < faces && fits(0, width) && fits(1, height) {
        return Ok(());
    }
    Err(ScalarStackError::Place { face: tile.face, lo: tile.lo, size: tile.size, faces, width, height })
}
