//! The machine that is believed in instead of the one that is there, and the masks that its threads
//! believe to have.
//!
//! Binding asks the kernel, too: processors that exist are really bound to. If none of them exists,
//! the thread may run anywhere that the process may, and the caller gets the kernel's error. What a
//! thread believes is kept by kernel thread number; a number that the kernel gives out again brings
//! the old mask with it. The lock is held for a few hundred instructions; a child of a fork that
//! falls into them waits for ever, which is accepted for a machine that does not exist.

use super::{Description, affinity};
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

struct Belief {
    machine: Description,
    /// Ascending.
    allowed: Vec<usize>,
    /// Where the process may really run.
    real: Vec<usize>,
}

static BELIEF: OnceLock<Belief> = OnceLock::new();
/// By kernel thread: what it believes to be bound to.
static MASKS: Mutex<Vec<(libc::pid_t, Vec<usize>)>> = Mutex::new(Vec::new());

fn masks() -> MutexGuard<'static, Vec<(libc::pid_t, Vec<usize>)>> {
    MASKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on `machine` is what this process runs on, whatever the kernel says. Has to come
/// before the first question: answers that were given stay. False, with nothing done, if another
/// machine is believed in already. Thread-safe.
pub fn believe(machine: Description) -> bool {
    let allowed = machine.allowed();
    BELIEF.set(Belief { machine, allowed, real: affinity::process_cpus() }).is_ok()
}

pub(super) fn machine() -> Option<&'static Description> {
    BELIEF.get().map(|belief| &belief.machine)
}

/// What the calling kernel thread believes to be bound to; `None` where the machine is the real
/// one.
pub(super) fn mask() -> Option<Vec<usize>> {
    let belief = BELIEF.get()?;
    let masks = masks();
    let own = masks.iter().find(|(thread, _)| *thread == caller());
    Some(own.map_or_else(|| belief.allowed.clone(), |(_, mask)| mask.clone()))
}

/// How many they are. Does not allocate.
pub(super) fn mask_len() -> Option<usize> {
    let belief = BELIEF.get()?;
    let masks = masks();
    Some(
        masks
            .iter()
            .find(|(thread, _)| *thread == caller())
            .map_or(belief.allowed.len(), |(_, mask)| mask.len()),
    )
}

/// Binds the calling kernel thread as far as that can be; `None` where the machine is the real one.
pub(super) fn bind(cpus: &[usize]) -> Option<io::Result<()>> {
    let belief = BELIEF.get()?;
    let mask: Vec<usize> = belief.allowed.iter().copied().filter(|os| cpus.contains(os)).collect();
    if mask.is_empty() {
        return Some(Err(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    let refusal = affinity::bind_to(&mask).err();
    note(mask);
    Some(refusal.map_or(Ok(()), |error| {
        // Its starter may have been bound to one processor, and it has inherited that.
        let _ = affinity::bind_to(&belief.real);
        Err(error)
    }))
}

fn note(mask: Vec<usize>) {
    let mut masks = masks();
    match masks.iter_mut().find(|(thread, _)| *thread == caller()) {
        Some((_, own)) => *own = mask,
        None => masks.push((caller(), mask)),
    }
}

fn caller() -> libc::pid_t {
    crate::sys::thread::number()
}
