//! Decides which process writes the trace file when several processes were given the same name: a
//! program and the programs that it starts, or two runs at a time.
//!
//! The first process that traces to a name claims it until it ends; another one has its process
//! number in the name. The claim is a socket of the kernel's abstract names (unix(7)): it goes with
//! the process however that ends, and nothing of it lies in a directory. A forked process may
//! outlive its parent. It does not replace the parent's trace, because that file is newer than the
//! process itself.
//!
//! Rejected:
//! * A lock on the file: it would have to be made at the start, and an empty one stays behind where
//!   a program is killed.
//! * A variable for the programs that are started: `setenv` while other threads read the
//!   environment.

use core::mem;
use core::sync::atomic::{AtomicI32, Ordering};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use omp::user_files;
use ult::sys::{clock, hash};

/// The socket of this process; -1: none.
static SOCKET: AtomicI32 = AtomicI32::new(-1);

/// Claims the file `path` for this process, until it ends. False: another process has it. A file
/// that cannot be claimed for another reason counts as this process's.
pub fn take(path: &str) -> bool {
    let Some(name) = name_of(&user_files::without_links(Path::new(path))) else { return true };
    match bound(&name) {
        Ok(socket) => {
            // ORDERING: Relaxed; read in a child of this process, whose only thread has the
            // process's memory.
            SOCKET.store(socket.into_raw_fd(), Ordering::Relaxed);
            true
        }
        Err(why) => why.raw_os_error() != Some(libc::EADDRINUSE),
    }
}

/// Was the file written since this process was forked? The kernel reports the start in steps of 10
/// ms, so a file written in the first 20 ms counts as older than the process.
pub fn was_written_meanwhile(path: &str) -> bool {
    let Some((written, age)) = fs::metadata(path).and_then(|data| data.modified()).ok().zip(age()) else {
        return false;
    };
    let begun = SystemTime::now().checked_sub(age);
    begun.is_some_and(|begun| written > begun + Duration::from_millis(20))
}

/// The time since this process was forked. `exec` does not start the time anew.
fn age() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in parentheses, and may have any character; the beginning is the
    // 20th field behind it (proc(5)).
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: asks only.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&n| n > 0)?;
    clock::since_boot()?.checked_sub(Duration::from_millis(ticks * 1000 / per_second))
}

/// In the child of a fork: the file is its parent's. Only closes the descriptor, if it is a socket
/// still and not a file that the program has opened since.
pub fn forget_after_fork() {
    // ORDERING: Relaxed; there is one thread.
    let socket = SOCKET.swap(-1, Ordering::Relaxed);
    if socket >= 0 && is_ours(socket) {
        // SAFETY: a descriptor of this process that nothing else here knows.
        drop(unsafe { OwnedFd::from_raw_fd(socket) });
    }
}

const PREFIX: &str = "gangway-trace-";

/// The same for all ways to write the path, and for no other file.
fn name_of(path: &Path) -> Option<CString> {
    let directory = path.parent()?.metadata().ok()?;
    let number = hash::of_value(&(directory.dev(), directory.ino(), path.file_name()?));
    CString::new(format!("{PREFIX}{number:016x}")).ok()
}

/// The address of an abstract name, and its length.
fn address(name: &CString) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: all zero is a value of this C structure.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, &byte) in address.sun_path[1..].iter_mut().zip(name.as_bytes()) {
        *to = byte.cast_signed();
    }
    let length = mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.as_bytes().len();
    (address, length as libc::socklen_t)
}

fn bound(name: &CString) -> io::Result<OwnedFd> {
    let (address, length) = address(name);
    // SAFETY: no pointers.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: new, and ours.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: an address of this length.
    match unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

/// May run in the child of a fork: allocates nothing.
fn is_ours(socket: i32) -> bool {
    // SAFETY: all zero is a value of this C structure.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    let mut length = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: room of this length for the answer.
    let asked = unsafe { libc::getsockname(socket, (&raw mut address).cast(), &raw mut length) };
    let begins =
        address.sun_path[1..].iter().zip(PREFIX.as_bytes()).all(|(have, want)| have.cast_unsigned() == *want);
    asked == 0
        && address.sun_family == libc::AF_UNIX as libc::sa_family_t
        && address.sun_path[0] == 0
        && begins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_claimed_once_and_goes_with_its_socket() {
        let name = CString::new(format!("{PREFIX}test-{}", std::process::id())).unwrap();
        let socket = bound(&name).unwrap();
        assert!(is_ours(socket.as_raw_fd()) && !is_ours(0) && !is_ours(-1));
        assert_eq!(bound(&name).unwrap_err().raw_os_error(), Some(libc::EADDRINUSE));
        drop(socket);
        assert!(bound(&name).is_ok());
    }

    #[test]
    fn a_process_knows_which_files_are_younger() {
        let path = std::env::temp_dir().join(format!("gangway-claim-{}", std::process::id()));
        std::thread::sleep(Duration::from_millis(40));
        fs::write(&path, "").unwrap();
        let younger = || was_written_meanwhile(path.to_str().unwrap());
        assert!(younger() && age().unwrap() < Duration::from_secs(24 * 3600));
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(SystemTime::now() - age().unwrap())
            .unwrap();
        assert!(!younger());
        fs::remove_file(&path).unwrap();
        assert!(!younger());
    }

    #[test]
    fn names_are_those_of_files() {
        let here = std::env::temp_dir();
        let name = |path: &str| name_of(&here.join(path));
        assert_eq!(name("a"), name("./a"));
        assert_eq!(name("a"), name_of(&here.canonicalize().unwrap().join("a")));
        assert_ne!(name("a"), name("b"));
        assert_eq!(name("there-is-no-such-directory/a"), None);
    }
}
