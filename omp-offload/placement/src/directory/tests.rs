//! The directory against a plain model: random programs of regions. Their copies are made at once,
//! as the directory says. Their results must be those of the same program where every region copies
//! all data there and back.

use super::*;

const RANGE: Range<usize> = 1000..1100;

/// All are as far from each other.
struct Even;

impl CopyWays for Even {
    fn time(&self, _: Option<DeviceNumber>, _: DeviceNumber, bytes: u64) -> Option<u64> {
        Some(1000 + bytes)
    }
}

fn device_block(device: DeviceNumber) -> FreedMemory {
    FreedMemory { device, block: 5 * device as usize + 7 }
}

/// A region on the device has mapped the range; what it has found.
fn region(d: &mut Directory, device: DeviceNumber, reads: bool, writes: bool) -> From {
    let used = use_copy(d, device, reads);
    d.filled(device, &RANGE, used.from);
    d.give(device, &RANGE, writes);
    used.from
}

fn use_copy(d: &mut Directory, device: DeviceNumber, reads: bool) -> Used {
    let block = device_block(device).block;
    let reads = reads.then_some(&Even as &dyn CopyWays);
    d.reuse(device, &RANGE, reads)
        .unwrap_or_else(|| d.add(device, &RANGE, block, 10_000 * device as usize, reads))
}

#[test]
fn a_copy_is_found_where_it_is_and_a_write_makes_the_others_invalid() {
    let mut d = Directory::new();
    assert_eq!(region(&mut d, 0, true, false), From::Host);
    assert_eq!(region(&mut d, 0, true, false), From::Nowhere);
    assert_eq!(region(&mut d, 1, true, false), From::Host, "clean: the host has it, too");
    assert!(d.has(0, &RANGE) && d.has(1, &RANGE) && !d.is_stale(&RANGE));
    assert_eq!(region(&mut d, 1, true, true), From::Nowhere);
    assert!(!d.has(0, &RANGE) && d.has(1, &RANGE) && d.is_stale(&RANGE));
    assert_eq!((d.idle(0), d.idle(1)), (0, 100), "what is not valid is not kept");
    assert_eq!(region(&mut d, 0, true, false), From::Device(1, 10_000));
    assert_eq!(region(&mut d, 2, false, true), From::Nowhere, "who does not read needs no copy");
    assert_eq!((d.idle(0), d.idle(1), d.idle(2), d.count()), (0, 0, 100, 1));
}

#[test]
fn what_is_dirty_is_written_back_once_and_dropped() {
    let mut d = Directory::new();
    region(&mut d, 0, false, true);
    let moment = d.now();
    let (saves, others) = d.saves(moment);
    assert_eq!((saves.len(), others), (1, false));
    assert_eq!((&saves[0].host, saves[0].device), (&RANGE, 0));
    assert_eq!(d.saves(moment), (vec![], true), "somebody does it already");
    assert!(d.drop_idle(moment).is_empty(), "it is on its way");
    assert!(d.saved(&saves[0]).is_empty());
    assert_eq!(d.saves(moment), (vec![], false));
    assert_eq!(d.drop_idle(moment), [device_block(0)]);
    assert_eq!((d.count(), d.idle(0)), (0, 0));
}

#[test]
fn what_is_used_or_came_later_stays() {
    let mut d = Directory::new();
    region(&mut d, 0, false, true);
    let moment = d.now();
    let used = use_copy(&mut d, 0, true);
    assert_eq!(used.from, From::Nowhere);
    let (saves, _) = d.saves(moment);
    assert_eq!(saves.len(), 1, "the host may look at what a region reads");
    d.saved(&saves[0]);
    assert!(d.drop_idle(moment).is_empty(), "it is used");
    d.give(0, &RANGE, true);
    assert!(d.drop_idle(moment).is_empty() && d.saves(moment).0.is_empty(), "its end came later");
    assert_eq!(d.saves(d.now()).0.len(), 1);
}

