//! Copies between host and device, and waiting for what a device does.
//!
//! A waiting context is suspended: its worker runs tasks of the team, or other threads that it
//! hosts.

use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::place::pace;
use super::table::Mapped;
use crate::device_slot::DeviceSlot;
use crate::devices::usable;
use device_trait::{Device, DeviceAddress, DeviceFailure, DeviceOperation, DeviceProgress, Wake};
use omp::env;
use omp::extension::tools;
use omp::extension::tools::device::{DeviceCopy, DeviceOp, ToolDataOp};
use omp::task::TaskFlags;
use omp::team::ON_HOST;
use omp::thread::CurrentThread;

/// Copies that were begun together and are waited for together.
pub struct TransferBatch<'a> {
    slot: &'a DeviceSlot,
    begun: Vec<DeviceOperation>,
    /// Bytes that come from the host, and from other devices; others are under way too if `mixed`.
    sizes: [usize; 2],
    mixed: bool,
    /// When the first large one was begun that is not over.
    since: Option<Instant>,
    /// Single words on their way: boxed, so that they stay where they are.
    #[allow(clippy::vec_box, reason = "the device reads them where they are while the vector grows")]
    words: Vec<Box<usize>>,
}

impl<'a> TransferBatch<'a> {
    /// Nothing yet.
    pub fn new(slot: &'a DeviceSlot) -> Self {
        Self { slot, begun: Vec::new(), sizes: [0; 2], mixed: false, since: None, words: Vec::new() }
    }

