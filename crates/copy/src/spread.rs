//! Copies into striped shares: each of the machines that share one file system takes a part of the files, all at once; what is left then, times
//! and modes of folders, and what is to be deleted, is for an ordinary copy into one of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use visapult_ripp_net::{Options, Rate, RippUrl};

use crate::copying::CopyOptions;
use crate::error::CopyError;
use crate::partial::TAKEN;
use crate::redial::Attempt;
use crate::report::{Event, Moved, Progress, Tally};
use crate::request::{Request, STRIPES, Verb};
use crate::stripes::MOST_NODES;
use crate::take::IN_WAY;
use crate::wish::{Alike, Delete, Part, Wish};

const POLL: Duration = Duration::from_millis(100);

/// One copy into a share, or into a node of one.
pub(crate) struct Into<'a> {
    pub(crate) url: &'a RippUrl,
    pub(crate) wish: Wish,
    /// When the copy began that it is of.
    pub(crate) moment: SystemTime,
    /// It is to tell of its nodes rather than take all by itself.
    may_spread: bool,
}

impl Into<'_> {
    /// Copies that go on at the same time.
    pub(crate) fn of(&self) -> u64 {
        self.wish.part.map_or(1, |part| u64::from(part.of))
    }

    /// Each sends at its part of the rate.
    pub(crate) fn session(&self, options: &CopyOptions) -> Options {
        let rate = match options.session.rate {
            Rate::Fixed(bps) => Rate::Fixed((bps / self.of()).max(1)),
            Rate::Auto { most_bps } => Rate::Auto { most_bps: most_bps.map(|bps| (bps / self.of()).max(1)) },
        };
        Options { rate, ..options.session.clone() }
    }

    /// Each part is a copy of its own to those whom it is fetched from.
    pub(crate) fn request(&self, options: &CopyOptions, job: &str, verb: Verb) -> Request {
        let job = self.wish.part.map_or_else(|| job.to_owned(), |part| format!("{job}-{}", part.index));
        let mut request = Request::new(&job, verb).weighing(options.weight);
        request.able.extend(self.may_spread.then(|| STRIPES.to_owned()));
        request
    }
}

