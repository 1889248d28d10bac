//! Model of the gate: every request is taken up by a thread, and only one thread is inside. How to
//! run: `docs/protocols/bridge.md`.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;
use mpi_bridge::gate::Gate;

/// An outbox that all write, and the engine's memory, which only the one inside touches.
struct World {
    gate: Gate,
    outbox: Mutex<usize>,
    /// loom reports two accesses that are not ordered.
    sent: UnsafeCell<usize>,
}

impl World {
    fn take_up(&self) {
        let waiting = std::mem::take(&mut *self.outbox.lock().expect("fine"));
        // SAFETY: only the one inside the gate is here, which is what the model checks.
        self.sent.with_mut(|sent| unsafe { *sent += waiting });
    }

    fn send(&self, blindly: bool) {
        *self.outbox.lock().expect("fine") += 1;
        if !self.gate.request() {
            return;
        }
        self.take_up();
        if blindly {
            return self.gate.leave_blindly();
        }
        while !self.gate.leave() {
            self.take_up();
        }
    }

    /// A look by a thread that brings nothing.
    fn look(&self) {
        if self.gate.try_enter() {
            self.take_up();
            while !self.gate.leave() {
                self.take_up();
            }
        }
    }
}

fn model(senders: usize, blindly: bool) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(4);
    builder.check(move || {
        let world =
            Arc::new(World { gate: Gate::default(), outbox: Mutex::new(0), sent: UnsafeCell::new(0) });
        let others: Vec<_> = (1..senders)
            .map(|_| {
                let world = world.clone();
                thread::spawn(move || world.send(blindly))
            })
            .collect();
        let looker = world.clone();
        let looker = thread::spawn(move || looker.look());
        world.send(blindly);
        others.into_iter().chain([looker]).for_each(|t| t.join().expect("no panic"));
        let left = *world.outbox.lock().expect("fine");
        // SAFETY: all threads have ended.
        let sent = world.sent.with(|sent| unsafe { *sent });
        assert_eq!((sent, left), (senders, 0), "everything was sent, without another call");
    });
}

#[test]
fn what_is_brought_is_taken_up() {
    model(2, false);
}

#[test]
#[should_panic(expected = "everything was sent")]
fn broken_leaving_without_a_look_at_the_note() {
    model(2, true);
}
