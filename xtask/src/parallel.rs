//! Work on many items, some at a time.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many programs run at once, if they need one processor each: as many as there are.
pub fn jobs() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Calls `work` on each item, at most `jobs` (at least 1) at once. Starts, and returns the results,
/// in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    // ORDERING: Relaxed; the counter only hands out indices, the items were
                    // published by the spawn.
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = work(item);
                    done.lock().expect("nobody panics with the lock").insert(at, result);
                }
            });
        }
    });
    done.into_inner().expect("nobody panics with the lock").into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_come_in_order() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(
            map(&items, 3, |item| item * item),
            items.iter().map(|item| item * item).collect::<Vec<_>>()
        );
        assert!(map(&[] as &[usize], 2, |item| *item).is_empty());
    }
}
