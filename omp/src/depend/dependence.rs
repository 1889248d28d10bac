//! One item of a `depend` clause.

/// Kind of a dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependenceKind {
    /// `in`
    In,
    /// `out` and `inout`
    Out,
    /// `mutexinoutset`
    MutexInOutSet,
    /// `inoutset`
    InOutSet,
}

/// One item of a `depend` clause.
#[derive(Clone, Copy, Debug)]
pub struct Dependence {
    /// The storage location; `None` for `omp_all_memory`.
    pub address: Option<usize>,
    /// The kind.
    pub kind: DependenceKind,
}
