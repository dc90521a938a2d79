//! Either end against one that speaks as another build does: what is offered early is refused, held or asked for, and never sent twice.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;
use visapult_objects::escaped;
use visapult_ripp_net::{
    Arrival, Clients, Flow, Incoming, Listener, ListenerOptions, MemorySink, Mode, Offer, Options, Outgoing, Session,
    Sink as _, Token, Trust,
};

use crate::bundle::{self, BUNDLE};
use crate::error::CopyError;
use crate::filter::Filter;
use crate::give::{Begin, Lister, MOST_EARLY, give};
use crate::landing::Landing;
use crate::listing;
use crate::objects::RangeBuffer;
use crate::ranges::{RANGE, RangeName, range};
use crate::report::{Moved, Tally};
use crate::root::Root;
use crate::selection::Patterns;
use crate::source::{RangeSource, SourceFile};
use crate::take::take;
use crate::walk::{Found, Walk};
use crate::wish::Wish;
use crate::words::Word;

const PATIENCE: Duration = Duration::from_secs(30);
const RANGES: u64 = MOST_EARLY as u64 + 2;
const SIZE: u64 = (RANGES - 1) * RANGE + 5;

/// Small files in a folder, which is entry 0.
const SMALL: u64 = 50;

/// A file of so many ranges, most of which are holes.
fn source() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let file = File::create(dir.path().join("large")).unwrap();
    file.set_len(SIZE).unwrap();
    (0..RANGES).for_each(|index| file.write_all_at(&[index as u8 + 1; 5], index * RANGE).unwrap());
    // Made anew it is the same.
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    dir
}

fn walk(dir: &TempDir, name: &str) -> Walk {
    Walk::new(vec![Root::here(&dir.path().join(name)).unwrap()], Filter::new(&Patterns::default()).unwrap())
}

/// A folder of small files, of so many; with its walk.
fn small() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("many")).unwrap();
    for number in 0..SMALL {
        std::fs::write(dir.path().join(format!("many/{number:03}")), [number as u8; 100]).unwrap();
    }
    dir
}

/// Dialler's and listener's end.
fn sessions() -> (Session, Session) {
    let token = Some(Token::fresh().unwrap());
    let options = ListenerOptions { identity: None, token, clients: Clients::default(), session: Options::default() };
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), options).unwrap();
    let url = listener.url("127.0.0.1", "here");
    let dialler = Session::dial(&url, &Trust::InsecureLoopback, None, &Options::default()).unwrap();
    (dialler, listener.accept(PATIENCE).unwrap().unwrap())
}

/// Gives the file to one that does as `taker` says.
fn given_to(taker: impl FnOnce(&Session) + Send) {
    given(&source(), "large", taker);
}

/// Gives it to the other end of `session`.
fn give_to(session: &Session, dir: &TempDir, name: &str) -> Result<(), CopyError> {
    let (lister, never) = (Lister::start(walk(dir, name)), AtomicBool::new(false));
    give(session, lister, Begin::AtOnce, &never, &mut Moved::default(), &mut |_| {})
}

fn given(dir: &TempDir, name: &str, taker: impl FnOnce(&Session) + Send) {
    let (here, there) = sessions();
    thread::scope(|scope| {
        scope.spawn(move || {
            taker(&there);
            while there.is_alive() {
                let _ = there.next_arrival(PATIENCE);
            }
        });
        let outcome = give_to(&here, dir, name);
        drop(here);
        outcome.unwrap();
    });
}

/// What comes next, with words that tell how it goes left out.
fn next(session: &Session) -> Arrival {
    loop {
        match session.next_arrival(PATIENCE).unwrap().expect("something to be said") {
            Arrival::Note(note) if matches!(Word::from_text(&note.text), Some(Word::Limit { .. } | Word::Tally(_))) => {
            }
            arrival => return arrival,
        }
    }
}

fn is_range(offer: &Offer) -> bool {
    RangeName::from_text(&offer.name).is_some()
}

fn accept_listing(offer: Offer) -> Incoming {
    let sink = Arc::new(MemorySink::new(offer.length as usize));
    offer.accept(sink)
}

fn accept(offer: Offer) -> Incoming {
    let name = RangeName::from_text(&offer.name).unwrap();
    let range = range(SIZE, name.range).unwrap();
    let extents = name.extents(range.length).unwrap();
    let buffer = RangeBuffer::new(range, extents, &Arc::default(), &Arc::default()).unwrap();
    offer.accept(Arc::new(buffer))
}

fn say(session: &Session, word: &Word) {
    session.note(&word.to_text()).unwrap();
}

