//! The placement policy in force. `OMPX_SCHED` names it, and `ompx_set_sched` changes it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use placement::choice::PlacementChoice;
use placement::manual::{self, ManualKind};
use placement::online::{ByHand, LeastLoaded};
use placement::policy::{PlacementPolicy, PlacementRequest, View};

use super::{graph, library};
use crate::device_slot::DeviceOwner;
use crate::devices::usable;
use crate::ranks;
use omp::env::{PolicyFile, PolicyName};
use omp::{env, report, user_files};

/// A policy, and whether regions may move from the device that it has chosen.
type Placing = (Box<dyn PlacementPolicy>, bool);

static POLICY: Mutex<Option<Placing>> = Mutex::new(None);

fn policy() -> MutexGuard<'static, Option<Placing>> {
    POLICY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The policy, locked.
pub struct InForce(MutexGuard<'static, Option<Placing>>);

impl InForce {
    /// As [`PlacementPolicy::choose`].
    pub fn choose(&mut self, request: PlacementRequest, devices: &[View]) -> Option<usize> {
        self.0.as_mut()?.0.choose(request, devices)
    }

    /// Chooses for a device task, which has no number. Policies that know regions by their numbers
    /// are not asked; `LeastLoaded` chooses instead.
    pub fn choose_for_task(&mut self, devices: &[View]) -> Option<usize> {
        match self.0.as_mut() {
            Some((policy, true)) => policy.choose(PlacementRequest::default(), devices),
            _ => LeastLoaded::default().choose(PlacementRequest::default(), devices),
        }
    }

    /// May another device steal a placed region? It may not if the policy has planned ahead, or if
    /// the user has chosen the device.
    pub fn lets_steal(&self) -> bool {
        self.0.as_ref().is_some_and(|(_, moves)| *moves)
    }

    /// Is a task placed better when all tasks that it waits for are over? Otherwise this makes no
    /// difference, or the policy is to be asked only once.
    pub fn may_change(&self) -> bool {
        self.0.as_ref().is_some_and(|(policy, moves)| *moves && !policy.is_blind())
    }
}

/// The policy in force, locked, for so many devices with so much memory. The first call makes it.
pub fn in_force(devices: usize, memory: Option<u64>) -> InForce {
    let mut policy = policy();
    policy.get_or_insert_with(|| {
        of_text(&env::settings().devices.placement.to_string(), devices, memory)
            .unwrap_or_else(|why| instead(&why))
    });
    InForce(policy)
}

fn instead(why: &str) -> Placing {
    report::warn_environment(format_args!(
        "OMPX_SCHED='{}': {why}; using least",
        env::settings().devices.placement
    ));
    (Box::new(LeastLoaded::default()), true)
}

/// Puts the policy with this name in force.
///
/// # Errors
/// The reason why the policy cannot be put in force.
pub fn set(text: &str, devices: usize, memory: Option<u64>) -> Result<(), String> {
    let made = of_text(text, devices, memory)?;
    *policy() = Some(made);
    Ok(())
}

/// The policy that a text names, as the host keeps it.
///
/// # Errors
/// What is wrong with the text.
pub fn named(text: &str) -> Result<PolicyName, String> {
    Ok(match text.parse()? {
        PlacementChoice::Manual(file) => {
            PolicyName { policy: "manual".into(), file: Some(PolicyFile::Text(file)) }
        }
        PlacementChoice::Library(file) => {
            PolicyName { policy: "library".into(), file: Some(PolicyFile::Library(file)) }
        }
        other => PolicyName::of(&other.to_string()),
    })
}

fn of_text(text: &str, devices: usize, memory: Option<u64>) -> Result<Placing, String> {
    make(&text.parse()?, devices, memory)
}

fn make(choice: &PlacementChoice, devices: usize, memory: Option<u64>) -> Result<Placing, String> {
    match choice {
        PlacementChoice::Manual(file) => by_hand(file, devices).map(|policy| (policy, false)),
        PlacementChoice::Library(file) => library::load(file).map(|policy| (policy, false)),
        _ => {
            let mut policy = choice.policy().ok_or("no such policy")?;
            if choice.plans() {
                graph::plan(&mut *policy, devices, memory)?;
            }
            Ok((policy, !choice.plans()))
        }
    }
}

/// The policy that places regions as the file says.
fn by_hand(file: &str, devices: usize) -> Result<Box<dyn PlacementPolicy>, String> {
    let text = user_files::read(file).map_err(|e| e.to_string())?;
    let gpu = |rank: usize, number: usize| {
        usable()
            .iter()
            .position(|slot| slot.owner == DeviceOwner { rank: rank as u32, gpu: Some(number as u32) })
    };
    let device = |rank: usize, kind, number: usize| {
        let at = match (kind, ranks::place()) {
            (ManualKind::Gpu, _) => gpu(rank, number),
            (ManualKind::Cpu, Some(place)) if number == 0 => place.device_of(rank),
            // Without ranks each device counts as a rank.
            (ManualKind::Cpu, None) if number == 0 => Some(rank),
            _ => None,
        };
        at.filter(|&at| at < devices)
    };
    let found = manual::parse(&text).and_then(|lines| manual::devices(&lines, device));
    Ok(Box::new(ByHand::new(found?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_means_the_same_by_the_name_that_the_host_keeps() {
        let cases = [
            ("Least", "least", false),
            ("HEFTMC:lambda=0.7", "heftmc:lambda=0.7", false),
            ("manual:a:b", "manual:a:b", true),
            ("LIBRARY:./x.so", "library:./x.so", true),
        ];
        for (text, kept, has_file) in cases {
            let name = named(text).expect("a policy");
            assert_eq!((name.to_string().as_str(), name.file.is_some()), (kept, has_file));
            assert_eq!(text.parse::<PlacementChoice>(), kept.parse());
        }
        assert_eq!(
            named("heftmc:lambda=2"),
            Err("'lambda=2' is not lambda= and a number from 0 to 1".into())
        );
        assert!(named("fastest").is_err_and(|why| why.contains("rrmc, estmc, heftmc")));
    }
}
