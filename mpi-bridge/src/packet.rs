//! Packets and frames: what the bytes between two ranks mean.
//!
//! A *packet* is one MPI message: a header, then *frames*. A frame is one active message or one
//! word of the bridge's own protocol. All headers are 16 bytes and all frames start at multiples of
//! 16, so that a handler may read structures in place. Numbers are little-endian: ranks are like
//! machines, which the start-up checks assure. What may not live here: when a packet is sent
//! (`pair`) and what a frame does (`engine`).

/// Bytes of a packet's header, of a frame's header and of each block listed in a frame; also the
/// alignment of everything.
pub const UNIT: usize = 16;
/// The most blocks one message can announce.
pub const MOST_BLOCKS: usize = 255;

/// Changes with what the bytes of a packet mean: ranks compare it at the start.
pub const FORMAT: u32 = 2;
/// The first half of a packet's header: the same in each, so shared memory does without it.
pub const PREFIX: [u8; UNIT / 2] = *b"GWpacket";

/// Where the kind of a packet begins in the last four bytes of its header; what lies below are
/// credits.
const KIND: u32 = 24;
/// The credits that one packet gives back are fewer.
pub const MOST_CREDITS: u32 = 1 << KIND;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// It carries frames and costs a credit.
    Frames = 1,
    /// It only returns credits, and costs none.
    Credits = 2,
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketHeader {
    /// What it is for.
    pub kind: PacketKind,
    /// Number of the packet among those of frames from this sender to this receiver; wraps. 0 where
    /// it only returns credits.
    pub sequence: u32,
    /// Credits given back to the receiver of this packet.
    pub credits: u32,
}

/// A buffer for one packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Packet {
    words: Box<[u128]>,
    length: usize,
}

impl Packet {
    /// An empty packet (header only) that holds up to `capacity` bytes, rounded up to a multiple of
    /// 16.
    pub fn new(capacity: usize) -> Self {
        let words = capacity.div_ceil(UNIT).max(1);
        Self { words: vec![0; words].into(), length: UNIT }
    }

    /// Most bytes it holds.
    pub fn capacity(&self) -> usize {
        self.words.len() * UNIT
    }

    /// Bytes in use, header included.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether it holds no frame.
    pub fn is_empty(&self) -> bool {
        self.length <= UNIT
    }

    /// Makes it an empty packet again.
    pub fn clear(&mut self) {
        self.length = UNIT;
    }

    /// Says that `length` bytes were written through [`Packet::as_mut_ptr`]. More than fits counts
    /// as what fits.
    pub fn set_length(&mut self, length: usize) {
        self.length = length.min(self.capacity());
    }

    /// The start of the buffer, for MPI to write to.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// Writes what all packets begin with; the rest goes to what is returned.
    pub fn begin(&mut self) -> *mut u8 {
        let (prefix, rest) = self.all_bytes().split_at_mut(PREFIX.len());
        prefix.copy_from_slice(&PREFIX);
        rest.as_mut_ptr()
    }

    /// The bytes in use.
    pub fn bytes(&self) -> &[u8] {
        let start = self.words.as_ptr().cast::<u8>();
        // SAFETY: `length` is at most the buffer's size (`set_length`, `append`), and every u128 is
        // initialised.
        unsafe { core::slice::from_raw_parts(start, self.length) }
    }

    fn all_bytes(&mut self) -> &mut [u8] {
        let size = self.capacity();
        // SAFETY: the buffer is that large, initialised, and borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.as_mut_ptr(), size) }
    }

    /// Writes the header.
    pub fn seal(&mut self, header: PacketHeader) {
        debug_assert!(header.credits < MOST_CREDITS);
        let to = &mut self.all_bytes()[..UNIT];
        to[..8].copy_from_slice(&PREFIX);
        to[8..12].copy_from_slice(&header.sequence.to_le_bytes());
        to[12..16].copy_from_slice(&(header.credits | (header.kind as u32) << KIND).to_le_bytes());
    }

    /// Reads the header; nothing if this is no packet of ours.
    pub fn header(&self) -> Option<PacketHeader> {
        let bytes = self.bytes().get(..UNIT)?;
        let last = word(bytes, 12);
        let kind = match last >> KIND {
            1 => PacketKind::Frames,
            2 => PacketKind::Credits,
            _ => return None,
        };
        bytes.starts_with(&PREFIX).then(|| PacketHeader {
            kind,
            sequence: word(bytes, 8),
            credits: last % MOST_CREDITS,
        })
    }

