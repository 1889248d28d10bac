//! Executables and shared objects by an identity that is the same on every rank, so that an address
//! in one can be said to another rank: identity and offset.
//!
//! The identity is a hash of the build identifier that linkers put into objects, or of the code
//! where there is none. A rank that has another version of a module has no module of that identity,
//! and says so.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ult::sys::hash;
use ult::sys::loader::{ObjectRecord, find_object};

/// Type of the note with the build identifier, and its name.
const BUILD_ID: u32 = 3;
const GNU: &[u8] = b"GNU\0";
/// Bytes of code that are looked at where there is no such note.
const ENOUGH: usize = 1 << 20;

/// A loaded object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankModule {
    /// What is added to the addresses in its file.
    pub base: usize,
    /// The same on every rank that has it.
    pub identity: u64,
    /// Its file's name, for messages; empty for the executable.
    pub name: String,
}

/// An address in a module, the same on every rank that has the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleAddress {
    /// The module's identity.
    pub identity: u64,
    /// Bytes from its base.
    pub offset: u64,
}

impl ModuleAddress {
    /// As words of a message.
    pub const fn words(self) -> [u64; 2] {
        [self.identity, self.offset]
    }

    /// The address here, if this rank has the module.
    pub fn here(self) -> Option<usize> {
        base(self.identity).map(|base| base + self.offset as usize)
    }
}

#[derive(Default)]
struct RankKnown {
    /// Identities by base.
    identities: HashMap<usize, u64>,
    /// Bases by identity.
    bases: HashMap<u64, usize>,
    /// What addresses lie in.
    places: HashMap<usize, ModuleAddress>,
}

static KNOWN: Mutex<Option<RankKnown>> = Mutex::new(None);

fn known() -> MutexGuard<'static, Option<RankKnown>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A note that an object's headers point to, if its name and type are those of the build
/// identifier.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    while notes.len() > 12 {
        let (name, value) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
        let (begin, padded) = (12 + name.next_multiple_of(4), value.next_multiple_of(4));
        if word(notes, 8)? == BUILD_ID && notes.get(12..12 + name)? == GNU {
            return notes.get(begin..begin + value);
        }
        notes = notes.get(begin + padded..)?;
    }
    None
}

fn identity(object: &ObjectRecord<'_>) -> u64 {
    // SAFETY: a record of the loader's while it visits the object, which stays as long; segments of
    // these kinds are readable.
    let bytes = |h: &libc::Elf64_Phdr, most: usize| unsafe {
        let at = (object.base + h.p_vaddr as usize) as *const u8;
        core::slice::from_raw_parts(at, (h.p_filesz as usize).min(most))
    };
    let notes = object.headers.iter().filter(|h| h.p_type == libc::PT_NOTE);
    if let Some(id) = notes.map(|h| bytes(h, usize::MAX)).find_map(build_id) {
        return hash::of_bytes(1, id);
    }
    let code = object.headers.iter().filter(|h| {
        h.p_type == libc::PT_LOAD && h.p_flags & (libc::PF_X | libc::PF_R) == libc::PF_X | libc::PF_R
    });
    code.fold(2, |seed, h| hash::of_bytes(seed, bytes(h, ENOUGH)))
}

/// The object that `address` lies in.
pub fn at(address: usize) -> Option<RankModule> {
    find_object(|object| {
        object.contains(address).then(|| {
            let base = object.base;
            let known = &mut known();
            let identities = &mut known.get_or_insert_default().identities;
            let identity = *identities.entry(base).or_insert_with(|| identity(object));
            let path = object.path.to_string_lossy();
            RankModule { base, identity, name: path.rsplit('/').next().unwrap_or_default().to_owned() }
        })
    })
}

/// Identity and offset for an address of the program's.
pub fn place(address: usize) -> Option<ModuleAddress> {
    if let Some(&place) = known().get_or_insert_default().places.get(&address) {
        return Some(place);
    }
    let module = at(address)?;
    let place = ModuleAddress { identity: module.identity, offset: (address - module.base) as u64 };
    known().get_or_insert_default().places.insert(address, place);
    Some(place)
}

/// Where the module of this identity lies here.
pub fn base(identity: u64) -> Option<usize> {
    if let Some(&base) = known().get_or_insert_default().bases.get(&identity) {
        return Some(base);
    }
    let found = find_object(|object| (self::identity(object) == identity).then_some(object.base));
    if let Some(base) = found {
        known().get_or_insert_default().bases.insert(identity, base);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_again_by_identity_and_offset() {
        for address in [hash::of_bytes as *const () as usize, libc::getpid as *const () as usize] {
            assert_eq!(place(address).expect("a module").here(), Some(address));
        }
        assert_eq!((at(8), base(1)), (None, None));
        let (ours, libc) = (at(hash::of_bytes as *const () as usize), at(libc::getpid as *const () as usize));
        assert_ne!(ours.map(|m| m.identity), libc.map(|m| m.identity));
    }

    #[test]
    fn the_build_identifier_is_found_among_notes() {
        let note = |kind: u32, name: &[u8], value: &[u8]| {
            let words = [name.len() as u32, value.len() as u32, kind];
            let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
            bytes.extend_from_slice(name);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend_from_slice(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let mut notes = note(1, b"GNU\0", &[9; 5]);
        notes.extend(note(3, b"OTHER\0", &[8; 3]));
        assert_eq!(build_id(&notes), None);
        notes.extend(note(3, b"GNU\0", &[7; 20]));
        assert_eq!(build_id(&notes), Some(&[7; 20][..]));
        assert_eq!(build_id(&notes[..20]), None);
    }
}
