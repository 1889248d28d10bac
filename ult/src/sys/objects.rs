//! The loaded objects: the functions that they define, the symbols that they refer to, where their
//! code is.
//!
//! Only the parts of ELF that `exceptions` and `stall` need:
//! * One name, looked up in one object by its GNU hash table or, failing that, its System V one
//!   (indirect functions do not count).
//! * The names that an object leaves to others. They are found by way of its relocations, because
//!   no table gives the number of symbols in an object that defines none.
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::{mem, ptr};

use super::loader;

const DT_NULL: i64 = 0;
const DT_PLTRELSZ: i64 = 2;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
/// In a symbol's version: not the one that a program gets that asks for none.
const HIDDEN_VERSION: u16 = 1 << 15;
const STT_FUNC: u8 = 2;

#[repr(C)]
struct Dyn {
    tag: i64,
    value: usize,
}

/// A relocation with addend, the only kind on 64-bit machines.
#[repr(C)]
struct Rela {
    offset: u64,
    info: u64,
    addend: i64,
}

/// A table of relocations.
#[derive(Clone, Copy)]
struct Relocations {
    first: *const Rela,
    bytes: usize,
}

impl Relocations {
    const NONE: Self = Self { first: ptr::null(), bytes: 0 };
}

/// The name of a function, with its hash in GNU tables: each of many objects is asked for it.
#[derive(Clone, Copy)]
pub struct SymbolName {
    text: &'static CStr,
    hash: u32,
}

impl SymbolName {
    /// For a constant: the compiler then computes the hash.
    pub const fn new(text: &'static CStr) -> Self {
        let bytes = text.to_bytes();
        let (mut hash, mut at) = (5381_u32, 0);
        while at < bytes.len() {
            hash = hash.wrapping_mul(33).wrapping_add(bytes[at] as u32);
            at += 1;
        }
        Self { text, hash }
    }