/// Copies into the share at `url` by `copy`; where the share tells of nodes that it is to go to instead, into all of them at once, and what that has
/// left into one.
///
/// # Errors
/// Why it ended before all was there.
pub(crate) fn into_share(
    url: &RippUrl,
    options: &CopyOptions,
    stop: &AtomicBool,
    attempt: &mut Attempt,
    watch: &mut dyn FnMut(Event),
    copy: impl Fn(&Into<'_>, &mut Attempt, &mut dyn FnMut(Event)) -> Result<(), CopyError> + Sync,
) -> Result<(), CopyError> {
    let wish = options.wish();
    // Hashes are of all files, a part of a file is one file, and a part of fields is made once.
    let is_part = options.span.is_some() || options.part.is_some();
    let may_spread = !(wish.dry_run || wish.hashes || is_part || options.detach);
    let moment = SystemTime::now();
    copy(&Into { url, wish, moment, may_spread }, attempt, watch)?;
    let told = std::mem::take(&mut attempt.moved.nodes);
    if told.is_empty() {
        return Ok(());
    }
    if !may_spread {
        return Err(CopyError::Protocol("it tells of nodes that it was not asked for".to_owned()));
    }
    let copy_part = |url: &RippUrl, part, attempt: &mut Attempt, watch: &mut dyn FnMut(Event)| {
        let wish = Wish { part: Some(part), delete: Delete::Nothing, ..wish };
        copy(&Into { url, wish, moment, may_spread: false }, attempt, watch)
    };
    let spread = spread(&nodes_of(url, &told), stop, watch, copy_part)?;
    // Of what nobody knows whether it is the same no copy goes on from what another has begun.
    let moment = if spread.is_whole && spread.failed.is_empty() { moment } else { SystemTime::now() };
    let mut unseen = spread.unseen(wish);
    let (before, wish) = (wish, spread.wish_after(wish));
    if before.delete != wish.delete {
        watch(Event::Notice("nothing is deleted, for not all of the sources could be copied".to_owned()));
    }
    let mut outcome = Ok(());
    for url in &spread.nodes {
        let mut last = Attempt::default();
        let mut tell = |event| {
            if let Event::Failed { path, .. } = &event {
                unseen.remove(path);
            }
            watch(spread.event_after(event));
        };
        outcome = copy(&Into { url, wish, moment, may_spread: false }, &mut last, &mut tell);
        attempt.moved.tally = spread.tally_after(&last.moved.tally);
        attempt.moved.arrived = spread.arrived + last.moved.arrived;
        // Another may be there still.
        if last.was_admitted || !outcome.as_ref().is_err_and(CopyError::may_pass) {
            break;
        }
    }
    if outcome.is_ok() {
        attempt.moved.tally = spread.counted_with(attempt.moved.tally, unseen.len() as u64);
        unseen.into_iter().for_each(|(path, why)| watch(Event::Failed { path, why }));
    }
    outcome
}

/// What came of all parts.
#[derive(Debug, Default)]
struct Spread {
    tally: Tally,
    arrived: u64,
    /// How long they took.
    elapsed: Duration,
    /// The nodes, those first that took all of their parts, and those last that were left out.
    nodes: Vec<RippUrl>,
    /// All of them did.
    is_whole: bool,
    /// What failed of that, and why.
    failed: BTreeMap<String, String>,
    /// Those that were left out, which may hold what they were taking.
    left_out: Vec<String>,
}

impl Spread {
    /// What the copy that follows is to do.
    fn wish_after(&self, wish: Wish) -> Wish {
        if !self.is_whole {
            return wish;
        }
        // What was there has been compared, or copied anew.
        let delete = if self.unseen(wish).is_empty() { wish.delete } else { Delete::Nothing };
        Wish { anew: false, alike: Alike::default(), delete, ..wish }
    }

    /// What failed, and looks the same, perhaps, to a copy that holds only sizes and times against each other: as that may have taken it, it is told
    /// of unless that one does. What only waits for something to be deleted looks otherwise.
    fn unseen(&self, wish: Wish) -> BTreeMap<String, String> {
        if !self.is_whole || (!wish.anew && wish.alike == Alike::default()) {
            return BTreeMap::new();
        }
        let failed = self.failed.iter().filter(|(_, why)| !why.contains(IN_WAY));
        failed.map(|(path, why)| (path.clone(), why.clone())).collect()
    }

    /// What all have counted, where so many failed unseen: of those that only look the same, no part has said that they are there.
    fn counted_with(&self, tally: Tally, unseen: u64) -> Tally {
        let alike = tally.same_files.saturating_sub(self.tally.same_files);
        Tally { same_files: tally.same_files - alike.min(unseen), failed: tally.failed + unseen, ..tally }
    }

    /// What is told of the copy that follows, as of all of it.
    fn event_after(&self, event: Event) -> Event {
        let last = match event {
            Event::Progress(last) => last,
            Event::Failed { path, why } if why.contains(TAKEN) && !self.left_out.is_empty() => {
                let nodes = self.left_out.join(" or ");
                let why = format!(
                    "{why}; it may be {nodes}, left out and not ended yet: wait, or end that share, and give the same command again"
                );
                return Event::Failed { path, why };
            }
            event => return event,
        };
        let mut tally = self.tally_after(&last.tally);
        // What it finds half done has been told of.
        tally.resumed_bytes = self.tally.resumed_bytes + last.tally.resumed_bytes;
        let is_listed = self.is_whole || last.is_listed;
        if !last.is_listed {
            // It is still looking at what the parts have wanted.
            tally.wanted_files = tally.wanted_files.max(self.tally.wanted_files);
            tally.wanted_bytes = tally.wanted_bytes.max(self.tally.wanted_bytes);
        }
        let (arrived, elapsed) = (self.arrived + last.arrived, self.elapsed + last.elapsed);
        Event::Progress(Progress { tally, is_listed, arrived, elapsed, ..last })
    }

    /// What all have counted after the copy that followed has counted `last`. Where all files had been looked at before a node died, what it did
    /// and could not tell any more is not taken for what was there already.
    fn tally_after(&self, last: &Tally) -> Tally {
        let mut told = self.tally;
        if !self.is_whole && told.wanted_files + told.same_files == last.wanted_files + last.same_files {
            told.files = last.same_files.saturating_sub(told.same_files);
            told.bytes = last.same_bytes.saturating_sub(told.same_bytes);
        }
        told.then(last)
    }
}

/// The nodes of a striped share that others are copied into: the one that was dialled, and those it has told of.
fn nodes_of(url: &RippUrl, told: &[String]) -> Vec<RippUrl> {
    let node = |told: &String| {
        let node: RippUrl = told.parse().ok()?;
        let token = node.token.clone().or_else(|| url.token.clone());
        (node.fingerprint.is_some() && token.is_some()).then_some(RippUrl { token, ..node })
    };
    [url.clone()].into_iter().chain(told.iter().take(MOST_NODES).filter_map(node)).collect()
}

/// Has each of `nodes` take its part by `copy_part`. Those that fail are told of: their parts are for the copy that follows.
///
/// # Errors
/// If it is to stop.
fn spread(
    nodes: &[RippUrl],
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
    copy_part: impl Fn(&RippUrl, Part, &mut Attempt, &mut dyn FnMut(Event)) -> Result<(), CopyError> + Sync,
) -> Result<Spread, CopyError> {
    let names: Vec<String> = nodes.iter().map(RippUrl::authority).collect();
    watch(Event::Notice(format!("{} take it together", names.join(", "))));
    let (happened, happens) = channel();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let part = Part { index: index as u32, of: nodes.len() as u32 };
            let (happened, copy_part, name) = (happened.clone(), &copy_part, &names[index]);
            let work = move || {
                let tell = |event| drop(happened.send((index, event)));
                let mut attempt = Attempt::default();
                let outcome = copy_part(node, part, &mut attempt, &mut |event| tell(event));
                let failed = attempt.moved.tally.failed;
                let (Moved { tally, arrived, .. }, is_listed) = (attempt.moved, outcome.is_ok());
                tell(Event::Progress(Progress { tally, arrived, is_listed, ..Progress::default() }));
                if let Err(cause) = &outcome {
                    tell(Event::Notice(format!(
                        "{name} is left out: {cause}; another goes on with what it was to take"
                    )));
                }
                (outcome.is_ok(), failed == 0)
            };
            threads.push(scope.spawn(work));
        }
        drop(happened);
        let spread = follow(&happens, nodes.len(), stop, watch)?;
        // Whether each came to its end, and whether nothing failed.
        let went: Vec<(bool, bool)> = threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect();
        let is_whole = went.iter().all(|(is_over, _)| *is_over);
        let left_out = names.iter().zip(&went).filter(|(_, (is_over, _))| !is_over).map(|(name, _)| name.clone());
        let mut ranked: Vec<_> = nodes.iter().zip(&went).collect();
        ranked.sort_by_key(|(_, went)| Reverse(**went));
        let nodes = ranked.into_iter().map(|(node, _)| node.clone()).collect();
        Ok(Spread { nodes, is_whole, left_out: left_out.collect(), ..spread })
    })
}

