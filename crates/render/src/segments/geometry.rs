//! Where the rays and planes of a keyframe lie.

use visapult_volume::ValueRange;

use super::tile::SEGMENT_TILE_EDGE;
use super::tolerance::{TOP_CODE, Tolerance};
use crate::camera::dot;
use crate::integrals::Integrals;
use crate::key_rays::Planes;
use crate::slabs::TilePlace;
use crate::transfer_function::widened;
use crate::world_box::WorldBox;
use crate::{Camera, TransferFunction, View, Volume};

/// Rays lie this many samples apart at the target of a key view, where that takes no more than [`MOST_RAYS`].
const RAY_DISTANCE: f64 = 1.6;
/// Most rays per row and column that a key view is given by itself, and fewest.
const MOST_RAYS: f64 = 512.0;
const FEWEST_RAYS: f64 = 64.0;

/// Tiles that are enough for one to be a small part of the picture.
const MANY_TILES: usize = 49;

/// Most planes across the box: a page accepts 8192.
const MOST_PLANES: f64 = 8191.0;

/// From where and how finely to make segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentKey {
    /// The key view.
    pub camera: Camera,
    /// Rays per row, at most 65 535.
    pub width: u16,
    /// Rows of rays.
    pub height: u16,
    /// Most segments of a ray, at most 254.
    pub segments: u16,
}

impl SegmentKey {
    /// Segments of a ray at most, where nobody asks for another number.
    pub const SEGMENTS: u16 = 64;

    /// A square of as many rays as tell the samples of `volume` apart, of at most [`Self::SEGMENTS`].
    pub fn new(volume: &Volume, camera: Camera) -> Self {
        let height = 2.0 * (camera.fov_deg.to_radians() / 2.0).tan() * camera.distance;
        let rays = height / (RAY_DISTANCE * volume.placement(camera.stretch).step);
        let edge = rays.ceil().clamp(FEWEST_RAYS, MOST_RAYS) as u16;
        Self { camera, width: edge, height: edge, segments: Self::SEGMENTS }
    }

    pub(crate) fn view(&self) -> View {
        self.camera.view(usize::from(self.width), usize::from(self.height))
    }
}

/// Where rays, planes and values of a keyframe lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentGeometry {
    /// Rays per row.
    pub width: u16,
    /// Rows of rays.
    pub height: u16,
    /// Number of planes, all perpendicular to the view direction.
    pub planes: u16,
    /// Distance of plane 0 from the key eye along the view direction, in world units.
    pub near: f32,
    /// Distance between planes.
    pub spacing: f32,
    /// Edges of the box, centred at the origin: beyond it nothing is shown.
    pub edges: [f32; 3],
    /// Values of the least and the largest code.
    pub range: [f32; 2],
}

/// Planes of a ray that are looked at: the first, how many, and where in the world they are met.
pub(crate) struct RayPlanes {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(super) start: [f64; 3],
    pub(super) step: [f64; 3],
}

impl SegmentGeometry {
    /// Planes a sample's distance apart, or as dense as may be, through all of the box that lies in front of the eye.
    pub(super) fn new(volume: &Volume, key: &SegmentKey, range: ValueRange) -> Self {
        let (view, placement) = (key.view(), volume.placement(key.camera.stretch));
        let reach: f64 = (0..3).map(|a| placement.edges[a] / 2.0 * view.forward[a].abs()).sum();
        let center = -dot(view.eye, view.forward);
        let spacing = placement.step.max(dot(placement.edges, placement.edges).sqrt() / MOST_PLANES);
        // One plane more at both ends, so that the first and last of the box lie between two.
        let near = (center - reach - spacing).max(0.05 * spacing);
        let wanted = ((center + reach - near) / spacing).ceil() + 2.0;
        Self {
            width: key.width,
            height: key.height,
            planes: wanted.max(0.0) as u16,
            near: near as f32,
            spacing: spacing as f32,
            edges: placement.edges.map(|edge| edge as f32),
            range: widened([range.lo, range.hi]),
        }
    }

    /// How far values may be off that `function` shows; of all that is kept where it has no range.
    pub(super) fn tolerance(&self, function: &TransferFunction) -> Tolerance {
        let shown = function.range.map_or(self.range, widened);
        Tolerance::new(function, shown, self.range, f64::from(self.spacing))
    }

    /// What `function` shows of codes; `None` where it has no range.
    pub(super) fn integrals(&self, function: &TransferFunction) -> Option<Integrals> {
        let [lo, hi] = self.range;
        let range = function.resolved_range(Some(ValueRange { lo, hi }))?;
        Some(Integrals::new(function, range.map(|value| (value - lo) / (hi - lo) * f32::from(TOP_CODE))))
    }

    /// All planes, and the box in which rays are looked at.
    pub(super) fn planes_around(&self, view: &View) -> Planes {
        let (near, spacing) = (f64::from(self.near), f64::from(self.spacing));
        let far = near + spacing * f64::from(self.planes);
        let pixel = (2.0 * view.half_width / view.width as f64).max(2.0 * view.half_height / view.height as f64);
        let margin = 2.0 * (pixel * far + spacing);
        let edges = self.edges.map(|edge| f64::from(edge) + margin);
        Planes { near, spacing, count: usize::from(self.planes), edges }
    }

    /// The planes of the ray through pixel `at` that lie in the box, or so near to it that values in the box are mixed with theirs.
    pub(super) fn planes_of(&self, view: &View, at: [usize; 2]) -> Option<RayPlanes> {
        let Planes { near, spacing, edges, .. } = self.planes_around(view);
        let direction = view.direction(at[0] as f64 + 0.5, at[1] as f64 + 0.5);
        let (t_in, t_out) = WorldBox::centred(edges).passed(view.eye, direction)?;
        let cosine = dot(direction, view.forward);
        let plane = |t: f64| (t * cosine - near) / spacing;
        let first = plane(t_in).ceil().max(0.0) as usize;
        let end = (plane(t_out).floor() + 1.0).clamp(0.0, f64::from(self.planes)) as usize;
        let per_depth = direction.map(|c| c / cosine);
        let depth = near + first as f64 * spacing;
        (first < end).then(|| RayPlanes {
            first,
            count: end - first,
            start: std::array::from_fn(|a| view.eye[a] + per_depth[a] * depth),
            step: per_depth.map(|c| c * spacing),
        })
    }

    /// The tiles that rays are cut into, row by row: those of few rays are smaller, so that what is lost with one is a small part of the picture.
    pub(super) fn tile_places(&self) -> Vec<TilePlace> {
        TilePlace::squares([self.width, self.height].map(usize::from), self.tile_edge())
    }

    /// Rays along the edge of a tile.
    #[must_use]
    pub fn tile_edge(&self) -> usize {
        let across = |rays: u16| usize::from(rays).div_ceil(SEGMENT_TILE_EDGE);
        let is_small = across(self.width) * across(self.height) < MANY_TILES;
        if is_small { SEGMENT_TILE_EDGE / 2 } else { SEGMENT_TILE_EDGE }
    }
}
