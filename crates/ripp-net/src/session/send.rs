//! The sending thread of a lane: asks the core what is next, reads it from its source, seals it, and hands it to the kernel.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use visapult_ripp::flight::Region;
use visapult_ripp::lane_out::{Burst, Sizes, Turn};
use visapult_ripp::record::Sealer;
use visapult_ripp::time::Time;
use visapult_ripp::wire::{CLEAR_HEADER, DATA_HEADER, DataHeader, LEAST_DATAGRAM, Ping, TAG};

use super::lane::LaneLink;
use super::objects::Source;
use super::shared::{Out, Shared};
use crate::lock::unpoisoned;
use crate::socket::{Aligned, MAX_BURST_BYTES, SendOutcome};

const HEAD: usize = CLEAR_HEADER + DATA_HEADER;
/// A lane without a path looks again after this long.
const WITHOUT_PATH: Duration = Duration::from_millis(50);
const FULL_QUEUE: Duration = Duration::from_millis(20);

/// Sends on lane `index` until the session or the lane ends.
pub(super) fn run(shared: &Arc<Shared>, link: &LaneLink, index: usize) {
    link.clocks[1].set();
    let mut lane = Lane {
        link,
        sealer: Sealer::new(link.send_secret.clone()),
        buffer: Aligned::new(MAX_BURST_BYTES, CLEAR_HEADER, 0),
        run: Run::default(),
    };
    let mut burst = Burst::default();
    let mut out = shared.out();
    while !shared.is_over() && !link.is_closed() {
        let now = shared.now();
        let Out { sending, lanes, .. } = &mut *out;
        let turn = lanes[index]
            .as_mut()
            .map_or(Turn::Wait(now.after(WITHOUT_PATH)), |lane| lane.turn(now, &mut sending.outbox, &mut burst));
        match turn {
            Turn::Wait(until) => {
                // Late objects may have been given up by the turn.
                sending.on_settled();
                shared.pump_out(&mut out);
                let wait = until.since(now);
                out = unpoisoned(link.work.wait_timeout(out, wait)).0;
            }
            Turn::Ping(number, ping) => {
                drop(out);
                lane.ping(number, &ping);
                out = shared.out();
            }
            Turn::Burst => {
                let sources = sources_of(&out, &burst);
                drop(out);
                let outcome = lane.burst(now, &burst, &sources);
                out = shared.out();
                after_burst(shared, &mut out, index, link, outcome);
            }
        }
    }
}

fn sources_of(out: &Out, burst: &Burst) -> Vec<Option<Arc<dyn Source>>> {
    burst.regions.iter().map(|region| out.sources.get(&region.object).map(|sent| Arc::clone(&sent.source))).collect()
}

enum Fault {
    /// The source of an object cannot be read.
    Source(u32, io::Error),
    /// The path's datagrams are smaller than was thought.
    TooLarge,
}

fn after_burst(shared: &Shared, out: &mut Out, index: usize, link: &LaneLink, outcome: Result<(), Fault>) {
    match outcome {
        Ok(()) => {}
        Err(Fault::Source(object, cause)) => {
            out.sending.cancel(object, &format!("the sender could not read the object: {cause}"));
            shared.pump_out(out);
        }
        Err(Fault::TooLarge) => {
            if let Some(lane) = &mut out.lanes[index] {
                let sizes = lane.sizes();
                lane.set_sizes(Sizes { datagram: LEAST_DATAGRAM as u16, ..sizes });
                link.narrow(shared.now());
            }
        }
    }
}

struct Lane<'a> {
    link: &'a LaneLink,
    sealer: Sealer,
    buffer: Aligned,
    run: Run,
}

/// The bytes of one region of a burst, read at once where that is better than a read for each datagram.
#[derive(Default)]
struct Run {
    /// Which region of the burst it is.
    of: Option<usize>,
    bytes: Vec<u8>,
}

impl Run {
    /// Reads the content of `datagram`, a part of the region of this index in the burst.
    fn read(
        &mut self,
        source: &dyn Source,
        (index, region): (usize, &Region),
        datagram: &Region,
        into: &mut [u8],
    ) -> io::Result<()> {
        if !source.prefers_runs() {
            return source.read_at(datagram.offset, into);
        }
        if self.of != Some(index) {
            self.of = None;
            self.bytes.resize(region.length as usize, 0);
            source.read_at(region.offset, &mut self.bytes)?;
            self.of = Some(index);
        }
        let start = (datagram.offset - region.offset) as usize;
        into.copy_from_slice(&self.bytes[start..start + into.len()]);
        Ok(())
    }
}

impl Lane<'_> {
    fn ping(&mut self, number: u64, ping: &Ping) {
        let Some(to) = self.link.peer() else { return };
        let mut datagram = [0; CLEAR_HEADER + Ping::LEAST + TAG];
        ping.write(&mut datagram[CLEAR_HEADER..]);
        self.link.send_numbered(to, &mut self.sealer, number, &mut datagram);
    }

    /// Sends a burst. What cannot be sent counts as lost on the way and is reported missing.
    fn burst(&mut self, now: Time, burst: &Burst, sources: &[Option<Arc<dyn Source>>]) -> Result<(), Fault> {
        let Some(to) = self.link.peer() else { return Ok(()) };
        let full = burst.payload as usize + HEAD + TAG;
        let mut used = 0;
        let mut at = 0;
        self.run.of = None;
        for (number, region) in burst.datagrams() {
            while burst.regions[at].object != region.object || !holds(&burst.regions[at], &region) {
                at += 1;
            }
            let Some(source) = &sources[at] else { continue };
            let length = region.length as usize;
            let datagram = &mut self.buffer.get_mut()[used..used + HEAD + length + TAG];
            DataHeader::of(&region, now).write(&mut datagram[CLEAR_HEADER..]);
            let payload = &mut datagram[HEAD..HEAD + length];
            self.run
                .read(&**source, (at, &burst.regions[at]), &region, payload)
                .map_err(|cause| Fault::Source(region.object, cause))?;
            if self.sealer.seal(number, datagram).is_ok() {
                used += datagram.len();
            }
        }
        self.send(to, used, full)
    }

    fn send(&self, to: SocketAddr, used: usize, full: usize) -> Result<(), Fault> {
        let mut done = 0;
        while done < used {
            match self.link.socket.send_burst(to, &self.buffer.get()[done..used], full) {
                Ok(SendOutcome::Sent) | Err(_) => break,
                Ok(SendOutcome::Full { sent }) => {
                    done += sent;
                    let _ = self.link.socket.wait_writable(FULL_QUEUE);
                }
                Ok(SendOutcome::TooLarge { .. }) => return Err(Fault::TooLarge),
            }
        }
        Ok(())
    }
}

fn holds(region: &Region, part: &Region) -> bool {
    region.offset <= part.offset && part.offset + part.length <= region.offset + region.length
}
