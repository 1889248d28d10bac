//! A rank of `gangway autotune`: all compute at once, then rank 0 copies to one after the other, over the bridge that regions use, and
//! writes what it measured.
//!
//! The latency is the median of small copies, each awaited before the next; the bandwidth is that of the median of large ones, without the latency. The ranks
//! that are copied to do nothing else meanwhile, as a rank does whose workers wait, or that has a core for its bridge's thread. Speed is that of multiplications and
//! additions in the nearest cache, with a thread for each processor that the rank may use.
//!
//! Rejected: plain MPI calls (this program would need an MPI to build), and an OpenMP program (a compiler to run).

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, ptr};

use clap::ArgMatches;
use mpi_bridge::bridge::Bridge;
use mpi_bridge::load;
use mpi_bridge::table::{Config, Message, Piece, Table, code};
use placement::rates::{self, Rank, Rate, Rates};

use crate::failure::Failure;

/// The command that makes this program a rank; for the launcher, not for people.
pub const COMMAND: &str = "rank-of-autotune";

/// Numbers of messages.
const REPORT: u32 = 1;
const ENOUGH: u32 = 2;

const SMALL: usize = 8;
const LARGE: usize = 16 << 20;
const SMALL_ROUNDS: usize = 201;
const LARGE_ROUNDS: usize = 7;
/// How long all compute.
const COMPUTE: Duration = Duration::from_millis(200);

/// What a rank tells rank 0.
#[derive(Clone, Debug, PartialEq)]
struct Report {
    /// Where it may be copied to.
    address: u64,
    /// GFlop/s.
    compute: f64,
    host: String,
}

impl Report {
    fn bytes(&self) -> Vec<u8> {
        [&self.address.to_le_bytes()[..], &self.compute.to_le_bytes(), self.host.as_bytes()].concat()
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let (address, rest) = bytes.split_first_chunk()?;
        let (compute, host) = rest.split_first_chunk()?;
        let host = String::from_utf8_lossy(host).into_owned();
        Some(Self { address: u64::from_le_bytes(*address), compute: f64::from_le_bytes(*compute), host })
    }
}

static REPORTS: Mutex<BTreeMap<u32, Report>> = Mutex::new(BTreeMap::new());
/// Rank 0 has copied enough to this one.
static IS_ENOUGH: AtomicBool = AtomicBool::new(false);

fn reports() -> MutexGuard<'static, BTreeMap<u32, Report>> {
    REPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" fn reported(_: *mut c_void, message: *const Message) {
    // SAFETY: the bridge's message, which is valid during this call (its header), and so are as many bytes as it has.
    let (bytes, source) = unsafe { (std::slice::from_raw_parts((*message).bytes.cast::<u8>(), (*message).length as usize), (*message).source) };
    reports().extend(Report::of(bytes).map(|report| (source, report)));
}

unsafe extern "C" fn enough(_: *mut c_void, _: *const Message) {
    // ORDERING: Relaxed; read by this thread alone, which calls the bridge.
    IS_ENOUGH.store(true, Ordering::Relaxed);
}

/// The status of a copy that is under way.
const UNDER_WAY: i32 = i32::MAX;

unsafe extern "C" fn done(context: *mut c_void, status: c_int) {
    // SAFETY: the word of `Probe::put`, which waits for this call.
    let word = unsafe { &*context.cast::<AtomicI32>() };
    // ORDERING: Relaxed; the bridge has no thread of its own here, so `put` reads it in the thread that has called us.
    word.store(status, Ordering::Relaxed);
}

/// This rank. One thread makes all calls of the bridge, which is open from `start` to `end`; every `unsafe` here rests on that.
struct Probe {
    table: &'static Table,
    bridge: *const Bridge,
}

