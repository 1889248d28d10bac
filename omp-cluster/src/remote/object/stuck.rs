//! For `GANGWAY_CHECK`: what has been asked of objects here, and waits until those who use them let
//! go.

use super::super::check::occurrence::{RankOccurrence, object_name};
use super::super::{RemoteHandle, me};
use super::item::{ObjectOperation, ObjectRequest};
use super::{hold, table};
use omp::functions;
use omp_tools::check::thing::{RankNeed, RankWait};
use omp_tools::check::words;

/// Requests of objects that are in use, and events that want objects. Also in the middle of the
/// bridge.
pub fn waits() -> Vec<RankWait> {
    let requests =
        table::all_here(|object, local| local.hindered().filter_map(|item| request(object, item)).collect());
    let events = hold::all_waiting(event);
    requests.into_iter().chain(events).collect()
}

/// The wait of a request, if a task or an event may wait for what the request gives.
fn request(object: RemoteHandle, item: &ObjectRequest) -> Option<RankWait> {
    let (gives, who) = match (item.what, item.future) {
        (ObjectOperation::Call { .. }, Some(future)) => {
            (RankOccurrence::Value(future), format!("what rank {} has invoked on it", item.origin))
        }
        (ObjectOperation::Hold(rank, number), _) => {
            (RankOccurrence::Hold(rank, number), format!("an event of rank {rank}"))
        }
        _ => return None,
    };
    let need = RankNeed {
        thing: Some(RankOccurrence::Object(object).into()),
        what: words::cut(format!("{}, which others use", object_name(object))),
    };
    Some(RankWait {
        number: words::number(gives.into()),
        is_code: false,
        gives: vec![gives.into()],
        needs: vec![need],
        who: words::cut(who),
    })
}

fn event(number: u64, function: usize, has: Vec<RemoteHandle>, wants: RemoteHandle) -> RankWait {
    let hold = RankOccurrence::Hold(me() as u32, number).into();
    let need = RankNeed { thing: Some(hold), what: words::cut(object_name(wants)) };
    let who = words::cut(format!("the event of {}", functions::name(function)));
    let gives = has.into_iter().map(|object| RankOccurrence::Object(object).into()).collect();
    RankWait { number: words::number(hold) + 1, is_code: false, gives, needs: vec![need], who }
}
