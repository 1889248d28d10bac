//! `sections` by calls of their own. clang and flang make a static loop of the sections instead;
//! icx calls these.

use super::Ident;
use omp::extension::tools;
use omp::extension::tools::kinds::Chunk;
use omp::thread::CurrentThread;
use omp::worksharing::dispatch::{self, Loop, Ordered};
use omp::worksharing::schedule::{Schedule, ScheduleRule};
use omp::worksharing::space::IterationSpace;

/// Enters `sections`. Returns 1 when the team has more than one thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_sections_init(_: *const Ident, _: i32) -> i32 {
    let here = CurrentThread::get();
    // The number of sections is an argument of `__kmpc_next_section`.
    let space = IterationSpace::counted(0, u64::MAX);
    dispatch::begin(
        here,
        &Loop { space, schedule: Schedule::new(ScheduleRule::Singly, 1), ordered: Ordered::No },
    );
    i32::from(here.team().size() > 1)
}

/// The number of the next section, from 0; `count` or more when none of the `count` is left.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_next_section(_: *const Ident, _: i32, count: i32) -> i32 {
    let chunk = dispatch::next(CurrentThread::get());
    if (chunk.start as i32) < count && !chunk.is_empty() {
        tools::work::chunk(|| Chunk::Section(0));
    }
    i32::try_from(chunk.start).ok().filter(|_| !chunk.is_empty()).map_or(count, |section| section.min(count))
}

/// The end of `sections`; the barrier is a call of its own.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_sections(_: *const Ident, _: i32) {
    dispatch::close(CurrentThread::get());
    tools::work::ends();
}
