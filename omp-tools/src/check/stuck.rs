//! Who waits for such as never go on themselves. Pure.
//!
//! A thing is *due* from all waits that give it, so it does not come before the last of them is
//! over. From that follows who is *stuck*: the largest set of waits each of which needs something
//! that is due from one of the set. Only that one can bring it about, so none of the set ever goes
//! on, whatever else runs.
//!
//! Messages of a library are another matter: any code of the other rank may be about to send one. A
//! wait for a message is stuck if three conditions hold. Neither rank has run anything for some
//! looks (a receiver would not see a message that has come while its workers compute). All code
//! that waits on the other rank is stuck. No code there waits with the other end of the message.
//! Code that is still to come to that rank is not seen, so this holds as far as the runtime sees.

use std::collections::HashMap;

use super::thing::{Occurrence, RankNeed, RankSample, RankWait, may_meet};
use omp::extension::check::{AwaitedMessage, MessageEnd};

/// A wait of a rank.
pub type WaitEdge<'a> = (usize, &'a RankWait);

/// A wait of a circle.
pub struct CycleWait<'a> {
    /// Its rank.
    pub rank: usize,
    /// The wait.
    pub wait: &'a RankWait,
    /// What it needs of the next.
    pub need: &'a RankNeed,
}

/// A circle of waits, each with what it needs of the next.
pub struct Cycle<'a> {
    /// The waits.
    pub waits: Vec<CycleWait<'a>>,
    /// It needs no message of a library.
    pub is_certain: bool,
}

/// The waits of a rank.
struct RankEdges {
    /// Where they begin and end.
    edges: core::ops::Range<usize>,
    /// It has run nothing for some looks.
    is_still: bool,
}

/// Why a wait is stuck.
struct WaitHindrance<'a> {
    /// What it needs.
    need: &'a RankNeed,
    /// A wait that is stuck and gives that, by its number.
    giver: usize,
}

/// A step of a way along waits that are stuck.
struct WaitStep<'a> {
    /// The wait, by its number.
    at: usize,
    need: &'a RankNeed,
}

/// All waits of all ranks.
pub struct WaitGraph<'a> {
    edges: Vec<WaitEdge<'a>>,
    givers: HashMap<Occurrence, Vec<usize>>,
    /// By number.
    ranks: Vec<RankEdges>,
    stuck: Vec<bool>,
}

impl<'a> WaitGraph<'a> {
    /// That of ranks, some of which have run nothing for some looks.
    pub fn new(samples: &'a [RankSample], is_still: impl Fn(usize) -> bool) -> Self {
        let (mut edges, mut ranks) = (Vec::new(), Vec::new());
        for (rank, sample) in samples.iter().enumerate() {
            let begin = edges.len();
            edges.extend(sample.waits.iter().map(|wait| (rank, wait)));
            let is_still = is_still(rank) && sample.more == 0;
            ranks.push(RankEdges { edges: begin..edges.len(), is_still });
        }
        let mut givers: HashMap<Occurrence, Vec<usize>> = HashMap::new();
        for (at, (_, wait)) in edges.iter().enumerate() {
            for &thing in &wait.gives {
                givers.entry(thing).or_default().push(at);
            }
        }
        let stuck = vec![true; edges.len()];
        let mut graph = Self { edges, givers, ranks, stuck };
        while graph.let_go() {}
        graph
    }

    /// Those that may go on are not stuck: have any been found?
    fn let_go(&mut self) -> bool {
        let mut found = false;
        for at in 0..self.edges.len() {
            if self.stuck[at] && self.hindrance(at).is_none() {
                self.stuck[at] = false;
                found = true;
            }
        }
        found
    }

    /// What keeps a wait from being over: something it needs, and one of those that are stuck and
    /// give it.
    fn hindrance(&self, at: usize) -> Option<WaitHindrance<'a>> {
        let (rank, wait) = self.edges[at];
        wait.needs.iter().find_map(|need| {
            let giver = match need.thing? {
                Occurrence::Message(message) => self.silent(rank, message),
                thing => self.givers.get(&thing)?.iter().copied().find(|&giver| self.stuck[giver]),
            };
            giver.map(|giver| WaitHindrance { need, giver })
        })
    }

    /// A wait of code on the rank that a message is exchanged with, if all such waits there are
    /// stuck.
    fn silent(&self, here: usize, message: AwaitedMessage) -> Option<usize> {
        let there = usize::try_from(message.rank).ok()?;
        let RankEdges { edges, is_still } = self.ranks.get(there)?;
        let code = || edges.clone().filter(|&at| self.edges[at].1.is_code);
        let meets = |at: usize| ends(self.edges[at].1).any(|other| may_meet(message, here, other, there));
        let is_silent =
            *is_still && self.ranks[here].is_still && code().all(|at| self.stuck[at] && !meets(at));
        is_silent.then(|| code().next()).flatten()
    }

    /// All circles among those that are stuck, as far as each leads to one.
    pub fn cycles(&self) -> Vec<Cycle<'a>> {
        let mut seen = vec![0; self.edges.len()];
        let mut cycles = Vec::new();
        for start in (0..self.edges.len()).filter(|&at| self.stuck[at]) {
            let (mut at, mut path) = (start, Vec::new());
            while seen[at] == 0 {
                seen[at] = start + 1;
                let Some(WaitHindrance { need, giver }) = self.hindrance(at) else { break };
                path.push(WaitStep { at, need });
                at = giver;
            }
            // Else it has led to one that was found before.
            if seen[at] == start + 1 {
                let first = path.iter().position(|step| step.at == at).unwrap_or(path.len());
                cycles.extend(self.cycle(&path[first..]));
            }
        }
        cycles
    }

    fn cycle(&self, path: &[WaitStep<'a>]) -> Option<Cycle<'a>> {
        let is_message = |need: &RankNeed| matches!(need.thing, Some(Occurrence::Message(_)));
        let wait = |step: &WaitStep<'a>| {
            let (rank, wait) = self.edges[step.at];
            CycleWait { rank, wait, need: step.need }
        };
        let waits = path.iter().map(wait).collect();
        let is_certain = !path.iter().any(|step| is_message(step.need));
        (!path.is_empty()).then_some(Cycle { waits, is_certain })
    }
}

