//! Trays and files: elements as they lie in memory, one behind the other, those of the first tray
//! of the list first.
//!
//! The rank that calls reads and writes the file, so it need be nowhere else; and the same file
//! comes of any number of ranks. Rejected: every rank its own part (needs a file system that all of
//! them see, and a collective call).

use std::fs::File;
use std::io::{self, Read, Write};

use super::calls::{At, about, check, read, write};
use super::kind::ElementType;
use super::tray::split;
use crate::remote::RemoteFault;
use omp::report;
use omp::user_files::NewFile;

const SCATTER: &str = "ompx_tray_scatter_file";

/// What went wrong with a file, as a line.
fn described(routine: &str, path: &str, why: &dyn core::fmt::Display) -> RemoteFault {
    report::warn(format_args!("{routine}: '{path}': {why}"));
    RemoteFault::File
}

/// How many whole elements the file has.
fn elements(path: &str, file: &File, kind: ElementType) -> Result<usize, RemoteFault> {
    let described = |path, why: &dyn core::fmt::Display| described(SCATTER, path, why);
    let bytes = file.metadata().map_err(|why| described(path, &why))?.len();
    let bytes = usize::try_from(bytes).map_err(|_| RemoteFault::Memory)?;
    if !bytes.is_multiple_of(kind.size()) {
        return Err(described(
            path,
            &format_args!("{bytes} bytes are not a number of elements of {} bytes", kind.size()),
        ));
    }
    Ok(bytes / kind.size())
}

/// The trays get the elements of a file, as even as possible.
///
/// # Errors
/// The file cannot be read, or is no number of elements; as [`write()`]. Trays before the one that
/// it happened with have theirs.
pub fn scatter(path: &str, kind: u64, into: &[At]) -> Result<(), RemoteFault> {
    let element = ElementType::new(kind)?;
    if into.is_empty() {
        return Err(RemoteFault::Count);
    }
    check(into)?;
    let mut file = File::open(path).map_err(|why| described(SCATTER, path, &why))?;
    let count = elements(path, &file, element)?;
    let mut part = Vec::new();
    for (at, &tray) in into.iter().enumerate() {
        part.resize(split(count, at, into.len()).len() * element.size(), 0);
        file.read_exact(&mut part).map_err(|why| described(SCATTER, path, &why))?;
        write(tray, kind, &part)?;
    }
    Ok(())
}

/// A file gets the elements of the trays. It is there when all of them are in it: until then they
/// are in one beside it.
///
/// # Errors
/// The file cannot be written; a tray is not there, or has another type. Then there is no new file.
pub fn gather(from: &[At], kind: u64, path: &str) -> Result<(), RemoteFault> {
    ElementType::new(kind)?;
    if from.is_empty() {
        return Err(RemoteFault::Count);
    }
    let described = |why: io::Error| described("ompx_tray_gather_file", path, &why);
    let mut file = NewFile::create(path).map_err(described)?;
    for &tray in from {
        let [size, type_of] = about(tray)?;
        if type_of != kind {
            return Err(RemoteFault::Type);
        }
        let bytes = read(tray, Some(size))?;
        if bytes.size() != 0 {
            // SAFETY: "ours" of `Bytes`.
            file.write_all(unsafe { core::slice::from_raw_parts(bytes.address(), bytes.size()) })
                .map_err(described)?;
        }
    }
    file.complete().map_err(described)
}
