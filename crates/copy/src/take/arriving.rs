//! What is on its way to the taking end: listings, bundles and ranges, as far as there is room for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use visapult_ripp_net::{Incoming, Offer, SessionError, Sink as _};

use super::dealing::{FIRST, NodeId};
use super::protocol;
use crate::bundle::{MOST_BUNDLE, MOST_UNASKED, MOST_UNASKED_BYTES, UnaskedName};
use crate::error::CopyError;
use crate::give::MOST_EARLY;
use crate::listing::MOST_LISTING;
use crate::memory::CountedMemory;
use crate::objects::{RangeBuffer, Upload};
use crate::ranged::{RangeSink, RangedFile};
use crate::ranges::{RANGE, Range, RangeHash, RangeName};

/// Listings that are received at one time, at most.
const MOST_LISTINGS: usize = 8;
/// Bytes of bundles in memory; others wait at the other end.
const MOST_BUNDLES: u64 = 64 << 20;
/// Bytes of ranges in memory, where they go into a store.
const MOST_BUFFERS: u64 = 192 << 20;
/// Why a range did not come that its file's failure made needless.
const CANCELLED: &str = "cancelled by the sender";

/// A file that comes in ranges.
#[derive(Clone, Debug)]
pub(super) enum Ranged {
    File(Arc<RangedFile>),
    Upload(Arc<Upload>),
}

impl Ranged {
    fn wants(&self, index: u64) -> Option<Range> {
        match self {
            Self::File(file) => file.wants(index),
            Self::Upload(upload) => upload.wants(index),
        }
    }
}

/// What came of a range of a file: its hash, or why it did not come.
pub(super) struct RangeOver {
    pub(super) entry: u64,
    pub(super) range: u64,
    pub(super) outcome: Result<RangeHash, String>,
    /// Bytes of it that did not travel.
    pub(super) hole_bytes: u64,
    /// Its content, where that is in memory.
    pub(super) buffer: Option<Arc<RangeBuffer>>,
    pub(super) from: NodeId,
}

/// What came of a bundle: its bytes, or why it did not come.
pub(super) struct BundleOver {
    pub(super) outcome: Result<Arc<CountedMemory>, String>,
    pub(super) from: NodeId,
    /// Of one that came before it was known whether it is wanted.
    pub(super) unasked: Option<UnaskedName>,
}

/// A bundle that arrives.
struct BundleComing {
    incoming: Incoming,
    memory: Arc<CountedMemory>,
    from: NodeId,
    unasked: Option<UnaskedName>,
}

/// Listings of one that gives, by their numbers.
#[derive(Default)]
pub(super) struct Listings {
    arriving: BTreeMap<u64, (Incoming, Arc<CountedMemory>)>,
    /// The first, if it was told in a note; and that it was.
    told: Option<Arc<CountedMemory>>,
    is_told: bool,
    next: u64,
}

impl Listings {
    /// The first listing, told before any is offered.
    pub(super) fn tell(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        if self.next > 0 || self.is_told || !self.arriving.is_empty() {
            return Err(protocol("it tells a listing out of turn"));
        }
        let memory = memory(bytes.len() as u64, &Arc::default())?;
        memory.write_at(0, bytes).map_err(|cause| CopyError::Here(cause.to_string()))?;
        (self.told, self.is_told) = (Some(Arc::new(memory)), true);
        Ok(())
    }

    /// The listing that is called `number`.
    pub(super) fn accept(&mut self, offer: Offer, number: &str) -> Result<(), CopyError> {
        if self.is_told && number == "0" {
            offer.refuse("it was told already");
            return Ok(());
        }
        let number = number.parse().ok().filter(|&number| number >= self.next && !self.arriving.contains_key(&number));
        let number = number.filter(|_| self.arriving.len() < MOST_LISTINGS && offer.length <= MOST_LISTING);
        let number = number.ok_or_else(|| protocol("it offers listings out of turn"))?;
        // Listings are no content: they are not counted.
        let memory = Arc::new(memory(offer.length, &Arc::default())?);
        self.arriving.insert(number, (offer.accept(Arc::clone(&memory) as _), memory));
        Ok(())
    }

