//! Cycles in which every process that can go on does so, and yet the run never ends.
//!
//! Weak fairness: a process that could take a step from some moment on, without a break, takes one
//! in the end. A run that goes round for ever stays within one strongly connected component; it can
//! be fair exactly if each process either takes a step within the component or is unable to
//! somewhere in it. So it is enough to look at whole components.

use crate::explore::ModelGraph;

/// A state of a component in which a fair run can stay for ever; the one found first.
pub fn cycle(graph: &ModelGraph) -> Option<usize> {
    let states = graph.first.len() - 1;
    let component = components(graph);
    let count = component.iter().max().map_or(0, |&last| last as usize + 1);
    // Per component: processes that step within it, and processes that can step in all of its
    // states.
    let mut inside = vec![0u32; count];
    let mut always = vec![u32::MAX; count];
    for state in 0..states {
        let own = component[state];
        let mut enabled = 0;
        for &(to, process) in graph.out(state) {
            enabled |= 1 << process;
            if component[to as usize] == own {
                inside[own as usize] |= 1 << process;
            }
        }
        always[own as usize] &= enabled;
    }
    (0..states).find(|&state| {
        let own = component[state] as usize;
        inside[own] != 0 && always[own] & !inside[own] == 0
    })
}

const UNSEEN: u32 = u32::MAX;

/// The component of each state (Tarjan's algorithm, with a list in place of recursion).
fn components(graph: &ModelGraph) -> Vec<u32> {
    let states = graph.first.len() - 1;
    let mut order = vec![UNSEEN; states];
    let mut low = vec![UNSEEN; states];
    let mut component = vec![UNSEEN; states];
    let (mut open, mut calls) = (Vec::new(), Vec::new());
    let (mut found, mut closed) = (0, 0);
    for root in 0..states {
        if order[root] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some((state, edge)) = calls.pop() {
            if edge == 0 {
                (order[state], low[state]) = (found, found);
                found += 1;
                open.push(state);
            } else {
                let below = graph.out(state)[edge - 1].0 as usize;
                low[state] = low[state].min(low[below]);
            }
            let rest = &graph.out(state)[edge..];
            let descend = rest.iter().position(|&(to, _)| order[to as usize] == UNSEEN);
            for &(to, _) in &rest[..descend.unwrap_or(rest.len())] {
                if component[to as usize] == UNSEEN {
                    low[state] = low[state].min(order[to as usize]);
                }
            }
            if let Some(skip) = descend {
                calls.push((state, edge + skip + 1));
                calls.push((rest[skip].0 as usize, 0));
            } else if low[state] == order[state] {
                while let Some(member) = open.pop() {
                    component[member] = closed;
                    if member == state {
                        break;
                    }
                }
                closed += 1;
            }
        }
    }
    component
}
