//! gcc's lists of what is mapped, and what they mean.
//!
//! A list is three arrays: addresses, sizes, kinds. The low byte of a kind says what the entry is,
//! the high byte the logarithm of its alignment. The region gets one word per entry. What the word
//! is, and which entries belong together, follows from the kinds.

use core::ffi::c_void;

use crate::abi::gomp::target_arguments::FIRSTPRIVATE;
use omp_offload::map::{MapFlags, MapItem, MapRole};

/// Copied to the device, from it.
const TO: u16 = 1;
const FROM: u16 = 2;
/// In plain kinds: the copy is made whether the storage is new or not.
const ALWAYS: u16 = 0x10;
/// The program does not contain the clause: these bits, of those that make up a kind.
const IMPLICIT: u16 = 0x60;
const KIND_BITS: u16 = 0x7c;
/// The storage has to be there (gcc 14).
const PRESENT: u16 = 0x24;
/// A pointer that is mapped and points to the entry before it; the size is how far behind its value
/// the storage begins.
const POINTER: u16 = 0x04;
/// A descriptor that has pointers.
const TO_PSET: u16 = 0x05;
const DELETE: u16 = 0x07;
/// The address is the device's.
const DEVICE_POINTER: u16 = 0x08;
const IF_PRESENT: u16 = 0x0b;
/// The value itself.
const FIRSTPRIVATE_INT: u16 = 0x0d;
/// `use_device_ptr`, `use_device_addr`.
const USE_DEVICE: u16 = 0x0e;
/// An array section that turned out empty.
const ZERO_LENGTH: u16 = 0x0f;
const USE_DEVICE_IF_PRESENT: u16 = 0x10;
const RELEASE: u16 = 0x17;
/// A structure; the size is how many entries behind it are members.
const STRUCT: u16 = 0x1c;
/// A pointer in storage that is mapped, pointing to the entry before it; in a descriptor, to what
/// it points to on the host.
const ALWAYS_POINTER: u16 = 0x1d;
const DELETE_ZERO_LENGTH: u16 = 0x1f;
/// A pointer in storage that is mapped, pointing to storage that is.
const ATTACH: u16 = 0x50;
const DETACH: u16 = 0x51;
const ATTACH_ZERO_LENGTH: u16 = 0x52;
const FORCE_DETACH: u16 = 0xd1;

/// Bytes of a pointer.
const WORD: usize = size_of::<usize>();

/// The compiler's arrays, copied.
#[derive(Clone, Default)]
pub struct GompMapArrays {
    /// Host addresses, or values.
    pub addresses: Vec<usize>,
    /// Bytes, or what the kind makes of it.
    pub sizes: Vec<usize>,
    /// Kinds and alignments.
    pub kinds: Vec<u16>,
}

impl GompMapArrays {
    /// # Safety
    /// The compiler's arrays of `count` entries.
    pub unsafe fn read(
        count: usize,
        addresses: *const *mut c_void,
        sizes: *const usize,
        kinds: *const u16,
    ) -> Self {
        if count == 0 {
            return Self::default();
        }
        // SAFETY: as the caller says; addresses are words.
        unsafe {
            Self {
                addresses: core::slice::from_raw_parts(addresses.cast::<usize>(), count).to_vec(),
                sizes: core::slice::from_raw_parts(sizes, count).to_vec(),
                kinds: core::slice::from_raw_parts(kinds, count).to_vec(),
            }
        }
    }

    /// The arrays of compilers before gcc 5: a kind is three bits and an alignment.
    ///
    /// # Safety
    /// The compiler's arrays of `count` entries.
    pub unsafe fn read_old(
        count: usize,
        addresses: *const *mut c_void,
        sizes: *const usize,
        kinds: *const u8,
    ) -> Self {
        let old: Vec<u8> = if count == 0 {
            Vec::new()
        } else {
            // SAFETY: as the caller says.
            unsafe { core::slice::from_raw_parts(kinds, count) }.to_vec()
        };
        let kinds: Vec<u16> = old.iter().map(|&k| u16::from(k & 7) | u16::from(k >> 3) << 8).collect();
        // SAFETY: as the caller says.
        unsafe { Self::read(count, addresses, sizes, kinds.as_ptr()) }
    }

