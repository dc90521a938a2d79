//! Where several give the same: who is asked for what, and who is left out.

use std::time::Instant;

use super::Taking;
use super::dealing::{FIRST, NodeId, Piece};
use super::nodes::Heard;
use super::telling::FILES;
use crate::error::CopyError;
use crate::words::Word;

impl Taking<'_> {
    /// Takes what the further nodes say and offer.
    pub(super) fn hear_nodes(&mut self) -> Result<(), CopyError> {
        if self.dealing.is_none() {
            return Ok(());
        }
        while let Some(dialled) = self.nodes.dialled() {
            match (dialled, &mut self.dealing) {
                (Ok((node, name)), Some(dealing)) => {
                    dealing.enter(node, Instant::now());
                    self.telling.notice(format!("{name} gives, too"))?;
                }
                (Err((name, cause)), _) => self.telling.notice(format!("{name} is left out: {cause}"))?,
                (Ok(_), None) => {}
            }
        }
        for heard in self.nodes.hear() {
            match heard {
                Heard::Left(node, why) => self.leave_out(node, &why)?,
                Heard::Offer(node, offer) => {
                    if let Err(cause) = self.on_offer(offer, node) {
                        self.leave_out(node, &cause.to_string())?;
                    }
                }
            }
        }
        let pending = &self.pending;
        for (node, why) in self.nodes.look(|entry| pending.contains_key(&entry)) {
            self.leave_out(node, &why)?;
        }
        Ok(())
    }

    /// A node can give nothing more, or is not to: the others give what it was to.
    pub(super) fn leave_out(&mut self, node: NodeId, why: &str) -> Result<(), CopyError> {
        let Some(name) = self.nodes.drop(node, why) else { return Ok(()) };
        if let Some(dealing) = &mut self.dealing {
            dealing.leave(node);
        }
        self.telling.notice(format!("{name} is left out: {why}; the others go on with what it was to give"))
    }

    /// Asks each that gives for what it is to give next.
    pub(super) fn deal(&mut self) -> Result<(), CopyError> {
        let Some(dealing) = &mut self.dealing else { return Ok(()) };
        let (now, nodes) = (Instant::now(), &self.nodes);
        let known = |node| if node == FIRST { u64::MAX } else { nodes.entries(node).unwrap_or(0) };
        let asked = dealing.deal(now, known);
        let straggler = dealing.straggler(now).filter(|_| self.listed == Some(self.entries));
        for (node, pieces) in asked {
            for word in words(&pieces) {
                if node == FIRST {
                    self.telling.say(&word)?;
                } else {
                    self.nodes.say(node, &word);
                }
            }
        }
        straggler.map_or(Ok(()), |node| self.leave_out(node, "the others are done, and it is far behind"))
    }

    /// Nothing more of a file is wanted of those that give.
    pub(super) fn no_more_of(&mut self, entry: u64) {
        if self.dealing.is_some() {
            self.telling.done(entry);
            self.nodes.done(entry);
        }
    }
}

/// What is said to have these.
fn words(pieces: &[Piece]) -> Vec<Word> {
    let (mut wanted, mut ranges) = (Vec::new(), Vec::<(u64, Vec<(u64, u64)>)>::new());
    for &piece in pieces {
        match (piece, ranges.last_mut()) {
            (Piece::File(entry), _) => wanted.push(entry),
            (Piece::Range(entry, range), Some((of, ranges))) if *of == entry => match ranges.last_mut() {
                Some((_, end)) if *end == range => *end += 1,
                _ => ranges.push((range, range + 1)),
            },
            (Piece::Range(entry, range), _) => ranges.push((entry, vec![(range, range + 1)])),
        }
    }
    let files = wanted.chunks(FILES).map(|wanted| Word::Compared { wanted: wanted.to_vec(), same: Vec::new() });
    files.chain(ranges.into_iter().map(|(entry, ranges)| Word::Ranges { entry, ranges })).collect()
}
