//! Who looks at a flow: steps of a running simulation are asked for while somebody does, so that one that nobody watches costs the link nothing.

use std::sync::Arc;

use super::receiver::Receiver;

/// Steps are asked for while it lives.
pub struct Look(Arc<Receiver>);

impl Look {
    pub(super) fn at(receiver: &Arc<Receiver>) -> Self {
        receiver.lock().begin_look();
        Self(Arc::clone(receiver))
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.0.lock().looks -= 1;
    }
}
