//! How many teams and threads a kernel gets (OpenMP 5.2 §10.2, §10.1.1), from what its region says,
//! what its compiler found out, and what the device can.
//!
//! Numbers only. The rules follow LLVM's documentation of its own runtime (openmp.llvm.org, *Design
//! of the device plugins*), since clang's device code is made for them. There is one more warp for
//! the main thread of a region in generic mode. There are as many teams as a loop's iterations
//! fill.

/// How a kernel begins (`ExecMode` of its environment).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionMode {
    /// One thread of each team runs; the others wait in a loop for `parallel`.
    Generic,
    /// All threads of a team run from the beginning.
    Spmd,
    /// Written for the first, compiled to the second.
    GenericSpmd,
}

/// Bounds that the compiler knows; 0 where it knows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownBounds {
    /// The least number.
    pub least: u32,
    /// The largest number.
    pub most: u32,
}

impl KnownBounds {
    /// Nothing is known.
    pub const NONE: Self = Self { least: 0, most: 0 };
}

/// Memory for what the teams of a kernel reduce together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionSpace {
    /// Bytes of a place.
    pub bytes: u32,
    /// How many places.
    pub places: u32,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenGeometry {
    /// Teams.
    pub teams: u32,
    /// Threads of each.
    pub threads: u32,
}

/// What the compiler has left with a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// How it begins.
    pub mode: ExecutionMode,
    /// Least and most threads of a team, 0 where nothing is known.
    pub threads: KnownBounds,
    /// Least and most teams, 0 where nothing is known.
    pub teams: KnownBounds,
    /// What the teams' reduction needs.
    pub reduction: ReductionSpace,
}

impl Kernel {
    /// A kernel of which nothing is known, such as one that is not clang's.
    pub const UNKNOWN: Self = Self {
        mode: ExecutionMode::Spmd,
        threads: KnownBounds::NONE,
        teams: KnownBounds::NONE,
        reduction: ReductionSpace { bytes: 0, places: 0 },
    };
}

/// What a device can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Threads that go together.
    pub warp: u32,
    /// Threads of a team.
    pub threads: u32,
    /// Multiprocessors.
    pub processors: u32,
}

/// What the region asks for; 0 where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedGeometry {
    /// `num_teams`.
    pub teams: u32,
    /// `thread_limit`.
    pub threads: u32,
    /// Iterations of its loop.
    pub iterations: u64,
}

/// Threads of a team if the program asks for no number.
const USUAL_THREADS: u32 = 128;
/// Teams per multiprocessor if the program asks for no number and no loop says more.
const TEAMS_PER_PROCESSOR: u32 = 16;
/// The most blocks in a grid's first direction.
const MOST_TEAMS: u64 = (1 << 31) - 1;

/// Teams, and threads of each.
#[must_use]
pub fn choose(kernel: &Kernel, wish: RequestedGeometry, limits: &DeviceLimits) -> ChosenGeometry {
    // The main thread has a warp of its own, beside the threads that the region can have.
    let main = if kernel.mode == ExecutionMode::Generic { limits.warp } else { 0 };
    let known_most =
        if kernel.threads.most > 0 { kernel.threads.most.saturating_add(main) } else { limits.threads };
    let wanted = if wish.threads > 0 { wish.threads } else { USUAL_THREADS.max(kernel.threads.least) };
    let threads = wanted.saturating_add(main).min(known_most).min(limits.threads).max(1);
    let free = || {
        let usual = u64::from(limits.processors.max(1) * TEAMS_PER_PROCESSOR);
        let filled = match (kernel.mode, wish.iterations) {
            (_, 0) => usual,
            (ExecutionMode::Generic, iterations) => iterations,
            (_, iterations) => iterations.div_ceil(u64::from(threads)),
        };
        filled.min(usual).max(u64::from(kernel.teams.least))
    };
    let teams = if wish.teams > 0 { u64::from(wish.teams) } else { free() };
    let most = if kernel.teams.most > 0 { u64::from(kernel.teams.most) } else { MOST_TEAMS };
    ChosenGeometry { teams: teams.min(most).clamp(1, MOST_TEAMS) as u32, threads }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: DeviceLimits = DeviceLimits { warp: 32, threads: 1024, processors: 8 };
    const SPMD: Kernel = Kernel::UNKNOWN;
    const GENERIC: Kernel = Kernel { mode: ExecutionMode::Generic, ..SPMD };

    const fn bounds(least: u32, most: u32) -> KnownBounds {
        KnownBounds { least, most }
    }

    fn of(kernel: &Kernel, teams: u32, threads: u32, iterations: u64) -> (u32, u32) {
        let chosen = choose(kernel, RequestedGeometry { teams, threads, iterations }, &LIMITS);
        (chosen.teams, chosen.threads)
    }

    #[test]
    fn what_is_asked_for_is_given_as_far_as_the_device_can() {
        assert_eq!(of(&SPMD, 5, 64, 1 << 40), (5, 64));
        assert_eq!(of(&SPMD, u32::MAX, 4096, 0), (MOST_TEAMS as u32, 1024));
        assert_eq!(of(&GENERIC, 1, 64, 0), (1, 96), "a warp for the main thread");
        assert_eq!(of(&GENERIC, 1, 1024, 0), (1, 1024));
    }

    #[test]
    fn loops_fill_teams() {
        assert_eq!(of(&SPMD, 0, 0, 1), (1, 128));
        assert_eq!(of(&SPMD, 0, 0, 129), (2, 128));
        assert_eq!(of(&SPMD, 0, 0, 1 << 40), (128, 128), "16 for each of 8");
        assert_eq!(of(&GENERIC, 0, 0, 7), (7, 160));
        assert_eq!(of(&SPMD, 0, 0, 0), (128, 128));
    }

    #[test]
    fn the_compiler_s_bounds_hold() {
        let bounded = Kernel { threads: bounds(256, 512), teams: bounds(1, 1), ..SPMD };
        assert_eq!(of(&bounded, 0, 0, 1 << 20), (1, 256));
        assert_eq!(of(&bounded, 9, 1024, 0), (1, 512));
        let generic = Kernel { threads: bounds(0, 64), ..GENERIC };
        assert_eq!(of(&generic, 1, 0, 0), (1, 96));
    }
}
