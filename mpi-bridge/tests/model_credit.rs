//! Model of batches and credits: every order of events between two ranks, over the shipped state
//! machine.
//!
//! Two ranks send each other requests, and each request is answered from its handler. At every
//! moment any of these may happen:
//! * a rank queues its next request, sends a packet, or returns credits;
//! * it takes in *any* packet that is under way to it (MPI may complete receptions in any order);
//! * it handles the next packet that it has taken in.
//!
//!
//! The `broken` tests change one rule each and must find what that rule prevents.
#![cfg(not(loom))]

use mpi_bridge::packet::{Packet, PacketFrame, PacketKind, Verb};
use mpi_bridge::pair::{Channel, Outbox, PairLimits};
use std::collections::HashSet;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rules {
    AsShipped,
    /// Packets that only return credits wait for a credit like all others.
    CreditsWait,
    /// Credits go back with other packets only.
    NoCreditPackets,
    /// A packet's credit is returned twice.
    ReturnedTwice,
    /// Packets are handled as they come.
    AsTheyCome,
    /// A handler whose answer does not fit into the queue waits, and holds its packet up.
    HandlersWait,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Rank {
    outbox: Outbox,
    channel: Channel,
    /// Requests still to be sent.
    requests: u32,
    /// Number of the next message to send, and of the next to come.
    next_out: u64,
    next_in: u64,
    /// Packets under way to this rank, in order of sending.
    coming: Vec<Packet>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ModelCreditState([Rank; 2]);

struct Model {
    limits: PairLimits,
    requests: [u32; 2],
    rules: Rules,
}

const REQUEST: u16 = 0;
const ANSWER: u16 = 1;

impl Model {
    fn start(&self) -> ModelCreditState {
        ModelCreditState(self.requests.map(|requests| Rank {
            outbox: Outbox::default(),
            channel: Channel::new(&self.limits),
            requests,
            next_out: 0,
            next_in: 0,
            coming: Vec::new(),
        }))
    }

    fn push(&self, rank: &mut Rank, number: u16, must: bool) -> bool {
        let frame = PacketFrame::plain(Verb::Message, number, rank.next_out);
        let pushed = rank.outbox.push(&frame, &self.limits, must, || Packet::new(self.limits.packet)).is_ok();
        rank.next_out += u64::from(pushed);
        pushed
    }

    /// All states that one event leads to, or what an event finds wrong.
    fn next(&self, state: &ModelCreditState) -> Result<Vec<ModelCreditState>, String> {
        let mut all = Vec::new();
        for i in 0..2 {
            all.extend(self.request(state, i));
            all.extend(self.send(state, i));
            all.extend(self.return_credits(state, i));
            all.extend(self.look(state, i)?);
            for k in 0..state.0[i].coming.len() {
                all.extend(self.deliver(state, i, k)?);
            }
        }
        Ok(all)
    }

    fn request(&self, state: &ModelCreditState, i: usize) -> Option<ModelCreditState> {
        let mut next = state.clone();
        next.0[i].requests = next.0[i].requests.checked_sub(1)?;
        self.push(&mut next.0[i], REQUEST, false).then_some(next)
    }

    fn send(&self, state: &ModelCreditState, i: usize) -> Option<ModelCreditState> {
        let mut next = state.clone();
        let rank = &mut next.0[i];
        if !rank.channel.may_send() {
            return None;
        }
        let mut packet = rank.outbox.pop()?;
        rank.channel.seal(&mut packet);
        next.0[1 - i].coming.push(packet);
        Some(next)
    }

    fn return_credits(&self, state: &ModelCreditState, i: usize) -> Option<ModelCreditState> {
        let mut next = state.clone();
        let channel = &mut next.0[i].channel;
        if !channel.owes(&self.limits) || self.rules == Rules::NoCreditPackets {
            return None;
        }
        if self.rules == Rules::CreditsWait && !channel.may_send() {
            return None;
        }
        let mut packet = Packet::new(16);
        channel.seal_credits(&mut packet);
        next.0[1 - i].coming.push(packet);
        Some(next)
    }

    fn deliver(
        &self,
        state: &ModelCreditState,
        i: usize,
        k: usize,
    ) -> Result<Option<ModelCreditState>, String> {
        let mut next = state.clone();
        let packet = next.0[i].coming.remove(k);
        if self.rules == Rules::AsTheyCome {
            self.handle(&mut next.0[i], &packet)?;
            return Ok(Some(next));
        }
        next.0[i].channel.arrive(packet, &self.limits).map_err(|v| format!("{v:?}"))?;
        Ok(Some(next))
    }

    /// A look handles the next packet; nothing if none is here or its handlers would have to wait.
    fn look(&self, state: &ModelCreditState, i: usize) -> Result<Option<ModelCreditState>, String> {
        let mut next = state.clone();
        let Some(packet) = next.0[i].channel.take_next() else { return Ok(None) };
        Ok(self.handle(&mut next.0[i], &packet)?.then_some(next))
    }

    /// Runs the handlers of a packet; `false` if one would have to wait.
    fn handle(&self, rank: &mut Rank, packet: &Packet) -> Result<bool, String> {
        for frame in packet.frames() {
            let frame = frame.ok_or("a frame makes no sense")?;
            if frame.word != rank.next_in {
                return Err(format!("message {} comes before {}", frame.word, rank.next_in));
            }
            rank.next_in += 1;
            let must = self.rules != Rules::HandlersWait;
            if frame.number == REQUEST && !self.push(rank, ANSWER, must) {
                return Ok(false);
            }
        }
        rank.channel.handled();
        if self.rules == Rules::ReturnedTwice {
            rank.channel.handled();
        }
        Ok(true)
    }

    /// What must hold in every state, seen from the sender `i`.
    fn invariant(&self, state: &ModelCreditState, i: usize) -> Result<(), String> {
        let (from, to) = (&state.0[i], &state.0[1 - i]);
        let of = |list: &[Packet], kind| {
            list.iter().filter(|p| p.header().is_some_and(|h| h.kind == kind)).count() as u32
        };
        let frames = of(&to.coming, PacketKind::Frames) + of(to.channel.early(), PacketKind::Frames);
        let returning: u32 = from.coming.iter().flat_map(Packet::header).map(|h| h.credits).sum();
        let all = from.channel.credits() + frames + to.channel.owed() + returning;
        if frames > self.limits.window {
            return Err(format!("{frames} packets under way"));
        }
        if all != self.limits.window {
            return Err(format!("{all} credits in all"));
        }
        let pure = of(&to.coming, PacketKind::Credits);
        if !to.channel.early().iter().all(|p| p.header().is_some_and(|h| h.kind == PacketKind::Frames)) {
            return Err("a packet of credits is kept".into());
        }
        if pure > self.limits.window / (self.limits.window / 2).max(1) {
            return Err(format!("{pure} packets of credits under way"));
        }
        Ok(())
    }

    /// Explores everything; gives the number of states.
    fn explore(&self) -> Result<usize, String> {
        let mut seen = HashSet::from([self.start()]);
        let mut todo = vec![self.start()];
        while let Some(state) = todo.pop() {
            let next = self.next(&state)?;
            if next.is_empty() {
                let total = u64::from(self.requests[0] + self.requests[1]);
                let arrived =
                    state.0.iter().all(|r| r.next_in == total && r.requests == 0 && r.outbox.is_empty());
                if !arrived {
                    return Err("a dead end".into());
                }
            }
            for state in next {
                if seen.contains(&state) {
                    continue;
                }
                if self.rules == Rules::AsShipped {
                    (0..2).try_for_each(|i| self.invariant(&state, i))?;
                }
                seen.insert(state.clone());
                todo.push(state);
            }
        }
        Ok(seen.len())
    }
}

/// Two messages share a packet, two packets may be under way, and more than two messages may not
/// wait.
const LIMITS: PairLimits = PairLimits { packet: 64, batch: 48, queue: 32, window: 2 };

fn explore(limits: PairLimits, requests: [u32; 2], rules: Rules) -> Result<usize, String> {
    Model { limits, requests, rules }.explore()
}

#[test]
fn every_order_of_events_is_fine() {
    for (limits, requests, least) in [
        (LIMITS, [2, 2], 5000),
        (LIMITS, [4, 0], 1000),
        (PairLimits { window: 3, ..LIMITS }, [3, 0], 500),
        (PairLimits { batch: 32, ..LIMITS }, [4, 0], 500),
    ] {
        let states = explore(limits, requests, Rules::AsShipped).expect("no order of events is wrong");
        println!("window {}, requests {requests:?}: {states} states", limits.window);
        assert!(states > least, "the model has something to explore: {states} states");
    }
}

#[test]
fn broken_credit_packets_that_wait_for_credits_end_in_a_dead_end() {
    let small = PairLimits { batch: 32, ..LIMITS };
    assert_eq!(explore(small, [3, 3], Rules::CreditsWait), Err("a dead end".into()));
}

#[test]
fn broken_credits_only_with_other_packets_end_in_a_dead_end() {
    let small = PairLimits { batch: 32, ..LIMITS };
    assert_eq!(explore(small, [5, 0], Rules::NoCreditPackets), Err("a dead end".into()));
}

#[test]
fn broken_credits_returned_twice_are_noticed() {
    assert_eq!(explore(LIMITS, [3, 2], Rules::ReturnedTwice), Err("Credits".into()));
}

#[test]
fn broken_packets_handled_as_they_come_are_out_of_order() {
    let found = explore(LIMITS, [3, 2], Rules::AsTheyCome);
    assert!(found.as_ref().is_err_and(|why| why.contains("comes before")), "{found:?}");
}

#[test]
fn broken_handlers_that_wait_for_room_end_in_a_dead_end() {
    let small = PairLimits { batch: 32, queue: 16, ..LIMITS };
    assert_eq!(explore(small, [3, 3], Rules::HandlersWait), Err("a dead end".into()));
}
