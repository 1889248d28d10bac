//! Target constructs as clang and flang emit them, and what else LLVM's library for offloading
//! (`libomptarget`) exports.
//!
//! | file | what lives there |
//! |---|---|
//! | `register`, [`requires`] | images and tables of programs, in the layouts of LLVM 19 and 22; what programs require |
//! | `lists`, `mapper` | lists of what is mapped |
//! | `task` | target tasks |
//! | `device`, `launch` | regions |
//! | `data` | `target data`, `enter data`, `exit data`, `update` |
//! | `rest`, [`idle`] | memory, and calls that owe nothing |
//! | `interop` | `interop` |
//! | `on_host` | regions, data constructs and target tasks of a library without devices |
//!
//! With `nowait` these calls come from an explicit task, and are carried out before they return:
//! the task is what goes on later.

use core::ffi::c_int;

pub mod idle;
pub mod requires;

#[cfg(feature = "offload")]
pub mod data;
#[cfg(feature = "offload")]
mod device;
#[cfg(feature = "offload")]
pub mod interop;
#[cfg(feature = "offload")]
pub mod launch;
#[cfg(feature = "offload")]
pub mod lists;
#[cfg(feature = "offload")]
pub mod mapper;
#[cfg(feature = "offload")]
pub mod register;
#[cfg(feature = "offload")]
pub mod rest;
#[cfg(feature = "offload")]
pub mod task;

#[cfg(not(feature = "offload"))]
pub mod on_host;

/// What a launch answers when the region was not run on a device. Compiled code then runs its host
/// version.
const NOT_OFFLOADED: c_int = -1;
