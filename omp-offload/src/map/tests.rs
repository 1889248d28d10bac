//! Mapping semantics on a host device: what is on either side after each step.

use super::super::host::HostImage;
use super::*;

const TO: MapFlags = MapFlags::TO;
const FROM: MapFlags = MapFlags::FROM;
const NONE: MapFlags = MapFlags::NONE;

fn slot() -> DeviceSlot {
    DeviceSlot::new(0, Box::new(HostImage::new(0, 0)))
}

fn item<T>(at: &T, role: MapRole, flags: MapFlags) -> MapItem {
    let begin = core::ptr::from_ref(at).addr();
    MapItem { begin, base: begin, size: size_of::<T>(), role, flags }
}

fn storage<T>(at: &T, flags: MapFlags) -> MapItem {
    item(at, MapRole::Storage, flags)
}

fn enter(slot: &DeviceSlot, items: &[MapItem]) -> MapEntered {
    // SAFETY: the tests pass storage of their own.
    unsafe { super::enter(slot, items) }.expect("entered")
}

fn leave(slot: &DeviceSlot, items: &[MapItem]) {
    // SAFETY: as above.
    unsafe { super::leave(slot, items, &super::Brought::default()) }.expect("left");
}

fn update(slot: &DeviceSlot, items: &[MapItem]) {
    // SAFETY: as above.
    unsafe { super::update(slot, items) }.expect("updated");
}

/// What the device has for `at`.
fn there<T: Copy>(slot: &DeviceSlot, at: &T) -> Option<T> {
    let address = slot.lock().translate(core::ptr::from_ref(at).addr(), size_of::<T>());
    // SAFETY: the device is the host.
    address.map(|a| unsafe { (a as *const T).read_unaligned() })
}

fn put<T>(slot: &DeviceSlot, at: &T, value: T) {
    let address = slot.lock().translate(core::ptr::from_ref(at).addr(), size_of::<T>()).expect("present");
    // SAFETY: the device is the host.
    unsafe { (address as *mut T).write_unaligned(value) };
}

fn count<T>(slot: &DeviceSlot, at: &T) -> u64 {
    let table = slot.lock();
    match table.place(core::ptr::from_ref(at).addr(), 1) {
        MappedRange::Inside(start) => table.get(start).map_or(0, Mapped::count),
        _ => 0,
    }
}

/// Storage that a test changes behind the mapping's back.
struct Host<T>(Box<core::cell::UnsafeCell<T>>);

impl<T: Copy> Host<T> {
    fn new(value: T) -> Self {
        Self(Box::new(core::cell::UnsafeCell::new(value)))
    }
    fn at(&self) -> &T {
        // SAFETY: one thread, and no reference is kept across a change.
        unsafe { &*self.0.get() }
    }
    fn get(&self) -> T {
        *self.at()
    }
    fn set(&self, value: T) {
        // SAFETY: as above.
        unsafe { *self.0.get() = value };
    }
}

#[test]
fn copies_happen_at_the_first_and_the_last() {
    let (slot, x) = (slot(), Host::new(1));
    let both = [storage(x.at(), TO.with(FROM))];
    enter(&slot, &both);
    assert_eq!(there(&slot, x.at()), Some(1));
    x.set(2);
    enter(&slot, &both);
    assert_eq!((there(&slot, x.at()), count(&slot, x.at())), (Some(1), 2), "present: not copied again");
    put(&slot, x.at(), 3);
    leave(&slot, &both);
    assert_eq!((x.get(), count(&slot, x.at())), (2, 1), "still held: not copied back");
    leave(&slot, &both);
    assert_eq!((x.get(), there(&slot, x.at())), (3, None));
}

#[test]
fn each_direction_alone() {
    let (slot, x) = (slot(), Host::new(1));
    enter(&slot, &[storage(x.at(), TO)]);
    put(&slot, x.at(), 9);
    leave(&slot, &[storage(x.at(), TO)]);
    assert_eq!(x.get(), 1, "to: not copied back");
    enter(&slot, &[storage(x.at(), FROM)]);
    put(&slot, x.at(), 8);
    leave(&slot, &[storage(x.at(), FROM)]);
    assert_eq!(x.get(), 8, "from");
    enter(&slot, &[storage(x.at(), NONE)]);
    put(&slot, x.at(), 7);
    leave(&slot, &[storage(x.at(), NONE)]);
    assert_eq!((x.get(), there(&slot, x.at())), (8, None), "alloc and release");
}

