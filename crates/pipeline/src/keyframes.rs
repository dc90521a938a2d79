//! Encoded levels, keyframes and stills of a step: made once, sent to any number of sessions.

use std::sync::Arc;

use rayon::ThreadPool;
use visapult_render::{Camera, CodeBits, Form, KeyView, LevelCoding, SegmentKey, Still, TransferFunction, bricks_keep};
use visapult_trace::Stage;
use visapult_volume::coarsened_size;

use crate::making::{bricks_of, image_of, resolved, scalar_slabs_of, segments_of, slabs_of};
use crate::memo::Memo;
use crate::stages::at_all;
use crate::step_store::LoadedStep;
use crate::wire::{
    BulkBody, View, Viewport, bricks_bodies, scalar_slab_bodies, segment_bodies, slab_bodies, still_bodies,
};

/// Keyframes kept per step, and as many stills.
const KEYFRAMES_KEPT: usize = 4;
/// Levels kept per step, with either number of bits: all.
const LEVELS_KEPT: usize = 64;
/// Levels kept per step that hold part of the values alone: as many as a page comes by on its way to the finest one, for about two of them.
const PARTS_KEPT: usize = 12;

/// Bodies ready to be sent, and how many bytes they are.
#[derive(Debug)]
pub struct Encoded {
    /// In the order to send them.
    pub bodies: Vec<BulkBody>,
    /// Sum of their bytes.
    pub bytes: u64,
}

impl Encoded {
    pub(crate) fn new(bodies: Vec<BulkBody>) -> Arc<Self> {
        let bytes = bodies.iter().map(|body| body.bytes.len() as u64).sum();
        Arc::new(Self { bodies, bytes })
    }
}

/// What a keyframe is made of, from where and how finely.
#[derive(Clone, Copy, PartialEq)]
enum Key {
    Slabs(KeyView),
    ScalarSlabs(KeyView),
    Segments(SegmentKey),
}

impl Key {
    /// Of `form` for `view`; of bricks, which have no key view, the level and the width of codes.
    fn of(step: &LoadedStep, view: &View, form: Form) -> Result<Self, (u32, CodeBits)> {
        let (volume, camera, aspect) = (&step.volume, view.camera, view.aspect());
        match form {
            Form::Segments { segments } => Ok(Self::Segments(SegmentKey::of_picture(volume, camera, segments, aspect))),
            Form::ScalarSlabs { slabs } => {
                Ok(Self::ScalarSlabs(KeyView::of_scalar_slabs(volume, camera, slabs, aspect)))
            }
            Form::Slabs { slabs } => Ok(Self::Slabs(KeyView::of_slabs(volume, camera, slabs, aspect))),
            Form::Bricks { level, bits } => Err((level, bits)),
        }
    }
}

/// What keyframes depend on besides the step.
#[derive(Clone, PartialEq)]
struct KeyframeKey {
    key: Key,
    /// Range of values that codes divide.
    range: Option<[f32; 2]>,
    /// None for scalar slabs, which show any of that range.
    transfer_function: Option<TransferFunction>,
}

/// What has been encoded of one step. What has holes, as a process has not given its part, is not kept.
///
/// Nothing here may be asked for on a thread of the pool that encodes: whoever comes second waits for the first, and a
/// pool's thread that waits may be the one that the encoding needs.
pub struct Keyframes {
    /// Of all values.
    levels: Memo<LevelCoding, Arc<Encoded>>,
    /// Of parts of the values.
    parts: Memo<LevelCoding, Arc<Encoded>>,
    keyframes: Memo<KeyframeKey, Arc<Encoded>>,
    stills: Memo<StillKey, Arc<Encoded>>,
}

/// What a still depends on besides the step.
type StillKey = (Camera, Viewport, TransferFunction);

impl Default for Keyframes {
    fn default() -> Self {
        Self {
            levels: Memo::new(LEVELS_KEPT),
            parts: Memo::new(PARTS_KEPT),
            keyframes: Memo::new(KEYFRAMES_KEPT),
            stills: Memo::new(KEYFRAMES_KEPT),
        }
    }
}