    /// The next listing, if it is whole.
    pub(super) fn take(&mut self) -> Result<Option<Arc<CountedMemory>>, CopyError> {
        if let Some(told) = self.told.take() {
            self.next += 1;
            return Ok(Some(told));
        }
        if !self.arriving.get(&self.next).is_some_and(|(incoming, _)| incoming.is_over()) {
            return Ok(None);
        }
        let Some((incoming, memory)) = self.arriving.remove(&self.next) else { return Ok(None) };
        incoming.wait().map_err(|cause| SessionError::Ended(cause.to_string()))?;
        self.next += 1;
        Ok(Some(memory))
    }
}

/// Memory for what is to come: without it the copy cannot go on, for nobody offers that again.
fn memory(length: u64, arrived: &Arc<AtomicU64>) -> Result<CountedMemory, CopyError> {
    CountedMemory::new(length, arrived).map_err(|cause| CopyError::Here(cause.to_string()))
}

/// A range that arrives.
struct Coming {
    incoming: Incoming,
    entry: u64,
    range: u64,
    hole_bytes: u64,
    from: NodeId,
    buffer: Option<Arc<RangeBuffer>>,
    /// Bytes of it so far.
    arrived: Arc<AtomicU64>,
}

#[derive(Default)]
pub(super) struct Arriving {
    pub(super) listings: Listings,
    /// Bundles that there is no room for yet.
    offers: VecDeque<(Offer, NodeId)>,
    bundles: Vec<BundleComing>,
    /// Bytes of bundles that arrive or are being placed; and those of them that came before it was known whether they are wanted.
    bundle_bytes: u64,
    unasked_bytes: u64,
    /// Bundles of which it is not known yet whether they are wanted: on offer, and here.
    held: Vec<(Offer, UnaskedName)>,
    unasked_here: Vec<(Arc<CountedMemory>, UnaskedName)>,
    ranges: Vec<Coming>,
    /// Ranges of files of which it is not known yet whether they are wanted.
    early: Vec<(Offer, RangeName)>,
    /// Ranges that there is no memory for yet.
    range_offers: VecDeque<(Offer, RangeName, Arc<Upload>, NodeId)>,
    /// Bytes of ranges in memory.
    buffered: Arc<AtomicU64>,
    /// Bytes of content in bundles so far, in ranges that are whole, and in those that came to nothing.
    bundled: Arc<AtomicU64>,
    ranged: u64,
    vain: u64,
}

impl Arriving {
    /// Bytes of content that have arrived.
    pub(super) fn bytes(&self) -> u64 {
        self.bundled.load(Ordering::Relaxed) + self.bytes_in_ranges() + self.vain
    }

    /// Those of them in ranges of large files; what came to nothing comes again.
    pub(super) fn bytes_in_ranges(&self) -> u64 {
        self.ranged + self.ranges.iter().map(|coming| coming.arrived.load(Ordering::Relaxed)).sum::<u64>()
    }

    pub(super) fn accept_bundle(&mut self, offer: Offer, from: NodeId) -> Result<(), CopyError> {
        if offer.length > MOST_BUNDLE {
            return Err(protocol("it offers a bundle that is too large"));
        }
        self.offers.push_back((offer, from));
        Ok(())
    }

