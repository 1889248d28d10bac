//! Worksharing constructs as clang, flang and icx call them.
//!
//! | file | entry points |
//! |---|---|
//! | [`kind`] | the numbers of schedules |
//! | [`fixed`] | static loops: `__kmpc_for_static_*`, `__kmpc_dist_for_static_*`, `__kmpc_team_static_*` |
//! | [`collapse`] | loop nests that the library takes apart |
//! | [`dispatch`] | `__kmpc_dispatch_*`, `__kmpc_dist_dispatch_*` |
//! | [`sections`] | `__kmpc_sections_init`, `__kmpc_next_section`, `__kmpc_end_sections` |
//! | [`single`] | `__kmpc_single`, `__kmpc_copyprivate`, `__kmpc_scope` |
//! | [`doacross`] | `__kmpc_ordered`, `__kmpc_doacross_*` |
//!
//! Loop bounds are inclusive, and so are the parts and chunks handed out.

/// LLVM's `ident_t`: where in the source a call stands. Not looked at here.
pub type Ident = core::ffi::c_void;

pub mod collapse;
pub mod dispatch;
pub mod doacross;
pub mod fixed;
pub mod kind;
pub mod sections;
pub mod single;