    /// Adds a frame; `false`, and nothing done, if it would grow beyond `most` bytes.
    pub fn append(&mut self, frame: &PacketFrame<'_>, most: usize) -> bool {
        let (at, payload) = (self.length, frame.payload());
        let size = frame.room(payload);
        if at + size > most.min(self.capacity()) {
            return false;
        }
        frame.write(&mut self.all_bytes()[at..at + size], payload);
        self.length = at + size;
        true
    }

    /// The frames in it, in order. An item `None` is a frame that makes no sense; nothing follows
    /// it.
    pub fn frames(&self) -> Frames<'_> {
        Frames { rest: self.bytes().get(UNIT..).unwrap_or_default() }
    }
}

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Verb {
    /// An active message; `number` is the handler.
    Message = 1,
    /// Write the one announced block, or the payload, at address `word`; the block's ticket is the
    /// sender's transfer.
    Put,
    /// Send me what lies at `word`; the one block has the size and my ticket.
    Get,
    /// The answer to a small `Get`: the payload, for my ticket `word`.
    Got,
    /// Your transfer `word` has ended; `number` is its outcome (0: done, else refused).
    Ended,
    /// A wave's way up: `number` is its operation; the payload has the sums.
    Up,
    /// A wave's way down: `number` says whether the operation has ended.
    Down,
}

impl Verb {
    fn from(code: u16) -> Option<Self> {
        use Verb::{Down, Ended, Get, Got, Message, Put, Up};
        [Message, Put, Get, Got, Ended, Up, Down].into_iter().find(|v| *v as u16 == code)
    }
}

/// A block announced in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketAnnounced {
    /// Its size.
    pub bytes: u64,
    /// The transfer's number at the rank that began it.
    pub ticket: u32,
}

/// A frame to be written.
#[derive(Clone, Copy, Debug)]
pub struct PacketFrame<'a> {
    /// What it says.
    pub verb: Verb,
    /// Handler, operation or outcome.
    pub number: u16,
    /// Address or transfer.
    pub word: u64,
    /// Blocks that travel beside it; at most [`MOST_BLOCKS`].
    pub blocks: &'a [PacketAnnounced],
    /// The payload is these pieces one after the other.
    pub pieces: &'a [&'a [u8]],
}

impl PacketFrame<'_> {
    /// A frame without payload and blocks.
    pub fn plain(verb: Verb, number: u16, word: u64) -> PacketFrame<'static> {
        PacketFrame { verb, number, word, blocks: &[], pieces: &[] }
    }

    fn payload(&self) -> usize {
        self.pieces.iter().map(|p| p.len()).sum()
    }

    /// Bytes it takes in a packet.
    pub fn size(&self) -> usize {
        self.room(self.payload())
    }

    fn room(&self, payload: usize) -> usize {
        UNIT + UNIT * self.blocks.len() + payload.next_multiple_of(UNIT)
    }

    /// Layout of the header: payload bytes (24 bits) and block count (8), verb, number, word.
    fn write(&self, to: &mut [u8], payload: usize) {
        let sizes = payload as u32 | (self.blocks.len() as u32) << 24;
        let (head, mut rest) = to.split_at_mut(UNIT);
        let code = u64::from(sizes) | (self.verb as u64) << 32 | u64::from(self.number) << 48;
        head.copy_from_slice(&(u128::from(code) | u128::from(self.word) << 64).to_le_bytes());
        for block in self.blocks {
            let (to, behind) = rest.split_at_mut(UNIT);
            to.copy_from_slice(&(u128::from(block.bytes) | u128::from(block.ticket) << 64).to_le_bytes());
            rest = behind;
        }
        for piece in self.pieces {
            let (to, behind) = rest.split_at_mut(piece.len());
            to.copy_from_slice(piece);
            rest = behind;
        }
    }
}

/// A frame that was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// What it says.
    pub verb: Verb,
    /// Handler, operation or outcome.
    pub number: u16,
    /// Address or transfer.
    pub word: u64,
    /// The payload, aligned to 16.
    pub payload: &'a [u8],
    blocks: &'a [u8],
}

