//! Starting: does the bridge fit the launcher, is the thread level granted, do all ranks run the
//! same program?
//!
//! Every failure is one line, printed by one rank, and an error on all of them. What cannot be
//! known before MPI runs (which rank this is) is taken from the launcher's environment.

use crate::bridge::last_line::{FORWARDING, say};
use crate::bridge::{Bridge, BridgeSettings};
use crate::fabric::Fabric;
use crate::fabric::mpi::{MpiCalls, MpiFabric};
use crate::near::carrier::Near;
use crate::near::reach::Reach;
use crate::near::segment::{self, SegmentRanks};
use crate::packet::FORMAT;
use crate::table::{ABI, BridgeConfig, code};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a launcher leaves in the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Whose launcher it is; `None` for one that starts every MPI's programs.
    pub mpi: Option<&'static str>,
    /// This process's rank.
    pub rank: u32,
    /// Number of processes.
    pub ranks: u32,
}

/// Reads the launcher's variables with `get`; `None` when the process was started without one that
/// is known. Slurm's `srun` speaks PMI as MPICH's launcher does, whatever MPI the program has.
pub fn launched(get: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    let by = |mpi, rank: &str, ranks: &str| {
        Some(Launched { mpi, rank: get(rank)?.parse().ok()?, ranks: get(ranks)?.parse().ok()? })
    };
    let pmi = if get("SLURM_PROCID").is_some() { None } else { Some("mpich") };
    by(Some("openmpi"), "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
        .or_else(|| by(pmi, "PMI_RANK", "PMI_SIZE"))
}

/// Whether the bridge for `name` belongs to the launcher; otherwise the line to print.
pub fn fits(name: &str, by: Option<&Launched>) -> Result<(), String> {
    match by.and_then(|l| l.mpi) {
        Some(right) if right != name => Err(format!(
            "the bridge for {name} was loaded, but the program was started by {right}'s launcher: load libgangway_mpi_{right}.so"
        )),
        _ => Ok(()),
    }
}

/// A hash of bytes (FNV-1a on words of 8 bytes): equal programs have equal hashes; it is no
/// protection against intent.
pub fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let step = |h: u64, w: u64| (h ^ w).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let h = words.iter().fold(seed ^ 0xcbf2_9ce4_8422_2325, |h, w| step(h, u64::from_le_bytes(*w)));
    rest.iter().fold(step(h, bytes.len() as u64), |h, b| step(h, u64::from(*b)))
}

/// The hash of a file's contents.
fn hash_file(path: &str) -> Result<u64, String> {
    std::fs::read(path).map(|b| hash(0, &b)).map_err(|e| format!("{path} cannot be read: {e}"))
}

/// What all ranks must have alike, with the words for a difference.
fn identities(config: &BridgeConfig, settings: &BridgeSettings) -> Result<Vec<(String, u64)>, String> {
    let l = settings.limits;
    let sizes =
        format!("{ABI} {FORMAT} {} {} {} {}", l.packet, l.window, settings.chunk, settings.posted_receives);
    let mut all = vec![
        ("different versions or settings of the bridge".to_string(), hash(0, sizes.as_bytes())),
        ("a different executable".to_string(), hash_file("/proc/self/exe")?),
    ];
    for i in 0..config.identity_count as usize {
        // SAFETY: the header's rule: as many identities as counted.
        let identity = unsafe { *config.identities.add(i) };
        // SAFETY: the header's rule: a string, and null is forgiven.
        let name = if identity.name.is_null() { c"module" } else { unsafe { CStr::from_ptr(identity.name) } };
        let (name, hash) = (name.to_string_lossy(), identity.hash);
        all.push((format!("a different {name}"), hash));
    }
    Ok(all)
}

/// The place where two lists differ, a missing entry included.
pub fn difference(first: &[u64], mine: &[u64]) -> Option<usize> {
    if first == mine {
        return None;
    }
    let common = first.iter().zip(mine).position(|(a, b)| a != b);
    Some(common.unwrap_or(first.len().min(mine.len())))
}

