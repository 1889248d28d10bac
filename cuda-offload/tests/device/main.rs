//! The device on the fake driver (`abi-tests/fake-cuda`): what the trait promises, in order, with
//! delays, without memory, with failures.

mod common;
mod driver;
mod failures;
mod kernels;
mod memory;
mod peers;
mod pressure;
mod priorities;
mod staging;
mod streams;
