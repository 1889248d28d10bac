//! Threads of one team that wait in different places: in two barriers, or one in a barrier and one
//! at the end of the region.
//!
//! Only certain cases are reported, so many are not. Both compilers make several calls out of one
//! barrier (inlining, copies of loops, templates), so that two return addresses say nothing. Two
//! places differ
//!
//! * if one is the end of the region: a thread there comes to no barrier any more;
//! * if compiled code has called for different constructs. The calls of clang name their construct.
//!   Those of gcc are three: one for `barrier` and the ends of loops and `single` whose threads
//!   need nothing from the runtime, one for the ends of other loops, one for those of sections;
//! * if clang says a line for both (`-g`), and they are two.
//!
//! In cancelled regions and in the child of a fork nothing is reported: threads leave barriers
//! early.

use core::fmt;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::place::{CodePosition, CodeSource};
use super::reports::{About, report};
use super::symbols;
use omp::extension::check::BarrierKind;
use omp::team::Team;
use omp::thread::Thread;

/// Flags of `ident_t`: what a barrier is for.
const EXPLICIT: i32 = 0x20;
const IMPLICIT: i32 = 0x1C0;
const FOR: i32 = 0x40;
const SECTIONS: i32 = 0xC0;
const SINGLE: i32 = 0x140;

/// Does gcc make this call?
fn is_gcc(kind: BarrierKind) -> bool {
    matches!(
        kind,
        BarrierKind::Gomp | BarrierKind::GompLoop | BarrierKind::GompSections | BarrierKind::GompCopy
    )
}

/// Where a thread waits for its team.
#[derive(Clone, Copy)]
struct SyncPoint {
    thread: u32,
    kind: BarrierKind,
    place: CodePosition,
}

impl SyncPoint {
    /// What clang says that the barrier is for; 0: nothing.
    fn purpose(&self) -> i32 {
        if self.kind == BarrierKind::Kmpc { self.place.source.flags() & (EXPLICIT | IMPLICIT) } else { 0 }
    }

    /// Are they certainly not one barrier?
    fn differs(&self, other: &Self) -> bool {
        if [self.kind, other.kind].contains(&BarrierKind::Other) || is_gcc(self.kind) != is_gcc(other.kind) {
            return false;
        }
        let purposes = (self.purpose(), other.purpose());
        let lines = self.place.source.position().zip(other.place.source.position());
        self.kind != other.kind
            || (purposes.0 != 0 && purposes.1 != 0 && purposes.0 != purposes.1)
            || (self.kind == BarrierKind::Kmpc && lines.is_some_and(|(one, two)| one.differs(&two)))
    }
}

impl fmt::Display for SyncPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.kind, self.purpose()) {
            (BarrierKind::Kmpc, EXPLICIT) => "in a barrier",
            (BarrierKind::GompLoop, _) | (BarrierKind::Kmpc, FOR) => "at the end of a loop",
            (BarrierKind::GompSections, _) | (BarrierKind::Kmpc, SECTIONS) => "at the end of sections",
            (BarrierKind::GompCopy | BarrierKind::KmpcCopy, _) | (BarrierKind::Kmpc, SINGLE) => {
                "at the end of a single"
            }
            (BarrierKind::KmpcReduce, _) => "in a reduction",
            (BarrierKind::Gomp, _) => "in a barrier, or at the end of a loop or single,",
            _ => "in a barrier of some kind",
        };
        write!(f, "thread {} waits {what} at {}", self.thread, self.place)
    }
}

/// What is known of the threads of a region.
struct Region {
    epoch: u64,
    /// The present barrier, by how many there were before it, and the first thread that came to it.
    phase: u64,
    first: Option<SyncPoint>,
    /// How many threads have come to it.
    met: u32,
    /// A thread that has come to the end, and how many have.
    joined: Option<u32>,
    ended: u32,
    function: usize,
}

impl Region {
    fn new(team: &Team) -> Self {
        let function = team.plan().body.function.addr();
        Self {
            epoch: team.epoch(),
            phase: team.phase(),
            first: None,
            met: 0,
            joined: None,
            ended: 0,
            function,
        }
    }
}

#[derive(Default)]
struct BarrierBook {
    /// By address of the team.
    regions: HashMap<usize, Region>,
    /// By the outlined function: the construct.
    sources: HashMap<usize, CodeSource>,
}

static BOOK: Mutex<Option<BarrierBook>> = Mutex::new(None);

