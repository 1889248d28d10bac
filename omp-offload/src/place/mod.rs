//! Placement at run time: devices for regions that leave the choice to the runtime, by a policy of
//! the crate `placement`.
//!
//! | module | what lives there |
//! |---|---|
//! | [`region`] | what is known of a region before; numbers that stand for several devices |
//! | `able` | the devices that may run a region |
//! | [`load`] | the work of a device, and its memory in use or reserved |
//! | [`reservation`] | what is reserved for a region, from the choice to its end |
//! | [`policies`] | the policy in force: `OMPX_SCHED`, `ompx_set_sched` |
//! | [`graph`] | the graph of the regions: recording it, planning by it (`OMPX_GRAPH`) |
//! | [`rates`] | how long copies take: measured (`OMPX_RATES`) or assumed |
//! | [`pace`] | the speed of copies to devices that were not measured before |
//! | [`library`] | policies from shared objects of the user's |
//! | [`held`] | regions that wait for their rank, and may be stolen |
//! | [`admission`] | regions that wait for an admission or a GPU, and may be taken over |
//! | [`tasks`] | device tasks whose GPU is the runtime's choice |
//! | [`one_shot`] | where the task of such a region waits |
//! | [`hints`] | what the program declares before a region |
//! | [`times`] | how long regions take, by code and size of data |
//! | [`writers`] | the devices of the regions that wrote data last |
//! | [`versions`] | the choice between the host's and the GPUs' version of a task |
//!
//! The policy chooses a device, and the runtime reserves memory there for the region. Both happen
//! under one lock, so two regions cannot both count on the last room.
//!
//! With `OMPX_DEVICE_MEMORY` a region for which no device has room waits until other regions of
//! this process end. If no other region is under way, the region runs on the host. So does a region
//! inside of another region, since the end that it waits for may depend on that other region. Under
//! `OMP_TARGET_OFFLOAD=mandatory` the program ends instead. Memory that the program takes by
//! `omp_target_alloc` is not counted.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use placement::policy::{PlacementRequest, View};
use placement::times::TaskKind;

use super::map::items::{MapFlags, MapItem, MemoryNeed, is_complete};
use super::{array, borrowed, chain, resident, transfer};
use crate::device_slot::DeviceSlot;
use crate::devices::usable;
use able::{Able, kinds_for};
pub use load::LoadOfDevice;
use load::Reservations;
use omp::env::{self, TargetOffload};
use omp::report;
use omp::target;
use omp::thread::CurrentThread;
pub use region::{AnnouncedRegion, DeviceChoice, SECTIONS, Section};
use reservation::{Offer, PlacedRegion, ReservedWork};
pub use reservation::{RegionDevice, Reservation};

mod able;
pub mod admission;
pub mod graph;
pub mod held;
pub mod hints;
pub mod library;
pub mod load;
mod one_shot;
pub mod only;
pub mod pace;
pub mod policies;
pub(super) mod rates;
pub mod region;
pub mod reservation;
pub mod tasks;
mod times;
pub mod versions;
pub mod writers;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The number of the next region.
pub fn next_number() -> u32 {
    // ORDERING: Relaxed; the numbers only have to differ.
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// From so many bytes of its data on the device a region stays there, even if it has to wait while
/// other devices are idle.
const WORTH_STAYING: u64 = 1 << 20;

/// A region to be placed, with all values that are the same for all devices.
struct PlacementAsked<'a> {
    region: &'a AnnouncedRegion,
    items: &'a [MapItem],
    /// The blocks of arrays that it uses, if any.
    arrays: Option<array::lists::ArrayListRequest>,
    limit: Option<u64>,
    now: u64,
    /// Its task kind and its expected time: on devices that run host functions, and on others.
    kinds: [(TaskKind, u64); 2],
    /// Per item that it reads: the device where the item was written last.
    writers: Vec<i32>,
    /// The device where it can follow the regions before it ([`chain::lead`]).
    lead: Option<i32>,
}

impl<'a> PlacementAsked<'a> {
    fn new(
        region: &'a AnnouncedRegion,
        code: usize,
        items: &'a [MapItem],
        limit: Option<u64>,
        lead: Option<i32>,
    ) -> Self {
        // A part of distributed memory that is near to one device is far from another. The sum is
        // the same for all devices.
        let (own, far) = usable().first().map_or((0, 0), |slot| region.distributed(slot));
        let bytes = MemoryNeed::of(items, None).fresh + own + far;
        let kinds = [0, 1].map(|device| {
            let kind = TaskKind { function: code, bytes, device };
            (kind, times::expected(kind))
        });
        let read = items.iter().filter_map(MapItem::on_device).filter(|(_, flags)| flags.has(MapFlags::TO));
        let writers = read.filter_map(|(range, _)| writers::of(range.start)).collect();
        Self {
            region,
            items,
            arrays: array::lists::ArrayListRequest::of(items),
            limit,
            now: times::now(),
            kinds,
            writers,
            lead,
        }
    }

