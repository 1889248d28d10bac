//! The program: where it is, and whether the runtime can be put under it.
//!
//! The kernel and the loader decide that by the content of the file, so it is known before the
//! start. A program that is linked statically loads nothing. A program with another loader than
//! glibc's (musl's) cannot load a library for glibc. For a program that gains rights when it starts
//! (setuid) the loader ignores the environment. Those are refused, because they would run on their
//! own runtime without a word. A program with a copy of a runtime linked in does load the library,
//! and goes on using its copy: that is a warning.
//!
//! Of a script it is the interpreter that is looked at, and of that only the first: what a shell
//! starts is not known.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use links::object::{self, ElfObject, machine_name};

use crate::failure::CommandFailure;

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedProgram {
    /// As it was named.
    pub word: OsString,
    /// Where it is.
    pub file: PathBuf,
}

/// Scripts whose interpreters are scripts, up to this many.
const MOST_SCRIPTS: usize = 4;
/// The kernel reads no more of a script's first line.
const FIRST_LINE: u64 = 256;

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0)
}

/// Finds the program as a shell would: a name with a slash is a path, other names are looked for on
/// `path`.
pub fn find(word: &OsStr, path: Option<&OsStr>) -> Result<StartedProgram, CommandFailure> {
    let shown = word.display();
    let program = |file: PathBuf| StartedProgram { word: word.to_os_string(), file };
    if word.as_bytes().contains(&b'/') {
        let file = PathBuf::from(word);
        return match fs::metadata(&file) {
            Err(why) => Err(CommandFailure::of_exec(&shown.to_string(), &why)),
            Ok(what) if what.is_dir() => Err(CommandFailure::not_runnable(format!("{shown} is a directory"))),
            Ok(_) if !is_executable(&file) => {
                Err(CommandFailure::not_runnable(format!("{shown} is not executable")))
            }
            Ok(_) => Ok(program(file)),
        };
    }
    let places: Vec<PathBuf> = path.into_iter().flat_map(env::split_paths).map(|d| d.join(word)).collect();
    if let Some(file) = places.iter().find(|f| is_executable(f)) {
        return Ok(program(file.clone()));
    }
    match places.iter().find(|f| f.is_file()) {
        Some(file) => Err(CommandFailure::not_runnable(format!("{} is not executable", file.display()))),
        None => Err(CommandFailure::not_found(format!("{shown} is not on PATH"))),
    }
}

/// What a file is that the kernel is asked to run.
enum FileKind {
    Elf(ElfObject),
    /// A script, with the path behind `#!`.
    Script(PathBuf),
    Other,
    /// It may be run, but not read.
    Unreadable,
}

fn kind(file: &Path) -> Result<FileKind, CommandFailure> {
    let problem = |why: io::Error| CommandFailure::of_exec(&file.display().to_string(), &why);
    match object::read(file) {
        Ok(Some(object)) => return Ok(FileKind::Elf(object)),
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => return Ok(FileKind::Unreadable),
        Err(why) => return Err(problem(why)),
        Ok(None) => {}
    }
    let mut first = Vec::new();
    fs::File::open(file).and_then(|f| f.take(FIRST_LINE).read_to_end(&mut first)).map_err(problem)?;
    Ok(interpreter(&first).map_or(FileKind::Other, FileKind::Script))
}

