//! Exhaustive models of the gang scheduler: which rules keep gangs that spin in user code from
//! waiting for each other in a circle, and which are not enough. `docs/models/gang.md` says what
//! each run shows.
//!
//! The tests drive `ult::gang::eligible` and `GangTag::strictest` themselves, over every
//! interleaving of up to three workers and three gangs. Each rule has a test that it suffices and a
//! test that without it a deadlock is found; the latter print the shortest trace under
//! `--nocapture`.
//!
//! | file | what lives there |
//! |---|---|
//! | `explore.rs`, `fair.rs` | the explorer: deadlocks and livelocks of any model; `toys.rs` tests it |
//! | `program.rs` | what is run (roots, gangs, scripts) and by which rules |
//! | `families.rs` | programs in every combination of scripts |
//! | `state.rs`, `conditions.rs`, `scheduler.rs` | a state; what holds in it; the steps |
//! | `words.rs` | traces in words |
//! | `check.rs` | how a run asks its question |
//! | the rest | the runs |

mod check;
mod conditions;
mod explore;
mod fair;
mod families;
mod program;
mod scheduler;
mod state;
mod toys;
mod words;

mod fork_order;
mod hand_off;
mod nested;
mod one_level;
mod oversize;
mod waits;
