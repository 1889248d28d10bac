//! Bringing the ranks together before `main`, and parting.
//!
//! `ompx_cluster_init` comes here: called by the program, or by `libgangway_start.so` in place of
//! `main`. It picks the bridge that belongs to the launcher, loads it from beside this library, has
//! it compare the ranks' programs, and begins to take part. A rank that does not run `main` serves
//! here, and its process ends here.
//!
//! *The end.* All ranks begin one quiescence of the bridge (`docs/protocols/bridge.md`) at the
//! start: a rank is idle when its `main` has ended, it runs nothing for others and awaits nothing;
//! thieves among such ranks are silent. So the quiescence is over when all ranks are through, no
//! matter which rank launched which region, and no message says so. A `main` has ended when the
//! process runs its exit handlers.
//!
//! Rejected: a message from rank 0 that ends the others (in spmd mode no rank knows when to send
//! it; regions that launch further ones could outlive it).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mpi_bridge::bridge::Bridge;
use mpi_bridge::table::{BridgeConfig, BridgeTable, DEDICATED, Identity, code};

use super::{CLUSTER, Cluster, Peer, death, gpus, link, serve};
use crate::remote::check::rounds;
use crate::remote::object;
use crate::remote::server::{self, SERVER};
use omp::env::{self, ClusterMode};
use omp::exit;
use omp::report;
use omp_offload::modules;
use omp_offload::place::held;
use omp_offload::program;
use ult::sys::loader::LoadedAddress;

/// The process that has started, 0 before.
static STARTED: AtomicI32 = AtomicI32::new(0);
/// It has parted from the others.
static PARTED: AtomicBool = AtomicBool::new(false);

/// Which MPI started this process, and as which rank.
fn launched(var: &dyn Fn(&str) -> Option<String>) -> Option<(&'static str, u32)> {
    let known = [("openmpi", "OMPI_COMM_WORLD_RANK"), ("mpich", "PMI_RANK")];
    known.into_iter().find_map(|(mpi, name)| Some((mpi, var(name)?.parse().ok()?)))
}

/// The MPI that the program itself is linked with.
fn linked() -> Option<&'static str> {
    // SAFETY: C strings.
    let has = |name: &CStr| unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() };
    if has(c"ompi_mpi_comm_world") { Some("openmpi") } else { has(c"MPI_Init").then_some("mpich") }
}

/// Where this library lies.
fn directories() -> Vec<PathBuf> {
    let here = LoadedAddress::of(launched as *const () as usize);
    let path = here.map(|object| object.path().to_string_lossy().into_owned());
    let as_loaded = PathBuf::from(path.unwrap_or_default());
    let real = as_loaded.canonicalize().unwrap_or_default();
    [as_loaded, real].iter().filter_map(|p| p.parent().map(Path::to_path_buf)).collect()
}

/// The bridge's table of functions.
fn load(mpi: &str) -> Result<&'static BridgeTable, String> {
    let name = format!("libgangway_mpi_{mpi}.so");
    let directories = directories();
    let Some(path) = directories.iter().map(|d| d.join(&name)).find(|p| p.exists()) else {
        let beside = directories.last().map(|d| d.display().to_string()).unwrap_or_default();
        return Err(format!("{name} is not in {beside}, beside this library (cargo xtask bridge builds it)"));
    };
    mpi_bridge::load::table(&path)
}

/// What all ranks must have alike besides their executable: the shared objects with code for
/// devices that are loaded now, and whether there may be GPUs.
fn identities() -> Vec<(CString, u64)> {
    let modules = program::handles().into_iter().filter_map(modules::at).filter(|m| !m.name.is_empty());
    let modules =
        modules.map(|m| (CString::new(format!("version of {}", m.name)).unwrap_or_default(), m.identity));
    // All count their GPUs for each other, or none does.
    let gpus = (
        c"setting of OMPX_CUDA (on or off)".to_owned(),
        1 + u64::from(env::settings().devices.cuda.is_some()),
    );
    modules.chain([gpus]).collect()
}

