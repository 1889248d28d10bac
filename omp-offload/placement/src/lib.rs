//! Placement: which device a task runs on, under limits of memory; and where its data are.
//!
//! | room | what lives there |
//! |---|---|
//! | [`graph`] | tasks with their costs and sizes, what they pass to each other; devices and what lies between them |
//! | [`policy`] | the trait of all policies, and what a policy gets to know of a task and the devices |
//! | [`online`] | policies that decide when a task is ready: round robin, earliest start, least loaded, by hand |
//! | [`heft`], [`insertion`] | schedules of a graph that is known ahead: HEFTMC and ISHMC |
//! | [`planned`] | those two as policies |
//! | [`space`] | a device while a schedule is made: when it is busy, how much of its memory is in use when |
//! | [`replay`] | the judge: replays a schedule in time and finds every mistake in it |
//! | [`simulate`] | runs a graph on devices in virtual time under any policy |
//! | [`choice`] | policies by their names, as in `OMPX_SCHED` |
//! | [`file`], [`manual`] | a recorded graph as text; a placement written by hand |
//! | [`rates`] | measured rates of ranks |
//! | [`directory`] | which copies of host storage there are on devices, which are valid, where a new one is filled from |
//! | [`record`] | a graph from what tasks were seen to read and write |
//! | [`times`] | how long tasks take: running means by function and size; what a device has to do by them |
//! | [`versions`] | which version of a task runs where there is one for each kind of device |
//! | [`ahead`] | what devices will have once the tasks that were placed have ended |
//! | [`forecast`] | when they will have ended |
//! | [`order`] | in which order placed tasks begin: priority, remaining path, time |
//! | [`admission`] | which regions have an admission on GPUs, which begin, which are taken over |
//! | [`steal`] | regions that wait for their device, and devices that steal them |
//! | [`examples`] | graphs to try policies on |
//!
//! The runtime and the simulator (`cargo xtask placement`) use the same policies. Nothing here
//! knows OpenMP, threads, or devices that exist; there is no `unsafe`. Times are whole nanoseconds,
//! so that schedules can be compared exactly.
//!
//! The algorithms are those of XSCALA (HEFTMC, ISHMC, RRMC, ESTMC), with three changes, each
//! explained where it is made:
//! * Memory is given back in time and not in the order of mapping ([`space`]).
//! * Waste has the sign that makes less of it better ([`policy::blend`]).
//! * The earliest start counts a device's load ([`online::EarliestStart`]).

#![forbid(unsafe_code)]

pub mod admission;
pub mod ahead;
pub mod choice;
pub mod directory;
pub mod examples;
pub mod file;
pub mod forecast;
pub mod graph;
pub mod heft;
pub mod insertion;
pub mod manual;
pub mod online;
pub mod order;
pub mod planned;
pub mod policy;
pub mod rates;
pub mod record;
pub mod replay;
pub mod simulate;
pub mod space;
pub mod steal;
pub mod times;
pub mod versions;

#[cfg(test)]
mod tests;

/// Nanoseconds.
pub type Time = u64;

/// Never.
pub const NEVER: Time = Time::MAX;
