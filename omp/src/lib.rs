//! What OpenMP means on the host, the same for every front.
//!
//! What lives here: control variables, threads, teams, barriers, worksharing, tasks, dependences,
//! locks, cancellation, memory allocators, and the points at which this crate is extended. What does
//! not: scheduling ([`ult`]), and devices, ranks, tools, traces and checks, which are crates above
//! this one.
//!
//! | module | what lives there |
//! |---|---|
//! | [`mod@env`], [`icv`], [`counts`], [`display`] | the environment, control variables, and how they are shown |
//! | `start` | the functions that the environment calls in modules above it |
//! | [`exit`], [`group`] | what runs when the program ends; the thread limits of a contention group |
//! | [`root`], [`thread`], [`team`], [`parallel`], [`assemble`] | initial threads, threads, teams and their barrier, fork and join, how a team is put together |
//! | [`following`] | on how many workers outermost teams run |
//! | [`storage`], [`tls_blocks`], [`stacks`] | which thread-local storage threads run with, the TLS blocks that numbered threads keep from region to region, and smaller teams where memory for stacks is scarce |
//! | [`affinity`], [`binding`] | places, and binding threads to them |
//! | [`task`], [`queue`], [`team_queue`], [`depend`], [`taskgroup`], [`taskloop`] | tasks, where ready ones stand, dependences, taskgroups, taskloops |
//! | [`agents`] | free agents: tasks that threads outside of the team may run |
//! | [`taskgraph`] | graphs of tasks that are made once and run many times |
//! | [`worksharing`] | loops, sections, single, ordered, doacross |
//! | [`cancel`] | cancellation |
//! | [`target`] | target regions on the host |
//! | [`reduction`] | how copies of a reduction are combined |
//! | [`alloc`] | memory allocators |
//! | [`lock`] | locks, and what critical is made of |
//! | [`races`] | the events of which detectors of races are notified |
//! | [`user_files`] | files that the user or the program names |
//! | [`yielding`] | what `sched_yield` means |
//! | [`outside`] | waiting for the requests of other libraries |
//! | [`stats`] | counters |
//! | [`report`], [`functions`], [`describe`] | messages to the user, names of functions for them, and what the library is |
//! | [`extension`] | the extension points |
//! | [`memory`] | the library's allocator |
//! | `judging` | a limit of time for the tests and fuzzers of parsers |
pub mod affinity;
pub mod agents;
pub mod alloc;
pub mod assemble;
pub mod binding;
pub mod cancel;
pub mod counts;
pub mod depend;
pub mod describe;
pub mod display;
pub mod env;
pub mod exit;
pub mod extension;
pub mod following;
pub mod functions;
pub mod group;
pub mod icv;
#[cfg(any(test, feature = "fuzz"))]
pub mod judging;
pub mod lock;
pub mod memory;
pub mod outside;
pub mod parallel;
pub mod queue;
pub mod races;
pub mod reduction;
pub mod report;
pub mod root;
pub mod stacks;
mod start;
pub mod stats;
pub mod storage;
pub mod target;
pub mod task;
pub mod taskgraph;
pub mod taskgroup;
pub mod taskloop;
pub mod team;
pub mod team_queue;
pub mod thread;
pub mod tls_blocks;
pub mod user_files;
pub mod worksharing;
pub mod yielding;

/// The extensions of this crate's tests.
#[cfg(test)]
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: extension::Extensions =
    extension::Extensions { offload: &env::test_policies::TestPolicies, ..extension::Extensions::NONE };
