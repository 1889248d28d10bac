//! The host behind an address space of its own: a device for tests, and for programs with images
//! for this machine.
//!
//! Its memory is memory of this process that only the device knows. A program that forgets to map
//! something, or reads a copy before it was updated, fails here as it does on a GPU. Regions run on
//! the calling thread, as initial threads of teams of their own.
//!
//! With a delay (`GANGWAY_HOST_DEVICE_DELAY`) nothing is over at once: copies are made when they
//! are due, so that what does not wait for them finds the old bytes. That is how waiting itself is
//! tested.

use core::ffi::CStr;
use core::mem::transmute;
use core::sync::atomic::{AtomicU64, Ordering};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::image::{self, ImageObject};
use device_trait::{
    Convention, Device, DeviceAddress, DeviceCode, DeviceFailure, DeviceImage, DeviceModule, DeviceOperation,
    DeviceProgress, Launch,
};
use omp::parallel::ForkedRegion;
use omp::team::Body;
use omp::thread::{CurrentThread, Thread};

/// The most arguments that code may have which takes each by itself.
pub const MOST_ARGUMENTS: usize = 256;

/// Bytes that the end of a region brings along; as little as where it spares a message, so that
/// larger copies are tested, too.
const BROUGHT_ALONG: usize = 2048;

/// A device that is the host.
pub struct HostImage {
    name: CString,
    delay: Duration,
    state: Mutex<HostDeviceState>,
    last: AtomicU64,
}

#[derive(Default)]
struct HostDeviceState {
    blocks: HashMap<DeviceAddress, Layout>,
    /// By module; `None` for those that were unloaded.
    objects: Vec<Option<Arc<ImageObject>>>,
    symbols: HashMap<(u64, DeviceAddress), Option<DeviceAddress>>,
    begun: HashMap<u64, (Instant, HostDeviceCopy)>,
}

/// A copy that is to be made; of 0 bytes for a region, which has been run.
struct HostDeviceCopy {
    to: usize,
    from: usize,
    size: usize,
}

impl HostDeviceCopy {
    /// # Safety
    /// Both are as large as the copy.
    unsafe fn make(&self) {
        if self.to != self.from && self.size > 0 {
            // SAFETY: as the caller says.
            unsafe { core::ptr::copy(self.from as *const u8, self.to as *mut u8, self.size) };
        }
    }
}

impl HostImage {
    /// Device `number`; operations take `delay` microseconds.
    pub fn new(number: i32, delay: u32) -> Self {
        Self {
            name: CString::new(format!("GANGWAY_HOST_{number}")).unwrap_or_default(),
            delay: Duration::from_micros(delay.into()),
            state: Mutex::default(),
            last: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, HostDeviceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a copy.
    ///
    /// # Safety
    /// Both are as large, until it is over.
    unsafe fn begin(&self, copy: HostDeviceCopy) -> DeviceOperation {
        if self.delay.is_zero() {
            // SAFETY: as the caller says.
            unsafe { copy.make() };
            return DeviceOperation::DONE;
        }
        // ORDERING: Relaxed; numbers that differ.
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.state().begun.insert(number, (Instant::now() + self.delay, copy));
        DeviceOperation(number)
    }
}

/// Makes the copies that are due, the oldest first.
fn make_due(state: &mut HostDeviceState, now: Option<Instant>) {
    let is_due = |due: Instant| now.is_none_or(|now| due <= now);
    let mut due: Vec<u64> = state.begun.iter().filter(|(_, (at, _))| is_due(*at)).map(|(&n, _)| n).collect();
    due.sort_unstable();
    for number in due {
        if let Some((_, copy)) = state.begun.remove(&number) {
            // SAFETY: the operation is not over yet, so its memory is valid.
            unsafe { copy.make() };
        }
    }
}

impl Device for HostImage {
    fn name(&self) -> &CStr {
        &self.name
    }

    fn allocate(&self, size: usize, align: usize) -> Result<DeviceAddress, DeviceFailure> {
        let none = || DeviceFailure(format!("out of memory for {size} bytes").into());
        let layout = Layout::from_size_align(size.max(1), align).map_err(|_| none())?;
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(layout) }.addr();
        if block == 0 {
            return Err(none());
        }
        self.state().blocks.insert(block, layout);
        Ok(block)
    }

    unsafe fn free(&self, block: DeviceAddress) {
        let layout = self.state().blocks.remove(&block);
        if let Some(layout) = layout {
            // SAFETY: the block was allocated with this layout, and the caller says that no thread
            // uses it.
            unsafe { dealloc(block as *mut u8, layout) };
        }
    }

    unsafe fn copy_in(
        &self,
        to: DeviceAddress,
        from: *const u8,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        Ok(unsafe { self.begin(HostDeviceCopy { to, from: from.addr(), size }) })
    }

    unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        Ok(unsafe { self.begin(HostDeviceCopy { to: to.addr(), from, size }) })
    }

