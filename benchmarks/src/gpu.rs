//! A model of GPUs in virtual time: which task goes to which, against the best fixed mapping
//! (`docs/gpu-model.md`).
//!
//! What is real:
//! * the policy ([`placement::online`]), and the forecast of the data that devices will have
//!   ([`placement::ahead`]);
//! * the times of tasks, and the work of a device ([`placement::times`]);
//! * the order in which tasks begin ([`placement::order`]);
//! * which copies there are, where a new one is filled from, and which copies are dropped for want
//!   of room ([`placement::directory`]).
//!
//! What is modelled: time, the GPUs' engines and links ([`machine`]), and programs ([`programs`]).
//!
//! | room | what lives there |
//! |---|---|
//! | [`machine`] | GPUs, their speeds and links, with sources |
//! | [`programs`] | the task graphs: five of Parla's programs and its three synthetic ones |
//! | [`world`] | the simulator |
//! | [`fixed`] | mappings that do not change: by hand, by chance, searched for |
//! | [`flawed`] | policies with something missing, which have to fail |
//! | [`report`] | the tables of the page |

pub mod fixed;
pub mod flawed;
pub mod machine;
pub mod programs;
pub mod report;
pub mod world;

#[cfg(test)]
mod tests;

/// Virtual nanoseconds.
pub type GpuTime = u64;
