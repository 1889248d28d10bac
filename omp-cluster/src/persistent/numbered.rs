//! Tasks that a file names (`OMPX_TASKS`), in XSCALA's grammar ([`placement::manual`]): numbers,
//! rank, kind and number of the device.
//!
//! Every rank reads the file, so a number is enough to know the rank, and no message makes such a
//! task: it begins where it is asked for the first time. Its handle says that it is one, and its
//! number.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use placement::manual::{self, ManualKind};

use super::devices;
use crate::rank::cluster;
use crate::remote::{RemoteFault, RemoteHandle, me};
use omp::user_files;
use omp::{env, report};

/// In generations of such tasks; no other is as large.
const NUMBERED: u64 = 1 << 63;

/// By number the rank.
static PLACES: OnceLock<Result<Vec<Option<u32>>, RemoteFault>> = OnceLock::new();

/// Those of this rank that are gone.
static GONE: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn places() -> Result<&'static [Option<u32>], RemoteFault> {
    let places = PLACES.get_or_init(|| {
        let Some(file) = &env::settings().ranks.tasks else {
            return Ok(Vec::new());
        };
        let text = user_files::read(file).map_err(|why| why.to_string());
        let ranks = cluster().map_or(1, |cluster| cluster.ranks as usize);
        let allowed = devices::allowed().is_ok();
        text.and_then(|text| parse(&text, ranks, allowed)).map_err(|why| {
            report::warn(format_args!("OMPX_TASKS={file}: {why}; it names no tasks"));
            RemoteFault::File
        })
    });
    places.as_deref().map_err(|&why| why)
}

fn parse(text: &str, ranks: usize, allowed: bool) -> Result<Vec<Option<u32>>, String> {
    let lines = manual::parse(text)?;
    if !allowed && lines.iter().any(|line| line.kind == ManualKind::Cpu) {
        return Err("OMPX_DEVICES=gpu leaves no CPU".into());
    }
    let device =
        |rank: usize, kind, number| (rank < ranks && kind == ManualKind::Cpu && number == 0).then_some(rank);
    let found = manual::devices(&lines, device)?;
    Ok(found.into_iter().map(|rank| rank.map(|rank| rank as u32)).collect())
}

/// One more than the largest number that the file has.
///
/// # Errors
/// The file cannot be used.
pub fn count() -> Result<usize, RemoteFault> {
    places().map(<[_]>::len)
}

/// The task of a number.
///
/// # Errors
/// The file does not name it, or cannot be used.
pub fn task(number: u32) -> Result<RemoteHandle, RemoteFault> {
    let rank = places()?.get(number as usize).copied().flatten().ok_or(RemoteFault::Number)?;
    Ok(RemoteHandle { rank: rank as i32, id: number, generation: NUMBERED | u64::from(number) })
}

/// Is this the handle of such a task, of this rank, that is not gone?
pub fn begins_here(name: RemoteHandle) -> bool {
    let is_one =
        || task(name.id).is_ok_and(|known| known.rank == me() && known.generation == name.generation);
    name.generation & NUMBERED != 0 && is_one() && !gone().contains(&name.id)
}

/// It is gone, if it is such a task.
pub fn ends_here(name: RemoteHandle) {
    if name.generation & NUMBERED != 0 {
        gone().insert(name.id);
    }
}

fn gone() -> std::sync::MutexGuard<'static, BTreeSet<u32>> {
    GONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_a_rank() {
        let text = "0-2 0 CPU 0\n4 1 CPU 0 # not 3\n";
        assert_eq!(parse(text, 2, true), Ok(vec![Some(0), Some(0), Some(0), None, Some(1)]));
        assert_eq!(parse(text, 1, true), Err("rank 1 has no such device (Cpu 0)".into()));
        assert_eq!(parse("0 0 GPU 0", 1, true), Err("rank 0 has no such device (Gpu 0)".into()));
        assert_eq!(parse("0 0 CPU 1", 1, true), Err("rank 0 has no such device (Cpu 1)".into()));
        assert_eq!(parse(text, 2, false), Err("OMPX_DEVICES=gpu leaves no CPU".into()));
        assert!(parse("nonsense", 2, true).is_err());
    }

    #[test]
    fn without_a_file_there_are_none() {
        assert_eq!((count(), task(0).err()), (Ok(0), Some(RemoteFault::Number)));
        assert!(!begins_here(RemoteHandle { rank: 0, id: 0, generation: NUMBERED }));
    }
}
