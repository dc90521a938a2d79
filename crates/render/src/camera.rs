//! The camera: where the eye is, which ray belongs to a pixel, which pixel belongs to a point.
//!
//! World coordinates: the grid's box has its longest edge 1 and its centre at the origin; +y is up, or +z where a camera says so.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use visapult_volume::{Box3, Grid};

use crate::world_box::{UNCROPPED, WorldBox};

/// As it is: no axis is shown longer.
const UNSTRETCHED: [f64; 3] = [1.0; 3];
/// Steepest elevation at which a camera is turned about the vertical axis.
const STEEP_DEG: f64 = 45.0;

/// The axis of the box that a camera shows upwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Up {
    /// As of pictures: x goes to the right, and z towards who looks from the front.
    #[default]
    Y,
    /// As of maps: who looks from the front looks along y, to the north.
    Z,
}

impl Up {
    /// World coordinates of what lies so far to the right, upwards, and towards who looks from the front.
    fn in_world(self, [right, up, near]: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Y => [right, up, near],
            Self::Z => [right, -near, up],
        }
    }
}

/// An eye on a sphere around `target`, looking at it, and how long it sees the axes of the box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Camera {
    /// Turn about the vertical axis in degrees; 0 looks from the front (+z, or -y where z is up), 90 from +x.
    #[serde(rename = "azimuth")]
    pub azimuth_deg: f64,
    /// Height above the horizontal plane in degrees, at most [`Camera::MAX_ELEVATION_DEG`] to either side.
    #[serde(rename = "elevation")]
    pub elevation_deg: f64,
    /// Distance of the eye from `target` in world units.
    pub distance: f64,
    /// Vertical field of view in degrees.
    #[serde(rename = "fov")]
    pub fov_deg: f64,
    /// Focal point in world units.
    pub target: [f64; 3],
    /// How many times as long as it is each axis is shown, beside the others: what is wide and thin can be looked into.
    pub stretch: [f64; 3],
    /// The vertical axis.
    pub up: Up,
    /// From where to where along each axis the box is shown, 0 being its low face and 1 its high one: what lies outside is cut away.
    pub crop: [[f64; 2]; 3],
}

/// Why a camera cannot be used.
#[derive(Debug, Error, PartialEq)]
pub enum CameraError {
    /// A number is NaN or infinite.
    #[error("camera {0} is not a finite number")]
    NotFinite(&'static str),
    /// The distance is not usable.
    #[error("camera distance {0} must lie above 0 and at most {max}", max = Camera::MAX_DISTANCE)]
    Distance(f64),
    /// An axis cannot be shown so long or short.
    #[error("camera stretch {0:?} must lie between 1/{most} and {most} along each axis", most = Camera::MOST_STRETCH)]
    Stretch([f64; 3]),
    /// Nothing would be left of an axis, or it ends outside of the box.
    #[error("camera crop {0:?} must go upwards from 0 or more to at most 1 along each axis")]
    Crop([[f64; 2]; 3]),
    /// The field of view is not usable.
    #[error("camera field of view {0} must lie between {least} and {most} degrees", least = Camera::LEAST_FOV_DEG, most = Camera::MOST_FOV_DEG)]
    FieldOfView(f64),
}

impl Default for Camera {
    fn default() -> Self {
        Self {
            azimuth_deg: 30.0,
            elevation_deg: 20.0,
            distance: 3.0,
            fov_deg: 30.0,
            target: [0.0; 3],
            stretch: UNSTRETCHED,
            up: Up::Y,
            crop: UNCROPPED,
        }
    }
}

impl Camera {
    /// Elevations are held below the pole, where "up" would be undefined.
    pub const MAX_ELEVATION_DEG: f64 = 89.9;
    /// Farthest eye accepted, in world units.
    pub const MAX_DISTANCE: f64 = 1e6;
    /// Smallest field of view accepted, in degrees.
    pub const LEAST_FOV_DEG: f64 = 0.01;
    /// Largest field of view accepted, in degrees.
    pub const MOST_FOV_DEG: f64 = 170.0;
    /// How many times as long, or as short, an axis may be shown as it is.
    pub const MOST_STRETCH: f64 = 1e6;

