//! A GPU as a device.
//!
//! Lives here: what the trait asks for, put together from the other files. A call makes the device's context current, takes the lock of what is under way for some calls of the
//! driver, and never waits for the GPU, but for [`Gpu::new`], loading an image, and `synchronise`.
//!
//! A kernel counts as touching the blocks that its arguments point into. What it reaches by pointers inside of them is put in order by whoever waits for operations, as the core does.
//!
//! Errors of the driver that are the device's own (a kernel that failed) come with every later call. They are told as they come, in the words of the driver.

use core::ffi::{CStr, c_void};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use device_trait::{Address, Code, Convention, Device, Failure, Handles, Image, Launch, Module, Operation, Progress, Stream};

use crate::context::{Inside, Primary};
use crate::driver::{self, Context, CuDevice, Driver, Error, Function, code};
use crate::geometry::{self, Kernel, Limits, Wish};
use crate::images::{self, KERNEL_BYTES, Loaded, Place};
use crate::memory::Memory;
use crate::streams::{Held, Lane, State, Streams, Use, Work};

/// Attributes of devices.
mod attribute {
    pub const MOST_THREADS: i32 = 1;
    pub const WARP: i32 = 10;
    pub const PROCESSORS: i32 = 16;
    pub const THREADS_OF_PROCESSOR: i32 = 39;
}

/// What a kernel's first argument points to, in words: two counters, and the buffer of its reduction.
const LAUNCH_WORDS: usize = 2;

/// A kernel that was found.
#[derive(Clone, Copy)]
struct Found {
    function: Function,
    kernel: Kernel,
}

/// What is under way and what was loaded.
struct Inner {
    streams: Streams,
    images: Vec<Loaded>,
    /// By image and function.
    kernels: HashMap<(u64, Address), Found>,
    /// Two words of zeros, for kernels without reductions.
    nothing: Address,
}

/// See the module.
pub struct Gpu {
    driver: &'static Driver,
    name: CString,
    limits: Limits,
    place: Place,
    inner: Mutex<Inner>,
    /// Apart, since the driver takes its time for a new block. The two locks are never held together.
    memory: Mutex<Memory>,
    context: Primary,
}

fn no_stream() -> Failure {
    Failure("there is no such stream".into())
}

fn failed(why: &Error) -> Failure {
    Failure(why.to_string().into())
}

impl Gpu {
    /// The driver's device with this number, its context retained.
    ///
    /// # Errors
    /// A line: the driver's words.
    pub fn new(driver: &'static Driver, ordinal: i32) -> Result<Self, String> {
        let words = |why: Error| why.to_string();
        let mut device: CuDevice = 0;
        // SAFETY: a valid out pointer.
        driver.check(unsafe { (driver.device_get)(&raw mut device, ordinal) }).map_err(words)?;
        let of = |which: i32| {
            let mut value = 0;
            // SAFETY: a valid out pointer.
            driver.check(unsafe { (driver.device_attribute)(&raw mut value, which, device) }).map(|()| value.max(0) as u32)
        };
        let limits = Limits {
            warp: of(attribute::WARP).map_err(words)?.max(1),
            threads: of(attribute::MOST_THREADS).map_err(words)?.max(1),
            processors: of(attribute::PROCESSORS).map_err(words)?.max(1),
        };
        let together = u64::from(limits.processors) * u64::from(of(attribute::THREADS_OF_PROCESSOR).map_err(words)?);
        let count = driver.count().map_err(words)?;
        let context = Primary::new(driver, device).map_err(words)?;
        let inside = context.enter().map_err(words)?;
        let streams = Streams::new(driver).map_err(words)?;
        drop(inside);
        let inner = Inner { streams, images: Vec::new(), kernels: HashMap::new(), nothing: 0 };
        let place = Place { devices: count as u32, number: ordinal as u32, parallelism: together };
        let gpu = Self { driver, name: name(driver, device, ordinal), limits, place, inner: Mutex::new(inner), memory: Mutex::default(), context };
        gpu.make_nothing().map_err(|why| why.to_string())?;
        Ok(gpu)
    }

