//! The OpenMP runtime library.
pub mod omp {
    //! OpenMP's meaning: control variables, environment, places, allocators.
    pub mod affinity;
    pub mod alloc;
    pub mod display;
    pub mod env;
    pub mod icv;
    pub mod report;
}
