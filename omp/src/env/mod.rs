//! The environment: every `OMP_*`, `KMP_*`, `GOMP_*` and `GANGWAY_*` variable that concerns the
//! host, read once.
//!
//! Nothing is read before the first call of [`settings`]: the library is preloaded into shells and
//! helpers that never use OpenMP, and must not cost them anything. What each variable means, and
//! its default, is in the one table of them, `libomp-shim/variables.tsv`, from which
//! `docs/environment.md` is written; which one wins where several speak about the same thing is in
//! `docs/environment.in.md`.
//!
//! | file | what lives there |
//! |---|---|
//! | `vars` | variables, and the reader that complains |
//! | `snapshot` | the variables of this process |
//! | `machine` | what reading needs to know of the machine |
//! | `hooks` | what other modules do when the settings have been read |
//! | `value` | parsers of single values |
//! | `places`, `kmp_affinity`, `hw_subset`, `allocator` | the four small languages |
//! | `described` | the machine that `GANGWAY_TOPOLOGY` describes |
//! | `rights` | which variables are not read in a program that gained rights |
//! | `table` | what the tables of settings become: fields, their reading and their display |
//! | `build` | from the variables to [`Settings`]: the table of tables |
//! | `threads`, `binding`, `scheduling`, `tools`, `devices`, `ranks` | tables: numbers, sizes and waiting; places; workers and gangs; tools, trace and counters; devices; MPI ranks |
//! | `per_device` | variables of single devices: checked only |
//! | `named`, `types` | enumerations with the names of their values; the types of the fields |
//! | `shown` | how values are shown |
//! | `files` | values that name files |
//! | `fuzz`, `judges`, `made_up` | tests by chance, what they require, and the machine that they are for |
//!
//! `getenv` at each use was rejected: programs change their environment while threads run.

#[cfg(test)]
mod agreement;
mod allocator;
mod binding;
mod build;
mod described;
mod devices;
mod files;
#[cfg(test)]
mod fuzz;
mod hooks;
mod hw_subset;
#[cfg(any(test, feature = "fuzz"))]
pub mod judges;
pub(crate) mod kmp_affinity;
pub(crate) mod machine;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod made_up;
mod named;
mod per_device;
pub(crate) mod places;
mod ranks;
mod rights;
mod scheduling;
mod shown;
mod snapshot;
mod table;
mod threads;
mod tools;
mod types;
mod value;
mod vars;

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use self::devices::DeviceSettings;

pub use self::build::Settings;
pub use self::devices::USUAL_MOST;
pub use self::hooks::SettingsHooks;
pub use self::kmp_affinity::{KmpAffinity, KmpKind};
pub use self::machine::EnvMachine;
pub use self::named::named;
pub use self::places::PlacesSpec;
pub use self::rights::gained as rights_gained;
pub use self::table::ShownLine;
pub use self::threads::ThreadReserve;
pub use self::tools::DEFAULT_TRACE_SHARE;
pub use self::types::*;
pub use self::vars::Vars;
use crate::{memory, report};

static SETTINGS: OnceLock<Settings> = OnceLock::new();
/// The settings, once storage, statistics, checks and trace have been started.
static STARTED: AtomicPtr<Settings> = AtomicPtr::new(ptr::null_mut());
/// The thread pointer of the thread that reads the environment, or has read it; 0: none. Only used
/// while [`SETTINGS`] is empty.
static READER: AtomicUsize = AtomicUsize::new(0);

/// Makes `name` count as set to `value` in the environment. False, with nothing done, when that has
/// been read already.
pub fn set_default(name: &str, value: &str) -> bool {
    let early = SETTINGS.get().is_none();
    if early {
        snapshot::set_default(name, value);
    }
    early
}

/// A value of `OMP_TARGET_OFFLOAD`; a wrong one gives a line and `default`.
pub fn target_offload(text: &str) -> TargetOffload {
    let vars = Vars::of(&[("OMP_TARGET_OFFLOAD", text)]);
    let mut reader = vars::VariableReader::new(&vars);
    let value = DeviceSettings::read(&mut reader).target_offload;
    reader.complaints.iter().for_each(report::warn_environment);
    value
}

/// The line about a value that was found to be unusable after the environment was read: the reason,
/// and the value used instead.
pub fn complaint(name: &str, why: &str, instead: &str) -> String {
    let mut reader = vars::VariableReader::new(&settings().vars);
    reader.complain(name, why, instead);
    reader.complaints.pop().unwrap_or_default()
}

/// The settings of this process. The first call reads the environment and starts what it asks for;
/// later calls cost one load and a branch. Thread-safe.
#[inline]
pub fn settings() -> &'static Settings {
    // ORDERING: Acquire, pairs with the Release in `read_and_start`.
    let started = STARTED.load(Ordering::Acquire);
    // SAFETY: null, or the settings, which are never moved.
    unsafe { started.as_ref() }.unwrap_or_else(read_and_start)
}