    /// The words of zeros.
    fn make_nothing(&self) -> Result<(), Failure> {
        let at = self.allocate(8 * LAUNCH_WORDS, 8)?;
        self.write(at, &[0; LAUNCH_WORDS])?;
        self.inner().nothing = at;
        Ok(())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> Result<Inside, Failure> {
        self.context.enter().map_err(|why| failed(&why))
    }

    /// Puts something on a stream.
    fn begin(&self, lane: Lane, uses: Vec<Use>, put: impl FnOnce(driver::Stream) -> driver::Code) -> Result<Operation, Failure> {
        let _inside = self.enter()?;
        self.inner().streams.begin(lane, Work { uses, ..Work::default() }, put).map(Operation).map_err(|(why, _)| failed(&why))
    }

    /// Writes words to the device, and waits.
    fn write(&self, to: Address, words: &[u64]) -> Result<(), Failure> {
        // SAFETY: the caller's block; the words stay until this returns.
        let operation = unsafe { self.copy_in(to, words.as_ptr().cast(), size_of_val(words)) }?;
        self.settle(operation)
    }

    /// Waits, for what is done once.
    fn settle(&self, operation: Operation) -> Result<(), Failure> {
        loop {
            match self.poll(operation) {
                Progress::Pending => std::thread::yield_now(),
                Progress::Done => return Ok(()),
                Progress::Failed(why) => return Err(why),
            }
        }
    }

    fn free_by_driver(&self) -> impl Fn(Address) {
        let driver = self.driver;
        // SAFETY: a block of this context that nobody uses. What the driver says changes nothing any more.
        move |block| unsafe {
            (driver.memory_free)(block);
        }
    }

    /// What the compiler has left with a kernel.
    fn kernel(&self, module: Module, name: &CStr, address: Address) -> Result<Found, Failure> {
        if let Some(found) = self.inner().kernels.get(&(module.0, address)) {
            return Ok(*found);
        }
        let (function, environment) = {
            let inner = self.inner();
            let image = inner.images.get(module.0 as usize).ok_or_else(|| Failure("the image is not loaded".into()))?;
            let function = image.kernel(name).ok_or_else(|| Failure(format!("the image has no kernel {}", name.to_string_lossy()).into()))?;
            (function, image.kernel_environment(name).map_err(|why| Failure(why.into()))?)
        };
        let kernel = match environment {
            None => Kernel::UNKNOWN,
            Some(at) => {
                let mut bytes = [0; KERNEL_BYTES];
                // SAFETY: a variable of as many bytes; they are waited for.
                let operation = unsafe { self.copy_out(bytes.as_mut_ptr(), at, KERNEL_BYTES) }?;
                self.settle(operation)?;
                images::kernel(&bytes).map_err(|why| Failure(why.into()))?
            }
        };
        let found = Found { function, kernel };
        self.inner().kernels.insert((module.0, address), found);
        Ok(found)
    }

    /// What a kernel's first argument points to: two zeros, unless its teams reduce something together. Then a block of its own.
    fn environment(&self, kernel: &Kernel) -> Result<(Address, Option<Held>), Failure> {
        let buffer = kernel.reduction.0 as usize * kernel.reduction.1 as usize;
        if buffer == 0 {
            return Ok((self.inner().nothing, None));
        }
        let block = self.allocate(ALIGNED_WORDS + buffer, 64)?;
        let words: Box<[u64]> = Box::new([0, (block + ALIGNED_WORDS) as u64]);
        Ok((block, Some(Held { block, words })))
    }

    /// Begins a kernel in a stream, its environment before it if it has one of its own.
    fn launch(&self, found: &Found, wish: Wish, shared: u32, arguments: &[usize], work: Work<'_>) -> Result<Operation, Failure> {
        let (driver, (teams, threads)) = (self.driver, geometry::choose(&found.kernel, wish, &self.limits));
        let environment = work.held.as_ref().map(|held| (held.block, held.words.as_ptr(), size_of_val(&*held.words)));
        let bytes = size_of_val(arguments);
        let put = |stream| {
            if let Some((to, from, size)) = environment {
                // SAFETY: a block of the operation's own, and words that stay until it is over.
                let copied = unsafe { (driver.copy_in)(to, from.cast(), size, stream) };
                if copied != code::SUCCESS {
                    return copied;
                }
            }
            let extra = [BUFFER, arguments.as_ptr().cast::<c_void>(), BUFFER_SIZE, (&raw const bytes).cast(), END];
            // SAFETY: arguments that the caller vouches for, which the driver copies; a grid within the device's limits.
            unsafe { (driver.launch)(found.function, teams, 1, 1, threads, 1, 1, shared, stream, core::ptr::null(), extra.as_ptr()) }
        };
        let _inside = self.enter()?;
        let begun = self.inner().streams.begin(Lane::Compute, work, put);
        begun.map(Operation).map_err(|(why, held)| {
            self.release(held);
            failed(&why)
        })
    }

    /// What an operation held is not used any more.
    fn release(&self, held: Option<Held>) {
        if let Some(held) = held {
            self.memory().release(held.block);
        }
    }
}

/// Room for the launch's words, so that what is behind them is aligned.
const ALIGNED_WORDS: usize = 64;

/// How arguments are handed over: a buffer, its size, the end.
const BUFFER: *const c_void = core::ptr::without_provenance(1);
const BUFFER_SIZE: *const c_void = core::ptr::without_provenance(2);
const END: *const c_void = core::ptr::null();

fn name(driver: &Driver, device: CuDevice, ordinal: i32) -> CString {
    let mut text = [0_u8; 200];
    // SAFETY: as many bytes, of which the driver makes a string.
    let found = unsafe { (driver.device_name)(text.as_mut_ptr().cast(), text.len() as i32, device) };
    let name = CStr::from_bytes_until_nul(&text).ok().filter(|_| found == code::SUCCESS).map_or("GPU".into(), CStr::to_string_lossy);
    CString::new(format!("CUDA_{ordinal}_{}", name.replace(' ', "_"))).unwrap_or_default()
}

impl Device for Gpu {
    fn name(&self) -> &CStr {
        &self.name
    }

