//! What a kind of device has to be able to do: [`Device`].
//!
//! Kinds of devices implement this trait in crates of their own (a GPU: `cuda-offload`) or in the
//! core (the host, other ranks). So this crate depends on nothing: numbers, slices, addresses. The
//! trait is object-safe, and a table of C functions can stand in for it. What may not live here:
//! mapping (the core decides what is copied when), and anything about compilers.
//!
//! **Operations.** A copy or a launch returns a [`DeviceOperation`]. It may be over by then
//! ([`DeviceOperation::DONE`]), or the core asks for it with [`Device::poll`] while the OpenMP
//! thread that waits is suspended and its worker runs something else. Operations that touch the
//! same bytes take effect in the order in which they were begun. A source or a target on the host
//! stays valid until its operation is over. Numbers of operations are not used again. So an
//! operation that was polled to its end still counts as over for other threads that wait for it.
//!
//! **Streams.** A device that has queues of its own lends them to the program
//! ([`Device::open_stream`]), which puts there what the core knows nothing of: kernels, calls of
//! libraries. The core says what comes before ([`Device::put_behind`]) and makes an operation of it
//! afterwards ([`Device::mark`]).
//!
//! Rejected: a method that blocks until an operation is over (it would hold a worker), and
//! callbacks into the core (they run on whatever thread a driver likes, in the middle of its
//! locks). A device that can report the end of an operation by a call does so through [`Wake`].

use core::ffi::{CStr, c_void};
use std::borrow::Cow;

/// An address on a device. The host reads nothing through it.
pub type DeviceAddress = usize;

/// Something a device has begun to do. The number means something to the device only, except for
/// [`DeviceOperation::DONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceOperation(pub u64);

impl DeviceOperation {
    /// Over already.
    pub const DONE: Self = Self(0);
}

/// How far an operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceProgress {
    /// Not over.
    Pending,
    /// Over. The device forgets the operation: it is not asked for again.
    Done,
    /// Over, without success. The device forgets the operation.
    Failed(DeviceFailure),
}

/// Why a device could not do something: half a sentence for the user, such as `out of memory for 80
/// bytes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFailure(pub Cow<'static, str>);

impl core::fmt::Display for DeviceFailure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Wakes who waits for an operation: `call(data)`, from any thread, at most once.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// The function; it neither blocks nor waits.
    pub call: unsafe extern "C" fn(*mut ()),
    /// Its argument.
    pub data: *mut (),
}

/// A queue of a device that the program puts its own work on: what is put there happens in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// By which the device knows it, for the other calls.
    pub id: u64,
    /// By which the device's own interface knows it (CUDA: a `CUstream`).
    pub handle: *mut c_void,
}

// SAFETY: a handle is a number to us; the device's interface may be called with it from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

/// How the device's own interface knows a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handles {
    /// Its number there (CUDA: a `CUdevice`).
    pub ordinal: i32,
    /// What its memory and streams belong to (CUDA: the device's primary `CUcontext`).
    pub context: *mut c_void,
}

// SAFETY: as for a stream.
unsafe impl Send for Handles {}
// SAFETY: as above.
unsafe impl Sync for Handles {}

/// Code for devices as the program carries it: one image of one shared object or executable.
#[derive(Clone, Copy, Debug)]
pub struct DeviceImage<'a> {
    /// The bytes: an ELF file.
    pub bytes: &'a [u8],
    /// A number that no other image of this process has.
    pub id: u64,
    /// Of which compiler it is, as far as the program's tables say.
    pub release: Release,
}

/// Compilers whose images differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// LLVM up to 20.
    Llvm20,
    /// LLVM from 21 on.
    Later,
}

/// An image that a device has loaded; the number is the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceModule(pub u64);

/// The code of a target region.
#[derive(Clone, Copy, Debug)]
pub enum DeviceCode<'a> {
    /// A function of the host's own program, at this host address (gcc).
    HostFunction(usize),
    /// A function of an image that was loaded ([`Device::load`]), and where the device has it
    /// ([`Device::find`]) (clang).
    Loaded(DeviceModule, &'a CStr, DeviceAddress),
}

/// How the code takes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// One argument: the address of the array of all arguments (gcc).
    Array,
    /// Each argument by itself (clang up to 16).
    Separate,
    /// As [`Convention::Separate`], after one that stands for the launch's environment and may be
    /// null (clang from 17 on).
    SeparateAfterEnvironment,
}