impl Keyframes {
    /// A level of bricks, encoded now unless it is held. PE `p` goes to data connection `p % groups`.
    pub fn bricks(&self, step: &LoadedStep, coding: LevelCoding, groups: usize, pool: &ThreadPool) -> Arc<Encoded> {
        let shelf = if coding.kept.is_some() { &self.parts } else { &self.levels };
        shelf.get(coding, || step.has_all_parts(), || encode_bricks(step, coding, groups, pool))
    }

    /// A keyframe of `form` for `view`; made now unless one for the same view is kept.
    pub(crate) fn keyframe(
        &self,
        step: &LoadedStep,
        view: &View,
        form: Form,
        groups: usize,
        pool: &ThreadPool,
    ) -> Arc<Encoded> {
        let key = match Key::of(step, view, form) {
            Ok(key) => key,
            Err((level, bits)) => {
                let kept = bricks_keep(step.statistics.range, view.transfer_function.range, None, bits);
                return self.bricks(step, LevelCoding { level, bits, kept }, groups, pool);
            }
        };
        let transfer_function = (!matches!(key, Key::ScalarSlabs(_))).then(|| view.transfer_function.clone());
        let of_view = KeyframeKey { key, range: view.transfer_function.range, transfer_function };
        self.keyframes.get(of_view, || step.has_all_parts(), || encode_keyframe(key, step, view, groups, pool))
    }

    /// The exact image of `view`, made now unless one for the same picture is kept.
    pub(crate) fn still(&self, step: &LoadedStep, view: &View, groups: usize, pool: &ThreadPool) -> Arc<Encoded> {
        let function = resolved(step, &view.transfer_function);
        let key = (view.camera, view.viewport, function.clone());
        self.stills.get(key, || step.has_all_parts(), || encode_still(step, view, &function, groups, pool))
    }
}

fn encode_bricks(step: &LoadedStep, coding: LevelCoding, groups: usize, pool: &ThreadPool) -> Arc<Encoded> {
    let LevelCoding { level, bits, kept } = coding;
    let of_pe = bricks_of(step, coding, pool);
    let mut of_group = vec![Vec::new(); groups];
    for (pe, bricks) in &of_pe {
        of_group[pe % groups].extend(bricks);
    }
    let size = coarsened_size(step.volume.grid().size, level);
    let range = kept.or(step.statistics.range).map(|r| [r.lo, r.hi]);
    Encoded::new(bricks_bodies(level, bits.bits(), size, range, &of_group))
}

fn encode_keyframe(key: Key, step: &LoadedStep, view: &View, groups: usize, pool: &ThreadPool) -> Arc<Encoded> {
    let (pes, number) = (step.volume.blocks().len(), step.key.step);
    let encode = |bodies: &(dyn Fn() -> Vec<BulkBody> + Sync)| {
        pool.install(|| at_all(Stage::Encode, pes, number, || Encoded::new(bodies())))
    };
    let transfer_function = resolved(step, &view.transfer_function);
    match key {
        Key::Segments(key) => {
            let make = || segments_of(step, &key, &transfer_function, pool);
            let keyframe = at_all(Stage::Render, pes, number, make);
            encode(&|| segment_bodies(&keyframe, groups))
        }
        Key::ScalarSlabs(key) => {
            let range = view.transfer_function.range;
            let keyframe = at_all(Stage::Render, pes, number, || scalar_slabs_of(step, &key, range, pool));
            encode(&|| scalar_slab_bodies(&keyframe, groups))
        }
        Key::Slabs(key) => {
            let make = || slabs_of(step, &key, &transfer_function, 1.0, pool);
            let keyframe = at_all(Stage::Render, pes, number, make);
            encode(&|| slab_bodies(&keyframe, groups))
        }
    }
}

