//! Bundles that are offered before they could be asked for: into a folder that was made just now they come at once, for all is wanted there;
//! otherwise they wait until the entries that they are of were looked at.

use visapult_ripp_net::Offer;

use super::Taking;
use super::dealing::{FIRST, NodeId};
use super::tree::Verdict;
use crate::bundle::UnaskedName;
use crate::error::CopyError;
use crate::give::is_ranged;
use crate::wish::Alike;

/// Why one is refused.
const NEEDLESS: &str = "not all files of the bundle are wanted";

impl Taking<'_> {
    pub(super) fn on_unasked(&mut self, offer: Offer, name: UnaskedName, from: NodeId) {
        if self.takes_unasked() && from == FIRST {
            self.arriving.hold_bundle(offer, name);
        } else {
            offer.refuse(NEEDLESS);
        }
    }

    /// What is wanted here is known once it was looked at, and nobody else gives it or takes it.
    const fn takes_unasked(&self) -> bool {
        let is_known = !self.wish.dry_run && matches!(self.wish.alike, Alike::SizeAndTime);
        is_known && self.dealing.is_none() && self.wish.part.is_none()
    }

    /// Answers what is known by now.
    pub(super) fn answer_unasked(&mut self) -> Result<(), CopyError> {
        for (offer, name) in self.arriving.take_held_bundles() {
            let is_looked_at = name.end <= self.entries;
            if !self.takes_unasked() || (is_looked_at && !self.wants_all(name)) {
                offer.refuse(NEEDLESS);
            } else if is_looked_at {
                self.arriving.accept_bundle(offer, FIRST)?;
            } else if self.is_all_new {
                self.arriving.accept_unasked(offer, name);
            } else {
                self.arriving.hold_bundle(offer, name);
            }
        }
        Ok(())
    }

    /// Of what is listed first: where that is a folder that was made for it, all is wanted that goes into it.
    pub(super) const fn foresee(&mut self, first: &Verdict) {
        self.is_all_new = matches!(first, Verdict::Folder { is_new: true, .. });
    }

    /// As many files of its entries as it has are wanted whole.
    fn wants_all(&self, name: UnaskedName) -> bool {
        let is_wanted = |entry| self.pending.get(&entry).is_some_and(|pending| !is_ranged(pending.origin.size, false));
        (name.first..name.end).filter(|&entry| is_wanted(entry)).count() as u64 == name.files
    }
}
