//! What tests of sessions begin with.

use visapult_render::{Camera, TransferFunction};
use visapult_volume::ValueRange;

use crate::wire::{ProxyChoice, View};

/// A view at rest of the newest step's first field.
pub(super) fn view() -> View {
    View {
        sequence: 1,
        camera: Camera::default(),
        viewport: [640, 480],
        field: 0,
        step: None,
        moving: false,
        proxy: ProxyChoice::Auto,
        transfer_function: TransferFunction::default_for(ValueRange { lo: 0.0, hi: 1.0 }),
    }
}