fn encode_still(
    step: &LoadedStep,
    view: &View,
    transfer_function: &TransferFunction,
    groups: usize,
    pool: &ThreadPool,
) -> Arc<Encoded> {
    let size = view.viewport.map(|edge| edge as usize);
    let (pes, number) = (step.volume.blocks().len(), step.key.step);
    let render = || image_of(step, &view.camera, transfer_function, size, 1.0, pool);
    let rendering = at_all(Stage::Render, pes, number, render);
    let encode = || Encoded::new(still_bodies(&Still::of(&rendering.image), groups));
    pool.install(|| at_all(Stage::Encode, pes, number, encode))
}

#[cfg(test)]
mod tests {
    use visapult_volume::ValueRange;

    use super::*;
    use crate::testing::{pool, step};

    const SCALAR: Form = Form::ScalarSlabs { slabs: 16 };

    fn view(step: &LoadedStep, azimuth_deg: f64) -> View {
        View {
            sequence: 1,
            camera: Camera { azimuth_deg, ..Default::default() },
            viewport: [64, 64],
            field: 0,
            step: None,
            moving: false,
            proxy: crate::wire::ProxyChoice::Slabs,
            transfer_function: step.default_transfer_function(),
        }
    }

    #[test]
    fn viewers_of_one_step_and_view_share_what_is_encoded() {
        let (step, pool) = (step(), pool());
        let bricks = || step.keyframes.bricks(&step, LevelCoding::of_all(0, CodeBits::EIGHT), 2, &pool);
        assert!(Arc::ptr_eq(&bricks(), &bricks()));
        let slabs = |azimuth| step.keyframes.keyframe(&step, &view(&step, azimuth), SCALAR, 2, &pool);
        assert!(Arc::ptr_eq(&slabs(10.0), &slabs(10.0)));
        assert!(!Arc::ptr_eq(&slabs(10.0), &slabs(20.0)));
    }

    #[test]
    fn bricks_of_part_of_the_values_say_so_and_are_kept_beside_those_of_all() {
        let (step, pool) = (step(), pool());
        let part = |lo, hi| Some(ValueRange { lo, hi });
        let coding = |kept| LevelCoding { level: 0, bits: CodeBits::EIGHT, kept };
        let bricks = |kept| step.keyframes.bricks(&step, coding(kept), 2, &pool);
        assert!(Arc::ptr_eq(&bricks(part(0.25, 0.5)), &bricks(part(0.25, 0.5))));
        for (kept, told) in [(None, [0.0, 1.0]), (part(0.25, 0.5), [0.25, 0.5]), (part(0.5, 0.625), [0.5, 0.625])] {
            let expected: Vec<u8> = told.iter().flat_map(|n: &f32| n.to_le_bytes()).collect();
            // Behind level, bits, count, size and two bytes of zero.
            assert!(bricks(kept).bodies.iter().all(|body| body.bytes[12..20] == expected), "{kept:?}");
        }
    }

    #[test]
    fn a_still_is_made_once_for_all_who_see_the_same_picture() {
        let (step, pool) = (step(), pool());
        let still =
            |sequence, azimuth| step.keyframes.still(&step, &View { sequence, ..view(&step, azimuth) }, 1, &pool);
        assert!(Arc::ptr_eq(&still(1, 10.0), &still(2, 10.0)));
        assert!(!Arc::ptr_eq(&still(1, 10.0), &still(1, 20.0)));
    }

    #[test]
    fn keyframes_of_views_long_past_are_let_go() {
        let (step, pool) = (step(), pool());
        let first = Arc::downgrade(&step.keyframes.keyframe(&step, &view(&step, 0.0), SCALAR, 1, &pool));
        for turn in 1..=KEYFRAMES_KEPT {
            step.keyframes.keyframe(&step, &view(&step, turn as f64), SCALAR, 1, &pool);
        }
        assert!(first.upgrade().is_none());
    }

    #[test]
    fn many_sessions_may_ask_for_the_same_at_once() {
        let (step, pool) = (step(), pool());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| step.keyframes.bricks(&step, LevelCoding::of_all(0, CodeBits::SIXTEEN), 2, &pool));
                scope.spawn(|| step.keyframes.keyframe(&step, &view(&step, 5.0), SCALAR, 2, &pool));
            }
        });
    }
}