/// Asks for all of the file, and takes it.
fn ask_and_take(session: &Session, held: Vec<Offer>) {
    say(session, &Word::Wants { upto: 1, files: vec![(0, 1)], later: Vec::new() });
    say(session, &Word::Ranges { entry: 0, ranges: vec![(0, RANGES)] });
    take_all(session, held);
}

/// Accepts `held` and what else is offered of the file, no range twice, until all is there.
fn take_all(session: &Session, held: Vec<Offer>) {
    let mut names: BTreeSet<u64> = held.iter().map(|offer| RangeName::from_text(&offer.name).unwrap().range).collect();
    let mut incoming: Vec<Incoming> = held.into_iter().map(accept).collect();
    while incoming.len() < RANGES as usize {
        if let Arrival::Offer(offer) = next(session) {
            assert!(names.insert(RangeName::from_text(&offer.name).unwrap().range), "{} again", offer.name);
            incoming.push(accept(offer));
        }
    }
    incoming.iter().for_each(|incoming| assert!(incoming.wait().is_ok()));
    say(session, &Word::Finished(Tally::default()));
}

#[test]
fn a_build_that_refuses_what_it_did_not_ask_for_is_offered_it_again() {
    given_to(|session| {
        let (mut listing, mut refused) = (None, 0);
        while listing.is_none() || refused < MOST_EARLY {
            match next(session) {
                Arrival::Offer(offer) if is_range(&offer) => {
                    offer.refuse("the file is not wanted (any more)");
                    refused += 1;
                }
                Arrival::Offer(offer) => listing = Some(accept_listing(offer)),
                Arrival::Note(_) => {}
            }
        }
        listing.unwrap().wait().unwrap();
        ask_and_take(session, Vec::new());
    });
}

#[test]
fn what_is_held_until_it_is_wanted_is_not_offered_twice() {
    given_to(|session| {
        let Arrival::Note(note) = next(session) else { panic!("an offer before the listing") };
        let Some(Word::Listing { .. }) = Word::from_text(&note.text) else { panic!("{}", note.text) };
        let mut held = Vec::new();
        while held.len() < MOST_EARLY {
            match next(session) {
                Arrival::Offer(offer) if is_range(&offer) => held.push(offer),
                Arrival::Offer(offer) => offer.refuse("it was told already"),
                Arrival::Note(_) => {}
            }
        }
        ask_and_take(session, held);
    });
}

#[test]
fn what_is_refused_after_another_part_was_asked_for_is_offered_again() {
    given_to(|session| {
        let (mut held, mut rest) = (Vec::new(), Vec::new());
        while held.len() < MOST_EARLY {
            match next(session) {
                Arrival::Offer(offer) if is_range(&offer) => held.push(offer),
                Arrival::Offer(offer) => offer.refuse("it was told already"),
                Arrival::Note(_) => {}
            }
        }
        say(session, &Word::Wants { upto: 1, files: vec![(0, 1)], later: Vec::new() });
        say(session, &Word::Ranges { entry: 0, ranges: vec![(0, 1), (RANGES - 1, RANGES)] });
        // What was asked for, and not offered, comes once that was heard.
        while rest.is_empty() {
            if let Arrival::Offer(offer) = next(session) {
                rest.push(offer);
            }
        }
        rest.push(held.remove(0));
        held.into_iter().for_each(|offer| offer.refuse("another was asked for it"));
        say(session, &Word::Ranges { entry: 0, ranges: vec![(1, RANGES - 1)] });
        take_all(session, rest);
    });
}

#[test]
fn hashes_of_large_files_are_told_each_once_it_is_known() {
    let dir = small();
    for number in 0..4 {
        std::fs::write(dir.path().join(format!("many/{number}.raw")), vec![number; 2 << 20]).unwrap();
    }
    given(&dir, "many", |session| {
        let entries = SMALL + 5;
        let mut told = Vec::new();
        let mut is_asked = false;
        while told.iter().map(Vec::len).sum::<usize>() < entries as usize - 1 {
            let note = match next(session) {
                Arrival::Offer(offer) => {
                    offer.refuse("not wanted yet");
                    continue;
                }
                Arrival::Note(note) => note,
            };
            if !std::mem::replace(&mut is_asked, true) {
                say(session, &Word::Compare { files: vec![(1, entries - 1)] });
                say(session, &Word::Wants { upto: entries, files: Vec::new(), later: Vec::new() });
            }
            if let Some(Word::Contents { files }) = Word::from_text(&note.text) {
                told.push(files);
            }
        }
        let mut counts: Vec<usize> = told.iter().map(Vec::len).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 1, 1, SMALL as usize]);
        say(session, &Word::Finished(Tally::default()));
    });
}

