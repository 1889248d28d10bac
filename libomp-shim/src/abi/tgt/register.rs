//! Images as clang's programs register them.
//!
//! Constructors call this, before the program's own and in processes that never use a device; so
//! nothing is done but remembering. There are two layouts of a table's entries; the first words
//! tell them apart: an address in the older one, 0 and a version in the newer one.

use core::ffi::{CStr, c_char, c_void};
use core::slice;

use super::requires::__tgt_register_requires;
use omp_offload::interface::Release;
use omp_offload::program::{self, DeviceProgram, ProgramEntry, ProgramEntryKind};

/// What a program brings.
#[repr(C)]
pub struct Descriptor {
    count: i32,
    images: *const RegisteredImage,
    entries_begin: *const c_void,
    entries_end: *const c_void,
}

/// One image. The entries are those of the program.
#[repr(C)]
pub struct RegisteredImage {
    start: *const u8,
    end: *const u8,
    entries_begin: *const c_void,
    entries_end: *const c_void,
}

/// An entry up to LLVM 20.
#[repr(C)]
#[derive(Clone, Copy)]
struct EntryV1 {
    address: *const c_void,
    name: *const c_char,
    size: usize,
    flags: i32,
    data: i32,
}

/// An entry from LLVM 21 on.
#[repr(C)]
#[derive(Clone, Copy)]
struct EntryV2 {
    reserved: u64,
    version: u16,
    kind: u16,
    flags: u32,
    address: *const c_void,
    name: *const c_char,
    size: u64,
    data: u64,
    auxiliary: *const c_void,
}

const _: () = assert!(size_of::<Descriptor>() == 32 && size_of::<RegisteredImage>() == 32);
const _: () = assert!(size_of::<EntryV1>() == 32 && size_of::<EntryV2>() == 56);

/// In [`EntryV2::kind`]: an entry for OpenMP.
const OPENMP: u16 = 1;
/// In the flags: the entry stands for a variable mapped by `link`, is a function called indirectly,
/// or says what the program requires (the data).
const LINK: u32 = 1;
const INDIRECT: u32 = 8;
const REQUIRES: u32 = 16;
fn entry(
    address: *const c_void,
    name: *const c_char,
    size: usize,
    flags: u32,
    data: i64,
) -> Option<ProgramEntry> {
    if flags & REQUIRES != 0 {
        __tgt_register_requires(data);
        return None;
    }
    let what = match size {
        0 => ProgramEntryKind::Region,
        _ if flags & INDIRECT != 0 => ProgramEntryKind::Indirect,
        _ if flags & LINK != 0 && flags & 2 == 0 => ProgramEntryKind::Link,
        _ => ProgramEntryKind::Variable,
    };
    // SAFETY: the table's names are C strings that live as long as the program.
    let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
    Some(ProgramEntry { what, host: address.addr(), name, size })
}

/// Is a table that begins with these words in the newer layout? Its entries begin with 0; one of
/// the older layout does when it says what the program requires, and the name that comes then is no
/// version.
fn is_newer(first: u64, second: u64) -> bool {
    first == 0 && second as u16 == 1
}

/// Reads a table in either layout; the layout tells the release of the compiler. A table without
/// entries may be of any release.
///
/// # Safety
/// The compiler's table, which stays until it is unregistered.
unsafe fn entries(begin: *const c_void, end: *const c_void) -> (Release, Vec<ProgramEntry>) {
    let bytes = end.addr().saturating_sub(begin.addr());
    if bytes < size_of::<EntryV1>() {
        return (Release::Llvm20, Vec::new());
    }
    // SAFETY: as the caller says.
    unsafe {
        if is_newer(begin.cast::<u64>().read(), begin.cast::<u64>().add(1).read()) {
            let table = slice::from_raw_parts(begin.cast::<EntryV2>(), bytes / size_of::<EntryV2>());
            let ours = table.iter().filter(|e| e.kind == OPENMP && e.version == 1);
            return (
                Release::Later,
                ours.filter_map(|e| entry(e.address, e.name, e.size as usize, e.flags, e.data as i64))
                    .collect(),
            );
        }
        let table = slice::from_raw_parts(begin.cast::<EntryV1>(), bytes / size_of::<EntryV1>());
        (
            Release::Llvm20,
            table
                .iter()
                .filter_map(|e| entry(e.address, e.name, e.size, e.flags as u32, e.data.into()))
                .collect(),
        )
    }
}