/// Compares this rank's list with the first rank's. Collective. The lowest rank that differs gets
/// the place; on all others that is `None`, and `fine` says whether there was none.
fn compare(calls: &MpiCalls, mine: &[u64]) -> Result<(bool, Option<usize>), String> {
    // Not u64::MAX: MPICH 4.0.2 takes the least of MPI_UINT64_T as if it were signed.
    const NOBODY: u64 = u32::MAX as u64;
    let check = |result| calls.check(result).map_err(|b| b.0);
    let mut count = mine.len() as u64;
    // SAFETY: 8 bytes, as said.
    check(unsafe { (calls.from_first)((&raw mut count).cast(), 8) })?;
    let mut first = mine.to_vec();
    first.resize(count as usize, 0);
    // SAFETY: the vector has `count` words.
    check(unsafe { (calls.from_first)(first.as_mut_ptr().cast(), count * 8) })?;
    // SAFETY: MPI is running.
    let rank = unsafe { (calls.rank)() } as u64;
    let place = difference(&first, mine);
    let mut least = if place.is_some() { rank } else { NOBODY };
    // SAFETY: one word.
    check(unsafe { (calls.least)(&raw mut least) })?;
    Ok((least == NOBODY, place.filter(|_| least == rank)))
}

/// A failure: its code, and the line if this rank is to print it.
type Failure = (i32, Option<String>);

/// Only the first rank speaks.
fn spoken(code: i32, first: bool, line: String) -> Failure {
    (code, first.then_some(line))
}

/// Starts MPI if need be.
fn begin(calls: &MpiCalls, config: &BridgeConfig, name: &str) -> Result<bool, Failure> {
    let by = launched(|v| std::env::var(v).ok());
    let first = by.is_none_or(|l| l.rank == 0);
    fits(name, by.as_ref()).map_err(|line| spoken(code::LAUNCHER, first, line))?;
    let (mut granted, mut ours) = (0, 0);
    // SAFETY: both words are ours.
    let begun = unsafe { (calls.begin)(config.thread_level as i32, &raw mut granted, &raw mut ours) };
    calls.check(begun).map_err(|b| spoken(code::MPI, first, format!("MPI does not start: {}", b.0)))?;
    let ours = ours != 0;
    if granted < config.thread_level as i32 {
        let line = format!(
            "MPI grants thread level {} of {}; the bridge needs {}{}",
            level(granted),
            name,
            level(config.thread_level as i32),
            if ours { "" } else { " (the program has called MPI_Init_thread with less)" }
        );
        return Err(stopped(calls, ours, spoken(code::THREADS, first, line)));
    }
    Ok(ours)
}

fn level(number: i32) -> &'static str {
    ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"]
        .get(number as usize)
        .unwrap_or(&"(none)")
}

/// Ends MPI if it was started here, and passes the failure on.
fn stopped(calls: &MpiCalls, ours: bool, failure: Failure) -> Failure {
    if ours {
        // SAFETY: nothing is under way.
        let _ = unsafe { (calls.end)(1) };
    }
    failure
}

/// Compares the ranks.
fn same(calls: &MpiCalls, config: &BridgeConfig) -> Result<BridgeSettings, Failure> {
    // SAFETY: MPI is running.
    let (rank, ranks) = unsafe { ((calls.rank)() as u32, (calls.ranks)() as u32) };
    let by = launched(|v| std::env::var(v).ok());
    if let Some(l) = by
        && l.ranks != ranks
    {
        let line = format!(
            "the launcher started {} processes, but MPI sees {ranks}: is this another MPI's bridge?",
            l.ranks
        );
        return Err(spoken(code::LAUNCHER, l.rank == 0, line));
    }
    let settings = BridgeSettings::new(ranks, config);
    // A rank that cannot read its program takes part in the comparison all the same: no rank may be
    // left waiting.
    let (mine, names) = match identities(config, &settings) {
        Ok(list) => list
            .into_iter()
            .map(|(name, hash)| (hash, format!("rank {rank} runs {name} than rank 0")))
            .unzip(),
        Err(line) => (vec![u64::MAX], vec![format!("rank {rank}: {line}")]),
    };
    let (fine, place) = compare(calls, &mine).map_err(|why| spoken(code::MPI, rank == 0, why))?;
    if fine {
        return Ok(settings);
    }
    let more = || format!("rank {rank} has {} modules, rank 0 another number", mine.len().saturating_sub(2));
    Err((code::MISMATCH, place.map(|p| names.get(p).cloned().unwrap_or_else(more))))
}

