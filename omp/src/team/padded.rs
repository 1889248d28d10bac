//! A value with a cache line of its own.

/// A cache line of its own.
#[repr(align(128))]
pub struct Padded<T>(pub T);
