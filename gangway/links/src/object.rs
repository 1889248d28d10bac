//! What the kernel and the loader learn about a program from its file: for which machine it is,
//! which loader it asks for, which libraries it needs, and where it wants them looked for.
//!
//! Read by segments, as the loader does, and in pieces: programs may be large. Symbols are looked
//! at only to find a runtime that is linked in. The crate `object` has the structures of the format,
//! and refuses those that lie outside of the file; the limits for damaged files are ours.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use ::object::elf::{self, FileHeader32, FileHeader64, ProgramHeader64};
use ::object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _};
use ::object::read::{ReadCache, ReadRef};
use ::object::{Endian as _, Endianness};

/// `e_machine` of x86-64.
pub const X86_64: u16 = elf::EM_X86_64.0;

/// open(2); of Linux on x86-64 and aarch64.
const O_NONBLOCK: i32 = 0o4000;
/// No more of a file is read than this.
const MAX_BYTES: u64 = 512 << 20;
/// Longest path that the kernel takes, in bytes (`PATH_MAX` without the zero at its end): longer
/// names of libraries lead nowhere.
pub const MAX_PATH_BYTES: usize = 4095;
/// Longest list of directories: a few paths.
const MAX_LIST_BYTES: usize = 16 * MAX_PATH_BYTES;
/// Libraries, directories of a list, and tables of symbols that are looked at. Chosen: far more
/// than any program has; a damaged file may ask for thousands, each with a name as long as the
/// file.
const MAX_NEEDED: usize = 1024;
const MAX_DIRECTORIES: usize = 256;
const MAX_SYMBOL_TABLES: usize = 8;

/// Functions that every OpenMP runtime for GCC's or LLVM's code defines.
const OF_RUNTIMES: [&str; 3] = ["GOMP_parallel", "__kmpc_fork_call", "GOMP_parallel_start"];

/// An ELF file that the kernel or the loader may load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElfObject {
    /// `e_machine`.
    pub machine: u16,
    /// 64 bits and little endian; of others nothing else is known here.
    pub is_wide: bool,
    /// The loader that it asks for; none where it is linked statically, and in libraries.
    pub loader: Option<String>,
    /// Libraries that it needs, in order.
    pub needed: Vec<String>,
    /// Where it wants them looked for before `LD_LIBRARY_PATH`, as written: `DT_RPATH`.
    pub rpath: Vec<String>,
    /// Where behind it, as written: `DT_RUNPATH`. One that is there makes `rpath` void.
    pub runpath: Vec<String>,
    /// Its own name, by which others ask for it.
    pub soname: Option<String>,
    /// A function of an OpenMP runtime that it defines itself.
    pub own_runtime: Option<&'static str>,
}

/// The file; `Ok(None)` if it is no ELF file, or one that is cut short.
///
/// # Errors
/// It cannot be opened, or is no regular file: reading a pipe may wait for ever.
pub fn read(path: &Path) -> io::Result<Option<ElfObject>> {
    let file = File::options().read(true).custom_flags(O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let (cache, left) = (ReadCache::new(file), Cell::new(MAX_BYTES));
    Ok(parse(FilePieces { cache: &cache, left: &left }))
}

/// [`read`] of a file's bytes.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> Option<ElfObject> {
    parse(bytes)
}

/// The pieces of a file that are asked for, until so many bytes have been read. All of them are kept
/// until the file has been read.
#[derive(Clone, Copy)]
struct FilePieces<'a> {
    cache: &'a ReadCache<File>,
    left: &'a Cell<u64>,
}

impl<'a> ReadRef<'a> for FilePieces<'a> {
    fn len(self) -> Result<u64, ()> {
        self.cache.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.left.set(self.left.get().checked_sub(size).ok_or(())?);
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.cache.read_bytes_at_until(range, delimiter)
    }
}

fn parse<'a, R: ReadRef<'a>>(data: R) -> Option<ElfObject> {
    if let Ok(header) = FileHeader32::<Endianness>::parse(data) {
        let machine = header.e_machine(header.endian().ok()?).0;
        return Some(ElfObject { machine, ..ElfObject::default() });
    }
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let machine = header.e_machine(endian).0;
    if endian.is_big_endian() {
        return Some(ElfObject { machine, ..ElfObject::default() });
    }
    let segments = header.program_headers(endian, data).ok()?;
    let mut object = ElfObject { machine, is_wide: true, ..ElfObject::default() };
    if let Some(segment) = segments.iter().find(|s| s.p_type(endian) == elf::PT_INTERP) {
        object.loader = text(segment.interpreter(endian, data).ok()??);
    }
    if let Some(segment) = segments.iter().find(|s| s.p_type(endian) == elf::PT_DYNAMIC) {
        dynamic(data, endian, segments, segment, &mut object)?;
    }
    // A file without sections, or with wrong ones, runs all the same.
    object.own_runtime = own_runtime(data, endian, header);
    Some(object)
}