fn start(calls: &MpiCalls, config: &BridgeConfig) -> Result<Box<Bridge>, Failure> {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if config.size as usize != size_of::<BridgeConfig>()
        || !(2..=3).contains(&config.thread_level)
        || config.progress > 1
    {
        return Err((code::ABI, None));
    }
    // ORDERING: Relaxed; only who is first matters.
    if STARTED.swap(true, Ordering::Relaxed) {
        return Err((code::TWICE, None));
    }
    // SAFETY: the shim's name is a constant string.
    let name = unsafe { CStr::from_ptr(calls.name) }.to_string_lossy().into_owned();
    let ours = begin(calls, config, &name)?;
    // SAFETY: MPI is running.
    let joined = unsafe { (calls.join)() };
    calls.check(joined).map_err(|b| stopped(calls, ours, (code::MPI, Some(b.0))))?;
    let settings = same(calls, config).map_err(|f| stopped(calls, ours, f))?;
    let mpi = MpiFabric::new(*calls, ours);
    let inbox = segment::join(calls, config.mpi_only == 0)
        .map_err(|why| stopped(calls, ours, (code::MPI, Some(why))))?;
    let (fabric, reach): (Box<dyn Fabric>, _) = match inbox {
        Some(mut inbox) => {
            let reach = core::mem::take(&mut inbox.reach);
            (Box::new(Near::new(mpi, inbox)), reach)
        }
        None => (Box::new(mpi), Reach::default()),
    };
    let mut bridge = Bridge::new(fabric, settings, *config);
    bridge.reach = reach;
    Ok(bridge)
}

impl SegmentRanks for MpiCalls {
    fn me(&self) -> (u32, u32) {
        // SAFETY: MPI is running.
        unsafe { ((self.rank)() as u32, (self.ranks)() as u32) }
    }

    fn as_first_says(&self, mut value: u64) -> Result<u64, String> {
        // SAFETY: 8 bytes, as said.
        self.check(unsafe { (self.from_first)((&raw mut value).cast(), 8) }).map_err(|b| b.0)?;
        Ok(value)
    }

    fn all(&self, yes: bool) -> Result<bool, String> {
        let mut least = u64::from(yes);
        // SAFETY: one word.
        self.check(unsafe { (self.least)(&raw mut least) }).map_err(|b| b.0)?;
        Ok(least != 0)
    }
}

/// Starts the bridge over `calls`. On failure it prints the line, if it is this rank's, and gives
/// it time to get through the launcher. A rank that ends at once would have the others killed,
/// perhaps before the line is out.
pub fn run(calls: &MpiCalls, config: &BridgeConfig) -> Result<Box<Bridge>, i32> {
    start(calls, config).map_err(|(code, line)| {
        if let Some(line) = line {
            say(&line);
        }
        if !matches!(code, code::ABI | code::TWICE) {
            std::thread::sleep(FORWARDING);
        }
        code
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(list: &'static [(&str, &str)]) -> Option<Launched> {
        launched(|v| list.iter().find(|(k, _)| *k == v).map(|(_, x)| (*x).to_string()))
    }

    #[test]
    fn launchers_are_notified_apart() {
        let open = with(&[
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("PMI_RANK", "9"),
            ("PMI_SIZE", "9"),
        ]);
        assert_eq!(open, Some(Launched { mpi: Some("openmpi"), rank: 1, ranks: 4 }));
        let mpich = with(&[("PMI_RANK", "2"), ("PMI_SIZE", "3")]);
        assert_eq!(mpich, Some(Launched { mpi: Some("mpich"), rank: 2, ranks: 3 }));
        let slurm = with(&[("PMI_RANK", "2"), ("PMI_SIZE", "3"), ("SLURM_PROCID", "2")]);
        assert_eq!(slurm, Some(Launched { mpi: None, rank: 2, ranks: 3 }));
        assert_eq!(with(&[("PMI_RANK", "2")]), None);
        assert!(fits("openmpi", open.as_ref()).is_ok() && fits("mpich", mpich.as_ref()).is_ok());
        assert!(fits("openmpi", mpich.as_ref()).is_err_and(|line| line.contains("libgangway_mpi_mpich.so")));
        assert!(fits("mpich", open.as_ref()).is_err_and(|line| line.contains("libgangway_mpi_openmpi.so")));
        assert!(fits("mpich", None).is_ok(), "a single process needs no launcher");
        assert!(fits("openmpi", slurm.as_ref()).is_ok(), "any MPI");
    }

    #[test]
    fn differences_are_found_by_place() {
        assert_eq!(difference(&[1, 2, 3], &[1, 2, 3]), None);
        assert_eq!(difference(&[1, 2, 3], &[1, 5, 4]), Some(1));
        assert_eq!(difference(&[1, 2], &[1, 2, 3]), Some(2));
        assert_eq!(difference(&[1, 2, 3], &[1]), Some(1));
    }

    #[test]
    fn hashes_see_every_byte() {
        let bytes: Vec<u8> = (0..100).collect();
        let base = hash(0, &bytes);
        for i in 0..bytes.len() {
            let mut other = bytes.clone();
            other[i] ^= 1;
            assert_ne!(hash(0, &other), base, "byte {i}");
        }
        assert_ne!(hash(0, &bytes[..99]), base);
        assert_ne!(hash(0, &[0; 8]), hash(0, &[0; 16]));
    }
}
