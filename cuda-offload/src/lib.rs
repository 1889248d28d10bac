//! CUDA GPUs as OpenMP devices, through the driver API opened with `dlopen` on first use.
//!
//! What will live here: device discovery, streams and events, mapping and prefetch, image loading.
//! What may not: a link-time dependency on CUDA. A machine without a driver sees zero devices.
//! Nothing is built here yet; `docs/status.md` says so.
