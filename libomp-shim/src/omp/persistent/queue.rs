//! What a task has been asked and has not done: which of it may begin.
//!
//! Operations begin in the order in which they were asked, except that one need not wait for another that uses other trays. Pure logic, under the lock of
//! the task: who has taken an operation out carries it out, and says when it is over.
//!
//! Rejected: strictly one after the other (in a ring of `send_recv` each task would receive before it sends, although nothing asks for that).

use std::collections::{BTreeMap, VecDeque};

/// What an operation uses of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
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
    fn allows(&self, access: Access) -> bool {
        match access {
            Access::All => self.trays.is_empty(),
            Access::Reads(tray) => self.trays.get(&tray) != Some(&true),
            Access::Writes(tray) => !self.trays.contains_key(&tray),
        }
    }

    fn add(&mut self, access: Access) {
        match access {
            Access::Reads(tray) => {
                self.trays.entry(tray).or_insert(false);
            }
            Access::Writes(tray) => {
                self.trays.insert(tray, true);
            }
            Access::All => {}
        }
    }
}

struct Entry<T> {
    number: u64,
    access: Access,
    /// What it waits for from elsewhere.
    missing: usize,
    /// What is to be done; none once it has begun.
    what: Option<T>,
    over: bool,
}

/// The operations of a task, oldest first.
pub struct Queue<T> {
    entries: VecDeque<Entry<T>>,
    /// Of the next one.
    number: u64,
}

impl<T> Queue<T> {
    /// Nothing.
    pub const EMPTY: Self = Self { entries: VecDeque::new(), number: 0 };

    /// Takes an operation in that waits for `missing` things from elsewhere; its number.
    pub fn push(&mut self, access: Access, missing: usize, what: T) -> u64 {
        self.number += 1;
        self.entries.push_back(Entry { number: self.number, access, missing, what: Some(what), over: false });
        self.number
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry<T>> {
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
    pub fn begin_next(&mut self) -> Option<(u64, T)> {
        let found = self.startable()?;
        let entry = self.entries.get_mut(found)?;
        entry.what.take().map(|what| (entry.number, what))
    }

    /// One look from the oldest on. All of them, however many wait: a limit would let those of one thread wait for those of another that asks at the same
    /// time, although they use different trays.
    fn startable(&self) -> Option<usize> {
        let mut before = Before::default();
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| !entry.over) {
            if entry.what.is_some() && entry.missing == 0 && before.allows(entry.access) {
                return Some(at);
            }
            if entry.access == Access::All {
                return None;
            }
            before.add(entry.access);
        }
        None
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
    use super::Access::{All, Reads, Writes};
    use super::*;

    /// Takes out all that may begin.
    fn begin(queue: &mut Queue<char>) -> Vec<(u64, char)> {
        core::iter::from_fn(|| queue.begin_next()).collect()
    }

    #[test]
    fn what_uses_other_trays_overtakes() {
        let mut queue = Queue::EMPTY;
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
    fn a_thousand_that_wait_hold_nobody_up() {
        let mut queue = Queue::EMPTY;
        for tray in 0..1000 {
            queue.push(Writes(tray), 1, 'r');
        }
        queue.push(Reads(999), 0, 'n');
        let send = queue.push(Reads(1000), 0, 's');
        assert_eq!(begin(&mut queue), [(send, 's')]);
    }

    #[test]
    fn one_tray_keeps_its_order() {
        let mut queue = Queue::EMPTY;
        let [a, b, c] = [(Reads(7), 'a'), (Writes(7), 'b'), (Reads(7), 'c')].map(|(access, what)| queue.push(access, 0, what));
        assert_eq!(begin(&mut queue), [(a, 'a')]);
        queue.finish(a);
        assert_eq!(begin(&mut queue), [(b, 'b')]);
        queue.finish(b);
        assert_eq!(begin(&mut queue), [(c, 'c')]);
    }

    #[test]
    fn what_is_long_over_does_not_pile_up() {
        let mut queue = Queue::EMPTY;
        for _ in 0..1000 {
            let number = queue.push(All, 0, 'x');
            assert_eq!(queue.begin_next(), Some((number, 'x')));
            queue.finish(number);
        }
        assert_eq!((queue.held(), queue.begin_next()), (0, None));
        queue.provide(3, |_| panic!("long over"));
    }

    #[test]
    fn all_that_is_missing_has_to_come() {
        let mut queue = Queue::EMPTY;
        let number = queue.push(Writes(0), 3, 'w');
        for _ in 0..2 {
            queue.provide(number, |_| ());
            assert_eq!(queue.begin_next(), None);
        }
        queue.provide(number, |_| ());
        assert_eq!(queue.begin_next(), Some((number, 'w')));
    }
}
