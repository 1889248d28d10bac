//! `KMP_HW_SUBSET`: a part of the machine, as LLVM's runtime documents it: `[:]<item>[,<item>...]`
//! with items `[<count>|*]<layer>[@<offset>]`, in any order; `x` may stand for the comma.
//!
//! Without the leading colon layers are those of the machine: `1s,2t` is two hardware threads of
//! *every* core of a socket. With it only the layers that are named count: `:1s,2t` is two hardware
//! threads of a socket. Not here: attributes of cores (`:intel_core`, `:eff1`) and caches other
//! than the last.

use ult::topology::Cpu;

use super::machine::EnvMachine;
use super::vars::VariableReader;
use crate::affinity::level::Level;

/// A parsed `KMP_HW_SUBSET`.
#[derive(Debug, PartialEq, Eq)]
pub struct HwSubset {
    /// Layers that are not named do not count.
    only_named: bool,
    /// Outermost first, each at most once.
    layers: Vec<Layer>,
}

/// How many units of a layer are used under each unit of the layer around it, after how many
/// others.
#[derive(Debug, PartialEq, Eq)]
struct Layer {
    level: Level,
    count: Option<usize>,
    offset: usize,
}

/// Reads the variable and restricts `machine` to what it says.
pub(super) fn restrict(r: &mut VariableReader<'_>, machine: &EnvMachine) -> EnvMachine {
    let mut restricted = machine.clone();
    let Some(subset) = r.read("KMP_HW_SUBSET", "it is ignored", parse) else { return restricted };
    match select(&subset, machine) {
        Ok(cpus) => {
            restricted.num_procs = restricted.num_procs.min(cpus.len() as u32);
            restricted.worker_target = restricted.worker_target.min(cpus.len() as u32);
            restricted.subset = Some(Box::leak(cpus.into_boxed_slice()));
        }
        Err(why) => r.complain("KMP_HW_SUBSET", &why, "it is ignored"),
    }
    restricted
}

fn parse(text: &str) -> Result<HwSubset, String> {
    let (only_named, items) = match text.strip_prefix(':') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let layers = items.split([',', 'x', 'X']).map(|item| layer(item.trim()));
    let mut layers: Vec<Layer> = layers.collect::<Result<_, _>>()?;
    layers.sort_by_key(|layer| core::cmp::Reverse(layer.level));
    match layers.windows(2).any(|pair| pair[0].level == pair[1].level) {
        true => Err("a layer is named twice".into()),
        false => Ok(HwSubset { only_named, layers }),
    }
}

fn layer(item: &str) -> Result<Layer, String> {
    let wrong = || format!("'{item}' is not a layer such as 2s, 4c@1 or *t");
    let (item_without_offset, offset) = match item.split_once('@') {
        None => (item, 0),
        Some((rest, offset)) => (rest, offset.trim().parse().map_err(|_| wrong())?),
    };
    let name = item_without_offset.trim_start_matches(|c: char| c.is_ascii_digit() || c == '*');
    let count = match &item_without_offset[..item_without_offset.len() - name.len()] {
        "" | "*" => None,
        digits => Some(digits.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?),
    };
    let level = match name.trim().to_ascii_lowercase().as_str() {
        "s" | "socket" | "sockets" | "package" | "packages" => Level::Socket,
        "n" | "node" | "nodes" | "numa" | "numa_domain" | "numa_domains" => Level::Numa,
        "l3" | "l3_cache" | "l3_caches" | "ll_cache" | "ll_caches" => Level::LastCache,
        "c" | "core" | "cores" => Level::Core,
        "t" | "thread" | "threads" => Level::Thread,
        _ => return Err(wrong()),
    };
    Ok(Layer { level, count, offset })
}

/// The processors of `machine` that belong to the subset.
fn select(subset: &HwSubset, machine: &EnvMachine) -> Result<Vec<Cpu>, String> {
    let mut cpus = machine.cpus().to_vec();
    cpus.sort_unstable_by_key(|cpu| (cpu.socket, cpu.numa, cpu.core, cpu.os));
    let needs_caches = subset.layers.iter().any(|layer| layer.level == Level::LastCache);
    let caches = if needs_caches { (machine.ll_caches)(&cpus) } else { Vec::new() };
    let mut kept = vec![true; cpus.len()];
    for (i, layer) in subset.layers.iter().enumerate() {
        let units: Vec<Vec<usize>> = cpus.iter().map(|cpu| unit(layer.level, cpu, &caches)).collect();
        let around =
            around(subset, i).map(|level| cpus.iter().map(|cpu| unit(level, cpu, &caches)).collect());
        let ranks = ranks(&units, &around.unwrap_or_else(|| vec![Vec::new(); cpus.len()]));
        let end = layer.count.map_or(usize::MAX, |count| layer.offset.saturating_add(count));
        let most = ranks.iter().max().map_or(0, |rank| rank + 1);
        if layer.offset >= most || (layer.count.is_some() && end > most) {
            return Err(format!("it asks for more of a layer than the {most} that there are"));
        }
        kept.iter_mut().zip(ranks).for_each(|(keep, rank)| *keep &= (layer.offset..end).contains(&rank));
    }
    cpus = cpus.into_iter().zip(kept).filter_map(|(cpu, keep)| keep.then_some(cpu)).collect();
    if cpus.is_empty() { Err("no processor belongs to it".into()) } else { Ok(cpus) }
}

