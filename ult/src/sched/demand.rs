//! Program code that asks to yield, again and again: the count of its calls.
//!
//! What may not live here: what follows from it ([`super::yielding`]).

/// How many calls in a row from one place are a *demand*: the code there waits for another thread.
/// Chosen: locks of libraries yield only a few times before they sleep; any value from 8 to 32 will
/// do.
pub(super) const CALLS_TO_DEMAND: u32 = 16;

/// Which code has asked to yield, and how often in a row.
#[derive(Clone, Copy)]
pub(crate) struct Demand {
    site: usize,
    switch_count: u32,
    calls: u32,
}

impl Demand {
    pub(crate) const NONE: Self = Self { site: 0, switch_count: 0, calls: 0 };

    /// Counts one more call, made after switch point number `switch_count` and before the next one.
    pub(super) fn has_lasted(&mut self, site: usize, switch_count: u32) -> bool {
        if self.site != site || self.switch_count != switch_count {
            *self = Self { site, switch_count, calls: 0 };
        }
        self.calls += 1;
        self.calls >= CALLS_TO_DEMAND
    }
}