#[test]
fn who_writes_while_it_is_written_back_makes_it_dirty_again() {
    let mut d = Directory::new();
    region(&mut d, 0, false, true);
    let (saves, _) = d.saves(d.now());
    assert_eq!(region(&mut d, 1, true, true), From::Device(0, 0));
    assert!(d.is_stale(&RANGE));
    assert_eq!(d.saved(&saves[0]), [device_block(0)], "nobody needs the old copy, which the way back did");
    assert!(d.is_stale(&RANGE), "the host has the old bytes");
    assert_eq!(d.saves(d.now()).0[0].device, 1);
}

#[test]
fn others_in_the_way_are_written_back_and_dropped_if_nobody_uses_them() {
    let mut d = Directory::new();
    region(&mut d, 0, false, true);
    assert!(
        !d.is_in_the_way(&RANGE)
            && d.is_in_the_way(&(1000..1101))
            && d.is_in_the_way(&(1050..1051))
            && !d.is_in_the_way(&(1100..1200))
    );
    let whole = 900..1200;
    let (saves, _) = d.saves_in(&whole);
    assert!(d.drop_in(&whole).is_empty());
    d.saved(&saves[0]);
    assert_eq!(d.drop_in(&whole), [device_block(0)]);
    assert!(!d.knows(&whole));
}

#[test]
fn room_is_made_by_what_is_clean_and_old_first() {
    let mut d = Directory::new();
    let ranges = [0..10, 20..30, 40..50];
    for (at, range) in ranges.iter().enumerate() {
        let used = d.add(0, range, at, at, (at > 0).then_some(&Even));
        d.filled(0, range, used.from);
        d.give(0, range, at == 0);
    }
    let gone = |block| Eviction::Gone(FreedMemory { device: 0, block });
    assert_eq!((d.victim(0), d.victim(0)), (gone(1), gone(2)), "the oldest is dirty");
    let Eviction::Save(save) = d.victim(0) else { panic!("it has to be written back") };
    assert_eq!((d.victim(0), d.victim(1)), (Eviction::Busy, Eviction::None));
    d.saved(&save);
    assert_eq!((d.victim(0), d.victim(0), d.idle(0)), (gone(0), Eviction::None, 0));
}

/// Numbers by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

const DEVICES: u64 = 3;
const DATA: usize = 4;
const CELL: usize = 10;

/// A region that has begun: where, and what it does with each datum.
struct Running {
    device: DeviceNumber,
    uses: Vec<(usize, bool, bool)>,
}

/// Host and devices hold a number per datum; beside them a host as it would be if all were copied
/// at once.
#[derive(Default)]
struct World {
    directory: Directory,
    host: [u64; DATA],
    plain: [u64; DATA],
    there: BTreeMap<usize, u64>,
    blocks: usize,
    running: Vec<Running>,
    saving: Vec<Save>,
}

fn range(datum: usize) -> Range<usize> {
    datum * CELL..(datum + 1) * CELL
}

impl World {
    /// Memory that was given back is poisoned.
    fn free(&mut self, blocks: Vec<FreedMemory>) {
        for block in blocks {
            assert!(self.there.remove(&block.block).is_some(), "given back twice");
        }
    }

    /// A region may begin beside the running ones if no region writes what another one uses.
    fn may(&self, datum: usize, writes: bool) -> bool {
        self.running
            .iter()
            .flat_map(|r| &r.uses)
            .all(|&(other, _, written)| other != datum || !writes && !written)
    }

