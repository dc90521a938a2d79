//! What segments would be worth: real ones of some rays, seen from the key view. From elsewhere they err alike.

use rayon::prelude::*;

use super::levels::Level;
use super::models::Marched;
use super::{FOREGROUND, PROBE_EDGE, Prediction, Subject, TRUE_STEP, codes, error_of, probe_place, psnr_db};
use crate::segments::SparseSegments;
use crate::{Form, SegmentKey};

/// The prediction for `views` views.
pub(super) fn predict(subject: &Subject<'_>, segments: u16, views: usize) -> Prediction {
    let form = Form::Segments { segments };
    let (volume, function) = (subject.volume, subject.transfer_function);
    let Some(range) = function.resolved_range(volume.range()) else {
        return Prediction { form, bytes: 0, psnr_db: vec![psnr_db(0.0); views] };
    };
    let key = SegmentKey { segments, ..SegmentKey::new(volume, subject.key) };
    let per_probe = [key.width, key.height].map(|n| f64::from(n) / PROBE_EDGE as f64);
    let place = |ray: usize| {
        let at = probe_place(ray);
        [0, 1].map(|axis| at[axis] * per_probe[axis] - 0.5)
    };
    let places: Vec<[f64; 2]> = (0..PROBE_EDGE * PROBE_EDGE).map(place).collect();
    let sparse = SparseSegments::new(volume, &key, function, range, &places);
    let exact = Marched::new(volume, function, range, TRUE_STEP, || Level::exact(volume));
    let (view, scene) = (key.camera.view(PROBE_EDGE, PROBE_EDGE), sparse.scene(function));
    let error = |ray: usize| {
        let [x, y] = probe_place(ray);
        let direction = view.direction(x, y);
        let truth = exact.color(view.eye, direction);
        let seen = || scene.as_ref().map_or([0.0; 4], |scene| scene.cast(view.eye, direction));
        (truth[3] > FOREGROUND).then(|| error_of(codes(seen()), codes(truth)))
    };
    let errors: Vec<f64> = (0..places.len()).into_par_iter().with_max_len(64).filter_map(error).collect();
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let of_part = sparse.bytes_of(usize::from(key.width) * usize::from(key.height)) as f64;
    let bytes = (of_part / subject.share()) as u64;
    Prediction { form, bytes, psnr_db: vec![psnr_db(mean); views] }
}
