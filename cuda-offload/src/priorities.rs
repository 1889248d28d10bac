//! Priorities of streams: OpenMP's on the driver's range.
//!
//! A task's priority (OpenMP 5.2 §12.4) is 0 or more, 0 without the clause, and there is no
//! greatest one as a rule. The driver has a few, of which the greatest is the least number (0 to
//! -5, say). So each step of a program's takes one of the driver's, up to the greatest; what is
//! above that has the greatest. An old driver, and a device that knows none, has one level for all.
//!
//! Rejected: stretching 0 to `OMP_MAX_TASK_PRIORITY` over the driver's range. Users do not set this
//! variable, and without it all priorities that programs use would be one level.

use core::ffi::c_int;

use crate::driver::{Driver, DriverError, Stream, code};

/// `CU_STREAM_NON_BLOCKING`: nothing waits for the program's own default stream.
const NON_BLOCKING: u32 = 1;

/// Levels above the usual one that are made use of, whatever a driver says that it has: each has
/// streams of its own.
const MOST: u32 = 15;

/// The priorities of one device, by levels: 0 is the usual and least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// The driver's number for level 0.
    least: c_int,
    /// The greatest level.
    most: u32,
}

impl Priorities {
    const NONE: Self = Self { least: 0, most: 0 };

    /// Those of the current context.
    pub fn of(driver: &Driver) -> Self {
        let (Some(range), Some(_)) = (driver.priority_range, driver.stream_create_with_priority) else {
            return Self::NONE;
        };
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: valid out pointers.
        let found = unsafe { range(&raw mut least, &raw mut greatest) };
        if found == code::SUCCESS { Self::between(least, greatest) } else { Self::NONE }
    }

    fn between(least: c_int, greatest: c_int) -> Self {
        let levels = i64::from(least) - i64::from(greatest);
        Self { least, most: levels.clamp(0, MOST.into()) as u32 }
    }

    /// How many levels there are.
    pub fn levels(self) -> usize {
        self.most as usize + 1
    }

    /// The level for a task's priority.
    pub fn level(self, priority: u32) -> u32 {
        priority.min(self.most)
    }

    /// A stream of this level, in the current context.
    ///
    /// # Errors
    /// The driver's.
    pub fn create(self, driver: &Driver, level: u32) -> Result<Stream, DriverError> {
        let mut stream = Stream::NULL;
        let at = self.least - self.level(level) as c_int;
        let made = match driver.stream_create_with_priority.filter(|_| self.most > 0) {
            // SAFETY: a valid out pointer, a priority of the range.
            Some(create) => unsafe { create(&raw mut stream, NON_BLOCKING, at) },
            // SAFETY: a valid out pointer.
            None => unsafe { (driver.stream_create)(&raw mut stream, NON_BLOCKING) },
        };
        driver.check(made).map(|()| stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_one_of_the_drivers_up_to_the_greatest() {
        let five = Priorities::between(0, -5);
        assert_eq!([0, 1, 4, 5, 6, u32::MAX].map(|priority| five.level(priority)), [0, 1, 4, 5, 5, 5]);
        assert_eq!(five.levels(), 6);
    }

    #[test]
    fn ranges_that_make_no_sense_are_one_level_or_a_few() {
        for (least, greatest) in [(0, 0), (-1, 0), (c_int::MIN, c_int::MAX)] {
            assert_eq!(Priorities::between(least, greatest).levels(), 1, "{least} to {greatest}");
        }
        assert_eq!(Priorities::between(c_int::MAX, c_int::MIN).levels(), MOST as usize + 1);
    }
}
