//! The one façade through which models replace atomics: `loom` under `--cfg loom`, `core`
//! otherwise.
//!
//! Code whose interleavings are model-checked takes atomics, fences, spin hints and the futex from
//! here and nowhere else. Two things differ between the two worlds and are kept in mind by every
//! user:
//!
//! * loom's constructors are not `const`. What is built by a `const fn` or lives in a `static` is
//!   declared with [`const_fn_unless_loom!`](crate::const_fn_unless_loom), or, when no model
//!   reaches it, uses `core` directly.
//! * loom treats `SeqCst` *accesses* as acquire/release, but checks `SeqCst` *fences* in full.
//!   Protocols that need a total order therefore say so with [`fence`].
//!
//! Rejected: a model-only copy of each algorithm (copies drift), and `#[cfg(loom)]` inside
//! algorithms. A model proves that it can fail by running the shipped code with fences left out:
//! see `model::ignore_fences`, which exists only under `--cfg loom`.

#[cfg(not(loom))]
pub use super::futex::Futex;
#[cfg(not(loom))]
pub use core::{
    hint::spin_loop,
    sync::atomic::{AtomicIsize, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence},
};
#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicIsize, AtomicPtr, AtomicU32, AtomicUsize, Ordering},
};
#[cfg(loom)]
pub use model::{Futex, fence};

/// Declares a constructor that is `const` except under loom, whose atomics cannot be built in a
/// constant.
#[macro_export]
macro_rules! const_fn_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident : $ty:ty),*) -> $ret:ty $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $name($($arg: $ty),*) -> $ret $body
        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) -> $ret $body
    };
}

/// A value alone on its cache lines.
///
/// 128 bytes, not 64: x86 prefetches lines in pairs and several aarch64 processors have 128-byte
/// lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> core::ops::Deref for CachePadded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// What models see instead of the kernel, and the switch that breaks a protocol on purpose.
#[cfg(loom)]
pub mod model {
    use super::{AtomicU32, Ordering};
    use core::{cell::Cell, time::Duration};
    use loom::{
        sync::Mutex,
        thread::{self, Thread},
    };

    loom::thread_local! {
        static IGNORED: Cell<Option<Ordering>> = Cell::new(None);
    }

    /// From here on the calling model thread skips every [`fence`] of the given ordering. A model
    /// that still passes with a fence ignored has not shown that the fence is needed, nor that
    /// it would notice a bug.
    pub fn ignore_fences(order: Ordering) {
        IGNORED.with(|ignored| ignored.set(Some(order)));
    }

    /// `core::sync::atomic::fence`, checked by loom unless the calling thread has asked to ignore
    /// it.
    pub fn fence(order: Ordering) {
        if IGNORED.with(Cell::get) != Some(order) {
            loom::sync::atomic::fence(order);
        }
    }

    /// The futex as the kernel promises it: compare-and-queue is one step with respect to wake.
    ///
    /// No timeout means forever, so that a lost wake-up shows as loom's deadlock report; any
    /// timeout is taken to have run out at once (loom's interleavings move that moment about).
    /// Not a condition variable: its guard would be dropped while the deadlock report unwinds,
    /// which ends the process instead of the test.
    #[derive(Debug)]
    pub struct Futex {
        word: AtomicU32,
        queue: Mutex<Vec<Thread>>,
    }

    impl Futex {
        /// A word that holds `value`, with no thread asleep on it.
        pub fn new(value: u32) -> Self {
            Self { word: AtomicU32::new(value), queue: Mutex::new(Vec::new()) }
        }

        /// The word itself.
        pub fn word(&self) -> &AtomicU32 {
            &self.word
        }

        /// See the kernel's side of this façade.
        pub fn wait(&self, expected: u32, timeout: Option<Duration>) {
            if timeout.is_none() && self.enqueue(expected) {
                thread::park();
                while self.is_queued() {
                    thread::park();
                }
            }
        }

        /// See the kernel's side of this façade.
        pub fn wake(&self, count: u32) -> usize {
            let woken: Vec<Thread> = {
                let mut queue = self.queue.lock().unwrap();
                let count = queue.len().min(count as usize);
                queue.drain(..count).collect()
            };
            woken.iter().for_each(Thread::unpark);
            woken.len()
        }

        fn enqueue(&self, expected: u32) -> bool {
            let mut queue = self.queue.lock().unwrap();
            // ORDERING: the lock orders this with `wake`, as the kernel's does; callers may not
            // rely on it.
            let same = self.word.load(Ordering::Relaxed) == expected;
            if same {
                queue.push(thread::current());
            }
            same
        }

        fn is_queued(&self) -> bool {
            let me = thread::current().id();
            self.queue.lock().unwrap().iter().any(|sleeper| sleeper.id() == me)
        }
    }
}