    unsafe fn copy_within(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        Ok(unsafe { self.begin(HostDeviceCopy { to, from, size }) })
    }

    fn peer(&self) -> Option<u64> {
        Some(0) // all are this process
    }

    fn reaches(&self, peer: u64) -> bool {
        peer == 0
    }

    unsafe fn copy_across(
        &self,
        to: DeviceAddress,
        _: u64,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        Ok(unsafe { self.begin(HostDeviceCopy { to, from, size }) })
    }

    fn static_variable(&self, variable: usize) -> Option<DeviceAddress> {
        Some(variable)
    }

    fn load(&self, image: &DeviceImage<'_>) -> Result<Option<DeviceModule>, DeviceFailure> {
        if !image::is_ours(image.bytes) {
            return Ok(None);
        }
        let object = image::load(image.bytes)?;
        let objects = &mut self.state().objects;
        objects.push(Some(Arc::new(object)));
        Ok(Some(DeviceModule(objects.len() as u64 - 1)))
    }

    fn unload(&self, module: DeviceModule) -> Result<(), DeviceFailure> {
        let object = {
            let mut state = self.state();
            state.symbols.retain(|&(of, _), _| of != module.0);
            state.objects.get_mut(module.0 as usize).and_then(Option::take)
        };
        // Not under our lock: the destructors are the program's code. At the end of the process the
        // loader calls those that are left.
        object.and_then(Arc::into_inner).into_iter().for_each(ImageObject::close);
        Ok(())
    }

    fn find(&self, module: DeviceModule, name: &CStr) -> Option<DeviceAddress> {
        let key = (module.0, name.as_ptr().addr());
        let object = {
            let state = self.state();
            if let Some(&known) = state.symbols.get(&key) {
                return known;
            }
            state.objects.get(module.0 as usize)?.clone()?
        };
        let found = object.find(name);
        self.state().symbols.insert(key, found);
        found
    }

    fn is_reached_by_host(&self) -> bool {
        true
    }

    fn runs_host_functions(&self) -> bool {
        true
    }

