//! The one façade through which models replace atomics: `loom` under `--cfg loom`, `core` otherwise.