impl Probe {
    /// Starts MPI. When that fails, the bridge has said why.
    fn start(table: &'static Table) -> Probe {
        let (config, mut bridge) = (Config::default(), ptr::null());
        // SAFETY: both outlive the call.
        let result = table.init.map_or(code::ABI, |init| unsafe { init(&raw const config, &raw mut bridge) });
        if result != code::OK {
            std::process::exit(1);
        }
        let probe = Probe { table, bridge };
        for (number, handler) in [(REPORT, reported as unsafe extern "C" fn(*mut c_void, *const Message)), (ENOUGH, enough)] {
            // SAFETY: the bridge was made and is not open; the functions stay.
            unsafe { (table.handle)(bridge, number, Some(handler), ptr::null_mut()) };
        }
        // SAFETY: as above.
        unsafe { (table.open)(bridge) };
        probe
    }

    fn rank(&self) -> u32 {
        // SAFETY: the bridge is open.
        unsafe { (self.table.rank)(self.bridge) }
    }

    fn ranks(&self) -> u32 {
        // SAFETY: the bridge is open.
        unsafe { (self.table.ranks)(self.bridge) }
    }

    /// What an answer of the bridge means.
    fn result(&self, code: c_int) -> Result<(), Failure> {
        if code == code::OK {
            return Ok(());
        }
        // SAFETY: every code has a constant string.
        let text = unsafe { CStr::from_ptr((self.table.error_text)(code)) };
        Err(Failure::own(format!("rank {}: {}", self.rank(), text.to_string_lossy())))
    }

    /// Looks after messages until something is so. There may be more ranks than processors.
    fn until(&self, is_so: impl Fn() -> bool) -> Result<(), Failure> {
        let mut in_vain = 0;
        while !is_so() {
            // SAFETY: the bridge is open.
            match unsafe { (self.table.progress)(self.bridge) } {
                error if error < 0 => return self.result(error),
                0 if in_vain < 20 => in_vain += 1,
                0 => thread::yield_now(),
                _ => in_vain = 0,
            }
        }
        Ok(())
    }

    /// Does a call again and again while the bridge is busy.
    fn insist(&self, call: impl Fn() -> c_int) -> Result<(), Failure> {
        let mut answer = call();
        while answer == code::BUSY {
            // SAFETY: the bridge is open.
            unsafe { (self.table.progress)(self.bridge) };
            answer = call();
        }
        self.result(answer)
    }

    fn send(&self, to: u32, number: u32, bytes: &[u8]) -> Result<(), Failure> {
        let piece = Piece { bytes: bytes.as_ptr().cast(), length: bytes.len() as u64 };
        // SAFETY: the bridge is open, and copies the piece.
        self.insist(|| unsafe { (self.table.send)(self.bridge, to, number, &raw const piece, 1, ptr::null(), 0, 0) })
    }

    /// Nanoseconds until a copy is there.
    fn put(&self, to: u32, bytes: &[u8], address: u64) -> Result<f64, Failure> {
        let status = AtomicI32::new(UNDER_WAY);
        let context = ptr::from_ref(&status).cast_mut().cast();
        let begin = Instant::now();
        // SAFETY: the bytes stay; the address is that of a report, with room for `LARGE` bytes. An error of `until` leaves the word behind, but then this process
        // ends without calling the bridge again, and only its calls write the word.
        self.insist(|| unsafe { (self.table.put)(self.bridge, to, bytes.as_ptr().cast(), address, bytes.len() as u64, Some(done), context) })?;
        // ORDERING: Relaxed, both; see `done`.
        self.until(|| status.load(Ordering::Relaxed) != UNDER_WAY)?;
        let taken = begin.elapsed().as_nanos() as f64;
        // ORDERING: as above.
        self.result(status.load(Ordering::Relaxed)).map(|()| taken)
    }

    /// The median of so many copies.
    fn usual(&self, to: u32, bytes: &[u8], address: u64, rounds: usize) -> Result<f64, Failure> {
        let mut times = (0..rounds).map(|_| self.put(to, bytes, address)).collect::<Result<Vec<f64>, Failure>>()?;
        times.sort_by(f64::total_cmp);
        Ok(times[rounds / 2])
    }

    fn barrier(&self) -> Result<(), Failure> {
        // SAFETY: the bridge is open, and every rank comes here as often.
        self.result(unsafe { (self.table.wait_barrier)(self.bridge) })
    }

    /// Takes the bridge down, with all ranks.
    fn end(self) -> Result<(), Failure> {
        // SAFETY: the bridge is open, no other thread calls it, and nobody does afterwards.
        let answer = unsafe { (self.table.finalize)(self.bridge) };
        self.result(answer)
    }
}