#[cold]
#[inline(never)]
fn read_and_start() -> &'static Settings {
    static START: Once = Once::new();
    let settings = read();
    START.call_once(|| hooks::started(settings));
    // ORDERING: Release, pairs with the Acquire in `settings`.
    STARTED.store(ptr::from_ref(settings).cast_mut(), Ordering::Release);
    settings
}

/// [`settings`] for routines that only query. Starts nothing. The program's allocator may call it
/// in the middle of an allocation, and a signal handler at any moment. So reading the environment
/// takes memory from [`memory`]'s arena (only if that is full, from the program's allocator).
/// `None` if the calling thread is reading the environment. Other threads wait for that.
#[inline]
pub fn settings_for_query() -> Option<&'static Settings> {
    SETTINGS.get().or_else(read_unless_reader)
}

#[cold]
#[inline(never)]
fn read_unless_reader() -> Option<&'static Settings> {
    // ORDERING: Relaxed; the thread's own pointer is only here if it has stored it.
    (READER.load(Ordering::Relaxed) != ult::sys::arch::thread_pointer()).then(read)
}

/// Reads the environment at the first call, and prints complaints about wrong values, and what
/// `OMP_DISPLAY_ENV` and `KMP_SETTINGS` ask for. One thread reads. Other threads wait, also in
/// signal handlers. The thread that reads waits for none of them.
#[cold]
fn read() -> &'static Settings {
    // ORDERING: Relaxed, both; `SETTINGS` publishes what is read.
    if READER
        .compare_exchange(0, ult::sys::arch::thread_pointer(), Ordering::Relaxed, Ordering::Relaxed)
        .is_err()
    {
        loop {
            match SETTINGS.get() {
                Some(settings) => return settings,
                None => ult::sys::thread::give_core(),
            }
        }
    }
    let settings = memory::from_arena(|| {
        let vars = Vars::of_process();
        let mut said = vars.refusals();
        said.extend(described::believe(&vars));
        let (mut settings, complaints) = Settings::build(vars, &EnvMachine::this());
        settings.anchor_files();
        said.iter().chain(&complaints).for_each(report::warn_environment);
        hooks::read(&settings);
        settings
    });
    SETTINGS.get_or_init(|| settings)
}

/// In the child of a fork: another thread of the parent may have been reading, which the child does
/// not have.
pub fn forget_reader_after_fork() {
    // ORDERING: Relaxed, here and there; the child has one thread.
    if SETTINGS.get().is_none() && READER.load(Ordering::Relaxed) != ult::sys::arch::thread_pointer() {
        memory::forget_owner_after_fork();
        READER.store(0, Ordering::Relaxed);
    }
}

/// Settings of a made-up machine of eight cores with two hardware threads each, two sockets; wrong
/// values panic.
#[cfg(test)]
pub(crate) fn test_settings(pairs: &[(&str, &str)]) -> Settings {
    let (settings, complaints) = made_up::build(pairs);
    assert_eq!(complaints, Vec::<String>::new());
    settings
}

/// The made-up machine of [`test_settings`].
#[cfg(test)]
pub(crate) use made_up::machine as test_machine;

#[cfg(test)]
pub(crate) mod test_policies;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Not a test by itself: what the others run in a process of its own, where `settings()` has
    /// not been called.
    #[test]
    fn child() {
        if std::env::var_os("GANGWAY_TEST_CHILD").is_some() {
            let start = std::time::Instant::now();
            let threads = settings().initial.nthreads;
            println!("threads={threads} us={}", start.elapsed().as_micros());
        }
    }

    /// Standard output and error of a process with these variables.
    fn run(pairs: &[(&str, &str)]) -> (String, String) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "--nocapture", "env::tests::child"])
            .env_clear()
            .env("GANGWAY_TEST_CHILD", "1");
        let output = command.envs(pairs.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    #[test]
    fn a_quiet_process_says_nothing() {
        let (out, err) = run(&[("OMP_NUM_THREADS", "3")]);
        assert!(out.contains("threads=3 "), "{out}");
        assert_eq!(err, "");
    }

    #[test]
    fn a_wrong_value_is_one_line_and_can_be_silenced() {
        let (_, err) = run(&[("OMP_DYNAMIC", "perhaps")]);
        assert_eq!(err, "OMP: Warning #42: gangway: OMP_DYNAMIC='perhaps': not true or false; using false\n");
        assert_eq!(run(&[("OMP_DYNAMIC", "perhaps"), ("KMP_WARNINGS", "0")]).1, "");
    }

    #[test]
    fn the_environment_is_displayed_once_when_asked_for() {
        let (_, err) = run(&[("OMP_DISPLAY_ENV", "true"), ("OMP_NUM_THREADS", "5")]);
        assert_eq!(err.matches("DISPLAY ENVIRONMENT BEGIN").count(), 1);
        assert!(err.contains("  [host] OMP_NUM_THREADS='5'\n") && !err.contains("KMP_"), "{err}");
        assert!(run(&[("KMP_SETTINGS", "1")]).1.contains("Effective settings:"));
    }
}