    fn kind(&self, slot: &DeviceSlot) -> (TaskKind, u64) {
        self.kinds[usize::from(!slot.device.runs_host_functions())]
    }
}

/// How complete the view of a device is.
struct Seen {
    /// The mapping table was read. A locked table is not waited for; then no storage counts as
    /// present.
    all: bool,
    /// Bytes that the region needs for blocks of arrays. Room for these is made when the region
    /// begins.
    blocks: u64,
}

/// The device as the policy sees it.
fn view(slot: &DeviceSlot, asked: &PlacementAsked<'_>) -> (View, Seen) {
    let PlacementAsked { region, limit, .. } = *asked;
    let items = asked.arrays.as_ref().map_or(asked.items, |arrays| &arrays.others);
    let table = slot.try_lock();
    let need = MemoryNeed::of(items, table.as_deref());
    let near = resident::near(slot, items, table.as_deref());
    let blocks = asked.arrays.as_ref().map(|arrays| arrays.near(slot)).unwrap_or_default();
    let (own, far) = region.distributed(slot);
    let load = &slot.placing;
    // The regions that it follows may end before it begins. Then another region may take the room
    // that they leave.
    let resident_bytes = if limit.is_some() && asked.lead == Some(slot.number) { need.resident } else { 0 };
    let bring = rates::bring(slot.number, need.to.saturating_sub(near) + blocks.to + far);
    let view = View {
        need: need.fresh + resident_bytes + need.private + region.scratch + blocks.fresh,
        room: limit.map_or(u64::MAX, |limit| limit.saturating_sub(load.in_use())),
        present: need.present + near + blocks.present + own,
        running: slot.load() + load.sent(),
        wait: load.wait(slot.load(), asked.now),
        bring,
        moves: bring,
        cost: asked.kind(slot).1,
        near: asked.writers.iter().filter(|&&device| device == slot.number).count() as u32,
    };
    (view, Seen { all: table.is_some(), blocks: blocks.fresh })
}

/// Chooses the device of a region, and reserves its memory there; `None`: the host.
pub fn choose(
    here: CurrentThread,
    region: AnnouncedRegion,
    code: usize,
    items: &[MapItem],
) -> Option<Reservation> {
    let limit = env::settings().devices.memory;
    let kinds = kinds_for(&region, code);
    // Kernels cannot create regions, so regions inside of others come from code on the host.
    let depth = target::depth(here) as usize;
    let is_admitted =
        kinds[1] && depth == 0 && region.among != DeviceChoice::Ranks && admission::applies(here);
    let mut lead = chain::lead(here, items, region.stays_resident);
    if is_admitted {
        admission::take(here, region.entry);
    }
    let give_admission_back = || {
        if is_admitted {
            admission::step_aside(here);
        }
    };
    loop {
        let able = Able::of(&region, kinds);
        if !usable().iter().any(|slot| able.has(&region, slot)) {
            give_admission_back();
            target::refuse_if_mandatory(here, i64::from(region::ANY));
            return None;
        }
        let before = Reservations::now().given_back;
        let found = try_choose(region, &able, code, items, limit, lead);
        let stays_behind = lead.take().is_some_and(
            |leader| !matches!(&found, Ok(placed) if placed.reservation.slot().number == leader),
        );
        if stays_behind {
            give_admission_back();
            chain::wait(here.task);
            if is_admitted {
                admission::take(here, region.entry);
            }
        }
        let is_sure = match found {
            Err(_) if stays_behind => continue,
            Ok(placed) if is_admitted && !placed.may_move => return Some(admission::begin(here, placed)),
            Ok(placed) => {
                give_admission_back();
                return Some(if placed.may_move { held::wait(placed, depth) } else { placed.reservation });
            }
            Err(Nowhere { is_sure }) => is_sure,
        };
        // Checked after the choice: a region that took the room meanwhile is under way, or has
        // ended since. Streams of this region's task, or of a task that waits for it, give no room
        // back before this region has run.
        let none_runs = usable().iter().all(|slot| slot.load() <= borrowed::of_task_and_parents(here, slot));
        let is_alone =
            none_runs && Reservations::now() == Reservations { outstanding: 0, given_back: before };
        // This checks the depth, not the device, since a region inside of another one may run on
        // the host.
        give_admission_back();
        if is_sure && (is_alone || depth > 0) {
            say_that_nobody_has_room(region, items, limit);
            return None;
        }
        let ready = || {
            Reservations::now().given_back != before
                || !is_sure && usable().iter().all(|slot| slot.try_lock().is_some())
        };
        transfer::wait(&ready, &|_| false);
    }
}

