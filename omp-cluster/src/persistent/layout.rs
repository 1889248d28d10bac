//! Which rank an element of distributed memory belongs to.

use core::cmp::Ordering;

use super::tray::split;

/// Elements dealt out to ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many elements.
    pub count: u64,
    /// Elements that follow each other on one rank, in turns; 0: each rank has one piece, as large
    /// as those of the others.
    pub block: u64,
    /// The first rank that has some.
    pub first: u32,
    /// How many have.
    pub ranks: u32,
}

impl Layout {
    /// The rank of an element, and where the elements that follow it there end.
    pub fn piece(self, index: u64) -> (u32, u64) {
        let ranks = u64::from(self.ranks.max(1));
        if let Some(turn) = index.checked_div(self.block) {
            let end = (turn + 1).saturating_mul(self.block).min(self.count);
            return (self.first + (turn % ranks) as u32, end);
        }
        let (each, more) = (self.count / ranks, self.count % ranks);
        let long = (each + 1) * more;
        let at = if index < long {
            index / (each + 1)
        } else {
            more + (index - long).checked_div(each).unwrap_or(0)
        };
        (self.first + at as u32, split(self.count as usize, at as usize, ranks as usize).end as u64)
    }

    /// How many of the elements before `index` belong to a rank.
    fn before(self, rank: u32, index: u64) -> u64 {
        let ranks = u64::from(self.ranks.max(1));
        let Some(at) = rank.checked_sub(self.first).map(u64::from).filter(|at| *at < ranks) else { return 0 };
        let Some(turns) = index.checked_div(self.block) else {
            let piece = split(self.count as usize, at as usize, ranks as usize);
            return index.clamp(piece.start as u64, piece.end as u64) - piece.start as u64;
        };
        let started = index - turns * self.block;
        turns / ranks * self.block
            + match (turns % ranks).cmp(&at) {
                Ordering::Greater => self.block,
                Ordering::Equal => started,
                Ordering::Less => 0,
            }
    }

    /// How many of `count` elements from `index` on belong to a rank.
    pub fn owned(self, rank: u32, index: u64, count: u64) -> u64 {
        self.before(rank, index + count) - self.before(rank, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_rank_and_pieces_end_where_the_next_begins() {
        for (count, block, ranks) in [(10, 0, 3), (2, 0, 5), (100, 7, 4), (12, 4, 3), (1, 0, 1), (9, 1, 2)] {
            let layout = Layout { count, block, first: 1, ranks };
            let mut index = 0;
            while index < count {
                let (rank, end) = layout.piece(index);
                assert!((1..=ranks).contains(&rank) && end > index && end <= count, "{layout:?} {index}");
                assert!((index..end).all(|i| layout.piece(i) == (rank, end)), "{layout:?} {index}");
                for (from, to) in [(index, end), (0, end), (index, count)] {
                    let counted = (from..to).filter(|&i| layout.piece(i).0 == rank).count() as u64;
                    assert_eq!(layout.owned(rank, from, to - from), counted, "{layout:?} {from} {to}");
                }
                assert_eq!(
                    (layout.owned(0, 0, count), layout.owned(1 + ranks, 0, count)),
                    (0, 0),
                    "no device"
                );
                index = end;
            }
        }
    }

    #[test]
    fn pieces_are_dealt_out_evenly() {
        let of = |block, count| {
            let layout = Layout { count, block, first: 0, ranks: 4 };
            let mut each = [0; 4];
            (0..count).for_each(|i| each[layout.piece(i).0 as usize] += 1);
            each
        };
        assert_eq!((of(0, 10), of(0, 3), of(2, 10)), ([3, 3, 2, 2], [1, 1, 1, 0], [4, 2, 2, 2]));
    }
}