#[test]
fn a_refusal_is_heard_by_whoever_notices_the_end_first() {
    let (here, there) = sessions();
    say(&there, &Word::Refused { why: "not into this folder".to_owned() });
    there.end_because("not into this folder");
    assert!(here.wait_ended(PATIENCE), "it goes on");
    let told = give_to(&here, &source(), "large").unwrap_err().to_string();
    assert_eq!(told, "the other end: not into this folder");
}

/// Has the file taken into `into` from one that does as `giver` says.
fn taken_from(into: &Path, giver: impl FnOnce(&Session, &TempDir, Vec<u8>) + Send) -> Tally {
    let (dir, (here, there)) = (source(), sessions());
    let mut listing = Vec::new();
    for found in walk(&dir, "large") {
        let Found::Entry { entry, .. } = found else { continue };
        entry.write(&mut listing);
    }
    assert_eq!(listing::read(&listing).unwrap().len(), 1);
    let landing = Landing::here(into, true, false).unwrap();
    let mut taken = Moved::default();
    thread::scope(|scope| {
        let dir = &dir;
        scope.spawn(move || giver(&there, dir, listing));
        take(&here, None, landing, Wish::default(), &AtomicBool::new(false), &mut taken, &mut |_| {}).unwrap();
    });
    let (from, to) = (dir.path().join("large"), into.join("large"));
    assert_eq!(std::fs::read(from).unwrap(), std::fs::read(to).unwrap());
    taken.tally
}

fn offer_range(flow: &Flow, dir: &TempDir, index: u64) -> Outgoing {
    let root = Root::here(&dir.path().join("large")).unwrap();
    let file = Arc::new(SourceFile::open(&root, "large".as_ref()).unwrap());
    let range = range(file.size, index).unwrap();
    let extents = file.extents(&range);
    let name = RangeName::of(0, index, range.length, &extents).to_text();
    flow.send(&name, Arc::new(RangeSource { file, range, extents, read_time: Arc::default() })).unwrap()
}

/// The next word that `pick` takes something of.
fn word<T>(session: &Session, pick: impl Fn(Word) -> Option<T>) -> T {
    loop {
        if let Arrival::Note(note) = next(session)
            && let Some(found) = Word::from_text(&note.text).and_then(&pick)
        {
            return found;
        }
    }
}

fn ranges(word: Word) -> Option<Vec<(u64, u64)>> {
    if let Word::Ranges { ranges, .. } = word { Some(ranges) } else { None }
}

fn finished(word: Word) -> Option<Tally> {
    if let Word::Finished(tally) = word { Some(tally) } else { None }
}

#[test]
fn a_build_that_offers_its_listing_and_waits_to_be_asked_is_taken_from() {
    let into = tempfile::tempdir().unwrap();
    let tally = taken_from(into.path(), |session, dir, listing| {
        let flow = session.open_flow("content", Mode::Reliable, 1).unwrap();
        let listed = flow.send("l 0", Arc::new(listing)).unwrap();
        say(session, &Word::Listed { entries: 1 });
        assert_eq!(word(session, ranges), [(0, RANGES)]);
        listed.wait().unwrap();
        let sent: Vec<Outgoing> = (0..RANGES).map(|index| offer_range(&flow, dir, index)).collect();
        sent.iter().for_each(|one| assert!(one.wait().is_ok()));
        word(session, finished);
    });
    assert_eq!(tally.files, 1);
}

#[test]
fn what_is_offered_early_is_taken_if_it_is_wanted_and_refused_if_not() {
    let into = tempfile::tempdir().unwrap();
    for (is_wanted, many) in [(true, RANGES), (false, 2)] {
        let tally = taken_from(into.path(), |session, dir, listing| {
            let flow = session.open_flow("content", Mode::Reliable, 1).unwrap();
            say(session, &Word::Listing { bytes: escaped(&listing) });
            let listed = flow.send("l 0", Arc::new(listing)).unwrap();
            // More than are held: those beyond are asked for again.
            let sent: Vec<Outgoing> = (0..many).map(|index| offer_range(&flow, dir, index)).collect();
            say(session, &Word::Listed { entries: 1 });
            assert!(listed.wait().is_err(), "it was told");
            if is_wanted {
                word(session, ranges);
            }
            let outcomes: Vec<bool> = sent.iter().map(|one| one.wait().is_ok()).collect();
            assert!(outcomes[..2].iter().all(|went| *went == is_wanted), "{outcomes:?}");
            let again = (0..many).filter(|index| is_wanted && !outcomes[*index as usize]);
            let again: Vec<Outgoing> = again.map(|index| offer_range(&flow, dir, index)).collect();
            again.iter().for_each(|one| assert!(one.wait().is_ok()));
            word(session, finished);
        });
        assert_eq!((tally.files, tally.same_files), if is_wanted { (1, 0) } else { (0, 1) });
    }
}

