//! The thread that owns a control link's connection: all its reading, writing, sealing and opening.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::channel::Channel;
use super::error::CloseReason;
use super::frame::{FrameReader, header};
use super::gathering::{GATHERED, Gathering};
use super::queue::{ControlReceiver, ControlSender, MAX_ARRIVED, MAX_QUEUED, Shared};
use super::wait_until;
use crate::socket::Waker;

/// How long the last messages may take to leave, and the other end to say farewell.
const FAREWELL: Duration = Duration::from_secs(2);

struct Pump {
    stream: TcpStream,
    channel: Channel,
    frames: FrameReader,
    /// Cut from the stream, and not yet taken by the full queue.
    held: Option<Vec<u8>>,
    outgoing: Receiver<Vec<u8>>,
    arrived: SyncSender<Vec<u8>>,
    shared: Arc<Shared>,
    waker: Waker,
    /// Until when what is queued may leave, once nothing more is to be sent.
    last_chance: Option<Instant>,
    gathering: Gathering,
}

/// Hands the connection to a thread of its own.
pub(super) fn start(
    stream: TcpStream,
    channel: Channel,
    frames: FrameReader,
    rtt: Option<Duration>,
    waker: Waker,
) -> io::Result<(ControlSender, ControlReceiver)> {
    let (queue, outgoing) = sync_channel(MAX_QUEUED);
    let (arriving, arrived) = sync_channel(MAX_ARRIVED);
    let shared = Arc::new(Shared::default());
    let pump = Pump {
        stream,
        channel,
        frames,
        held: None,
        outgoing,
        arrived: arriving,
        shared: shared.clone(),
        waker: waker.clone(),
        last_chance: None,
        gathering: Gathering::over(rtt),
    };
    thread::Builder::new().name("ripp-control".to_owned()).spawn(move || pump.run())?;
    Ok((ControlSender::new(queue, waker.clone(), shared.clone()), ControlReceiver::new(arrived, shared, waker)))
}

impl Pump {
    fn run(mut self) {
        let mut ended = self.channel.read_early(&mut self.frames).err();
        let reason = loop {
            if let Err(reason) = self.deliver() {
                break reason;
            }
            // What came before the end is delivered before the end is told, unless it is we who end it.
            match &ended {
                Some(reason) if self.held.is_none() || *reason == CloseReason::ByUs => break reason.clone(),
                _ => {}
            }
            let outcome = if ended.is_some() { self.wait_for_room() } else { self.exchange() };
            ended = ended.or(outcome.err());
        };
        let is_ours = !matches!(reason, CloseReason::ByPeer | CloseReason::Lost(_));
        // Nobody else sets it.
        let _ = self.shared.reason.set(reason);
        let Self { mut stream, mut channel, outgoing, arrived, .. } = self;
        if is_ours {
            channel.close();
            // Again below, where it does not go at once.
            let _ = channel.write(&mut stream);
        }
        // All is handed to the system: whoever waits for the end need not wait for the other end's answer, and can send nothing any more.
        drop((outgoing, arrived));
        if is_ours {
            say_farewell(stream, channel);
        }
    }