    fn begun(&mut self, operation: DeviceOperation, size: usize) {
        if operation != DeviceOperation::DONE {
            self.begun.push(operation);
            if size >= pace::LARGE {
                self.since.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Copies `size` bytes of the host to the device.
    ///
    /// # Safety
    /// Both are that large, and the host's stays until [`TransferBatch::finish`].
    pub unsafe fn copy_in(
        &mut self,
        to: DeviceAddress,
        from: usize,
        size: usize,
    ) -> Result<(), DeviceFailure> {
        let notified = self
            .slot
            .copies_in(to, from)
            .then(|| tools::device::op_begins(|| to_device(self.slot, to, (ON_HOST, from), size)))
            .flatten();
        // SAFETY: as the caller says.
        let operation = unsafe { self.slot.device.copy_in(to, from as *const u8, size) };
        tools::device::op_ends(notified, || to);
        let operation = operation?;
        tools::device::copies(DeviceCopy::To, size);
        self.sizes[0] += size;
        self.begun(operation, size);
        Ok(())
    }

    /// Copies `size` bytes of the device to the host.
    ///
    /// # Safety
    /// Both are that large, and the host's stays until [`TransferBatch::finish`].
    pub unsafe fn copy_out(
        &mut self,
        to: usize,
        from: DeviceAddress,
        size: usize,
    ) -> Result<(), DeviceFailure> {
        let notified = self
            .slot
            .copies_in(from, to)
            .then(|| tools::device::op_begins(|| to_host(self.slot, to, from, size)))
            .flatten();
        // SAFETY: as the caller says.
        let operation = unsafe { self.slot.device.copy_out(to as *mut u8, from, size) };
        tools::device::op_ends(notified, || to);
        let operation = operation?;
        tools::device::copies(DeviceCopy::From, size);
        self.mixed = true;
        self.begun(operation, size);
        Ok(())
    }

    /// Copies `size` bytes of the device with this number, which is that peer of this one
    /// ([`Device::peer`]).
    ///
    /// # Safety
    /// Both are that large, and the other device's stays until [`TransferBatch::finish`].
    pub unsafe fn copy_across(
        &mut self,
        to: DeviceAddress,
        number: i32,
        peer: u64,
        from: DeviceAddress,
        size: usize,
    ) -> Result<(), DeviceFailure> {
        let notified = tools::device::op_begins(|| to_device(self.slot, to, (number, from), size));
        // SAFETY: as the caller says.
        let operation = unsafe { self.slot.device.copy_across(to, peer, from, size) };
        tools::device::op_ends(notified, || to);
        let operation = operation?;
        tools::device::copies(DeviceCopy::Between, size);
        self.sizes[1] += size;
        self.begun(operation, size);
        Ok(())
    }

    /// Fills the copy of `range` from the host, attached pointers left out.
    ///
    /// # Safety
    /// The range lies in `mapped`, and is valid on the host.
    pub unsafe fn fill(&mut self, mapped: &Mapped, range: Range<usize>) -> Result<(), DeviceFailure> {
        for part in mapped.without_pointers(range) {
            // SAFETY: as the caller says.
            unsafe { self.copy_in(mapped.translate(part.start), part.start, part.len()) }?;
        }
        Ok(())
    }

    /// Fetches the copy of `range` to the host, attached pointers left out.
    ///
    /// # Safety
    /// As [`TransferBatch::fill`].
    pub unsafe fn fetch(&mut self, mapped: &Mapped, range: Range<usize>) -> Result<(), DeviceFailure> {
        for part in mapped.without_pointers(range) {
            // SAFETY: as the caller says.
            unsafe { self.copy_out(part.start, mapped.translate(part.start), part.len()) }?;
        }
        Ok(())
    }

    /// Stores one word on the device, where there is room for it.
    pub fn store(&mut self, to: DeviceAddress, word: usize) -> Result<(), DeviceFailure> {
        let word = Box::new(word);
        let from = core::ptr::from_ref(&*word).addr();
        self.words.push(word);
        // SAFETY: the box stays until the batch is finished.
        unsafe { self.copy_in(to, from, size_of::<usize>()) }
    }

    /// Waits for all of them.
    ///
    /// # Errors
    /// What the first one that failed said.
    pub fn finish(self) -> Result<(), DeviceFailure> {
        let device = &*self.slot.device;
        // All are waited for: the memory they use may go only then.
        let results: Vec<_> = self.begun.into_iter().map(|o| wait_for(device, o)).collect();
        let outcome: Result<(), DeviceFailure> = results.into_iter().collect();
        match (self.sizes, self.since) {
            ([bytes, 0], Some(since)) if !self.mixed && outcome.is_ok() => {
                note_pace(device, false, bytes, since.elapsed())
            }
            ([0, bytes], Some(since)) if !self.mixed && outcome.is_ok() => {
                note_pace(device, true, bytes, since.elapsed())
            }
            _ => {}
        }
        outcome
    }
}

/// Notes a copy of so many bytes to the device that took this time, from another device or from the
/// host.
fn note_pace(device: &dyn Device, from_device: bool, bytes: usize, time: Duration) {
    if let Some(slot) = usable().iter().find(|slot| core::ptr::addr_eq(&raw const *slot.device, device)) {
        slot.placing.pace.copied(from_device, bytes, time.as_nanos());
    }
}

/// A copy to the device, of the host or of another one, for tools.
pub fn to_device(slot: &DeviceSlot, to: DeviceAddress, from: (i32, usize), bytes: usize) -> DeviceOp {
    DeviceOp { kind: ToolDataOp::ToDevice, from, to: (slot.number, to), bytes }
}

/// A copy to the host, for tools.
pub fn to_host(slot: &DeviceSlot, to: usize, from: DeviceAddress, bytes: usize) -> DeviceOp {
    DeviceOp { kind: ToolDataOp::FromDevice, from: (slot.number, from), to: (ON_HOST, to), bytes }
}

unsafe extern "C" fn wake(worker: *mut ()) {
    // SAFETY: `wait_for` passed its worker, and those are never freed.
    unsafe { (*worker.cast::<ult::worker::Worker>()).wake() };
}

/// Constructs that wait for a device.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// Each has a stack of its own, which takes two of the 65,000 mappings that Linux allows. With so
/// many no further tasks are begun: as many as the devices can have at a time and once more, at
/// least and at most so many.
const MOST_WAITING: (u32, u32) = (512, 20_000);

fn most_waiting() -> u32 {
    let devices = usable().len() as u32;
    env::settings()
        .scheduling
        .workers
        .saturating_mul(2)
        .saturating_mul(devices)
        .clamp(MOST_WAITING.0, MOST_WAITING.1)
}

/// May tasks that wait for a device become more?
pub fn has_room() -> bool {
    // ORDERING: Relaxed; a limit that need not be exact.
    WAITING.load(Ordering::Relaxed) < most_waiting()
}

/// Waits for an operation.
///
/// # Errors
/// It failed.
pub fn wait_for(device: &dyn Device, operation: DeviceOperation) -> Result<(), DeviceFailure> {
    if operation == DeviceOperation::DONE {
        return Ok(());
    }
    let seen = Cell::new(None);
    let ready = || {
        // SAFETY: the cell is this function's, and `ready` does not call itself.
        if unsafe { (*seen.as_ptr()).is_none() } {
            match device.poll(operation) {
                DeviceProgress::Pending => return false,
                DeviceProgress::Done => seen.set(Some(Ok(()))),
                DeviceProgress::Failed(why) => seen.set(Some(Err(why))),
            }
        }
        true
    };
    wait(&ready, &|wake| device.wake_on(operation, wake));
    seen.take().unwrap_or(Ok(()))
}

/// Waits until `ready`, suspended. `wake_on` promises to call what it is given then, or answers
/// false.
pub fn wait(ready: &dyn Fn() -> bool, wake_on: &dyn Fn(Wake) -> bool) {
    let here = CurrentThread::get();
    // With tasks to begin, or with a creator that goes on behind `nowait`, the answer is not waited
    // for: they may have more to send.
    let has_more = !here.thread.deque.is_empty() || here.task.flags().has(TaskFlags::OFFLOADED);
    let is_over = if has_more { ready() } else { ult::sched::comes_at_once(ready) };
    if is_over {
        return;
    }
    let worker = core::ptr::from_ref(here.thread.worker()).cast_mut().cast();
    let reduces = here.task.flags().has(TaskFlags::REDUCES);
    // ORDERING: Relaxed; a limit that need not be exact.
    let starts_none = WAITING.fetch_add(1, Ordering::Relaxed) >= most_waiting() || reduces;
    let own = here.thread.own();
    own.waits.at_devices.update(|waits| waits + 1);
    own.waits.reduces.update(|waits| waits + u32::from(reduces));
    let is_notified = wake_on(Wake { call: wake, data: worker });
    match (starts_none, is_notified) {
        (false, true) => here.team().help_until(here.thread, ready),
        (false, false) => here.team().help_polling(here.thread, ready),
        (true, true) => here.team().wait_until(ready),
        (true, false) => here.team().wait_polling(ready),
    }
    own.waits.at_devices.update(|waits| waits - 1);
    own.waits.reduces.update(|waits| waits - u32::from(reduces));
    // ORDERING: Relaxed; as above.
    WAITING.fetch_sub(1, Ordering::Relaxed);
}
