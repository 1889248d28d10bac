//! A procedure that is under way, and its trays.

use std::sync::{Arc, Mutex, PoisonError};

use super::kind::ElementType;
use super::task::PersistentTask;
use super::tray::Tray;
use crate::remote::{RemoteFault, RemoteHandle};
use omp_offload::bytes::Bytes;

/// `ompx_run_t`. While it is there nothing else touches the trays of its task: an execution uses
/// all of it ([`super::queue::TrayAccess::All`]).
pub struct PersistentRun {
    task: Arc<PersistentTask>,
    /// Bytes that the procedure has an address of, and that are the tray's no more.
    kept: Mutex<Vec<Arc<Bytes>>>,
}

impl PersistentRun {
    /// Of a task that begins its procedure.
    pub fn new(task: Arc<PersistentTask>) -> Self {
        Self { task, kept: Mutex::default() }
    }

    /// The task.
    pub fn task(&self) -> RemoteHandle {
        self.task.name
    }

    fn keep(&self, bytes: Arc<Bytes>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }

    /// Where the bytes of a tray are, and how many, to be read. They stay until the procedure
    /// returns.
    pub fn look(&self, tray: u32) -> Result<(*const u8, usize), RemoteFault> {
        let state = self.task.state();
        let tray = state.trays.get(&tray).ok_or(RemoteFault::Tray)?;
        Ok((tray.data.address(), tray.data.size()))
    }

    /// The same, to be read and written.
    pub fn edit(&self, tray: u32) -> Result<(*mut u8, usize), RemoteFault> {
        let mut state = self.task.state();
        let tray = state.trays.get_mut(&tray).ok_or(RemoteFault::Tray)?;
        let before = Arc::as_ptr(&tray.data);
        let shared = (Arc::strong_count(&tray.data) > 1).then(|| Arc::clone(&tray.data));
        // With the clone it would be copied even if the others have gone meanwhile: that does no
        // harm.
        let at = tray.own()?;
        let size = tray.data.size();
        if let Some(shared) = shared.filter(|_| before != Arc::as_ptr(&tray.data)) {
            drop(state);
            self.keep(shared);
        }
        Ok((at, size))
    }

    /// A tray of so many elements, all zero, in place of what was there.
    pub fn make(&self, tray: u32, kind: ElementType, count: u64) -> Result<*mut u8, RemoteFault> {
        let fresh = Tray::zeroed(kind, count)?;
        let at = fresh.data.address();
        let before = self.task.state().trays.insert(tray, fresh);
        if let Some(before) = before {
            self.keep(before.data);
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::{create, find, forget};
    use super::*;

    #[test]
    fn addresses_stay_and_what_was_sent_does_not_change() {
        let name = create();
        let run = PersistentRun::new(find(name).expect("a task"));
        assert_eq!((run.look(0), run.edit(0).map(drop)), (Err(RemoteFault::Tray), Err(RemoteFault::Tray)));
        let made = run.make(0, ElementType::BYTE, 3).expect("memory");
        assert_eq!((run.look(0), run.edit(0)), (Ok((made.cast_const(), 3)), Ok((made, 3))));
        let sent = run.task.state().trays[&0].clone();
        let seen = run.look(0).expect("there").0;
        let (own, _) = run.edit(0).expect("a copy");
        // SAFETY: our copy, of three bytes.
        unsafe { own.write(9) };
        drop(sent);
        // SAFETY: kept by the run.
        assert_eq!((unsafe { *seen }, unsafe { *own }), (0, 9));
        let again = run.make(0, ElementType::BYTE, 0).expect("nothing");
        // SAFETY: kept by the run.
        assert!(again.is_null() && unsafe { *own } == 9);
        forget(name);
        assert_eq!(find(name).err(), Some(RemoteFault::Stale));
    }
}
