//! Which rank an element of distributed memory belongs to.

use super::tray::split;

/// Elements dealt out to ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many elements.
    pub count: u64,
    /// Elements that follow each other on one rank, in turns; 0: each rank has one piece, as large as those of the others.
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
        let at = if index < long { index / (each + 1) } else { more + (index - long).checked_div(each).unwrap_or(0) };
        (self.first + at as u32, split(self.count as usize, at as usize, ranks as usize).end as u64)
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