/// Starts MPI and compares the ranks. `None`: the bridge has said why not.
fn join(table: &BridgeTable, dedicated: bool) -> Option<*const Bridge> {
    let names = identities();
    let identities: Vec<Identity> =
        names.iter().map(|(name, hash)| Identity { name: name.as_ptr(), hash: *hash }).collect();
    let config = BridgeConfig {
        thread_level: 3,
        progress: if dedicated { DEDICATED } else { 0 },
        mpi_only: u32::from(!env::settings().ranks.shared_memory),
        identities: identities.as_ptr(),
        identity_count: identities.len() as u64,
        ..BridgeConfig::default()
    };
    let mut bridge = ptr::null();
    // SAFETY: the configuration and what it points to outlive the call.
    let result = unsafe { (table.setup.init?)(&raw const config, &raw mut bridge) };
    (result == code::OK).then_some(bridge)
}

/// What came of [`init`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// There are other ranks.
    Together,
    /// This process is alone: no launcher, one rank, or turned off.
    Alone,
    /// It was started before.
    Twice,
}

/// Brings the ranks together, if this is to be. On a rank that serves, it does not return. What
/// goes wrong ends the process with a line by one rank.
pub fn init() -> Started {
    let mode = env::settings().ranks.cluster.unwrap_or(ClusterMode::Head);
    // SAFETY: no preconditions.
    let process = unsafe { libc::getpid() };
    // ORDERING: Relaxed; only who is first matters.
    if STARTED.swap(process, Ordering::Relaxed) != 0 {
        return Started::Twice;
    }
    if mode == ClusterMode::Off {
        return Started::Alone;
    }
    let by = launched(&|name| std::env::var(name).ok());
    let Some(mpi) = by.map(|(mpi, _)| mpi).or_else(linked) else { return Started::Alone };
    let speaks = by.is_none_or(|(_, rank)| rank == 0);
    if omp_offload::are_counted() {
        refuse(
            speaks,
            "ompx_cluster_init was called after the devices had been counted: it has to be the first call",
        );
    }
    if SERVER.has_begun() || object::were_made() {
        refuse(
            speaks,
            "ompx_cluster_init was called after the first ompx_invoke or ompx_object_create: it has to be the first call",
        );
    }
    let table = load(mpi).unwrap_or_else(|why| refuse(speaks, &why));
    let dedicated = env::settings().ranks.dedicated_progress;
    let Some(bridge) = join(table, dedicated) else { std::process::exit(1) };
    begin(table, bridge, mode, dedicated)
}

/// Ends the process before it has joined the others; one rank says why.
fn refuse(speaks: bool, why: &str) -> ! {
    if speaks {
        report::end(format_args!("{why}; all ranks stop"));
    }
    std::process::exit(1)
}

fn begin(table: &'static BridgeTable, bridge: *const Bridge, mode: ClusterMode, dedicated: bool) -> Started {
    // SAFETY: the bridge was just made.
    let (rank, ranks) = unsafe { ((table.setup.rank)(bridge), (table.setup.ranks)(bridge)) };
    let spmd = mode == ClusterMode::Spmd;
    if ranks > link::MOST_RANKS {
        refuse(rank == 0, &format!("{ranks} ranks are more than {}", link::MOST_RANKS));
    }
    let runs_main = spmd || rank == 0;
    let cluster = CLUSTER.get_or_init(|| Cluster {
        table,
        bridge,
        rank,
        ranks,
        spmd,
        dedicated,
        pending: super::PendingOperations::default(),
        peers: (0..ranks).map(|_| Peer::default()).collect(),
        served: serve::RankMemory::default(),
        debts: super::remote::Debts::default(),
        gpus: gpus::Gpus::open(rank, ranks),
        stealing: super::steal::RankStealing::new(rank, ranks),
        main_ended: AtomicBool::new(!runs_main),
        over: AtomicBool::new(false),
        inside: 0.into(),
        closed: AtomicBool::new(false),
        counts: super::RankCounts::default(),
    });
    if !runs_main || spmd {
        // From the first message on it is known that there will be a team.
        SERVER.announce();
    }
    // SAFETY: the functions live as long as this library, which is never unloaded.
    unsafe {
        for (number, handler) in
            serve::HANDLERS.into_iter().chain(object::wire::HANDLERS).chain(gpus::HANDLERS)
        {
            (table.setup.handle)(bridge, number, Some(handler), ptr::null_mut());
        }
        (table.setup.open)(bridge);
        (table.collective.quiet)(bridge, Some(is_idle), ptr::null_mut(), Some(all_are_through));
    }
    gpus::count_all(cluster);
    exit::call(at_exit);
    rounds::begin(rank);
    if !runs_main {
        death::watch(rank);
        server::serve();
        part(cluster);
        std::process::exit(0);
    }
    if spmd {
        SERVER.start();
    }
    if ranks == 1 && !spmd { Started::Alone } else { Started::Together }
}