/// A target region that is to run: addresses in it are the device's.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The number of the device that runs it (`omp_get_device_num` inside).
    pub device: i32,
    /// How many target regions it is inside of, itself counted.
    pub depth: u32,
    /// It was placed on another device, and this one has stolen it.
    pub stolen: bool,
    /// The code.
    pub code: DeviceCode<'a>,
    /// How it takes its arguments.
    pub convention: Convention,
    /// The arguments, translated: addresses of the device, or values.
    pub arguments: &'a [usize],
    /// `num_teams`, per dimension, 0 when not given.
    pub teams: [u32; 3],
    /// `thread_limit`, per dimension, 0 when not given.
    pub thread_limit: [u32; 3],
    /// Iterations of the region's loop, 0 when not known.
    pub iterations: u64,
    /// The priority of the task that launches it (OpenMP 5.2 §12.4), 0: the least and usual one. A
    /// hint.
    pub priority: u32,
    /// Bytes of memory that a team shares, asked for at the launch.
    pub shared_bytes: u32,
    /// What the host wants of the device's memory as it is when the region ends: addresses and
    /// sizes, together at most [`Device::brings_along`].
    pub wanted: &'a [(DeviceAddress, usize)],
    /// Where that is to be written, one after the other, before the operation is over.
    pub into: *mut u8,
    /// Operations of the same device that are to be over before the code begins, beside those that
    /// touch the same bytes. Empty where the device does not say [`Device::orders_operations`].
    pub after: &'a [DeviceOperation],
}

/// A device (OpenMP 5.2 §1.2.1). All methods may be called by several threads at once. None may
/// block for long.
pub trait Device: Send + Sync {
    /// A name that no other device has (`omp_get_uid_from_device`); valid as long as the device.
    fn name(&self) -> &CStr;

    /// `size` bytes of its memory, `size` at least 1, aligned to `align` bytes (a power of two).
    ///
    /// # Errors
    /// There is not that much.
    fn allocate(&self, size: usize, align: usize) -> Result<DeviceAddress, DeviceFailure>;

    /// Gives memory back.
    ///
    /// # Safety
    /// `block` came from [`Device::allocate`] and is not used any more, by operations that are not
    /// over either.
    unsafe fn free(&self, block: DeviceAddress);

