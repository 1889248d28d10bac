//! Lists of team sizes per nesting level that a `num_threads` clause gives (OpenMP 6.0 §12.1.2):
//! they take the place of `OMP_NUM_THREADS`' list in the region and all regions inside it.
//!
//! A task's control variables are copied for every task, so they hold a reference, and a list lives
//! for ever once it was used: each list is kept once, and programs have few. Counting references
//! was rejected for its cost per task.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A list of at least two team sizes, outermost first, each at least 1.
#[derive(Debug, PartialEq, Eq)]
pub struct CountList(Box<[u32]>);

impl CountList {
    /// The one list that holds these numbers; thread-safe. `None` for fewer than two: that is a
    /// plain `num_threads`.
    pub fn of(counts: &[u32]) -> Option<&'static CountList> {
        static LISTS: Mutex<BTreeMap<Box<[u32]>, &'static CountList>> = Mutex::new(BTreeMap::new());
        if counts.len() < 2 {
            return None;
        }
        // A panic aborts the process, so the lock is never poisoned where it matters.
        let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        let key: Box<[u32]> = counts.iter().map(|&n| n.max(1)).collect();
        Some(lists.entry(key.clone()).or_insert_with(|| Box::leak(Box::new(CountList(key)))))
    }

    /// The sizes.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_kept_once() {
        let list = CountList::of(&[3, 0, 2]).unwrap();
        assert_eq!(list.as_slice(), [3, 1, 2]);
        assert!(std::ptr::eq(list, CountList::of(&[3, 1, 2]).unwrap()));
        assert!(CountList::of(&[4]).is_none() && CountList::of(&[]).is_none());
    }
}
