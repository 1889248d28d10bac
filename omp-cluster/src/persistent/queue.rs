//! What a task has been asked and has not done: which of it may begin.
//!
//! Operations begin in the order in which they were asked, except that one need not wait for
//! another that uses other trays. Pure logic, under the lock of the task: who has taken an
//! operation out carries it out, and says when it is over.
//!
//! Rejected: strictly one after the other (in a ring of `send_recv` each task would receive before
//! it sends, although nothing asks for that).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What an operation uses of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrayAccess {
    /// One tray, which stays as it is.
    Reads(u32),
    /// One tray.
    Writes(u32),
    /// The whole task.
    All,
}

/// What older operations use that are not over; none of them uses the whole task.
#[derive(Default)]
struct Before {
    /// By tray: does one of them write it?
    trays: BTreeMap<u32, bool>,
}

impl Before {
    fn allows(&self, access: TrayAccess) -> bool {
        match access {
            TrayAccess::All => self.trays.is_empty(),
            TrayAccess::Reads(tray) => self.trays.get(&tray) != Some(&true),
            TrayAccess::Writes(tray) => !self.trays.contains_key(&tray),
        }
    }

    fn add(&mut self, access: TrayAccess) {
        match access {
            TrayAccess::Reads(tray) => {
                self.trays.entry(tray).or_insert(false);
            }
            TrayAccess::Writes(tray) => {
                self.trays.insert(tray, true);
            }
            TrayAccess::All => {}
        }
    }
}

/// What operations wait for in the end, by position: an operation may wait for what older ones wait
/// for that it conflicts with.
#[derive(Default)]
struct Ends {
    /// Of the last one that uses the whole task.
    all: BTreeSet<usize>,
    /// Of those behind it, by tray: of those that read, of those that write.
    trays: BTreeMap<u32, [BTreeSet<usize>; 2]>,
}

impl Ends {
    /// Of those that have to be over before.
    fn before(&self, access: TrayAccess) -> BTreeSet<usize> {
        let mut ends = self.all.clone();
        match access {
            TrayAccess::Reads(tray) => {
                ends.extend(self.trays.get(&tray).iter().flat_map(|[_, writes]| writes))
            }
            TrayAccess::Writes(tray) => {
                ends.extend(self.trays.get(&tray).iter().flat_map(|both| both.iter().flatten()))
            }
            TrayAccess::All => ends.extend(self.trays.values().flatten().flatten()),
        }
        ends
    }

    fn add(&mut self, access: TrayAccess, ends: BTreeSet<usize>) {
        match access {
            TrayAccess::Reads(tray) => self.trays.entry(tray).or_default()[0].extend(ends),
            TrayAccess::Writes(tray) => self.trays.entry(tray).or_default()[1].extend(ends),
            TrayAccess::All => (self.all, self.trays) = (ends, BTreeMap::new()),
        }
    }
}

struct TrayEntry<T> {
    number: u64,
    access: TrayAccess,
    /// What it waits for from elsewhere.
    missing: usize,
    /// What is to be done; none once it has begun.
    what: Option<T>,
    over: bool,
}

/// An operation that has begun.
#[derive(Debug, PartialEq, Eq)]
pub struct BegunOperation<T> {
    /// Its number.
    pub number: u64,
    /// What it does.
    pub what: T,
}

/// The operations of a task, oldest first.
pub struct TrayQueue<T> {
    entries: VecDeque<TrayEntry<T>>,
    /// Of the next one.
    number: u64,
}

impl<T> TrayQueue<T> {
    /// Nothing.
    pub const EMPTY: Self = Self { entries: VecDeque::new(), number: 0 };

    /// Takes an operation in that waits for `missing` things from elsewhere; its number.
    pub fn push(&mut self, access: TrayAccess, missing: usize, what: T) -> u64 {
        self.number += 1;
        self.entries.push_back(TrayEntry {
            number: self.number,
            access,
            missing,
            what: Some(what),
            over: false,
        });
        self.number
    }

    fn entry(&mut self, number: u64) -> Option<&mut TrayEntry<T>> {
        let at = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        self.entries.get_mut(at)
    }

    /// Something that the operation waits for has come: `put` stores it.
    pub fn provide(&mut self, number: u64, put: impl FnOnce(&mut T)) {
        let Some(entry) = self.entry(number) else {
            return;
        };
        if let Some(what) = &mut entry.what {
            put(what);
            entry.missing = entry.missing.saturating_sub(1);
        }
    }

    /// Takes out the first operation that may begin.
    pub fn begin_next(&mut self) -> Option<BegunOperation<T>> {
        let found = self.startable()?;
        let entry = self.entries.get_mut(found)?;
        entry.what.take().map(|what| BegunOperation { number: entry.number, what })
    }