    /// Copies `size` bytes from the host to the device.
    ///
    /// # Errors
    /// The copy could not be begun.
    /// # Safety
    /// Both are that large; `from` stays valid until the operation is over.
    unsafe fn copy_in(
        &self,
        to: DeviceAddress,
        from: *const u8,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure>;

    /// Copies `size` bytes from the device to the host.
    ///
    /// # Errors
    /// The copy could not be begun.
    /// # Safety
    /// Both are that large; `to` stays valid until the operation is over.
    unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure>;

    /// Copies `size` bytes inside the device's memory.
    ///
    /// # Errors
    /// The copy could not be begun.
    /// # Safety
    /// Both are that large.
    unsafe fn copy_within(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure>;

    /// The number by which other devices know it, if there are any that can copy from its memory.
    /// Kinds have numbers apart from each other's.
    fn peer(&self) -> Option<u64> {
        None
    }

    /// Can it copy from the memory of the device that is that peer, without the host in the middle?
    /// Not from its own.
    fn reaches(&self, _peer: u64) -> bool {
        self.peer().is_some()
    }

    /// Copies `size` bytes from the memory of the device that is that peer, without the host in the
    /// middle. Never called where [`Device::reaches`] says no. Where both
    /// [`Device::orders_operations`], the copy comes behind what writes to the source there, and
    /// what writes to it later comes behind the copy.
    ///
    /// # Errors
    /// The copy could not be begun.
    /// # Safety
    /// Both are that large, and the other device's stays until the operation is over; no operation
    /// that writes to it is under way, unless they are ordered as said.
    unsafe fn copy_across(
        &self,
        _to: DeviceAddress,
        _peer: u64,
        _from: DeviceAddress,
        _size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        Err(DeviceFailure("it cannot copy from another device".into()))
    }

    /// Can the device use the host's memory by its host address?
    fn reaches_host_memory(&self) -> bool {
        false
    }

    /// Can the host use memory of [`Device::allocate`] by its address?
    fn is_reached_by_host(&self) -> bool {
        false
    }

    /// Where the device has the variable that the host's program has at `variable`, in static
    /// storage; `None` when it has no such variables of its own. For regions whose code is a
    /// host function.
    fn static_variable(&self, _variable: usize) -> Option<DeviceAddress> {
        None
    }

    /// Loads an image; `None` when it is not for this kind of device.
    ///
    /// # Errors
    /// It is for this kind, but cannot be loaded.
    fn load(&self, image: &DeviceImage<'_>) -> Result<Option<DeviceModule>, DeviceFailure>;

    /// The object that holds an image goes away: calls the destructors of the image's global
    /// objects, waits for them, and forgets the image. Nothing of it is used any more. May be
    /// called under the loader's lock. A device that is lost has nothing to destroy.
    ///
    /// # Errors
    /// The destructors failed.
    fn unload(&self, _module: DeviceModule) -> Result<(), DeviceFailure> {
        Ok(())
    }

    /// The process ends: calls the destructors of the images that are still loaded, and waits for
    /// them. The images stay. As [`Device::unload`] otherwise.
    ///
    /// # Errors
    /// Some destructors failed.
    fn end(&self) -> Result<(), DeviceFailure> {
        Ok(())
    }

    /// Where a loaded image has a function or variable.
    fn find(&self, module: DeviceModule, name: &CStr) -> Option<DeviceAddress>;

    /// Can the device run [`DeviceCode::HostFunction`]?
    fn runs_host_functions(&self) -> bool;

    /// How many bytes of its memory the end of a region can bring along, 0: it cannot.
    fn brings_along(&self) -> usize {
        0
    }

    /// Can an operation be begun behind others that are not over ([`Launch::after`]), so that the
    /// device waits and not the host?
    fn orders_operations(&self) -> bool {
        false
    }

    /// How the device's own interface knows it; `None`: it has none that a program could use.
    fn handles(&self) -> Option<Handles> {
        None
    }

    /// A stream for the program's own work alone, until it is closed. Priorities are as in
    /// [`Launch::priority`].
    ///
    /// # Errors
    /// There are none, or no more.
    fn open_stream(&self, _priority: u32) -> Result<Stream, DeviceFailure> {
        Err(no_streams())
    }

    /// Gives a stream back. What is still on it takes place; the next one who gets this stream
    /// comes behind that.
    fn close_stream(&self, _stream: u64) {}

    /// What is put on the stream from now on begins when these operations of this device are over.
    /// Which bytes anything touches is not looked at.
    ///
    /// # Errors
    /// There is no such stream, or the device is lost.
    fn put_behind(&self, _stream: u64, _after: &[DeviceOperation]) -> Result<(), DeviceFailure> {
        Err(no_streams())
    }

    /// An operation that is over when everything is that has been put on the stream so far. It
    /// counts as writing these bytes of the device (addresses and sizes): operations that are
    /// begun later and touch them come behind it. Those begun earlier are not waited for: that is
    /// [`Device::put_behind`]'s business.
    ///
    /// # Errors
    /// There is no such stream, or the device is lost.
    fn mark(
        &self,
        _stream: u64,
        _touches: &[(DeviceAddress, usize)],
    ) -> Result<DeviceOperation, DeviceFailure> {
        Err(no_streams())
    }

    /// From here on the functions of the device's own interface mean this device, on the calling
    /// kernel thread (CUDA: its context is current). What they meant before, for
    /// [`Device::unbind`].
    ///
    /// # Errors
    /// There is no such interface, or the device is lost.
    fn bind(&self) -> Result<usize, DeviceFailure> {
        Err(no_streams())
    }

    /// They mean again what they meant before [`Device::bind`].
    fn unbind(&self, _before: usize) {}

    /// Begins a region. The calling thread may be the one that runs it.
    ///
    /// # Errors
    /// The region could not be begun.
    /// # Safety
    /// Code and arguments belong together; what the arguments point to, and the room at `into`,
    /// stays until the operation is over. The launch itself need not outlive the call.
    unsafe fn run(&self, launch: &Launch<'_>) -> Result<DeviceOperation, DeviceFailure>;

    /// How far an operation is. Never called for [`DeviceOperation::DONE`].
    fn poll(&self, operation: DeviceOperation) -> DeviceProgress;

    /// Promises to call `wake` when the operation is over, now if it is already. False: it cannot,
    /// and is polled without end.
    fn wake_on(&self, _operation: DeviceOperation, _wake: Wake) -> bool {
        false
    }

    /// Blocks until everything that was begun is over. For the end of a program or of a device; not
    /// used while regions run.
    ///
    /// # Errors
    /// An operation failed whose result no caller has asked for.
    fn synchronise(&self) -> Result<(), DeviceFailure>;
}

/// What a device without streams says.
fn no_streams() -> DeviceFailure {
    DeviceFailure("it has no streams".into())
}
