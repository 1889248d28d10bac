//! A rank of `gangway autotune`. All ranks compute at once. Then rank 0 copies to one after the
//! other, over the bridge that regions use. Then other pairs do, each alone, and rank 0 writes the
//! measured values.
//!
//! The latency is the median of small copies, each awaited before the next; the bandwidth is that
//! of the median of large ones, without the latency. The ranks that are copied to do nothing else
//! meanwhile, as a rank does whose workers wait, or that has a core for its bridge's thread. Speed
//! is that of multiplications and additions in the nearest cache, with a thread for each processor
//! that the rank may use.
//!
//! Rejected: plain MPI calls (this program would need an MPI to build), and an OpenMP program (a
//! compiler to run).

use std::collections::{BTreeMap, BTreeSet};
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
use mpi_bridge::table::{BridgeConfig, BridgeMessage, BridgePiece, BridgeTable, code};
use placement::rates::{self, RankLink, RankLinks, Rate, RatedRank, Rates};

use crate::failure::CommandFailure;

/// The command that makes this program a rank; for the launcher, not for people.
pub const COMMAND: &str = "rank-of-autotune";

/// Numbers of messages.
const REPORT: u32 = 1;
const ENOUGH: u32 = 2;
const MEASURE: u32 = 3;
const MEASURED: u32 = 4;

/// With more ranks than these one pair is measured for each pair of hosts, and not all.
const ALL_PAIRS: usize = 12;

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

/// What rank 0 has asked this one to measure: another rank, and an address there.
static ASKED: Mutex<Option<(u32, u64)>> = Mutex::new(None);
/// What has come of it, at rank 0.
static ANSWERED: Mutex<Option<RankLink>> = Mutex::new(None);

static REPORTS: Mutex<BTreeMap<u32, Report>> = Mutex::new(BTreeMap::new());
/// Rank 0 has copied enough to this one.
static IS_ENOUGH: AtomicBool = AtomicBool::new(false);

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reports() -> MutexGuard<'static, BTreeMap<u32, Report>> {
    locked(&REPORTS)
}

unsafe extern "C" fn reported(_: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: the bridge's message, which is valid during this call (its header), and so are as
    // many bytes as it has.
    let (bytes, source) = unsafe {
        (
            std::slice::from_raw_parts((*message).bytes.cast::<u8>(), (*message).length as usize),
            (*message).source,
        )
    };
    reports().extend(Report::of(bytes).map(|report| (source, report)));
}

/// Two words.
fn pair([a, b]: [u64; 2]) -> Vec<u8> {
    [a.to_le_bytes(), b.to_le_bytes()].concat()
}

/// The same of a message.
///
/// # Safety
/// The bridge's message.
unsafe fn paired(message: *const BridgeMessage) -> Option<[u64; 2]> {
    // SAFETY: as the caller says: the header is valid during this call, and so are as many bytes as
    // it has.
    let bytes =
        unsafe { std::slice::from_raw_parts((*message).bytes.cast::<u8>(), (*message).length as usize) };
    let (a, rest) = bytes.split_first_chunk()?;
    Some([u64::from_le_bytes(*a), u64::from_le_bytes(*rest.first_chunk()?)])
}

unsafe extern "C" fn asked(_: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: the bridge's message.
    *locked(&ASKED) = unsafe { paired(message) }.map(|[to, address]| (to as u32, address));
}

unsafe extern "C" fn answered(_: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: the bridge's message.
    let figures = unsafe { paired(message) }.map(|words| words.map(f64::from_bits));
    *locked(&ANSWERED) = figures.map(|[latency, bandwidth]| RankLink { latency, bandwidth });
}

unsafe extern "C" fn enough(_: *mut c_void, _: *const BridgeMessage) {
    // ORDERING: Relaxed; read by this thread alone, which calls the bridge.
    IS_ENOUGH.store(true, Ordering::Relaxed);
}

/// The status of a copy that is under way.
const UNDER_WAY: i32 = i32::MAX;

unsafe extern "C" fn done(context: *mut c_void, status: c_int) {
    // SAFETY: the word of `Probe::put`, which waits for this call.
    let word = unsafe { &*context.cast::<AtomicI32>() };
    // ORDERING: Relaxed; the bridge has no thread of its own here, so `put` reads it in the thread
    // that has called us.
    word.store(status, Ordering::Relaxed);
}

/// This rank. One thread makes all calls of the bridge, which is open from `start` to `end`; every
/// `unsafe` here rests on that.
struct Probe {
    table: &'static BridgeTable,
    bridge: *const Bridge,
}

impl Probe {
    /// Starts MPI. When that fails, the bridge has said why.
    fn start(table: &'static BridgeTable) -> Probe {
        let (config, mut bridge) = (BridgeConfig::default(), ptr::null());
        // SAFETY: both outlive the call.
        let result =
            table.setup.init.map_or(code::ABI, |init| unsafe { init(&raw const config, &raw mut bridge) });
        if result != code::OK {
            std::process::exit(1);
        }
        let probe = Probe { table, bridge };
        let first = (REPORT, reported as unsafe extern "C" fn(*mut c_void, *const BridgeMessage));
        for (number, handler) in [first, (ENOUGH, enough), (MEASURE, asked), (MEASURED, answered)] {
            // SAFETY: the bridge was made and is not open; the functions stay.
            unsafe { (table.setup.handle)(bridge, number, Some(handler), ptr::null_mut()) };
        }
        // SAFETY: as above.
        unsafe { (table.setup.open)(bridge) };
        probe
    }

