//! Machines described in a text instead of found: for tests, and for trying a setting of another
//! machine.
//!
//! One line per fact, `#` begins a comment. A *list* is the kernel's (`0-3,8`, `0-14:2/4`);
//! *copies* is nothing or `x<n>[+<shift>]`, which stands for `n` groups, each shifted by `shift` (1
//! if not given) against the one before.
//!
//! | line | means | if left out |
//! |---|---|---|
//! | `cpus <list>` | the processors that exist; once | an error |
//! | `offline <list>` | those of them that are switched off | none |
//! | `mask <list>` | those that the process may use | all that are online |
//! | `quota <number>` | how many of them its control group grants the time of | no limit |
//! | `core <list> [copies]` | hardware threads of one core | each processor is a core |
//! | `cache <list> [copies]` | who shares a last-level cache | not known |
//! | `numa <list> [copies]` | a memory node; numbered from 0 | one node |
//! | `slit <n>,<n>,...` | distances from a node to each node, in their order; a line per node | other nodes are alike |
//! | `socket <list> [copies]` | a package; numbered from 0 | one package |
//!
//! A kind of group that is there at all has to hold every processor exactly once; cores may not
//! cross packages or nodes.
//!
//! Rejected: a directory that plays `/sys` (hundreds of files for a machine that six lines
//! describe), and being lenient: a description that is wrong in one line would be believed in all
//! others.

use super::{Cpu, sort_by_place};
use crate::sys::cpulist;
use core::fmt::Display;
use std::collections::{HashMap, HashSet};

/// Processor numbers end here: the kernel's largest machines have 8192.
const NUMBERS: usize = 1 << 16;
/// As many may be named by all groups together, and by what is offline: each in one group of each
/// of four kinds. Otherwise that one is in two groups would be found out with thousands of millions
/// of them in memory.
const MOST: usize = 5 * NUMBERS;

/// What a machine is believed to be. Made by [`Description::parse`], believed after
/// [`super::believe`].
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The usable processors, as [`super::usable`] returns them: never empty, neighbours next to
    /// each other.
    pub cpus: Vec<Cpu>,
    /// Who of the usable processors shares a last-level cache, in the order of `cpus`; empty: not
    /// known.
    pub caches: Vec<Vec<usize>>,
    /// Distances from each node (first) to each other one; empty: not known.
    pub slit: Vec<Vec<u32>>,
    /// The quota in processors.
    pub quota: Option<f64>,
    /// One more than the highest processor number of the machine.
    pub numbers: usize,
}

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// The first thing that is wrong, in a few words, with the number of its line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = Lines::default();
        for (number, line) in (1..).zip(text.lines()) {
            lines.add(line).map_err(|why| format!("line {number}: {why}"))?;
        }
        lines.machine()
    }

    /// How many workers it is good for, as [`super::worker_target`] says.
    pub fn worker_target(&self) -> usize {
        super::target(self.cpus.len(), self.quota)
    }

    /// The last-level caches of some of its usable processors, as [`super::last_level_caches`]
    /// returns them.
    pub fn caches_of(&self, cpus: &[Cpu]) -> Vec<Vec<usize>> {
        let numbered = self
            .caches
            .iter()
            .enumerate()
            .flat_map(|(number, cache)| cache.iter().map(move |&os| (os, number)));
        let cache_of: HashMap<usize, usize> = numbered.collect();
        super::caches::grouped(cpus, |os| cache_of.get(&os).copied()).unwrap_or_default()
    }

    /// The numbers of the usable processors, ascending.
    pub(super) fn allowed(&self) -> Vec<usize> {
        let mut allowed: Vec<usize> = self.cpus.iter().map(|cpu| cpu.os).collect();
        allowed.sort_unstable();
        allowed
    }
}

