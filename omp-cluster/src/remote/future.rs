//! Futures: values that come once, from any rank, and are waited for by tasks of the rank that made
//! the future.
//!
//! Invariant **woken**: a waiting task has entered its worker in the future's list while there was
//! no value, or has seen the value. The thread that sets the value takes the list under the same
//! lock, and wakes all of its workers afterwards; a worker that is about to sleep asks once more
//! (`docs/protocols/park.md`). So no worker sleeps over a value. Without a thread that looks after
//! messages (`OMPX_PROGRESS=idle`) the waiting workers look for messages themselves, and do not
//! sleep.

use core::cell::RefCell;
use core::mem;
use std::sync::Arc;

use ult::worker::Worker;

use super::check::waits;
use super::table::RemoteTable;
use super::wire;
use super::{Owner, RemoteFault, RemoteHandle, me, own, owner};
use crate::rank::{self, Cluster};
use omp::outside;
use omp_offload::bytes::Bytes;

/// What is known of a future.
#[derive(Default)]
struct Future {
    value: Option<Value>,
    /// The runtime sets it, for example at the end of a handler; the program may not.
    bound: bool,
    /// Calls that wait for it.
    waiting: u32,
    /// The workers to be woken; see "woken".
    sleepers: Vec<&'static Worker>,
}

/// A value, or why there will be none.
type Value = Result<Arc<Bytes>, RemoteFault>;

static FUTURES: RemoteTable<Future> = RemoteTable::EMPTY;

/// The setter of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The program.
    Program,
    /// The end of the handler that the future was made for. If the future has been freed meanwhile,
    /// no task wants the value.
    Handler,
    /// The rank that found that the object of the invocation does not exist. There is no value
    /// then.
    NoObject,
    /// The task that it was made for, which failed. Only ever on its own rank. There is no value
    /// then.
    Failed,
}

impl By {
    /// As it is sent.
    pub fn word(self) -> u64 {
        match self {
            Self::Program => 0,
            Self::Handler => 1,
            Self::NoObject => 2,
            Self::Failed => 3,
        }
    }

    /// The inverse.
    pub fn from_word(word: u64) -> Self {
        match word {
            0 => Self::Program,
            1 => Self::Handler,
            3 => Self::Failed,
            _ => Self::NoObject,
        }
    }
}

fn with<R>(handle: RemoteHandle, look: impl FnOnce(&mut Future) -> R) -> Result<R, RemoteFault> {
    FUTURES.with(handle.id, handle.generation, look).ok_or(RemoteFault::Stale)
}

/// A future without a value; `bound`: an invocation's.
pub fn create(bound: bool) -> RemoteHandle {
    let (id, generation) = FUTURES.insert(Future { bound, ..Future::default() });
    RemoteHandle { rank: me(), id, generation }
}

/// Sets the value of a future of this rank, and wakes the workers that wait.
///
/// # Errors
/// It has a value, or is bound while the program sets it, or is gone.
pub fn set_here(handle: RemoteHandle, value: Bytes, by: By) -> Result<(), RemoteFault> {
    let entered = with(handle, |future| {
        if future.bound && by == By::Program {
            return Err(RemoteFault::Bound);
        }
        if future.value.is_some() {
            return Err(RemoteFault::Set);
        }
        future.value = Some(match by {
            By::NoObject => Err(RemoteFault::Object),
            By::Failed => Err(RemoteFault::Broken),
            By::Program | By::Handler => Ok(Arc::new(value)),
        });
        Ok(mem::take(&mut future.sleepers))
    });
    match entered {
        Ok(sleepers) => {
            for worker in sleepers? {
                worker.wake();
            }
            Ok(())
        }
        Err(RemoteFault::Stale) if by != By::Program => Ok(()),
        Err(why) => Err(why),
    }
}

/// Sets the value of a future, wherever it is.
///
/// # Errors
/// As [`set_here`] where it is here; elsewhere those are said by its owner, and only what keeps the
/// message from going is an error.
///
/// # Safety
/// `length` bytes at `from` are readable.
pub unsafe fn set(handle: RemoteHandle, from: *const u8, length: usize, by: By) -> Result<(), RemoteFault> {
    match owner(handle.rank) {
        Ok(Owner::CurrentThread) => {
            // SAFETY: as the caller says.
            set_here(handle, unsafe { Bytes::copy(from, length) }.ok_or(RemoteFault::Memory)?, by)
        }
        // SAFETY: as the caller says.
        Ok(Owner::There(cluster, rank)) => unsafe { wire::set(cluster, rank, handle, by, from, length) },
        Err(RemoteFault::Rank) => Err(RemoteFault::Stale),
        Err(why) => Err(why),
    }
}

/// An invocation's future gets no value: its object does not exist. Also by handlers of messages.
///
/// # Errors
/// The ranks have parted.
pub fn fail(handle: RemoteHandle) -> Result<(), RemoteFault> {
    match owner(handle.rank)? {
        Owner::CurrentThread => set_here(handle, Bytes::EMPTY, By::NoObject),
        Owner::There(cluster, rank) => wire::fail(cluster, rank, handle),
    }
}

