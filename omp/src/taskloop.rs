//! How a `taskloop` is divided into tasks (OpenMP 5.2 §12.6): arithmetic only.

/// What the construct said about the size of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Nothing: the runtime chooses.
    Default,
    /// `grainsize(n)`: at least n and fewer than 2n iterations a task.
    Grainsize(u64),
    /// `grainsize(strict: n)`: exactly n iterations a task, the last one fewer.
    StrictGrainsize(u64),
    /// `num_tasks(n)`: as many tasks, or as iterations if there are fewer.
    NumTasks(u64),
}

/// Tasks per thread where nothing was said.
const TASKS_PER_THREAD: u64 = 10;

impl Division {
    /// From LLVM's arguments: `schedule` 1 grainsize, 2 num_tasks.
    pub fn from_abi(schedule: i32, value: u64, strict: bool) -> Self {
        match (schedule, strict) {
            (1, true) => Self::StrictGrainsize(value.max(1)),
            (1, false) => Self::Grainsize(value.max(1)),
            (2, _) => Self::NumTasks(value.max(1)),
            _ => Self::Default,
        }
    }
}

/// The parts of a loop of `trips` iterations as half-open ranges, in order; none for an empty loop.
/// `threads` is the size of the team.
pub fn parts(trips: u64, division: Division, threads: u32) -> impl Iterator<Item = (u64, u64)> {
    let (tasks, strict) = match division {
        Division::StrictGrainsize(n) => (trips.div_ceil(n), Some(n)),
        Division::Grainsize(n) => ((trips / n).max(1), None),
        Division::NumTasks(n) => (n.min(trips), None),
        Division::Default => ((u64::from(threads) * TASKS_PER_THREAD).min(trips), None),
    };
    let tasks = if trips == 0 { 0 } else { tasks };
    let trips = divided_trips(trips);
    let size = trips.checked_div(tasks).unwrap_or(0);
    let larger = trips.checked_rem(tasks).unwrap_or(0);
    (0..tasks).map(move |i| match strict {
        Some(n) => (i * n, (i + 1).saturating_mul(n).min(trips)),
        None => {
            let begin = i * size + i.min(larger);
            (begin, begin + size + u64::from(i < larger))
        }
    })
}

ult::seam! {
    /// Number of iterations that the parts of a loop of `trips` hold together.
    fn divided_trips(trips: u64) -> u64 {
        trips
    } or taskloop_skips_last {
        trips.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(trips: u64, division: Division) -> Vec<u64> {
        let parts: Vec<_> = parts(trips, division, 4).collect();
        let mut next = 0;
        for &(begin, end) in &parts {
            assert_eq!(begin, next);
            assert!(end > begin);
            next = end;
        }
        assert_eq!(next, trips);
        parts.iter().map(|(b, e)| e - b).collect()
    }

    #[test]
    fn every_iteration_belongs_to_one_part() {
        for trips in [0, 1, 2, 7, 100, 1001] {
            for n in [1, 2, 3, 10, 99, 5000] {
                assert!(
                    covers(trips, Division::Grainsize(n)).iter().all(|&s| s < 2 * n && (s >= n || trips < n))
                );
                let strict = covers(trips, Division::StrictGrainsize(n));
                assert!(strict.iter().rev().skip(1).all(|&s| s == n));
                assert_eq!(covers(trips, Division::NumTasks(n)).len() as u64, n.min(trips));
            }
            for n in [u64::MAX, 1 << 63, i64::MAX as u64] {
                covers(trips, Division::StrictGrainsize(n));
                covers(trips, Division::Grainsize(n));
                covers(trips, Division::NumTasks(n));
            }
            covers(trips, Division::Default);
        }
        for n in [3, u64::MAX - 1, u64::MAX] {
            covers(u64::MAX, Division::NumTasks(n.min(3)));
            covers(u64::MAX, Division::StrictGrainsize(n.max(u64::MAX / 3)));
            covers(u64::MAX, Division::Grainsize(n.max(u64::MAX / 3)));
        }
    }
}