    /// Checks a camera that comes from outside.
    ///
    /// # Errors
    /// [`CameraError`] names the first number that cannot be used. Elevations beyond the pole are not errors: they are
    /// held at [`Camera::MAX_ELEVATION_DEG`].
    pub fn validate(&self) -> Result<(), CameraError> {
        let numbers = [
            ("azimuth", self.azimuth_deg),
            ("elevation", self.elevation_deg),
            ("distance", self.distance),
            ("fov", self.fov_deg),
            ("target", self.target.iter().sum()),
        ];
        if let Some((name, _)) = numbers.iter().find(|(_, value)| !value.is_finite()) {
            return Err(CameraError::NotFinite(name));
        }
        if !(self.distance > 0.0 && self.distance <= Self::MAX_DISTANCE) {
            return Err(CameraError::Distance(self.distance));
        }
        if !(Self::LEAST_FOV_DEG..=Self::MOST_FOV_DEG).contains(&self.fov_deg) {
            return Err(CameraError::FieldOfView(self.fov_deg));
        }
        if !self.stretch.iter().all(|times| (Self::MOST_STRETCH.recip()..=Self::MOST_STRETCH).contains(times)) {
            return Err(CameraError::Stretch(self.stretch));
        }
        if !self.crop.iter().all(|[from, to]| 0.0 <= *from && from < to && *to <= 1.0) {
            return Err(CameraError::Crop(self.crop));
        }
        Ok(())
    }

    /// Whether anything is shown of the samples `owned` of a grid, and of what lies between them and the next.
    pub fn shows(&self, grid: &Grid, owned: &Box3) -> bool {
        let ((scale, offset), edges) = (grid.sample_from_world(), grid.world_edges());
        (0..3).all(|axis| {
            let [from, to] = self.crop[axis];
            let share = |sample: usize| match sample {
                0 => 0.0,
                sample if sample >= grid.size[axis] => 1.0,
                sample => (sample as f64 - offset[axis]) / scale[axis] / edges[axis] + 0.5,
            };
            share(owned.lo[axis]) < to && share(owned.hi[axis]) > from
        })
    }

    /// Whether a ray through the centre of a pixel, of an image of so many across and down, passes what is shown of the box of a grid.
    pub fn meets(&self, grid: &Grid, [width, height]: [usize; 2]) -> bool {
        let view = self.view(width, height);
        let shown = view.shown(grid.stretched(self.stretch).world_edges());
        let mut centres =
            (0..height).flat_map(|row| (0..width).map(move |column| [column, row].map(|n| n as f64 + 0.5)));
        centres.any(|[x, y]| shown.passed(view.eye, view.direction(x, y)).is_some())
    }

    /// The camera turned about the vertical axis; where it looks steeply up or down, towards the horizon.
    #[must_use]
    pub fn turned(self, degrees: f64) -> Self {
        if self.elevation_deg.abs() <= STEEP_DEG {
            return Self { azimuth_deg: self.azimuth_deg + degrees, ..self };
        }
        Self { elevation_deg: self.elevation_deg - self.elevation_deg.signum() * degrees, ..self }
    }

    /// Position of the eye in world units.
    pub fn eye(&self) -> [f64; 3] {
        let toward_eye = self.toward_eye();
        std::array::from_fn(|axis| self.target[axis] + self.distance * toward_eye[axis])
    }

    /// Unit vector from the target to the eye.
    fn toward_eye(&self) -> [f64; 3] {
        let (sin_az, cos_az) = self.azimuth_deg.to_radians().sin_cos();
        let elevation = self.elevation_deg.clamp(-Self::MAX_ELEVATION_DEG, Self::MAX_ELEVATION_DEG);
        let (sin_el, cos_el) = elevation.to_radians().sin_cos();
        self.up.in_world([cos_el * sin_az, sin_el, cos_el * cos_az])
    }

    /// The rays of a `width` x `height` image.
    pub fn view(&self, width: usize, height: usize) -> View {
        let eye = self.eye();
        // Not from eye to target, which are one where distances are rounded away.
        let forward = normalize(self.toward_eye().map(|c| -c));
        let right = normalize(cross(forward, self.up.in_world([0.0, 1.0, 0.0])));
        let up = cross(right, forward);
        let half_height = (self.fov_deg.to_radians() / 2.0).tan();
        let half_width = half_height * width as f64 / height as f64;
        let Self { stretch, crop, .. } = *self;
        View { eye, right, up, forward, half_width, half_height, width, height, stretch, crop }
    }
}

/// A camera and an image size: the map between pixels and rays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Position of the eye in world units.
    pub eye: [f64; 3],
    /// Unit vector to the right of the image.
    pub right: [f64; 3],
    /// Unit vector to the top of the image.
    pub up: [f64; 3],
    /// Unit vector from the eye to the focal point.
    pub forward: [f64; 3],
    /// Half the image's width on the plane at distance 1.
    pub half_width: f64,
    /// Half the image's height on the plane at distance 1.
    pub half_height: f64,
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// How many times as long as it is each axis is shown.
    pub stretch: [f64; 3],
    /// From where to where along each axis the box is shown.
    pub crop: [[f64; 2]; 3],
}

impl View {
    /// What is shown of the box of `edges`.
    pub(crate) fn shown(&self, edges: [f64; 3]) -> WorldBox {
        WorldBox::cropped(edges, self.crop)
    }

