//! What follows from the waits of all ranks: which of them never end.
//!
//! Pure: samples in, lines out.

use std::collections::HashSet;

use super::stuck::{Cycle, WaitGraph, awaits_message, messages_meet};
use super::thing::{RankNeed, RankSample, RankWait};

/// So many looks must say the same of all.
const LOOKS: u32 = 3;
/// Waits that a line names.
const NAMED: usize = 8;

/// What the looks until now have shown.
#[derive(Default)]
pub struct CheckVerdict {
    last: Vec<RankSample>,
    same: u32,
    /// By rank: looks in a row at which it ran nothing, and all was as at the one before.
    still: Vec<u32>,
    /// The line that nothing can go on has been written, so that it is written once.
    said: bool,
    /// Cycles that have been reported: the rank and number of one wait of each.
    reports: HashSet<(usize, u64)>,
}

impl CheckVerdict {
    /// One more look at all ranks: what there is to say, a line each.
    pub fn look(&mut self, ranks: Vec<RankSample>) -> Vec<String> {
        self.still = ranks.iter().enumerate().map(|(rank, now)| self.looks_still(rank, now)).collect();
        let mut lines = self.cycles(&ranks);
        let stays = self.last.len() == ranks.len()
            && self.last.iter().zip(&ranks).all(|(before, now)| stays(before, now));
        self.same = match (nobody_goes_on(&ranks), stays) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => self.same + 1,
        };
        self.said &= self.same != 0;
        if self.same >= LOOKS && !self.said && lines.is_empty() && self.reports.is_empty() {
            self.said = true;
            lines.push(line_of_nobody(&ranks));
        }
        self.last = ranks;
        lines
    }

    fn looks_still(&self, rank: usize, now: &RankSample) -> u32 {
        match self.last.get(rank) {
            _ if now.runs => 0,
            Some(before) if stays(before, now) => {
                self.still.get(rank).map_or(1, |looks| looks.saturating_add(1))
            }
            _ => 1,
        }
    }

    /// Cycles that were there at the last look, too.
    fn cycles(&mut self, ranks: &[RankSample]) -> Vec<String> {
        let graph = WaitGraph::new(ranks, |rank| self.still[rank] >= LOOKS);
        let mut lines = Vec::new();
        for cycle in graph.cycles() {
            let first = cycle.waits.iter().map(|at| (at.rank, at.wait.number)).min();
            if cycle.waits.iter().all(|at| self.was_there(at.rank, at.wait))
                && first.is_some_and(|first| self.reports.insert(first))
            {
                lines.push(line_of_cycle(&cycle));
            }
        }
        lines
    }

    fn was_there(&self, rank: usize, wait: &RankWait) -> bool {
        self.last.get(rank).is_some_and(|sample| sample.waits.contains(wait))
    }
}

fn line_of_cycle(cycle: &Cycle<'_>) -> String {
    let parts: Vec<String> = cycle.waits.iter().map(|at| describe(at.rank, at.wait, Some(at.need))).collect();
    let seen = if cycle.is_certain { "" } else { "as far as the runtime sees " };
    format!("GANGWAY_CHECK: a cycle, {seen}none of these can go on: {}", parts.join("; "))
}

fn describe(rank: usize, wait: &RankWait, need: Option<&RankNeed>) -> String {
    let need = need.or_else(|| wait.needs.first()).map_or("something", |need| &need.what);
    format!("rank {rank}: {} waits for {need}", wait.who)
}

/// No rank runs anything, nothing is under way, and code waits. Where there is one rank only, a
/// message comes from processes that are not asked.
fn nobody_goes_on(ranks: &[RankSample]) -> bool {
    let sum = |what: fn(&RankSample) -> u64| ranks.iter().map(what).fold(0_u64, u64::wrapping_add);
    let comes_from_outside = matches!(ranks, [alone] if awaits_message(alone));
    let nothing_comes = sum(|s| s.sent) == sum(|s| s.handled)
        && sum(|s| s.transfers) == 0
        && !comes_from_outside
        && !messages_meet(ranks);
    nothing_comes && !ranks.iter().any(|s| s.runs) && ranks.iter().any(|s| s.code().next().is_some())
}

