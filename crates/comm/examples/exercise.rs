//! Every call between PEs, its content checked; started by `mpiexec`, or alone for PEs as threads.
//!
//! usage: exercise all | wait-for RANK | abort | measure [THREADS]

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use visapult_comm::{Comm, CommError, MAX_MESSAGE_BYTES, Tag, World};

const TAG: Tag = Tag(1);
const LARGE: usize = 20 << 20;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["all"] => exercise(&Comm::world()?),
        ["wait-for", rank] => wait_for(rank.parse()?),
        ["abort"] => abort(&Comm::world()?),
        ["measure"] => measure(&Comm::world()?),
        ["measure", threads] => measure_threads(threads.parse()?),
        _ => bail!("usage: exercise all | wait-for RANK | abort | measure [THREADS]"),
    }
}

fn content(rank: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 + rank * 7 + at / 4096) as u8).collect()
}

fn exercise(comm: &Comm) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);

    // Small and large, out of the order in which they are taken; the large ones all at once in a ring.
    for (tag, bytes) in [(2, 10), (3, LARGE), (4, 0), (3, 5)] {
        comm.send(next, Tag(tag), content(rank, bytes))?;
    }
    for (tag, bytes) in [(4, 0), (3, LARGE), (2, 10), (3, 5)] {
        ensure!(comm.receive(previous, Tag(tag))? == content(previous, bytes), "ring, tag {tag}, {bytes} bytes");
    }
    for number in 0..2000_u32 {
        comm.send(next, TAG, number.to_le_bytes().to_vec())?;
    }
    for number in 0..2000_u32 {
        ensure!(comm.receive(previous, TAG)? == number.to_le_bytes(), "order at {number}");
    }
    ensure!(comm.receive_within(previous, Tag(200), Duration::from_millis(1))?.is_none(), "a message out of nothing");

    let own = content(rank, rank * 1000);
    let all: Vec<_> = (0..size).map(|rank| content(rank, rank * 1000)).collect();
    for _ in 0..size {
        comm.barrier()?;
        ensure!(comm.all_gather(own.clone())? == all, "all_gather");
    }
    let refused = comm.send(next, TAG, vec![0; MAX_MESSAGE_BYTES + 1]);
    ensure!(matches!(refused, Err(CommError::TooLarge { .. })), "too large: {refused:?}");
    comm.barrier()?;
    say(&format!("PE {rank} of {size} over {:?}: good", comm.medium()))
}

/// All wait for one that never sends, and say how that ended.
fn wait_for(silent: usize) -> Result<()> {
    let comm = World { patience: Duration::from_secs(2) }.join()?;
    say(&format!("PE {} has pid {}", comm.rank(), std::process::id()))?;
    if comm.rank() == silent {
        let outcome = comm.receive(comm.rank(), TAG);
        return say(&format!("PE {}: {}", comm.rank(), outcome.err().context("a message out of nothing")?));
    }
    let direct = comm.receive(silent, TAG).err().context("a message out of nothing")?;
    let together = comm.barrier().err().context("a barrier without all")?;
    say(&format!("PE {}: {direct}; {together}", comm.rank()))
}

fn abort(comm: &Comm) -> Result<()> {
    if comm.rank() == comm.size() - 1 {
        comm.abort(3);
    }
    comm.barrier()?;
    comm.receive((comm.rank() + 1) % comm.size(), TAG)?;
    Ok(())
}

fn measure_threads(threads: usize) -> Result<()> {
    thread::scope(|scope| {
        let pes: Vec<_> = Comm::threads(threads).into_iter().map(|comm| scope.spawn(move || measure(&comm))).collect();
        pes.into_iter().try_for_each(|pe| pe.join().expect("a PE panicked"))
    })
}

/// Time of a barrier, and what goes from PE 0 to PE 1.
fn measure(comm: &Comm) -> Result<()> {
    const ROUNDS: u32 = 200;
    ensure!(comm.size() > 1, "two PEs are needed: start under mpiexec, or give a number of threads");
    comm.barrier()?;
    let start = Instant::now();
    for _ in 0..ROUNDS {
        comm.barrier()?;
    }
    let barrier_us = start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS);
    comm.barrier()?;
    let start = Instant::now();
    let messages = 20;
    match comm.rank() {
        0 => {
            for _ in 0..messages {
                comm.send(1, TAG, vec![1; LARGE])?;
            }
            comm.receive(1, TAG)?;
            let rate = (messages * LARGE) as f64 / start.elapsed().as_secs_f64() / 1e6;
            let (size, medium) = (comm.size(), comm.medium());
            say(&format!("{medium:?}, {size} PEs: barrier {barrier_us:.0} us, {rate:.0} MB/s from one to another"))?;
        }
        1 => {
            for _ in 0..messages {
                comm.receive(0, TAG)?;
            }
            comm.send(0, TAG, Vec::new())?;
        }
        _ => {}
    }
    Ok(comm.barrier()?)
}

/// One line in one piece, at once: launchers mix the output of processes.
fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}
