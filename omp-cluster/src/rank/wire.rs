//! What messages between ranks look like: words, then bytes. Ranks are like machines with one
//! executable (the bridge compares them), so words are as they lie in memory.

/// Handlers, by number. Alike on all ranks.
pub mod verb {
    /// `[to] bytes`: write them. No answer.
    pub const WRITE: u32 = 1;
    /// `[ticket, device, depth, marks, convention + 4 * name, thread limit, code, word, word, into,
    /// debts, {source, rank, writes}…, wanted, {address, size}…, arguments…]`: run a region.
    /// The answer's word is `into`, its bytes are what was wanted. The name is 0, or one more than
    /// the code's number from now on (`codes`).
    pub const RUN: u32 = 2;
    /// `[ticket, to, from, size]`: copy.
    pub const COPY: u32 = 3;
    /// `[ticket, size]`: map memory; the answer's word is its address.
    pub const ALLOCATE: u32 = 4;
    /// `[address, size, whole]`: the memory is not used any more, and is unmapped if `whole`. No
    /// answer.
    pub const RELEASE: u32 = 5;
    /// `[ticket, identity]`: load the image; the answer's word is its number.
    pub const LOAD: u32 = 6;
    /// `[ticket, number] name`: where the image has this symbol; the answer's word is 0 if nowhere.
    pub const FIND: u32 = 7;
    /// `[ticket, identity]`: where the module lies.
    pub const BASE: u32 = 8;
    /// `[ticket]`: answer, when what was sent before has been handled.
    pub const FENCE: u32 = 9;
    /// `[ticket, failed, word, writes] bytes`: the answer, and how many of the asking rank's writes
    /// have been handled. The bytes of a failure are its text; others belong at the address
    /// `word`.
    pub const ANSWER: u32 = 10;
    /// `[ticket, source, writes]`: answer, when so many writes of `source` have been handled.
    pub const AWAIT: u32 = 11;
    /// `[module, offset, future? + 2 * depth, id, generation] bytes`: run a function of the
    /// program's; its end sets that future of the sender (`omp_cluster::remote`). As for the next two:
    /// no answer, and many bytes are a block beside the message.
    pub const INVOKE: u32 = 12;
    /// `[id, generation, by whom, 0, 0] bytes`: the value of a future (`omp_cluster::remote::future::By`).
    pub const SET: u32 = 13;
    /// `[id, generation, dependence, object, its generation] bytes`: a dependence of an event is
    /// satisfied; by an object, if its generation is not 0.
    pub const SATISFY: u32 = 14;
    /// Nothing: give me regions that wait.
    pub const STEAL: u32 = 15;
    /// `[count, rank, waiting]`: so many are yours; those that begin follow by themselves. If there
    /// are none, the rank may have some if `waiting` is not 0.
    pub const STOLEN: u32 = 16;
    /// `[rank, waiting]`: so many regions wait at that rank.
    pub const WORK: u32 = 17;
    /// `[round]`: say who waits for what (`omp_tools::check`).
    pub const LOOK: u32 = 18;
    /// `[round, part, of, …] lines`: the answer, in some messages (`omp_cluster::remote::check::wire`).
    pub const LOOKED: u32 = 19;
    /// `[ticket, to, rank, from, size]`: copy from that rank's memory.
    pub const FETCH: u32 = 20;
    /// What persistent tasks are asked, and what they send each other: `omp_cluster::persistent::wire`. No
    /// answer; many bytes are a block beside it.
    pub const PERSISTENT: u32 = 21;
    /// `[ticket, number + thread limit, device + depth, marks, arguments…]`: run a region of which
    /// an earlier [`RUN`] has said the code, under this number; it relies on no
    /// write elsewhere, and nothing is wanted. The first of two is the lower half of the word.
    /// Without arguments it fits into a cell of shared memory.
    pub const AGAIN: u32 = 22;
    /// `[number]`: the sender has the image one time less. No answer.
    pub const UNLOAD: u32 = 23;
}

/// Bits of the marks in [`verb::RUN`].
pub mod mark {
    /// The region was placed on another device, and stolen.
    pub const STOLEN: u64 = 1;
    /// The bits from here on: how many regions wait at the sender.
    pub const WAITING: u32 = 8;
    /// The bits of the convention from here on: the name.
    pub const NAME: u32 = 2;
}

/// What says which code a region is, in [`verb::RUN`].
pub mod code {
    /// The words are a module's identity and an offset in it.
    pub const MODULE: u64 = 0;
    /// The words are an image's number and an address in it.
    pub const IMAGE: u64 = 1;
}

const WORD: usize = size_of::<u64>();

/// A message that is read from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct WireReader<'a>(pub &'a [u8]);

impl<'a> WireReader<'a> {
    /// The next word; 0 behind the end.
    pub fn word(&mut self) -> u64 {
        match self.0.split_first_chunk::<WORD>() {
            Some((word, rest)) => {
                self.0 = rest;
                u64::from_ne_bytes(*word)
            }
            None => 0,
        }
    }

    /// All words that are left.
    pub fn words(self) -> impl Iterator<Item = u64> + use<'a> {
        self.0.chunks_exact(WORD).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
    }
}

/// What travels as a word.
pub trait WireWord: Copy {}
impl WireWord for u64 {}
impl WireWord for usize {}

/// The bytes of words.
pub fn bytes<W: WireWord>(words: &[W]) -> &[u8] {
    const { assert!(size_of::<W>() == WORD) };
    // SAFETY: words are bytes, and live as long.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = bytes(&[5_u64, 6]).to_vec();
        message.extend_from_slice(b"name");
        let mut reader = WireReader(&message);
        assert_eq!((reader.word(), reader.word(), reader.0), (5, 6, &b"name"[..]));
        assert_eq!(reader.word(), 0, "nothing is left");
        assert_eq!(WireReader(bytes(&[1_u64, 2, 3])).words().collect::<Vec<_>>(), [1, 2, 3]);
    }
}
