//! What a task is asked to do, and how a message says it.

use core::fmt;
use omp_offload::modules::ModuleAddress;

use super::kind::{CombineRule, ElementType};
use super::queue::TrayAccess;
use crate::remote::RemoteHandle;

/// Words of a message.
pub const WORDS: usize = 14;

/// What names a parcel between two tasks on every rank: who has asked for it, a number of his, and
/// which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The rank that has asked.
    pub rank: u32,
    /// Its number for what it has asked.
    pub serial: u64,
    /// Of several parcels.
    pub part: u32,
}

/// What becomes of parcels in the tray that they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrayRule {
    /// There is one: it is the tray.
    Whole,
    /// One behind the other.
    Joined,
    /// Combined, from the first to the last.
    Combined(ElementType, CombineRule, RemoteFunction),
}

/// A function, as other ranks know it: module and offset (`device::modules`).
pub type RemoteFunction = ModuleAddress;

/// No function.
pub const NO_FUNCTION: RemoteFunction = ModuleAddress { identity: 0, offset: 0 };

/// An operation. Some have bytes beside them: see [`PersistentOperation::Execute`] and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersistentOperation {
    /// The procedure is this one.
    Set(RemoteFunction),
    /// Run the procedure. Bytes: its arguments.
    Execute,
    /// The task is not needed any more.
    Free,
    /// A tray of so many elements, which are zero.
    Allocate(u32, ElementType, u64),
    /// A tray is not needed any more.
    Drop(u32),
    /// None is.
    DropAll,
    /// A tray gets these elements. Bytes: those.
    Write(u32, ElementType),
    /// Say what is in a tray, of so many bytes; or, with none, its size and type: to a future of
    /// the asking rank.
    Read(u32, Option<u64>, AwaitedFuture),
    /// Say that you are here: to a future of the asking rank, when so many tasks have.
    Fence(u64, AwaitedFuture),
    /// Send a tray, whole or in so many parts. Bytes: [`Delivery`]s.
    Send(u32, Key, u32),
    /// So many parcels become a tray.
    Take(u32, Key, u32, TrayRule),
}

/// A future of the rank that asks.
pub type AwaitedFuture = (u32, u64);

/// Where a tray goes that is sent: words of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Delivery {
    /// The rank.
    pub rank: u32,
    /// The part of the key.
    pub part: u32,
    /// Tasks there that take it.
    pub takers: u32,
    /// Which slice of the tray it is.
    pub slice: u32,
}

impl PersistentOperation {
    /// What it uses of its task.
    pub fn access(self) -> TrayAccess {
        match self {
            Self::Set(_) | Self::Execute | Self::Free | Self::DropAll | Self::Fence(..) => TrayAccess::All,
            Self::Allocate(tray, ..) | Self::Drop(tray) | Self::Write(tray, _) | Self::Take(tray, ..) => {
                TrayAccess::Writes(tray)
            }
            Self::Read(tray, ..) | Self::Send(tray, ..) => TrayAccess::Reads(tray),
        }
    }

    /// Is it done in an instant, without a wait and without the program's functions?
    pub fn is_quick(self) -> bool {
        !matches!(
            self,
            Self::Execute
                | Self::Read(..)
                | Self::Send(..)
                | Self::Take(_, _, _, TrayRule::Joined | TrayRule::Combined(..))
        )
    }

    /// Parcels that it waits for.
    pub fn parcels(self) -> u32 {
        if let Self::Take(_, _, parcels, _) = self { parcels } else { 0 }
    }

