//! Objects on their way to the other end.

use std::sync::Arc;

use visapult_ripp_net::{Flow, ObjectError, Outgoing, SessionError, Source};

/// Objects under way at most.
const MOST_OBJECTS: usize = 4096;

/// What an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Listing,
    /// Files that were asked for.
    Bundle,
    /// Files that were not, from this one on.
    Unasked(u64),
    /// This range of this file.
    Range {
        entry: u64,
        index: u64,
    },
}

#[derive(Debug)]
struct Object {
    object: Outgoing,
    bytes: u64,
    what: What,
}

/// Those that are under way, and what has arrived of all.
#[derive(Debug)]
pub(super) struct UnderWay {
    content: Flow,
    objects: Vec<Object>,
    /// Bytes of content in objects that are over.
    delivered: u64,
}

impl UnderWay {
    pub(super) const fn new(content: Flow) -> Self {
        Self { content, objects: Vec::new(), delivered: 0 }
    }

    /// Offers content: so many bytes.
    pub(super) fn offer(
        &mut self,
        name: &str,
        content: Arc<dyn Source>,
        bytes: u64,
        what: What,
    ) -> Result<(), SessionError> {
        let object = self.content.send(name, content)?;
        self.objects.push(Object { object, bytes, what });
        Ok(())
    }

    /// A listing was offered.
    pub(super) fn add_listing(&mut self, object: Outgoing) {
        self.objects.push(Object { object, bytes: 0, what: What::Listing });
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) const fn is_full(&self) -> bool {
        self.objects.len() >= MOST_OBJECTS
    }

    /// Bytes that have not arrived of what `is_meant`.
    pub(super) fn left(&self, is_meant: impl Fn(What) -> bool) -> u64 {
        let meant = self.objects.iter().filter(|one| is_meant(one.what));
        meant.map(|one| one.bytes - one.object.arrived().min(one.bytes)).sum()
    }

    /// Bytes of content that have arrived.
    pub(super) fn arrived(&self) -> u64 {
        let content = self.objects.iter().filter(|one| one.bytes > 0);
        self.delivered + content.map(|one| one.object.arrived().min(one.bytes)).sum::<u64>()
    }

    /// Those that are over by now, and what came of them.
    pub(super) fn settled(&mut self) -> Vec<(What, Result<(), ObjectError>)> {
        let mut settled = Vec::new();
        self.objects.retain(|one| {
            let is_over = one.object.is_over();
            if is_over {
                let outcome = one.object.wait();
                self.delivered += if outcome.is_ok() { one.bytes } else { 0 };
                settled.push((one.what, outcome.map(|_| ())));
            }
            !is_over
        });
        settled
    }

    /// Sends nothing more of a file that goes in ranges.
    pub(super) fn cancel(&self, entry: u64) {
        let is_of_it = |one: &&Object| matches!(one.what, What::Range { entry: of, .. } if of == entry);
        self.objects.iter().filter(is_of_it).for_each(|one| one.object.cancel());
    }

    /// Takes no note any more of something that was refused, or failed; true if it was.
    pub(super) fn forget_failed(&mut self, what: What) -> bool {
        let has_failed = |one: &Object| one.what == what && one.object.is_over() && one.object.wait().is_err();
        let before = self.objects.len();
        self.objects.retain(|one| !has_failed(one));
        self.objects.len() < before
    }
}
