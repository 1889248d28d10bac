//! A GPU as a device.
//!
//! | file | what lives there |
//! |---|---|
//! | `gpu` | the device, what its calls have in common, its end |
//! | `gpu/kind` | the trait's methods |
//! | `gpu/launch` | kernels: what is known of them, what they get, how they begin |
//! | `gpu/global_objects` | constructors and destructors of an image's objects |
//!
//! A call makes the device's context current, and holds the lock of the work under way during some
//! calls of the driver. It never waits for the GPU, except in [`Gpu::new`], loading and unloading
//! an image, and `synchronise`.
//!
//! A kernel counts as touching the blocks that its arguments point into. A kernel may reach other
//! memory by pointers inside of these blocks. A caller orders such accesses by waiting for
//! operations, as the core does.
//!
//! Errors of the driver that are the device's own (a kernel that failed) come with every later
//! call. They are reported as they come, in the words of the driver.

use core::ffi::CStr;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device_trait::{Device, DeviceAddress, DeviceFailure, DeviceOperation, DeviceProgress};

use crate::context::{Inside, Primary};
use crate::driver::{self, CuDevice, Driver, DriverError, code};
use crate::geometry::DeviceLimits;
use crate::images::DeviceEnvironment;
use crate::memory::Memory;
use crate::peers::{PeerFamily, Shared};
use crate::staging::CopyDirection;
use crate::streams::{OperationRemains, StreamLane, StreamUse, StreamWork, Streams};

mod global_objects;
mod kind;
mod launch;

use launch::{LAUNCH_WORDS, LoadedImages};

/// Attributes of devices.
mod attribute {
    pub const MOST_THREADS: i32 = 1;
    pub const WARP: i32 = 10;
    pub const PROCESSORS: i32 = 16;
    pub const THREADS_OF_PROCESSOR: i32 = 39;
}

/// See the module.
pub struct Gpu {
    driver: &'static Driver,
    name: CString,
    limits: DeviceLimits,
    place: DeviceEnvironment,
    /// The context, and what is under way.
    shared: Arc<Shared>,
    family: PeerFamily,
    images: Mutex<LoadedImages>,
    /// Apart, since the driver takes its time for a new block. No two locks of a device are held
    /// together.
    memory: Mutex<Memory>,
}

fn no_stream() -> DeviceFailure {
    DeviceFailure("there is no such stream".into())
}

