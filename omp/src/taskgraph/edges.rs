//! Whom each task of a graph waits for, by the rules of [`super::super::depend`], but for all runs
//! at once: no task is complete here.
//!
//! `mutexinoutset` counts as `inout`: an order instead of exclusion, which the standard allows, and
//! which needs no mutex.

use std::collections::BTreeMap;

use crate::depend::dependence::{Dependence, DependenceKind};

/// What has been named so far.
#[derive(Default)]
pub(super) struct Edges {
    addresses: BTreeMap<usize, Sets>,
    all_memory: Option<u32>,
}

/// The two newest sets of one address, as in `depend::table`.
#[derive(Default)]
struct Sets {
    kind: Option<DependenceKind>,
    current: Vec<u32>,
    previous: Vec<u32>,
}

impl Edges {
    /// Enters the next task, whose number is `me`; returns those it waits for, in ascending order.
    pub(super) fn enter(&mut self, me: u32, items: impl Iterator<Item = Dependence>) -> Vec<u32> {
        let mut before = Vec::new();
        match merged(items) {
            None => self.enter_all(me, &mut before),
            Some(items) => {
                for (address, kind) in items {
                    let all_memory = self.all_memory;
                    self.addresses.entry(address).or_insert_with(|| Sets::after(all_memory)).enter(
                        me,
                        kind,
                        &mut before,
                    );
                }
            }
        }
        before.sort_unstable();
        before.dedup();
        before
    }

    fn enter_all(&mut self, me: u32, before: &mut Vec<u32>) {
        before.extend(self.all_memory);
        for sets in self.addresses.values() {
            before.extend(&sets.current);
        }
        self.addresses.clear();
        self.all_memory = Some(me);
    }
}

/// One kind for each address: the stronger one if it is named twice. `None` for `omp_all_memory`.
fn merged(items: impl Iterator<Item = Dependence>) -> Option<BTreeMap<usize, DependenceKind>> {
    let mut kinds: BTreeMap<usize, DependenceKind> = BTreeMap::new();
    for item in items {
        let kind = if item.kind == DependenceKind::MutexInOutSet { DependenceKind::Out } else { item.kind };
        let known = kinds.entry(item.address?).or_insert(kind);
        if *known != kind {
            *known = DependenceKind::Out;
        }
    }
    Some(kinds)
}

impl Sets {
    fn after(all_memory: Option<u32>) -> Self {
        Self {
            kind: all_memory.map(|_| DependenceKind::Out),
            current: all_memory.into_iter().collect(),
            previous: Vec::new(),
        }
    }

    fn enter(&mut self, me: u32, kind: DependenceKind, before: &mut Vec<u32>) {
        if kind == DependenceKind::Out || self.kind != Some(kind) {
            self.previous = core::mem::take(&mut self.current);
            self.kind = Some(kind);
        }
        before.extend(&self.previous);
        self.current.push(me);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: usize = 0;

    /// Whom each of these tasks waits for; address 0 stands for `omp_all_memory`.
    fn graph(tasks: &[&[(usize, DependenceKind)]]) -> Vec<Vec<u32>> {
        let mut edges = Edges::default();
        let item = |&(address, kind): &(usize, DependenceKind)| Dependence {
            address: (address != ALL).then_some(address),
            kind,
        };
        tasks.iter().enumerate().map(|(me, items)| edges.enter(me as u32, items.iter().map(item))).collect()
    }

    #[test]
    fn readers_and_writers() {
        let (r, w) = (DependenceKind::In, DependenceKind::Out);
        let none: Vec<u32> = vec![];
        assert_eq!(
            graph(&[&[(1, w)], &[(1, r)], &[(1, r)], &[(1, w)], &[(2, w)]]),
            [none.clone(), vec![0], vec![0], vec![1, 2], none]
        );
    }

    #[test]
    fn sets_wait_for_the_set_before() {
        let (set, mutex, w) = (DependenceKind::InOutSet, DependenceKind::MutexInOutSet, DependenceKind::Out);
        assert_eq!(
            graph(&[&[(1, set)], &[(1, set)], &[(1, DependenceKind::In)], &[(1, set)]]),
            [vec![], vec![], vec![0, 1], vec![2]]
        );
        assert_eq!(graph(&[&[(1, w)], &[(1, mutex)], &[(1, mutex)]]), [vec![], vec![0], vec![1]]);
    }

    #[test]
    fn all_memory_is_every_address() {
        let w = DependenceKind::Out;
        assert_eq!(
            graph(&[&[(1, w)], &[(2, w)], &[(ALL, w)], &[(1, w)], &[(3, DependenceKind::In)], &[(ALL, w)]])
                [2..],
            [vec![0, 1], vec![2], vec![2], vec![2, 3, 4]]
        );
    }

    #[test]
    fn an_address_named_twice_counts_once() {
        assert_eq!(
            graph(&[
                &[(1, DependenceKind::In), (1, DependenceKind::Out)],
                &[(1, DependenceKind::In)],
                &[(1, DependenceKind::In), (1, DependenceKind::InOutSet)]
            ]),
            [vec![], vec![0], vec![1]]
        );
    }
}
