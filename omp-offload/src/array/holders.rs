//! Who uses blocks of arrays on devices: numbers only.
//!
//! Uses on one device go together: the device puts them in order, as the program's dependences say.
//! On different devices one that writes goes alone: others would work with another copy. A program
//! whose dependences cover its blocks never waits here; one that has two blocks' worth of its own
//! data in one block does, and gets the right answer later.

use std::collections::BTreeMap;

/// A use that an owner wants or has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayUse {
    /// The block's first byte, on the host.
    pub block: usize,
    /// The device.
    pub device: i32,
    /// It changes the block.
    pub writes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    owner: usize,
    device: i32,
    writes: bool,
    /// Its bytes are on the way.
    filling: bool,
    /// It has a copy, or tries to take one that is there.
    pins: bool,
}

/// Why an owner does not get its uses now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Others use it.
    Others,
    /// The owner itself does, on another device.
    Own,
}

/// Has what is wanted to wait for this one?
fn excludes(holder: &Holder, wanted: &ArrayUse) -> bool {
    if holder.device == wanted.device { holder.filling } else { holder.writes || wanted.writes }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Holders {
    blocks: BTreeMap<usize, Vec<Holder>>,
}

impl Holders {
    /// No block has a user.
    pub const fn new() -> Self {
        Self { blocks: BTreeMap::new() }
    }

    /// `owner` has all of these from here on, their bytes on the way; or nothing has changed.
    ///
    /// # Errors
    /// Some are in use elsewhere.
    pub fn take(&mut self, owner: usize, uses: &[ArrayUse]) -> Result<(), Conflict> {
        let conflicts = self.conflicts(owner, uses);
        if conflicts.contains(&Conflict::Own) {
            return Err(Conflict::Own);
        }
        if !conflicts.is_empty() {
            return Err(Conflict::Others);
        }
        for &ArrayUse { block, device, writes } in uses {
            self.blocks.entry(block).or_default().push(Holder {
                owner,
                device,
                writes,
                filling: true,
                pins: false,
            });
        }
        Ok(())
    }

    /// Is one of these owners in the way of one of these uses, on another device, so that it has to
    /// end before?
    pub fn are_in_the_way(&self, owners: &[usize], uses: &[ArrayUse]) -> bool {
        let is_in_the_way = |wanted: &ArrayUse, holder: &Holder| {
            owners.contains(&holder.owner) && holder.device != wanted.device && excludes(holder, wanted)
        };
        uses.iter().any(|wanted| {
            self.blocks.get(&wanted.block).into_iter().flatten().any(|holder| is_in_the_way(wanted, holder))
        })
    }

    ult::seam! {
        /// Why the owner has to wait with these uses.
        fn conflicts(&self, owner: usize, uses: &[ArrayUse]) -> Vec<Conflict> {
            uses.iter().filter_map(|wanted| self.conflict(owner, wanted)).collect()
        } or array_users_ignored {
            Vec::new()
        }
    }

    fn conflict(&self, owner: usize, wanted: &ArrayUse) -> Option<Conflict> {
        let found: Vec<&Holder> =
            self.blocks.get(&wanted.block)?.iter().filter(|holder| excludes(holder, wanted)).collect();
        let is_own = found.iter().any(|holder| holder.owner == owner);
        (!found.is_empty()).then_some(if is_own { Conflict::Own } else { Conflict::Others })
    }

    /// The bytes of what the owner wanted are there.
    pub fn filled(&mut self, owner: usize, uses: &[ArrayUse]) {
        self.change(owner, uses, |holder| holder.filling = false);
    }

    /// The owner has copies of what it wants, or has none any more.
    pub fn pins(&mut self, owner: usize, uses: &[ArrayUse], pins: bool) {
        self.change(owner, uses, |holder| holder.pins = pins);
    }

    /// Those of its uses that have no bytes yet.
    fn change(&mut self, owner: usize, uses: &[ArrayUse], change: impl Fn(&mut Holder)) {
        for wanted in uses {
            let all = self.blocks.get_mut(&wanted.block).into_iter().flatten();
            all.filter(|holder| holder.owner == owner && holder.device == wanted.device && holder.filling)
                .for_each(&change);
        }
    }

    /// The owner uses these no more: each once.
    pub fn give(&mut self, owner: usize, uses: &[ArrayUse]) {
        for given in uses {
            let Some(all) = self.blocks.get_mut(&given.block) else { continue };
            let is_it = |holder: &Holder| {
                holder.owner == owner && holder.device == given.device && holder.writes == given.writes
            };
            if let Some(at) = all.iter().position(is_it) {
                all.swap_remove(at);
            }
            if all.is_empty() {
                self.blocks.remove(&given.block);
            }
        }
    }

    /// Does anybody use blocks in `range`, on a device, or only those who write?
    pub fn any_in(&self, range: core::ops::Range<usize>, only_writers: bool) -> bool {
        self.blocks.range(range).flat_map(|(_, all)| all).any(|holder| holder.writes || !only_writers)
    }

    /// Does the owner use blocks in `range`, or write them?
    pub fn has(&self, owner: usize, range: core::ops::Range<usize>, only_writes: bool) -> bool {
        self.blocks
            .range(range)
            .flat_map(|(_, all)| all)
            .any(|holder| holder.owner == owner && (holder.writes || !only_writes))
    }

    /// Does anybody have copies of blocks on the device?
    pub fn others_on(&self, device: i32) -> bool {
        self.blocks.values().flatten().any(|holder| holder.device == device && holder.pins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn wanted(block: usize, device: i32, writes: bool) -> ArrayUse {
        ArrayUse { block, device, writes }
    }

    #[test]
    fn writers_exclude_other_devices_only() {
        let mut all = Holders::new();
        let read = wanted(64, 0, false);
        all.take(1, &[read]).unwrap();
        assert_eq!(all.take(2, &[read]), Err(Conflict::Others), "its bytes are on the way");
        all.filled(1, &[read]);
        all.take(2, &[read]).unwrap();
        all.filled(2, &[read]);
        all.take(3, &[wanted(64, 1, false)]).unwrap();
        assert_eq!(all.take(4, &[wanted(64, 0, true)]), Err(Conflict::Others), "device 1 reads it");
        assert_eq!(all.take(3, &[wanted(0, 0, true), wanted(64, 0, true)]), Err(Conflict::Own));
        assert!(
            all.are_in_the_way(&[9, 3], &[wanted(0, 0, true), wanted(64, 0, true)]),
            "it has to end before"
        );
        assert!(
            !all.are_in_the_way(&[9], &[wanted(64, 0, true)])
                && !all.are_in_the_way(&[3], &[wanted(64, 0, false)])
        );
        assert!(!all.any_in(0..64, false), "nothing is left of a list of which a part is in use");
        all.give(3, &[wanted(64, 1, false)]);
        all.take(4, &[wanted(64, 0, true)]).unwrap();
        all.filled(4, &[wanted(64, 0, true)]);
        all.take(5, &[wanted(64, 0, true)]).unwrap();
        assert_eq!(all.take(6, &[wanted(64, 1, false)]), Err(Conflict::Others), "device 0 writes it");
        all.pins(5, &[wanted(64, 0, true)], true);
        assert!(all.any_in(64..65, true) && all.others_on(0) && !all.others_on(1));
        for (owner, writes) in [(1, false), (2, false), (4, true), (5, true)] {
            all.give(owner, &[wanted(64, 0, writes)]);
        }
        assert!(all.blocks.is_empty());
    }
}
