//! What segments would be worth: real ones of some rays, seen from the key view. From elsewhere they err alike.

use rayon::prelude::*;

use super::levels::Level;
use super::models::Marched;
use super::{
    FEWEST_RAYS, FOREGROUND, PROBE_EDGE, Prediction, Subject, TRUE_STEP, codes, error_of, probe_place, psnr_db,
};
use crate::segments::SparseSegments;
use crate::{Form, SegmentKey, values_kept};

/// The prediction for `views` views.
pub(super) fn predict(subject: &Subject<'_>, segments: u16, views: usize) -> Prediction {
    let form = Form::Segments { segments };
    let (volume, function) = (subject.volume, subject.transfer_function);
    let Some(range) = function.resolved_range(volume.range()) else {
        return Prediction { form, bytes: 0, psnr_db: Vec::new() };
    };
    let key = SegmentKey::of_picture(volume, subject.key, segments, subject.aspect);
    let per_probe = [key.width, key.height].map(|n| f64::from(n) / PROBE_EDGE as f64);
    let place = |ray: usize| {
        let at = probe_place(ray);
        [0, 1].map(|axis| at[axis] * per_probe[axis])
    };
    let places: Vec<[f64; 2]> = (0..PROBE_EDGE * PROBE_EDGE).map(place).collect();
    let sparse = SparseSegments::new(volume, &key, function, values_kept(volume.range(), function.range), &places);
    let exact = Marched::new(volume, function, range, TRUE_STEP, || Level::exact(volume));
    let (view, scene) = (key.view(), sparse.scene(function));
    let error = |[x, y]: &[f64; 2]| {
        let direction = view.direction(*x, *y);
        let truth = exact.color(view.eye, direction);
        let seen = || scene.as_ref().map_or([0.0; 4], |scene| scene.cast(view.eye, direction));
        (truth[3] > FOREGROUND).then(|| error_of(codes(seen()), codes(truth)))
    };
    let errors: Vec<f64> = places.par_iter().with_max_len(64).filter_map(error).collect();
    let of_part = sparse.bytes_of(usize::from(key.width) * usize::from(key.height)) as f64;
    let bytes = (of_part / subject.share()) as u64;
    let is_known = errors.len() >= FEWEST_RAYS as usize;
    let psnr_db = is_known.then(|| vec![psnr_db(errors.iter().sum::<f64>() / errors.len() as f64); views]);
    Prediction { form, bytes, psnr_db: psnr_db.unwrap_or_default() }
}