/// The lines as they were written.
#[derive(Default)]
struct Lines {
    cpus: Option<Vec<usize>>,
    offline: HashSet<usize>,
    mask: Option<Vec<usize>>,
    quota: Option<f64>,
    cores: Vec<Vec<usize>>,
    caches: Vec<Vec<usize>>,
    nodes: Vec<Vec<usize>>,
    sockets: Vec<Vec<usize>>,
    slit: Vec<Vec<u32>>,
    /// Processors that groups and lines `offline` have named so far.
    named: usize,
}

impl Lines {
    fn add(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(what) = words.next() else { return Ok(()) };
        let value = words.next().ok_or_else(|| format!("{what} of what?"))?;
        let copies = words.next();
        if let Some(more) = words.next() {
            return Err(format!("'{more}' is too much"));
        }
        let groups = match what {
            "core" => &mut self.cores,
            "cache" => &mut self.caches,
            "numa" => &mut self.nodes,
            "socket" => &mut self.sockets,
            _ if copies.is_some() => return Err(format!("{what} has one value")),
            _ => return self.add_single(what, value),
        };
        let more = copied(&list(value)?, copies)?;
        let named = more.iter().map(Vec::len).sum();
        groups.extend(more);
        self.count(what, named)
    }

    fn count(&mut self, what: &str, named: usize) -> Result<(), String> {
        self.named += named;
        if self.named <= MOST { Ok(()) } else { Err(format!("{what}: too many processors")) }
    }

    fn add_single(&mut self, what: &str, value: &str) -> Result<(), String> {
        let twice = match what {
            "cpus" => self.cpus.replace(list(value)?).is_some(),
            "mask" => self.mask.replace(list(value)?).is_some(),
            "quota" => self.quota.replace(quota(value)?).is_some(),
            "offline" => {
                let more = list(value)?;
                self.count(what, more.len())?;
                self.offline.extend(more);
                false
            }
            "slit" => {
                self.slit.push(figures(value)?);
                false
            }
            _ => {
                return Err(format!(
                    "'{what}' is none of cpus, offline, mask, quota, core, cache, numa, slit, socket"
                ));
            }
        };
        if twice { Err(format!("{what} is given twice")) } else { Ok(()) }
    }

    fn machine(&self) -> Result<Description, String> {
        let all = self.cpus.as_deref().ok_or("a line 'cpus' is missing")?;
        let cores = numbered(all, &self.cores, "core")?;
        let caches = numbered(all, &self.caches, "cache")?;
        let nodes = numbered(all, &self.nodes, "numa")?;
        let sockets = numbered(all, &self.sockets, "socket")?;
        check_slit(&self.slit, self.nodes.len().max(1))?;
        let is_online = |os: &&usize| !self.offline.contains(*os);
        // As the kernel shows it, a core does not know its threads that are offline.
        let first_online: Vec<Option<usize>> =
            self.cores.iter().map(|core| core.iter().filter(is_online).min().copied()).collect();
        let core_of = |os| first_online[*cores.get(&os)?];
        let describe = |&os: &usize| Cpu {
            os,
            core: core_of(os).unwrap_or(os),
            socket: sockets.get(&os).copied().unwrap_or(0),
            numa: nodes.get(&os).copied().unwrap_or(0),
        };
        let online: Vec<Cpu> = all.iter().filter(is_online).map(describe).collect();
        check_cores(&online)?;
        // Lists are in order.
        let is_usable = |cpu: &Cpu| self.mask.as_ref().is_none_or(|mask| mask.binary_search(&cpu.os).is_ok());
        let mut cpus: Vec<Cpu> = online.into_iter().filter(is_usable).collect();
        if cpus.is_empty() {
            return Err("no processor may be used".into());
        }
        sort_by_place(&mut cpus);
        let numbers = all.iter().max().map_or(1, |highest| highest + 1);
        let caches = super::caches::grouped(&cpus, |os| caches.get(&os).copied()).unwrap_or_default();
        Ok(Description { caches, cpus, slit: self.slit.clone(), quota: self.quota, numbers })
    }
}

