//! Model of the ring through shared memory: the receiver takes the messages that the sender left,
//! whole and in order, and neither side touches a cell of the other. How to run:
//! `docs/protocols/bridge.md`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use mpi_bridge::near::ring::{ROOM, Receiver, RingCell, Sender, Taken};

struct Memory {
    cells: Vec<RingCell>,
    taken: Taken,
}

/// Messages of one and two cells through a ring of four, so that it is full and goes round.
fn model(lengths: &'static [usize]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(4);
    builder.check(move || {
        let memory = Arc::new(Memory {
            cells: (0..4).map(|_| RingCell::default()).collect(),
            taken: Taken::default(),
        });
        // SAFETY: both threads hold the memory as long as they use their end.
        let mut sender = unsafe { Sender::new(&raw const *memory.cells, &raw const memory.taken) };
        // SAFETY: as above.
        let mut receiver = unsafe { Receiver::new(&raw const *memory.cells, &raw const memory.taken) };
        let held = memory.clone();
        let left = thread::spawn(move || {
            for (number, &length) in lengths.iter().enumerate() {
                while !sender.push(&vec![number as u8 + 1; length]) {
                    thread::yield_now();
                }
            }
            drop(held);
        });
        for (number, &length) in lengths.iter().enumerate() {
            while receiver.waiting().is_none() {
                thread::yield_now();
            }
            assert_eq!(receiver.waiting(), Some(length));
            let mut bytes = vec![0; length];
            // SAFETY: as many as wait.
            unsafe { receiver.take(bytes.as_mut_ptr(), length) };
            assert!(bytes.iter().all(|&byte| byte == number as u8 + 1));
        }
        assert_eq!(receiver.waiting(), None);
        left.join().expect("sender");
    });
}

#[test]
fn model_one_cell_after_the_other_round_the_end() {
    model(&[1, ROOM, 0, 3, 2]);
}

#[test]
fn model_two_cells_at_once_and_a_full_ring() {
    model(&[ROOM + 1, 2 * ROOM, 1, ROOM + 1]);
}