    /// What the list means.
    ///
    /// # Safety
    /// The addresses are valid where the kinds say that pointers are there.
    pub unsafe fn list(&self) -> GompMapList {
        let mut list = GompMapList::default();
        let mut members = 0..0;
        for at in 0..self.kinds.len() {
            list.words.push(list.items.len());
            // SAFETY: as the caller says.
            unsafe { self.entry(at, members.contains(&at), &mut list.items) };
            if self.kind(at) == STRUCT && self.addresses[at] != 0 {
                members = at + 1..at + 1 + self.sizes[at];
            }
        }
        list
    }

    /// Does the program want to know where the entry is on the device?
    pub fn asks_for_address(&self, at: usize) -> bool {
        matches!(self.kind(at), USE_DEVICE | USE_DEVICE_IF_PRESENT) && self.addresses[at] != 0
    }

    fn kind(&self, at: usize) -> u16 {
        self.kinds[at] & 0xff
    }

    /// The items of one entry; its word is that of the first one.
    unsafe fn entry(&self, at: usize, member: bool, items: &mut Vec<MapItem>) {
        let (address, size, kind) = (self.addresses[at], self.sizes[at], self.kind(at));
        let item = |role, size, flags: MapFlags| MapItem { begin: address, base: address, size, role, flags };
        let plain = item(if member { MapRole::Member } else { MapRole::Storage }, size, storage_flags(kind));
        // SAFETY: as the caller says, throughout.
        let value = |at: usize| unsafe { (at as *const usize).read_unaligned() };
        let attach = |begin: usize, counted, flags| MapItem {
            begin,
            base: address,
            size,
            role: MapRole::Attach { counted },
            flags,
        };
        let meant = match kind {
            _ if address == 0 => item(MapRole::Value, 0, MapFlags::default()),
            FIRSTPRIVATE => item(MapRole::Private, size, MapFlags::TO),
            FIRSTPRIVATE_INT | DEVICE_POINTER => item(MapRole::Value, 0, MapFlags::default()),
            USE_DEVICE | USE_DEVICE_IF_PRESENT | IF_PRESENT => item(MapRole::Address, 0, MapFlags::default()),
            ZERO_LENGTH | DELETE_ZERO_LENGTH => MapItem { size: 0, ..plain },
            STRUCT => self.structure(at),
            TO_PSET => {
                MapItem { flags: plain.flags.with_if(self.describes_always(at), MapFlags::ALWAYS), ..plain }
            }
            ALWAYS_POINTER if self.is_in_descriptor(at) => {
                attach(value(address).wrapping_add(size), false, MapFlags::ALWAYS)
            }
            ALWAYS_POINTER => attach(self.before(at), false, MapFlags::ALWAYS),
            ATTACH | ATTACH_ZERO_LENGTH => {
                attach(value(address).wrapping_add(size), true, MapFlags::default())
            }
            DETACH | FORCE_DETACH => item(MapRole::Detach, size, MapFlags::default()),
            POINTER => {
                if !self.is_in_descriptor(at) {
                    items.push(MapItem { size: WORD, ..plain });
                }
                attach(value(address).wrapping_add(size), false, MapFlags::default())
            }
            _ => plain,
        };
        items.push(meant);
    }

    /// The range around the members of a structure.
    fn structure(&self, at: usize) -> MapItem {
        let (first, last) = (at + 1, at + self.sizes[at]);
        let begin = self.addresses[first];
        MapItem {
            begin,
            base: self.addresses[at],
            size: (self.addresses[last] + self.size_of(last)).saturating_sub(begin),
            role: MapRole::Storage,
            flags: MapFlags::ONCE.with(MapFlags::STATICS).with(MapFlags::AROUND),
        }
    }

    /// Bytes of an entry that is storage.
    fn size_of(&self, at: usize) -> usize {
        match self.kind(at) {
            POINTER => WORD,
            _ => self.sizes[at],
        }
    }

    /// Where the storage of the last entry before `at` begins that is no pointer into it.
    fn before(&self, at: usize) -> usize {
        (0..at).rev().find(|&i| self.kind(i) != ALWAYS_POINTER).map_or(0, |i| self.addresses[i])
    }

    /// Is the descriptor one whose pointer may have changed?
    fn describes_always(&self, at: usize) -> bool {
        self.kinds
            .get(at + 1)
            .is_some_and(|_| self.kind(at + 1) == ALWAYS_POINTER && self.is_in_descriptor(at + 1))
    }