/// Has nothing happened on a rank from one look to the next?
fn stays(before: &RankSample, now: &RankSample) -> bool {
    before.taken == now.taken && before.waits == now.waits && before.more == now.more
}

/// Code that waits first, then what was asked for.
fn line_of_nobody(ranks: &[RankSample]) -> String {
    let all = |is_code: bool| {
        let of = move |(rank, sample): (usize, &'_ RankSample)| -> Vec<String> {
            sample
                .waits
                .iter()
                .filter(|wait| wait.is_code == is_code)
                .map(|wait| describe(rank, wait, None))
                .collect()
        };
        ranks.iter().enumerate().flat_map(of)
    };
    let mut parts: Vec<String> = all(true).chain(all(false)).collect();
    let left = parts.len().saturating_sub(NAMED) as u64 + ranks.iter().map(|s| s.more).sum::<u64>();
    parts.truncate(NAMED);
    let rest = if left == 0 { String::new() } else { format!("; {left} more") };
    format!("GANGWAY_CHECK: as far as the runtime sees nobody can go on: {}{rest}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::thing::Occurrence;
    use super::*;
    use omp::extension::check::{AwaitedMessage, MessageEnd};

    fn value(rank: u64, id: u64) -> Occurrence {
        Occurrence::OfRanks { kind: 1, name: [rank, id] }
    }

    fn wait(number: u64, gives: Option<Occurrence>, thing: Option<Occurrence>) -> RankWait {
        let needs = vec![RankNeed { thing, what: "it".into() }];
        RankWait {
            number,
            is_code: true,
            gives: gives.into_iter().collect(),
            needs,
            who: format!("f{number}"),
        }
    }

    fn rank(waits: Vec<RankWait>) -> RankSample {
        RankSample { waits, ..RankSample::default() }
    }

    #[test]
    fn a_cycle_is_reported_once_and_by_its_second_look_though_others_run() {
        let (a, b) = (value(0, 1), value(1, 7));
        let busy = RankSample { runs: true, ..RankSample::default() };
        let ranks = || {
            vec![
                rank(vec![wait(1, Some(a), Some(b)), wait(2, None, Some(a))]),
                rank(vec![wait(1, Some(b), Some(a))]),
                busy.clone(),
            ]
        };
        let mut verdict = CheckVerdict::default();
        assert!(verdict.look(ranks()).is_empty());
        let lines = verdict.look(ranks());
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].contains("rank 0: f1 waits for it; rank 1: f1 waits for it") && !lines[0].contains("f2"),
            "{lines:?}"
        );
        for _ in 0..5 {
            assert!(verdict.look(ranks()).is_empty());
        }
    }

    #[test]
    fn a_chain_is_no_cycle_and_a_new_wait_starts_anew() {
        let (a, b) = (value(0, 1), value(1, 7));
        let running = |waits| RankSample { runs: true, ..rank(waits) };
        let mut verdict = CheckVerdict::default();
        for number in 0..4 {
            assert!(
                verdict
                    .look(vec![
                        running(vec![wait(1, Some(a), Some(b))]),
                        rank(vec![wait(1, Some(b), Some(value(0, 2)))])
                    ])
                    .is_empty()
            );
            assert!(
                verdict
                    .look(vec![
                        running(vec![wait(number, Some(a), Some(b))]),
                        rank(vec![wait(number, Some(b), Some(a))])
                    ])
                    .is_empty()
            );
        }
    }

    #[test]
    fn a_stop_of_all_ranks_is_reported_after_some_looks_that_say_the_same() {
        let stuck = || vec![rank(vec![wait(1, None, Some(value(0, 1)))]), RankSample::default()];
        let mut verdict = CheckVerdict::default();
        assert!(verdict.look(stuck()).is_empty() && verdict.look(stuck()).is_empty());
        let lines = verdict.look(stuck());
        assert!(lines.len() == 1 && lines[0].contains("rank 0: f1 waits for it"), "{lines:?}");
        assert!(verdict.look(stuck()).is_empty(), "once");
        let moving: [fn(&mut RankSample); 4] =
            [|s| s.runs = true, |s| s.sent = 1, |s| s.transfers = 1, |s| s.waits.clear()];
        for change in moving {
            let mut ranks = stuck();
            change(&mut ranks[0]);
            let mut verdict = CheckVerdict::default();
            for _ in 0..5 {
                assert!(verdict.look(ranks.clone()).is_empty());
            }
        }
    }

    #[test]
    fn work_that_comes_between_two_looks_is_seen() {
        let mut verdict = CheckVerdict::default();
        for taken in 0..9 {
            let ranks = vec![RankSample { taken, ..rank(vec![wait(1, None, None)]) }];
            assert!(verdict.look(ranks).is_empty());
        }
    }

    #[test]
    fn many_waits_make_one_line() {
        let waits: Vec<RankWait> = (1..=20).map(|number| wait(number, None, None)).collect();
        let mut verdict = CheckVerdict::default();
        let look =
            |verdict: &mut CheckVerdict| verdict.look(vec![RankSample { more: 5, ..rank(waits.clone()) }]);
        let lines: Vec<String> = (0..3).flat_map(|_| look(&mut verdict)).collect();
        assert!(lines.len() == 1 && lines[0].ends_with("; 17 more"), "{lines:?}");
    }

    #[test]
    fn what_was_asked_for_is_reported_after_those_who_wait_and_keeps_nobody() {
        let asked = RankWait { is_code: false, ..wait(7, None, None) };
        let looks = |waits: Vec<RankWait>| {
            let mut verdict = CheckVerdict::default();
            (0..LOOKS).flat_map(|_| verdict.look(vec![rank(waits.clone())])).collect::<Vec<_>>()
        };
        let lines = looks(vec![asked.clone(), wait(1, None, None)]);
        assert!(
            lines.len() == 1 && lines[0].ends_with("rank 0: f1 waits for it; rank 0: f7 waits for it"),
            "{lines:?}"
        );
        assert!(looks(vec![asked]).is_empty());
    }

    #[test]
    fn a_circle_over_messages_is_reported_when_both_ranks_have_been_still() {
        let receive =
            |rank| Some(Occurrence::Message(AwaitedMessage { rank, tag: 3, end: MessageEnd::Receives }));
        let look = |verdict: &mut CheckVerdict, runs| {
            let busy = RankSample { runs: true, ..RankSample::default() };
            verdict.look(vec![
                rank(vec![wait(1, None, receive(1))]),
                RankSample { runs, ..rank(vec![wait(1, None, receive(0))]) },
                busy,
            ])
        };
        let mut verdict = CheckVerdict::default();
        let runs = [false, true, false, false, false, false];
        let lines: Vec<usize> = runs.map(|runs| look(&mut verdict, runs).len()).into();
        assert_eq!(lines, [0, 0, 0, 0, 1, 0]);
        let mut verdict = CheckVerdict::default();
        let line = (0..LOOKS).flat_map(|_| look(&mut verdict, false)).next().expect("a line");
        assert!(line.contains("a cycle, as far as the runtime sees none of these"), "{line}");
    }

    #[test]
    fn a_process_alone_does_not_know_who_sends() {
        let waits = vec![wait(
            1,
            None,
            Some(Occurrence::Message(AwaitedMessage { rank: -1, tag: -1, end: MessageEnd::Unknown })),
        )];
        let mut verdict = CheckVerdict::default();
        for _ in 0..5 {
            assert!(verdict.look(vec![rank(waits.clone())]).is_empty());
        }
    }
}
