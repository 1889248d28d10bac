//! A value with a cache line of its own.

/// A cache line of its own.
#[derive(Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);
