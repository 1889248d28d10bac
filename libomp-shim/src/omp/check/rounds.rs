//! Looks at all ranks: rank 0 asks, everybody answers, half a second later again.
//!
//! An answer is made where the question is handled, in the middle of the bridge, so it does not count itself: while nothing else goes on, all
//! ranks together have handled as many messages as they have sent (`docs/protocols/bridge.md`, the waves).

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mpi_bridge::table::Message;

use super::verdict::{Sample, Verdict, Wait};
use super::waits::{self, Promise, What};
use crate::omp::device::rank::link::opened;
use crate::omp::device::rank::wire::{Reader, verb};
use crate::omp::device::rank::{Cluster, cluster};
use crate::omp::remote::Handle;
use crate::omp::remote::server::SERVER;
use crate::omp::report;
use crate::omp::thread::Here;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// A rank that takes longer to answer is left out: that look says nothing.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(5);
/// Waits in one answer, and the bytes of their words: an answer is one message.
const MOST_WAITS: usize = 48;
const MOST_TEXT: usize = 72;

/// The thread that asks has been started.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// What has come of the running look, by rank.
static ANSWERS: Mutex<(u64, Vec<Option<Sample>>)> = Mutex::new((0, Vec::new()));

fn answers() -> std::sync::MutexGuard<'static, (u64, Vec<Option<Sample>>)> {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ranks have come together, and the caller runs `main` or serves: rank 0 begins to look, if `GANGWAY_CHECK` says so.
pub fn begin(rank: u32) {
    if !super::is_on() {
        return;
    }
    // What a thread does is known from its first call on.
    Here::get();
    if rank == 0 {
        start();
    }
}

/// A process without ranks has somebody who waits.
pub fn begin_alone() {
    if cluster().is_none() {
        start();
    }
}

fn start() {
    // ORDERING: Relaxed; only who is first matters.
    if BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let thread = std::thread::Builder::new().name("gangway-check".into()).stack_size(1 << 20).spawn(look_again_and_again);
    if let Err(why) = thread {
        report::warn(format_args!("GANGWAY_CHECK: no thread to look with: {why}; nothing is checked"));
    }
}

fn look_again_and_again() {
    let mut verdict = Verdict::default();
    for round in 1.. {
        std::thread::sleep(EVERY);
        if cluster().is_some_and(Cluster::is_over) || SERVER.is_lost() {
            return;
        }
        for line in look(round).map(|ranks| verdict.look(ranks)).unwrap_or_default() {
            report::warn(line);
        }
    }
}

/// Samples of all ranks, if all answer.
fn look(round: u64) -> Option<Vec<Sample>> {
    let own = sample();
    let Some(cluster) = cluster() else { return Some(vec![own]) };
    *answers() = (round, vec![None; cluster.ranks as usize]);
    answers().1[0] = Some(own);
    for rank in 1..cluster.ranks {
        cluster.post(rank, verb::LOOK, &[round], &[], 0).ok()?;
    }
    let asked = Instant::now();
    loop {
        if answers().1.iter().all(Option::is_some) {
            return core::mem::take(&mut answers().1).into_iter().collect();
        }
        if cluster.is_over() || asked.elapsed() > ANSWERED_WITHIN {
            return None;
        }
        std::thread::sleep(GLANCE);
        cluster.progress();
    }
}

// ---- what a rank says of itself -----------------------------------------------------------------------------------------

fn sample() -> Sample {
    let all = waits::all();
    let held: Vec<i32> = all.iter().map(|(waiting, _)| waiting.holds).collect();
    let (sent, handled, transfers) = cluster().map_or((0, 0, 0), Cluster::traffic);
    let leaving = cluster().is_some_and(Cluster::has_run_main).then(std::process::id);
    let is_idle = |thread: i32| held.contains(&thread) || leaving == Some(thread as u32);
    Sample {
        runs: ult::worker::somebody_runs(is_idle),
        sent,
        handled,
        transfers,
        taken: SERVER.taken(),
        waits: all.iter().take(MOST_WAITS).map(|(waiting, promise)| in_words(waiting, *promise)).collect(),
        more: all.len().saturating_sub(MOST_WAITS) as u64,
    }
}

fn in_words(waiting: &waits::Waiting, promise: Option<Promise>) -> Wait {
    let who = match (waiting.whose, waiting.itself) {
        (None, _) => "main".into(),
        (Some(activity), true) => name(activity.function),
        (Some(activity), false) => format!("a task of {}", name(activity.function)),
    };
    let what = match (waiting.what, promise) {
        (What::Future(_), Some(Promise { function, rank: Some(rank) })) => format!("the value of {} on rank {rank}", name(function)),
        (What::Future(_), Some(Promise { function, rank: None })) => format!("the value of {} on a mobile object", name(function)),
        (What::Future(future), None) => format!("future {}, which nobody has set", future.id),
        (What::Library, _) => "a library, MPI perhaps (ompx_suspend_until)".into(),
        (What::Condition, _) => "the condition of ompx_wait_until".into(),
    };
    let value = match waiting.what {
        What::Future(future) => Some(future),
        _ => None,
    };
    let sets = waiting.whose.filter(|_| waiting.itself).and_then(|activity| activity.future);
    Wait { number: waiting.number, sets, value, who: cut(who), what: cut(what) }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MOST_TEXT));
    text.replace('\n', " ")
}