/// A list, strictly: no gaps in what is understood, no number twice.
fn list(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("'{text}' is not a list of processors such as 0-3,8");
    let mut numbers = cpulist::parse_strictly(text).ok_or_else(wrong)?;
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    match numbers.last() {
        None => Err(wrong()),
        Some(&highest) if highest >= NUMBERS => Err(format!("processors end at {}", NUMBERS - 1)),
        Some(_) if numbers.len() < count => Err(format!("'{text}' names a processor twice")),
        Some(_) => Ok(numbers),
    }
}

fn figures(text: &str) -> Result<Vec<u32>, String> {
    let wrong = || format!("'{text}' is not a row of distances such as 10,21");
    let figure = |figure: &str| figure.parse::<u32>().ok().filter(|figure| (1..256).contains(figure));
    text.split(',').map(figure).collect::<Option<_>>().ok_or_else(wrong)
}

/// None at all, or a figure for each pair of nodes.
fn check_slit(slit: &[Vec<u32>], nodes: usize) -> Result<(), String> {
    if slit.is_empty() || (slit.len() == nodes && slit.iter().all(|row| row.len() == nodes)) {
        return Ok(());
    }
    Err(format!("slit: {nodes} lines of {nodes} distances are needed"))
}

fn quota(text: &str) -> Result<f64, String> {
    let is_sensible = |quota: &f64| quota.is_finite() && *quota > 0.0;
    let wrong = || format!("'{text}' is not a number of processors above 0");
    text.parse::<f64>().ok().filter(is_sensible).ok_or_else(wrong)
}

/// The groups that `x<n>[+<shift>]` makes of one.
fn copied(group: &[usize], copies: Option<&str>) -> Result<Vec<Vec<usize>>, String> {
    let Some(text) = copies else { return Ok(vec![group.to_vec()]) };
    let wrong = || format!("'{text}' is not copies such as x4 or x4+16");
    let (count, shift) =
        text.strip_prefix('x').map(|t| t.split_once('+').unwrap_or((t, "1"))).ok_or_else(wrong)?;
    let number =
        |text: &str| text.parse::<usize>().ok().filter(|n| (1..=NUMBERS).contains(n)).ok_or_else(wrong);
    let (count, shift) = (number(count)?, number(shift)?);
    let highest = group.last().map_or(0, |last| last + (count - 1) * shift);
    if highest >= NUMBERS {
        return Err(format!("processors end at {}", NUMBERS - 1));
    }
    if group.len() * count > NUMBERS {
        return Err("a processor is in two".into());
    }
    Ok((0..count).map(|i| group.iter().map(|os| os + i * shift).collect()).collect())
}

/// The number of each processor's group. Empty if there are no groups.
fn numbered(
    all: &[usize],
    groups: &[Vec<usize>],
    kind: impl Display,
) -> Result<HashMap<usize, usize>, String> {
    let mut group_of = HashMap::new();
    for (number, group) in groups.iter().enumerate() {
        for &os in group {
            if all.binary_search(&os).is_err() {
                return Err(format!("{kind}: there is no processor {os}"));
            }
            if group_of.insert(os, number).is_some() {
                return Err(format!("{kind}: processor {os} is in two"));
            }
        }
    }
    match all.iter().find(|os| !groups.is_empty() && !group_of.contains_key(os)) {
        Some(os) => Err(format!("{kind}: processor {os} is in none")),
        None => Ok(group_of),
    }
}

fn check_cores(cpus: &[Cpu]) -> Result<(), String> {
    let mut first_of: HashMap<usize, &Cpu> = HashMap::new();
    for cpu in cpus {
        let first = first_of.entry(cpu.core).or_insert(cpu);
        if (first.socket, first.numa) != (cpu.socket, cpu.numa) {
            return Err(format!(
                "core: processors {} and {} are in different packages or nodes",
                first.os, cpu.os
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
