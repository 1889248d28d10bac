//! A made-up machine, the same everywhere, and settings for it: for tests and fuzzers.

use std::sync::OnceLock;

use ult::topology::Cpu;

use super::build::Settings;
use super::machine::EnvMachine;
use super::vars::Vars;

/// Eight cores with two hardware threads each in two sockets; processor n and n+8 share core n.
pub(crate) fn machine() -> EnvMachine {
    EnvMachine {
        usable: cpus,
        subset: None,
        ll_caches: |_| Vec::new(),
        num_procs: 16,
        worker_target: 16,
        stack_limit: Some(8 << 20),
    }
}

fn cpus() -> &'static [Cpu] {
    static CPUS: OnceLock<Vec<Cpu>> = OnceLock::new();
    let cpu = |os: usize| Cpu { os, core: os % 8, socket: os % 8 / 4, numa: os % 8 / 4 };
    CPUS.get_or_init(|| (0..16).map(cpu).collect())
}

/// The settings that these variables make of it, and a line per wrong value.
pub(crate) fn build(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
    Settings::build(Vars::of(pairs), &machine())
}