    fn begin(&mut self, chance: &mut Chance) {
        let device = chance.below(DEVICES) as DeviceNumber;
        let mut uses = Vec::new();
        for datum in 0..DATA {
            let (reads, writes) = [(true, false), (true, true), (false, true)][chance.below(3) as usize];
            // A device has one region with a datum at a time here: what they share is in its table,
            // not in the directory.
            let is_there =
                self.running.iter().any(|r| r.device == device && r.uses.iter().any(|u| u.0 == datum));
            if chance.below(2) == 0 && self.may(datum, writes) && !is_there {
                uses.push((datum, reads, writes));
            }
        }
        for &(datum, reads, _) in &uses {
            let of = range(datum);
            let ways = reads.then_some(&Even as &dyn CopyWays);
            let used = self.directory.reuse(device, &of, ways).unwrap_or_else(|| {
                self.blocks += 1;
                self.there.insert(self.blocks, u64::MAX);
                self.directory.add(device, &of, self.blocks, self.blocks, ways)
            });
            let bytes = match used.from {
                From::Nowhere => None,
                From::Host => Some(self.host[datum]),
                From::Device(_, at) => Some(self.there[&at]),
            };
            if let Some(bytes) = bytes {
                self.there.insert(used.address, bytes);
                let gone = self.directory.filled(device, &of, used.from);
                self.free(gone);
            }
            if reads {
                assert_eq!(self.there[&used.address], self.plain[datum], "a region reads what it would have");
            }
        }
        self.running.push(Running { device, uses });
    }

    fn end(&mut self, chance: &mut Chance) {
        if self.running.is_empty() {
            return;
        }
        let at = chance.below(self.running.len() as u64) as usize;
        let Running { device, uses } = self.running.swap_remove(at);
        for (datum, _, writes) in uses {
            let of = range(datum);
            if writes {
                let value = chance.below(1 << 40);
                self.plain[datum] = value;
                let address = self.directory.data[&of.start].copies[&device].address;
                self.there.insert(address, value);
            }
            let gone = self.directory.give(device, &of, writes);
            self.free(gone);
        }
    }

    /// Begins to write some back.
    fn begin_saves(&mut self, (saves, _): (Vec<Save>, bool)) {
        self.saving.extend(saves);
    }

    fn end_saves(&mut self) {
        for save in core::mem::take(&mut self.saving) {
            self.host[save.host.start / CELL] = self.there[&save.address];
            let gone = self.directory.saved(&save);
            self.free(gone);
        }
    }

    /// The host looks at what no region is writing, and writes some of what none is using.
    fn host_looks(&mut self, chance: &mut Chance) {
        let moment = self.directory.now();
        loop {
            let (saves, others) = self.directory.saves(moment);
            if saves.is_empty() && !others {
                break;
            }
            self.begin_saves((saves, others));
            self.end_saves();
        }
        let gone = self.directory.drop_idle(moment);
        self.free(gone);
        for datum in (0..DATA).filter(|&datum| self.may(datum, false)).collect::<Vec<_>>() {
            assert_eq!(self.host[datum], self.plain[datum], "the host looks");
            if self.may(datum, true) && chance.below(3) == 0 {
                self.host[datum] = chance.below(1 << 40);
                self.plain[datum] = self.host[datum];
            }
        }
    }

    fn make_room(&mut self, device: DeviceNumber) {
        match self.directory.victim(device) {
            Eviction::Gone(block) => self.free(vec![block]),
            Eviction::Save(save) => self.saving.push(save),
            Eviction::Busy | Eviction::None => {}
        }
    }

    fn check(&self) {
        let mut idle = [0; DEVICES as usize];
        for (start, datum) in &self.directory.data {
            assert!(
                !datum.stale || datum.copies.values().any(|copy| copy.valid),
                "someone has the bytes of {start}"
            );
            for (device, copy) in &datum.copies {
                assert!(self.there.contains_key(&copy.block));
                idle[*device as usize] += if copy.uses == 0 { CELL as u64 } else { 0 };
            }
        }
        assert!(self.directory.sending.iter().all(|&sending| sending == 0), "all that was begun has ended");
        for device in 0..DEVICES as DeviceNumber {
            assert_eq!(self.directory.idle(device), idle[device as usize]);
        }
        let all: usize = self.directory.data.values().map(|d| d.copies.len()).sum();
        assert_eq!(all, self.there.len(), "no memory is lost");
    }
}

