//! What a kernel thread has of the state that is kept per thread, in the words of its worker.
//!
//! What may not live here: what threads have asked for ([`super::thread_state`]).

use core::ptr;

use super::alternate_stack::Alternate;
use super::numbers::KernelSetting;
use super::settings::Values;
use crate::fault;
use crate::sys::arch;
use crate::tls_block::record::TlsBlock;

/// What a kernel thread has, and what it had before threads asked for something else. Its own.
pub(crate) struct KernelHost {
    pub(super) had: Values,
    pub(super) has: Values,
    pub(super) running: RunningClock,
    pub(super) rights: KeyHolder,
    pub(super) alternate: AlternateStackHost,
}

impl KernelHost {
    /// Saves the rights of the thread whose TLS block the worker leaves. On the worker's kernel
    /// thread, in its scheduler.
    #[cold]
    pub(crate) fn save_rights(&mut self) {
        if let KeyHolder::Thread(tls_block) = self.rights {
            tls_block.state.rights.set(arch::key_rights());
            self.rights = KeyHolder::NoThread;
        }
    }

    /// The kernel thread gets its own value of `setting` again, if that is known.
    pub(super) fn set_back(&mut self, setting: KernelSetting) {
        if let Some(value) = self.had.number(setting)
            && setting.set(value) == 0
        {
            self.has.note(setting, value);
        }
    }

    pub(crate) const NEW: KernelHost = KernelHost {
        had: Values::NONE,
        has: Values::NONE,
        running: RunningClock::NONE,
        rights: KeyHolder::Unknown,
        alternate: AlternateStackHost::NEW,
    };
}

/// The thread whose time a kernel thread's clock counts, and since when; null: no thread's.
pub(super) struct RunningClock {
    pub(super) tls_block: *const TlsBlock,
    pub(super) since: u64,
}

impl RunningClock {
    pub(super) const NONE: RunningClock = RunningClock { tls_block: ptr::null(), since: 0 };
}

/// Whose rights a kernel thread's register holds.
#[derive(Clone, Copy)]
pub(super) enum KeyHolder {
    /// No change of threads since the first key: the register belongs to the thread that has been
    /// running here.
    Unknown,
    /// Of no thread: its rights are saved, or in a signal frame.
    NoThread,
    /// This thread's.
    Thread(&'static TlsBlock),
}

/// Bytes of a stack on which the monitor's signal may come as well.
pub(super) const ENOUGH: usize = 64 << 10;

/// The alternate stack that a kernel thread has.
pub(super) struct AlternateStackHost {
    /// One of ours, made when it is needed; none: not yet, or no memory.
    pub(super) ours: Option<Alternate>,
    /// What the kernel has; none: not known.
    pub(super) has: Option<Alternate>,
}

impl AlternateStackHost {
    pub(super) const NEW: AlternateStackHost = AlternateStackHost { ours: None, has: None };

    pub(super) fn learn(&mut self) -> Alternate {
        *self.has.get_or_insert_with(|| Alternate::of(&fault::current_alternate()))
    }

    /// What the kernel is to have while a thread runs that has `wanted`.
    pub(super) fn chosen(&mut self, wanted: Alternate) -> Alternate {
        if wanted.bytes >= ENOUGH {
            return wanted;
        }
        let has = self.learn();
        let is_ours = |stack: Alternate| fault::is_ours(&stack.to_c());
        let ours = self.ours.or_else(|| {
            if is_ours(has) { Some(has) } else { fault::new_alternate().map(|stack| Alternate::of(&stack)) }
        });
        self.ours = ours;
        ours.unwrap_or(wanted)
    }

    /// Gives the kernel what a thread needs that has `wanted`. An error number, or zero.
    pub(super) fn change(&mut self, wanted: Alternate) -> i32 {
        let chosen = self.chosen(wanted);
        if self.learn() == chosen {
            return 0;
        }
        // Refused while a handler stands on the present one.
        let error = fault::set_alternate(&chosen.to_c());
        if error == 0 {
            self.has = Some(chosen);
        }
        error
    }
}
