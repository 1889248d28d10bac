//! What follows from the waits of all ranks: who will never go on.
//!
//! Pure: samples in, lines out.

use std::collections::{HashMap, HashSet};

use crate::omp::remote::Handle;

/// A wait, as the other ranks hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Never used again on its rank.
    pub number: u64,
    /// The value that the one who waits would set by its end; only where it is an invoked function itself that waits.
    pub sets: Option<Handle>,
    /// The value that is waited for.
    pub value: Option<Handle>,
    /// Who waits, in words.
    pub who: String,
    /// For what, in words.
    pub what: String,
}

/// A rank, at one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Code of the program runs there.
    pub runs: bool,
    /// Messages that the rank has sent.
    pub sent: u64,
    /// Messages that it has handled.
    pub handled: u64,
    /// Copies that are under way.
    pub transfers: u64,
    /// Work that has come to it so far.
    pub taken: u64,
    /// Who waits.
    pub waits: Vec<Wait>,
    /// How many more do.
    pub more: u64,
}

/// So many looks must say the same of all.
const LOOKS: u32 = 3;
/// Waits that a line names.
const NAMED: usize = 8;

/// What the looks until now have shown.
#[derive(Default)]
pub struct Verdict {
    last: Vec<Sample>,
    same: u32,
    /// What has been said of nobody who goes on, so that it is said once.
    said: bool,
    /// Cycles that have been told: the rank and number of one wait of each.
    told: HashSet<(usize, u64)>,
}

impl Verdict {
    /// One more look at all ranks: what there is to say, a line each.
    pub fn look(&mut self, ranks: Vec<Sample>) -> Vec<String> {
        let mut lines = self.cycles(&ranks);
        self.same = match (nobody_goes_on(&ranks), stays(&self.last, &ranks)) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => self.same + 1,
        };
        self.said &= self.same != 0;
        if self.same >= LOOKS && !self.said && lines.is_empty() && self.told.is_empty() {
            self.said = true;
            lines.push(line_of_nobody(&ranks));
        }
        self.last = ranks;
        lines
    }

    /// Cycles that were there at the last look, too.
    fn cycles(&mut self, ranks: &[Sample]) -> Vec<String> {
        let by_value = setters(ranks);
        let mut lines = Vec::new();
        for (rank, sample) in ranks.iter().enumerate() {
            for wait in &sample.waits {
                let Some(cycle) = cycle_of((rank, wait), &by_value) else { continue };
                let first = cycle.iter().map(|(rank, wait)| (*rank, wait.number)).min();
                if cycle.iter().all(|&(rank, wait)| self.was_there(rank, wait)) && first.is_some_and(|first| self.told.insert(first)) {
                    lines.push(line_of_cycle(&cycle));
                }
            }
        }
        lines
    }

    fn was_there(&self, rank: usize, wait: &Wait) -> bool {
        self.last.get(rank).is_some_and(|sample| sample.waits.contains(wait))
    }
}

type Edge<'a> = (usize, &'a Wait);

/// Who waits although others wait for the value it sets.
fn setters(ranks: &[Sample]) -> HashMap<(i32, u32, u64), Edge<'_>> {
    let all = ranks.iter().enumerate().flat_map(|(rank, sample)| sample.waits.iter().map(move |wait| (rank, wait)));
    all.filter_map(|edge| edge.1.sets.map(|value| (key(value), edge))).collect()
}

fn key(value: Handle) -> (i32, u32, u64) {
    (value.rank, value.id, value.generation)
}

/// The cycle that a wait is a part of.
fn cycle_of<'a>(from: Edge<'a>, setters: &HashMap<(i32, u32, u64), Edge<'a>>) -> Option<Vec<Edge<'a>>> {
    let mut path = vec![from];
    loop {
        let (_, last) = path.last()?;
        let next = *setters.get(&key(last.value?))?;
        if next.0 == from.0 && next.1.number == from.1.number {
            return Some(path);
        }
        // A circle further on, which `from` only leads to.
        if path.len() > setters.len() {
            return None;
        }
        path.push(next);
    }
}

