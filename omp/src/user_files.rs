//! Files that the user or the program names: read whole, or written beside and put in their place
//! once they are complete.
//!
//! A file that is replaced keeps its content until the new one is complete: a full disk, or a limit
//! on the size of files, costs the new content alone. Pipes and sockets are refused, because
//! opening or reading one may wait for ever.
//!
//! What may not live here: what is in a file, and lines for people.
//!
//! Rejected: blocking SIGXFSZ while a file is written. The kernel sends it to the kernel thread
//! that writes, and a thread that writes for long may be moved to another one.

use std::fs::{self, File, FileType, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::fd::IntoRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Longest file that is read, in bytes: far beyond what any of these files needs.
const LONGEST: u64 = 64 << 20;
/// Bytes that are written at once.
const BUFFER: usize = 1 << 20;

/// The name seen from where the process is now, so that it stays the same when the process goes to
/// another directory.
pub fn absolute(name: &str) -> String {
    let here = || std::env::current_dir().ok()?.into_os_string().into_string().ok();
    match here() {
        Some(here) if !name.starts_with('/') => format!("{}/{name}", here.trim_end_matches('/')),
        _ => name.to_owned(),
    }
}

/// The text of a file. Waits for nothing but the disk.
///
/// # Errors
/// It is not there or cannot be read, is no regular file, is longer than 64 MiB, or no text.
pub fn read(name: impl AsRef<Path>) -> io::Result<String> {
    read_up_to(name, LONGEST)
}

/// [`read`] of at most so many bytes.
pub fn read_up_to(name: impl AsRef<Path>, longest: u64) -> io::Result<String> {
    // Without O_NONBLOCK opening a pipe waits for a writer.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(name)?;
    refuse(file.metadata()?.file_type(), false)?;
    let mut text = String::new();
    // Files of the system say that they are empty, so the bytes are counted as they come.
    if file.take(longest + 1).read_to_string(&mut text)? as u64 > longest {
        return Err(io::Error::other(format!("longer than {longest} bytes")));
    }
    Ok(text)
}

fn refuse(kind: FileType, may_be_device: bool) -> io::Result<()> {
    let what = match kind {
        kind if kind.is_file() || (may_be_device && kind.is_char_device()) => return Ok(()),
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::other(format!("is {what}, not a regular file")))
}

/// Whether a file of this name may be opened for writing without waiting.
///
/// # Errors
/// Something other than a regular file or a character device is there.
pub fn may_be_written(name: &str) -> io::Result<()> {
    fs::metadata(name).map_or(Ok(()), |data| refuse(data.file_type(), true))
}

/// A file that is being written. Without [`NewFile::complete`] nothing is left of it.
pub struct NewFile {
    to: Option<BufWriter<Limited>>,
    /// Its name while it is written; `None`: a device, which is written at once.
    beside: Option<PathBuf>,
    path: PathBuf,
}

impl NewFile {
    /// Begins to write the file `name`.
    ///
    /// # Errors
    /// `name` is neither a regular file nor a character device (as `/dev/null`), or neither it nor
    /// its directory can be written to.
    pub fn create(name: &str) -> io::Result<Self> {
        may_be_written(name)?;
        let path = without_links(Path::new(name));
        let Ok(old) = fs::metadata(&path) else {
            let (file, beside) = create_beside(&path, 0o666)?;
            return Ok(Self { to: Some(limited(file)), beside: Some(beside), path });
        };
        if !old.is_file() {
            // The kernel sets no limit to what a device takes.
            let to = BufWriter::with_capacity(
                BUFFER,
                Limited { file: OpenOptions::new().write(true).open(&path)?, room: libc::RLIM_INFINITY },
            );
            return Ok(Self { to: Some(to), beside: None, path });
        }
        match create_beside(&path, old.mode() & 0o777) {
            Ok((file, beside)) => {
                // The umask may have taken something from the mode; not every file system has
                // modes.
                let _ = file.set_permissions(Permissions::from_mode(old.mode() & 0o777));
                Ok(Self { to: Some(limited(file)), beside: Some(beside), path })
            }
            // A file that may be written to, in a directory that takes no other file.
            Err(why) => match OpenOptions::new().write(true).truncate(true).open(&path) {
                Ok(file) => Ok(Self { to: Some(limited(file)), beside: None, path }),
                Err(_) => Err(why),
            },
        }
    }

    /// A whole file at once.
    ///
    /// # Errors
    /// As for the other two.
    pub fn write_whole(name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut new = Self::create(name)?;
        new.write_all(bytes)?;
        new.complete()
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// What was written did not all reach the disk, or the directory does not let the file be put
    /// there. Then the old one stays.
    pub fn complete(mut self) -> io::Result<()> {
        if let Some(to) = self.to.take() {
            close(to.into_inner()?.file)?;
        }
        if let Some(beside) = &self.beside {
            match fs::rename(beside, &self.path) {
                Ok(()) => self.beside = None,
                // A file that cannot be replaced and may be written to: another user's in a sticky
                // directory, or one that is mounted by itself.
                Err(why) => fs::copy(beside, &self.path).map(drop).map_err(|_| why)?,
            }
        }
        Ok(())
    }
}

/// The file that a name leads to: a link stays, and what it leads to is replaced, or made.
pub fn without_links(name: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(name) {
        return real;
    }
    match fs::read_link(name) {
        Ok(target) => name.parent().unwrap_or(Path::new("/")).join(target),
        Err(_) => name.into(),
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.as_mut().map_or(Ok(0), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // The caller has an error to report already.
            let _ = fs::remove_file(beside);
        }
    }
}

/// Some file systems (NFS) say only here that what was written is lost.
fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was the file's, and is closed once.
    if unsafe { libc::close(file.into_raw_fd()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A new file in the directory of `path`. `create_new` skips names that exist: processes in two
/// containers may have the same number.
fn create_beside(path: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut number = 0;
    loop {
        let beside = directory.join(format!(".gangway-{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
            Err(why) => return Err(why),
        }
    }
}

/// Refuses writes beyond `RLIMIT_FSIZE`. Otherwise the kernel would send SIGXFSZ, which ends the
/// program.
struct Limited {
    file: File,
    room: u64,
}

fn limited(file: File) -> BufWriter<Limited> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for the answer.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    let room = if is_known { limit.rlim_cur } else { libc::RLIM_INFINITY };
    BufWriter::with_capacity(BUFFER, Limited { file, room })
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.room {
            return Err(io::Error::other("it would be longer than this process may write (ulimit -f)"));
        }
        let written = self.file.write(bytes)?;
        if self.room != libc::RLIM_INFINITY {
            self.room -= written as u64;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::fs::symlink;

    /// A directory of its own for a test, as text.
    fn directory(name: &str) -> String {
        let at = std::env::temp_dir().join(format!("gangway-files-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&at));
        fs::create_dir_all(&at).expect("a directory for the test");
        at.to_str().expect("text").to_owned()
    }

    fn pipe(name: &str) {
        let name = CString::new(name).unwrap();
        // SAFETY: a path.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    }

    fn names(at: &str) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(at)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_complete() {
        let at = directory("replace");
        let name = format!("{at}/trace");
        fs::write(&name, "old").unwrap();
        fs::set_permissions(&name, Permissions::from_mode(0o640)).unwrap();
        let mut new = NewFile::create(&name).unwrap();
        new.write_all(b"new").unwrap();
        new.flush().unwrap();
        assert_eq!(fs::read_to_string(&name).unwrap(), "old");
        new.complete().unwrap();
        assert_eq!(
            (fs::read_to_string(&name).unwrap().as_str(), names(&at)),
            ("new", vec!["trace".to_owned()])
        );
        assert_eq!(fs::metadata(&name).unwrap().mode() & 0o777, 0o640);
        let mut given_up = NewFile::create(&name).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!(
            (fs::read_to_string(&name).unwrap().as_str(), names(&at)),
            ("new", vec!["trace".to_owned()])
        );
        symlink("trace", format!("{at}/link")).unwrap();
        let mut new = NewFile::create(&format!("{at}/link")).unwrap();
        new.write_all(b"by link").unwrap();
        new.complete().unwrap();
        assert!(
            fs::read_to_string(&name).unwrap() == "by link"
                && fs::symlink_metadata(format!("{at}/link")).unwrap().is_symlink()
        );
        symlink("made", format!("{at}/leads-nowhere")).unwrap();
        NewFile::write_whole(&format!("{at}/leads-nowhere"), b"made").unwrap();
        assert!(
            fs::read_to_string(format!("{at}/made")).unwrap() == "made"
                && fs::symlink_metadata(format!("{at}/leads-nowhere")).unwrap().is_symlink()
        );
        fs::set_permissions(&name, Permissions::from_mode(0o600)).unwrap();
        let new = NewFile::create(&name).unwrap();
        assert_eq!(fs::metadata(new.beside.as_ref().unwrap()).unwrap().mode() & 0o777, 0o600);
        drop(new);
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn what_may_wait_for_ever_is_refused() {
        let at = directory("pipe");
        let name = format!("{at}/pipe");
        pipe(&name);
        let says = |why: io::Error, part: &str| assert!(why.to_string().contains(part), "{why}");
        says(NewFile::create(&name).err().unwrap(), "is a pipe");
        says(read(&name).unwrap_err(), "is a pipe");
        says(NewFile::create(&at).err().unwrap(), "is a directory");
        says(read("/dev/zero").unwrap_err(), "is a device");
        assert!(may_be_written(&name).is_err() && may_be_written(&format!("{at}/none")).is_ok());
        let mut null = NewFile::create("/dev/null").unwrap();
        null.write_all(b"gone").and_then(|()| null.complete()).unwrap();
        let full = NewFile::create("/dev/full")
            .and_then(|mut full| full.write_all(b"no room").and_then(|()| full.complete()));
        assert!(full.is_err_and(|why| why.kind() == io::ErrorKind::StorageFull));
        says(read_up_to("/proc/self/status", 6).unwrap_err(), "longer than 6 bytes");
        fs::write(format!("{at}/long"), "1234567").unwrap();
        says(read_up_to(format!("{at}/long"), 6).unwrap_err(), "longer than 6 bytes");
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn the_limit_of_the_process_is_kept() {
        let file = File::create("/dev/null").unwrap();
        let mut limited = Limited { file, room: 5 };
        limited.write_all(b"12345").unwrap();
        assert!(limited.write_all(b"6").unwrap_err().to_string().contains("ulimit -f"));
    }

    #[test]
    fn names_are_seen_from_here() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute("a/b"), format!("{}/a/b", here.display()));
        assert_eq!(absolute("/a/b"), "/a/b");
    }
}