impl<'a> Received<'a> {
    /// The blocks that travel beside it.
    pub fn blocks(&self) -> impl Iterator<Item = PacketAnnounced> + 'a {
        let list = self.blocks.chunks_exact(UNIT);
        list.map(|b| PacketAnnounced { bytes: long(b, 0), ticket: word(b, 8) })
    }
}

/// The frames of a packet; see [`Packet::frames`].
#[derive(Debug)]
pub struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Frames<'a> {
    type Item = Option<Received<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let frame = split(self.rest);
        self.rest = frame.map_or(&[], |(_, rest)| rest);
        Some(frame.map(|(frame, _)| frame))
    }
}

fn split(from: &[u8]) -> Option<(Received<'_>, &[u8])> {
    let head = from.get(..UNIT)?;
    let sizes = word(head, 0);
    let (length, count) = ((sizes & 0xff_ffff) as usize, (sizes >> 24) as usize);
    let verb = Verb::from(half(head, 4))?;
    let data = UNIT + UNIT * count;
    let rest = from.get(data + length.next_multiple_of(UNIT)..)?;
    let received = Received {
        verb,
        number: half(head, 6),
        word: long(head, 8),
        payload: &from[data..data + length],
        blocks: &from[UNIT..data],
    };
    Some((received, rest))
}

fn half(from: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([from[at], from[at + 1]])
}

fn word(from: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([from[at], from[at + 1], from[at + 2], from[at + 3]])
}

/// The 64-bit number at `at`; the caller knows that it is there.
pub fn long(from: &[u8], at: usize) -> u64 {
    u64::from(word(from, at)) | u64::from(word(from, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut packet = Packet::new(256);
        let blocks = [PacketAnnounced { bytes: 1 << 40, ticket: 7 }];
        let one = PacketFrame {
            verb: Verb::Message,
            number: 3,
            word: u64::MAX,
            blocks: &blocks,
            pieces: &[b"ab", b"", b"cde"],
        };
        assert!(packet.append(&one, 256));
        assert!(packet.append(&PacketFrame::plain(Verb::Ended, 1, 9), 256));
        let header = PacketHeader { kind: PacketKind::Frames, sequence: u32::MAX, credits: 5 };
        packet.seal(header);
        assert_eq!(packet.header(), Some(header));
        let frames: Vec<_> = packet.frames().map(|f| f.expect("well formed")).collect();
        assert_eq!(frames.len(), 2);
        assert_eq!((frames[0].verb, frames[0].number, frames[0].word), (Verb::Message, 3, u64::MAX));
        assert_eq!(frames[0].payload, b"abcde");
        assert_eq!(frames[0].payload.as_ptr() as usize % UNIT, 0);
        assert!(frames[0].blocks().eq(blocks));
        assert_eq!((frames[1].verb, frames[1].number, frames[1].word), (Verb::Ended, 1, 9));
        assert_eq!(packet.length() % UNIT, 0);
    }

    #[test]
    fn a_frame_that_does_not_fit_changes_nothing() {
        let mut packet = Packet::new(64);
        let bytes = [1u8; 33];
        let frame = PacketFrame { verb: Verb::Message, number: 0, word: 0, blocks: &[], pieces: &[&bytes] };
        assert_eq!(frame.size(), 64);
        assert!(!packet.append(&frame, 64), "16 + 64 bytes in 64");
        assert!(packet.is_empty());
        assert!(
            packet.append(&PacketFrame::plain(Verb::Got, 0, 0), 32)
                && !packet.append(&PacketFrame::plain(Verb::Got, 0, 0), 32)
        );
    }

    #[test]
    fn nonsense_is_noticed() {
        let mut packet = Packet::new(64);
        assert_eq!(packet.header(), None, "no magic");
        assert!(packet.append(&PacketFrame::plain(Verb::Got, 0, 0), 64));
        packet.all_bytes()[UNIT] = 200; // a payload longer than the packet
        assert!(packet.frames().next().is_some_and(|f| f.is_none()));
        packet.all_bytes()[UNIT] = 0;
        packet.all_bytes()[UNIT + 4] = 99; // no such verb
        assert!(packet.frames().next().is_some_and(|f| f.is_none()));
    }
}
