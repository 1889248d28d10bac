//! How ids and pushes of concurrent forks may interleave.

use crate::check::{all_end, deadlocks};
use crate::families::{mixed, mixed_large, spinning};
use crate::program::{Forking, ModelRules};

const fn forking(forking: Forking) -> ModelRules {
    ModelRules { forking, ..ModelRules::STRICT }
}

#[test]
fn ids_and_pushes_under_one_lock_suffice() {
    all_end("locked", mixed(), forking(Forking::Locked));
    all_end("locked", mixed_large(), forking(Forking::Locked));
}

#[test]
fn ids_first_and_pushes_later_deadlock() {
    deadlocks("loose", spinning(2, &[2, 2], 2, 1), forking(Forking::Loose));
}

#[test]
fn pushes_without_a_lock_suffice_if_gangs_open_in_order() {
    all_end("tickets", mixed(), forking(Forking::Ticket));
    for (workers, sizes) in [(3, &[2, 2, 2][..]), (3, &[3, 2, 2])] {
        all_end(
            "tickets",
            vec![(format!("{sizes:?}"), spinning(workers, sizes, 3, 1))],
            forking(Forking::Ticket),
        );
    }
}

#[test]
fn tickets_need_deques_that_keep_the_order_of_ids() {
    deadlocks("tickets, deques by arrival", spinning(3, &[2, 2, 2], 3, 1), forking(Forking::TicketUnsorted));
}