/// An object brings code for devices.
///
/// # Safety
/// Called by compiled code; the descriptor stays until [`__tgt_unregister_lib`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tgt_register_lib(descriptor: *const Descriptor) {
    // SAFETY: as for this function.
    unsafe {
        let d = &*descriptor;
        let images = if d.count > 0 { slice::from_raw_parts(d.images, d.count as usize) } else { &[] };
        let bytes =
            |i: &RegisteredImage| slice::from_raw_parts(i.start, i.end.addr().saturating_sub(i.start.addr()));
        let (release, entries) = entries(d.entries_begin, d.entries_end);
        program::register(DeviceProgram {
            handle: descriptor.addr(),
            images: images.iter().map(bytes).collect(),
            release,
            entries,
        });
    }
}

/// The object leaves.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_unregister_lib(descriptor: *const Descriptor) {
    program::unregister(descriptor.addr());
}

#[cfg(test)]
mod tests {
    use super::super::requires::NOTHING;
    use super::*;

    fn bounds<T>(table: &[T]) -> (*const c_void, *const c_void) {
        let range = table.as_ptr_range();
        (range.start.cast(), range.end.cast())
    }

    fn seen(entries: &[ProgramEntry]) -> Vec<(ProgramEntryKind, usize, &CStr, usize)> {
        entries.iter().map(|e| (e.what, e.host, e.name, e.size)).collect()
    }

    #[test]
    fn both_layouts_say_the_same() {
        let at = |n: usize| n as *const c_void;
        let rows = [
            (0x10, c"region", 0, 0),
            (0x20, c"to", 4, 0),
            (0x30, c"link", 8, LINK),
            (0x40, c"called", 8, INDIRECT),
        ];
        let old = rows.map(|(a, name, size, flags)| EntryV1 {
            address: at(a),
            name: name.as_ptr(),
            size,
            flags: flags as i32,
            data: 0,
        });
        let new = rows.map(|(a, name, size, flags)| EntryV2 {
            reserved: 0,
            version: 1,
            kind: OPENMP,
            flags,
            address: at(a),
            name: name.as_ptr(),
            size: size as u64,
            data: 0,
            auxiliary: core::ptr::null(),
        });
        let want = vec![
            (ProgramEntryKind::Region, 0x10, c"region", 0),
            (ProgramEntryKind::Variable, 0x20, c"to", 4),
            (ProgramEntryKind::Link, 0x30, c"link", 8),
            (ProgramEntryKind::Indirect, 0x40, c"called", 8),
        ];
        let ((begin, end), (new_begin, new_end)) = (bounds(&old), bounds(&new));
        // SAFETY: tables of this test.
        unsafe {
            let (old, new) = (entries(begin, end), entries(new_begin, new_end));
            assert_eq!((old.0, seen(&old.1)), (Release::Llvm20, want.clone()));
            assert_eq!((new.0, seen(&new.1)), (Release::Later, want));
            assert!(entries(begin, begin).1.is_empty());
        }
        let foreign = [EntryV2 { kind: 2, ..new[0] }];
        let (begin, end) = bounds(&foreign);
        // SAFETY: as above.
        assert!(unsafe { entries(begin, end) }.1.is_empty(), "another language's");
    }

    #[test]
    fn a_table_may_begin_with_what_the_program_requires() {
        let say = EntryV1 {
            address: core::ptr::null(),
            name: c"".as_ptr(),
            size: 0,
            flags: REQUIRES as i32,
            data: NOTHING as i32,
        };
        let region = EntryV1 { address: 0x10 as *const c_void, name: c"region".as_ptr(), flags: 0, ..say };
        let table = [say, region];
        let (begin, end) = bounds(&table);
        // SAFETY: a table of this test.
        assert_eq!(seen(&unsafe { entries(begin, end) }.1), [(ProgramEntryKind::Region, 0x10, c"region", 0)]);
    }
}
