//! PEs as threads: messages, calls that all make together, and what happens when one is gone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::thread;
use std::time::Duration;

use visapult_comm::{Comm, CommError, MAX_MESSAGE_BYTES, Medium, Tag};

const TAG: Tag = Tag(7);

/// Runs `work` on `size` PEs; what each returns, by rank.
fn on<T: Send>(size: usize, work: impl Fn(Comm) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let pes: Vec<_> = Comm::threads(size).into_iter().map(|comm| scope.spawn(|| work(comm))).collect();
        pes.into_iter().map(|pe| pe.join().unwrap()).collect()
    })
}

fn content(rank: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 + rank * 7) as u8).collect()
}

#[test]
fn messages_of_one_sender_and_tag_keep_their_order() {
    on(3, |comm| {
        let next = (comm.rank() + 1) % comm.size();
        for number in 0..100_u8 {
            comm.send(next, Tag(number % 2), vec![number]).unwrap();
        }
        let previous = (comm.rank() + 2) % comm.size();
        for number in (1..100).step_by(2).chain((0..100).step_by(2)) {
            assert_eq!(comm.receive(previous, Tag(number % 2)).unwrap(), [number]);
        }
    });
}

#[test]
fn collective_calls_bring_everything_to_where_it_belongs() {
    for size in 1..10 {
        on(size, |comm| {
            let own = content(comm.rank(), comm.rank() * 100);
            let all: Vec<_> = (0..size).map(|rank| content(rank, rank * 100)).collect();
            for _ in 0..size {
                assert_eq!(comm.all_gather(own.clone()).unwrap(), all);
                comm.barrier().unwrap();
            }
        });
    }
}

#[test]
fn nobody_passes_a_barrier_before_all_are_there() {
    let here = std::sync::atomic::AtomicUsize::new(0);
    on(5, |comm| {
        for round in 1..50 {
            here.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            comm.barrier().unwrap();
            assert!(here.load(std::sync::atomic::Ordering::SeqCst) >= 5 * round);
        }
    });
}

#[test]
fn a_message_to_oneself_arrives() {
    on(2, |comm| {
        comm.send(comm.rank(), TAG, vec![1, 2]).unwrap();
        assert_eq!(comm.receive(comm.rank(), TAG).unwrap(), [1, 2]);
    });
}

#[test]
fn looking_for_a_message_does_not_wait() {
    let pes = Comm::threads(2);
    assert_eq!(pes[0].receive_within(1, TAG, Duration::ZERO).unwrap(), None);
    pes[1].send(0, TAG, vec![5]).unwrap();
    assert_eq!(pes[0].receive_within(1, TAG, Duration::ZERO).unwrap(), Some(vec![5]));
}

#[test]
fn what_a_pe_has_sent_outlives_it_and_then_it_is_gone() {
    let mut pes = Comm::threads(2);
    let one = pes.pop().unwrap();
    one.send(0, TAG, vec![9]).unwrap();
    drop(one);
    assert_eq!(pes[0].receive(1, TAG).unwrap(), [9]);
    assert_eq!(pes[0].receive(1, TAG), Err(CommError::Left { rank: 1 }));
    assert_eq!(pes[0].send(1, TAG, vec![]), Err(CommError::Left { rank: 1 }));
}

#[test]
fn a_pe_that_ends_early_fails_what_all_do_together() {
    let outcomes = on(6, |comm| if comm.rank() == 3 { Ok(()) } else { comm.barrier() });
    assert!(outcomes.iter().any(|outcome| outcome == &Err(CommError::Left { rank: 3 })), "{outcomes:?}");
}

#[test]
fn an_aborted_run_fails_every_wait() {
    let outcomes = on(3, |comm| {
        if comm.rank() == 0 {
            comm.abort(1);
        }
        comm.receive((comm.rank() + 1) % 3, TAG)
    });
    assert!(outcomes.iter().all(|outcome| outcome == &Err(CommError::Aborted)), "{outcomes:?}");
}

#[test]
fn a_rank_outside_the_run_and_a_message_without_bounds_are_refused() {
    let pes = Comm::threads(2);
    assert_eq!(pes[0].send(2, TAG, vec![]), Err(CommError::NoSuchPe { rank: 2, size: 2 }));
    // Zeroed and never touched: no memory stands behind it.
    let bytes = MAX_MESSAGE_BYTES + 1;
    assert_eq!(pes[0].send(1, TAG, vec![0; bytes]), Err(CommError::TooLarge { bytes }));
}

#[test]
fn a_pe_that_takes_nothing_is_sent_a_bounded_amount() {
    let pes = Comm::threads(2);
    let most = (0..100).take_while(|_| pes[0].send(1, TAG, vec![0; 256 << 20]).is_ok()).count();
    assert_eq!(most, 4);
    assert_eq!(pes[0].send(1, Tag(8), vec![1]), Err(CommError::Full { rank: 1 }));
    pes[1].receive(0, TAG).unwrap();
    pes[0].send(1, Tag(8), vec![1]).unwrap();
}

#[test]
fn a_process_without_a_launcher_is_alone() {
    let comm = Comm::world().unwrap();
    assert_eq!((comm.rank(), comm.size(), comm.medium()), (0, 1, Medium::Threads));
    assert_eq!(comm.all_gather(vec![3]).unwrap(), [[3]]);
}
