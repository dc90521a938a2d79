//! Which rays of a key view are cast: those that its picture shows of the box, as wide a margin around them as there are rays for, and none
//! beyond the box's outline.

use std::iter;

use crate::camera::dot;
use crate::segments::SegmentKey;
use crate::{Camera, KeyView, View, Volume, fitted_key};

/// How much farther than the edges of the picture rays reach at least: small pans and zooms find data.
const MARGIN: f64 = 1.15;
/// How much farther they reach at most: more is not seen before another key view is due.
const WIDEST_MARGIN: f64 = 4.0;
/// By how much the margin is widened at a time.
const WIDER: f64 = 1.1;
/// Most rays of a key view that would be as dense with more.
const MOST_RAYS: f64 = 512.0 * 512.0;
/// Most rays in a row or column.
const MOST_ACROSS: f64 = 2048.0;
/// Pictures beyond this shape, width over height, are not filled.
const WIDEST: f64 = 4.0;
/// Samples of the grid beyond the box that are interpolated with.
const SAMPLES_BEYOND: f64 = 3.0;
/// Thicknesses of slabs beyond the box that are interpolated with.
const SLABS_BEYOND: f64 = 1.5;
/// Of a number of rays, that is no ray.
const ROUNDING: f64 = 1e-6;
/// Corners nearer to the eye's plane than this, in world units, may be anywhere in the picture.
const NEAREST: f64 = 1e-3;

/// Planes perpendicular to a view, and the box in which values are read at them.
pub(crate) struct Planes {
    /// Distance of the first from the eye.
    pub(crate) near: f64,
    /// Distance between them.
    pub(crate) spacing: f64,
    /// How many there are.
    pub(crate) count: usize,
    /// Edges of the box.
    pub(crate) edges: [f64; 3],
}

impl KeyView {
    /// That of slabs of colour for a picture of shape `aspect`, width over height.
    pub fn of_slabs(volume: &Volume, camera: Camera, slabs: u16, aspect: f64) -> Self {
        Self { slabs, ..Self::new(camera) }.covering(volume, aspect)
    }

    /// That of scalar slabs for a picture of shape `aspect`, width over height.
    pub fn of_scalar_slabs(volume: &Volume, camera: Camera, slabs: u16, aspect: f64) -> Self {
        Self { slabs, ..fitted_key(volume, camera) }.covering(volume, aspect)
    }

    /// The same view as dense, or as dense as 512 x 512 rays can be, for a picture of shape `aspect`, width over height, of `volume`.
    #[must_use]
    pub fn covering(self, volume: &Volume, aspect: f64) -> Self {
        let slab = self.geometry(volume.placement(self.camera.stretch).edges).thickness();
        let (camera, [width, height]) =
            covering(self.camera, [self.width, self.height], volume, SLABS_BEYOND * slab, aspect);
        Self { camera, width, height, ..self }
    }
}

impl SegmentKey {
    /// That of at most `segments` segments a ray for a picture of shape `aspect`, width over height.
    pub fn of_picture(volume: &Volume, camera: Camera, segments: u16, aspect: f64) -> Self {
        Self { segments, ..Self::new(volume, camera) }.covering(volume, aspect)
    }

    /// The same view as dense, or as dense as 512 x 512 rays can be, for a picture of shape `aspect`, width over height, of `volume`.
    #[must_use]
    pub fn covering(self, volume: &Volume, aspect: f64) -> Self {
        let (camera, [width, height]) = covering(self.camera, [self.width, self.height], volume, 0.0, aspect);
        Self { camera, width, height, ..self }
    }
}

/// The rays of a picture of shape `aspect`, width over height, that may meet the box of these `edges`, as `size` rows and columns.
pub(crate) fn rays_of_box(camera: &Camera, edges: [f64; 3], aspect: f64, size: usize) -> View {
    let view = camera.view(size, size);
    let [across, down] = outline(*camera, edges.map(|edge| edge / 2.0));
    let half_width = across.min(view.half_height * aspect);
    View { half_width, half_height: down.min(view.half_height), ..view }
}

fn covering(camera: Camera, rays: [u16; 2], volume: &Volume, beyond: f64, aspect: f64) -> (Camera, [u16; 2]) {
    let placement = volume.placement(camera.stretch);
    let beyond = beyond + SAMPLES_BEYOND * placement.step;
    let half = placement.edges.map(|edge| edge / 2.0 + beyond);
    let tangent = (camera.fov_deg.to_radians() / 2.0).tan();
    let picture = [aspect.clamp(1.0 / WIDEST, WIDEST), 1.0].map(|share| tangent * share);
    let outline = outline(camera, half);
    let per_tangent = f64::from(rays[1]) / tangent;
    let within = |margin: f64| [0, 1].map(|axis| outline[axis].min(margin * picture[axis]));
    let count = |[x, y]: [f64; 2]| per_tangent * x * per_tangent * y;
    let margins = iter::successors(Some(MARGIN), |margin| Some(margin * WIDER)).take_while(|margin| {
        let narrower = within(margin / WIDER);
        let fits = *margin <= WIDEST_MARGIN && count(within(*margin)) <= MOST_RAYS;
        *margin <= MARGIN || narrower != outline && fits
    });
    let needed = within(margins.last().unwrap_or(MARGIN));
    let share = (MOST_RAYS / count(needed)).sqrt().min(1.0);
    let dense = needed.map(|tangent| share * per_tangent * tangent);
    let fewer = (MOST_ACROSS / dense[0].max(dense[1])).min(1.0);
    let rows = (fewer * dense[1]).round().max(1.0);
    // As many columns as reach as far aside: rays are as far apart as rows.
    let columns = (rows * needed[0] / needed[1] - ROUNDING).ceil().clamp(1.0, MOST_ACROSS);
    let fov_deg = (2.0 * needed[1].atan().to_degrees()).clamp(Camera::LEAST_FOV_DEG, Camera::MOST_FOV_DEG);
    (Camera { fov_deg, ..camera }, [columns, rows].map(|edge| edge as u16))
}

