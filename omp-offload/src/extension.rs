//! What devices do at the events of the host's OpenMP ([`omp::extension::offload`]).
//!
//! What lives here: which module of devices each event goes to. What does not: what it does there.

use placement::order::Id;

use super::flags::STAYS_RESIDENT;
use super::place::{admission, policies};
use super::spaces::SpacesOfDevices;
use super::{array, borrowed, chain, ranks, resident, transfer};
use crate::devices;
use omp::depend;
use omp::env::{self, PolicyName};
use omp::extension::memory::DeviceMemory;
use omp::extension::offload::{Items, NodeMark, Offload};
use omp::extension::tools::device::ToolDevice;
use omp::stats::Counters;
use omp::task::{Task, TaskFlags};
use omp::thread::CurrentThread;

/// Devices of all kinds, as an extension.
pub struct Devices;

impl Offload for Devices {
    fn starts(&self) {
        resident::at_start(env::settings().devices.coherence);
    }

    fn host_looks(&self) {
        resident::give_back();
    }

    fn policy(&self, text: &str) -> Result<PolicyName, String> {
        policies::named(text)
    }

    fn count(&self) -> i32 {
        devices::count()
    }

    fn tool_device(&self, number: i32) -> Option<ToolDevice<'static>> {
        let slot = devices::opened().get(usize::try_from(number).ok()?)?;
        Some(ToolDevice { number, name: slot.device.name(), word: &slot.notified })
    }

    fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        Some(&SpacesOfDevices)
    }

    fn add_counters(&self, counters: &mut Counters) {
        [counters.bytes_not_sent, counters.bytes_not_fetched] = resident::spared();
        [counters.regions_waited, counters.regions_taken_over] = admission::counters();
        counters.regions_chained = chain::count();
        counters.blocks_ahead = array::ahead::count();
        ranks::linked().add_counters(counters);
    }

    fn is_used(&self) -> bool {
        resident::is_used() || array::any() || devices::any()
    }

    fn task_enters(&self, here: CurrentThread, task: &Task, items: &Items<'_>) {
        if array::any() {
            let mut all = Vec::new();
            items(&mut |item| all.push(item));
            array::ahead::before(here, task, all.iter().copied());
        }
        let flags = task.flags();
        if looks_at_left_bytes(flags) {
            task.set_flags(flags.with(TaskFlags::LOOKS));
        }
    }

    fn task_begins(&self, task: &Task) {
        chain::host_looks_in(task);
    }

    fn task_ends(&self) {
        end_of_task();
    }

    fn child_made(&self, parent: &Task, child: &Task, flags: TaskFlags) -> TaskFlags {
        borrowed::grant(parent, child, flags)
    }

    fn has_room(&self) -> bool {
        transfer::has_room()
    }

    fn node_made(&self, task: &Task) -> Option<NodeMark> {
        Some(NodeMark(admission::made(task).word()))
    }

    fn node_follows(&self, node: NodeMark, before: NodeMark) {
        admission::follows(Id::of_word(node.0), Id::of_word(before.0));
    }

    fn node_completes(&self, node: NodeMark) {
        admission::complete(Id::of_word(node.0));
    }
}

ult::seam! {
    /// Does a task with these flags look at bytes that regions before it may have left on devices?
    fn looks_at_left_bytes(flags: TaskFlags) -> bool {
        resident::is_used() && !flags.has(STAYS_RESIDENT)
    } or task_finds_old_bytes {
        false
    }
}

/// The end of the running task's code: the task is complete after what it has queued, and those
/// before it.
#[cold]
fn end_of_task() {
    let here = CurrentThread::get();
    borrowed::end(here);
    chain::wait(here.task);
    array::tasks::end(here.task);
    depend::forget_before(here.task);
}
