//! The identities of an initial thread's outermost teams: thread *n* of each team that shares
//! workers wears the same one, so that threadprivate variables persist between regions as OpenMP
//! 5.2 §5.2 asks.

use ult::identity::{self, Identity};

/// By thread number less one.
#[derive(Default)]
pub struct Identities {
    lent: Vec<&'static Identity>,
    /// The process they were borrowed in.
    generation: u32,
}

impl Identities {
    /// That of thread `num` (1 and up); `None` when none can be borrowed.
    pub fn of(&mut self, num: u32) -> Option<&'static Identity> {
        if self.generation != ult::pool::generation() {
            // What was borrowed before a fork is storage of threads that do not exist here.
            self.lent.clear();
            self.generation = ult::pool::generation();
        }
        let at = num as usize - 1;
        while self.lent.len() <= at {
            let identity = identity::borrow()?;
            ult::kernel_state::inherit(identity);
            self.lent.push(identity);
        }
        if ult::mutant!(identities_swapped) && at == 1 {
            self.lent.swap(0, 1)
        }
        Some(self.lent[at])
    }

    /// That of thread `num` (1 and up), if one is lent to it.
    pub fn of_thread(&self, num: u32) -> Option<&'static Identity> {
        self.lent.get(num as usize - 1).copied()
    }

    /// Gives all of them back. Nobody wears them any more.
    pub fn give_back(&mut self) {
        for identity in self.lent.drain(..) {
            identity::give_back(identity);
        }
    }
}