    /// The message to a task, from inside of so many target regions.
    pub fn words(self, task: RemoteHandle, depth: u8) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[1] = u64::from(depth) << 32 | u64::from(task.id);
        words[2] = task.generation;
        let mut say = |what: u64, rest: &[u64]| {
            words[0] = what;
            words[3..3 + rest.len()].copy_from_slice(rest);
        };
        match self {
            Self::Set(place) => say(1, &place.words()),
            Self::Execute => say(2, &[]),
            Self::Free => say(3, &[]),
            Self::Allocate(tray, kind, count) => say(4, &[tray.into(), kind.0, count]),
            Self::Drop(tray) => say(5, &[tray.into()]),
            Self::DropAll => say(6, &[]),
            Self::Write(tray, kind) => say(7, &[tray.into(), kind.0]),
            Self::Read(tray, bytes, (id, generation)) => {
                say(8, &[tray.into(), bytes.is_some().into(), bytes.unwrap_or(0), id.into(), generation])
            }
            Self::Fence(of, (id, generation)) => say(9, &[of, id.into(), generation]),
            Self::Send(tray, key, parts) => {
                say(10, &[tray.into(), key.rank.into(), key.serial, key.part.into(), parts.into()])
            }
            Self::Take(tray, key, parcels, how) => {
                let (what, kind, rule, place) = match how {
                    TrayRule::Whole => (0, 0, 0, NO_FUNCTION),
                    TrayRule::Joined => (1, 0, 0, NO_FUNCTION),
                    TrayRule::Combined(kind, rule, place) => (2, kind.0, rule as u64, place),
                };
                say(
                    11,
                    &[
                        tray.into(),
                        key.rank.into(),
                        key.serial,
                        key.part.into(),
                        parcels.into(),
                        what,
                        kind,
                        rule,
                        place.identity,
                        place.offset,
                    ],
                );
            }
        }
        words
    }

    /// What a message asks of which task, and the target regions around who asks; none if it asks
    /// nothing of any.
    pub fn read(words: &[u64; WORDS], me: i32) -> Option<(RemoteHandle, u8, Self)> {
        let [what, id, generation, a, b, c, d, e, f, g, h, i, j, _] = *words;
        let tray = a as u32;
        let key = Key { rank: b as u32, serial: c, part: d as u32 };
        let order = match what {
            1 => Self::Set(ModuleAddress { identity: a, offset: b }),
            2 => Self::Execute,
            3 => Self::Free,
            4 => Self::Allocate(tray, ElementType(b), c),
            5 => Self::Drop(tray),
            6 => Self::DropAll,
            7 => Self::Write(tray, ElementType(b)),
            8 => Self::Read(tray, (b != 0).then_some(c), (d as u32, e)),
            9 => Self::Fence(a, (b as u32, c)),
            10 => Self::Send(tray, key, e as u32),
            11 => {
                let kind = ElementType(g);
                let how = match f {
                    0 => TrayRule::Whole,
                    1 => TrayRule::Joined,
                    _ => TrayRule::Combined(
                        kind,
                        CombineRule::new(h as i32, kind).ok()?,
                        ModuleAddress { identity: i, offset: j },
                    ),
                };
                Self::Take(tray, key, e as u32, how)
            }
            _ => return None,
        };
        Some((RemoteHandle { rank: me, id: id as u32, generation }, (id >> 32) as u8, order))
    }
}

impl fmt::Display for PersistentOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(_) => f.write_str("to have a procedure"),
            Self::Execute => f.write_str("to execute"),
            Self::Free => f.write_str("to be freed"),
            Self::Allocate(tray, ..) => write!(f, "to allocate tray {tray}"),
            Self::Drop(tray) => write!(f, "to free tray {tray}"),
            Self::DropAll => f.write_str("to free its trays"),
            Self::Write(tray, _) => write!(f, "to write tray {tray}"),
            Self::Read(tray, ..) => write!(f, "to read tray {tray}"),
            Self::Fence(..) => f.write_str("to be waited for"),
            Self::Send(tray, ..) => write!(f, "to send tray {tray}"),
            Self::Take(tray, ..) => write!(f, "to receive tray {tray}"),
        }
    }
}

impl Delivery {
    /// As bytes of a message.
    pub fn bytes(all: &[Self]) -> &[u8] {
        // SAFETY: four words without gaps, and as long as `all`.
        unsafe { core::slice::from_raw_parts(all.as_ptr().cast(), size_of_val(all)) }
    }

    /// Those of a message.
    pub fn read(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.chunks_exact(size_of::<Self>()).map(|chunk| {
            let word =
                |at: usize| u32::from_ne_bytes([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]]);
            Self { rank: word(0), part: word(4), takers: word(8), slice: word(12) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read() {
        let key = Key { rank: 3, serial: u64::MAX, part: 9 };
        let kind = ElementType(0x803);
        let orders = [
            PersistentOperation::Set(ModuleAddress { identity: 1 << 60, offset: 17 }),
            PersistentOperation::Execute,
            PersistentOperation::Free,
            PersistentOperation::Allocate(1, kind, 1 << 40),
            PersistentOperation::Drop(u32::MAX),
            PersistentOperation::DropAll,
            PersistentOperation::Write(4, ElementType::BYTE),
            PersistentOperation::Read(5, Some(0), (6, 7)),
            PersistentOperation::Read(5, None, (6, 7)),
            PersistentOperation::Fence(12, (1, 2)),
            PersistentOperation::Send(2, key, 5),
            PersistentOperation::Take(2, key, 1, TrayRule::Whole),
            PersistentOperation::Take(2, key, 3, TrayRule::Joined),
            PersistentOperation::Take(
                2,
                key,
                3,
                TrayRule::Combined(kind, CombineRule::Least, ModuleAddress { identity: 8, offset: 9 }),
            ),
        ];
        let task = RemoteHandle { rank: 2, id: u32::MAX, generation: 1 << 50 };
        for order in orders {
            assert_eq!(PersistentOperation::read(&order.words(task, 200), 2), Some((task, 200, order)));
        }
        assert_eq!(PersistentOperation::read(&[0; WORDS], 0), None);
        assert_eq!(PersistentOperation::read(&[99; WORDS], 0), None);
    }

    #[test]
    fn deliveries_too() {
        let all = [
            Delivery { rank: 1, part: 2, takers: 3, slice: 4 },
            Delivery { rank: 5, part: 6, takers: 7, slice: u32::MAX },
        ];
        assert_eq!(Delivery::read(Delivery::bytes(&all)).collect::<Vec<_>>(), all);
    }
}
