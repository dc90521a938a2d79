//! The floor that the transport is measured against: AES-128-GCM, segmentation offload both ways, and nothing else, between two threads
//! over loopback. No copies, no acknowledgements, no pacing; the sender stays within a window of what the receiver has opened.
//!
//! `bare_loop [SECONDS]` prints one JSON object per segment size. Loopback never cuts the kernel's buffers: a best case.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use visapult_ripp::cipher::{Cipher, NONCE, PacketKey};
use visapult_ripp_net::{LaneSocket, MAX_BURST_BYTES, MAX_SEGMENTS, RecvArena, SendOutcome};

const TAG_BYTES: usize = 16;
/// Clear bytes in front of each datagram's sealed part, the last eight the packet's number.
const HEADER_BYTES: usize = 16;
const SEGMENTS: [usize; 2] = [1472, 8972];
/// What may be sent and not yet opened. More would only make the kernel touch fresh memory, which is slow.
const WINDOW_BYTES: u64 = 2 << 20;
/// How long a sender that is ahead waits before it looks again.
const PAUSE: Duration = Duration::from_micros(20);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

struct Run {
    opened: AtomicU64,
    ended: AtomicBool,
}

struct Side {
    bytes: u64,
    cpu_s: f64,
    calls: u64,
    dropped: u64,
}

fn main() -> Outcome<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(3.0), |text| text.parse())?;
    for segment in SEGMENTS {
        measure(segment, Duration::from_secs_f64(seconds))?;
    }
    Ok(())
}

fn measure(segment: usize, time: Duration) -> Outcome<()> {
    let (from, to) = (LaneSocket::bind("127.0.0.1:0".parse()?)?, LaneSocket::bind("127.0.0.1:0".parse()?)?);
    let run = Run { opened: AtomicU64::new(0), ended: AtomicBool::new(false) };
    let started = Instant::now();
    let (sent, received) = thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&to, &run));
        let sender = scope.spawn(|| {
            let sent = send(&from, &to, segment, &run, time);
            run.ended.store(true, Ordering::Relaxed);
            to.waker().wake();
            sent
        });
        (sender.join(), receiver.join())
    });
    let seconds = started.elapsed().as_secs_f64();
    let (sent, received) = (sent.map_err(|_| "the sender panicked")??, received.map_err(|_| "the receiver panicked")??);
    let gigabytes = received.bytes as f64 / 1e9;
    println!(
        r#"{{"segment": {segment}, "gbit_s": {:.2}, "sender_cpu_s_per_gb": {:.4}, "receiver_cpu_s_per_gb": {:.4}, "bytes_per_send": {:.0}, "bytes_per_receive": {:.0}, "dropped": {}, "recv_buffer": {}, "gso": {}, "gro": {}}}"#,
        gigabytes * 8.0 / seconds,
        sent.cpu_s / gigabytes,
        received.cpu_s / gigabytes,
        sent.bytes as f64 / sent.calls as f64,
        received.bytes as f64 / received.calls.max(1) as f64,
        received.dropped,
        to.recv_buffer(),
        from.gso_max_segments(),
        to.gro(),
    );
    Ok(())
}

fn send(from: &LaneSocket, to: &LaneSocket, segment: usize, run: &Run, time: Duration) -> Outcome<Side> {
    pin(0);
    let key = key();
    let segments = (MAX_BURST_BYTES / segment).min(MAX_SEGMENTS);
    let mut burst = vec![7; segments * segment];
    let mut side = Side { bytes: 0, cpu_s: 0.0, calls: 0, dropped: 0 };
    let (started, cpu, mut number) = (Instant::now(), cpu_s(), 0_u64);
    while started.elapsed() < time {
        for datagram in burst.chunks_exact_mut(segment) {
            seal(&key, datagram, number)?;
            number += 1;
        }
        // What was lost would hold up the window for ever: a bare loop only waits for a while.
        let patience = Instant::now() + Duration::from_millis(20);
        while side.bytes - run.opened.load(Ordering::Relaxed) > WINDOW_BYTES && Instant::now() < patience {
            thread::sleep(PAUSE);
        }
        while from.send_burst(to.local_addr(), &burst, segment)? != SendOutcome::Sent {
            from.wait_writable(Duration::from_millis(10))?;
        }
        side.bytes += burst.len() as u64;
        side.calls += 1;
    }
    side.cpu_s = cpu_s() - cpu;
    Ok(side)
}

fn receive(to: &LaneSocket, run: &Run) -> Outcome<Side> {
    pin(1);
    let key = key();
    let mut arena = RecvArena::new();
    let mut side = Side { bytes: 0, cpu_s: 0.0, calls: 0, dropped: 0 };
    let cpu = cpu_s();
    loop {
        let batch = to.recv_batch(&mut arena, Duration::from_millis(100))?;
        let before = side.bytes;
        for datagram in batch.datagrams {
            open(&key, datagram.bytes)?;
            side.bytes += datagram.bytes.len() as u64;
        }
        side.dropped = batch.dropped;
        side.calls += u64::from(side.bytes > before);
        run.opened.store(side.bytes, Ordering::Relaxed);
        if side.bytes == before && run.ended.load(Ordering::Relaxed) {
            side.cpu_s = cpu_s() - cpu;
            return Ok(side);
        }
    }
}

fn seal(key: &PacketKey, datagram: &mut [u8], number: u64) -> Outcome<()> {
    let (header, sealed) = datagram.split_at_mut(HEADER_BYTES);
    header[8..].copy_from_slice(&number.to_be_bytes());
    let (payload, tag) = sealed.split_at_mut(sealed.len() - TAG_BYTES);
    tag.copy_from_slice(&key.seal(nonce(number), header, payload)?);
    Ok(())
}

fn open(key: &PacketKey, datagram: &mut [u8]) -> Outcome<()> {
    let (header, sealed) = datagram.split_at_mut_checked(HEADER_BYTES).ok_or("a datagram without a header")?;
    let number = u64::from_be_bytes(header[8..].try_into()?);
    key.open(nonce(number), header, sealed).ok_or("a datagram that is not authentic")?;
    Ok(())
}

fn nonce(number: u64) -> [u8; NONCE] {
    let mut bytes = [0; NONCE];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn key() -> PacketKey {
    PacketKey::new(Cipher::Aes128Gcm, &[1; 32])
}

/// One core a side; where that is refused, the system's choice does.
fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    let _ = sched_setaffinity(None, &cores);
}

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