    /// Accepts bundles and ranges as long as there is room for them.
    ///
    /// # Errors
    /// If there is not as much memory.
    pub(super) fn make_room(&mut self) -> Result<(), CopyError> {
        while let Some((offer, ..)) = self.range_offers.front() {
            let buffered = self.buffered.load(Ordering::Relaxed);
            if buffered > 0 && buffered + offer.length.max(RANGE) > MOST_BUFFERS {
                break;
            }
            let Some((offer, name, upload, from)) = self.range_offers.pop_front() else { break };
            self.accept_buffered(offer, &name, &upload, from)?;
        }
        while let Some((offer, _)) = self.offers.front() {
            if self.bundle_bytes > 0 && self.bundle_bytes + offer.length > MOST_BUNDLES {
                break;
            }
            let Some((offer, from)) = self.offers.pop_front() else { break };
            let memory = memory(offer.length, &self.bundled)?;
            self.accept_whole(offer, memory, from, None);
        }
        Ok(())
    }

    /// Accepts a bundle into memory.
    fn accept_whole(&mut self, offer: Offer, memory: CountedMemory, from: NodeId, unasked: Option<UnaskedName>) {
        let memory = Arc::new(memory);
        self.bundle_bytes += offer.length;
        self.unasked_bytes += unasked.map_or(0, |_| offer.length);
        let incoming = offer.accept(Arc::clone(&memory) as _);
        self.bundles.push(BundleComing { incoming, memory, from, unasked });
    }

    /// A bundle of which it is not known yet whether it is wanted.
    pub(super) fn hold_bundle(&mut self, offer: Offer, name: UnaskedName) {
        if self.held.len() < MOST_UNASKED && offer.length <= MOST_BUNDLE {
            self.held.push((offer, name));
        } else {
            offer.refuse("too much is offered that was not asked for");
        }
    }

    /// The bundles that were held.
    pub(super) fn take_held_bundles(&mut self) -> Vec<(Offer, UnaskedName)> {
        std::mem::take(&mut self.held)
    }

    /// Accepts a bundle of which it is not known yet whether it is wanted, or holds it as long as there is no room.
    pub(super) fn accept_unasked(&mut self, offer: Offer, name: UnaskedName) {
        if self.unasked_bytes + offer.length > MOST_UNASKED_BYTES {
            return self.held.push((offer, name));
        }
        match memory(offer.length, &self.bundled) {
            Ok(memory) => self.accept_whole(offer, memory, FIRST, Some(name)),
            // What is wanted of it is asked for.
            Err(cause) => offer.refuse(&cause.to_string()),
        }
    }

    /// A bundle that came before it was known whether it is wanted, which waits for that.
    pub(super) fn keep_unasked(&mut self, memory: Arc<CountedMemory>, name: UnaskedName) {
        self.unasked_here.push((memory, name));
    }

    /// Those of which that is known, now that so many entries were looked at.
    pub(super) fn take_unasked(&mut self, entries: u64) -> Vec<Arc<CountedMemory>> {
        let known: Vec<_> = self.unasked_here.extract_if(.., |(_, name)| name.end <= entries).collect();
        let take = |(memory, _): (Arc<CountedMemory>, UnaskedName)| {
            self.unasked_bytes -= memory.bytes().len() as u64;
            memory
        };
        known.into_iter().map(take).collect()
    }

    /// The files of a bundle of so many bytes are in their places.
    pub(super) const fn placed(&mut self, bytes: u64) {
        self.bundle_bytes -= bytes;
    }

    /// Bundles that have come, or will not.
    pub(super) fn take_bundles(&mut self) -> Vec<BundleOver> {
        let over: Vec<_> = self.bundles.extract_if(.., |coming| coming.incoming.is_over()).collect();
        let outcome = |BundleComing { incoming, memory, from, unasked }: BundleComing| {
            let outcome = incoming.wait().map_err(|cause| cause.why);
            if outcome.is_err() {
                let bytes = memory.bytes().len() as u64;
                self.bundle_bytes -= bytes;
                self.unasked_bytes -= unasked.map_or(0, |_| bytes);
            }
            BundleOver { outcome: outcome.map(|_| memory), from, unasked }
        };
        over.into_iter().map(outcome).collect()
    }