// ---- the end ----------------------------------------------------------------

unsafe extern "C" fn is_idle(_: *mut c_void) -> c_int {
    let idle = |cluster: &Cluster| {
        // ORDERING: Acquire, pairs with the Release in `at_exit`.
        let ended = cluster.main_ended.load(Ordering::Acquire);
        ended && SERVER.is_idle() && cluster.pending.count() == 0 && held::waiting() == 0
    };
    CLUSTER.get().is_none_or(idle).into()
}

unsafe extern "C" fn all_are_through(_: *mut c_void, _: c_int) {
    if let Some(cluster) = CLUSTER.get() {
        // ORDERING: Release, pairs with the Acquire of those who wait for it.
        cluster.over.store(true, Ordering::Release);
        SERVER.wake_all();
    }
}

/// Between two looks for the end, while this rank serves others on the same cores.
const SHORTEST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_micros(800);

/// `main` has returned, or the program has called `exit`.
unsafe extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: no preconditions.
    let process = unsafe { libc::getpid() };
    // ORDERING: Relaxed, both; exit handlers run in one thread. A forked child has no part in this.
    if STARTED.load(Ordering::Relaxed) != process || PARTED.load(Ordering::Relaxed) {
        return;
    }
    // ORDERING: Relaxed; written at the start, or by this function.
    if cluster.main_ended.load(Ordering::Relaxed) || SERVER.is_inside() {
        abort(cluster, &format!("the program called exit({status}) in a target region or handler"));
    } else if status != 0 && cluster.pending.count() != 0 {
        abort(cluster, &format!("the program ended with status {status} while target regions were running"));
    }
    // ORDERING: Release, pairs with the Acquire in `is_idle`.
    cluster.main_ended.store(true, Ordering::Release);
    let mut nap = SHORTEST_NAP;
    // ORDERING: Acquire, pairs with the Release in `all_are_through`.
    while !cluster.over.load(Ordering::Acquire) {
        cluster.progress();
        std::thread::sleep(nap);
        nap = (2 * nap).min(LONGEST_NAP);
    }
    SERVER.join();
    part(cluster);
}

/// Takes the bridge down, together with all ranks.
fn part(cluster: &Cluster) {
    omp_offload::program::leaving::end_devices(); // no rank's regions run any more
    cluster.close();
    // ORDERING: Relaxed; the exit handlers run later in this thread, or see the old value and find
    // `closed`.
    PARTED.store(true, Ordering::Relaxed);
    // SAFETY: no call is inside the bridge, and none will be.
    unsafe { (cluster.table.collective.finalize)(cluster.bridge) };
}

/// Ends all ranks with a line.
pub fn abort(cluster: &Cluster, why: &str) -> ! {
    let why: *const c_char = CString::new(why).unwrap_or_default().into_raw();
    // SAFETY: a C string that stays.
    unsafe { (cluster.table.abort)(cluster.bridge, why) };
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_their_variables() {
        let with = |list: &'static [(&str, &str)]| {
            launched(&|name| list.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_string()))
        };
        assert_eq!(with(&[("OMPI_COMM_WORLD_RANK", "3"), ("PMI_RANK", "1")]), Some(("openmpi", 3)));
        assert_eq!(with(&[("PMI_RANK", "1")]), Some(("mpich", 1)));
        assert_eq!((with(&[("PMI_RANK", "x")]), with(&[])), (None, None));
    }

    #[test]
    fn this_library_lies_somewhere() {
        assert!(directories().iter().any(|d| d.is_dir()));
    }
}