/// Tells what happens of all parts together, until all are over. What fails is told once the copy that follows is over.
fn follow(
    happens: &Receiver<(usize, Event)>,
    parts: usize,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Spread, CopyError> {
    let began = Instant::now();
    let (mut latest, mut failed) = (vec![Progress::default(); parts], BTreeMap::new());
    loop {
        match happens.recv_timeout(POLL) {
            Ok((part, Event::Progress(progress))) => {
                latest[part] = progress;
                let sum = sum(&latest);
                watch(Event::Progress(Progress { elapsed: began.elapsed(), ..sum }));
            }
            Ok((_, Event::Notice(text))) => watch(Event::Notice(text)),
            Ok((_, Event::Failed { path, why })) => drop(failed.insert(path, why)),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if stop.load(Ordering::Relaxed) {
        return Err(CopyError::Stopped);
    }
    let Progress { tally, arrived, .. } = sum(&latest);
    let elapsed = began.elapsed();
    Ok(Spread { tally: Tally { failed: 0, left_out: 0, ..tally }, arrived, elapsed, failed, ..Spread::default() })
}

fn sum(parts: &[Progress]) -> Progress {
    let add = |sum: Progress, part: &Progress| Progress {
        tally: sum.tally.plus(&part.tally),
        is_listed: sum.is_listed && part.is_listed,
        arrived: sum.arrived + part.arrived,
        elapsed: sum.elapsed,
        limit: sum.limit.or(part.limit),
    };
    parts.iter().fold(Progress { is_listed: true, ..Progress::default() }, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<RippUrl> {
        let first: RippUrl =
            "ripp://MDEyMzQ1Njc4OWFiY2RlZg@a:1/x#ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0".parse().unwrap();
        let told = ["ripp://b:1/x#ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0", "ripp://c:1/no-certificate", "no URL"];
        nodes_of(&first, &told.map(ToOwned::to_owned))
    }

    fn spread_where(fails: u32, failed: u64) -> (Spread, Vec<Event>) {
        let mut told = Vec::new();
        let copy_part = |node: &RippUrl, part: Part, attempt: &mut Attempt, watch: &mut dyn FnMut(Event)| {
            assert!(node.token.is_some());
            attempt.moved.tally = Tally { files: 10, failed, ..Tally::default() };
            if failed > 0 {
                watch(Event::Failed { path: "a".to_owned(), why: "told later".to_owned() });
                watch(Event::Failed { path: "b".to_owned(), why: format!("a folder has its name: {IN_WAY}") });
            }
            if part.index == fails { Err(CopyError::Here("is gone".to_owned())) } else { Ok(()) }
        };
        let spread = spread(&nodes(), &AtomicBool::new(false), &mut |event| told.push(event), copy_part).unwrap();
        (spread, told)
    }

    #[test]
    fn what_a_node_did_that_died_before_it_could_tell_was_not_there_already() {
        let told =
            Tally { wanted_files: 100, files: 60, bytes: 600, same_files: 7, same_bytes: 70, ..Tally::default() };
        let last =
            Tally { wanted_files: 20, files: 20, bytes: 200, same_files: 87, same_bytes: 870, ..Tally::default() };
        let counted_after = |tally| {
            let Tally { files, bytes, same_files, same_bytes, .. } =
                Spread { tally, ..Spread::default() }.tally_after(&last);
            (files, bytes, same_files, same_bytes)
        };
        assert_eq!(counted_after(told), (100, 1000, 7, 70));
        // Of what it had not looked at, some may have been there.
        assert_eq!(counted_after(Tally { wanted_files: 90, ..told }), (80, 800, 27, 270));
    }

    #[test]
    fn the_copy_that_follows_is_told_of_as_of_the_end_of_all() {
        let told = Tally {
            wanted_files: 100,
            wanted_bytes: 1000,
            files: 90,
            bytes: 900,
            here_bytes: 950,
            same_files: 7,
            ..Tally::default()
        };
        let elapsed = Duration::from_secs(10);
        let progress = |is_whole, last: Tally, is_listed| {
            let spread = Spread { tally: told, arrived: 950, elapsed, is_whole, ..Spread::default() };
            let last = Progress { tally: last, is_listed, arrived: 5, elapsed: Duration::from_secs(1), limit: None };
            let Event::Progress(told) = spread.event_after(Event::Progress(last)) else { panic!() };
            assert_eq!((told.arrived, told.elapsed), (955, Duration::from_secs(11)));
            let Tally { wanted_files, wanted_bytes, files, here_bytes, same_files, resumed_bytes, .. } = told.tally;
            (told.is_listed, [wanted_files, wanted_bytes, files, here_bytes, same_files, resumed_bytes])
        };
        // What the parts did is there, whatever of it the last has looked at.
        let some = Tally { same_files: 50, same_bytes: 500, ..Tally::default() };
        assert_eq!(progress(false, some, false), (false, [100, 1000, 90, 900, 0, 0]));
        assert!(progress(true, some, false).0);
        let all = Tally {
            wanted_files: 10,
            wanted_bytes: 100,
            files: 3,
            bytes: 30,
            here_bytes: 80,
            resumed_bytes: 50,
            same_files: 97,
            same_bytes: 900,
            ..Tally::default()
        };
        assert_eq!(progress(false, all, true), (true, [100, 1000, 93, 980, 7, 50]));
        let notice = Event::Notice("told".to_owned());
        assert_eq!(Spread::default().event_after(notice.clone()), notice);
    }

    #[test]
    fn each_node_takes_a_part_and_what_one_leaves_is_for_the_copy_that_follows() {
        let wish = Wish { anew: true, alike: Alike::All, delete: Delete::InDestination, ..Wish::default() };
        let lax = Wish { delete: Delete::InDestination, ..Wish::default() };
        let (whole, _) = spread_where(7, 0);
        assert_eq!((whole.tally.files, whole.tally.failed), (20, 0));
        assert_eq!(whole.wish_after(wish), lax);
        assert_eq!(whole.nodes, nodes());
        // What failed looks the same, perhaps, to a copy that holds only sizes and times against each other: nothing is done twice for that.
        let (partly, _) = spread_where(7, 1);
        assert_eq!((partly.tally.failed, partly.wish_after(wish)), (0, Wish::default()));
        assert_eq!(partly.unseen(wish).into_keys().collect::<Vec<_>>(), ["a"]);
        // Of one that is lax as well nothing is unseen.
        assert_eq!((partly.unseen(lax).len(), partly.wish_after(lax)), (0, lax));
        let told = Tally { wanted_files: 8, files: 7, same_files: 2, ..Tally::default() };
        let last = Tally { same_files: 10, ..Tally::default() };
        let spread = Spread { tally: told, is_whole: true, ..Spread::default() };
        let counted = spread.counted_with(spread.tally_after(&last), 1);
        assert_eq!((counted.files, counted.same_files, counted.failed), (7, 2, 1));
        let (partly, told) = spread_where(0, 1);
        assert_eq!(partly.nodes[0].host, "b");
        assert_eq!((partly.wish_after(wish), partly.unseen(wish).len()), (wish, 0));
        assert!(
            told.iter().any(|event| matches!(event, Event::Notice(text) if text.contains("a:1 is left out: is gone")))
        );
        assert!(!told.iter().any(|event| matches!(event, Event::Failed { .. })));
    }

    #[test]
    fn a_node_that_was_left_out_and_holds_a_file_still_is_named() {
        let why_of = |why: &str, left_out: &[&str]| {
            let left_out = left_out.iter().map(|&name| name.to_owned()).collect();
            let spread = Spread { left_out, ..Spread::default() };
            let failed = Event::Failed { path: "x".to_owned(), why: why.to_owned() };
            let Event::Failed { why, .. } = spread.event_after(failed) else { panic!() };
            why
        };
        assert_eq!((why_of("full", &["b:1"]), why_of(TAKEN, &[])), ("full".to_owned(), TAKEN.to_owned()));
        assert!(why_of(&format!("cannot be written: {TAKEN}"), &["b:1"]).contains("it may be b:1, left out"));
    }
}