/// The files of the bundles, of which there are `SMALL`, each once.
fn files_of(bundles: &[Arc<MemorySink>]) -> Vec<u64> {
    let mut files: Vec<u64> = Vec::new();
    for bundle in bundles {
        files.extend(bundle::read(bundle.memory_at(0).unwrap()).unwrap().iter().map(|(entry, _)| *entry));
    }
    files.sort_unstable();
    files
}

#[test]
fn small_files_of_which_some_are_refused_are_given_once_each() {
    // What is done with what comes before it was asked for: taken, or refused before or after it is asked for.
    for (is_taken, is_refused_first) in [(true, false), (false, true), (false, false)] {
        given(&small(), "many", |session| {
            let mut unasked = None;
            while unasked.is_none() {
                match next(session) {
                    Arrival::Offer(offer) if offer.name.starts_with("r 1 ") => unasked = Some(offer),
                    Arrival::Offer(offer) => offer.refuse("it was told already"),
                    Arrival::Note(_) => {}
                }
            }
            let (mut bundles, mut incoming) = (Vec::new(), Vec::new());
            let mut take = |offer: Offer| {
                let sink = Arc::new(MemorySink::new(offer.length as usize));
                bundles.push(Arc::clone(&sink));
                incoming.push(offer.accept(sink));
            };
            let wants = Word::Wants { upto: SMALL + 1, files: vec![(1, SMALL)], later: Vec::new() };
            let offer = unasked.take().unwrap();
            if is_taken {
                take(offer);
                say(session, &wants);
            } else if is_refused_first {
                offer.refuse("not all files of the bundle are wanted");
                say(session, &wants);
            } else {
                say(session, &wants);
                offer.refuse("not all files of the bundle are wanted");
            }
            if !is_taken {
                let again = loop {
                    if let Arrival::Offer(offer) = next(session) {
                        break offer;
                    }
                };
                assert_eq!(again.name, BUNDLE);
                take(again);
            }
            incoming.iter().for_each(|incoming| assert!(incoming.wait().is_ok()));
            assert_eq!(files_of(&bundles), (1..=SMALL).collect::<Vec<_>>());
            say(session, &Word::Finished(Tally::default()));
        });
    }
}

/// Copies the small files into `into`, by this build at both ends.
fn copied(dir: &TempDir, into: &Path) -> (Moved, Moved) {
    let (here, there) = sessions();
    let landing = Landing::here(into, true, false).unwrap();
    let (mut taken, mut given) = (Moved::default(), Moved::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            take(&there, None, landing, Wish::default(), &AtomicBool::new(false), &mut taken, &mut |_| {}).unwrap();
            while there.is_alive() {
                let _ = there.next_arrival(PATIENCE);
            }
        });
        give(&here, Lister::start(walk(dir, "many")), Begin::AtOnce, &AtomicBool::new(false), &mut given, &mut |_| {})
            .unwrap();
        drop(here);
    });
    for number in 0..SMALL {
        let name = format!("many/{number:03}");
        assert_eq!(std::fs::read(dir.path().join(&name)).unwrap(), std::fs::read(into.join(&name)).unwrap());
    }
    (taken, given)
}

#[test]
fn what_is_there_is_not_sent_again_though_it_is_offered_unasked() {
    let (dir, into) = (small(), tempfile::tempdir().unwrap());
    let (all, given) = copied(&dir, into.path());
    assert_eq!((all.tally.files, all.tally.same_files, given.tally), (SMALL, 0, all.tally));
    assert_eq!(all.arrived, given.arrived);
    let (same, given) = copied(&dir, into.path());
    assert_eq!((same.tally.files, same.tally.same_files, same.arrived, given.arrived), (0, SMALL, 0, 0));
    std::fs::remove_file(into.path().join("many/007")).unwrap();
    let (one, _) = copied(&dir, into.path());
    assert_eq!((one.tally.files, one.tally.same_files), (1, SMALL - 1));
    assert!(one.arrived < 300, "{} bytes for one file of 100", one.arrived);
}
