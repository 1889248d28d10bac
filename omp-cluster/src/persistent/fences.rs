//! Waiting for tasks: the rank that has them counts those that are through, and says so when all
//! are.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::order::AwaitedFuture;
use super::wire;
use crate::remote::RemoteFault;

/// Tasks that are not through, and what was wrong with one.
type Left = (u64, Option<RemoteFault>);

/// By who waits, and his future.
static OPEN: Mutex<BTreeMap<(u32, AwaitedFuture), Left>> = Mutex::new(BTreeMap::new());

/// One of `of` tasks that rank `source` waits for is through, or cannot be.
pub fn reached(source: u32, wanted: AwaitedFuture, of: u64, why: Option<RemoteFault>) {
    let over = {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, fault) = open.entry((source, wanted)).or_insert((of, None));
        *left = left.saturating_sub(1);
        *fault = fault.or(why);
        let (left, fault) = (*left, *fault);
        if left == 0 {
            open.remove(&(source, wanted));
        }
        (left == 0).then_some(fault)
    };
    if let Some(fault) = over {
        wire::reply(source, wanted, fault.map_or(Ok(None), Err));
    }
}