fn with<R>(look: impl FnOnce(&mut BarrierBook) -> R) -> R {
    look(BOOK.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

impl BarrierBook {
    /// What is known of the region that runs.
    fn region(&mut self, team: &Team) -> &mut Region {
        let phase = team.phase();
        let region = self.regions.entry(address(team)).or_insert_with(|| Region::new(team));
        if region.epoch != team.epoch() {
            *region = Region::new(team);
        }
        if region.phase != phase {
            (region.phase, region.first, region.met) = (phase, None, 0);
        }
        region
    }
}

fn address(team: &Team) -> usize {
    core::ptr::from_ref(team).addr()
}

// ---- what the fronts and the team say -----------------------------------------

/// The region with this outlined function is the construct of that source.
pub fn keep_source(function: usize, source: CodeSource) {
    if super::is_noted() {
        with(|book| book.sources.insert(function, source));
    }
}

/// The region is over: all its threads have come to its end.
pub fn forget(team: &Team) {
    if super::is_noted() {
        with(|book| book.regions.remove(&address(team)));
    }
}

/// Can threads of the team wait for each other, and all of them come to where they do?
fn is_looked_at(team: &Team) -> bool {
    super::is_noted() && team.size() > 1 && !team.is_abandoned()
}

/// The running thread is about to wait in a barrier of its team that compiled code has called for.
pub fn look_at_barrier(thread: &Thread, kind: BarrierKind, source: CodeSource) {
    let team = thread.team();
    if !is_looked_at(team) {
        return;
    }
    let me = SyncPoint { thread: thread.num(), kind, place: CodePosition::of_caller(source) };
    let (first, joined) = with(|book| {
        let region = book.region(team);
        region.met += 1;
        (*region.first.get_or_insert(me), region.joined)
    });
    if let Some(other) = joined {
        return report_end(team, &me, other);
    }
    if me.differs(&first) {
        report(
            About::SyncPoint,
            first.place.address,
            me.place.address,
            format_args!(
                "threads of a team wait in different places: {first}; {me}; they are let through together"
            ),
        );
    }
}

/// The running thread has come to the end of its region.
pub fn look_at_join(thread: &Thread) {
    let team = thread.team();
    if !is_looked_at(team) {
        return;
    }
    let first = with(|book| {
        let region = book.region(team);
        region.joined.get_or_insert(thread.num());
        region.ended += 1;
        region.first
    });
    if let Some(first) = first {
        report_end(team, &first, thread.num());
    }
}

/// One thread waits for the others, one of which is at the end already. If the region has been
/// cancelled since, it waits no more.
fn report_end(team: &Team, waiting: &SyncPoint, joined: u32) {
    if team.is_cancelled() {
        return;
    }
    let function = team.plan().body.function.addr();
    let region = region_name(function);
    report(
        About::SyncPoint,
        waiting.place.address,
        function,
        format_args!(
            "threads of a team wait in different places: {waiting}; thread {joined} at the end of the region {region}; the region does not end"
        ),
    );
}

/// The region with this outlined function, in words.
pub fn region_name(function: usize) -> String {
    let source = with(|book| book.sources.get(&function).copied()).and_then(CodeSource::position);
    source.map_or_else(|| symbols::name(function), |position| position.to_string())
}

/// How many threads wait for the others of a region with this outlined function, and where, in
/// words.
pub fn who_waits(function: usize) -> Vec<String> {
    with(|book| {
        let regions = book.regions.values().filter(|region| region.function == function);
        regions
            .flat_map(|region| {
                let met = region
                    .first
                    .map(|first| format!("{} of its threads in a barrier at {}", region.met, first.place));
                let ended = (region.ended != 0)
                    .then(|| format!("{} of its threads at the end of the region", region.ended));
                [met, ended]
            })
            .flatten()
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sync_point(kind: BarrierKind) -> SyncPoint {
        SyncPoint { thread: 0, kind, place: CodePosition { address: 1, source: CodeSource::NONE } }
    }

    #[test]
    fn calls_for_different_constructs_differ_and_what_is_not_known_does_not() {
        let differ = |one, other| sync_point(one).differs(&sync_point(other));
        assert!(
            differ(BarrierKind::Gomp, BarrierKind::GompLoop)
                && differ(BarrierKind::GompSections, BarrierKind::GompLoop)
                && differ(BarrierKind::Kmpc, BarrierKind::KmpcCopy)
        );
        assert!(
            !differ(BarrierKind::Gomp, BarrierKind::Gomp)
                && !differ(BarrierKind::Gomp, BarrierKind::Other)
                && !differ(BarrierKind::Gomp, BarrierKind::Kmpc)
        );
    }

    #[test]
    fn addresses_do_not_matter() {
        let other = SyncPoint {
            place: CodePosition { address: 2, ..sync_point(BarrierKind::Gomp).place },
            ..sync_point(BarrierKind::Gomp)
        };
        assert!(!other.differs(&sync_point(BarrierKind::Gomp)));
    }
}
