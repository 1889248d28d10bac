//! Persistent tasks and their trays, after XSCALA (chapter 4): tasks with data of their own that
//! execute a procedure again and again, wherever they are (`include/ompx.h`, `docs/persistent.md`).
//!
//! | room | what lives there |
//! |---|---|
//! | [`calls`], [`collect`], [`files`] | what programs call: tasks and trays, transfers between trays, files |
//! | [`order`] | operations, and their messages |
//! | [`queue`] | which operations of a task may begin |
//! | [`task`], [`perform`], [`run`] | tasks; carrying operations out; a procedure that is under way |
//! | [`tray`], [`kind`] | the content of trays; types, and how elements are combined |
//! | [`parcels`] | what comes from other tasks, before or after it is waited for |
//! | [`fences`], [`credit`] | waiting for tasks; who asks for too much waits |
//! | [`stuck`] | for `GANGWAY_CHECK`: what cannot begin yet |
//! | [`numbered`], [`devices`] | tasks that a file names; on which devices |
//! | [`dist`], [`layout`] | memory at one address on all ranks |
//! | [`wire`] | messages |
//!
//! What may not live here: how messages get to a rank, handles of futures, the team that runs
//! procedures ([`crate::remote`], of which this makes use).
//!
//! *Where things are.* A task, its trays and its operations live on one rank, which its handle
//! names; no table of tasks is shared. The calling thread sends its operations to the ranks of the
//! tasks concerned, which keep them in order.
//!
//! *Order.* What one thread asks of a task is done in that order, as far as it concerns the same
//! tray or the procedure ([`queue`]). A transfer is asked of both ends: it is the sender's after
//! what it was asked before, and the receiver's before what it is asked afterwards. So a program
//! that is right when each call does its work at once is right here, and needs no waits of its own.
//!
//! *No circle of waits* comes about by operations that one thread asks for: each waits only for
//! operations that were asked before it. If several threads ask at the same time for transfers into
//! and out of the same trays, each transfer may be first at another end. Such threads have to wait
//! in between.
//!
//! *The end* is that of invocations: an operation that may begin is open work of its rank, and a
//! parcel under way keeps the bridge from being quiet. An operation that waits for something that
//! no thread has asked for does not delay the end.

pub mod calls;
pub mod collect;
pub mod credit;
pub mod devices;
pub mod dist;
pub mod fences;
pub mod files;
pub mod kind;
pub mod layout;
pub mod numbered;
pub mod order;
pub mod parcels;
pub mod perform;
pub mod queue;
pub mod run;
pub mod stuck;
pub mod task;
pub mod tray;
pub mod wire;
