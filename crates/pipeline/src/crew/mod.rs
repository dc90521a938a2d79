//! Several processes that make one back end: the head has the sessions and asks for steps, hands receive and render PEs of their own.
//!
//! Every process has its own sessions with all publishers and its own PEs. The head says which steps are asked for, and shows a step once all
//! have it; it asks the hands for what their PEs make of it, and puts that together. Without other processes there is no crew, and nothing
//! here is done.
//! Invariant: no wait is without end. A process that is gone is left out, and its PEs are given to the others.

mod bytes;
mod exchange;
mod hand;
mod images;
mod membership;
mod messages;
mod parts;
mod slabs;
mod step;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};
use std::thread;
use std::time::Duration;

use visapult_comm::{Comm, CommError, MAX_MESSAGE_BYTES, Tag};
use visapult_trace::now_ns;

use exchange::Exchange;
pub use hand::lend;
pub(crate) use membership::Membership;
use messages::{Agreement, Message, Question, json};
pub(crate) use messages::{News, Order};
pub(crate) use step::{CrewStep, all_bricks, counts_of, in_words, range_of};

use crate::error::PipelineError;
use crate::flow::Receiver;
use crate::lock::{lock, unpoisoned};

/// Where the system tells what this machine is called.
const MACHINE: &str = "/proc/sys/kernel/hostname";
const TAG: Tag = Tag(1);
const POLL: Duration = Duration::from_millis(100);

/// The processes of a back end, as one of them knows them.
pub struct Crew {
    rank: usize,
    pes: usize,
    /// Whether this process runs where the head does.
    is_beside_head: bool,
    /// What the machine is called.
    machine: String,
    /// Processes on the machine of this one, which is one of them.
    processes_here: usize,
    /// None once it has ended.
    comm: RwLock<Option<Comm>>,
    membership: Mutex<Membership>,
    /// The epoch of which there is something to show.
    settled: AtomicU64,
    /// Questions without an answer, by number.
    asked: Mutex<HashMap<u64, Asking>>,
    next: AtomicU64,
    exchange: Exchange,
    /// Why this process has left, if it had to.
    trouble: OnceLock<String>,
    /// At the head: why hands leave that have said so.
    troubles: Mutex<BTreeMap<usize, String>>,
    /// Where the ranks of a simulation may dial each hand.
    doors: Mutex<BTreeMap<usize, String>>,
    flow: OnceLock<Weak<Receiver>>,
    on_settled: OnceLock<Box<dyn Fn() + Send + Sync>>,
    over: AtomicBool,
    /// Held by who ends it.
    ending: Mutex<()>,
}

/// A question without an answer.
struct Asking {
    hand: usize,
    answered: Sender<Vec<u8>>,
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} of {}", self.rank, self.membership().members.len())
    }
}

impl Crew {
    /// The crew of all processes of `comm`, over as many PEs as the first says; none where this process is alone. `asked` is what the user has
    /// asked of this process.
    ///
    /// # Errors
    /// If another is gone already, or was asked for something else.
    pub fn of(comm: Comm, pes: usize, asked: Vec<String>) -> Result<Option<Arc<Self>>, PipelineError> {
        if comm.size() == 1 {
            return Ok(None);
        }
        let machine = std::fs::read_to_string(MACHINE).unwrap_or_default();
        let own = Agreement { pes, asked, machine };
        let failed = |cause: &dyn fmt::Display| PipelineError::Option(format!("the processes do not meet: {cause}"));
        let told = comm.all_gather(json(&own)).map_err(|cause| failed(&cause))?;
        let told: Result<Vec<Agreement>, _> = told.iter().map(|told| serde_json::from_slice(told)).collect();
        let told = told.map_err(|cause| failed(&cause))?;
        let processes_here = told.iter().filter(|other| other.machine == own.machine).count();
        let Some(first) = told.first() else { return Ok(None) };
        // None goes on: the head by itself would make a picture that was not asked for, or do so alone.
        if let Some(other) = told.iter().position(|other| other.asked != first.asked) {
            return Err(PipelineError::Option(format!(
                "process {other} was started with other words than process 0: under mpiexec all make one picture together, and are given the same"
            )));
        }
        let (pes, is_beside_head) = (first.pes, first.machine == own.machine);
        let machine = own.machine.trim().to_owned();
        let size = comm.size();
        let crew = Arc::new(Self {
            rank: comm.rank(),
            pes,
            is_beside_head,
            machine,
            processes_here,
            membership: Mutex::new(Membership::first(comm.size())),
            comm: RwLock::new(Some(comm)),
            settled: AtomicU64::new(0),
            asked: Mutex::default(),
            next: AtomicU64::new(0),
            exchange: Exchange::default(),
            trouble: OnceLock::new(),
            troubles: Mutex::default(),
            doors: Mutex::default(),
            flow: OnceLock::new(),
            on_settled: OnceLock::new(),
            over: AtomicBool::new(false),
            ending: Mutex::default(),
        });
        (1..size).filter(|hand| *hand != crew.rank).for_each(|hand| crew.listen_to(hand));
        Ok(Some(crew))
    }

