//! What was listed so far, and what of that the other end has not answered.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use visapult_ripp_net::{Flow, Outgoing, SessionError};

use super::lister::{Listed, Listing, Told};
use crate::error::CopyError;

/// Listings that the other end has not answered, at most.
const MOST_LISTINGS: usize = 4;

/// Listings of a tree on their way.
#[derive(Debug)]
pub(super) struct Listings {
    flow: Flow,
    /// None once all is listed.
    told: Option<Receiver<Told>>,
    entries: u64,
    lists: u64,
    /// Where listings end that have not been answered.
    unanswered: VecDeque<u64>,
    /// Files of those.
    files: BTreeMap<u64, Listed>,
}

/// What there is to be told next.
#[derive(Debug)]
pub(super) enum Next {
    Told(Told),
    /// Nothing by now.
    Nothing,
    /// That these entries are all.
    All(u64),
}

impl Listings {
    pub(super) const fn new(flow: Flow, told: Receiver<Told>) -> Self {
        Self { flow, told: Some(told), entries: 0, lists: 0, unanswered: VecDeque::new(), files: BTreeMap::new() }
    }

    /// All is listed and told.
    pub(super) const fn is_whole(&self) -> bool {
        self.told.is_none()
    }

    /// What is listed first, if that is soon.
    pub(super) fn first(&self, patience: Duration) -> Option<Told> {
        self.told.as_ref()?.recv_timeout(patience).ok()
    }

    /// What is next, as long as the other end keeps up.
    pub(super) fn next(&mut self) -> Next {
        let Some(told) = &self.told else { return Next::Nothing };
        if self.unanswered.len() >= MOST_LISTINGS {
            return Next::Nothing;
        }
        match told.try_recv() {
            Ok(told) => Next::Told(told),
            Err(TryRecvError::Empty) => Next::Nothing,
            Err(TryRecvError::Disconnected) => {
                self.told = None;
                Next::All(self.entries)
            }
        }
    }

    /// Sends a listing.
    pub(super) fn send(&mut self, listing: Listing) -> Result<Outgoing, SessionError> {
        let object = self.flow.send(&format!("l {}", self.lists), Arc::new(listing.bytes))?;
        self.lists += 1;
        self.entries = listing.first + listing.entries;
        self.unanswered.push_back(self.entries);
        self.files.extend(listing.files);
        Ok(object)
    }

    /// The first of them that is not answered ends before `upto`, and is now; returns its files.
    pub(super) fn answer(&mut self, upto: u64) -> Result<BTreeMap<u64, Listed>, CopyError> {
        if self.unanswered.pop_front() != Some(upto) {
            return Err(CopyError::Protocol("it answered a listing that it was not given".to_owned()));
        }
        let unanswered = self.files.split_off(&upto);
        Ok(std::mem::replace(&mut self.files, unanswered))
    }

    /// Files that are not answered, and where their listings end.
    pub(super) const fn open(&self) -> (&BTreeMap<u64, Listed>, &VecDeque<u64>) {
        (&self.files, &self.unanswered)
    }

    /// Takes files out that are answered before their listing is.
    pub(super) fn take_out(&mut self, first: u64, end: u64) -> Vec<(u64, Listed)> {
        taken_out(&mut self.files, first, end)
    }
}

/// Takes those out whose numbers are from `first` on, before `end`.
pub(super) fn taken_out(files: &mut BTreeMap<u64, Listed>, first: u64, end: u64) -> Vec<(u64, Listed)> {
    let entries: Vec<u64> = files.range(first.min(end)..end).map(|(&entry, _)| entry).collect();
    entries.into_iter().filter_map(|entry| Some((entry, files.remove(&entry)?))).collect()
}
