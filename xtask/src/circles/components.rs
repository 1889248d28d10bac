//! Strongly connected components of a graph, by Tarjan's algorithm without recursion.
//!
//! What lives here: the algorithm alone. What does not: what the nodes are.

/// Where the search stands in one node.
struct Visit {
    node: usize,
    next_arrow: usize,
}

/// What the search knows about a node that it has reached.
#[derive(Clone, Copy)]
struct Reached {
    order: usize,
    /// The first node in order of those on the stack that it leads to.
    lowest: usize,
    is_open: bool,
}

/// The components of the graph in which `arrows[n]` are the nodes that `n` leads to. The largest
/// is first; the nodes of each are in order.
pub fn components(arrows: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search { reached: vec![None; arrows.len()], open: Vec::new(), count: 0 };
    let mut found = Vec::new();
    for start in 0..arrows.len() {
        search.from(start, arrows, &mut found);
    }
    found.sort_by_key(|component: &Vec<usize>| (std::cmp::Reverse(component.len()), component[0]));
    found
}

struct Search {
    reached: Vec<Option<Reached>>,
    /// Nodes whose component is not complete.
    open: Vec<usize>,
    count: usize,
}

impl Search {
    fn from(&mut self, start: usize, arrows: &[Vec<usize>], found: &mut Vec<Vec<usize>>) {
        if self.reached[start].is_some() {
            return;
        }
        let mut visits = vec![self.enter(start)];
        while let Some(visit) = visits.last_mut() {
            let node = visit.node;
            let Some(&next) = arrows[node].get(visit.next_arrow) else {
                visits.pop();
                self.leave(node, visits.last().map(|visit| visit.node), found);
                continue;
            };
            visit.next_arrow += 1;
            match self.reached[next] {
                None => visits.push(self.enter(next)),
                Some(there) if there.is_open => self.lower(node, there.order),
                Some(_) => {}
            }
        }
    }

    fn enter(&mut self, node: usize) -> Visit {
        self.reached[node] = Some(Reached { order: self.count, lowest: self.count, is_open: true });
        self.count += 1;
        self.open.push(node);
        Visit { node, next_arrow: 0 }
    }

    fn lower(&mut self, node: usize, order: usize) {
        if let Some(reached) = &mut self.reached[node] {
            reached.lowest = reached.lowest.min(order);
        }
    }

    /// All arrows of `node` have been followed.
    fn leave(&mut self, node: usize, parent: Option<usize>, found: &mut Vec<Vec<usize>>) {
        let Some(reached) = self.reached[node] else { return };
        if let Some(parent) = parent {
            self.lower(parent, reached.lowest);
        }
        if reached.lowest < reached.order {
            return;
        }
        let first = self.open.iter().rposition(|&open| open == node).unwrap_or_default();
        let mut component = self.open.split_off(first);
        for &member in &component {
            if let Some(reached) = &mut self.reached[member] {
                reached.is_open = false;
            }
        }
        component.sort_unstable();
        found.push(component);
    }
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn circles_are_found() {
        // 0 -> 1 -> 2 -> 0, 2 -> 3 -> 4 -> 3, 5 alone.
        let arrows = [vec![1], vec![2], vec![0, 3], vec![4], vec![3, 3], vec![]];
        assert_eq!(components(&arrows), [vec![0, 1, 2], vec![3, 4], vec![5]]);
    }

    #[test]
    fn a_closed_component_joins_no_other() {
        // 1 is complete before 0 leads to it again by way of 2.
        assert_eq!(components(&[vec![1, 2], vec![], vec![1]]), [vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let count = 200_000;
        let arrows: Vec<Vec<usize>> = (0..count).map(|n| vec![(n + 1) % count]).collect();
        assert_eq!(components(&arrows)[0].len(), count);
    }
}
