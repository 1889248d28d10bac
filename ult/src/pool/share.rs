//! How many processors the pool's workers may count on: the limit, and the program's kernel threads
//! that are in regions of their own.
//!
//! What may not live here: starting workers ([`super`]).

use core::sync::atomic::{AtomicUsize, Ordering};

static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// The number of the program's kernel threads in outermost regions, while it has several.
pub(super) static FORKERS: AtomicUsize = AtomicUsize::new(0);

/// Sets how many shared workers the pool may have: as many as the machine can run well, less the
/// program's own thread.
pub fn set_limit(workers: usize) {
    // ORDERING: Relaxed; a setting.
    LIMIT.store(workers, Ordering::Relaxed);
}

/// How many shared workers the pool may have.
pub fn limit() -> usize {
    // ORDERING: Relaxed; a setting.
    LIMIT.load(Ordering::Relaxed)
}

/// Begins an outermost region of a kernel thread, in a program that has several such threads. Until
/// [`leave_region`] the pool counts one processor as taken by this thread. The other forking
/// threads share the rest.
pub fn enter_region() {
    // ORDERING: Relaxed; a count by itself.
    FORKERS.fetch_add(1, Ordering::Relaxed);
}

/// Ends a region that was counted by [`enter_region`].
pub fn leave_region() {
    // The child of a fork has forgotten the counts of other threads.
    let less = |forkers: usize| Some(forkers.saturating_sub(1));
    // ORDERING: Relaxed, both; a count by itself.
    let _ = FORKERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

/// How many kernel threads, the forking one included, have a processor if each of the other forking
/// threads has one. At least 1.
pub(crate) fn share() -> usize {
    // ORDERING: Relaxed; a recent number will do.
    share_of(limit() + 1, FORKERS.load(Ordering::Relaxed))
}

fn share_of(processors: usize, forkers: usize) -> usize {
    processors.saturating_sub(forkers.saturating_sub(1)).max(1)
}

/// Are several kernel threads of the program in outermost regions?
pub(crate) fn several_are_in_regions() -> bool {
    // ORDERING: Relaxed; a recent number will do.
    FORKERS.load(Ordering::Relaxed) > 1
}

/// Is there a processor for a worker beside those of the program's kernel threads in regions?
pub(crate) fn has_room() -> bool {
    share() > 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::share_of;

    #[test]
    fn forkers_leave_the_other_processors_to_workers() {
        assert_eq!(share_of(64, 0), 64, "a program with one thread is not counted");
        assert_eq!(share_of(64, 1), 64);
        assert_eq!(share_of(64, 5), 60);
        assert_eq!(share_of(2, 2), 1);
        assert_eq!(share_of(2, 40), 1, "never less than the forking thread itself");
    }
}
