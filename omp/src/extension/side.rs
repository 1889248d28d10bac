//! What extensions keep with things of the host: memory that the host provides and does not look
//! into.
//!
//! What lives here: [`SideBlock`], which is part of a thread, a team or a task; [`BeginToken`],
//! which lies on the stack between the begin of something and its end; and the words that are kept
//! with dependence nodes and with tasks that others wait for. What does not: what is in them.
//!
//! Blocks and tokens are bytes of a fixed size, and an extension reads them as a record of its own.
//! Whether the record fits is checked when the extension is compiled.
//!
//! Rejected: boxes of a trait. Each thread, team and task would allocate one, or have a branch for
//! the case that it has none.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// The word that the offload extension stores with a dependence node. Only the extension knows what
/// it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeMark(pub u64);

/// Where the work is that a task has queued on a device. Only devices know what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedWork(pub [u64; 2]);

/// A copy of what tools need to report that another task waits for this one, which may be freed by
/// then.
#[derive(Clone, Copy, Default)]
pub struct TaskMark {
    /// The extension's.
    pub word: u64,
    /// The extension's.
    pub number: u64,
}

/// A record that lies in a [`SideBlock`].
///
/// # Safety
/// Bytes that are all zero are a valid value.
pub unsafe trait SideRecord: Sized {}

/// So many words for a record of an extension. All words are zero when the thing is allocated that
/// they belong to. The host does not clear them when it uses the thing again. The host neither
/// reads nor writes them, except for the first word of some ([`TaskSide`], [`ThreadSide`]).
#[repr(C, align(16))]
pub struct SideBlock<const WORDS: usize>(UnsafeCell<[u64; WORDS]>);

impl<const WORDS: usize> SideBlock<WORDS> {
    /// Returns a block of zeros.
    pub const fn new() -> Self {
        Self(UnsafeCell::new([0; WORDS]))
    }

    /// Returns the record in the block.
    ///
    /// # Safety
    /// All calls for one block name the same type.
    #[inline(always)]
    pub unsafe fn record<R: SideRecord>(&self) -> &R {
        const {
            assert!(size_of::<R>() <= size_of::<Self>() && align_of::<R>() <= align_of::<Self>());
        }
        // SAFETY: the block has room for the record, and its first value was valid (`SideRecord`).
        // No other type was ever written there, as the caller promises.
        unsafe { &*self.0.get().cast::<R>() }
    }

    /// Returns the address of the first word.
    #[inline(always)]
    pub const fn first_word(&self) -> *mut usize {
        self.0.get().cast()
    }
}

impl<const WORDS: usize> Default for SideBlock<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

/// What tools keep with a task. The first word is the base of the runtime's frame that has called
/// the task's code; fronts write it ([`super::tools::frame`]).
pub type TaskSide = SideBlock<12>;
/// What tools keep with a team.
pub type TeamSide = SideBlock<6>;
/// What tools keep with a league, while it lasts.
pub type LeagueSide = SideBlock<2>;

/// What tools keep with a thread.
#[derive(Default)]
pub struct ThreadSide {
    /// With its implicit task.
    pub task: TaskSide,
    /// With the thread. The first word is not 0 as long as tools know the thread: its end is to be
    /// reported.
    pub thread: SideBlock<18>,
}

impl ThreadSide {
    /// Do tools know the thread?
    #[inline(always)]
    pub fn is_known(&self) -> bool {
        // SAFETY: the block has a first word, and the extension does not write it meanwhile.
        unsafe { self.thread.first_word().read() != 0 }
    }
}

/// What an extension keeps from the begin of something to its end. The host passes it on.
#[derive(Clone, Copy)]
pub struct BeginToken([MaybeUninit<u64>; 10]);

impl BeginToken {
    /// Nothing is kept.
    pub const NONE: Self = Self([MaybeUninit::uninit(); 10]);

    /// Returns a token that holds `value`.
    pub fn new<T: Copy>(value: T) -> Self {
        const {
            assert!(size_of::<T>() <= size_of::<Self>() && align_of::<T>() <= align_of::<Self>());
        }
        let mut token = Self::NONE;
        // SAFETY: the token has room for the value.
        unsafe { token.0.as_mut_ptr().cast::<T>().write(value) };
        token
    }

    /// Returns the value of [`BeginToken::new`].
    ///
    /// # Safety
    /// The token was made from a value of this type.
    pub unsafe fn get<T: Copy>(&self) -> T {
        // SAFETY: as the caller promises.
        unsafe { self.0.as_ptr().cast::<T>().read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    struct Counter(Cell<u64>);
    // SAFETY: a number.
    unsafe impl SideRecord for Counter {}

    #[test]
    fn a_record_begins_as_zeros_and_keeps_its_value() {
        let block = SideBlock::<2>::new();
        // SAFETY: one type.
        let (once, again) = unsafe { (block.record::<Counter>(), block.record::<Counter>()) };
        assert_eq!(once.0.get(), 0);
        once.0.set(5);
        assert_eq!(again.0.get(), 5);
    }

    #[test]
    fn a_token_returns_its_value() {
        let token = BeginToken::new((3_u32, 7_u64));
        // SAFETY: one type.
        assert_eq!(unsafe { token.get::<(u32, u64)>() }, (3, 7));
    }
}
