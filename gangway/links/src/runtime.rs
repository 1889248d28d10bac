//! Which OpenMP runtimes there are, and how their files are called, also in Python's wheels, where
//! names carry a piece of a hash (`libgomp-e985bcbb.so.1.0.0`).

use std::path::Path;

use crate::names;

/// An OpenMP runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkedRuntime {
    /// This one.
    Gangway,
    /// GCC's.
    Libgomp,
    /// LLVM's.
    Libomp,
    /// Intel's.
    Libiomp,
}

impl LinkedRuntime {
    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            LinkedRuntime::Gangway => "Gangway",
            LinkedRuntime::Libgomp => "libgomp",
            LinkedRuntime::Libomp => "libomp",
            LinkedRuntime::Libiomp => "libiomp5",
        }
    }

    /// The runtime whose file that is: by the file that links lead to, then by the name as it is.
    #[must_use]
    pub fn of(file: &Path) -> Option<LinkedRuntime> {
        let name = |path: &Path| path.file_name().and_then(|n| n.to_str()).and_then(named);
        file.canonicalize().ok().and_then(|real| name(&real)).or_else(|| name(file))
    }
}

fn named(name: &str) -> Option<LinkedRuntime> {
    let begins = |stem: &str| {
        name.strip_prefix(stem)
            .is_some_and(|rest| rest.starts_with(".so") || rest.starts_with('-') && rest.contains(".so"))
    };
    if name == names::LIBRARY || name == names::FILE {
        return Some(LinkedRuntime::Gangway);
    }
    // GCC's libraries for devices, which its runtime loads.
    if name.starts_with("libgomp-plugin") {
        return None;
    }
    let known = [
        ("libgomp", LinkedRuntime::Libgomp),
        ("libomp", LinkedRuntime::Libomp),
        ("libomp5", LinkedRuntime::Libomp),
        ("libiomp5", LinkedRuntime::Libiomp),
    ];
    known.into_iter().find(|(stem, _)| begins(stem)).map(|(_, runtime)| runtime)
}

/// Is that a function by which compiled code or a program calls an OpenMP runtime?
#[must_use]
pub fn is_entry(symbol: &str) -> bool {
    ["GOMP_", "__kmpc_", "omp_", "kmp_"].iter().any(|prefix| symbol.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        for (name, whose) in [
            ("libgomp.so.1", Some(LinkedRuntime::Libgomp)),
            ("libgomp-e985bcbb.so.1.0.0", Some(LinkedRuntime::Libgomp)),
            ("libomp.so.5", Some(LinkedRuntime::Libomp)),
            ("libomp-5f0d2a1b.so", Some(LinkedRuntime::Libomp)),
            ("libiomp5.so", Some(LinkedRuntime::Libiomp)),
            ("libomp-libgangway.so", Some(LinkedRuntime::Gangway)),
            ("libgangway.so", Some(LinkedRuntime::Gangway)),
            ("libomptarget.so.19.1", None),
            ("libgomp-plugin-nvptx.so.1", None),
            ("libopenblas.so.0", None),
            ("libomp-notes.txt", None),
        ] {
            assert_eq!(named(name), whose, "{name}");
        }
    }

    #[test]
    fn entries_are_those_of_compilers_and_of_the_standard() {
        assert!(["GOMP_parallel", "__kmpc_fork_call", "omp_get_num_threads"].into_iter().all(is_entry));
        assert!(!["ompi_mpi_init", "ompx_invoke", "malloc"].into_iter().any(is_entry));
    }
}