#[test]
fn always_copies_always() {
    let (slot, x) = (slot(), Host::new(1));
    let always = [storage(x.at(), TO.with(FROM).with(MapFlags::ALWAYS))];
    enter(&slot, &[storage(x.at(), TO)]);
    x.set(2);
    enter(&slot, &always);
    assert_eq!(there(&slot, x.at()), Some(2));
    put(&slot, x.at(), 3);
    leave(&slot, &always);
    assert_eq!((x.get(), count(&slot, x.at())), (3, 1));
}

#[test]
fn an_association_that_is_held_stays() {
    use super::super::memory::{associate, disassociate};
    let (slot, x, there) = (slot(), 1_u64, 2_u64);
    let range = core::ptr::from_ref(&x).addr();
    assert!(associate(&slot, range..range + 8, core::ptr::from_ref(&there).addr()));
    let held = [storage(&x, MapFlags::HOLD)];
    enter(&slot, &held);
    assert!(!disassociate(&slot, range));
    leave(&slot, &held);
    assert!(disassociate(&slot, range));
    assert!(!disassociate(&slot, range), "it has ended");
}

#[test]
fn delete_ends_everything_but_a_hold() {
    let (slot, x) = (slot(), Host::new(1));
    (0..3).for_each(|_| drop(enter(&slot, &[storage(x.at(), TO)])));
    leave(&slot, &[storage(x.at(), MapFlags::DELETE)]);
    assert_eq!(there(&slot, x.at()), None);
    enter(&slot, &[storage(x.at(), TO.with(MapFlags::HOLD))]);
    leave(&slot, &[storage(x.at(), MapFlags::DELETE)]);
    assert_eq!(there(&slot, x.at()), Some(1), "held");
    leave(&slot, &[storage(x.at(), MapFlags::HOLD)]);
    assert_eq!(there(&slot, x.at()), None);
    leave(&slot, &[storage(x.at(), MapFlags::DELETE)]);
}

#[test]
fn present_has_to_be_there() {
    let (slot, x) = (slot(), Host::new(1));
    let present = [storage(x.at(), TO.with(MapFlags::PRESENT))];
    // SAFETY: own storage.
    unsafe {
        let why = super::enter(&slot, &present).expect_err("entered");
        assert!(why.0.contains("4 bytes at 0x") && why.0.contains("present"), "{why}");
        assert!(super::leave(&slot, &present, &super::Brought::default()).is_err());
        assert!(super::update(&slot, &present).is_err());
        enter(&slot, &[storage(x.at(), TO)]);
        assert!(super::enter(&slot, &present).is_ok());
    }
    assert_eq!(count(&slot, x.at()), 2);
}

#[test]
fn what_overlaps_is_an_error_unless_nobody_wrote_it() {
    let (slot, a) = (slot(), Host::new([0u32, 1, 2, 3]));
    let part =
        |from: usize, to: usize, flags| MapItem { size: (to - from) * 4, ..storage(&a.at()[from], flags) };
    enter(&slot, &[part(1, 3, TO)]);
    // SAFETY: own storage.
    let why = unsafe { super::enter(&slot, &[part(0, 3, TO)]) }.expect_err("entered");
    assert!(why.0.contains("mapped already"), "{why}");
    let implicit = [part(1, 4, TO.with(MapFlags::IMPLICIT))];
    let entered = enter(&slot, &implicit);
    assert_eq!(Some(entered.values[0]), slot.lock().translate(core::ptr::from_ref(&a.at()[1]).addr(), 4));
    leave(&slot, &implicit);
    assert_eq!(count(&slot, &a.at()[1]), 1);
}

#[test]
fn a_section_may_lie_in_a_larger_one() {
    let (slot, a) = (slot(), Host::new([1u8; 100]));
    enter(&slot, &[storage(a.at(), TO)]);
    a.set([2; 100]);
    let inner = MapItem { size: 10, ..storage(&a.at()[50], TO.with(FROM).with(MapFlags::ALWAYS)) };
    enter(&slot, &[inner]);
    let seen = there(&slot, a.at()).expect("present");
    assert_eq!((seen[49], seen[50], seen[59], seen[60]), (1, 2, 2, 1));
    put(&slot, a.at(), [3; 100]);
    leave(&slot, &[inner]);
    let back = a.get();
    assert_eq!((back[49], back[50], back[59], back[60]), (2, 3, 3, 2));
    assert_eq!(count(&slot, a.at()), 1);
}