    /// A range of a file of which it is not known yet whether it is wanted.
    pub(super) fn hold_range(&mut self, offer: Offer, name: RangeName) {
        if self.early.len() < MOST_EARLY {
            self.early.push((offer, name));
        } else {
            offer.refuse("too many ranges are offered that were not asked for");
        }
    }

    /// The ranges that were held, each with its file.
    pub(super) fn take_held(&mut self) -> Vec<(Offer, RangeName)> {
        std::mem::take(&mut self.early)
    }

    /// A range of a file that we want it of, with as many bytes as its name says.
    pub(super) fn accept_range(&mut self, offer: Offer, name: RangeName, file: Option<&Ranged>, from: NodeId) {
        let Some(file) = file else {
            return offer.refuse("the file is not wanted (any more)");
        };
        let is_it = |entry, range| (entry, range) == (name.entry, name.range);
        let is_coming = self.ranges.iter().any(|coming| is_it(coming.entry, coming.range))
            || self.range_offers.iter().any(|(_, name, ..)| is_it(name.entry, name.range));
        let range = file.wants(name.range).filter(|_| !is_coming);
        let extents = range.and_then(|range| name.extents(range.length));
        match (range, extents) {
            (Some(range), Some(extents)) if extents.bytes() == offer.length => {
                let file = match file {
                    Ranged::File(file) => Arc::clone(file),
                    Ranged::Upload(upload) => {
                        return self.range_offers.push_back((offer, name, Arc::clone(upload), from));
                    }
                };
                let hole_bytes = range.length - offer.length;
                let arrived = Arc::default();
                let sink = RangeSink { file, range, extents, arrived: Arc::clone(&arrived) };
                let incoming = offer.accept(Arc::new(sink));
                let (entry, range) = (name.entry, name.range);
                self.ranges.push(Coming { incoming, entry, range, hole_bytes, from, buffer: None, arrived });
            }
            _ => offer.refuse("the range is not wanted, or is not what its name says"),
        }
    }

    fn accept_buffered(
        &mut self,
        offer: Offer,
        name: &RangeName,
        upload: &Upload,
        from: NodeId,
    ) -> Result<(), CopyError> {
        let range = upload.wants(name.range);
        let Some((range, extents)) = range.and_then(|range| Some((range, name.extents(range.length)?))) else {
            offer.refuse("the range is not wanted (any more)");
            return Ok(());
        };
        let hole_bytes = range.length.saturating_sub(offer.length);
        let arrived = Arc::default();
        let buffer = RangeBuffer::new(range, extents, &arrived, &self.buffered);
        let buffer = Arc::new(buffer.map_err(|cause| CopyError::Here(cause.to_string()))?);
        let incoming = offer.accept(Arc::clone(&buffer) as _);
        let (entry, range) = (name.entry, name.range);
        self.ranges.push(Coming { incoming, entry, range, hole_bytes, from, buffer: Some(buffer), arrived });
        Ok(())
    }

    /// Ranges that have come, or will not.
    pub(super) fn take_ranges(&mut self) -> Vec<RangeOver> {
        let over = self.ranges.extract_if(.., |coming| coming.incoming.is_over());
        let mut over: Vec<_> = over
            .map(|Coming { incoming, entry, range, hole_bytes, from, buffer, arrived }| {
                let outcome = incoming.wait().map_err(|cause| cause.why).and_then(|delivery| {
                    let hash = delivery.digest.and_then(|hash| blake3::Hash::from_hex(hash).ok());
                    hash.map(|hash| *hash.as_bytes()).ok_or_else(|| "it came without a hash".to_owned())
                });
                let bytes = arrived.load(Ordering::Relaxed);
                *(if outcome.is_ok() { &mut self.ranged } else { &mut self.vain }) += bytes;
                RangeOver { entry, range, outcome, hole_bytes, buffer, from }
            })
            .collect();
        // When a range has failed the other end cancels the rest of its file: the cause comes first.
        over.sort_by_key(|over| over.outcome.as_ref().is_err_and(|why| why.contains(CANCELLED)));
        over
    }
}