#[test]
fn programs_by_chance_get_the_same_answers() {
    for seed in 1..400 {
        let (mut world, mut chance) = (World::default(), Chance(seed * 0x9e37_79b9));
        for _ in 0..200 {
            match chance.below(12) {
                0..=4 => world.begin(&mut chance),
                5..=8 => world.end(&mut chance),
                9 => {
                    let moment = world.directory.now();
                    let saves = world.directory.saves(moment);
                    world.begin_saves(saves);
                }
                10 => {
                    let device = chance.below(DEVICES) as DeviceNumber;
                    world.make_room(device);
                    if chance.below(2) == 0 {
                        world.end_saves();
                    }
                }
                _ => world.host_looks(&mut chance),
            }
            world.check();
        }
        while !world.running.is_empty() {
            world.end(&mut chance);
        }
        world.end_saves();
        world.host_looks(&mut chance);
        world.check();
        assert_eq!((world.directory.count(), world.there.len()), (0, 0), "nothing is left of it");
    }
}

/// Devices in pairs that are nearer to each other than to the host; device 9 reaches the host
/// alone.
struct Pairs;

impl CopyWays for Pairs {
    fn time(&self, from: Option<DeviceNumber>, to: DeviceNumber, bytes: u64) -> Option<u64> {
        match from {
            Some(from) if from == 9 || to == 9 => None,
            Some(from) if from / 2 == to / 2 => Some(bytes / 4),
            _ => Some(bytes),
        }
    }
}

const LARGE: Range<usize> = 0..WORTH_WAITING;

fn fetch(d: &mut Directory, device: DeviceNumber) -> From {
    d.add(device, &LARGE, device as usize, 100 * device as usize, Some(&Pairs)).from
}

#[test]
fn a_copy_comes_from_the_nearest_place_that_has_least_to_send() {
    let mut d = Directory::new();
    assert_eq!(fetch(&mut d, 0), From::Host);
    d.filled(0, &LARGE, From::Host);
    assert_eq!(fetch(&mut d, 1), From::Device(0, 0), "of the same pair");
    assert_eq!(fetch(&mut d, 2), From::Host, "not nearer, and 0 sends already");
    assert_eq!(fetch(&mut d, 4), From::Host, "as busy as 0");
    d.filled(1, &LARGE, From::Device(0, 0));
    assert_eq!(fetch(&mut d, 6), From::Device(1, 100), "the host sends two");
    assert_eq!(fetch(&mut d, 8), From::Device(0, 0));
    assert_eq!(fetch(&mut d, 9), From::Host, "the only one that reaches it");
}

#[test]
fn what_only_another_device_has_comes_from_there_even_if_it_cannot_go_straight() {
    let mut d = Directory::new();
    let used = d.add(0, &LARGE, 0, 0, None);
    assert_eq!(used.from, From::Nowhere);
    d.give(0, &LARGE, true);
    assert_eq!(fetch(&mut d, 9), From::Device(0, 0));
}

#[test]
fn large_data_double_their_places_each_round() {
    let mut d = Directory::new();
    assert!(!d.should_wait(2, &LARGE, &Pairs), "nobody gets it");
    assert_eq!(fetch(&mut d, 0), From::Host);
    assert!(
        d.should_wait(2, &LARGE, &Pairs)
            && !d.should_wait(9, &LARGE, &Pairs)
            && !d.should_wait(0, &LARGE, &Pairs)
    );
    d.filled(0, &LARGE, From::Host);
    assert!(!d.should_wait(2, &LARGE, &Pairs));
    assert_eq!((fetch(&mut d, 2), d.should_wait(4, &LARGE, &Pairs)), (From::Host, false));
    assert_eq!((fetch(&mut d, 4), d.should_wait(6, &LARGE, &Pairs)), (From::Device(0, 0), true));
    let small = 1 << 30..(1 << 30) + WORTH_WAITING - 1;
    d.add(0, &small, 0, 0, Some(&Pairs));
    assert!(!d.should_wait(2, &small, &Pairs), "not worth it");
}
