//! `ordered` and doacross. Iterations are given by the values of their loop variables.

use super::Ident;
use omp::thread::CurrentThread;
use omp::worksharing::doacross::{self, DoacrossDimension};
use omp::worksharing::ordered;
use omp::worksharing::space::IterationSpace;

/// An `ordered` region begins.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_ordered(_: *const Ident, _: i32) {
    ordered::start(CurrentThread::get());
}

/// An `ordered` region ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_ordered(_: *const Ident, _: i32) {
    ordered::end(CurrentThread::get());
}

/// LLVM's `kmp_dim`: one dimension of a doacross loop, bounds inclusive.
#[repr(C)]
pub struct DoacrossBounds {
    lower: i64,
    upper: i64,
    step: i64,
}

impl DoacrossBounds {
    fn dimension(&self) -> DoacrossDimension {
        let space = IterationSpace::inclusive(self.lower, self.upper, self.step);
        DoacrossDimension { first: self.lower, step: self.step, trips: space.trips }
    }
}

/// Announces the dependences of the loop that follows.
///
/// # Safety
/// `bounds` holds `count` dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_doacross_init(
    _: *const Ident,
    _: i32,
    count: i32,
    bounds: *const DoacrossBounds,
) {
    // SAFETY: as the caller says.
    let bounds = unsafe { core::slice::from_raw_parts(bounds, usize::try_from(count).unwrap_or(0)) };
    let dimensions: Vec<_> = bounds.iter().map(DoacrossBounds::dimension).collect();
    doacross::begin(CurrentThread::get(), &dimensions);
}

/// `depend(source)`.
///
/// # Safety
/// `values` holds the value of each dimension's loop variable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_doacross_post(_: *const Ident, _: i32, values: *const i64) {
    // SAFETY: as the caller says; `post` asks for dimensions that the loop has.
    doacross::post(CurrentThread::get(), |i| unsafe { *values.add(i) });
}

/// `depend(sink)`.
///
/// # Safety
/// `values` holds the value of each dimension's loop variable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_doacross_wait(_: *const Ident, _: i32, values: *const i64) {
    // SAFETY: as the caller says.
    doacross::wait(CurrentThread::get(), |i| unsafe { *values.add(i) });
}

/// The end of the loop.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_doacross_fini(_: *const Ident, _: i32) {
    doacross::end(CurrentThread::get());
}
