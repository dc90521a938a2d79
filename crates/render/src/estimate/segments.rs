//! What segments would be worth: real ones of some rays, seen from the key view. From elsewhere they err alike.

use rayon::prelude::*;

use super::{
    BATCHES, Prediction, Probe, Subject, Sum, codes, error_of, foreground, further, in_batch, outlined, probe_place,
};
use crate::segments::SparseSegments;
use crate::{Form, SegmentKey, SegmentKeyframe};

/// Rays along the edge of the picture that they are made for: where they err, they err much, and few rays meet it.
const EDGE: usize = 32;
const BATCH: usize = EDGE * EDGE / BATCHES;

/// The prediction for `views` views.
pub(super) fn predict(subject: &Subject<'_>, probe: &Probe<'_>, segments: u16, views: usize) -> Prediction {
    let key = SegmentKey::of_picture(subject.volume, subject.key, segments, subject.aspect);
    let Looked { errors, bytes } = looked_at(subject, probe, &key);
    let of_part = bytes * f64::from(key.width) * f64::from(key.height);
    let psnr_db = errors.psnr_db(0.0).map(|db| vec![db; views]).unwrap_or_default();
    Prediction {
        form: Form::Segments { segments },
        bytes: (of_part / subject.share()) as u64,
        psnr_db,
        seen: errors.seen(),
    }
}

/// Looks along rays until it is known well enough how segments err.
fn looked_at(subject: &Subject<'_>, probe: &Probe<'_>, key: &SegmentKey) -> Looked {
    let (volume, function) = (subject.volume, subject.transfer_function);
    let sparse =
        SparseSegments::new(volume, key, function, SegmentKeyframe::values_kept(volume.range(), function.range));
    let (view, per_probe) = (key.view(), [key.width, key.height].map(|n| f64::from(n) / EDGE as f64));
    let place = |number| {
        let at = probe_place(number, EDGE);
        [0, 1].map(|axis| at[axis] * per_probe[axis])
    };
    let truth = |at: [f64; 2]| foreground(probe.base.exact.color(view.eye, view.direction(at[0], at[1])));
    let look = |rays: &[(usize, f64)], tells_bytes: bool| {
        let (mut look, mut seen) = (sparse.looker(), Looked::default());
        for (number, weight) in rays {
            let at = place(*number);
            let truth = truth(at);
            // Of rays that see nothing, the first batch tells the bytes.
            let met = (tells_bytes || truth.is_some()).then(|| look(at));
            seen.add(met.zip(truth).map(|((color, _), truth)| error_of(codes(color), truth)), *weight);
            if tells_bytes {
                seen.bytes += met.map_or(0.0, |(_, bytes)| bytes) / BATCH as f64;
            }
        }
        seen
    };
    let along = |rays: Vec<(usize, f64)>, tells_bytes| {
        rays.par_chunks(32).map(|rays| look(rays, tells_bytes)).reduce(Looked::default, Looked::plus)
    };
    let mut seen = Looked::default();
    for batch in 0..BATCHES {
        seen = seen.plus(along((0..BATCH).map(|number| (in_batch(batch, number, EDGE), 1.0)).collect(), batch == 0));
        if seen.errors.is_known() {
            return seen;
        }
    }
    let outlined = outlined(EDGE, |number| truth(place(number)));
    seen.plus(along(outlined.into_iter().flat_map(|ray| further(ray, EDGE * EDGE)).collect(), false))
}

/// Rays that were looked at.
#[derive(Clone, Copy, Default)]
struct Looked {
    errors: Sum,
    /// Of a ray, as the first batch tells.
    bytes: f64,
}

impl Looked {
    /// One more: its error where it sees anything.
    fn add(&mut self, error: Option<f64>, weight: f64) {
        self.errors.cast += weight;
        error.into_iter().for_each(|error| self.errors.add(error, weight));
    }

    fn plus(self, more: Self) -> Self {
        Self { errors: self.errors.plus(&more.errors), bytes: self.bytes + more.bytes }
    }
}

#[cfg(test)]
mod tests {
    use visapult_volume::Grid;

    use super::*;
    use crate::testing::scenes::{noise, values_of};
    use crate::testing::soft;
    use crate::{Camera, Volume};

    #[test]
    fn no_more_rays_are_looked_at_than_tell_the_error() {
        let volume = Volume::whole(Grid::of_size([64; 3]), values_of([64; 3], noise)).unwrap();
        let (key, function) = (Camera::default(), soft());
        let subject = Subject { volume: &volume, pyramids: &[], transfer_function: &function, key, aspect: 1.0 };
        let probe = Probe::new(&subject, &[]).unwrap();
        let looked_at = looked_at(&subject, &probe, &SegmentKey::new(&volume, key));
        assert!(looked_at.errors.is_known() && (looked_at.errors.cast as usize) < BATCHES * BATCH);
    }
}