    /// [`SymbolName::new`] for each of `texts`.
    pub(crate) const fn all<const N: usize>(texts: [&'static CStr; N]) -> [Self; N] {
        let mut names = [const { Self::new(c"") }; N];
        let mut at = 0;
        while at < N {
            names[at] = Self::new(texts[at]);
            at += 1;
        }
        names
    }
}

/// One loaded object, while the loader holds it.
pub(crate) struct LoadedObject {
    base: usize,
    headers: *const libc::Elf64_Phdr,
    header_count: usize,
    calls: Relocations,
    data: Relocations,
    strings: *const c_char,
    symbols: *const libc::Elf64_Sym,
    gnu_hash: *const u32,
    sysv_hash: *const u32,
    /// One for each symbol; null: they have none.
    versions: *const u16,
}

struct Walk<F> {
    before: u64,
    now: Option<u64>,
    visit: F,
}

/// The latest of the loader's counts that any thread has seen in [`for_each_since`].
static LATEST: AtomicU64 = AtomicU64::new(0);

/// Calls `visit` for every object if loads or unloads have happened since `before`, a value that
/// this returned.
///
/// Returns the present value if it did, `None` if nothing changed. Takes the loader's lock, which
/// threads that ask often wait for.
pub(crate) fn for_each_since(before: u64, visit: impl FnMut(&LoadedObject)) -> Option<u64> {
    let mut walk = Walk { before, now: None, visit };
    // SAFETY: the callback gets our `walk` back, which outlives the call.
    unsafe { loader::walk(callback_of(&walk), (&raw mut walk).cast()) };
    if let Some(now) = walk.now {
        // ORDERING: Relaxed; a number, and the thread that acts on it asks the loader. Both counts
        // only grow.
        LATEST.fetch_max(now, Relaxed);
    }
    walk.now
}

/// The function `name` of the first loaded object that defines it and not `mark`. Takes no lock
/// that a thread in `dlopen` holds while it runs constructors.
pub fn function_of_others(name: SymbolName, mark: SymbolName) -> Option<usize> {
    let mut found = None;
    for_each_since(u64::MAX, |object| {
        if found.is_none() && object.function(mark).is_none() {
            found = object.function(name);
        }
    });
    found
}

/// Looks for each of `all` in the objects behind the one that contains `address`, in the loader's
/// order. Calls `found` with the first function of that `name`. It is not called for indirect
/// functions, and for functions of objects in front, which `dlsym` may know.
///
/// One walk finds all names. `dlsym(RTLD_NEXT)` would take the loader's lock and hash each name anew.
pub fn look_up_behind<T>(
    address: usize,
    all: &[T],
    name: impl Fn(&T) -> SymbolName,
    mut found: impl FnMut(&T, usize),
) {
    let mut missing: Vec<&T> = all.iter().collect();
    let mut is_behind = false;
    for_each_since(u64::MAX, |object| {
        if is_behind {
            missing.retain(|one| match object.function(name(one)) {
                Some(function) => {
                    found(one, function);
                    false
                }
                None => true,
            });
        }
        is_behind |= object.code().any(|(start, end)| (start..end).contains(&address));
    });
}

/// Has any thread seen a load or unload since `before`? One load of a word.
pub(crate) fn has_been_seen_to_change(before: u64) -> bool {
    // ORDERING: Relaxed; as above.
    LATEST.load(Relaxed) != before
}

fn callback_of<F: FnMut(&LoadedObject)>(_: &Walk<F>) -> loader::Callback {
    on_object::<F>
}

/// # Safety
/// `info` is the loader's, `data` the `Walk<F>` of `for_each_since`.
#[cold]
unsafe extern "C" fn on_object<F: FnMut(&LoadedObject)>(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let (info, walk) = unsafe { (&*info, &mut *data.cast::<Walk<F>>()) };
    let now = info.dlpi_adds << 32 | info.dlpi_subs & 0xffff_ffff;
    if now == walk.before {
        return 1;
    }
    walk.now = Some(now);
    // SAFETY: the loader keeps the object mapped during the callback.
    if let Some(object) = unsafe { LoadedObject::new(info) } {
        (walk.visit)(&object);
    }
    0
}

impl LoadedObject {
    /// # Safety
    /// `info` describes an object that stays mapped while the result is used.
    unsafe fn new(info: &libc::dl_phdr_info) -> Option<LoadedObject> {
        let base = info.dlpi_addr as usize;
        // SAFETY: the loader's own description of the object.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let mut entry = base.wrapping_add(dynamic.p_vaddr as usize) as *const Dyn;
        let mut object = LoadedObject {
            base,
            headers: info.dlpi_phdr,
            header_count: info.dlpi_phnum.into(),
            calls: Relocations::NONE,
            data: Relocations::NONE,
            strings: ptr::null(),
            symbols: ptr::null(),
            gnu_hash: ptr::null(),
            sysv_hash: ptr::null(),
            versions: ptr::null(),
        };
        // SAFETY: a dynamic section ends with DT_NULL.
        unsafe {
            while (*entry).tag != DT_NULL {
                object.set((*entry).tag, (*entry).value);
                entry = entry.add(1);
            }
        }
        (!object.strings.is_null() && !object.symbols.is_null()).then_some(object)
    }

    /// The C library turns these offsets into addresses when it loads an object, but not in the
    /// kernel's own one.
    fn set(&mut self, tag: i64, value: usize) {
        let address = if value < self.base { self.base.wrapping_add(value) } else { value };
        match tag {
            DT_STRTAB => self.strings = address as *const c_char,
            DT_SYMTAB => self.symbols = address as *const libc::Elf64_Sym,
            DT_GNU_HASH => self.gnu_hash = address as *const u32,
            DT_HASH => self.sysv_hash = address as *const u32,
            DT_VERSYM => self.versions = address as *const u16,
            DT_JMPREL => self.calls.first = address as *const Rela,
            DT_PLTRELSZ => self.calls.bytes = value,
            DT_RELA => self.data.first = address as *const Rela,
            DT_RELASZ => self.data.bytes = value,
            _ => {}
        }
    }

    /// The address of the function that this object defines under `name`, in its default version.
    #[cold]
    pub(crate) fn function(&self, name: SymbolName) -> Option<usize> {
        // SAFETY: tables of an object that the loader has accepted.
        unsafe {
            if !self.gnu_hash.is_null() {
                self.find_gnu(name)
            } else if !self.sysv_hash.is_null() {
                self.find_sysv(name.text)
            } else {
                None
            }
        }
    }

    /// The executable parts of this object: first address and the one behind the last.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, usize)> {
        // SAFETY: the loader's own description of the object, mapped as long as the object.
        let headers = unsafe { core::slice::from_raw_parts(self.headers, self.header_count) };
        headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
            .map(|header| {
                let start = self.base.wrapping_add(header.p_vaddr as usize);
                (start, start.wrapping_add(header.p_memsz as usize))
            })
    }

