//! clang's lists of what is mapped, and what they mean.
//!
//! A list is some arrays of the same length: base addresses, first addresses, sizes, types, names,
//! mappers. The types are sets of the bits below. Up to clang 20 a pointer and what it points to
//! are one entry ([`POINTER_AND_OBJECT`]), from then on two, and a third that attaches them
//! ([`ATTACH`]).

use core::ffi::{c_char, c_int, c_void};

use super::mapper::{self, Mapper};
use omp_offload::map::{MapFlags, MapItem, MapRole};

const TO: u64 = 0x1;
const FROM: u64 = 0x2;
const ALWAYS: u64 = 0x4;
const DELETE: u64 = 0x8;
/// The base address is that of a pointer, which is to point to the entry.
const POINTER_AND_OBJECT: u64 = 0x10;
/// The region gets an argument for the entry.
const PARAMETER: u64 = 0x20;
/// The program wants to know the entry's address on the device.
const RETURN: u64 = 0x40;
/// A copy for the region alone.
const PRIVATE: u64 = 0x80;
/// The base address is the value itself.
const LITERAL: u64 = 0x100;
/// The base address is that of a reference in a lambda expression, to what may be mapped.
const CAPTURED: u64 = POINTER_AND_OBJECT | LITERAL;
const IMPLICIT: u64 = 0x200;
const PRESENT: u64 = 0x1000;
const HOLD: u64 = 0x2000;
/// The pointer at the base address is attached to the first address.
const ATTACH: u64 = 0x4000;
/// The first address is that of an array of [`TgtMapDimension`]s; the size is how many.
const STRIDED: u64 = 1 << 44;
/// In these bits: one more than the number of the entry that this one is a part of.
const MEMBER_OF: u64 = 0xffff << 48;

/// One dimension of a strided section.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TgtMapDimension {
    offset: u64,
    count: u64,
    /// Bytes from one to the next.
    stride: u64,
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub struct TgtMapEntry {
    /// Base address.
    pub base: usize,
    /// First address.
    pub begin: usize,
    /// Bytes.
    pub size: i64,
    /// Bits.
    pub kind: u64,
}

/// The compiler's arrays.
#[derive(Clone, Copy, Debug)]
pub struct TgtMapArrays {
    /// Entries.
    pub count: c_int,
    /// Base addresses; some are written to.
    pub bases: *mut *mut c_void,
    /// First addresses.
    pub begins: *mut *mut c_void,
    /// Bytes.
    pub sizes: *const i64,
    /// Bits.
    pub kinds: *const i64,
    /// Names, for messages; may be null.
    pub names: *const *const c_char,
    /// Functions that take entries apart; may be null, as may each of them.
    pub mappers: *const Option<Mapper>,
}

/// What a list means.
#[derive(Debug, Default)]
pub struct TgtMapList {
    /// The items.
    pub items: Vec<MapItem>,
    /// Per argument of the region: its item.
    pub parameters: Vec<usize>,
    /// Entries whose base address is to be written, and the items it is computed from.
    pub returned: Vec<(usize, usize)>,
}

impl TgtMapArrays {
    /// May there be user-defined mappers?
    pub fn have_mappers(&self) -> bool {
        !self.mappers.is_null()
    }

    /// # Safety
    /// The compiler's arrays.
    unsafe fn entry(&self, at: usize) -> (TgtMapEntry, Option<Mapper>) {
        // SAFETY: as the caller says.
        unsafe {
            let entry = TgtMapEntry {
                base: (*self.bases.add(at)).addr(),
                begin: (*self.begins.add(at)).addr(),
                size: *self.sizes.add(at),
                kind: *self.kinds.add(at) as u64,
            };
            (entry, if self.mappers.is_null() { None } else { *self.mappers.add(at) })
        }
    }

    /// What the list means. User-defined mappers are called here: they read the host's data.
    ///
    /// # Safety
    /// The compiler's arrays.
    pub unsafe fn list(&self) -> TgtMapList {
        let mut list = TgtMapList::default();
        for at in 0..self.count.max(0) as usize {
            // SAFETY: as the caller says, throughout.
            unsafe {
                let (entry, mapper) = self.entry(at);
                match mapper {
                    Some(mapper) => {
                        for component in mapper::components(mapper, &entry) {
                            add(&component, &mut list.items);
                        }
                        list.items.push(entry.item(MapRole::Address, 0));
                    }
                    None => add(&entry, &mut list.items),
                }
                let Some(item) = list.items.len().checked_sub(1) else { continue };
                if entry.kind & PARAMETER != 0 {
                    list.parameters.push(item);
                }
                if entry.kind & RETURN != 0 {
                    list.returned.push((at, item));
                }
            }
        }
        list
    }

    /// Writes the base addresses that the program asked for.
    ///
    /// # Safety
    /// The arrays that `list` was read from.
    pub unsafe fn answer(&self, list: &TgtMapList, values: &[usize]) {
        for &(entry, item) in &list.returned {
            // SAFETY: as the caller says.
            unsafe { self.bases.add(entry).cast::<usize>().write(values[item]) };
        }
    }
}