/// The value if it is there, after a look at what has come.
fn value(handle: RemoteHandle) -> Result<Option<Value>, RemoteFault> {
    let now = with(handle, |future| future.value.clone())?;
    let Some(cluster) = rank::cluster().filter(|_| now.is_none()) else {
        return Ok(now);
    };
    cluster.progress();
    with(handle, |future| future.value.clone())
}

/// Has a future of this rank its value?
///
/// # Errors
/// It is gone, or another rank's.
pub fn test(handle: RemoteHandle) -> Result<bool, RemoteFault> {
    own(handle)?;
    value(handle).map(|value| value.is_some())
}

/// Waits for the value of a future of this rank: the task is suspended, its thread runs any other
/// task of the team.
///
/// # Errors
/// It is gone, or another rank's; or it will have none, as the object was gone.
pub fn wait(handle: RemoteHandle) -> Result<Arc<Bytes>, RemoteFault> {
    own(handle)?;
    if let Some(value) = value(handle)? {
        return value;
    }
    with(handle, |future| future.waiting += 1)?;
    let seen = RefCell::new(None);
    let ready = || {
        let mut seen = seen.borrow_mut();
        if seen.is_none() {
            *seen = value(handle).transpose();
        }
        seen.is_some()
    };
    let enter: &dyn Fn(&'static Worker) = &|worker| {
        // It is not gone: `waiting` keeps it.
        let _ = with(handle, |future| {
            if future.value.is_none() {
                future.sleepers.push(worker);
            }
        });
    };
    let notified = rank::cluster().is_none_or(Cluster::is_dedicated);
    let noted = waits::waits_for_value(handle);
    outside::help_with_anything(&ready, notified.then_some(enter));
    drop(noted);
    with(handle, |future| future.waiting -= 1)?;
    // In the child of a fork the wait may be over without a value.
    seen.into_inner().unwrap_or(Err(RemoteFault::Ended)).flatten()
}

/// Forgets a future of this rank.
///
/// # Errors
/// A task waits for it; it is gone, or another rank's.
pub fn free(handle: RemoteHandle) -> Result<(), RemoteFault> {
    own(handle)?;
    let may = |future: &Future| if future.waiting == 0 { Ok(()) } else { Err(RemoteFault::Waited) };
    FUTURES.take(handle.id, handle.generation, may).ok_or(RemoteFault::Stale)?.map(drop)?;
    waits::forgotten(handle);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &[u8]) -> Bytes {
        // SAFETY: a slice.
        unsafe { Bytes::copy(text.as_ptr(), text.len()) }.expect("memory")
    }

    #[test]
    fn a_value_comes_once() {
        let handle = create(false);
        assert_eq!(test(handle), Ok(false));
        assert_eq!(set_here(handle, bytes(b"one"), By::Program), Ok(()));
        assert_eq!(set_here(handle, bytes(b"two"), By::Program), Err(RemoteFault::Set));
        let value = wait(handle).expect("set");
        // SAFETY: as many as there are.
        assert_eq!(unsafe { core::slice::from_raw_parts(value.address(), value.size()) }, b"one");
        assert_eq!((test(handle), free(handle), free(handle)), (Ok(true), Ok(()), Err(RemoteFault::Stale)));
        assert_eq!(
            (test(handle), set_here(handle, Bytes::EMPTY, By::Program)),
            (Err(RemoteFault::Stale), Err(RemoteFault::Stale))
        );
    }

    #[test]
    fn an_invocation_sets_its_own() {
        let handle = create(true);
        assert_eq!(set_here(handle, Bytes::EMPTY, By::Program), Err(RemoteFault::Bound));
        assert_eq!(set_here(handle, Bytes::EMPTY, By::Handler), Ok(()));
        assert_eq!(free(handle), Ok(()));
        assert_eq!(set_here(handle, Bytes::EMPTY, By::Handler), Ok(()), "nobody wants to know");
    }

    #[test]
    fn without_its_object_there_is_no_value() {
        let handle = create(true);
        assert_eq!((fail(handle), test(handle)), (Ok(()), Ok(true)));
        assert_eq!(wait(handle).map(drop), Err(RemoteFault::Object));
        assert_eq!((free(handle), fail(handle)), (Ok(()), Ok(())), "nobody wants to know");
        for by in [By::Program, By::Handler, By::NoObject] {
            assert_eq!(By::from_word(by.word()), by);
        }
    }

    #[test]
    fn who_waits_keeps_it() {
        let handle = create(false);
        assert_eq!(with(handle, |future| future.waiting += 1), Ok(()));
        assert_eq!(free(handle), Err(RemoteFault::Waited));
        assert_eq!(with(handle, |future| future.waiting -= 1), Ok(()));
        assert_eq!(free(handle), Ok(()));
    }

    #[test]
    fn handles_of_others_and_of_nobody_are_distinguished() {
        assert_eq!(test(RemoteHandle { rank: 0, id: 0, generation: 0 }), Err(RemoteFault::Stale));
        assert_eq!(
            test(RemoteHandle { rank: 1, id: 0, generation: 1 }),
            Err(RemoteFault::Stale),
            "there is no rank 1"
        );
        assert_eq!(test(RemoteHandle { rank: -1, id: 0, generation: 1 }), Err(RemoteFault::Stale));
    }
}
