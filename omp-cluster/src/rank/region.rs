//! A region that another rank has launched here: what its message says, and its run. The message is
//! written by [`super::launch`].
//!
//! Reading is done in the handler, short; what may take longer, to find the code's module among
//! those loaded, in the task that runs the region.

use core::ptr;

use super::Cluster;
use super::codes::{CalledCode, LaunchedCode};
use super::launch::{apart, convention_of};
use super::wire::{WireReader, code, mark};
use crate::remote::check::waits;
use omp_offload::host::run_here;
use omp_offload::interface::{DeviceCode, DeviceFailure, DeviceModule, Launch};
use omp_offload::modules;

/// A region as its message describes it.
pub(super) struct RegionMessage {
    device: i32,
    depth: u32,
    thread_limit: u32,
    what: LaunchedCode,
    /// Where that is kept, if the code has a number.
    known: Option<&'static CalledCode>,
    arguments: Vec<usize>,
    /// What goes along with the answer, and where it belongs.
    wanted: Vec<(usize, usize)>,
    into: u64,
}

/// A region, and what its message says besides.
pub(super) struct ReceivedRegion {
    pub(super) region: RegionMessage,
    /// It was placed on another device.
    pub(super) stolen: bool,
    /// Regions that wait at the sender.
    pub(super) waiting: u32,
}

impl ReceivedRegion {
    fn new(region: RegionMessage, marks: u64) -> Self {
        Self { region, stolen: marks & mark::STOLEN != 0, waiting: (marks >> mark::WAITING) as u32 }
    }
}

fn arguments(reader: WireReader<'_>) -> Vec<usize> {
    reader.words().map(|word| word as usize).collect()
}

/// [`super::wire::verb::RUN`], behind the ticket.
///
/// # Errors
/// The message makes no sense.
pub(super) fn read(
    cluster: &'static Cluster,
    source: u32,
    reader: &mut WireReader<'_>,
) -> Result<ReceivedRegion, DeviceFailure> {
    let (device, depth, marks) = (reader.word() as i32, reader.word() as u32, reader.word());
    let (how, thread_limit) = (reader.word(), reader.word() as u32);
    let convention = convention_of(how & ((1 << mark::NAME) - 1));
    let what = LaunchedCode { kind: reader.word(), words: [reader.word(), reader.word()], convention };
    let into = reader.word();
    for _ in 0..reader.word() {
        let (from, rank, writes) = (reader.word() as u32, reader.word() as u32, reader.word());
        cluster.debts.owe(from, rank, writes);
    }
    let wanted = (0..reader.word()).map(|_| (reader.word() as usize, reader.word() as usize)).collect();
    let name = (how >> mark::NAME) as u32;
    let known = match name.checked_sub(1) {
        Some(number) => Some(cluster.peer(source).codes.learn(number, what).ok_or_else(|| nonsense(number))?),
        None => None,
    };
    let region = RegionMessage {
        device,
        depth,
        thread_limit,
        what,
        known,
        arguments: arguments(*reader),
        wanted,
        into,
    };
    Ok(ReceivedRegion::new(region, marks))
}

/// [`super::wire::verb::AGAIN`], behind the ticket.
///
/// # Errors
/// The message makes no sense.
pub(super) fn read_again(
    cluster: &'static Cluster,
    source: u32,
    reader: &mut WireReader<'_>,
) -> Result<ReceivedRegion, DeviceFailure> {
    let (number, thread_limit) = apart(reader.word());
    let (device, depth) = apart(reader.word());
    let marks = reader.word();
    let (known, what) = cluster.peer(source).codes.get(number).ok_or_else(|| nonsense(number))?;
    let (arguments, wanted) = (arguments(*reader), Vec::new());
    let region = RegionMessage {
        device: device as i32,
        depth,
        thread_limit,
        what,
        known: Some(known),
        arguments,
        wanted,
        into: 0,
    };
    Ok(ReceivedRegion::new(region, marks))
}

#[cold]
fn nonsense(number: u32) -> DeviceFailure {
    DeviceFailure(
        format!("a launch names the code {number}, which no launch has brought, or another one").into(),
    )
}

impl RegionMessage {
    /// Puts what is wanted into `bytes`; where it belongs.
    pub(super) fn bring_along(&self, bytes: &mut Vec<u8>) -> u64 {
        for &(at, size) in &self.wanted {
            // SAFETY: the sender has the memory from us.
            bytes.extend_from_slice(unsafe { core::slice::from_raw_parts(at as *const u8, size) });
        }
        self.into
    }

    fn address(&self, cluster: &Cluster) -> Result<usize, DeviceFailure> {
        let LaunchedCode { kind, words: [first, second], .. } = self.what;
        let look_up = || match kind {
            code::MODULE => Ok(modules::base(first).ok_or_else(|| not_here(cluster))? + second as usize),
            _ => Ok(second as usize),
        };
        match self.known {
            Some(known) => known.address(look_up),
            None => look_up(),
        }
    }

    pub(super) fn run(&self, cluster: &Cluster) -> Result<(), DeviceFailure> {
        let address = self.address(cluster)?;
        let launch = Launch {
            device: self.device,
            depth: self.depth,
            stolen: false,
            code: if self.what.kind == code::MODULE {
                DeviceCode::HostFunction(address)
            } else {
                DeviceCode::Loaded(DeviceModule(0), c"", address)
            },
            convention: self.what.convention,
            arguments: &self.arguments,
            teams: [0; 3],
            thread_limit: [self.thread_limit, 0, 0],
            iterations: 0,
            priority: 0,
            shared_bytes: 0,
            wanted: &[],
            into: ptr::null_mut(),
            after: &[],
        };
        let _noted = waits::runs(address, Vec::new);
        // SAFETY: the sender's promise (`Device::run`): code and arguments belong together. It has
        // counted the arguments.
        unsafe { run_here(&launch) };
        flush();
        Ok(())
    }
}

/// What a rank says that lacks a module.
pub(super) fn not_here(cluster: &Cluster) -> DeviceFailure {
    DeviceFailure(format!("rank {} has not loaded the module, or another version of it", cluster.rank).into())
}

unsafe extern "C" {
    /// The C library's standard output.
    static stdout: *mut libc::FILE;
    /// Bytes that a stream keeps (`stdio_ext.h`), asked without its lock.
    fn __fpending(stream: *mut libc::FILE) -> libc::size_t;
}

/// Lets what a region printed leave this process before its end is known: under a launcher standard
/// output is a pipe, and would keep it until the program ends. What the region's threads have
/// printed is seen by who has joined them.
fn flush() {
    // SAFETY: the C library's variable, set before `main`; its streams have locks, and a number
    // that is read beside one is any that it was.
    unsafe {
        if __fpending(stdout) != 0 {
            libc::fflush(stdout);
        }
    }
}