/// GFlop/s of all threads that this rank may have.
fn compute() -> f64 {
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(compute_alone)).collect();
        all.into_iter().map(|t| t.join().unwrap_or(0.0)).sum()
    })
}

fn compute_alone() -> f64 {
    const NUMBERS: usize = 1024;
    let mut numbers = [1.0_f64; NUMBERS];
    let (begin, mut done) = (Instant::now(), 0_u64);
    while begin.elapsed() < COMPUTE {
        for number in &mut numbers {
            *number = *number * 0.999 + 0.001;
        }
        black_box(&mut numbers);
        done += 2 * NUMBERS as u64;
    }
    done as f64 / begin.elapsed().as_nanos() as f64
}

/// Three digits behind the point, and not zero.
fn tidy(number: f64) -> f64 {
    ((number * 1000.0).round() / 1000.0).max(0.001)
}

/// Rank 0 with all reports: the rates.
fn measure(probe: &Probe, bytes: &[u8]) -> Result<Rates, Failure> {
    let reports = reports().clone();
    let mut all = BTreeMap::new();
    for (&rank, Report { address, compute, host }) in &reports {
        let latency = probe.usual(rank, &bytes[..SMALL], *address, SMALL_ROUNDS)?;
        let whole = probe.usual(rank, bytes, *address, LARGE_ROUNDS)?;
        let bandwidth = bytes.len() as f64 / (whole - latency).max(1.0);
        let rate = Rate { latency: latency.round().max(1.0), bandwidth: tidy(bandwidth), compute: tidy(*compute) };
        all.insert(rank as usize, Rank { rate, host: host.clone() });
    }
    Rates::new(all).map_err(Failure::own)
}

/// Prints what was measured, and keeps it.
fn keep(rates: &Rates, file: &Path) -> Result<(), Failure> {
    println!("rank   us to it      GB/s   GFlop/s  host");
    for (rank, Rank { rate, host }) in rates.ranks() {
        println!("{rank:>4} {:>10.2} {:>9.2} {:>9.2}  {host}", rate.latency / 1000.0, rate.bandwidth, rate.compute);
    }
    let directory = file.parent().unwrap_or(Path::new("/"));
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(file, rates.write()));
    written.map_err(|e| Failure::own(format!("{}: {e}", file.display())))?;
    println!("written to {}", file.display());
    Ok(())
}

/// What a rank does.
pub fn run(options: &ArgMatches) -> Result<(), Failure> {
    let path = |name: &str| options.get_one::<PathBuf>(name).cloned().unwrap_or_default();
    let probe = Probe::start(load::table(&path("bridge")).map_err(Failure::own)?);
    let (rank, ranks) = (probe.rank(), probe.ranks() as usize);
    // One to copy from, and one to copy to, which nobody but the bridge writes from here on.
    let (from, mut to) = (vec![1_u8; LARGE], vec![2_u8; LARGE]);
    probe.barrier()?;
    let report = Report { address: to.as_mut_ptr().expose_provenance() as u64, compute: compute(), host: rates::host() };
    probe.send(0, REPORT, &report.bytes())?;
    let kept = if rank == 0 {
        probe.until(|| reports().len() == ranks)?;
        let rates = measure(&probe, &from)?;
        (1..ranks as u32).try_for_each(|other| probe.send(other, ENOUGH, &[0]))?;
        keep(&rates, &path("out"))
    } else {
        // ORDERING: Relaxed; see `enough`.
        probe.until(|| IS_ENOUGH.load(Ordering::Relaxed))
    };
    probe.end()?;
    drop(to);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_as_they_were_sent() {
        let report = Report { address: 0xdead_beef, compute: 12.5, host: "node1".into() };
        assert_eq!(Report::of(&report.bytes()), Some(report));
        assert_eq!(Report::of(&[0; 15]), None);
    }

    #[test]
    fn this_machine_computes() {
        assert!(compute_alone() > 0.0);
        assert_eq!([tidy(1.23456), tidy(0.0)], [1.235, 0.001]);
    }
}