    /// Unit direction of the ray through image position `x`, `y` in pixels from the upper left corner.
    ///
    /// The centre of pixel (column i, row j) is at `(i + 0.5, j + 0.5)`.
    pub fn direction(&self, x: f64, y: f64) -> [f64; 3] {
        normalize(self.at_depth_one(x, y))
    }

    /// From the eye to where the ray through image position `x`, `y` is at view depth 1.
    pub(crate) fn at_depth_one(&self, x: f64, y: f64) -> [f64; 3] {
        let sx = (x / self.width as f64 * 2.0 - 1.0) * self.half_width;
        let sy = (1.0 - y / self.height as f64 * 2.0) * self.half_height;
        std::array::from_fn(|axis| self.forward[axis] + sx * self.right[axis] + sy * self.up[axis])
    }

    /// Distance of a world point from the eye, measured along the view direction.
    pub fn depth(&self, point: [f64; 3]) -> f64 {
        dot(std::array::from_fn(|axis| point[axis] - self.eye[axis]), self.forward)
    }

    /// Image position `[x, y]` in pixels and view depth of a world point; `None` where it is not in front of the eye.
    pub fn project(&self, point: [f64; 3]) -> Option<([f64; 2], f64)> {
        let from_eye = std::array::from_fn(|axis| point[axis] - self.eye[axis]);
        let depth = dot(from_eye, self.forward);
        if depth <= 0.0 {
            return None;
        }
        let sx = dot(from_eye, self.right) / (depth * self.half_width);
        let sy = dot(from_eye, self.up) / (depth * self.half_height);
        let pixel = [(sx + 1.0) / 2.0 * self.width as f64, (1.0 - sy) / 2.0 * self.height as f64];
        Some((pixel, depth))
    }
}

pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn normalize(a: [f64; 3]) -> [f64; 3] {
    let length = dot(a, a).sqrt();
    a.map(|component| component / length)
}

#[cfg(test)]
mod tests {
    use visapult_volume::Centering;

    use super::*;

    fn close(a: [f64; 3], b: [f64; 3]) -> bool {
        (0..3).all(|axis| (a[axis] - b[axis]).abs() < 1e-12)
    }

    #[test]
    fn a_camera_that_looks_past_what_is_shown_of_the_box_meets_nothing() {
        let meets = |camera: Camera| camera.meets(&Grid::of_size([8; 3]), [32, 24]);
        assert!(meets(Camera::default()));
        assert!(!meets(Camera { target: [3.0, 0.0, 0.0], ..Camera::default() }));
        let cropped = Camera { crop: [[0.9, 1.0]; 3], fov_deg: 2.0, ..Camera::default() };
        assert!(!meets(cropped));
        assert!(meets(Camera { target: [0.45; 3], ..cropped }));
    }

