//! MPI ranks as OpenMP devices: the second shared library, opened only when a program asks for it.
//!
//! What will live here: the rank device (remote target tasks, stealing between ranks), mobile objects,
//! futures, events and trays. It will be the only crate that links MPI; nothing else may.
//! What may not: scheduling policy (that is `ult`) or OpenMP semantics (that is `libomp-shim`'s `omp`).
//! Nothing is built here yet; `docs/status.md` says so.
