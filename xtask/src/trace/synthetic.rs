//! A trace that was not recorded: as many slices as one wants, on eight lanes, tasks with waits in
//! them, the same each time.

use std::fmt::Write as _;

const LANES: usize = 8;

/// A trace with `slices` slices.
pub fn trace(slices: usize) -> String {
    let mut text = String::with_capacity(140 * slices);
    text.push_str("{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"synthetic\"}}");
    let (mut chance, mut at) = (1_u64, [10_u64; LANES]);
    for task in 1..=slices / 2 {
        // Lehmer's generator, as in any book.
        chance = chance * 48271 % 0x7fff_ffff;
        let lane = (0..LANES).min_by_key(|&lane| at[lane]).unwrap_or(0);
        let (length, name) = (200 + chance % 20_000, chance % 12);
        let begin = at[lane];
        at[lane] += length + chance % 97;
        let time = |nanos: u64| format!("{}.{:03}", nanos / 1000, nanos % 1000);
        let parent = if task > 8 { task / 8 } else { 0 };
        // Writing to a String does not fail.
        let _ = write!(
            text,
            ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{lane},\"name\":\"f{name}\",\"cat\":\"task\",\"ts\":{},\"dur\":{},\"args\":{{\"task\":{task},\"parent\":{parent},\"by\":0,\"created\":{},\"end\":1}}}}",
            time(begin),
            time(length),
            time(begin.saturating_sub(chance % 5000))
        );
        let wait = if chance.is_multiple_of(3) { "critical" } else { "taskwait" };
        let _ = write!(
            text,
            ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{lane},\"name\":\"{wait}\",\"cat\":\"wait\",\"ts\":{},\"dur\":{},\"args\":{{\"task\":{task},\"end\":1}}}}",
            time(begin + length / 4),
            time(length / 5)
        );
    }
    text + "\n],\"otherData\":{\"lost\":0}}\n"
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_are_as_many_slices_as_asked_for() {
        assert_eq!(super::trace(100).matches("\"ph\":\"X\"").count(), 100);
    }
}
