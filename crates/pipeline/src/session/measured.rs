//! How large the proxies were that a session was sent.

use visapult_render::Form;

use super::agenda::is_recoloured;
use crate::views::are_alike;
use crate::wire::View;

/// Bytes of what was queued.
#[derive(Default)]
pub(super) struct Measured {
    /// Of 8-bit bricks of the current step, by level.
    pub(super) levels: Vec<Option<u64>>,
    /// Of the last level at all, with 8 bits.
    pub(super) per_sample: Option<f64>,
    keyframe: Option<(View, Form, u64)>,
}

impl Measured {
    /// Another step begins.
    pub(super) fn begin(&mut self) {
        self.levels.clear();
    }

    /// A level of `samples` samples was queued. Of fewer than 8 bits it says nothing of others.
    pub(super) fn note_bricks(&mut self, level: u32, bits: u8, bytes: u64, samples: usize) {
        if bits < 8 {
            return;
        }
        self.per_sample = Some(bytes as f64 / samples as f64 / f64::from(bits / 8));
        if bits == 8 {
            let place = level as usize;
            self.levels.resize(self.levels.len().max(place + 1), None);
            self.levels[place] = Some(bytes);
        }
    }

    /// A keyframe was queued.
    pub(super) fn note_keyframe(&mut self, view: &View, form: Form, bytes: u64) {
        self.keyframe = Some((view.clone(), form, bytes));
    }

    /// What the last keyframe of the field of `view` was.
    pub(super) fn form(&self, view: &View) -> Option<Form> {
        self.keyframe.as_ref().filter(|(then, ..)| then.field == view.field).map(|(_, form, _)| *form)
    }

    /// Bytes of the last keyframe, if it is one of what `view` shows.
    pub(super) fn keyframe_bytes(&self, view: &View) -> Option<u64> {
        let (then, form, bytes) = self.keyframe.as_ref()?;
        let is_like = then.field == view.field
            && are_alike(then, view)
            && !is_recoloured(*form, &then.transfer_function, &view.transfer_function);
        is_like.then_some(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use visapult_render::Camera;

    use super::*;
    use crate::testing::{elsewhere, view};

    const COLOUR: Form = Form::Slabs { slabs: 64 };
    const SCALAR: Form = Form::ScalarSlabs { slabs: 64 };

    #[test]
    fn bytes_of_a_keyframe_are_those_of_the_next_as_long_as_the_picture_is_alike() {
        let mut measured = Measured::default();
        measured.note_keyframe(&view(), COLOUR, 1000);
        assert_eq!(measured.keyframe_bytes(&View { camera: Camera::default().turned(15.0), ..view() }), Some(1000));
        let mut others = elsewhere().to_vec();
        others.push(View { field: 1, ..view() });
        let mut edited = view();
        edited.transfer_function.points.truncate(1);
        others.push(edited.clone());
        assert!(others.iter().all(|view| measured.keyframe_bytes(view).is_none()));
        assert_eq!((measured.form(&edited), measured.form(&View { field: 1, ..view() })), (Some(COLOUR), None));
        measured.note_keyframe(&view(), SCALAR, 1000);
        assert_eq!(measured.keyframe_bytes(&edited), Some(1000));
    }

    #[test]
    fn levels_of_the_step_before_are_forgotten_and_bytes_per_sample_kept() {
        let mut measured = Measured::default();
        measured.note_bricks(2, 8, 500, 1000);
        measured.note_bricks(2, 16, 1100, 1000);
        measured.note_bricks(2, 5, 200, 1000);
        assert_eq!((&measured.levels[..], measured.per_sample), (&[None, None, Some(500)][..], Some(0.55)));
        measured.begin();
        assert_eq!((measured.levels.len(), measured.per_sample), (0, Some(0.55)));
    }
}
