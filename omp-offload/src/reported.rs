//! What tools hear of a construct's list ([`omp::extension::tools::device`]).

use super::map::items::{MapFlags, MapItem};
use crate::device_slot::DeviceSlot;
use omp::extension::tools;
use omp::extension::tools::device::ToolMapping;

/// What the construct that has begun maps with this list; `enters`, or leaves.
#[inline(always)]
pub fn maps(slot: &DeviceSlot, items: &[MapItem], enters: bool) {
    tools::device::maps(|| mappings(slot, items, enters));
}

#[cold]
#[inline(never)]
fn mappings(slot: &DeviceSlot, items: &[MapItem], enters: bool) -> Vec<ToolMapping> {
    let table = slot.lock();
    let mapping = |item: &MapItem| {
        let (range, flags) = item.on_device()?;
        let device = table.translate(range.start, range.len()).unwrap_or(0);
        Some(ToolMapping { host: range.start, device, bytes: range.len(), flags: map_flags(flags, enters) })
    };
    items.iter().filter_map(mapping).collect()
}

/// `ompt_target_map_flag_t` (5.2 §19.4.4.24) of an item.
fn map_flags(flags: MapFlags, enters: bool) -> u32 {
    const NEITHER: [u32; 2] = [0x08, 0x04]; // release, alloc
    let bits = [
        (MapFlags::TO, 0x01),
        (MapFlags::FROM, 0x02),
        (MapFlags::DELETE, 0x10),
        (MapFlags::IMPLICIT, 0x20),
        (MapFlags::ALWAYS, 0x40),
        (MapFlags::PRESENT, 0x80),
    ];
    let said: u32 = bits.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, bit)| bit).sum();
    if said & 0x13 == 0 { said | NEITHER[usize::from(enters)] } else { said }
}