/// The interpreter that a script's first bytes name.
fn interpreter(first: &[u8]) -> Option<PathBuf> {
    let line = first.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let word = line.split(|b| b" \t".contains(b)).find(|w| !w.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

/// What was found out about a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramVerdict {
    /// Why the runtime cannot be put under it.
    pub obstacle: Option<String>,
    /// What its user should know all the same.
    pub warning: Option<String>,
}

/// The ELF file that the kernel starts for the program: itself, or the interpreter of a script.
pub fn started(program: &StartedProgram) -> PathBuf {
    let mut file = program.file.clone();
    for _ in 0..MOST_SCRIPTS {
        match kind(&file) {
            Ok(FileKind::Script(interpreter)) => file = interpreter,
            _ => break,
        }
    }
    file
}

/// Whether the runtime can be put under the program.
pub fn judge(program: &StartedProgram) -> Result<ProgramVerdict, CommandFailure> {
    let ours = env::current_exe().ok().and_then(|tool| object::read(&tool).ok().flatten());
    let machine = ours.map_or(object::X86_64, |o| o.machine);
    let mut file = program.file.clone();
    for _ in 0..MOST_SCRIPTS {
        match kind(&file)? {
            FileKind::Elf(object) => {
                let obstacle = obstacle(&file, &object, machine).or_else(|| rights(&file));
                let copy = object.own_runtime.filter(|_| obstacle.is_none());
                let warning = copy.map(|name| format!("{} has an OpenMP runtime linked in ({name} is defined in it), and its regions stay on that one", file.display()));
                return Ok(ProgramVerdict { obstacle, warning });
            }
            FileKind::Script(interpreter) if interpreter.exists() => file = interpreter,
            FileKind::Script(interpreter) => {
                return Err(CommandFailure::not_found(format!(
                    "{}: its interpreter {} is not there",
                    file.display(),
                    interpreter.display()
                )));
            }
            FileKind::Other => {
                let obstacle = Some(format!(
                    "{} is neither an ELF program nor a script that begins with #!",
                    file.display()
                ));
                return Ok(ProgramVerdict { obstacle, warning: None });
            }
            FileKind::Unreadable => {
                let warning = Some(format!(
                    "{} cannot be read, so nobody knows whether it runs on Gangway",
                    file.display()
                ));
                return Ok(ProgramVerdict { obstacle: None, warning });
            }
        }
    }
    Err(CommandFailure::not_runnable(format!(
        "{}: interpreters of interpreters, without an end",
        program.file.display()
    )))
}

/// What the file itself says against it.
fn obstacle(file: &Path, object: &ElfObject, machine: u16) -> Option<String> {
    let shown = file.display();
    if object.machine != machine || !object.is_wide {
        let (its, ours) = (machine_name(object.machine), machine_name(machine));
        return Some(format!("{shown} is built for {its}, the library for {ours}"));
    }
    // The loader may be called like a program, and then takes the environment as always.
    let is_glibc = |path: &Path| path.file_name().is_some_and(|n| n.as_bytes().starts_with(b"ld-linux"));
    match &object.loader {
        None if is_glibc(file) || file.canonicalize().is_ok_and(|real| is_glibc(&real)) => None,
        None => Some(format!("{shown} is linked statically, so no library can be put under it")),
        Some(loader) if is_glibc(Path::new(loader)) => None,
        Some(loader) => {
            let whose = if loader.contains("musl") { "musl's" } else { "another C library's" };
            Some(format!("{shown} is loaded by {loader}, {whose} loader; the library needs glibc"))
        }
    }
}

/// Does the program gain rights when it starts? Then the loader takes no library from the
/// environment.
fn rights(file: &Path) -> Option<String> {
    let what = fs::metadata(file).ok()?;
    // SAFETY: both only return a number.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    let gains_user = what.mode() & libc::S_ISUID != 0 && what.uid() != user;
    let gains_group =
        what.mode() & libc::S_ISGID != 0 && what.mode() & libc::S_IXGRP != 0 && what.gid() != group;
    let why = if gains_user {
        "setuid"
    } else if gains_group {
        "setgid"
    } else if user != 0 && has_capabilities(file) {
        "a program with capabilities"
    } else {
        return None;
    };
    Some(format!("{} is {why}, and for such programs the loader preloads nothing", file.display()))
}

fn has_capabilities(file: &Path) -> bool {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else { return false };
    // SAFETY: two C strings, and no room for a value, whose size is asked for.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), core::ptr::null_mut(), 0) > 0 }
}

/// Says what is against it: an obstacle refuses the program, unless it is to run anyway.
pub fn check(program: &StartedProgram, anyway: bool) -> Result<(), CommandFailure> {
    let verdict = judge(program)?;
    match (verdict.obstacle, verdict.warning) {
        (Some(obstacle), _) if !anyway => {
            Err(CommandFailure::not_runnable(format!("{obstacle} (--anyway runs it without Gangway)")))
        }
        (Some(line), _) | (None, Some(line)) => {
            eprintln!("gangway: {line}");
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let path = Some(OsStr::new("/nonexistent:/bin:/usr/bin"));
        let found = |word: &str| find(OsStr::new(word), path);
        assert!(found("sh").is_ok_and(|p| p.file == Path::new("/bin/sh") && p.word == "sh"));
        assert!(found("/bin/sh").is_ok_and(|p| p.file == Path::new("/bin/sh")));
        assert_eq!(
            found("there-is-no-such-program").unwrap_err(),
            CommandFailure::not_found("there-is-no-such-program is not on PATH")
        );
        assert_eq!(found("./there-is-no-such-program").unwrap_err().status, 127);
        assert_eq!(found("/bin").unwrap_err(), CommandFailure::not_runnable("/bin is a directory"));
        assert_eq!(
            found("/etc/passwd").unwrap_err(),
            CommandFailure::not_runnable("/etc/passwd is not executable")
        );
        assert_eq!(find(OsStr::new("passwd"), Some(OsStr::new("/etc"))).unwrap_err().status, 126);
        assert_eq!(find(OsStr::new("sh"), None).unwrap_err().status, 127);
    }

    #[test]
    fn first_lines_name_interpreters() {
        let named = |text: &str| interpreter(text.as_bytes()).map(|p| p.display().to_string());
        assert_eq!(named("#!/bin/sh\necho"), Some("/bin/sh".into()));
        assert_eq!(named("#! \t/usr/bin/env python3 -u\n"), Some("/usr/bin/env".into()));
        assert_eq!((named("# /bin/sh"), named("#!\n/bin/sh"), named("")), (None, None, None));
    }

    #[test]
    fn files_speak_for_themselves() {
        let good = ElfObject {
            machine: 62,
            is_wide: true,
            loader: Some("/lib64/ld-linux-x86-64.so.2".into()),
            ..ElfObject::default()
        };
        let said = |object: &ElfObject| obstacle(Path::new("/p"), object, 62);
        assert_eq!(said(&good), None);
        for (object, part) in [
            (ElfObject { loader: None, ..good.clone() }, "/p is linked statically"),
            (ElfObject { loader: Some("/lib/ld-musl-x86_64.so.1".into()), ..good.clone() }, "musl's loader"),
            (
                ElfObject { loader: Some("/libexec/ld-elf.so.1".into()), ..good.clone() },
                "another C library's",
            ),
            (ElfObject { machine: 183, ..good.clone() }, "/p is built for aarch64, the library for x86-64"),
            (ElfObject { machine: 3, is_wide: false, ..good.clone() }, "i386"),
        ] {
            assert!(said(&object).is_some_and(|line| line.contains(part)), "{part}");
        }
        let loader = ElfObject { loader: None, ..good };
        assert_eq!(obstacle(Path::new("/x/ld-linux-x86-64.so.2"), &loader, 62), None);
    }

    #[test]
    fn scripts_are_judged_by_their_interpreters() {
        let at = env::temp_dir().join(format!("gangway-program-{}", std::process::id()));
        let judged = |text: &str| {
            fs::write(&at, text).unwrap();
            fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
            judge(&find(at.as_os_str(), None).unwrap())
        };
        assert_eq!(judged("#!/bin/sh\n"), Ok(ProgramVerdict::default()));
        assert!(
            judged("echo\n").is_ok_and(|v| v.obstacle.is_some_and(|o| o.contains("neither an ELF program")))
        );
        assert!(
            judged("#!/nonexistent/sh\n")
                .is_err_and(|f| f.status == 127 && f.line.contains("/nonexistent/sh is not there"))
        );
        let itself = format!("#!{}\n", at.display());
        assert!(judged(&itself).is_err_and(|f| f.status == 126));
        fs::remove_file(at).unwrap();
    }
}