#[test]
fn a_base_before_the_section_is_what_the_region_gets() {
    let (slot, a) = (slot(), Host::new([0u64; 8]));
    let section = MapItem { begin: core::ptr::from_ref(&a.at()[3]).addr(), size: 16, ..storage(a.at(), TO) };
    let base = enter(&slot, &[section]).values[0];
    assert_eq!(slot.lock().translate(section.begin, 8), Some(base + 24));
}

#[test]
fn copies_keep_the_alignment_of_what_they_copy() {
    #[repr(align(256))]
    #[derive(Clone, Copy)]
    struct Wide([u8; 512]);
    let (slot, x) = (slot(), Host::new(Wide([0; 512])));
    for (at, align) in [(0, 256), (16, 16), (8, 8), (48, 16), (1, 1)] {
        let part = MapItem { size: 5, ..storage(&x.at().0[at], TO) };
        let address = enter(&slot, &[part]).values[0];
        assert_eq!((address % align, address.wrapping_sub(part.begin) % 64), (0, 0), "{at}");
        leave(&slot, &[part]);
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Node {
    number: u64,
    pointer: usize,
    other: u64,
}

fn node(to: &[u32; 4]) -> Host<Node> {
    Host::new(Node { number: 1, pointer: core::ptr::from_ref(to).addr(), other: 2 })
}

#[test]
fn members_are_copied_with_a_new_structure_and_counted_by_it() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let n = node(a.at());
    let list = [
        storage(n.at(), NONE),
        item(&n.at().number, MapRole::Member, TO.with(FROM)),
        item(&n.at().other, MapRole::Member, TO),
    ];
    enter(&slot, &list);
    assert_eq!((there(&slot, &n.at().number), there(&slot, &n.at().other)), (Some(1), Some(2)));
    n.set(Node { number: 5, other: 6, ..n.get() });
    enter(&slot, &list);
    assert_eq!((there(&slot, &n.at().number), count(&slot, n.at())), (Some(1), 2));
    put(&slot, &n.at().number, 50);
    put(&slot, &n.at().other, 60);
    leave(&slot, &list);
    assert_eq!(n.get().number, 5);
    leave(&slot, &list);
    assert_eq!((n.get().number, n.get().other), (50, 6));
    assert_eq!(there(&slot, n.at()).map(|n| n.number), None);
}

#[test]
fn a_pointee_is_attached_and_the_hosts_pointer_stays() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let n = node(a.at());
    let pointee = MapItem {
        base: core::ptr::from_ref(&n.at().pointer).addr(),
        ..item(a.at(), MapRole::Pointee { member: true }, TO.with(FROM))
    };
    let list = [storage(n.at(), TO.with(FROM)), pointee];
    enter(&slot, &list);
    let copy = slot.lock().translate(core::ptr::from_ref(a.at()).addr(), 16);
    assert_eq!(there(&slot, &n.at().pointer), copy, "points to the copy");
    let again = [storage(n.at(), TO.with(FROM).with(MapFlags::ALWAYS))];
    enter(&slot, &again);
    assert_eq!(there(&slot, &n.at().pointer), copy, "an attached pointer is not overwritten");
    put(&slot, a.at(), [9; 4]);
    put(&slot, &n.at().number, 77);
    leave(&slot, &again);
    update(&slot, &[storage(n.at(), FROM)]);
    assert_eq!((n.get().pointer, n.get().number), (core::ptr::from_ref(a.at()).addr(), 77));
    leave(&slot, &list);
    assert_eq!((n.get().pointer, a.get()), (core::ptr::from_ref(a.at()).addr(), [9; 4]));
}

#[test]
fn a_pointer_into_the_middle_keeps_its_distance() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let n = node(a.at());
    let pointee = MapItem {
        begin: core::ptr::from_ref(&a.at()[2]).addr(),
        base: core::ptr::from_ref(&n.at().pointer).addr(),
        size: 8,
        role: MapRole::Pointee { member: true },
        flags: TO,
    };
    enter(&slot, &[storage(n.at(), TO), pointee]);
    let section = slot.lock().translate(pointee.begin, 8).expect("present");
    assert_eq!(there(&slot, &n.at().pointer), Some(section - 8));
}