    fn rank(&self) -> u32 {
        // SAFETY: the bridge is open.
        unsafe { (self.table.setup.rank)(self.bridge) }
    }

    fn ranks(&self) -> u32 {
        // SAFETY: the bridge is open.
        unsafe { (self.table.setup.ranks)(self.bridge) }
    }

    /// What an answer of the bridge means.
    fn result(&self, code: c_int) -> Result<(), CommandFailure> {
        if code == code::OK {
            return Ok(());
        }
        // SAFETY: every code has a constant string.
        let text = unsafe { CStr::from_ptr((self.table.reports.error_text)(code)) };
        Err(CommandFailure::own(format!("rank {}: {}", self.rank(), text.to_string_lossy())))
    }

    /// Looks after messages until something is so. There may be more ranks than processors.
    fn until(&self, is_so: impl Fn() -> bool) -> Result<(), CommandFailure> {
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
    fn until_accepted(&self, call: impl Fn() -> c_int) -> Result<(), CommandFailure> {
        let mut answer = call();
        while answer == code::BUSY {
            // SAFETY: the bridge is open.
            unsafe { (self.table.progress)(self.bridge) };
            answer = call();
        }
        self.result(answer)
    }

    fn send(&self, to: u32, number: u32, bytes: &[u8]) -> Result<(), CommandFailure> {
        let piece = BridgePiece { bytes: bytes.as_ptr().cast(), length: bytes.len() as u64 };
        // SAFETY: the bridge is open, and copies the piece.
        self.until_accepted(|| unsafe {
            (self.table.traffic.send)(self.bridge, to, number, &raw const piece, 1, ptr::null(), 0, 0)
        })
    }

    /// Nanoseconds until a copy is there.
    fn put(&self, to: u32, bytes: &[u8], address: u64) -> Result<f64, CommandFailure> {
        let status = AtomicI32::new(UNDER_WAY);
        let context = ptr::from_ref(&status).cast_mut().cast();
        let begin = Instant::now();
        // SAFETY: the bytes stay; the address is that of a report, with room for `LARGE` bytes. An
        // error of `until` leaves the word behind, but then this process ends without calling the
        // bridge again, and only its calls write the word.
        self.until_accepted(|| unsafe {
            (self.table.traffic.put)(
                self.bridge,
                to,
                bytes.as_ptr().cast(),
                address,
                bytes.len() as u64,
                Some(done),
                context,
            )
        })?;
        // ORDERING: Relaxed, both; see `done`.
        self.until(|| status.load(Ordering::Relaxed) != UNDER_WAY)?;
        let taken = begin.elapsed().as_nanos() as f64;
        // ORDERING: as above.
        self.result(status.load(Ordering::Relaxed)).map(|()| taken)
    }

    /// The median of so many copies.
    fn usual(&self, to: u32, bytes: &[u8], address: u64, rounds: usize) -> Result<f64, CommandFailure> {
        let mut times = (0..rounds)
            .map(|_| self.put(to, bytes, address))
            .collect::<Result<Vec<f64>, CommandFailure>>()?;
        times.sort_by(f64::total_cmp);
        Ok(times[rounds / 2])
    }

    /// The way to a rank.
    fn way(&self, to: u32, bytes: &[u8], address: u64) -> Result<RankLink, CommandFailure> {
        let latency = self.usual(to, &bytes[..SMALL], address, SMALL_ROUNDS)?;
        let whole = self.usual(to, bytes, address, LARGE_ROUNDS)?;
        let bandwidth = bytes.len() as f64 / (whole - latency).max(1.0);
        Ok(RankLink { latency: latency.round().max(1.0), bandwidth: tidy(bandwidth) })
    }

    /// Measures what rank 0 asks for, until it has enough.
    fn serve(&self, bytes: &[u8]) -> Result<(), CommandFailure> {
        loop {
            // ORDERING: Relaxed; see `enough`.
            self.until(|| IS_ENOUGH.load(Ordering::Relaxed) || locked(&ASKED).is_some())?;
            let Some((to, address)) = locked(&ASKED).take() else { return Ok(()) };
            let RankLink { latency, bandwidth } = self.way(to, bytes, address)?;
            self.send(0, MEASURED, &pair([latency.to_bits(), bandwidth.to_bits()]))?;
        }
    }

    fn barrier(&self) -> Result<(), CommandFailure> {
        // SAFETY: the bridge is open, and every rank comes here as often.
        self.result(unsafe { (self.table.collective.wait_barrier)(self.bridge) })
    }

    /// Takes the bridge down, with all ranks.
    fn end(self) -> Result<(), CommandFailure> {
        // SAFETY: the bridge is open, no other thread calls it, and no call follows this one.
        let answer = unsafe { (self.table.collective.finalize)(self.bridge) };
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
fn measure(probe: &Probe, bytes: &[u8]) -> Result<Rates, CommandFailure> {
    let reports = reports().clone();
    let mut all = BTreeMap::new();
    for (&rank, Report { address, compute, host }) in &reports {
        let RankLink { latency, bandwidth } = probe.way(rank, bytes, *address)?;
        let rate = Rate { latency, bandwidth, compute: tidy(*compute) };
        all.insert(rank as usize, RatedRank { rate, host: host.clone() });
    }
    let mut ways = RankLinks::new();
    for (from, to) in pairs(&reports) {
        probe.send(from, MEASURE, &pair([to.into(), reports[&to].address]))?;
        probe.until(|| locked(&ANSWERED).is_some())?;
        ways.extend(locked(&ANSWERED).take().map(|way| ((from as usize, to as usize), way)));
    }
    Rates::new(all, ways).map_err(CommandFailure::own)
}

/// The pairs without rank 0 that are measured, the lower rank first.
fn pairs(reports: &BTreeMap<u32, Report>) -> Vec<(u32, u32)> {
    let others = || reports.iter().filter(|(rank, _)| **rank != 0);
    let all = others().flat_map(|a| others().filter(move |b| a.0 < b.0).map(move |b| (a, b)));
    let mut seen = BTreeSet::new();
    let hosts =
        |a: &Report, b: &Report| (a.host.clone().min(b.host.clone()), a.host.clone().max(b.host.clone()));
    let mut is_wanted = |a: &Report, b: &Report| reports.len() <= ALL_PAIRS || seen.insert(hosts(a, b));
    all.filter(|(a, b)| is_wanted(a.1, b.1)).map(|(a, b)| (*a.0, *b.0)).collect()
}

/// Prints what was measured, and keeps it.
fn keep(rates: &Rates, file: &Path) -> Result<(), CommandFailure> {
    println!("rank   us to it      GB/s   GFlop/s  host");
    for (rank, RatedRank { rate, host }) in rates.ranks() {
        println!(
            "{rank:>4} {:>10.2} {:>9.2} {:>9.2}  {host}",
            rate.latency / 1000.0,
            rate.bandwidth,
            rate.compute
        );
    }
    if !rates.ways().is_empty() {
        println!("ranks    us from one to the other      GB/s");
    }
    for ((from, to), way) in rates.ways() {
        println!("{from:>4} {to:>4} {:>25.2} {:>9.2}", way.latency / 1000.0, way.bandwidth);
    }
    let directory = file.parent().unwrap_or(Path::new("/"));
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(file, rates.write()));
    written.map_err(|e| CommandFailure::own(format!("{}: {e}", file.display())))?;
    println!("written to {}", file.display());
    Ok(())
}

/// What a rank does.
pub fn run(options: &ArgMatches) -> Result<(), CommandFailure> {
    let path = |name: &str| options.get_one::<PathBuf>(name).cloned().unwrap_or_default();
    let probe = Probe::start(load::table(&path("bridge")).map_err(CommandFailure::own)?);
    let (rank, ranks) = (probe.rank(), probe.ranks() as usize);
    // One to copy from, and one to copy to. From here on only the bridge writes the second one.
    let (from, mut to) = (vec![1_u8; LARGE], vec![2_u8; LARGE]);
    probe.barrier()?;
    let report = Report {
        address: to.as_mut_ptr().expose_provenance() as u64,
        compute: compute(),
        host: rates::host(),
    };
    probe.send(0, REPORT, &report.bytes())?;
    let kept = if rank == 0 {
        probe.until(|| reports().len() == ranks)?;
        let rates = measure(&probe, &from)?;
        (1..ranks as u32).try_for_each(|other| probe.send(other, ENOUGH, &[0]))?;
        keep(&rates, &path("out"))
    } else {
        probe.serve(&from)
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
    fn all_pairs_of_few_ranks_are_measured_and_one_for_two_hosts_of_many() {
        let on = |host: &str| Report { address: 0, compute: 1.0, host: host.into() };
        let few: BTreeMap<u32, Report> = (0..4).map(|rank| (rank, on("a"))).collect();
        assert_eq!(pairs(&few), [(1, 2), (1, 3), (2, 3)]);
        let many: BTreeMap<u32, Report> =
            (0..64).map(|rank| (rank, on(["a", "b", "c"][rank as usize / 22]))).collect();
        assert_eq!(pairs(&many), [(1, 2), (1, 22), (1, 44), (22, 23), (22, 44), (44, 45)]);
        let lonely: BTreeMap<u32, Report> = (0..2).map(|rank| (rank, on("a"))).collect();
        assert_eq!(pairs(&lonely), []);
    }

    #[test]
    fn this_machine_computes() {
        assert!(compute_alone() > 0.0);
        assert_eq!([tidy(1.23456), tidy(0.0)], [1.235, 0.001]);
    }
}
