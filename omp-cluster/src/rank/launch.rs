//! A region's launch on another rank, as the asking rank writes it: in whole, or by number
//! ([`super::codes`]). What the other rank makes of it is [`super::region`]'s.

use core::sync::atomic::Ordering;

use super::codes::CodeName;
use super::remote::{RemoteRank, unknown};
use super::wire::{bytes, code, mark, verb};
use omp_offload::host::MOST_ARGUMENTS;
use omp_offload::interface::{Convention, DeviceCode, DeviceFailure, Launch};
use omp_offload::modules::{self, ModuleAddress};
use omp_offload::place::held;

pub(super) fn convention(convention: Convention) -> u64 {
    match convention {
        Convention::Array => 0,
        Convention::Separate => 1,
        Convention::SeparateAfterEnvironment => 2,
    }
}

/// The convention that a launch calls `word`.
pub(super) fn convention_of(word: u64) -> Convention {
    [Convention::Array, Convention::Separate, Convention::SeparateAfterEnvironment][word.min(2) as usize]
}

/// Two numbers in a word.
pub(super) fn halves(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// [`halves`], apart.
pub(super) fn apart(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

impl RemoteRank {
    /// Sends a region's launch; its ticket.
    ///
    /// # Errors
    /// The bridge's, and what cannot be said to another rank.
    pub(super) fn launch(&self, launch: &Launch<'_>) -> Result<u64, DeviceFailure> {
        if launch.arguments.len() >= MOST_ARGUMENTS {
            return Err(DeviceFailure(
                format!("{} arguments are more than {MOST_ARGUMENTS}", launch.arguments.len()).into(),
            ));
        }
        self.pay()?;
        self.parted.notify(self.cluster, self.rank)?;
        let name = self.codes.name(&launch.code, convention(launch.convention));
        let (debts, marks) = (
            self.debts(),
            if launch.stolen { mark::STOLEN } else { 0 } | (held::waiting() as u64) << mark::WAITING,
        );
        // ORDERING: Relaxed; a sum.
        self.cluster.counts.launched.fetch_add(1, Ordering::Relaxed);
        if let CodeName::Known(number) = name
            && debts.is_empty()
            && launch.wanted.is_empty()
        {
            let words =
                [halves(number, launch.thread_limit[0]), halves(launch.device as u32, launch.depth), marks];
            return self.cluster.request(self.rank, verb::AGAIN, &words, bytes(launch.arguments));
        }
        self.launch_in_whole(launch, name, debts, marks)
    }

    fn launch_in_whole(
        &self,
        launch: &Launch<'_>,
        name: CodeName,
        debts: Vec<[u64; 3]>,
        marks: u64,
    ) -> Result<u64, DeviceFailure> {
        let (kind, first, second) = match launch.code {
            DeviceCode::HostFunction(address) => {
                let Some(ModuleAddress { identity, offset }) = modules::place(address) else {
                    return Err(DeviceFailure("its code lies in no executable and no shared object".into()));
                };
                (code::MODULE, identity, offset)
            }
            DeviceCode::Loaded(module, _, address) => (code::IMAGE, module.0, address as u64),
        };
        let says = if let CodeName::New(number) = name { Some(number) } else { None };
        let how =
            convention(launch.convention) | says.map_or(0, |number| u64::from(number) + 1) << mark::NAME;
        let limit = u64::from(launch.thread_limit[0]);
        let into = launch.into.addr() as u64;
        // One allocation: nine words, two lists with their lengths.
        let mut words = Vec::with_capacity(11 + 3 * debts.len() + 2 * launch.wanted.len());
        words.extend([launch.device as u64, launch.depth.into(), marks]);
        words.extend([how, limit, kind, first, second, into]);
        words.push(debts.len() as u64);
        words.extend(debts.into_iter().flatten());
        words.push(launch.wanted.len() as u64);
        words.extend(launch.wanted.iter().flat_map(|&(at, size)| [at as u64, size as u64]));
        let brought: usize = launch.wanted.iter().map(|(_, size)| size).sum();
        // ORDERING: Relaxed; a sum.
        self.cluster.counts.back.fetch_add(brought as u64, Ordering::Relaxed);
        let ticket = self.cluster.request(self.rank, verb::RUN, &words, bytes(launch.arguments))?;
        says.into_iter().for_each(|number| self.codes.was_sent(number));
        Ok(ticket)
    }

    /// What a region on this rank relies on elsewhere.
    fn debts(&self) -> Vec<[u64; 3]> {
        let mut list = self.cluster.debts.list(self.rank);
        for rank in (0..self.cluster.ranks).filter(|&r| r != self.rank) {
            list.extend(
                unknown(self.cluster, rank).map(|writes| [self.cluster.rank.into(), rank.into(), writes]),
            );
        }
        list
    }
}
