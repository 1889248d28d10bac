//! Damaged traces by chance: no panic, no number that is none, and no input that takes long or much
//! memory. The judge of the search in `fuzz/`, too.

use crate::{Computed, Trace, compute};

/// Reads the text as a trace and makes its page. A short trace is also reported as the traces of
/// two ranks. Returns whether the text is a trace.
///
/// # Panics
/// Where something is wrong; that is the search's find.
pub fn judge(text: &str) -> bool {
    let Ok(trace) = crate::read(text) else { return false };
    check(vec![(String::new(), trace)], text);
    if text.len() < TWO_RANKS_LIMIT {
        let two = [(); 2].map(|()| crate::read(text).expect("it was a trace just now"));
        check(two.into_iter().map(|trace| ("rank".into(), trace)).collect(), text);
    }
    true
}

/// Traces that are tried as those of two ranks, too, in bytes.
const TWO_RANKS_LIMIT: usize = 1 << 16;

fn check(traces: Vec<(String, Trace)>, text: &str) {
    let Computed { summary, report } = compute(traces);
    assert!(summary.is_finite(), "numbers that are none: {summary:?}");
    assert!(
        report.page.ends_with("</html>\n") && report.page.len() <= 64 * text.len() + (4 << 20),
        "a page of {} bytes for a trace of {}",
        report.page.len(),
        text.len()
    );
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::judge;

    /// Longest that a report of 1 MiB may take in a build without optimisation on a busy machine;
    /// the command has ten seconds.
    const LIMIT: Duration = Duration::from_secs(60);

    /// Lehmer's generator.
    struct TraceChance(u64);

    impl TraceChance {
        fn below(&mut self, count: usize) -> usize {
            self.0 = self.0.wrapping_mul(0xda94_2042_e4dd_58b5) | 1;
            (self.0 >> 33) as usize % count.max(1)
        }

        fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
            list[self.below(list.len())]
        }
    }

    const NUMBERS: [&str; 16] = [
        "0",
        "-0.0",
        "1",
        "2",
        "3",
        "0.0004",
        "-1",
        "1e300",
        "-1e300",
        "1e308",
        "9007199254740993",
        "18446744073709551616",
        "1e-300",
        "10001",
        "4294967295.5",
        "7",
    ];
    const NAMES: [&str; 9] = [
        "barrier",
        "taskwait",
        "taskgroup",
        "dependence",
        "lock",
        "running workers",
        "f",
        "\\u001b[2J",
        "</script>",
    ];
    const CATEGORIES: [&str; 13] = [
        "task",
        "implicit",
        "region",
        "wait",
        "sleep",
        "device",
        "short",
        "many",
        "stall",
        "steal",
        "gang",
        "move",
        "dependence",
    ];
    const ARGUMENTS: [&str; 18] = [
        "task",
        "parent",
        "created",
        "victim",
        "stands",
        "end",
        "region",
        "gang",
        "level",
        "size",
        "unmeasured",
        "lane",
        "tasks",
        "from",
        "to",
        "running",
        "withdrawn",
        "name",
    ];

    fn event(chance: &mut TraceChance) -> String {
        // Mostly small numbers, or next to nothing nests.
        let number = |chance: &mut TraceChance| {
            if chance.below(6) == 0 { chance.of(&NUMBERS).to_owned() } else { chance.below(9).to_string() }
        };
        let phase = ["X", "X", "X", "X", "i", "s", "f", "C", "M"][chance.below(9)];
        let mut text = format!(
            "{{\"ph\":\"{phase}\",\"pid\":1,\"tid\":{},\"name\":\"{}\",\"cat\":\"{}\",\"ts\":{}",
            number(chance),
            chance.of(&NAMES),
            chance.of(&CATEGORIES),
            number(chance)
        );
        text += &format!(",\"dur\":{},\"id\":{},\"args\":{{", number(chance), number(chance));
        let arguments: Vec<String> = (0..chance.below(7))
            .map(|_| format!("\"{}\":{}", chance.of(&ARGUMENTS), number(chance)))
            .collect();
        text + &arguments.join(",") + "}}"
    }

    /// A trace of so many events; of some a byte is another one.
    fn trace(chance: &mut TraceChance, events: usize) -> String {
        let list: Vec<String> = (0..events).map(|_| event(chance)).collect();
        let facts = format!(
            "\"lost\":{},\"tasks\":{},\"tasks_left_out\":{},\"start\":{}",
            chance.of(&NUMBERS),
            chance.of(&NUMBERS),
            chance.below(2),
            chance.of(&NUMBERS)
        );
        let text = format!("{{\"traceEvents\":[{}],\"otherData\":{{{facts}}}}}", list.join(","));
        if chance.below(4) != 0 {
            return text;
        }
        let mut bytes = text.into_bytes();
        let at = chance.below(bytes.len());
        bytes[at] = b"{}[],:\"-0e.\\ax"[chance.below(14)];
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn traces_by_chance_are_reported_or_refused() {
        let seed = std::env::var("GANGWAY_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(32);
        let seconds =
            std::env::var("GANGWAY_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(2);
        let (mut chance, until) = (TraceChance(seed | 1), Instant::now() + Duration::from_secs(seconds));
        let (mut reported, mut tried) = (0, 0);
        while Instant::now() < until {
            let events = 1 + chance.below(12);
            let text = trace(&mut chance, events);
            let is_trace = std::panic::catch_unwind(|| judge(&text))
                .unwrap_or_else(|_| panic!("seed {seed}, input {tried}: {text}"));
            (reported, tried) = (reported + u32::from(is_trace), tried + 1);
        }
        assert!(tried > 100 && 20 * reported > tried, "{reported} of {tried} are traces");
        println!("{reported} of {tried} inputs by chance are traces");
    }

    /// Inputs of a mebibyte in which one thing is there as often as it can be.
    #[test]
    fn a_mebibyte_of_anything_is_reported_soon() {
        let slice = |more: &str| format!("{{\"ph\":\"X\",\"pid\":1,{more}}}");
        type Event<'a> = &'a dyn Fn(usize) -> String;
        let kinds: [(&str, Event<'_>); 9] = [
            ("lanes", &|i| {
                slice(&format!(
                    "\"tid\":{i},\"name\":\"f\",\"cat\":\"task\",\"ts\":{i},\"dur\":1,\"args\":{{\"task\":{i},\"parent\":1,\"victim\":{}}}",
                    i / 2
                ))
            }),
            ("nested sleeps", &|i| {
                slice(&format!(
                    "\"tid\":0,\"name\":\"s\",\"cat\":\"sleep\",\"ts\":{i},\"dur\":{}",
                    100_000 - 2 * i
                ))
            }),
            ("names", &|i| slice(&format!("\"tid\":0,\"name\":\"{i}\",\"cat\":\"x\",\"ts\":{i},\"dur\":1"))),
            ("barriers", &|i| {
                slice(&format!(
                    "\"tid\":0,\"name\":\"barrier\",\"cat\":\"wait\",\"ts\":{i},\"dur\":1,\"args\":{{\"task\":{},\"end\":1}}",
                    i % 3
                ))
            }),
            ("regions", &|i| {
                slice(&format!(
                    "\"tid\":0,\"name\":\"r\",\"cat\":\"region\",\"ts\":{i},\"dur\":1,\"args\":{{\"task\":1,\"region\":{i}}}"
                ))
            }),
            ("children of children", &|i| {
                slice(&format!(
                    "\"tid\":0,\"name\":\"f\",\"cat\":\"task\",\"ts\":{i},\"dur\":1,\"args\":{{\"task\":{},\"parent\":{i}}}",
                    i + 1
                ))
            }),
            ("stalls", &|i| {
                format!(
                    "{{\"ph\":\"i\",\"pid\":1,\"tid\":0,\"name\":\"s\",\"cat\":\"stall\",\"ts\":{i}}},{}",
                    slice(&format!(
                        "\"tid\":0,\"name\":\"f\",\"cat\":\"task\",\"ts\":{i},\"dur\":1,\"args\":{{\"task\":1}}"
                    ))
                )
            }),
            ("dependences", &|i| {
                format!(
                    "{{\"ph\":\"s\",\"pid\":1,\"tid\":0,\"name\":\"d\",\"cat\":\"dependence\",\"ts\":1,\"id\":{i}}},{{\"ph\":\"f\",\"pid\":1,\"tid\":0,\"name\":\"d\",\"cat\":\"dependence\",\"ts\":1,\"id\":{i},\"args\":{{\"from\":1,\"to\":2}}}}"
                )
            }),
            ("counters", &|i| {
                format!("{{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"name\":\"{i}\",\"ts\":1,\"args\":{{\"x\":1}}}}")
            }),
        ];
        for (what, event) in kinds {
            let mut text = String::from("[");
            let mut number = 1;
            while text.len() < 1 << 20 {
                text += if number > 1 { "," } else { "" };
                text += &event(number);
                number += 1;
            }
            let begun = Instant::now();
            assert!(judge(&(text + "]")), "{what}: {number} events");
            assert!(begun.elapsed() < LIMIT, "{what}: {:?}", begun.elapsed());
            println!("{what}: {number} events, {:?}", begun.elapsed());
        }
    }
}