    /// One look from the oldest on. All of them, however many wait: a limit would let those of one
    /// thread wait for those of another that asks at the same time, although they use different
    /// trays.
    fn startable(&self) -> Option<usize> {
        let mut before = Before::default();
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| !entry.over) {
            if entry.what.is_some() && entry.missing == 0 && before.allows(entry.access) {
                return Some(at);
            }
            if entry.access == TrayAccess::All {
                return None;
            }
            before.add(entry.access);
        }
        None
    }

    /// Operations that have not begun and may not, and what each of them waits for in the end. It
    /// waits for older operations that are under way (`None`), and for operations that miss
    /// something from elsewhere, perhaps itself. At most `most` of those each.
    pub fn hindered(&self, most: usize) -> Vec<(&T, Vec<Option<&T>>)> {
        let mut ends = Ends::default();
        let mut all = Vec::new();
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| !entry.over) {
            let mut own = ends.before(entry.access);
            if entry.what.is_none() || entry.missing > 0 {
                own.insert(at);
            }
            while own.len() > most {
                own.pop_last();
            }
            if let Some(what) = entry.what.as_ref().filter(|_| !own.is_empty()) {
                all.push((what, own.iter().map(|&end| self.entries[end].what.as_ref()).collect()));
            }
            ends.add(entry.access, own);
        }
        all
    }

    /// An operation that was taken out is over.
    pub fn finish(&mut self, number: u64) {
        if let Some(entry) = self.entry(number) {
            entry.over = true;
        }
        while self.entries.front().is_some_and(|entry| entry.over) {
            self.entries.pop_front();
        }
    }

    /// How many are not over; those that wait behind an older one are counted when they are.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::TrayAccess::{All, Reads, Writes};
    use super::*;

    /// Takes out all that may begin.
    fn begin(queue: &mut TrayQueue<char>) -> Vec<(u64, char)> {
        core::iter::from_fn(|| queue.begin_next()).map(|begun| (begun.number, begun.what)).collect()
    }

    #[test]
    fn what_uses_other_trays_overtakes() {
        let mut queue = TrayQueue::EMPTY;
        let receive = queue.push(Writes(1), 1, 'r');
        let send = queue.push(Reads(0), 0, 's');
        let again = queue.push(Reads(0), 0, 't');
        let run = queue.push(All, 0, 'x');
        let late = queue.push(Reads(2), 0, 'l');
        assert_eq!(begin(&mut queue), [(send, 's'), (again, 't')], "not behind the execution");
        queue.finish(send);
        queue.provide(receive, |what| *what = 'R');
        assert_eq!(begin(&mut queue), [(receive, 'R')]);
        queue.finish(receive);
        assert_eq!(begin(&mut queue), [], "one of them is under way");
        queue.finish(again);
        assert_eq!(begin(&mut queue), [(run, 'x')]);
        assert_eq!(begin(&mut queue), []);
        queue.finish(run);
        assert_eq!(begin(&mut queue), [(late, 'l')]);
        queue.finish(late);
        assert_eq!(queue.held(), 0);
    }

    #[test]
    fn what_is_waited_for_in_the_end() {
        let mut queue = TrayQueue::EMPTY;
        let run = queue.push(All, 0, 'x');
        assert_eq!(begin(&mut queue), [(run, 'x')]);
        queue.push(Reads(0), 0, 's');
        assert_eq!(queue.hindered(9), [(&'s', vec![None])], "behind the execution");
        queue.finish(run);
        assert_eq!(begin(&mut queue).len(), 1);
        queue.push(Writes(1), 1, 'r');
        queue.push(Writes(2), 1, 'q');
        queue.push(Reads(1), 0, 't');
        queue.push(Reads(3), 0, 'o');
        queue.push(All, 0, 'f');
        queue.push(Reads(9), 0, 'l');
        let all = vec![None, Some(&'r'), Some(&'q')];
        let own = |what| (what, vec![Some(what)]);
        let hindered = [own(&'r'), own(&'q'), (&'t', vec![Some(&'r')]), (&'f', all.clone()), (&'l', all)];
        assert_eq!(queue.hindered(9), hindered, "'s' is under way, and 'o' may begin");
        assert_eq!(queue.hindered(1)[3], (&'f', vec![None]));
    }

    #[test]
    fn a_thousand_that_wait_hold_nobody_up() {
        let mut queue = TrayQueue::EMPTY;
        for tray in 0..1000 {
            queue.push(Writes(tray), 1, 'r');
        }
        queue.push(Reads(999), 0, 'n');
        let send = queue.push(Reads(1000), 0, 's');
        assert_eq!(begin(&mut queue), [(send, 's')]);
    }

    #[test]
    fn one_tray_keeps_its_order() {
        let mut queue = TrayQueue::EMPTY;
        let [a, b, c] = [(Reads(7), 'a'), (Writes(7), 'b'), (Reads(7), 'c')]
            .map(|(access, what)| queue.push(access, 0, what));
        assert_eq!(begin(&mut queue), [(a, 'a')]);
        queue.finish(a);
        assert_eq!(begin(&mut queue), [(b, 'b')]);
        queue.finish(b);
        assert_eq!(begin(&mut queue), [(c, 'c')]);
    }

    #[test]
    fn what_is_long_over_does_not_pile_up() {
        let mut queue = TrayQueue::EMPTY;
        for _ in 0..1000 {
            let number = queue.push(All, 0, 'x');
            assert_eq!(queue.begin_next(), Some(BegunOperation { number, what: 'x' }));
            queue.finish(number);
        }
        assert_eq!((queue.held(), queue.begin_next()), (0, None));
        queue.provide(3, |_| panic!("long over"));
    }

    #[test]
    fn all_that_is_missing_has_to_come() {
        let mut queue = TrayQueue::EMPTY;
        let number = queue.push(Writes(0), 3, 'w');
        for _ in 0..2 {
            queue.provide(number, |_| ());
            assert_eq!(queue.begin_next(), None);
        }
        queue.provide(number, |_| ());
        assert_eq!(queue.begin_next(), Some(BegunOperation { number, what: 'w' }));
    }
}
