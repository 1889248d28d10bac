//! LLVM extensions.