/// The ends of messages that a wait is for.
fn ends(wait: &RankWait) -> impl Iterator<Item = AwaitedMessage> {
    wait.needs.iter().filter_map(|need| match need.thing {
        Some(Occurrence::Message(message)) => Some(message),
        _ => None,
    })
}

/// Do both ends of a message wait, so that it is under way?
pub fn messages_meet(samples: &[RankSample]) -> bool {
    let all = || {
        samples
            .iter()
            .enumerate()
            .flat_map(|(rank, sample)| sample.code().flat_map(ends).map(move |end| (rank, end)))
    };
    let sends: Vec<_> = all().filter(|(_, end)| end.end == MessageEnd::Sends).collect();
    all().any(|(here, end)| sends.iter().any(|&(there, other)| may_meet(end, here, other, there)))
}

/// Does code of this rank wait for a message of a library?
pub fn awaits_message(sample: &RankSample) -> bool {
    sample.code().flat_map(ends).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(rank: u64, id: u64) -> Occurrence {
        Occurrence::OfRanks { kind: 1, name: [rank, id] }
    }

    fn wait(is_code: bool, gives: &[Occurrence], needs: &[Occurrence]) -> RankWait {
        let need = |thing: &Occurrence| RankNeed { thing: Some(*thing), what: String::new() };
        RankWait {
            number: 1,
            is_code,
            gives: gives.to_vec(),
            needs: needs.iter().map(need).collect(),
            who: String::new(),
        }
    }

    fn samples(ranks: Vec<Vec<RankWait>>) -> Vec<RankSample> {
        ranks.into_iter().map(|waits| RankSample { waits, ..RankSample::default() }).collect()
    }

    fn lengths(samples: &[RankSample], is_still: bool) -> Vec<(usize, bool)> {
        WaitGraph::new(samples, |_| is_still)
            .cycles()
            .iter()
            .map(|cycle| (cycle.waits.len(), cycle.is_certain))
            .collect()
    }

    #[test]
    fn all_that_is_needed_has_to_come_and_one_that_does_not_is_enough() {
        let end = Occurrence::OfRanks { kind: 2, name: [0, 1] };
        let (transfer, fence) = (Occurrence::OfRanks { kind: 3, name: [0, 1] }, value(1, 1));
        // A procedure waits for a fence that stands behind what another task has to send, which
        // stands behind the procedure.
        let ranks = samples(vec![
            vec![wait(true, &[end], &[fence]), wait(false, &[transfer], &[end])],
            vec![wait(false, &[fence], &[Occurrence::OfRanks { kind: 3, name: [9, 9] }, transfer])],
        ]);
        assert_eq!(lengths(&ranks, false), [(3, true)], "whatever else runs");
        let mut ranks = ranks;
        ranks[0].waits[1].needs.clear();
        assert_eq!(lengths(&ranks, true), [], "it is about to be sent");
    }

    #[test]
    fn one_circle_is_found_once_and_what_leads_to_it_is_none() {
        let leads = wait(true, &[], &[value(0, 1)]);
        let ranks = samples(vec![
            vec![leads.clone(), wait(true, &[value(0, 1)], &[value(1, 1)]), leads],
            vec![wait(true, &[value(1, 1)], &[value(0, 1)])],
        ]);
        assert_eq!(lengths(&ranks, false), [(2, true)]);
        let itself = samples(vec![vec![wait(true, &[value(0, 1)], &[value(0, 1)])]]);
        assert_eq!(lengths(&itself, false), [(1, true)]);
    }

    fn message(rank: i32, tag: i32, sends: bool) -> Occurrence {
        Occurrence::Message(AwaitedMessage {
            rank,
            tag,
            end: if sends { MessageEnd::Sends } else { MessageEnd::Receives },
        })
    }

    #[test]
    fn a_message_comes_from_whoever_runs_there() {
        let receives = wait(true, &[value(1, 1)], &[message(1, 5, false)]);
        let asks = wait(true, &[], &[value(1, 1)]);
        let ranks = samples(vec![vec![receives.clone()], vec![asks.clone()]]);
        assert_eq!(lengths(&ranks, true), [(2, false)]);
        assert_eq!(lengths(&ranks, false), [], "somebody has run");
        let more = samples(vec![vec![receives.clone()], vec![asks.clone(), wait(true, &[], &[])]]);
        assert_eq!(lengths(&more, true), [], "another one there may go on");
        let idle = samples(vec![vec![receives.clone()], vec![]]);
        assert_eq!(lengths(&idle, true), [], "somebody may be invoked there");
        let sends = samples(vec![vec![receives], vec![asks, wait(true, &[], &[message(0, 5, true)])]]);
        assert_eq!(lengths(&sends, true), [], "it is under way");
        assert!(
            messages_meet(&sends)
                && !messages_meet(&ranks)
                && awaits_message(&ranks[0])
                && !awaits_message(&ranks[1])
        );
    }

    #[test]
    fn two_that_receive_first() {
        let ranks = samples(vec![
            vec![wait(true, &[], &[message(1, 1, false)])],
            vec![wait(true, &[], &[message(0, 2, false)])],
        ]);
        assert_eq!(lengths(&ranks, true), [(2, false)]);
    }
}
