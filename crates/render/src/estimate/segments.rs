//! What segments would be worth: real ones of some rays, seen from the key view. From elsewhere they err alike.

use rayon::prelude::*;

use super::{Prediction, Probe, Subject, Sum, codes, error_of, foreground, probe_place};
use crate::segments::SparseSegments;
use crate::{Form, SegmentKey, values_kept};

/// Rays along the edge of the picture that they are made for: where they err, they err much, and few rays meet it.
const EDGE: usize = 32;

/// The prediction for `views` views.
pub(super) fn predict(subject: &Subject<'_>, probe: &Probe<'_>, segments: u16, views: usize) -> Prediction {
    let (volume, function) = (subject.volume, subject.transfer_function);
    let key = SegmentKey::of_picture(volume, subject.key, segments, subject.aspect);
    let view = key.view();
    let per_probe = [key.width, key.height].map(|n| f64::from(n) / EDGE as f64);
    let place = |ray: usize| {
        let at = probe_place(ray, EDGE);
        [0, 1].map(|axis| at[axis] * per_probe[axis])
    };
    let places: Vec<[f64; 2]> = (0..EDGE * EDGE).map(place).collect();
    let sparse = SparseSegments::new(volume, &key, function, values_kept(volume.range(), function.range), &places);
    let scene = sparse.scene(function);
    let error = |[x, y]: &[f64; 2]| {
        let direction = view.direction(*x, *y);
        let truth = foreground(probe.base.exact.color(view.eye, direction))?;
        let seen = scene.as_ref().map_or([0.0; 4], |scene| scene.cast(view.eye, direction));
        Some(error_of(codes(seen), truth))
    };
    let found: Vec<f64> = places.par_iter().with_max_len(64).filter_map(error).collect();
    let mut errors = Sum { cast: places.len() as u32, ..Sum::default() };
    found.into_iter().for_each(|error| errors.add(error));
    let of_part = sparse.bytes_of(usize::from(key.width) * usize::from(key.height)) as f64;
    let psnr_db = errors.psnr_db(0.0).map(|db| vec![db; views]).unwrap_or_default();
    Prediction {
        form: Form::Segments { segments },
        bytes: (of_part / subject.share()) as u64,
        psnr_db,
        seen: errors.seen(),
    }
}