    fn brings_along(&self) -> usize {
        // With a delay, what waits for a copy is to wait.
        if self.delay.is_zero() { BROUGHT_ALONG } else { 0 }
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<DeviceOperation, DeviceFailure> {
        if launch.arguments.len() >= MOST_ARGUMENTS {
            return Err(DeviceFailure(
                format!("{} arguments are more than {MOST_ARGUMENTS}", launch.arguments.len()).into(),
            ));
        }
        // SAFETY: as the caller says.
        unsafe { run_here(launch) };
        let mut into = launch.into;
        for &(from, size) in launch.wanted {
            // SAFETY: as the caller says; the device's memory is ours.
            unsafe {
                core::ptr::copy_nonoverlapping(from as *const u8, into, size);
                into = into.add(size);
            }
        }
        // SAFETY: nothing is copied.
        Ok(unsafe { self.begin(HostDeviceCopy { to: 0, from: 0, size: 0 }) })
    }

    fn poll(&self, operation: DeviceOperation) -> DeviceProgress {
        let mut state = self.state();
        make_due(&mut state, Some(Instant::now()));
        if state.begun.contains_key(&operation.0) { DeviceProgress::Pending } else { DeviceProgress::Done }
    }

    fn synchronise(&self) -> Result<(), DeviceFailure> {
        make_due(&mut self.state(), None);
        Ok(())
    }
}

/// Runs a region in this process, as the initial thread of a team of its own.
///
/// # Safety
/// Code and arguments belong together; fewer than [`MOST_ARGUMENTS`].
pub unsafe fn run_here(launch: &Launch<'_>) {
    let body = Body {
        call,
        function: core::ptr::null(),
        data: core::ptr::from_ref(launch).cast_mut().cast(),
        count: 0,
    };
    let region = ForkedRegion::begin_target(
        CurrentThread::get(),
        body,
        launch.thread_limit[0],
        launch.device,
        launch.depth,
    );
    region.run_primary();
    region.end();
}

/// Calls the code of the launch that is a body's data.
unsafe fn call(_: &Thread, body: &Body) {
    // SAFETY: `run` passed its launch, which it outlives.
    let launch = unsafe { &*body.data.cast::<Launch<'_>>() };
    let code = match launch.code {
        DeviceCode::HostFunction(address) | DeviceCode::Loaded(_, _, address) => address,
    };
    let mut arguments = launch.arguments.to_vec();
    // SAFETY: the caller of `run` says that code and arguments belong together.
    unsafe {
        match launch.convention {
            Convention::Array => {
                let function = transmute::<usize, unsafe extern "C-unwind" fn(*mut usize)>(code);
                function(arguments.as_mut_ptr());
            }
            Convention::Separate => call_separately(code, &arguments),
            Convention::SeparateAfterEnvironment => {
                arguments.insert(0, 0);
                call_separately(code, &arguments);
            }
        }
    }
}

/// A struct of words is passed on the stack, where the words behind those in registers are: one
/// function type per size does for every number of arguments.
macro_rules! spread {
    ($code:expr, $words:expr, $($most:literal)*) => {{
        type R = usize;
        let (code, words): (usize, &[usize]) = ($code, $words);
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        match words.len() {
            $(0..=$most => {
                #[repr(C)]
                struct Stack([usize; $most - REGISTERS]);
                // SAFETY: the caller of `call_separately` says so; a callee does not mind arguments
                // that it does not know.
                unsafe {
                    let function = transmute::<usize, unsafe extern "C-unwind" fn(R, R, R, R, R, R, Stack)>(code);
                    let stack = Stack(core::array::from_fn(|at| word(REGISTERS + at)));
                    function(word(0), word(1), word(2), word(3), word(4), word(5), stack);
                }
            })*
            _ => omp::report::fatal("a target region has too many arguments"),
        }
    }};
}

/// Words that the x86-64 calling convention passes in registers.
const REGISTERS: usize = 6;

/// Calls `code(words[0], words[1], …)`.
///
/// # Safety
/// The code takes that many words, or fewer.
#[cfg(target_arch = "x86_64")]
unsafe fn call_separately(code: usize, words: &[usize]) {
    spread!(code, words, 16 64 257);
}

/// As above, where large structs are passed by address: eight words in registers, no more.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn call_separately(code: usize, words: &[usize]) {
    type R = usize;
    if words.len() > 8 {
        omp::report::fatal(
            "a target region has more than 8 arguments, which is not supported on this machine yet",
        );
    }
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    // SAFETY: as the caller says.
    unsafe {
        let function = transmute::<usize, unsafe extern "C-unwind" fn(R, R, R, R, R, R, R, R)>(code);
        function(word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SEEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

    #[allow(clippy::too_many_arguments, reason = "that is the point")]
    unsafe extern "C-unwind" fn nine(
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
        g: usize,
        h: usize,
        i: usize,
    ) {
        *SEEN.lock().expect("poisoned") = vec![a, b, c, d, e, f, g, h, i];
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn arguments_arrive_in_order_however_many() {
        for count in [9, 17, 65, 256] {
            let words: Vec<usize> = (1..=count).collect();
            // SAFETY: the function takes fewer words.
            unsafe { call_separately(nine as *const () as usize, &words) };
            assert_eq!(*SEEN.lock().expect("poisoned"), [1, 2, 3, 4, 5, 6, 7, 8, 9], "{count}");
        }
        // SAFETY: missing words are zero.
        unsafe { call_separately(nine as *const () as usize, &[7, 6]) };
        assert_eq!(*SEEN.lock().expect("poisoned"), [7, 6, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn with_a_delay_a_copy_is_made_when_it_is_due() {
        let device = HostImage::new(0, 2000);
        let at = device.allocate(8, 64).expect("memory");
        let (source, mut back) = (0x1234_5678_9abc_def0u64, 0u64);
        // SAFETY: both are 8 bytes, and stay.
        unsafe {
            (at as *mut u64).write(1);
            let operation = device.copy_in(at, (&raw const source).cast(), 8).expect("begun");
            assert_eq!(device.poll(operation), DeviceProgress::Pending);
            assert_eq!((at as *const u64).read(), 1);
            while device.poll(operation) == DeviceProgress::Pending {}
            assert_eq!((at as *const u64).read(), source);
            let operation = device.copy_out((&raw mut back).cast(), at, 8).expect("begun");
            assert_ne!(operation, DeviceOperation::DONE);
            device.synchronise().expect("done");
            assert_eq!(device.poll(operation), DeviceProgress::Done);
            device.free(at);
        }
        assert_eq!(back, source);
    }

    #[test]
    fn memory_is_aligned_and_there_is_an_end_to_it() {
        let device = HostImage::new(3, 0);
        for align in [1, 64, 4096] {
            let at = device.allocate(10, align).expect("memory");
            assert_eq!(at % align, 0);
            // SAFETY: allocated above.
            unsafe { device.free(at) };
        }
        assert!(device.allocate(isize::MAX as usize, 64).is_err());
        assert_eq!(device.name(), c"GANGWAY_HOST_3");
    }
}
