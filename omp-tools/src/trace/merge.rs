//! All lanes in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::kind::TraceEvent;

/// Merges the iterators `sources`, each of which is in the order of time. Yields the source's
/// number and the event; of events at one time those of the lower number first.
pub struct Merge<I: Iterator<Item = TraceEvent>> {
    sources: Vec<I>,
    heads: Vec<Option<TraceEvent>>,
    order: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<I: Iterator<Item = TraceEvent>> Merge<I> {
    /// Of these.
    pub fn of(mut sources: Vec<I>) -> Self {
        let heads: Vec<_> = sources.iter_mut().map(Iterator::next).collect();
        let order =
            heads.iter().enumerate().filter_map(|(i, e)| Some(Reverse((e.as_ref()?.ticks, i)))).collect();
        Self { sources, heads, order }
    }
}

impl<I: Iterator<Item = TraceEvent>> Iterator for Merge<I> {
    type Item = (usize, TraceEvent);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, at)) = self.order.pop()?;
        let event = self.heads[at].take()?;
        self.heads[at] = self.sources[at].next();
        if let Some(next) = &self.heads[at] {
            self.order.push(Reverse((next.ticks, at)));
        }
        Some((at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::TraceKind;
    use super::*;

    #[test]
    fn the_order_is_that_of_time() {
        let at = |ticks| TraceEvent { ticks, a: 0, b: 0, small: 0, kind: TraceKind::Wake };
        let sources = [vec![1, 4, 9], vec![], vec![2, 4, 5, 10]].map(|times| times.into_iter().map(at));
        let merged: Vec<_> = Merge::of(sources.into()).map(|(source, e)| (e.ticks, source)).collect();
        assert_eq!(merged, [(1, 0), (2, 2), (4, 0), (4, 2), (5, 2), (9, 0), (10, 2)]);
    }
}
