//! Where slabs lie: key view, normal, depths, and the tiles of their layers.

use super::tile::TILE_EDGE;
use crate::camera::dot;
use crate::cpu::TileRect;
use crate::{Camera, View};

/// Depths may be off by this much from rounding.
const SLACK: f32 = 1e-5;

/// From where and how finely to cast slabs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyView {
    /// The key view.
    pub camera: Camera,
    /// Rays per row of a layer, at most 65 535.
    pub width: u16,
    /// Rows of a layer.
    pub height: u16,
    /// Number of slabs.
    pub slabs: u16,
}

impl KeyView {
    /// 64 view-aligned slabs of 512 x 512 rays.
    pub fn new(camera: Camera) -> Self {
        Self { camera, width: 512, height: 512, slabs: 64 }
    }

    pub(crate) fn view(&self) -> View {
        self.camera.view(usize::from(self.width), usize::from(self.height))
    }

    /// Where the slabs of a box of these `edges`, in world units, lie.
    pub fn geometry(&self, edges: [f64; 3]) -> SlabGeometry {
        let view = self.view();
        let normal = view.forward;
        let half = edges.map(|edge| edge / 2.0);
        let center = -dot(view.eye, normal);
        let reach: f64 = (0..3).map(|axis| half[axis] * normal[axis].abs()).sum();
        SlabGeometry {
            width: self.width,
            height: self.height,
            slabs: self.slabs,
            normal: normal.map(|c| c as f32),
            near: (center - reach).max(0.0) as f32,
            far: (center + reach).max(0.0) as f32,
        }
    }
}

/// The planes and layers of a keyframe; what the header of a *Slabs* message says besides the key camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlabGeometry {
    /// Texels per row of a layer.
    pub width: u16,
    /// Rows of a layer.
    pub height: u16,
    /// Number of slabs, 0 nearest.
    pub slabs: u16,
    /// Unit vector perpendicular to the slabs, away from the key eye.
    pub normal: [f32; 3],
    /// Distance of the first slab's front from the key eye along the normal, in world units.
    pub near: f32,
    /// Distance of the last slab's back.
    pub far: f32,
}

/// A place of tiles in all layers: first texel and size, overlap included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TilePlace {
    pub(crate) lo: [usize; 2],
    pub(crate) size: [usize; 2],
}

impl TilePlace {
    /// Squares of `edge` texels without overlap that cover `[width, height]`, row by row.
    pub(crate) fn squares([width, height]: [usize; 2], edge: usize) -> Vec<Self> {
        let cut = |whole: usize| (0..whole).step_by(edge).map(move |lo| (lo, edge.min(whole - lo)));
        let row = |(y, height)| cut(width).map(move |(x, width)| Self { lo: [x, y], size: [width, height] });
        cut(height).flat_map(row).collect()
    }

    /// As it is on the wire, where edges have 16 bits.
    pub(crate) fn words(&self) -> [[u16; 2]; 2] {
        [self.lo, self.size].map(|pair| pair.map(|n| n as u16))
    }

    /// The same as pixels of the key view's image.
    pub(crate) fn rect(&self) -> TileRect {
        let ([x, y], [width, height]) = (self.lo, self.size);
        TileRect { x, y, width, height }
    }
}

impl SlabGeometry {
    /// Keeps the slabs between two depths; what lies behind the eye or outside the box stays out.
    pub(crate) fn narrow(&mut self, [near, far]: [f64; 2]) {
        (self.near, self.far) = (self.near.max(near as f32 - SLACK), self.far.min(far as f32 + SLACK));
    }

    /// Thickness of a slab in world units; 0 where nothing lies in front of the key eye.
    pub fn thickness(&self) -> f64 {
        (f64::from(self.far) - f64::from(self.near)).max(0.0) / f64::from(self.slabs.max(1))
    }

    /// The same, with the first plane a little before an eye inside the box: no ray has a place on a plane through the eye.
    pub(crate) fn in_front_of_the_eye(self) -> Self {
        Self { near: self.near.max(self.far / 1024.0), ..self }
    }

    /// Faces of all slabs: one more than slabs.
    pub(crate) fn face_count(&self) -> usize {
        usize::from(self.slabs) + 1
    }

    /// Distance of the middle of slab `slab` from the key eye along the normal.
    pub fn middle(&self, slab: usize) -> f64 {
        f64::from(self.near) + (slab as f64 + 0.5) * self.thickness()
    }

    /// Tiles along each axis of a layer.
    pub(crate) fn tile_counts(&self) -> [usize; 2] {
        [self.width, self.height].map(|edge| usize::from(edge).div_ceil(TILE_EDGE))
    }

    pub(crate) fn tile_places(&self) -> Vec<TilePlace> {
        let [columns, rows] = self.tile_counts();
        (0..rows).flat_map(|row| (0..columns).map(move |column| self.tile_place([column, row]))).collect()
    }

    /// The texels of the tile at `cell`: its own and one more to each side, within the layer.
    pub(crate) fn tile_place(&self, cell: [usize; 2]) -> TilePlace {
        let edges = [self.width, self.height].map(usize::from);
        let lo = cell.map(|c| (c * TILE_EDGE).saturating_sub(1));
        let hi: [usize; 2] = std::array::from_fn(|axis| ((cell[axis] + 1) * TILE_EDGE + 1).min(edges[axis]));
        TilePlace { lo, size: std::array::from_fn(|axis| hi[axis] - lo[axis]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_span_the_box_from_its_nearest_to_its_farthest_corner() {
        let camera = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, ..Camera::default() };
        let edges = [1.0, 1.0, 0.5];
        let geometry = KeyView::new(camera).geometry(edges);
        assert_eq!((geometry.near, geometry.far, geometry.normal), (2.75, 3.25, [0.0, 0.0, -1.0]));
    }

    #[test]
    fn slabs_start_at_an_eye_inside_and_vanish_behind_it() {
        let inside = Camera { distance: 0.1, ..Camera::default() };
        let edges = [1.0; 3];
        assert_eq!(KeyView::new(inside).geometry(edges).near, 0.0);
        let behind = Camera { target: [0.0, 0.0, -9.0], azimuth_deg: 0.0, elevation_deg: 0.0, ..inside };
        assert_eq!(KeyView::new(behind).geometry(edges).thickness(), 0.0);
    }

    #[test]
    fn tiles_overlap_by_one_texel_and_stay_in_the_layer() {
        let geometry = KeyView { width: 130, height: 20, ..KeyView::new(Camera::default()) }.geometry([1.0; 3]);
        let places = geometry.tile_places();
        let expected = [([0, 0], [65, 20]), ([63, 0], [66, 20]), ([127, 0], [3, 20])];
        assert_eq!(places, expected.map(|(lo, size)| TilePlace { lo, size }));
    }
}
