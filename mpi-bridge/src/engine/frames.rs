//! What each kind of frame does at the rank that receives it.

use super::{Broken, Engine};
use crate::bridge::{Bridge, count_inside};
use crate::packet::{Packet, Received, Verb, long};
use crate::table::{Arrival, BridgeMessage, code};
use crate::wave::Sums;

impl Engine {
    /// Runs the frames of a packet.
    pub(super) fn handle(&mut self, bridge: &Bridge, source: u32, packet: &Packet) -> Result<(), Broken> {
        for frame in packet.frames() {
            let frame = frame.ok_or_else(|| Broken(format!("a frame from rank {source} makes no sense")))?;
            self.findings.events += 1;
            match frame.verb {
                Verb::Message => message(bridge, source, &frame),
                Verb::Put => self.put(bridge, source, &frame)?,
                Verb::Get => self.serve(bridge, source, &frame)?,
                Verb::Got => self.got(bridge, source, &frame)?,
                Verb::Ended => self.notified(bridge, source, &frame)?,
                Verb::Up => self.collective.waves.up(sums(&frame)),
                Verb::Down => self.verdict(bridge, frame.number == 1)?,
            }
        }
        Ok(())
    }
}

fn message(bridge: &Bridge, source: u32, frame: &Received<'_>) {
    let Some(handler) = bridge.handler(frame.number) else {
        let why = format!(
            "a message from rank {source} is for handler {}, which this rank does not have",
            frame.number
        );
        bridge.fail(code::PROTOCOL, &why);
        return;
    };
    let blocks: Vec<Arrival> =
        frame.blocks().map(|b| Arrival { bytes: b.bytes, source, ticket: b.ticket }).collect();
    let message = BridgeMessage {
        bridge,
        bytes: frame.payload.as_ptr().cast(),
        length: frame.payload.len() as u64,
        blocks: blocks.as_ptr(),
        block_count: blocks.len() as u32,
        source,
    };
    // SAFETY: the handler was registered with its context; the message and what it points to
    // outlive the call.
    unsafe { (handler.call)(handler.context, &raw const message) };
    count_inside(&bridge.counts.handled, 1);
}

fn sums(frame: &Received<'_>) -> Sums {
    let number = |i: usize| if frame.payload.len() >= 8 * (i + 1) { long(frame.payload, 8 * i) } else { 0 };
    Sums { sent: number(0), handled: number(1), operations: number(2) }
}