/// A function's name where the loader knows it, else its module and the offset there.
fn name(function: usize) -> String {
    // SAFETY: a valid out pointer; names are the loader's C strings.
    unsafe {
        let mut object: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(function as *const c_void, &raw mut object) == 0 {
            return format!("{function:#x}");
        }
        let text = |name: *const core::ffi::c_char| (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned());
        if let Some(name) = text(object.dli_sname).filter(|_| object.dli_saddr.addr() == function) {
            return name;
        }
        let module = text(object.dli_fname).unwrap_or_default();
        let module = module.rsplit('/').next().unwrap_or_default();
        format!("{module}+{:#x}", function - object.dli_fbase.addr())
    }
}

// ---- messages -----------------------------------------------------------------------------------------------------------

/// [`verb::LOOK`].
///
/// # Safety
/// The bridge's message.
pub unsafe extern "C" fn asked(_: *mut c_void, message: *const Message) {
    let Some(cluster) = cluster() else { return };
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let (words, text) = written(reader.word(), &sample());
    // A bridge that fails has ended all ranks, or is about to.
    drop(cluster.post(source, verb::LOOKED, &words, text.as_bytes(), 0));
}

/// [`verb::LOOKED`].
///
/// # Safety
/// The bridge's message.
pub unsafe extern "C" fn answered(_: *mut c_void, message: *const Message) {
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let round = reader.word();
    let sample = read(reader);
    let mut answers = answers();
    if answers.0 == round
        && let Some(place) = answers.1.get_mut(source as usize)
    {
        *place = Some(sample);
    }
}

/// The words of an answer, and its text: two lines for each wait.
fn written(round: u64, sample: &Sample) -> (Vec<u64>, String) {
    let s = sample;
    let mut words = vec![round, s.runs.into(), s.sent, s.handled, s.transfers, s.taken, s.more, s.waits.len() as u64];
    let mut text = String::new();
    for wait in &s.waits {
        words.push(wait.number);
        words.extend(Handle::words_if(wait.sets).into_iter().chain(Handle::words_if(wait.value)));
        text.extend([&wait.who, "\n", &wait.what, "\n"]);
    }
    (words, text)
}

fn read(mut reader: Reader<'_>) -> Sample {
    let [runs, sent, handled, transfers, taken, more, count]: [u64; 7] = core::array::from_fn(|_| reader.word());
    let waits = (0..count.min(MOST_WAITS as u64)).map(|_| {
        let number = reader.word();
        let [sets, value] = core::array::from_fn(|_| Handle::if_words([reader.word(), reader.word()]));
        Wait { number, sets, value, who: String::new(), what: String::new() }
    });
    let mut waits: Vec<Wait> = waits.collect();
    let text = String::from_utf8_lossy(reader.0).into_owned();
    let mut lines = text.lines();
    for wait in &mut waits {
        (wait.who, wait.what) = (lines.next().unwrap_or_default().into(), lines.next().unwrap_or_default().into());
    }
    Sample { runs: runs != 0, sent, handled, transfers, taken, waits, more }
}

/// The most bytes of an answer, which is one message.
const LARGEST: usize = 8 * (8 + MOST_WAITS * (1 + 2 * size_of::<[u64; 2]>() / 8)) + MOST_WAITS * 2 * (MOST_TEXT + 1);
const _: () = assert!(LARGEST < 15 << 10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::omp::device::rank::wire::bytes;

    #[test]
    fn what_is_written_is_read() {
        let handle = |rank, id| Some(Handle { rank, id, generation: 9 });
        let wait = |number, sets, value| Wait { number, sets, value, who: format!("who {number}"), what: format!("what {number}") };
        let sample = Sample {
            runs: true,
            sent: 1,
            handled: 2,
            transfers: 3,
            taken: 4,
            waits: vec![wait(5, handle(0, 0), handle(3, 6)), wait(6, None, None)],
            more: 7,
        };
        let (words, text) = written(11, &sample);
        let mut message = bytes(&words).to_vec();
        message.extend_from_slice(text.as_bytes());
        let mut reader = Reader(&message);
        assert_eq!((reader.word(), read(reader)), (11, sample));
    }

    #[test]
    fn functions_have_names_or_places() {
        assert!(name(libc::getpid as *const () as usize).ends_with("getpid"));
        let inside = name(libc::getpid as *const () as usize + 1);
        assert!(inside.starts_with("libc.so") && inside.contains("+0x"), "{inside}");
        assert_eq!(name(8), "0x8");
    }
}
