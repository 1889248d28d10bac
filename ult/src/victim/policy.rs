//! What a policy owes, and how policies note a victim.

use super::draw::Draw;

/// How a worker chooses whom to steal from. Owned by one worker; each attempt is `select`, then
/// `succeeded` or `failed` with the victim it named.
///
/// Beside the trait a policy has a `const fn new(draw: Draw)`, which the table calls.
///
/// While attempts fail, a policy names each other worker sooner or later. Otherwise a worker could
/// search for ever and never try the one victim that has work for it.
pub trait VictimPolicy {
    /// The victim of the next attempt, one of the workers `0..count` other than `me`.
    ///
    /// # Panics
    /// If `count` is less than 2.
    fn select(&mut self, me: usize, count: usize) -> usize;

    /// The attempt at `victim` brought something.
    fn succeeded(&mut self, victim: usize);

    /// The attempt at `victim` brought nothing.
    fn failed(&mut self, victim: usize);

    /// Where its random victims come from: the distances of the workers are set there.
    fn draw_mut(&mut self) -> &mut Draw;
}

/// A victim that is none: no worker has this index.
pub(super) const NO_VICTIM: u32 = u32::MAX;

/// A victim as policies remember it, in half a word.
pub(super) fn entry_of(victim: usize) -> u32 {
    u32::try_from(victim).unwrap_or(NO_VICTIM)
}