fn failed(why: &DriverError) -> DeviceFailure {
    DeviceFailure(why.to_string().into())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpu {
    /// The driver's device with this number, its context retained.
    ///
    /// # Errors
    /// A line: the driver's words.
    pub fn new(driver: &'static Driver, ordinal: i32) -> Result<Self, String> {
        let words = |why: DriverError| why.to_string();
        let mut device: CuDevice = 0;
        // SAFETY: a valid out pointer.
        driver.check(unsafe { (driver.device_get)(&raw mut device, ordinal) }).map_err(words)?;
        let of = |which: i32| {
            let mut value = 0;
            // SAFETY: a valid out pointer.
            driver
                .check(unsafe { (driver.device_attribute)(&raw mut value, which, device) })
                .map(|()| value.max(0) as u32)
        };
        let limits = DeviceLimits {
            warp: of(attribute::WARP).map_err(words)?.max(1),
            threads: of(attribute::MOST_THREADS).map_err(words)?.max(1),
            processors: of(attribute::PROCESSORS).map_err(words)?.max(1),
        };
        let together =
            u64::from(limits.processors) * u64::from(of(attribute::THREADS_OF_PROCESSOR).map_err(words)?);
        let count = driver.count().map_err(words)?;
        let context = Primary::new(driver, device).map_err(words)?;
        let inside = context.enter().map_err(words)?;
        let streams = Streams::new(driver).map_err(words)?;
        drop(inside);
        let place =
            DeviceEnvironment { devices: count as u32, number: ordinal as u32, parallelism: together };
        let shared = Arc::new(Shared::new(driver, device, context, streams));
        let (family, name) = (PeerFamily::alone(driver, shared.clone()), name(driver, device, ordinal));
        let gpu = Self {
            driver,
            name,
            limits,
            place,
            shared,
            family,
            images: Mutex::default(),
            memory: Mutex::default(),
        };
        gpu.make_nothing().map_err(|why| why.to_string())?;
        Ok(gpu)
    }

    /// Operations that have not been polled to their end, and operations of other devices that read
    /// here. The number is 0 when each caller has polled what it began.
    pub fn known(&self) -> usize {
        self.shared.staging.known() + self.streams().known()
    }

    /// The words of zeros.
    fn make_nothing(&self) -> Result<(), DeviceFailure> {
        let at = self.allocate(8 * LAUNCH_WORDS, 8)?;
        self.write(at, &[0; LAUNCH_WORDS])?;
        lock(&self.images).nothing = at;
        Ok(())
    }

    /// These are the devices of its driver, itself among them.
    pub(crate) fn meet(&mut self, all: &[Arc<Shared>]) {
        self.family = PeerFamily::new(self.driver, all.to_vec(), &self.shared);
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.shared.streams()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    fn enter(&self) -> Result<Inside, DeviceFailure> {
        self.shared.context.enter().map_err(|why| failed(&why))
    }

    /// Puts something on a stream.
    fn begin(
        &self,
        lane: StreamLane,
        uses: Vec<StreamUse>,
        put: impl FnOnce(driver::Stream) -> driver::DriverCode,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let _inside = self.enter()?;
        self.shared
            .begin(lane, StreamWork { uses, ..StreamWork::default() }, put)
            .map(DeviceOperation)
            .map_err(|begun| failed(&begun.why))
    }

    /// Copies between the device and the host.
    ///
    /// # Safety
    /// As for the trait's copies.
    unsafe fn copy(
        &self,
        way: CopyDirection,
        device: DeviceAddress,
        host: usize,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let (_inside, driver, shared) = (self.enter()?, self.driver, &*self.shared);
        let (lane, uses) = match way {
            CopyDirection::In => (StreamLane::In, vec![StreamUse::writes(device, size)]),
            CopyDirection::Out => (StreamLane::Out, vec![StreamUse::reads(device, size)]),
        };
        if shared.staging.suits(way, host, size) {
            shared.staging.make_way(shared, &uses);
            // SAFETY: as the caller says.
            if let Some(begun) = unsafe { shared.staging.begin(shared, way, device, host, size) } {
                return begun.map(DeviceOperation).map_err(|why| failed(&why));
            }
        }
        // SAFETY: as the caller says.
        self.begin(lane, uses, |stream| unsafe {
            match way {
                CopyDirection::In => (driver.copy_in)(device, host as *const u8, size, stream),
                CopyDirection::Out => (driver.copy_out)(host as *mut u8, device, size, stream),
            }
        })
    }

    /// Writes words to the device, and waits.
    fn write(&self, to: DeviceAddress, words: &[u64]) -> Result<(), DeviceFailure> {
        // SAFETY: the caller's block; the words stay until this returns.
        let operation = unsafe { self.copy_in(to, words.as_ptr().cast(), size_of_val(words)) }?;
        self.complete(operation)
    }

    /// Waits until the operation is over. Only for work that is done once, such as loading an
    /// image.
    fn complete(&self, operation: DeviceOperation) -> Result<(), DeviceFailure> {
        loop {
            match self.poll(operation) {
                DeviceProgress::Pending => std::thread::yield_now(),
                DeviceProgress::Done => return Ok(()),
                DeviceProgress::Failed(why) => return Err(why),
            }
        }
    }

    fn free_by_driver(&self) -> impl Fn(DeviceAddress) {
        let driver = self.driver;
        // SAFETY: a block of this context that is not in use. What the driver says changes nothing
        // any more.
        move |block| unsafe {
            (driver.memory_free)(block);
        }
    }

    /// What an operation leaves is not used any more.
    fn release(&self, left: OperationRemains) {
        if let Some(held) = left.held {
            self.memory().release(held.block);
        }
        if let Some(guest) = left.reads {
            self.family.leave(guest);
        }
    }
}

fn name(driver: &Driver, device: CuDevice, ordinal: i32) -> CString {
    let mut text = [0_u8; 200];
    // SAFETY: as many bytes, of which the driver makes a string.
    let found = unsafe { (driver.device_name)(text.as_mut_ptr().cast(), text.len() as i32, device) };
    let name = CStr::from_bytes_until_nul(&text)
        .ok()
        .filter(|_| found == code::SUCCESS)
        .map_or("GPU".into(), CStr::to_string_lossy);
    CString::new(format!("CUDA_{ordinal}_{}", name.replace(' ', "_"))).unwrap_or_default()
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let _failed = self.end(); // no caller is left to get it
        let Ok(_inside) = self.enter() else { return };
        let reads = self.streams().close();
        reads.into_iter().for_each(|guest| self.family.leave(guest));
        self.streams().destroy_events();
        self.shared.staging.close();
        let nothing = lock(&self.images).nothing;
        let mut memory = self.memory();
        memory.release(nothing);
        memory.trim(self.free_by_driver());
    }
}