/// The layer whose units the units of layer `i` are counted in; `None`: the whole machine.
fn around(subset: &HwSubset, i: usize) -> Option<Level> {
    let named = i.checked_sub(1).map(|outer| subset.layers[outer].level);
    let natural = match subset.layers[i].level {
        _ if subset.only_named => None,
        Level::Socket => None,
        Level::Thread => Some(Level::Core),
        _ => Some(Level::Socket),
    };
    // Levels are ordered smallest first: of two the inner one counts.
    named.into_iter().chain(natural).min()
}

/// What tells the unit of `level` that `cpu` belongs to from others.
fn unit(level: Level, cpu: &Cpu, caches: &[Vec<usize>]) -> Vec<usize> {
    match level {
        Level::Socket => vec![cpu.socket],
        Level::Numa => vec![cpu.socket, cpu.numa],
        Level::LastCache => match caches.iter().position(|cache| cache.contains(&cpu.os)) {
            Some(cache) => vec![cache],
            None => vec![cpu.socket, cpu.numa],
        },
        Level::Core => vec![cpu.socket, cpu.numa, cpu.core],
        Level::Thread => vec![cpu.os],
    }
}

/// For each processor, how many units come before its own in the same surrounding unit.
fn ranks(units: &[Vec<usize>], around: &[Vec<usize>]) -> Vec<usize> {
    let mut seen: Vec<(&Vec<usize>, Vec<&Vec<usize>>)> = Vec::new();
    let mut rank = |unit, outer| {
        let at = seen.iter().position(|(o, _)| *o == outer).unwrap_or_else(|| {
            seen.push((outer, Vec::new()));
            seen.len() - 1
        });
        let known = &mut seen[at].1;
        known.iter().position(|u| *u == unit).unwrap_or_else(|| {
            known.push(unit);
            known.len() - 1
        })
    };
    units.iter().zip(around).map(|(unit, outer)| rank(unit, outer)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good, machine};
    use super::*;

    /// The processors of the made-up machine of two sockets, four cores each, two hardware threads
    /// each.
    fn chosen(text: &str) -> Vec<usize> {
        select(&parse(text).unwrap(), &machine()).unwrap().iter().map(|cpu| cpu.os).collect()
    }

    #[test]
    fn layers_of_the_machine() {
        assert_eq!(chosen("1s,2c,1t"), [0, 1]);
        assert_eq!(chosen("1T,2C,1S"), [0, 1]);
        assert_eq!(chosen("1s@1x2c@2"), [6, 14, 7, 15]);
        assert_eq!(chosen("1t@1"), [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(chosen("*s,1c"), [0, 8, 4, 12]);
        assert_eq!(chosen("1 numa_domain, 1 core"), [0, 8, 4, 12]);
    }

    #[test]
    fn only_named_layers() {
        assert_eq!(chosen(":1s,3t"), [0, 8, 1]);
        assert_eq!(chosen(":2s,1t@1"), [8, 12]);
        assert_eq!(chosen(":3t@2"), [1, 9, 2]);
    }

    #[test]
    fn mistakes_are_refused() {
        for bad in ["", "2", "2q", "1s,1s", "0c", "1c@x", "2c:intel_core", "1s,,1c"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for bad in ["3s", "1s@2", "5c", "4c@1", ":17t", "1c@18446744073709551615", "18446744073709551615c@1"]
        {
            assert!(select(&parse(bad).unwrap(), &machine()).is_err(), "{bad}");
        }
        assert_eq!(build(&[("KMP_HW_SUBSET", "3s")]).1.len(), 1);
    }

    #[test]
    fn places_numbers_and_binding_follow() {
        let s = good(&[("KMP_HW_SUBSET", "1s,2c"), ("OMP_PLACES", "cores")]);
        assert_eq!(
            (s.binding.bound.places.unwrap().to_string().as_str(), s.initial.nthreads, s.num_procs),
            ("{0,8},{1,9}", 4, 4)
        );
        let s = good(&[("KMP_HW_SUBSET", "1s,2c,1t")]);
        assert_eq!((s.binding.bound.places.unwrap().to_string().as_str(), s.initial.nthreads), ("{0:2}", 2));
        let s = good(&[("KMP_HW_SUBSET", "1s"), ("OMP_PROC_BIND", "false")]);
        assert!(s.binding.bound.places.is_none());
    }
}
