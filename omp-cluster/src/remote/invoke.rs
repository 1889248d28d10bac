//! Invocations: a function of the program runs, as a task, on a rank that is named.

use core::ptr;

use super::check::occurrence::RankOccurrence;
use super::check::waits::{self, FutureSource};
use super::future::{self, By};
use super::server::SERVER;
use super::wire::{self, WireCall};
use super::{COUNTS, Owner, RemoteFault, RemoteHandle, begin_function, count, depth_here, owner};
use omp_offload::bytes::Bytes;
use omp_offload::modules;

/// What a handler returns its value through: `ompx_result_t`.
#[derive(Debug)]
pub struct InvokedAnswer {
    value: Bytes,
    /// The invocation has a future for the value.
    wanted: bool,
}

impl InvokedAnswer {
    /// The value is a copy of these bytes, in place of what was said before.
    ///
    /// # Errors
    /// There is no memory for it.
    /// # Safety
    /// `length` bytes at `from` are readable.
    pub unsafe fn set(&mut self, from: *const u8, length: usize) -> Result<(), RemoteFault> {
        if self.wanted {
            // SAFETY: as the caller says.
            self.value = unsafe { Bytes::copy(from, length) }.ok_or(RemoteFault::Memory)?;
        }
        Ok(())
    }
}

/// A function that can be invoked: `ompx_handler`.
pub type InvokedFunction =
    unsafe extern "C-unwind" fn(args: *const u8, bytes: usize, result: *mut InvokedAnswer);

/// A function that is to run here, and what it gets.
pub struct Invocation {
    /// A [`InvokedFunction`].
    pub function: usize,
    /// What it gets.
    pub args: Bytes,
    /// The future that its end sets.
    pub future: Option<RemoteHandle>,
    /// Target regions around the call.
    pub depth: u8,
}

impl Invocation {
    /// Runs it, and tells its future. In a task.
    pub fn run(self) {
        let Self { function, args, future, depth } = self;
        answered(function, future, None, depth, |answer| {
            // SAFETY: the invoker's promise, on this rank or, for the same function of the same
            // module, on another.
            unsafe {
                let function = core::mem::transmute::<usize, InvokedFunction>(function);
                function(args.address(), args.size(), answer);
            }
            drop(args);
        });
    }

    /// Has it run by a task of this process.
    pub fn leave(self) {
        SERVER.leave(Box::new(move || self.run()));
    }
}

/// Runs the function of the program at `address`, which says its value through what it is given,
/// and tells the future; `depth` as of [`begin_function`]. It may use an `object`. In a task.
pub fn answered(
    address: usize,
    future: Option<RemoteHandle>,
    object: Option<RemoteHandle>,
    depth: u8,
    function: impl FnOnce(*mut InvokedAnswer),
) {
    begin_function(depth);
    let gives =
        || future.map(RankOccurrence::Value).into_iter().chain(object.map(RankOccurrence::Object)).collect();
    let noted = waits::runs(address, gives);
    let mut answer = InvokedAnswer { value: Bytes::EMPTY, wanted: future.is_some() };
    function(&raw mut answer);
    drop(noted);
    if let Some(future) = future {
        // SAFETY: the answer's own bytes.
        let notified =
            unsafe { future::set(future, answer.value.address(), answer.value.size(), By::Handler) };
        if let Err(why) = notified {
            wire::lost(format_args!("the value of an invoked function cannot be sent: {why}"));
        }
    }
}

/// Invokes `function` on `rank` with a copy of `length` bytes; with a future for its value if
/// `into` is not null, which is written before the function can run.
///
/// # Errors
/// See [`RemoteFault`]; nothing has happened then.
/// # Safety
/// `length` bytes at `args` are readable, `into` is null or writable, and the function may be
/// called once as [`InvokedFunction`] says.
pub unsafe fn invoke(
    rank: i32,
    function: usize,
    args: *const u8,
    length: usize,
    into: *mut RemoteHandle,
) -> Result<(), RemoteFault> {
    let owner = owner(rank)?;
    let place = modules::place(function).ok_or(RemoteFault::Function)?;
    let future = (!into.is_null()).then(|| future::create(true));
    if let Some(future) = future {
        // SAFETY: as the caller says.
        unsafe { ptr::write(into, future) };
        waits::promised(future, FutureSource::Function(function, Some(rank)));
    }
    let begun = match owner {
        Owner::CurrentThread => {
            // SAFETY: as the caller says.
            let args = unsafe { Bytes::copy(args, length) }.ok_or(RemoteFault::Memory);
            args.map(|args| Invocation { function, args, future, depth: depth_here() }.leave())
        }
        // SAFETY: as the caller says.
        Owner::There(cluster, rank) => unsafe {
            wire::invoke(cluster, rank, place, WireCall { future, depth: depth_here() }, args, length)
        },
    };
    match (begun, future) {
        (Ok(()), _) => count(&COUNTS.sent),
        // No handler knows of the future, so it is freed.
        (Err(_), Some(future)) => future::free(future)?,
        (Err(_), None) => {}
    }
    begun
}