    /// Whether this is the process with the sessions.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.rank == 0
    }

    /// Whether this process runs on the machine of the head.
    #[must_use]
    pub fn is_beside_head(&self) -> bool {
        self.is_beside_head
    }

    /// Processes on the machine of this one, which is one of them: they share its memory.
    pub(crate) fn processes_here(&self) -> usize {
        self.processes_here
    }

    /// Number of PEs that the grid is split over, if so many fit.
    #[must_use]
    pub fn pes(&self) -> usize {
        self.pes
    }

    /// The back end ends: hands are told, and messages with them. Waits until all have heard it, whoever else ends it: a process that goes before
    /// the others takes them along.
    pub fn end(&self) {
        let _alone = lock(&self.ending);
        if self.is_head() {
            self.order(&Order::End);
        }
        self.be_over();
        lock(&self.asked).clear();
        let comm = unpoisoned(self.comm.write()).take();
        drop(comm);
    }

    /// A hand cannot go on: the head is told why.
    fn leave(&self, why: &str) {
        let why = if self.is_beside_head { why.to_owned() } else { format!("on {}: {why}", self.machine) };
        self.report(&News::Leaves { why: why.clone() });
        let _ = self.trouble.set(why);
        self.be_over();
    }

    fn be_over(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.exchange.end();
    }

    /// Whether the back end has ended, or this process has left it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Which process this is; 0 is the head.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn membership(&self) -> Membership {
        lock(&self.membership).clone()
    }

    /// Where this process's part of a flow is received.
    pub(crate) fn set_flow(&self, flow: &Arc<Receiver>) {
        let _ = self.flow.set(Arc::downgrade(flow));
    }

    /// What is called when there is something to show of a new epoch.
    pub(crate) fn when_settled(&self, work: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_settled.set(Box::new(work));
    }

    /// There is something to show of an epoch.
    pub(crate) fn settle(&self, epoch: u64) {
        if self.settled.swap(epoch, Ordering::Relaxed) != epoch
            && let Some(work) = self.on_settled.get()
        {
            work();
        }
    }

    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(Ordering::Relaxed)
    }

    /// Where the ranks of a simulation have to dial beside the head.
    pub(crate) fn doors(&self) -> Vec<String> {
        lock(&self.doors).values().cloned().collect()
    }

    /// Tells all hands.
    pub(crate) fn order(&self, order: &Order) {
        self.tell(&self.membership(), order);
    }

    fn tell(&self, membership: &Membership, order: &Order) {
        let note = json(order);
        for hand in membership.members.iter().filter(|rank| **rank != self.rank) {
            // Who is gone is noticed by who listens to it.
            let _ = self.send(*hand, &Message::Note(&note));
        }
    }

    /// Tells the head.
    pub(crate) fn report(&self, news: &News) {
        // A head that is gone is noticed by who listens to it.
        let _ = self.send(0, &Message::Note(&json(news)));
    }

    fn send(&self, to: usize, message: &Message<'_>) -> Result<(), CommError> {
        self.with(|comm| comm.send(to, TAG, message.to_bytes()))
    }

    /// Sends something that is waited for: where it cannot be, that there is nothing.
    fn send_or_nothing<'a>(&self, to: usize, message: impl Fn(&'a [u8]) -> Message<'a>, body: &'a [u8]) {
        let Err(cause) = self.send(to, &message(body)) else { return };
        if matches!(cause, CommError::TooLarge { .. }) {
            let rank = self.rank;
            tracing::warn!(
                "what process {rank} has of a picture is more than is sent at once, {MAX_MESSAGE_BYTES} bytes: ask for a smaller one, or take more processes"
            );
        }
        // Who is gone is noticed by who listens to it.
        let _ = self.send(to, &message(&[]));
    }

    fn with<R>(&self, work: impl FnOnce(&Comm) -> Result<R, CommError>) -> Result<R, CommError> {
        let comm = unpoisoned(self.comm.read());
        comm.as_ref().map_or(Err(CommError::Left { rank: self.rank }), work)
    }

    /// A number that no other work of the head has.
    fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks a hand; the answer is dropped, and the receiving end with it, if the hand goes.
    fn ask(&self, hand: usize, question: &Question) -> mpsc::Receiver<Vec<u8>> {
        let (answered, answer) = mpsc::channel();
        let number = self.next_number();
        lock(&self.asked).insert(number, Asking { hand, answered });
        if self.send(hand, &Message::Work(number, &json(question))).is_err() {
            lock(&self.asked).remove(&number);
        }
        answer
    }

    /// Takes what a hand says to this process, on a thread of its own, until it is gone.
    fn listen_to(self: &Arc<Self>, hand: usize) {
        let crew = Arc::clone(self);
        thread::spawn(move || {
            while !crew.is_over() {
                match crew.with(|comm| comm.receive_within(hand, TAG, POLL)) {
                    Ok(Some(bytes)) => crew.on_message(hand, &bytes),
                    Ok(None) => {}
                    Err(cause) => {
                        crew.exchange.lose(hand);
                        return if crew.is_head() {
                            crew.lose(hand, &cause)
                        };
                    }
                }
            }
        });
    }

    fn on_message(&self, hand: usize, bytes: &[u8]) {
        match Message::of(bytes) {
            Some(Message::Part(number, body)) => self.exchange.put(number, hand, body.to_vec()),
            // All else is said to the head.
            Some(_) if !self.is_head() => {}
            Some(Message::Work(number, body)) => {
                if let Some(Asking { answered, .. }) = lock(&self.asked).remove(&number) {
                    // Who asked may have stopped waiting.
                    let _ = answered.send(body.to_vec());
                }
            }
            Some(Message::Note(note)) => match serde_json::from_slice(note) {
                Ok(News::Door { url }) => {
                    lock(&self.doors).insert(hand, url);
                    self.with_flow(|flow| flow.tell_doors());
                }
                Ok(News::Leaves { why }) => drop(lock(&self.troubles).insert(hand, why)),
                Ok(News::Clock { asked }) => {
                    let heard = now_ns();
                    let answer = json(&Order::Clock { asked, heard, answered: now_ns() });
                    // Who is gone is noticed by who listens to it.
                    let _ = self.send(hand, &Message::Note(&answer));
                }
                Ok(news) => self.with_flow(|flow| flow.on_news(hand, news)),
                Err(cause) => tracing::warn!("process {hand} of the back end is not understood: {cause}"),
            },
            None => tracing::warn!("process {hand} of the back end sends what is no message"),
        }
    }

    fn with_flow(&self, work: impl FnOnce(&Receiver)) {
        if let Some(flow) = self.flow.get().and_then(Weak::upgrade) {
            work(&flow);
        }
    }

    /// A hand is gone: the others take over its PEs.
    fn lose(&self, hand: usize, cause: &CommError) {
        if self.is_over() {
            return;
        }
        lock(&self.doors).remove(&hand);
        let leave_out = || self.change(|members| members.without(hand));
        match self.flow.get().and_then(Weak::upgrade) {
            // Not between a step that is asked for and the hands being told.
            Some(flow) => flow.change_members(leave_out),
            None => leave_out().into_iter().for_each(|fewer| self.settle(fewer.epoch)),
        }
        lock(&self.asked).retain(|_, asking| asking.hand != hand);
        let left = self.membership().members.len();
        let cause = lock(&self.troubles).remove(&hand).unwrap_or_else(|| cause.to_string());
        let us = if left == 1 { "this process takes" } else { "the others take" };
        tracing::warn!("process {hand} of the back end is gone ({cause}): {us} over its part");
    }

    /// At the head: whose each PE is from now on, unless that stays as it is. Hands know it before anything can be asked of them by it.
    pub(crate) fn change(&self, next: impl FnOnce(&Membership) -> Option<Membership>) -> Option<Membership> {
        let mut membership = lock(&self.membership);
        let next = next(&membership)?;
        self.tell(&next, &Order::Members(next.clone()));
        membership.clone_from(&next);
        Some(next)
    }
}
