//! The graph of the regions whose device is the runtime's choice (`OMPX_GRAPH`): recorded while
//! they run, written at exit, and read by the policies that plan.
//!
//! A region reads the storage that its maps copy to the device, and writes the storage that they
//! copy back. So the graph says which region needs the results of which other one, whatever the
//! `depend` clauses say. The cost of a region is its time from launch to end. The policies `heftmc`
//! and `ishmc` read the file if it exists. Under every other policy it is written anew.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use placement::graph::{Graph, GraphMachine};
use placement::policy::PlacementPolicy;
use placement::record::{GraphRecord, RecordUse};
use placement::replay::replay;

use super::rates;
use super::region::AnnouncedRegion;
use crate::map::items::{MapFlags, MapItem};
use crate::modules;
use omp::user_files::{self, NewFile};
use omp::{env, report};

/// The record; empty unless a file is named and none was read.
static RECORD: Mutex<Option<GraphRecord>> = Mutex::new(None);
/// A file was read, so no file is written.
static READ: AtomicBool = AtomicBool::new(false);
/// Regions with this number or a higher one are not recorded.
const MOST: u32 = 1 << 20;

fn record() -> MutexGuard<'static, Option<GraphRecord>> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn records() -> bool {
    // ORDERING: Relaxed; written under the policy's lock, which every caller has held since.
    env::settings().devices.graph_file.is_some() && !READ.load(Ordering::Relaxed)
}

/// Records a region that is about to run.
pub(super) fn begin(region: AnnouncedRegion, code: usize, private: u64, items: &[MapItem]) {
    if !records() || region.number >= MOST {
        return;
    }
    let uses = items.iter().filter_map(MapItem::on_device).map(|(range, flags)| RecordUse {
        range,
        reads: flags.has(MapFlags::TO),
        writes: flags.has(MapFlags::FROM),
    });
    let uses: Vec<RecordUse> = uses.collect();
    let name = modules::place(code).map_or(format!("{code:x}"), |place| format!("region_{:x}", place.offset));
    let mut record = record();
    if record.is_none() {
        // SAFETY: the handler is a function of this library, which is never unmapped.
        if unsafe { libc::atexit(write) } != 0 {
            report::warn("OMPX_GRAPH: the C library takes no more exit handlers; the graph is not written");
        }
    }
    record.get_or_insert_default().begin(region.number as usize, &name, region.scratch + private, &uses);
}

/// Records that a region has run for so many nanoseconds.
pub(super) fn end(number: u32, nanoseconds: u64) {
    if records()
        && let Some(record) = record().as_mut()
    {
        record.end(number as usize, nanoseconds);
    }
}

/// Writes the file.
extern "C" fn write() {
    let Some(file) = &env::settings().devices.graph_file else { return };
    let Some(graph) = record().as_ref().map(GraphRecord::graph) else { return };
    let written = graph.and_then(|graph| {
        NewFile::write_whole(file, placement::file::write(&graph).as_bytes()).map_err(|e| e.to_string())
    });
    if let Err(why) = written {
        report::warn(format_args!("OMPX_GRAPH='{file}': {why}; the graph is not kept"));
    }
}

/// Lets the policy plan the graph of the file.
///
/// # Errors
/// There is no graph, or memory is short.
pub(super) fn plan(
    policy: &mut dyn PlacementPolicy,
    devices: usize,
    memory: Option<u64>,
) -> Result<(), String> {
    let file = env::settings()
        .devices
        .graph_file
        .as_ref()
        .ok_or("no graph is known ahead, OMPX_GRAPH names none")?;
    let text = user_files::read(file).map_err(|e| format!("graph {file}: {e}, this run records it"))?;
    let graph = placement::file::read(&text).map_err(|why| format!("graph {file}: {why}"))?;
    let machine = rates::machine(devices, memory);
    if devices == 0 {
        return Err("there is no device".into());
    }
    let schedule = match policy.plan(&graph, &machine) {
        Some(planned) => planned.map_err(|why| format!("graph {file}: {why}"))?,
        None => return Ok(()),
    };
    // ORDERING: Relaxed; see `records`.
    READ.store(true, Ordering::Relaxed);
    let name = policy.name();
    if env::settings().tools.stats {
        notify(&name, &graph, &machine, &schedule)?;
    }
    Ok(())
}

/// Prints the makespan and the wasted memory of the plan in one line.
fn notify(
    name: &str,
    graph: &Graph,
    machine: &GraphMachine,
    schedule: &placement::graph::GraphSchedule,
) -> Result<(), String> {
    let outcome =
        replay(graph, machine, schedule).map_err(|fault| format!("the plan is wrong: {fault:?}"))?;
    let (ms, waste, count) = (outcome.makespan as f64 / 1e6, 100.0 * outcome.waste, graph.len());
    let line =
        format!("gangway: {name} planned {count} regions: makespan {ms:.3} ms, memory wasted {waste:.1} %\n");
    report::put(libc::STDERR_FILENO, line.as_bytes());
    Ok(())
}
