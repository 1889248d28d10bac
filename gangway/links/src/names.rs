//! Names of files.

/// The library as it is built.
pub const LIBRARY: &str = "libgangway.so";

/// The library in a directory of links. Programs that set numbers of threads from outside
/// (threadpoolctl, and through it joblib and scikit-learn) follow the links and know a runtime by
/// how that name begins.
pub const FILE: &str = "libomp-libgangway.so";

/// The names under which programs ask for their OpenMP runtime.
pub const RUNTIMES: [&str; 3] = ["libgomp.so.1", "libomp.so.5", "libiomp5.so"];

/// The names under which programs with images for devices ask for LLVM's offloading library, which
/// Gangway is, too.
pub const OFFLOAD: [&str; 5] = [
    "libomptarget.so.19.1",
    "libomptarget.so.20.1",
    "libomptarget.so.21.1",
    "libomptarget.so.22.1",
    "libomptarget.so.22",
];

/// The library that turns MPI ranks away before `main`.
pub const START: &str = "libgangway_start.so";

/// What belongs beside the library where MPI ranks are devices, or programs call MPI: `cargo xtask
/// bridge` builds them.
pub const BESIDE: [&str; 5] = [
    "libgangway_mpi_openmpi.so",
    "libgangway_mpi_mpich.so",
    "libgangway_aware_openmpi.so",
    "libgangway_aware_mpich.so",
    START,
];

/// What is preloaded by name where the directory of links is searched.
pub const PRELOADED: &str = RUNTIMES[1];