    /// Sends what goes, waits for something to do, and reads.
    fn exchange(&mut self) -> Result<(), CloseReason> {
        // Nobody is there any more to end a connection whose other end takes nothing.
        if self.last_chance.is_none() && self.shared.closed.load(Ordering::SeqCst) {
            self.last_chance = Some(Instant::now() + FAREWELL);
        }
        let gathers_until = self.send()?;
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::OUT, self.channel.unsent());
        interest.set(PollFlags::IN, self.held.is_none());
        let mut watched = [PollFd::new(&self.stream, interest), PollFd::new(&self.waker, PollFlags::IN)];
        let something = wait_until(&mut watched, self.last_chance.or(gathers_until))
            .map_err(|cause| CloseReason::Lost(cause.to_string()))?;
        if !something {
            return if self.last_chance.is_some() { Err(CloseReason::ByUs) } else { Ok(()) };
        }
        let [stream, waker] = watched.map(|fd| fd.revents());
        if !waker.is_empty() {
            self.waker.take();
        }
        // Errors and hang-ups are told whatever the interest, and reading tells which.
        if stream.intersects(PollFlags::IN | PollFlags::ERR | PollFlags::HUP) {
            self.channel.read(&mut self.stream, &mut self.frames)?;
        }
        Ok(())
    }

    /// Sends what goes; until when the rest is gathered, if it is.
    fn send(&mut self) -> Result<Option<Instant>, CloseReason> {
        self.channel.write(&mut self.stream)?;
        // What was queued before still goes.
        let is_closed = self.shared.closed.load(Ordering::SeqCst);
        while !self.channel.unsent() {
            let now = Instant::now();
            if let Some(until) = self.gathering.until(now).filter(|_| !is_closed) {
                return Ok(Some(until));
            }
            let bytes = self.gather(is_closed)?;
            if bytes == 0 {
                break;
            }
            self.channel.write(&mut self.stream)?;
            self.gathering.wrote(bytes, now);
        }
        Ok(None)
    }

    /// Takes what is queued, as much as is to be written at once; returns the bytes that it has.
    fn gather(&mut self, is_closed: bool) -> Result<usize, CloseReason> {
        let mut bytes = 0;
        while bytes < GATHERED {
            bytes += match self.outgoing.try_recv() {
                Ok(message) => {
                    self.shared.leave(&message);
                    self.put(&message)?
                }
                Err(TryRecvError::Empty) if !is_closed => break,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => match self.shared.take_last() {
                    Some(message) => self.put(&message)?,
                    None if bytes > 0 => break,
                    None => return Err(CloseReason::ByUs),
                },
            };
        }
        Ok(bytes)
    }

    /// Takes a message for sending; returns the bytes that it has.
    fn put(&mut self, message: &[u8]) -> Result<usize, CloseReason> {
        let header = header(message.len());
        self.channel.put([&header, message])?;
        Ok(header.len() + message.len())
    }

    /// Waits until somebody has taken a message, or nobody will.
    fn wait_for_room(&mut self) -> Result<(), CloseReason> {
        let mut watched = [PollFd::new(&self.waker, PollFlags::IN)];
        wait_until(&mut watched, None).map_err(|cause| CloseReason::Lost(cause.to_string()))?;
        self.waker.take();
        Ok(())
    }

    /// Hands over the messages that are whole, as far as there is room.
    fn deliver(&mut self) -> Result<(), CloseReason> {
        loop {
            let message = match self.held.take() {
                Some(held) => held,
                None => match self.frames.next() {
                    Ok(Some(message)) => message,
                    Ok(None) => return Ok(()),
                    Err(long) => return Err(too_long(long.0)),
                },
            };
            self.held = self.hand_over(message);
            if self.held.is_some() {
                return Ok(());
            }
        }
    }

    /// Gives the message back if there is no room; whoever makes some will wake us.
    fn hand_over(&self, message: Vec<u8>) -> Option<Vec<u8>> {
        let refused = match self.arrived.try_send(message) {
            Err(TrySendError::Full(message)) => message,
            // A program that does not listen may still speak.
            Ok(()) | Err(TrySendError::Disconnected(_)) => return None,
        };
        self.shared.stalled.store(true, Ordering::SeqCst);
        // Again, for room that was made before the flag was up.
        match self.arrived.try_send(refused) {
            Err(TrySendError::Full(message)) => Some(message),
            Ok(()) | Err(TrySendError::Disconnected(_)) => None,
        }
    }
}

/// Sends a last message, and the farewell.
pub(super) fn end_with(stream: TcpStream, mut channel: Channel, message: &[u8]) {
    if channel.put([&header(message.len()), message]).is_ok() {
        channel.close();
        say_farewell(stream, channel);
    }
}

/// Sends the rest, the channel's close with it, and waits for the other end to do so: to close with bytes unread would reset
/// the connection and take from the other end what it has not read.
fn say_farewell(mut stream: TcpStream, mut channel: Channel) {
    let deadline = Instant::now() + FAREWELL;
    let mut open = true;
    while channel.write(&mut stream).is_ok() {
        let unsent = channel.unsent();
        if !unsent && open {
            open = false;
            // Fails where the connection is gone already.
            let _ = stream.shutdown(Shutdown::Write);
        }
        let interest = if unsent { PollFlags::OUT | PollFlags::IN } else { PollFlags::IN };
        let mut watched = [PollFd::new(&stream, interest)];
        if !matches!(wait_until(&mut watched, Some(deadline)), Ok(true)) {
            return;
        }
        let readable = watched[0].revents() != PollFlags::OUT;
        if readable && channel.read(&mut stream, &mut FrameReader::default()).is_err() {
            return;
        }
    }
}

/// What begins like this where nothing is encrypted is an alert of TLS.
const ALERT: usize = 0x1503;

fn too_long(bytes: usize) -> CloseReason {
    if bytes >> 16 == ALERT {
        CloseReason::Encrypted
    } else {
        CloseReason::Protocol(format!("a message of {bytes} bytes"))
    }
}
