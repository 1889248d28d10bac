//! What the loom models of this crate share: how a program is explored, and what its threads refer
//! to.
//!
//! What may not live here: a part of any protocol; a model restates that in its own file, to be
//! read beside its page.
#![allow(dead_code, reason = "each model uses a part of it")]

use loom::model::Builder;

/// Runs `program` in all its interleavings with up to so many preemptions.
///
/// LOOM_MAX_PREEMPTIONS looks deeper than the model's own bound, which keeps the suite quick.
pub fn explore(preemptions: usize, program: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(program);
}

/// Runs `program` on a value that outlives its threads, and frees it unless the program fails. (A
/// failure unwinds through threads that loom no longer schedules; anything of loom's that is
/// dropped then would end the process.)
pub fn with_shared<T: 'static>(value: T, program: impl FnOnce(&'static T)) {
    let shared = Box::into_raw(Box::new(value));
    // SAFETY: freed below only, when the program has joined its threads.
    program(unsafe { &*shared });
    // SAFETY: from `Box::into_raw`, and no thread uses it any more.
    drop(unsafe { Box::from_raw(shared) });
}