    /// Does the pointer lie in the descriptor that precedes it?
    fn is_in_descriptor(&self, at: usize) -> bool {
        let pointer = |i: usize| matches!(self.kind(i), POINTER | ALWAYS_POINTER);
        let before = (0..at).rev().find(|&i| !pointer(i)).filter(|&i| self.kind(i) == TO_PSET);
        before.is_some_and(|i| {
            (self.addresses[i]..self.addresses[i] + self.sizes[i]).contains(&self.addresses[at])
        })
    }
}

fn storage_flags(kind: u16) -> MapFlags {
    let (always, present) = (kind & ALWAYS != 0, kind & PRESENT == PRESENT);
    let copies = match kind {
        TO_PSET => TO,
        POINTER | DELETE | RELEASE | ZERO_LENGTH | DELETE_ZERO_LENGTH => 0,
        _ => kind & (TO | FROM),
    };
    MapFlags::ONCE
        .with(MapFlags::STATICS)
        .with_if(copies & TO != 0, MapFlags::TO)
        .with_if(copies & FROM != 0, MapFlags::FROM)
        .with_if(copies != 0 && always, MapFlags::ALWAYS)
        .with_if(present, MapFlags::PRESENT)
        .with_if(kind & KIND_BITS == IMPLICIT, MapFlags::IMPLICIT)
        .with_if(kind == TO_PSET, MapFlags::DESCRIBES)
        .with_if(matches!(kind, DELETE | DELETE_ZERO_LENGTH), MapFlags::DELETE)
}

/// What a list means.
#[derive(Default)]
pub struct GompMapList {
    /// The items.
    pub items: Vec<MapItem>,
    /// Per entry of the compiler's: the item that its word is computed from.
    pub words: Vec<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(entries: &[(usize, usize, u16)]) -> GompMapArrays {
        GompMapArrays {
            addresses: entries.iter().map(|e| e.0).collect(),
            sizes: entries.iter().map(|e| e.1).collect(),
            kinds: entries.iter().map(|e| e.2).collect(),
        }
    }

    #[test]
    fn kinds_become_flags() {
        let base = MapFlags::ONCE.with(MapFlags::STATICS);
        let both = base.with(MapFlags::TO).with(MapFlags::FROM);
        let cases = [
            (0, base),
            (1, base.with(MapFlags::TO)),
            (2, base.with(MapFlags::FROM)),
            (3, both),
            (0x13, both.with(MapFlags::ALWAYS)),
            (0x27, both.with(MapFlags::PRESENT)),
            (0x37, both.with(MapFlags::PRESENT).with(MapFlags::ALWAYS)),
            (0x63, both.with(MapFlags::IMPLICIT)),
            (TO_PSET, base.with(MapFlags::TO).with(MapFlags::DESCRIBES)),
            (DELETE, base.with(MapFlags::DELETE)),
            (RELEASE, base),
        ];
        for (kind, want) in cases {
            assert_eq!(storage_flags(kind), want, "{kind:#x}");
        }
    }

    #[test]
    fn a_structure_is_one_range_with_members() {
        // SAFETY: no pointers.
        let list = unsafe { arrays(&[(1000, 2, STRUCT), (1008, 4, 1), (1024, 8, 3), (2000, 4, 2)]).list() };
        let roles: Vec<MapRole> = list.items.iter().map(|i| i.role).collect();
        assert_eq!(roles, [MapRole::Storage, MapRole::Member, MapRole::Member, MapRole::Storage]);
        let around = &list.items[0];
        assert_eq!((around.begin, around.base, around.size), (1008, 1000, 24));
        assert_eq!(list.words, [0, 1, 2, 3]);
    }

    #[test]
    fn pointers_of_a_descriptor_are_attached_and_others_mapped_too() {
        let descriptor = [5000usize, 1, 2, 3];
        let at = descriptor.as_ptr().addr();
        // SAFETY: the pointer is there.
        let list = unsafe { arrays(&[(5000, 40, 3), (at, 32, TO_PSET), (at, 0, POINTER)]).list() };
        assert_eq!(list.items.len(), 3);
        assert_eq!((list.items[2].begin, list.items[2].base), (5000, at));
        // SAFETY: the pointer is there.
        let list = unsafe { arrays(&[(4992, 40, 3), (at, 8, POINTER)]).list() };
        assert_eq!(list.items.len(), 3);
        assert_eq!((list.items[1].role, list.items[1].size), (MapRole::Storage, WORD));
        assert_eq!((list.items[2].begin, list.items[2].size), (5008, 8), "the size is the bias");
    }
}
