//! Functions by address, from the symbol table of an object's file.
//!
//! Programs export nothing as a rule, and what compilers make of the bodies of regions and tasks are
//! local functions (`main._omp_fn.0`), so the loader has no names of them. The file's `.symtab` has
//! them, unless that was stripped.
//!
//! What may not live here: what the loader knows ([`ult::sys::loader`]); how a function is shown.
//!
//! Rejected: lines of source code from debug information, which `addr2line -e OBJECT OFFSET` tells.

use core::ffi::CStr;
use core::mem;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use ult::sys::loader::LoadedAddress;

const SHT_SYMTAB: u32 = 2;
const STT_FUNC: u8 = 2;
/// The longest name that is read.
const LONGEST: usize = 4096;

/// The functions of one file.
pub struct ObjectFile {
    file: File,
    /// Addresses in the file are those in memory: not a library, nor a program that can be loaded
    /// anywhere.
    is_fixed: bool,
    /// In the order of addresses.
    functions: Vec<libc::Elf64_Sym>,
    /// Where the names begin in the file.
    names: u64,
}

/// A function around an address.
#[derive(Debug)]
pub struct FoundFunction {
    /// Its name, as the file has it.
    pub name: String,
    /// How far in it the address is.
    pub offset: usize,
}

/// The file of the object around a loaded address. The loader names the program by the word with
/// which it was started, which may not lead there any more.
pub fn path_of(object: &LoadedAddress) -> PathBuf {
    let path: &CStr = if object.is_program() { c"/proc/self/exe" } else { object.path() };
    Path::new(OsStr::from_bytes(path.to_bytes())).to_owned()
}

impl ObjectFile {
    /// `None` if it cannot be read, or is no ELF file of 64 bits. A file without a table has no
    /// functions.
    pub fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let header: libc::Elf64_Ehdr = read(&file, 0, 1)?.pop()?;
        header.e_ident.starts_with(b"\x7fELF\x02\x01").then_some(())?;
        let table = symbol_table(&file, &header).unwrap_or_default();
        let is_fixed = header.e_type == libc::ET_EXEC;
        Some(Self { file, is_fixed, functions: table.functions, names: table.names })
    }

    /// The address in the file of what is loaded at `address`, in the object that begins at `base`.
    pub fn unloaded(&self, address: usize, base: usize) -> usize {
        if self.is_fixed { address } else { address - base }
    }

    /// The function around an address in the file.
    pub fn function(&self, address: usize) -> Option<FoundFunction> {
        let address = address as u64;
        let behind = self.functions.partition_point(|symbol| symbol.st_value <= address);
        let symbol = self.functions.get(behind.checked_sub(1)?)?;
        let offset = address - symbol.st_value;
        (offset < symbol.st_size.max(1)).then_some(())?;
        let mut name = [0; LONGEST];
        let length = self.file.read_at(&mut name, self.names + u64::from(symbol.st_name)).ok()?;
        let name = name[..length].split(|&byte| byte == 0).next()?;
        Some(FoundFunction { name: String::from_utf8_lossy(name).into_owned(), offset: offset as usize })
    }
}

#[derive(Default)]
struct SymbolTable {
    functions: Vec<libc::Elf64_Sym>,
    names: u64,
}

fn symbol_table(file: &File, header: &libc::Elf64_Ehdr) -> Option<SymbolTable> {
    let sections: Vec<libc::Elf64_Shdr> = read(file, header.e_shoff, header.e_shnum.into())?;
    let table = sections.iter().find(|section| section.sh_type == SHT_SYMTAB)?;
    let names = sections.get(table.sh_link as usize)?.sh_offset;
    let count = usize::try_from(table.sh_size).ok()? / size_of::<libc::Elf64_Sym>();
    let mut functions: Vec<libc::Elf64_Sym> = read(file, table.sh_offset, count)?;
    functions
        .retain(|symbol| symbol.st_info & 0xf == STT_FUNC && symbol.st_shndx != 0 && symbol.st_value != 0);
    functions.sort_by_key(|symbol| (symbol.st_value, symbol.st_size));
    Some(SymbolTable { functions, names })
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

    #[inline(never)]
    fn something_local() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_local_function_is_found_by_its_address() {
        let address = something_local as *const () as usize;
        let object = LoadedAddress::of(address).expect("loaded");
        let file = ObjectFile::open(&path_of(&object)).expect("this program");
        let found = file.function(file.unloaded(address + 1, object.base())).expect("not stripped");
        assert!(found.name.contains("something_local") && found.offset == 1, "{found:?}");
        assert!(file.function(0).is_none());
    }

    #[test]
    fn what_is_no_object_file_has_no_functions() {
        for path in ["/proc/self/maps", "/dev/null", "/there/is/none"] {
            assert!(ObjectFile::open(Path::new(path)).is_none(), "{path}");
        }
    }
}