    /// Where the sorted table of this object's call frame information is (`.eh_frame_hdr`), if it
    /// has one.
    pub(crate) fn frames(&self) -> Option<usize> {
        // SAFETY: as in `code`.
        let headers = unsafe { core::slice::from_raw_parts(self.headers, self.header_count) };
        let header = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        Some(self.base.wrapping_add(header.p_vaddr as usize))
    }

    /// Does this object use a symbol that it does not define, whose name begins with one of
    /// `prefixes`?
    pub(crate) fn refers_to(&self, prefixes: &[&[u8]]) -> bool {
        // SAFETY: tables of an object that the loader has accepted.
        [self.calls, self.data].iter().any(|table| unsafe { self.refers_in(table, prefixes) })
    }

    /// # Safety
    /// `table` is one of this object's.
    unsafe fn refers_in(&self, table: &Relocations, prefixes: &[&[u8]]) -> bool {
        if table.first.is_null() {
            return false;
        }
        // SAFETY: the caller's word; the upper half of `info` is an index into the object's
        // symbols, zero for none.
        unsafe {
            let entries = core::slice::from_raw_parts(table.first, table.bytes / size_of::<Rela>());
            entries.iter().map(|entry| (entry.info >> 32) as usize).any(|index| {
                index != 0 && {
                    let symbol = &*self.symbols.add(index);
                    symbol.st_shndx == 0 && self.name_begins(symbol, prefixes)
                }
            })
        }
    }

    /// # Safety
    /// `symbol` is one of this object's.
    unsafe fn name_begins(&self, symbol: &libc::Elf64_Sym, prefixes: &[&[u8]]) -> bool {
        // SAFETY: a symbol's name is an offset into the string table, and ends with a zero byte.
        let name = unsafe { CStr::from_ptr(self.strings.add(symbol.st_name as usize)) }.to_bytes();
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// # Safety
    /// `gnu_hash` is a valid table of this object.
    unsafe fn find_gnu(&self, name: SymbolName) -> Option<usize> {
        let wanted = name.hash;
        // SAFETY: layout of the table: four words, the filter (address-sized words), the buckets,
        // the chains.
        unsafe {
            let [buckets, first, filter_words, shift] =
                [0, 1, 2, 3].map(|word| *self.gnu_hash.add(word) as usize);
            if buckets == 0 || filter_words == 0 {
                return None;
            }
            // Two bits of one word for each name that is there: nearly all others end here.
            let word =
                *self.gnu_hash.add(4).cast::<usize>().add((wanted / usize::BITS) as usize % filter_words);
            if [wanted, wanted.unbounded_shr(shift as u32)]
                .into_iter()
                .any(|bit| word >> (bit % usize::BITS) & 1 == 0)
            {
                return None;
            }
            let bucket = self.gnu_hash.add(4 + filter_words * (mem::size_of::<usize>() / 4));
            let chain = bucket.add(buckets);
            let mut index = *bucket.add(wanted as usize % buckets) as usize;
            while index >= first {
                let hash = *chain.add(index - first);
                if hash | 1 == wanted | 1
                    && let Some(address) = self.defined(index, name.text)
                {
                    return Some(address);
                }
                if hash & 1 != 0 {
                    return None; // the end of this chain
                }
                index += 1;
            }
            None
        }
    }

    /// # Safety
    /// `sysv_hash` is a valid table of this object.
    unsafe fn find_sysv(&self, name: &CStr) -> Option<usize> {
        // SAFETY: layout of the table: number of buckets, number of symbols, buckets, chains. Every
        // symbol is looked at: this is the rare table, and then the number of symbols is what it is
        // good for.
        unsafe {
            let symbols = *self.sysv_hash.add(1) as usize;
            (1..symbols).find_map(|index| self.defined(index, name))
        }
    }

    /// # Safety
    /// `index` is a valid index into this object's symbols.
    unsafe fn defined(&self, index: usize, name: &CStr) -> Option<usize> {
        // SAFETY: the caller's index; a symbol's name is an offset into the string table, and its
        // version, where there are any, has the same index.
        unsafe {
            let symbol = &*self.symbols.add(index);
            let is_default = self.versions.is_null() || *self.versions.add(index) & HIDDEN_VERSION == 0;
            let is_function =
                symbol.st_info & 0xf == STT_FUNC && symbol.st_shndx != 0 && symbol.st_value != 0;
            let same = || CStr::from_ptr(self.strings.add(symbol.st_name as usize)) == name;
            (is_function && is_default && same()).then(|| self.base.wrapping_add(symbol.st_value as usize))
        }
    }
}