    fn allocate(&self, size: usize, align: usize) -> Result<Address, Failure> {
        let (_inside, driver) = (self.enter()?, self.driver);
        let allocate = |bytes| {
            let mut block = 0;
            // SAFETY: a valid out pointer; the context is current.
            driver.check(unsafe { (driver.memory_allocate)(&raw mut block, bytes) }).map(|()| block)
        };
        let result = self.memory().allocate(size, align, allocate, self.free_by_driver());
        result.map_err(|why| match why {
            Some(why) if why.code != code::OUT_OF_MEMORY => failed(&why),
            _ => Failure(format!("out of memory for {size} bytes").into()),
        })
    }

    unsafe fn free(&self, block: Address) {
        self.memory().release(block);
    }

    unsafe fn copy_in(&self, to: Address, from: *const u8, size: usize) -> Result<Operation, Failure> {
        // SAFETY: as the caller says.
        self.begin(Lane::In, vec![Use::writes(to, size)], |stream| unsafe { (self.driver.copy_in)(to, from, size, stream) })
    }

    unsafe fn copy_out(&self, to: *mut u8, from: Address, size: usize) -> Result<Operation, Failure> {
        // SAFETY: as the caller says.
        self.begin(Lane::Out, vec![Use::reads(from, size)], |stream| unsafe { (self.driver.copy_out)(to, from, size, stream) })
    }

    unsafe fn copy_within(&self, to: Address, from: Address, size: usize) -> Result<Operation, Failure> {
        let uses = vec![Use::writes(to, size), Use::reads(from, size)];
        // SAFETY: as the caller says.
        self.begin(Lane::Within, uses, |stream| unsafe { (self.driver.copy_within)(to, from, size, stream) })
    }

    fn load(&self, image: &Image<'_>) -> Result<Option<Module>, Failure> {
        if !images::is_ours(image.bytes) {
            return Ok(None);
        }
        let loaded = {
            let _inside = self.enter()?;
            Loaded::new(self.driver, image.bytes).map_err(|why| failed(&why))?
        };
        if let Some((at, words)) = loaded.environment(&self.place).map_err(|why| Failure(why.into()))? {
            self.write(at, &words)?;
        }
        let mut inner = self.inner();
        inner.images.push(loaded);
        Ok(Some(Module(inner.images.len() as u64 - 1)))
    }

    fn find(&self, module: Module, name: &CStr) -> Option<Address> {
        let _inside = self.enter().ok()?;
        let inner = self.inner();
        let image = inner.images.get(module.0 as usize)?;
        image.kernel(name).map(|kernel| kernel.0.addr()).or_else(|| image.variable(name).map(|variable| variable.address))
    }

