//! Handles that programs get, and why a call changed nothing. Calls for devices and calls for ranks
//! have both.
//!
//! What may not live here: what a handle names (`omp_cluster::remote`).

use core::fmt;

/// Names a future, an event or an object on every rank: `ompx_future_t`, `ompx_event_t`,
/// `ompx_object_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteHandle {
    /// The rank that made it.
    pub rank: i32,
    /// Its place there.
    pub id: u32,
    /// What tells it from others that had the place.
    pub generation: u64,
}

impl RemoteHandle {
    /// As words of a message.
    pub fn words(self) -> [u64; 2] {
        [u64::from(self.rank as u32) << 32 | u64::from(self.id), self.generation]
    }

    /// The inverse.
    pub fn from_words([place, generation]: [u64; 2]) -> Self {
        Self { rank: (place >> 32) as u32 as i32, id: place as u32, generation }
    }

    /// As words of a message, zeros for none.
    pub fn words_if(handle: Option<Self>) -> [u64; 2] {
        handle.map_or([0; 2], Self::words)
    }

    /// The inverse: no handle has the generation 0.
    pub fn if_words(words: [u64; 2]) -> Option<Self> {
        (words[1] != 0).then(|| Self::from_words(words))
    }
}

/// Why a call changed nothing. The numbers are those of `ompx.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    /// No such rank.
    Rank,
    /// A null pointer where something has to be.
    Argument,
    /// The function lies in no executable and no shared object.
    Function,
    /// No memory for a copy.
    Memory,
    /// Freed, fired, or never made.
    Stale,
    /// Another rank's.
    Foreign,
    /// Set before.
    Set,
    /// An invocation's future.
    Bound,
    /// Of another size.
    Size,
    /// A task waits for it.
    Waited,
    /// The ranks have parted, or this is the child of a fork.
    Ended,
    /// No such dependence.
    Slot,
    /// The object of an invocation does not exist.
    Object,
    /// The task has no such tray.
    Tray,
    /// No such type or reduction, or elements of another type.
    Type,
    /// A file cannot be used.
    File,
    /// No device of the kind.
    Device,
    /// The task has no procedure.
    Procedure,
    /// A list without entries, or with too many.
    Count,
    /// No task of this number.
    Number,
    /// No such elements.
    Range,
    /// The calling code is no explicit task.
    Task,
    /// A device failed, and said so; or the code that was to use it.
    Broken,
    /// It is in use on a device.
    InUse,
    /// These bytes are of no array.
    NoArray,
    /// A part of these bytes is an array.
    Overlap,
    /// The task has blocks or a stream.
    Late,
    /// No bytes.
    Empty,
}

impl RemoteFault {
    /// The result of the C functions.
    pub fn code(self) -> i32 {
        match self {
            Self::Rank => -1,
            Self::Argument => -2,
            Self::Function => -3,
            Self::Memory => -4,
            Self::Stale | Self::Object => -5,
            Self::Foreign => -6,
            Self::Set | Self::Bound | Self::Overlap | Self::Late => -7,
            Self::Size | Self::Empty => -8,
            Self::Waited | Self::InUse => -9,
            Self::Ended => -10,
            Self::Slot => -11,
            Self::Tray => -20,
            Self::Type => -21,
            Self::File => -22,
            Self::Device => -23,
            Self::Procedure => -24,
            Self::Count => -25,
            Self::Number => -26,
            Self::Range | Self::NoArray => -27,
            Self::Task => -28,
            Self::Broken => -29,
        }
    }
}

impl fmt::Display for RemoteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rank => "there is no such rank",
            Self::Argument => "a pointer is null that must not be",
            Self::Function => "the function lies in no executable and no shared object",
            Self::Memory => "out of memory for the copy of the bytes",
            Self::Stale => "the handle names nothing: freed, fired, or never made",
            Self::Foreign => "the handle is another rank's",
            Self::Set => "it was set before",
            Self::Bound => "the future is an invocation's, which sets it",
            Self::Size => "the value has another size",
            Self::Waited => "somebody waits for it",
            Self::Ended => "the ranks have parted, or this is the child of a fork",
            Self::Slot => "there is no such dependence",
            Self::Object => "the object was freed, or never made",
            Self::Tray => "the task has no such tray",
            Self::Type => "there is no such type or reduction, or the elements have another type",
            Self::File => "the file cannot be used",
            Self::Device => "there is no device of this kind",
            Self::Procedure => "the task has no procedure",
            Self::Count => "the list is empty or too long",
            Self::Number => "OMPX_TASKS names no task of this number",
            Self::InUse => "it is in use on a device",
            Self::NoArray => "these bytes are of no array",
            Self::Overlap => "a part of these bytes is an array already",
            Self::Late => "the task has asked for blocks, or for a stream, before",
            Self::Empty => "there are no bytes",
            Self::Range => "there are not so many elements",
            Self::Task => "the calling code is no explicit task",
            Self::Broken => "the device, or the code that used it, failed",
        })
    }
}
