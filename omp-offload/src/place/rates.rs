//! How long copies to a device take. Between ranks the figures of `gangway autotune` count. For
//! other devices the copies seen so far count ([`super::pace`]). Otherwise all devices are assumed
//! to be alike.
//!
//! `OMPX_RATES` names the file of the figures, or says `off`. Without it the machine's file in the
//! user's cache is read, if there is one. The file is read when the first device is chosen, and
//! only if ranks are devices.

use std::sync::OnceLock;

use placement::graph::{GraphDevice, GraphMachine};
use placement::rates::{self, Rates};

use crate::devices::{get, usable};
use crate::ranks;
use omp::{env, report, user_files};

/// Where nothing was measured: the bytes that a copy is assumed to move in a nanosecond (1 GB/s),
/// and the nanoseconds that it takes at least.
const RATE: u64 = 1;
const LATENCY: u64 = 20_000;

/// The text for warnings that says so.
const INSTEAD: &str = "copies are taken to make 1 GB/s after 20 us";

static RATES: OnceLock<Option<Rates>> = OnceLock::new();

/// The measured rates.
fn measured() -> Option<&'static Rates> {
    ranks::place()?;
    RATES.get_or_init(|| find(env::settings().devices.rates.as_deref()).unwrap_or_else(said)).as_ref()
}

fn said(line: String) -> Option<Rates> {
    report::warn_environment(line);
    None
}

/// The rates of the named file, or of the usual one. It is no mistake if the usual file does not
/// exist.
///
/// # Errors
/// A line for the user.
fn find(named: Option<&str>) -> Result<Option<Rates>, String> {
    let parsed = |name: &str, text: &str| {
        Rates::read(text).map(Some).map_err(|why| format!("OMPX_RATES='{name}': {why}; {INSTEAD}"))
    };
    match named {
        Some("off") => Ok(None),
        Some(name) => {
            let text =
                user_files::read(name).map_err(|why| format!("OMPX_RATES='{name}': {why}; {INSTEAD}"))?;
            parsed(name, &text)
        }
        // The path of the usual file comes from environment variables, and this program must not
        // trust them.
        None if env::rights_gained() => Ok(None),
        None => {
            let Some(file) = rates::usual_file(|name| std::env::var(name).ok()) else { return Ok(None) };
            user_files::read(&file).map_or(Ok(None), |text| parsed(&file.display().to_string(), &text))
        }
    }
}

/// How many nanoseconds a copy of so many bytes to the device with this number takes.
pub(super) fn bring(device: i32, bytes: u64) -> u64 {
    between(None, device, bytes)
}

/// The nanoseconds of a copy from a device to another one; `from` is `None` for the host.
pub(crate) fn between(from: Option<i32>, to: i32, bytes: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let (source, target) = (from.and_then(get), get(to));
    let has_gpu = [source, target].into_iter().flatten().any(|slot| slot.owner.gpu.is_some());
    let ranks = ranks::place()
        .map(|place| [source, target].map(|slot| slot.map_or(place.rank, |slot| slot.owner.rank) as usize));
    let hop =
        |[source, target]: [usize; 2]| measured().map(|rates| rates.between(source, target).time(bytes));
    if let Some(time) = ranks.filter(|_| !has_gpu).and_then(hop) {
        return time;
    }
    // The figures of a GPU's copies cover their whole way: from rank to rank, and on to the GPU.
    let way = ranks.filter(|[source, target]| has_gpu && source != target);
    let way = way.map_or(0, |ranks| hop(ranks).unwrap_or(LATENCY + bytes / RATE));
    LATENCY + seen(from.is_some(), to, bytes).unwrap_or(way + bytes / RATE)
}

/// The nanoseconds without latency, by the copies seen so far.
fn seen(from_device: bool, to: i32, bytes: u64) -> Option<u64> {
    get(to)?.placing.pace.time(from_device, bytes)
}

/// The devices, as the policies that plan see them.
pub(super) fn machine(devices: usize, memory: Option<u64>) -> GraphMachine {
    let memory = memory.unwrap_or(u64::MAX);
    let has_gpus = usable().iter().any(|slot| slot.owner.gpu.is_some());
    if let Some((rates, place)) = measured().zip(ranks::place()).filter(|_| !has_gpus) {
        return rates.machine(place.first_device, devices, memory);
    }
    let device =
        |at: usize| GraphDevice::new(&format!("device_{at}"), memory).at(LATENCY as f64 / 2.0, RATE as f64);
    GraphMachine::new((0..devices).map(device).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_ranks_all_devices_are_alike() {
        assert_eq!([bring(0, 0), bring(3, 1), bring(0, 1_000_000)], [0, 20_001, 1_020_000]);
        let machine = machine(2, None);
        assert_eq!((machine.devices.len(), machine.transfer(1000, 0, 1)), (2, 21_000));
    }

    #[test]
    fn a_named_file_is_read_and_mistakes_are_reported() {
        let file = std::env::temp_dir().join(format!("gangway-rates-{}", std::process::id()));
        let name = file.display().to_string();
        let of = |text: &str| {
            std::fs::write(&file, text).unwrap();
            find(Some(&name))
        };
        assert!(of("gangway-rates 1\nrank 0 1 2 3 a\n").is_ok_and(|r| r.is_some()));
        assert_eq!(
            of("rates"),
            Err(format!("OMPX_RATES='{name}': does not begin with 'gangway-rates 1'; {INSTEAD}"))
        );
        std::fs::remove_file(&file).unwrap();
        assert!(
            find(Some(&name)).is_err_and(|line| line.starts_with("OMPX_RATES=") && line.ends_with(INSTEAD))
        );
        assert_eq!(find(Some("off")), Ok(None));
    }
}