/// Half the width and height, at distance 1, of what the box of these half edges takes of the picture.
fn outline(camera: Camera, half: [f64; 3]) -> [f64; 2] {
    let view = camera.view(1, 1);
    let mut outline = [0.0_f64; 2];
    for corner in 0..8 {
        let from_eye: [f64; 3] = std::array::from_fn(|axis| {
            let side = if corner >> axis & 1 == 0 { -half[axis] } else { half[axis] };
            side - view.eye[axis]
        });
        let depth = dot(from_eye, view.forward);
        if depth < NEAREST {
            return [f64::INFINITY; 2];
        }
        outline[0] = outline[0].max(dot(from_eye, view.right).abs() / depth);
        outline[1] = outline[1].max(dot(from_eye, view.up).abs() / depth);
    }
    outline
}

#[cfg(test)]
mod tests {
    use visapult_volume::Grid;

    use super::*;

    fn volume() -> Volume {
        Volume::whole(Grid::of_size([128, 128, 64]), vec![0.0; 128 * 128 * 64]).unwrap()
    }

    fn tangents(key: &KeyView) -> [f64; 2] {
        let tangent = (key.camera.fov_deg.to_radians() / 2.0).tan();
        [tangent * f64::from(key.width) / f64::from(key.height), tangent]
    }

    #[test]
    fn rays_that_miss_the_box_are_not_cast_and_the_others_are_as_dense() {
        let far = Camera { distance: 6.0, ..Camera::default() };
        let (before, after) = (KeyView::new(far), KeyView::new(far).covering(&volume(), 16.0 / 9.0));
        assert!(f64::from(after.height) < 0.6 * f64::from(before.height));
        let density = |key: &KeyView| f64::from(key.height) / tangents(key)[1];
        assert!((density(&after) / density(&before) - 1.0).abs() < 0.01);
        // Whatever the picture's shape.
        assert_eq!(after, KeyView::new(far).covering(&volume(), 1.0));
    }

    #[test]
    fn a_wide_picture_near_the_box_is_filled_and_takes_no_more_rays() {
        let near = Camera { distance: 1.2, ..Camera::default() };
        let before = KeyView::new(near);
        for aspect in [0.5, 1.0, 16.0 / 9.0] {
            let after = before.covering(&volume(), aspect);
            let [x, y] = tangents(&after);
            let picture = (near.fov_deg.to_radians() / 2.0).tan();
            assert!(x >= 1.1 * picture * aspect.min(1.2) && y >= 1.1 * picture.min(x), "{after:?}");
            assert!(u32::from(after.width) * u32::from(after.height) <= 513 * 513);
        }
    }

    #[test]
    fn a_view_of_few_rays_takes_in_all_of_the_box() {
        let near = Camera { distance: 1.2, ..Camera::default() };
        let sparse = KeyView { width: 160, height: 160, ..KeyView::new(near) };
        let [x, y] = tangents(&sparse.covering(&volume(), 1.5));
        let beyond = SLABS_BEYOND * sparse.geometry(volume().placement(near.stretch).edges).thickness();
        let half = volume().placement(near.stretch).edges.map(|edge| edge / 2.0 + beyond);
        let [left, top] = outline(near, half);
        assert!(x >= left && y >= top, "{x} {y} {left} {top}");
    }

    #[test]
    fn rays_reach_the_sides_of_a_flat_box_that_is_seen_edge_on() {
        for (size, distance) in [([256, 1, 256], 2.5), ([256, 5, 256], 3.0), ([1, 256, 256], 2.5)] {
            let volume = Volume::whole(Grid::of_size(size), vec![0.0; size.iter().product()]).unwrap();
            let camera = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, distance, ..Camera::default() };
            let key = SegmentKey::of_picture(&volume, camera, 64, 1.5);
            let tangent = (key.camera.fov_deg.to_radians() / 2.0).tan();
            let across = tangent * f64::from(key.width) / f64::from(key.height);
            let half = volume.placement(camera.stretch).edges.map(|edge| edge / 2.0);
            let front = outline(camera, half);
            assert!(across >= front[0] - 1e-9 && tangent >= front[1] - 1e-9, "{size:?}: {across} {tangent} {front:?}");
        }
    }

    #[test]
    fn an_eye_in_the_box_and_one_that_sees_nothing_of_it_have_rays() {
        for camera in [
            Camera { distance: 0.1, ..Camera::default() },
            Camera { distance: 1.0, target: [0.0, 0.0, 40.0], ..Camera::default() },
            Camera { distance: 1e6, ..Camera::default() },
            Camera { fov_deg: 170.0, ..Camera::default() },
        ] {
            let key = KeyView::new(camera).covering(&volume(), 100.0);
            assert_eq!(key.camera.validate(), Ok(()));
            assert!(key.width > 0 && key.height > 0);
        }
    }
}