fn attach(n: &Host<Node>, a: &Host<[u32; 4]>, counted: bool, flags: MapFlags) -> MapItem {
    MapItem {
        begin: core::ptr::from_ref(a.at()).addr(),
        base: core::ptr::from_ref(&n.at().pointer).addr(),
        size: 0,
        role: MapRole::Attach { counted },
        flags,
    }
}

#[test]
fn attaching_waits_for_something_new_or_always() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let n = node(a.at());
    let host = n.get().pointer;
    enter(&slot, &[storage(n.at(), TO)]);
    enter(&slot, &[storage(a.at(), TO)]);
    enter(&slot, &[attach(&n, &a, false, NONE)]);
    assert_eq!(there(&slot, &n.at().pointer), Some(host), "nothing is new");
    enter(&slot, &[attach(&n, &a, false, MapFlags::ALWAYS)]);
    let copy = slot.lock().translate(core::ptr::from_ref(a.at()).addr(), 16);
    assert_eq!(there(&slot, &n.at().pointer), copy);
}

#[test]
fn a_counted_attachment_ends_with_the_last_detachment() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let n = node(a.at());
    let list = [storage(n.at(), TO), storage(a.at(), TO), attach(&n, &a, true, NONE)];
    let detach = MapItem { role: MapRole::Detach, ..list[2] };
    enter(&slot, &list);
    enter(&slot, &list);
    let copy = slot.lock().translate(core::ptr::from_ref(a.at()).addr(), 16);
    leave(&slot, &[detach]);
    assert_eq!(there(&slot, &n.at().pointer), copy);
    leave(&slot, &[detach]);
    assert_eq!(there(&slot, &n.at().pointer), Some(n.get().pointer), "the host's value again");
}

#[test]
fn a_pointer_to_nothing_mapped_keeps_the_hosts_value() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let n = node(a.at());
    enter(&slot, &[storage(n.at(), NONE), attach(&n, &a, false, NONE)]);
    assert_eq!(there(&slot, &n.at().pointer), Some(n.get().pointer));
}

#[test]
fn a_pointer_in_a_private_copy_is_attached_there() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let n = node(a.at());
    let list =
        [storage(a.at(), TO), item(n.at(), MapRole::Private, TO), attach(&n, &a, false, MapFlags::ALWAYS)];
    let entered = enter(&slot, &list);
    // SAFETY: the device is the host.
    let copy = unsafe { (entered.values[1] as *const Node).read() };
    assert_eq!((copy.pointer, copy.number, copy.other), (entered.values[0], 1, 2));
}

#[test]
fn a_list_may_count_a_range_once() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let part = |at: usize| MapItem { size: 4, ..storage(&a.at()[at], TO.with(FROM).with(MapFlags::ONCE)) };
    enter(&slot, &[storage(a.at(), TO.with(MapFlags::ONCE)), part(1), part(2)]);
    assert_eq!(count(&slot, a.at()), 1);
    put(&slot, a.at(), [5, 6, 7, 8]);
    leave(&slot, &[part(1), part(2)]);
    assert_eq!(
        (a.get(), there(&slot, a.at())),
        ([1, 6, 7, 4], None),
        "both parts come back before the range goes"
    );
}

#[test]
fn a_range_around_members_that_are_there_makes_nothing() {
    let (slot, a) = (slot(), Host::new([1u32, 2, 3, 4]));
    let part = |at: usize, role| MapItem { size: 4, role, ..storage(&a.at()[at], TO.with(MapFlags::ONCE)) };
    enter(&slot, &[part(1, MapRole::Storage)]);
    let around = storage(a.at(), MapFlags::AROUND.with(MapFlags::ONCE));
    enter(&slot, &[around, part(1, MapRole::Member)]);
    assert_eq!((count(&slot, &a.at()[1]), count(&slot, &a.at()[2])), (2, 0));
    leave(&slot, &[around, part(1, MapRole::Member)]);
    assert_eq!(count(&slot, &a.at()[1]), 1);
}

