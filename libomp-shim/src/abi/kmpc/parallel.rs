//! See the table in the parent module.
