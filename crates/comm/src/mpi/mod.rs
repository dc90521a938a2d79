//! MPI: the library that belongs to the launcher, and the one thread of ours that calls it.

mod calls;
mod library;
mod outbox;
mod owner;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use self::calls::Mpi;
use self::library::{AnyCalls, Handle, Library};
use self::outbox::Outbox;
use self::owner::Loop;
use crate::launcher::Launcher;
use crate::mailbox::Mailbox;
use crate::{Comm, CommError, JoinError, Medium, Route, WireTag};

/// How the PEs of one run meet.
#[derive(Clone, Debug)]
pub struct World {
    /// A PE that is not heard of for so long is lost. Every process sends a sign of life five times as often, computing or not.
    pub patience: Duration,
}

impl Default for World {
    fn default() -> Self {
        Self { patience: Duration::from_secs(10) }
    }
}

static JOINED: AtomicBool = AtomicBool::new(false);

impl World {
    /// As [`Comm::world`].
    ///
    /// # Errors
    /// [`JoinError`], with what to do about it.
    pub fn join(&self) -> Result<Comm, JoinError> {
        if JOINED.swap(true, Ordering::Relaxed) {
            return Err(JoinError::Again);
        }
        let Some(launcher) = Launcher::from_environment(|name| std::env::var(name).ok()) else {
            return Ok(Comm::threads(1).remove(0));
        };
        let (met, meeting) = sync_channel(1);
        let patience = self.patience;
        // MPI is started by the thread that will make all calls: that is what FUNNELED means.
        let thread = Builder::new()
            .name("mpi".to_owned())
            .spawn(move || own(&launcher, patience, &met))
            .map_err(|problem| JoinError::Thread(problem.to_string()))?;
        let start = meeting.recv().map_err(|_| JoinError::Thread("it has ended while MPI started".to_owned()))??;
        let owner = Owner { medium: start.medium, outbox: start.outbox, thread: Some(thread) };
        Ok(Comm::new(start.rank, start.size, start.inbox, Route::Mpi(owner)))
    }
}

/// The other end of the thread that owns MPI.
#[derive(Debug)]
pub(crate) struct Owner {
    medium: Medium,
    outbox: Arc<Outbox>,
    thread: Option<JoinHandle<()>>,
}

impl Owner {
    pub(crate) fn medium(&self) -> Medium {
        self.medium
    }

    pub(crate) fn send(&self, to: usize, tag: WireTag, bytes: Vec<u8>) -> Result<(), CommError> {
        self.outbox.add(to, tag, bytes)?;
        self.wake();
        Ok(())
    }

    pub(crate) fn abort(&self, code: i32) {
        self.outbox.abort(code);
        self.wake();
    }

    /// Sends what is left to send, waits for the others to do so, and ends MPI.
    pub(crate) fn leave(&mut self) {
        self.outbox.leave();
        self.wake();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the panic itself.
            let _ = thread.join();
        }
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

struct Start {
    medium: Medium,
    rank: usize,
    size: usize,
    inbox: Arc<Mailbox>,
    outbox: Arc<Outbox>,
}

fn own(launcher: &Launcher, patience: Duration, met: &SyncSender<Result<Start, JoinError>>) {
    match Library::load(launcher) {
        Ok(Library { file, calls: AnyCalls::Mpich(calls) }) => run(calls, Medium::Mpich, file, launcher, patience, met),
        Ok(Library { file, calls: AnyCalls::OpenMpi(calls) }) => {
            run(calls, Medium::OpenMpi, file, launcher, patience, met);
        }
        Err(problem) => {
            let _ = met.send(Err(problem));
        }
    }
}

fn run<H: Handle>(
    calls: library::Calls<H>,
    medium: Medium,
    library: String,
    launcher: &Launcher,
    patience: Duration,
    met: &SyncSender<Result<Start, JoinError>>,
) {
    let start = Mpi::start(calls).map_err(|cause| JoinError::Start { library: library.clone(), cause });
    let mpi = match start {
        Ok(mpi) => mpi,
        Err(problem) => return drop(met.send(Err(problem))),
    };
    if let Some(said) = launcher.size.filter(|said| *said != mpi.size) {
        let (launcher, found) = (launcher.to_string(), mpi.size);
        let _ = met.send(Err(JoinError::OtherLauncher { launcher, said, library, found }));
        return mpi.finalize();
    }
    let inbox = Arc::new(Mailbox::new(mpi.size));
    let outbox = Arc::new(Outbox::default());
    let start = Start { medium, rank: mpi.rank, size: mpi.size, inbox: inbox.clone(), outbox: outbox.clone() };
    if met.send(Ok(start)).is_ok() {
        Loop::new(mpi, inbox, outbox, patience).run();
    }
}
