//! How far views are from one another, and whether proxies are worth about the same to them.

use visapult_render::Camera;

use crate::wire::View;

/// Turn of the camera up to which proxies are worth the same, in degrees.
const ALIKE_WITHIN_DEG: f64 = 20.0;
/// The same as a relative change of distance, of field of view, of how long axes are shown, and of the picture's shape.
const ALIKE_WITHIN_ZOOM: f64 = 0.25;
/// The same for the target, as a share of the distance.
const ALIKE_WITHIN_SHIFT: f64 = 0.1;
/// The same for where the box is cropped, as a share of the part that is shown.
const ALIKE_WITHIN_CROP: f64 = 0.1;

/// Angle between the view directions of two cameras, in degrees.
pub(crate) fn angle_between_deg(a: &Camera, b: &Camera) -> f64 {
    let (a, b) = (a.view(1, 1).forward, b.view(1, 1).forward);
    let cosine: f64 = (0..3).map(|axis| a[axis] * b[axis]).sum();
    cosine.clamp(-1.0, 1.0).acos().to_degrees()
}

/// Whether proxies of one step are worth about the same to two views, whatever of it they show.
pub(crate) fn are_alike(a: &View, b: &View) -> bool {
    let changed = |a: f64, b: f64| (a / b - 1.0).abs() > ALIKE_WITHIN_ZOOM;
    if changed(a.aspect(), b.aspect()) {
        return false;
    }
    let (a, b) = (&a.camera, &b.camera);
    let shift = (0..3).map(|axis| (a.target[axis] - b.target[axis]).powi(2)).sum::<f64>().sqrt();
    a.up == b.up
        && angle_between_deg(a, b) <= ALIKE_WITHIN_DEG
        && !changed(a.distance, b.distance)
        && !changed(a.fov_deg, b.fov_deg)
        && !(0..3).any(|axis| changed(a.stretch[axis], b.stretch[axis]))
        && a.crop.iter().zip(&b.crop).all(|(a, b)| {
            let most = ALIKE_WITHIN_CROP * (b[1] - b[0]);
            (a[0] - b[0]).abs() <= most && (a[1] - b[1]).abs() <= most
        })
        && shift <= ALIKE_WITHIN_SHIFT * b.distance
}