fn line_of_cycle(cycle: &[Edge<'_>]) -> String {
    let parts: Vec<String> = cycle.iter().map(|(rank, wait)| told(*rank, wait)).collect();
    format!("GANGWAY_CHECK: a cycle, none of these can go on: {}", parts.join("; "))
}

fn told(rank: usize, wait: &Wait) -> String {
    format!("rank {rank}: {} waits for {}", wait.who, wait.what)
}

/// No rank runs anything, nothing is under way, and somebody waits.
fn nobody_goes_on(ranks: &[Sample]) -> bool {
    let sum = |what: fn(&Sample) -> u64| ranks.iter().map(what).fold(0_u64, u64::wrapping_add);
    let nothing_comes = sum(|s| s.sent) == sum(|s| s.handled) && sum(|s| s.transfers) == 0;
    nothing_comes && !ranks.iter().any(|s| s.runs) && ranks.iter().any(|s| !s.waits.is_empty())
}

/// Has nothing happened from one look to the next?
fn stays(before: &[Sample], now: &[Sample]) -> bool {
    let same = |(a, b): (&Sample, &Sample)| a.taken == b.taken && a.waits == b.waits && a.more == b.more;
    before.len() == now.len() && before.iter().zip(now).all(same)
}

fn line_of_nobody(ranks: &[Sample]) -> String {
    let all = || ranks.iter().enumerate().flat_map(|(rank, sample)| sample.waits.iter().map(move |wait| (rank, wait)));
    let parts: Vec<String> = all().take(NAMED).map(|(rank, wait)| told(rank, wait)).collect();
    let left = all().count().saturating_sub(NAMED) as u64 + ranks.iter().map(|s| s.more).sum::<u64>();
    let rest = if left == 0 { String::new() } else { format!("; {left} more") };
    format!("GANGWAY_CHECK: as far as the runtime sees nobody can go on: {}{rest}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(rank: i32, id: u32) -> Handle {
        Handle { rank, id, generation: 1 }
    }

    fn wait(number: u64, sets: Option<Handle>, value: Option<Handle>) -> Wait {
        Wait { number, sets, value, who: format!("f{number}"), what: "it".into() }
    }

    fn rank(waits: Vec<Wait>) -> Sample {
        Sample { waits, ..Sample::default() }
    }

    #[test]
    fn a_cycle_is_told_once_and_by_its_second_look_though_others_run() {
        let (a, b) = (value(0, 1), value(1, 7));
        let busy = Sample { runs: true, ..Sample::default() };
        let ranks = || vec![rank(vec![wait(1, Some(a), Some(b)), wait(2, None, Some(a))]), rank(vec![wait(1, Some(b), Some(a))]), busy.clone()];
        let mut verdict = Verdict::default();
        assert!(verdict.look(ranks()).is_empty());
        let lines = verdict.look(ranks());
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("rank 0: f1 waits for it; rank 1: f1 waits for it") && !lines[0].contains("f2"), "{lines:?}");
        for _ in 0..5 {
            assert!(verdict.look(ranks()).is_empty());
        }
    }

    #[test]
    fn a_chain_is_no_cycle_and_a_new_wait_starts_anew() {
        let (a, b) = (value(0, 1), value(1, 7));
        let running = |waits| Sample { runs: true, ..rank(waits) };
        let mut verdict = Verdict::default();
        for number in 0..4 {
            assert!(verdict.look(vec![running(vec![wait(1, Some(a), Some(b))]), rank(vec![wait(1, Some(b), Some(value(0, 2)))])]).is_empty());
            assert!(verdict.look(vec![running(vec![wait(number, Some(a), Some(b))]), rank(vec![wait(number, Some(b), Some(a))])]).is_empty());
        }
    }

    #[test]
    fn nobody_is_told_after_some_looks_that_say_the_same() {
        let stuck = || vec![rank(vec![wait(1, None, Some(value(0, 1)))]), Sample::default()];
        let mut verdict = Verdict::default();
        assert!(verdict.look(stuck()).is_empty() && verdict.look(stuck()).is_empty());
        let lines = verdict.look(stuck());
        assert!(lines.len() == 1 && lines[0].contains("rank 0: f1 waits for it"), "{lines:?}");
        assert!(verdict.look(stuck()).is_empty(), "once");
        let moving: [fn(&mut Sample); 4] = [|s| s.runs = true, |s| s.sent = 1, |s| s.transfers = 1, |s| s.waits.clear()];
        for change in moving {
            let mut ranks = stuck();
            change(&mut ranks[0]);
            let mut verdict = Verdict::default();
            for _ in 0..5 {
                assert!(verdict.look(ranks.clone()).is_empty());
            }
        }
    }

    #[test]
    fn work_that_comes_between_two_looks_is_seen() {
        let mut verdict = Verdict::default();
        for taken in 0..9 {
            let ranks = vec![Sample { taken, ..rank(vec![wait(1, None, None)]) }];
            assert!(verdict.look(ranks).is_empty());
        }
    }

    #[test]
    fn many_waits_make_one_line() {
        let waits: Vec<Wait> = (1..=20).map(|number| wait(number, None, None)).collect();
        let mut verdict = Verdict::default();
        let look = |verdict: &mut Verdict| verdict.look(vec![Sample { more: 5, ..rank(waits.clone()) }]);
        let lines: Vec<String> = (0..3).flat_map(|_| look(&mut verdict)).collect();
        assert!(lines.len() == 1 && lines[0].ends_with("; 17 more"), "{lines:?}");
    }
}