fn dynamic<'a, R: ReadRef<'a>>(
    data: R,
    endian: Endianness,
    segments: &[ProgramHeader64<Endianness>],
    segment: &ProgramHeader64<Endianness>,
    object: &mut ElfObject,
) -> Option<()> {
    let entries = segment.dynamic(endian, data).ok()??;
    let entries = entries.iter().map(|entry| (entry.tag(endian), entry.val(endian)));
    let entries: Vec<_> = entries.take_while(|entry| entry.0 != elf::DT_NULL).collect();
    let value = |tag| entries.iter().find(|e| e.0 == tag).map(|e| e.1);
    let (Some(address), Some(size)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else {
        return Some(());
    };
    let loaded = segments.iter().filter(|s| s.p_type(endian) == elf::PT_LOAD);
    let mut offsets = loaded.filter_map(|s| {
        let within = address.checked_sub(s.p_vaddr(endian))?;
        (within < s.p_filesz(endian)).then(|| s.p_offset(endian).checked_add(within))
    });
    let strings = data.read_bytes_at(offsets.next()??, size).ok()?;
    for &(tag, value) in &entries {
        let word = |longest: usize| {
            let rest = strings.get(usize::try_from(value).ok()?..)?;
            let length = rest.iter().take(longest + 1).position(|&byte| byte == 0)?;
            text(&rest[..length])
        };
        match tag {
            elf::DT_NEEDED if object.needed.len() == MAX_NEEDED => return None,
            elf::DT_NEEDED => object.needed.push(word(MAX_PATH_BYTES)?),
            elf::DT_SONAME => object.soname = Some(word(MAX_PATH_BYTES)?),
            elf::DT_RPATH => object.rpath = list(&word(MAX_LIST_BYTES)?),
            elf::DT_RUNPATH => object.runpath = list(&word(MAX_LIST_BYTES)?),
            _ => {}
        }
    }
    Some(())
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

fn list(paths: &str) -> Vec<String> {
    paths.split(':').filter(|p| !p.is_empty()).take(MAX_DIRECTORIES).map(str::to_string).collect()
}

/// A symbol counts when it is defined, that is, in a section.
fn own_runtime<'a, R: ReadRef<'a>>(
    data: R,
    endian: Endianness,
    header: &FileHeader64<Endianness>,
) -> Option<&'static str> {
    let sections = header.section_headers(endian, data).ok()?;
    sections
        .iter()
        .filter(|section| matches!(section.sh_type(endian), elf::SHT_SYMTAB | elf::SHT_DYNSYM))
        .take(MAX_SYMBOL_TABLES)
        .find_map(|section| {
            let symbols = section.data_as_array::<elf::Sym64<Endianness>, R>(endian, data).ok()?;
            let strings = sections.get(usize::try_from(section.sh_link(endian)).ok()?)?;
            let strings = strings.data(endian, data).ok()?;
            symbols.iter().filter(|symbol| !symbol.is_undefined(endian)).find_map(|symbol| {
                // Names of damaged files may be very long: no end is looked for.
                let name = strings.get(usize::try_from(symbol.st_name(endian)).ok()?..)?;
                OF_RUNTIMES
                    .into_iter()
                    .find(|known| name.starts_with(known.as_bytes()) && name.get(known.len()) == Some(&0))
            })
        })
}

/// The machine's name, for people.
#[must_use]
pub fn machine_name(machine: u16) -> String {
    match machine {
        3 => "i386".into(),
        20 | 21 => "PowerPC".into(),
        22 => "s390".into(),
        40 => "ARM".into(),
        X86_64 => "x86-64".into(),
        183 => "aarch64".into(),
        243 => "RISC-V".into(),
        258 => "LoongArch".into(),
        other => format!("machine {other} of the ELF specification"),
    }
}

#[cfg(test)]
mod tests {
    use super::of_bytes as of;
    use super::*;

    const HEADER_BYTES: usize = 64;
    const SYMBOL_BYTES: usize = 24;

    /// Counts the bytes that are asked for.
    #[derive(Clone, Copy)]
    struct CountedBytes<'a> {
        bytes: &'a [u8],
        count: &'a Cell<u64>,
    }

    impl<'a> ReadRef<'a> for CountedBytes<'a> {
        fn len(self) -> Result<u64, ()> {
            ReadRef::len(self.bytes)
        }

        fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
            let piece = self.bytes.read_bytes_at(offset, size)?;
            self.count.set(self.count.get() + size);
            Ok(piece)
        }

        fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
            self.bytes.read_bytes_at_until(range, delimiter)
        }
    }

    #[test]
    fn this_program_is_loaded_by_the_c_library_s_loader() {
        let program = read(&std::env::current_exe().unwrap()).unwrap().unwrap();
        assert!(
            program.is_wide && program.loader.as_ref().is_some_and(|l| l.contains("ld-linux")),
            "{program:?}"
        );
        assert!(program.needed.iter().any(|n| n == "libc.so.6"), "{program:?}");
        assert_eq!(program.own_runtime, None);
    }

    /// A file with these segments (kind, bytes), each at an address of its own, and a loaded one
    /// over all.
    fn made(machine: u16, pieces: &[(u32, &[u8])]) -> Vec<u8> {
        let count = pieces.len() + 1;
        let mut bytes = vec![0; HEADER_BYTES + 56 * count];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[0x20] = HEADER_BYTES as u8;
        (bytes[0x36], bytes[0x38]) = (56, count as u8);
        let mut places = Vec::new();
        for (kind, piece) in pieces {
            places.push((*kind, bytes.len() as u64, piece.len() as u64));
            bytes.extend_from_slice(piece);
        }
        places.push((elf::PT_LOAD.0, 0, bytes.len() as u64));
        for (i, (kind, offset, size)) in places.into_iter().enumerate() {
            let at = HEADER_BYTES + 56 * i;
            bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&offset.to_le_bytes());
            bytes[at + 16..at + 24].copy_from_slice(&(offset + 0x1000).to_le_bytes());
            bytes[at + 32..at + 40].copy_from_slice(&size.to_le_bytes());
        }
        bytes
    }

    fn entries(list: &[(elf::DynamicTag, u64)]) -> Vec<u8> {
        list.iter().flat_map(|(tag, value)| [tag.0.to_le_bytes(), value.to_le_bytes()].concat()).collect()
    }

    /// A program that has everything that is read.
    fn whole() -> Vec<u8> {
        let strings = b"\0libmpi.so.40\0$ORIGIN/../lib:/opt/mpi\0libx.so.1\0/r\0";
        let loader = b"/lib64/ld-linux-x86-64.so.2\0";
        // The strings come first, behind the header and four program headers.
        let address = 0x1000 + (HEADER_BYTES + 56 * 4) as u64;
        let dynamic = entries(&[
            (elf::DT_NEEDED, 1),
            (elf::DT_RUNPATH, 14),
            (elf::DT_SONAME, 38),
            (elf::DT_RPATH, 48),
            (elf::DT_STRTAB, address),
            (elf::DT_STRSZ, strings.len() as u64),
            (elf::DT_NULL, 0),
            (elf::DT_NEEDED, 1),
        ]);
        made(X86_64, &[(99, strings), (elf::PT_INTERP.0, loader), (elf::PT_DYNAMIC.0, &dynamic)])
    }

    #[test]
    fn loader_libraries_and_paths_are_found() {
        let file = whole();
        let object = of(&file).unwrap();
        assert_eq!(object.loader.as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
        assert_eq!(
            (object.needed, object.runpath),
            (vec!["libmpi.so.40".to_string()], vec!["$ORIGIN/../lib".into(), "/opt/mpi".into()])
        );
        assert_eq!((object.soname.as_deref(), object.rpath), (Some("libx.so.1"), vec!["/r".to_string()]));
        assert_eq!((object.machine, object.is_wide, object.own_runtime), (X86_64, true, None));
        assert_eq!(of(&file[..file.len() - 40]), None, "cut short");
    }

    #[test]
    fn thousands_of_libraries_and_endless_names_are_no_program() {
        let address = 0x1000 + (HEADER_BYTES + 56 * 3) as u64;
        let of_names = |count: usize, strings: &[u8]| {
            let mut list = vec![(elf::DT_NEEDED, 0); count];
            list.extend([(elf::DT_STRTAB, address), (elf::DT_STRSZ, strings.len() as u64)]);
            of(&made(X86_64, &[(99, strings), (elf::PT_DYNAMIC.0, &entries(&list))]))
        };
        assert_eq!(of_names(MAX_NEEDED, b"liba.so\0").unwrap().needed.len(), MAX_NEEDED);
        assert_eq!(of_names(MAX_NEEDED + 1, b"liba.so\0"), None);
        assert!(of_names(1, &[vec![b'a'; MAX_PATH_BYTES], vec![0]].concat()).is_some());
        assert_eq!(of_names(1, &[vec![b'a'; MAX_PATH_BYTES + 1], vec![0]].concat()), None);
        assert_eq!(list(&"/a:".repeat(1000)).len(), MAX_DIRECTORIES);
        assert!(read(Path::new("/dev/zero")).is_err());
    }

    #[test]
    fn programs_without_a_loader_and_of_other_machines() {
        let object = of(&made(183, &[])).unwrap();
        assert_eq!((object.loader, machine_name(object.machine)), (None, "aarch64".into()));
        let mut narrow = made(3, &[]);
        narrow[4] = 1;
        assert_eq!(of(&narrow), Some(ElfObject { machine: 3, ..ElfObject::default() }));
        assert_eq!((of(b"#!/bin/sh\n# twenty bytes and more"), of(b"\x7fELF"), of(b"")), (None, None, None));
    }

    /// Damaged files by chance: no panic, and no more is read than a few times the file.
    #[test]
    fn damaged_files_are_read_or_refused() {
        let whole = whole();
        let mut state = 32_u64;
        let mut below = |count: usize| {
            // Lehmer's generator.
            state = state.wrapping_mul(0xda94_2042_e4dd_58b5) | 1;
            (state >> 33) as usize % count
        };
        let (mut read, mut objects) = (0, 0);
        for _ in 0..20_000 {
            let mut file = whole.clone();
            for _ in 0..1 + below(3) {
                let at = below(file.len());
                let values = [0, 1, 0x7f, 0x80, 0xff, below(256) as u8];
                let value = values[below(values.len())];
                file[at..].iter_mut().take([1, 1, 2, 8][below(4)]).for_each(|byte| *byte = value);
            }
            let count = Cell::new(0);
            let found = parse(CountedBytes { bytes: &file, count: &count });
            assert!(count.get() <= ((4 + 2 * MAX_SYMBOL_TABLES) * file.len()) as u64);
            (read, objects) = (read.max(count.get()), objects + usize::from(found.is_some()));
        }
        assert!(objects > 1000, "{objects} of 20000 are objects; at most {read} bytes of each");
    }

    #[test]
    fn a_runtime_that_is_linked_in_is_found() {
        for (name, section, found) in [
            ("GOMP_parallel", 7, true),
            ("GOMP_parallel", 0, false),
            ("GOMP_parallels", 7, false),
            ("__kmpc_fork_call", 1, true),
        ] {
            let mut file = made(X86_64, &[]);
            let strings = [b"\0", name.as_bytes(), b"\0"].concat();
            let mut symbols = vec![0; 2 * SYMBOL_BYTES];
            (symbols[SYMBOL_BYTES], symbols[SYMBOL_BYTES + 6]) = (1, section);
            let tables = [(elf::SHT_SYMTAB.0, symbols), (elf::SHT_STRTAB.0, strings)].map(|(kind, bytes)| {
                let at = file.len() as u64;
                file.extend_from_slice(&bytes);
                (kind, at, bytes.len() as u64)
            });
            let start = file.len() as u64;
            for (kind, at, size) in tables {
                let mut header = vec![0; 64];
                header[4..8].copy_from_slice(&kind.to_le_bytes());
                header[24..32].copy_from_slice(&at.to_le_bytes());
                header[32..40].copy_from_slice(&size.to_le_bytes());
                header[40] = 1;
                file.extend_from_slice(&header);
            }
            file[0x28..0x30].copy_from_slice(&start.to_le_bytes());
            (file[0x3a], file[0x3c]) = (64, 2);
            assert_eq!(of(&file).unwrap().own_runtime.is_some(), found, "{name} in section {section}");
        }
    }
}