/// The policy has found no device, or has chosen a device other than that of the regions before
/// this one. In the second case the policy may be asked again when those regions are over.
struct Nowhere {
    /// The answer is final: all mapping tables were read, or memory is not limited.
    is_sure: bool,
}

fn try_choose(
    region: AnnouncedRegion,
    able: &Able,
    code: usize,
    items: &[MapItem],
    limit: Option<u64>,
    lead: Option<i32>,
) -> Result<PlacedRegion, Nowhere> {
    let slots = usable();
    let mut policy = policies::in_force(slots.len(), limit);
    let asked = PlacementAsked::new(&region, code, items, limit, lead);
    let (mut views, seen): (Vec<View>, Vec<Seen>) = slots.iter().map(|slot| view(slot, &asked)).unzip();
    for (view, _) in views.iter_mut().zip(slots).filter(|(_, slot)| !able.has(&region, slot)) {
        // The view says that the region does not fit there, which every policy checks.
        (view.need, view.room) = (view.need.max(1), 0);
    }
    // A policy of the user's may return any number.
    let chosen = policy.choose(PlacementRequest { task: Some(region.number as usize) }, &views);
    let chosen = chosen.and_then(|chosen| {
        Some((slots.get(chosen)?, views.get(chosen).filter(|view| view.fits())?, seen.get(chosen)?.blocks))
    });
    let Some((slot, view, blocks)) = chosen else {
        return Err(Nowhere { is_sure: limit.is_none() || seen.iter().all(|seen| seen.all) });
    };
    // The devices near the address may have changed by then, too.
    if (policy.may_change() || matches!(region.among, DeviceChoice::Near(_)))
        && lead.is_some_and(|leader| leader != slot.number)
    {
        return Err(Nowhere { is_sure: false });
    }
    let MemoryNeed { private, fresh, .. } = MemoryNeed::of(items, None);
    graph::begin(region, code, private, items);
    // No memory is reserved for data that are present. They may be gone when a region that waited
    // begins.
    let stays = view.present >= WORTH_STAYING || limit.is_some() && view.present > 0;
    let moves = held::is_used()
        && slot.owner.gpu.is_none()
        && matches!(region.among, DeviceChoice::All | DeviceChoice::Ranks);
    let may_move = moves && policy.lets_steal() && !stays && is_complete(items);
    let follows = lead == Some(slot.number);
    let may_wait = limit.is_none() || view.present == 0 || follows;
    let others = slots
        .iter()
        .zip(&views)
        .filter(|(other, view)| other.owner.gpu.is_some() && other.number != slot.number && view.fits());
    let offers = others.map(|(other, view)| Offer { device: other.number, bring: view.bring });
    // A region that follows others on its GPU would only wait for them on another GPU.
    let lets_move = slot.owner.gpu.is_some() && lead.is_none() && policy.lets_steal() && is_complete(items);
    let offers = offers.filter(|_| lets_move).collect();
    let (kind, expected) = asked.kind(slot);
    let reservation = Reservation::new(
        slot,
        ReservedWork {
            number: region.number,
            entry: region.entry,
            bytes: view.need - blocks,
            own: private + region.scratch,
            kind,
            expected,
        },
    );
    writers::note(items, slot.number);
    Ok(PlacedRegion {
        reservation,
        may_move,
        may_wait,
        offers,
        elsewhere: fresh + private + region.scratch,
        follows,
    })
}

fn say_that_nobody_has_room(region: AnnouncedRegion, items: &[MapItem], limit: Option<u64>) {
    static SAID: Mutex<bool> = Mutex::new(false);
    // The lock is held until the program has stopped, if it stops. So one thread reports the
    // reason.
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let is_mandatory = target::offload() == TargetOffload::Mandatory;
    if *said && !is_mandatory {
        return;
    }
    *said = true;
    let asked = PlacementAsked::new(&region, 0, items, limit, None);
    let views = usable().iter().map(|slot| view(slot, &asked).0);
    let (need, room) = views
        .map(|view| (view.need, view.room))
        .min_by_key(|(need, room)| need.saturating_sub(*room))
        .unwrap_or_default();
    let number = region.number;
    let what = format!(
        "no device has room for target region {number}, which needs {need} bytes where {room} are free"
    );
    if is_mandatory {
        report::fatal(format_args!("{what}, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops"));
    }
    report::warn(format_args!("{what}; it runs on the host, as others may that fit nowhere"));
}