#[test]
fn updates_copy_what_is_present_and_leave_the_rest() {
    let (slot, a, b) = (slot(), Host::new([1u32, 2, 3, 4]), Host::new(5u32));
    enter(&slot, &[storage(a.at(), TO)]);
    a.set([10, 20, 30, 40]);
    let part = |flags| MapItem { size: 8, ..storage(&a.at()[1], flags) };
    update(&slot, &[part(TO), storage(b.at(), TO)]);
    assert_eq!(there(&slot, a.at()), Some([1, 20, 30, 4]));
    put(&slot, a.at(), [7, 8, 9, 6]);
    update(&slot, &[part(FROM), storage(b.at(), FROM)]);
    assert_eq!((a.get(), b.get(), count(&slot, a.at())), ([10, 8, 9, 40], 5, 1));
}

#[test]
fn private_copies_values_and_addresses() {
    let (slot, x, y) = (slot(), Host::new(3u32), Host::new(4u32));
    let value = MapItem { base: 42, begin: 0, size: 0, role: MapRole::Value, flags: NONE };
    let list = [
        item(x.at(), MapRole::Private, TO),
        value,
        item(y.at(), MapRole::Address, NONE),
        storage(y.at(), TO),
        item(x.at(), MapRole::Address, NONE),
        MapItem { size: 0, ..storage(y.at(), NONE) },
    ];
    let entered = enter(&slot, &list);
    // SAFETY: the device is the host.
    assert_eq!(unsafe { (entered.values[0] as *const u32).read() }, 3);
    assert_ne!(entered.values[0], list[0].begin);
    assert_eq!(entered.values[1], 42);
    assert_eq!(entered.values[2], entered.values[3], "addresses are looked up at the end");
    assert_eq!(entered.values[4], list[0].begin, "not mapped: the host's");
    assert_eq!((entered.values[5], count(&slot, y.at())), (entered.values[3], 2));
    assert_eq!(there(&slot, x.at()), None, "private copies are not mapped");
    assert_eq!(entered.private.len(), 1);
}

#[test]
fn variables_of_the_device_stay_for_ever() {
    let (slot, x) = (slot(), Host::new(3u32));
    let copy = Box::new(8u32);
    let host = core::ptr::from_ref(x.at()).addr();
    let variable = Mapped::new(host..host + 4, core::ptr::from_ref(&*copy).addr(), Origin::Variable);
    slot.lock().insert(variable.forever());
    let both = [storage(x.at(), TO.with(FROM))];
    enter(&slot, &both);
    assert_eq!(there(&slot, x.at()), Some(8), "has a value of its own");
    leave(&slot, &both);
    leave(&slot, &[storage(x.at(), MapFlags::DELETE)]);
    assert_eq!((x.get(), there(&slot, x.at())), (3, Some(8)));
    update(&slot, &both[..1]);
    assert_eq!(there(&slot, x.at()), Some(3));
}

#[test]
fn a_list_that_fails_says_how_much_was_missing() {
    let (slot, x) = (slot(), Host::new(3u32));
    let huge = MapItem { size: isize::MAX as usize, ..storage(x.at(), NONE) };
    // SAFETY: it fails before anything is read.
    let why = unsafe { super::enter(&slot, &[huge]) }.expect_err("entered");
    assert!(why.0.starts_with("out of memory for "), "{why}");
}

#[test]
fn what_a_region_brings_along_counts_where_only_its_construct_maps_it() {
    let slot = slot();
    for shared in [false, true] {
        let x = Host::new(1u64);
        let items = [storage(x.at(), TO.with(FROM))];
        let entered = enter(&slot, &items);
        assert_eq!(entered.wanted.len(), 1);
        put(&slot, x.at(), 7);
        let mut brought = Brought::room(&entered.wanted);
        // SAFETY: room for eight bytes.
        unsafe { brought.start().cast::<u64>().write_unaligned(5) };
        if shared {
            let other = enter(&slot, &items);
            assert!(other.wanted.is_empty(), "it is there already");
            leave(&slot, &items);
        }
        // SAFETY: as above.
        unsafe { super::leave(&slot, &items, &brought) }.expect("left");
        assert_eq!(x.get(), if shared { 7 } else { 5 });
    }
    let large = Host::new([0u8; 4096]);
    assert!(enter(&slot, &[storage(large.at(), FROM)]).wanted.is_empty());
}
