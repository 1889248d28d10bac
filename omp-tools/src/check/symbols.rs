//! Names of functions by address, for people: the loader's, or those of the object's own file where
//! the loader knows none.
//!
//! Programs export nothing as a rule, so the loader has no names of their functions; their files
//! do, unless they are stripped. One file is opened for one line on standard error, so nothing is
//! kept.
//!
//! Rejected: lines of source code from debug information, which `addr2line -e OBJECT OFFSET` tells.

use core::ffi::{CStr, c_int, c_void};
use core::mem;
use std::fs::File;
use std::os::unix::fs::FileExt;

const SHT_SYMTAB: u32 = 2;
const STT_FUNC: u8 = 2;
/// The longest name that is reported.
const LONGEST: usize = 160;

/// `function+0xN (object+0xM)` of an address, as far as that is known; `M` is what `addr2line -e
/// object` takes.
pub fn name(address: usize) -> String {
    let Some(object) = Object::around(address) else { return format!("{address:#x}") };
    let offset = address - object.bias();
    let in_object = format!("{}+{offset:#x}", object.short_name());
    match object.function(address, offset) {
        Some((name, 0)) => format!("{name} ({in_object})"),
        Some((name, within)) => format!("{name}+{within:#x} ({in_object})"),
        None => in_object,
    }
}

/// First address and the one behind the last of the loaded object around `address`; nothing if
/// there is none.
pub fn object_around(address: usize) -> (usize, usize) {
    let mut found = Around { address, range: (0, 0) };
    // SAFETY: the callback gets `found` back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut found).cast()) };
    found.range
}

struct Around {
    address: usize,
    range: (usize, usize),
}

unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader's description of an object, and `object_around`'s record.
    let (info, found) = unsafe { (&*info, &mut *data.cast::<Around>()) };
    // SAFETY: as above.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let base = info.dlpi_addr as usize;
    let start = loaded().map(|header| base + header.p_vaddr as usize).min().unwrap_or(0);
    let end = loaded().map(|header| base + (header.p_vaddr + header.p_memsz) as usize).max().unwrap_or(0);
    let is_it = (start..end).contains(&found.address);
    if is_it {
        found.range = (start, end);
    }
    c_int::from(is_it)
}

/// What the loader says of an address.
struct Object {
    info: libc::Dl_info,
    file: Option<File>,
}

impl Object {
    fn around(address: usize) -> Option<Self> {
        // SAFETY: a valid out pointer.
        let info = unsafe {
            let mut info: libc::Dl_info = mem::zeroed();
            (libc::dladdr(address as *const c_void, &raw mut info) != 0).then_some(info)?
        };
        let path = text(info.dli_fname);
        let file = if is_main(&info) { File::open("/proc/self/exe") } else { File::open(path) };
        Some(Self { info, file: file.ok() })
    }

    fn short_name(&self) -> String {
        text(self.info.dli_fname).rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// What the loader has added to the addresses of the file.
    fn bias(&self) -> usize {
        let is_fixed =
            self.file.as_ref().and_then(header).is_some_and(|header| header.e_type == libc::ET_EXEC);
        if is_fixed { 0 } else { self.info.dli_fbase.addr() }
    }

    /// The function around an address, which has that offset in the file, and how far in it that
    /// is.
    fn function(&self, address: usize, offset: usize) -> Option<(String, usize)> {
        let file = self.file.as_ref();
        let own = || {
            file.and_then(|file| function(file, offset as u64))
                .map(|(name, start)| (name, offset - start as usize))
        };
        let loaders = text(self.info.dli_sname);
        if loaders.is_empty() { own() } else { Some((loaders, address - self.info.dli_saddr.addr())) }
    }
}

/// Is it the program itself? The loader calls that by the word with which it was started.
fn is_main(info: &libc::Dl_info) -> bool {
    // SAFETY: no more than a question; a valid out pointer.
    unsafe {
        let headers = libc::getauxval(libc::AT_PHDR) as *const c_void;
        let mut main: libc::Dl_info = mem::zeroed();
        libc::dladdr(headers, &raw mut main) != 0 && main.dli_fbase == info.dli_fbase
    }
}

/// The loader's text; nothing for null.
fn text(name: *const core::ffi::c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: a C string of the loader's.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

fn header(file: &File) -> Option<libc::Elf64_Ehdr> {
    read::<libc::Elf64_Ehdr>(file, 0, 1)?.pop().filter(|header| header.e_ident.starts_with(b"\x7fELF\x02"))
}

/// The function around an address of the file's own symbol table, and where it begins.
fn function(file: &File, address: u64) -> Option<(String, u64)> {
    let header = header(file)?;
    let sections: Vec<libc::Elf64_Shdr> = read(file, header.e_shoff, header.e_shnum.into())?;
    let table = sections.iter().find(|section| section.sh_type == SHT_SYMTAB)?;
    let names = sections.get(table.sh_link as usize)?;
    let count = table.sh_size as usize / size_of::<libc::Elf64_Sym>();
    let symbols: Vec<libc::Elf64_Sym> = read(file, table.sh_offset, count)?;
    let is_around = |symbol: &&libc::Elf64_Sym| {
        symbol.st_info & 0xf == STT_FUNC
            && symbol.st_shndx != 0
            && (symbol.st_value..symbol.st_value + symbol.st_size).contains(&address)
    };
    let symbol = symbols.iter().find(is_around)?;
    let mut name = [0; LONGEST];
    let length = file.read_at(&mut name, names.sh_offset + u64::from(symbol.st_name)).ok()?;
    let name = name[..length].split(|&byte| byte == 0).next()?;
    Some((String::from_utf8_lossy(name).into_owned(), symbol.st_value))
}

/// `count` structures of the ELF format at an offset of the file.
fn read<T: Copy>(file: &File, offset: u64, count: usize) -> Option<Vec<T>> {
    let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let bytes = count.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= size)?;
    let mut found: Vec<mem::MaybeUninit<T>> = (0..count).map(|_| mem::MaybeUninit::zeroed()).collect();
    // SAFETY: the vector's own memory, zeroed; the structures are integers all through.
    let room = unsafe { core::slice::from_raw_parts_mut(found.as_mut_ptr().cast::<u8>(), bytes) };
    file.read_exact_at(room, offset).ok()?;
    // SAFETY: as above, and all of it has been read.
    Some(found.into_iter().map(|one| unsafe { one.assume_init() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_named_by_the_loader_or_by_their_file() {
        let theirs = name(libc::getpid as *const () as usize + 1);
        assert!(theirs.contains("getpid+0x1 (libc.so.6+0x"), "{theirs}");
        let own = name(name as *const () as usize + 1);
        assert!(own.contains("symbols4name") && own.contains("+0x1 ("), "{own}");
        assert_eq!(name(8), "0x8");
    }

    #[test]
    fn a_file_that_is_none_has_no_names() {
        let file = File::open("/dev/null").expect("there");
        assert!(function(&file, 0).is_none());
    }

    #[test]
    fn the_object_around_an_address_is_found() {
        let here = object_around as *const () as usize;
        let (start, end) = object_around(here);
        assert!(start < here && here < end && object_around(8) == (0, 0));
    }
}