/// The items of an entry.
///
/// # Safety
/// Pointers are where the entry says so.
unsafe fn add(entry: &TgtMapEntry, items: &mut Vec<MapItem>) {
    let size = usize::try_from(entry.size).unwrap_or(0);
    let member = entry.kind & MEMBER_OF != 0;
    let role = match entry.kind {
        k if k & ATTACH != 0 || k & CAPTURED == CAPTURED => {
            // SAFETY: as the caller says.
            let value = unsafe { (entry.base as *const usize).read_unaligned() };
            let item = entry.item(MapRole::Attach { counted: false }, entry.begin.wrapping_sub(value));
            let flags = item.flags.with_if(k & ATTACH == 0, MapFlags::ALWAYS);
            return items.push(MapItem { flags, ..item });
        }
        k if k & LITERAL != 0 => MapRole::Value,
        k if k & PRIVATE != 0 => MapRole::Private,
        k if k & STRIDED != 0 => {
            // SAFETY: as the caller says.
            let dimensions =
                unsafe { core::slice::from_raw_parts(entry.begin as *const TgtMapDimension, size) };
            return strided(entry, dimensions, items);
        }
        k if k & POINTER_AND_OBJECT != 0 => MapRole::Pointee { member },
        _ if member => MapRole::Member,
        _ => MapRole::Storage,
    };
    items.push(entry.item(role, size));
}

/// One item per piece of a strided section that is without gaps.
fn strided(entry: &TgtMapEntry, dimensions: &[TgtMapDimension], items: &mut Vec<MapItem>) {
    let Some((last, mut outer)) = dimensions.split_last() else { return };
    let mut piece = last.count.wrapping_mul(last.stride);
    let mut base = (entry.base as u64).wrapping_add(last.offset.wrapping_mul(last.stride));
    // Dimensions whose elements touch make a larger piece.
    while let Some((dimension, rest)) = outer.split_last().filter(|(d, _)| d.stride == piece) {
        base = base.wrapping_add(dimension.offset.wrapping_mul(dimension.stride));
        piece = piece.wrapping_mul(dimension.count);
        outer = rest;
    }
    let mut begins = vec![base];
    for d in outer {
        let step = |i: u64| d.offset.wrapping_add(i).wrapping_mul(d.stride);
        begins = begins.iter().flat_map(|&b| (0..d.count).map(move |i| b.wrapping_add(step(i)))).collect();
    }
    let plain = entry.item(MapRole::Member, piece as usize);
    items.extend(begins.into_iter().map(|begin| MapItem {
        begin: begin as usize,
        base: begin as usize,
        ..plain
    }));
}

impl TgtMapEntry {
    fn item(&self, role: MapRole, size: usize) -> MapItem {
        let bits = [
            (TO, MapFlags::TO),
            (FROM, MapFlags::FROM),
            (ALWAYS, MapFlags::ALWAYS),
            (DELETE, MapFlags::DELETE),
            (PRESENT, MapFlags::PRESENT),
            (HOLD, MapFlags::HOLD),
            (IMPLICIT, MapFlags::IMPLICIT),
        ];
        let flags = bits
            .iter()
            .fold(MapFlags::default(), |set, &(bit, flag)| set.with_if(self.kind & bit != 0, flag));
        MapItem { begin: self.begin, base: self.base, size, role, flags }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(dimensions: &[(u64, u64, u64)]) -> Vec<(usize, usize)> {
        let dimensions: Vec<_> = dimensions
            .iter()
            .map(|&(offset, count, stride)| TgtMapDimension { offset, count, stride })
            .collect();
        let mut items = Vec::new();
        strided(&TgtMapEntry { base: 1000, begin: 0, size: 0, kind: TO }, &dimensions, &mut items);
        items.iter().map(|i| (i.begin, i.size)).collect()
    }

    #[test]
    fn strided_sections_fall_into_pieces() {
        // int m[6][8]: m[2:3][4:2], three pieces of two elements.
        assert_eq!(pieces(&[(2, 3, 32), (4, 2, 4), (0, 1, 4)]), [(1080, 8), (1112, 8), (1144, 8)]);
        // int a[10]: a[1:4:2], four single elements.
        assert_eq!(pieces(&[(1, 4, 8), (0, 1, 4)]), [(1008, 4), (1016, 4), (1024, 4), (1032, 4)]);
        // Whole rows touch each other: one piece.
        assert_eq!(pieces(&[(1, 2, 32), (0, 8, 4), (0, 1, 4)]), [(1032, 64)]);
        // Three dimensions, int c[3][4][5]: c[0:2][1:2][2:3].
        assert_eq!(
            pieces(&[(0, 2, 80), (1, 2, 20), (2, 3, 4), (0, 1, 4)]),
            [(1028, 12), (1048, 12), (1108, 12), (1128, 12)]
        );
        assert_eq!(pieces(&[]), []);
        assert_eq!(pieces(&[(0, 0, 8), (0, 1, 4)]), []);
    }

    #[test]
    fn types_become_roles() {
        let pointer = 2000usize;
        let at = core::ptr::from_ref(&pointer).addr();
        let role = |kind| {
            let mut items = Vec::new();
            // SAFETY: a pointer is at the base.
            unsafe { add(&TgtMapEntry { base: at, begin: 2040, size: 8, kind }, &mut items) };
            assert_eq!(items.len(), 1);
            (items[0].role, items[0].size)
        };
        assert_eq!(role(TO | PARAMETER), (MapRole::Storage, 8));
        assert_eq!(role(TO | 1 << 48), (MapRole::Member, 8));
        assert_eq!(role(POINTER_AND_OBJECT | 1 << 48), (MapRole::Pointee { member: true }, 8));
        assert_eq!(role(POINTER_AND_OBJECT), (MapRole::Pointee { member: false }, 8));
        assert_eq!(role(LITERAL | PARAMETER), (MapRole::Value, 8));
        assert_eq!(role(PRIVATE | TO), (MapRole::Private, 8));
        assert_eq!(role(ATTACH), (MapRole::Attach { counted: false }, 40));
        assert_eq!(role(CAPTURED | IMPLICIT | 1 << 48), (MapRole::Attach { counted: false }, 40));
    }
}
