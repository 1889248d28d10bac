//! A model of GPUs in virtual time: which task goes to which, against the best fixed mapping
//! (`docs/gpu-model.md`).
//!
//! What is real: the policy ([`placement::online`]), what it is notified of what devices will have
//! ([`placement::ahead`]), of the times of tasks and of what a device has to do
//! ([`placement::times`]), in which order tasks begin ([`placement::order`]), which copies there
//! are, where a new one is filled from, and what goes for want of room ([`placement::directory`]).
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