    fn runs_host_functions(&self) -> bool {
        false
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<Operation, Failure> {
        let Code::Loaded(module, name, address) = launch.code else {
            return Err(Failure("a GPU cannot run functions of the host".into()));
        };
        let found = self.kernel(module, name, address)?;
        let mut arguments = Vec::with_capacity(1 + launch.arguments.len());
        let mut held = None;
        match launch.convention {
            Convention::Array => return Err(Failure("a GPU cannot run code that takes its arguments in an array".into())),
            Convention::Separate => {}
            Convention::SeparateAfterEnvironment => {
                let (environment, own) = self.environment(&found.kernel)?;
                arguments.push(environment);
                held = own;
            }
        }
        arguments.extend_from_slice(launch.arguments);
        let uses = {
            let memory = self.memory();
            let blocks = launch.arguments.iter().filter_map(|&argument| memory.block_at(argument));
            blocks.map(|range| Use { range, writes: true }).collect()
        };
        let wish = Wish { teams: launch.teams[0], threads: launch.thread_limit[0], iterations: launch.iterations };
        self.launch(&found, wish, launch.shared_bytes, &arguments, Work { uses, after: launch.after, held })
    }

    fn orders_operations(&self) -> bool {
        true
    }

    fn handles(&self) -> Option<Handles> {
        Some(Handles { ordinal: self.place.number as i32, context: self.context.handle().0 })
    }

    fn open_stream(&self) -> Result<Stream, Failure> {
        let _inside = self.enter()?;
        let opened = self.inner().streams.open();
        opened.map(|(id, stream)| Stream { id, handle: stream.0 }).map_err(|why| failed(&why))
    }

    fn close_stream(&self, stream: u64) {
        self.inner().streams.give_back(stream);
    }

    fn put_behind(&self, stream: u64, after: &[Operation]) -> Result<(), Failure> {
        let _inside = self.enter()?;
        let done = self.inner().streams.put_own_behind(stream, after);
        done.ok_or_else(no_stream)?.map_err(|why| failed(&why))
    }

    fn mark(&self, stream: u64, touches: &[(Address, usize)]) -> Result<Operation, Failure> {
        let uses = touches.iter().map(|&(from, size)| Use::writes(from, size)).collect();
        let _inside = self.enter()?;
        let marked = self.inner().streams.mark(stream, uses);
        marked.ok_or_else(no_stream)?.map(Operation).map_err(|why| failed(&why))
    }

    fn bind(&self) -> Result<usize, Failure> {
        Ok(self.enter()?.stay(&self.context).0.expose_provenance())
    }

    fn unbind(&self, before: usize) {
        // SAFETY: a context that was current when `bind` was called, or none.
        unsafe { (self.driver.context_set)(Context(core::ptr::with_exposed_provenance_mut(before))) };
    }

    fn poll(&self, operation: Operation) -> Progress {
        let Ok(_inside) = self.enter() else { return Progress::Failed(Failure("the device is lost".into())) };
        let state = self.inner().streams.poll(operation.0);
        match state {
            State::Pending => Progress::Pending,
            State::Over(result, held) => {
                self.release(held);
                result.map_or_else(|why| Progress::Failed(failed(&why)), |()| Progress::Done)
            }
        }
    }

    fn synchronise(&self) -> Result<(), Failure> {
        let _inside = self.enter()?;
        // Not under the lock: others may ask for what is over meanwhile.
        let all = self.inner().streams.all();
        let results: Vec<_> = all.into_iter().map(|stream| self.driver.check(wait_for(self.driver, stream))).collect();
        results.into_iter().collect::<Result<(), _>>().map_err(|why| failed(&why))
    }
}

/// Waits for a stream of the current context.
fn wait_for(driver: &Driver, stream: driver::Stream) -> driver::Code {
    // SAFETY: streams stay as long as their device.
    unsafe { (driver.stream_synchronise)(stream) }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let Ok(_inside) = self.enter() else { return };
        let nothing = {
            let mut inner = self.inner();
            inner.streams.close();
            inner.nothing
        };
        let mut memory = self.memory();
        memory.release(nothing);
        memory.trim(self.free_by_driver());
    }
}
