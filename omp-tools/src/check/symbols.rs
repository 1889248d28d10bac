//! Names of functions by address, for people: the loader's, or those of the object's own file where
//! the loader knows none.
//!
//! One file is opened for one line on standard error, so nothing is kept.

use ult::sys::loader::LoadedAddress;

use crate::object_file::{self, FoundFunction, ObjectFile};

/// The longest name of a file's that is reported.
const LONGEST: usize = 160;

/// `function+0xN (object+0xM)` of an address, as far as that is known; `M` is what `addr2line -e
/// object` takes.
pub fn name(address: usize) -> String {
    let Some(object) = LoadedAddress::of(address) else { return format!("{address:#x}") };
    let file = ObjectFile::open(&object_file::path_of(&object));
    let offset = file.as_ref().map_or(address - object.base(), |file| file.unloaded(address, object.base()));
    let in_object = format!("{}+{offset:#x}", String::from_utf8_lossy(object.file_name()));
    let loaders = object.nearest().map(|symbol| FoundFunction {
        name: symbol.name.to_string_lossy().into_owned(),
        offset: address - symbol.address,
    });
    match loaders.or_else(|| file?.function(offset).map(cut)) {
        Some(FoundFunction { name, offset: 0 }) => format!("{name} ({in_object})"),
        Some(FoundFunction { name, offset }) => format!("{name}+{offset:#x} ({in_object})"),
        None => in_object,
    }
}

fn cut(mut function: FoundFunction) -> FoundFunction {
    function.name.truncate(function.name.floor_char_boundary(LONGEST));
    function
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
}