    #[test]
    fn azimuth_and_elevation_zero_look_down_from_plus_z() {
        let camera = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, ..Camera::default() };
        let view = camera.view(64, 32);
        assert!(close(view.eye, [0.0, 0.0, 3.0]));
        assert!(close(view.forward, [0.0, 0.0, -1.0]));
        assert!(close(view.right, [1.0, 0.0, 0.0]));
        assert!(close(view.up, [0.0, 1.0, 0.0]));
        assert!(close(view.direction(32.0, 16.0), view.forward));
    }

    #[test]
    fn the_target_shifts_the_eye_and_keeps_the_direction() {
        let here = Camera::default();
        let there = Camera { target: [0.5, -1.0, 2.0], ..here };
        let shifted = std::array::from_fn(|axis| here.eye()[axis] + there.target[axis]);
        assert!(close(there.eye(), shifted));
        assert!(close(there.view(8, 8).forward, here.view(8, 8).forward));
    }

    #[test]
    fn a_projected_point_lies_on_the_ray_through_its_pixel() {
        let view = Camera { azimuth_deg: -75.0, elevation_deg: 50.0, ..Camera::default() }.view(320, 200);
        let point = [0.21, -0.4, 0.33];
        let (pixel, depth) = view.project(point).unwrap();
        let direction = view.direction(pixel[0], pixel[1]);
        let t = depth / dot(direction, view.forward);
        assert!(close(std::array::from_fn(|axis| view.eye[axis] + t * direction[axis]), point));
        assert!((view.depth(point) - depth).abs() < 1e-12);
        assert!(view.project(std::array::from_fn(|axis| view.eye[axis] - view.forward[axis])).is_none());
    }

    #[test]
    fn a_camera_turns_about_the_vertical_axis_unless_it_looks_steeply_down() {
        let camera = Camera::default();
        assert_eq!(camera.turned(16.0), Camera { azimuth_deg: 46.0, ..camera });
        let steep = Camera { elevation_deg: -80.0, ..camera };
        assert_eq!(steep.turned(16.0), Camera { elevation_deg: -64.0, ..camera });
    }

    #[test]
    fn the_pole_is_never_reached() {
        let view = Camera { elevation_deg: 90.0, ..Camera::default() }.view(8, 8);
        assert!(view.right.iter().chain(&view.up).all(|c| c.is_finite()));
    }

    #[test]
    fn where_a_distance_is_rounded_away_the_view_has_its_direction_and_the_box_an_end() {
        let here = Camera::default();
        for camera in [Camera { target: [1e17; 3], ..here }, Camera { distance: 1e-200, target: [0.5; 3], ..here }] {
            let view = camera.view(8, 8);
            assert_eq!(view.eye, camera.target);
            assert!(close(view.forward, here.view(8, 8).forward));
            let passed = WorldBox::centred([1.0; 3]).passed(view.eye, view.direction(3.5, 4.5));
            assert!(passed.is_none_or(|(_, leave)| leave.is_finite()));
        }
        assert_eq!(WorldBox::centred([1.0; 3]).passed([0.0; 3], [f64::NAN; 3]), None);
    }

    #[test]
    fn cameras_that_cannot_be_used_are_refused() {
        assert_eq!(Camera::default().validate(), Ok(()));
        let refused = |camera: Camera| camera.validate().is_err();
        assert!(refused(Camera { azimuth_deg: f64::NAN, ..Camera::default() }));
        assert!(refused(Camera { target: [0.0, f64::INFINITY, 0.0], ..Camera::default() }));
        assert!(refused(Camera { distance: 0.0, ..Camera::default() }));
        assert!(refused(Camera { fov_deg: 180.0, ..Camera::default() }));
        for times in [0.0, -1.0, 1e7, f64::NAN, f64::INFINITY] {
            assert!(refused(Camera { stretch: [1.0, 1.0, times], ..Camera::default() }), "{times}");
        }
        for part in [[-0.1, 1.0], [0.0, 1.1], [0.5, 0.5], [0.7, 0.2], [f64::NAN, 1.0], [0.0, f64::NAN]] {
            assert!(refused(Camera { crop: [part, [0.0, 1.0], [0.0, 1.0]], ..Camera::default() }), "{part:?}");
        }
    }

    #[test]
    fn blocks_are_shown_that_reach_into_what_is_not_cut_away() {
        let camera = Camera { crop: [[0.0, 0.5], [0.25, 0.75], [0.0, 1.0]], ..Camera::default() };
        let block = |x: [usize; 2], y: [usize; 2]| Box3::new([x[0], y[0], 0], [x[1], y[1], 9]);
        let points = Grid::of_size([9; 3]);
        let cells = Grid { centering: Centering::Cell, ..points.clone() };
        // Sample 4 of 9 points is in the middle, sample 4 of 9 cells is, too.
        for grid in [&points, &cells] {
            assert!(camera.shows(grid, &grid.bounds()));
            assert!(camera.shows(grid, &block([3, 4], [0, 9])) && !camera.shows(grid, &block([4, 9], [0, 9])));
            assert!(camera.shows(grid, &block([0, 9], [1, 3])) && !camera.shows(grid, &block([0, 9], [7, 9])));
        }
        assert!(!camera.shows(&points, &block([0, 9], [0, 2])) && camera.shows(&cells, &block([0, 9], [0, 2])));
    }

    #[test]
    fn where_z_is_up_the_front_looks_north_and_the_right_is_east() {
        let front = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, distance: 2.0, up: Up::Z, ..Camera::default() };
        let view = front.view(9, 9);
        let near = |a: [f64; 3], b: [f64; 3]| (0..3).all(|axis| (a[axis] - b[axis]).abs() < 1e-12);
        assert!(near(view.eye, [0.0, -2.0, 0.0]) && near(view.forward, [0.0, 1.0, 0.0]), "{view:?}");
        assert!(near(view.right, [1.0, 0.0, 0.0]) && near(view.up, [0.0, 0.0, 1.0]), "{view:?}");
        let above = Camera { elevation_deg: 60.0, ..front };
        assert!(above.eye()[2] > 1.7 && Camera { azimuth_deg: 90.0, ..front }.eye()[0] > 1.9);
    }

    #[test]
    fn json_uses_the_names_of_the_view_protocol() {
        let camera: Camera =
            serde_json::from_str(
                r#"{"azimuth":1,"elevation":2,"distance":4,"fov":5,"stretch":[1,1,30],"up":"z","crop":[[0,1],[0.25,1],[0,0.5]]}"#,
            )
            .unwrap();
        let expected = Camera {
            azimuth_deg: 1.0,
            elevation_deg: 2.0,
            distance: 4.0,
            fov_deg: 5.0,
            target: [0.0; 3],
            stretch: [1.0, 1.0, 30.0],
            up: Up::Z,
            crop: [[0.0, 1.0], [0.25, 1.0], [0.0, 0.5]],
        };
        assert_eq!(camera, expected);
    }
}
