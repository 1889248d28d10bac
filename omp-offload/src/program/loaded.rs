//! The programs' images on one device: the record. How it is filled and emptied is in
//! [`crate::program`].

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use device_trait::{DeviceFailure, DeviceModule};
use omp::lock::Lock;

/// A program's image on one device.
pub(super) struct Brought {
    pub(super) module: DeviceModule,
    /// Its variables in the table, by host address.
    pub(super) variables: Vec<usize>,
}

/// The programs' images on one device.
#[derive(Default)]
pub struct ProgramLoaded {
    /// Held while images are loaded or unloaded.
    pub(super) lock: Lock,
    /// The task that has the lock, and may come back by way of a tool that is notified of the
    /// images that it loads; 0 for none. It is not the task's thread, which may run other tasks
    /// meanwhile.
    pub(super) by: AtomicUsize,
    /// The generation of the registry up to which all has been loaded.
    pub(super) seen: AtomicU64,
    pub(super) modules: Mutex<HashMap<u64, Brought>>,
    /// An image could not be loaded before anything was mapped: no construct uses the device.
    pub(super) given_up: AtomicBool,
    /// Why an image could not be loaded the last time.
    pub(super) failed: Mutex<Option<DeviceFailure>>,
    /// There are programs with images, and none of them has one for the device.
    pub(super) without_code: AtomicBool,
}

impl ProgramLoaded {
    /// May constructs of programs with images use the device? After [`super::bring`].
    pub(super) fn may_be_used(&self) -> bool {
        // ORDERING: Relaxed, both; stored before `seen`, which was acquired, or by the calling
        // thread.
        !self.given_up.load(Ordering::Relaxed) && !self.without_code.load(Ordering::Relaxed)
    }

    pub(super) fn modules(&self) -> MutexGuard<'_, HashMap<u64, Brought>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
