//! For `GANGWAY_CHECK`: what has been asked of objects here, and waits until those who use them let
//! go.

use super::super::{Handle, me};
use super::item::{Item, What};
use super::{hold, table};
use crate::omp::check::thing::{Need, Thing, Wait};
use crate::omp::check::words;

/// Requests of objects that are in use, and events that want objects. Also in the middle of the
/// bridge.
pub fn waits() -> Vec<Wait> {
    let requests =
        table::all_here(|object, local| local.hindered().filter_map(|item| request(object, item)).collect());
    let events = hold::all_waiting(event);
    requests.into_iter().chain(events).collect()
}

/// One that somebody may wait for.
fn request(object: Handle, item: &Item) -> Option<Wait> {
    let (gives, who) = match (item.what, item.future) {
        (What::Call { .. }, Some(future)) => {
            (Thing::Value(future), format!("what rank {} has invoked on it", item.origin))
        }
        (What::Hold(rank, number), _) => (Thing::Hold(rank, number), format!("an event of rank {rank}")),
        _ => return None,
    };
    let need = Need {
        thing: Some(Thing::Object(object)),
        what: words::cut(format!("{}, which others use", words::object(object))),
    };
    Some(Wait {
        number: words::number(gives),
        is_code: false,
        gives: vec![gives],
        needs: vec![need],
        who: words::cut(who),
    })
}

fn event(number: u64, function: usize, has: Vec<Handle>, wants: Handle) -> Wait {
    let need = Need { thing: Some(Thing::Hold(me() as u32, number)), what: words::cut(words::object(wants)) };
    let who = words::cut(format!("the event of {}", words::name(function)));
    let gives = has.into_iter().map(Thing::Object).collect();
    Wait {
        number: words::number(Thing::Hold(me() as u32, number)) + 1,
        is_code: false,
        gives,
        needs: vec![need],
        who,
    }
}
