//! Machines that are only described, and what the variables make of them: numbers of threads,
//! places, bindings. The expected values were written by hand from the standard's rules (5.2
//! §21.1.6 for places, §10.1.3 for bindings).

use core::cell::Cell;

use super::super::{EnvMachine, Settings};
use super::*;
use crate::affinity::assign::{PlaceAssignment, assign};
use crate::affinity::places::PlaceList;
use crate::affinity::topology::Cpu;
use crate::icv::ProcBind::Close;
use crate::icv::ProcBind::Primary;
use crate::icv::ProcBind::Spread;
use crate::icv::binding::ProcBind;

const ONE: &str = "cpus 0";
const TWO: &str = "cpus 0-1";
const TWO_NODES: &str = "cpus 0-63\ncache 0-7 x8+8\nnuma 0-31 x2+32\nsocket 0-31 x2+32";
/// Two packages, eight nodes; the hardware threads of a core are far apart.
const FAR: &str =
    "cpus 0-191\ncore 0,96 x96\ncache 0-5,96-101 x16+6\nnuma 0-11,96-107 x8+12\nsocket 0-47,96-143 x2+48";
/// The same with neighbours as hardware threads, cores dealt to nodes and packages in turns.
const INTERLEAVED: &str =
    "cpus 0-191\ncore 0-1 x96+2\ncache 0-191:2/32 x16+2\nnuma 0-191:2/16 x8+2\nsocket 0-191:2/4 x2+2";
const HOLES: &str = "cpus 0-7\noffline 1,6\ncore 0,4 x4\nnuma 0-1,4-5 x2+2";
const QUOTA: &str = "quota 2.5";
const ONE_NODE: &str = "mask 24-35,120-131";
/// A large and a small node in one package.
const UNEVEN: &str = "cpus 0-11\nnuma 0-7\nnuma 8-11";
/// Two packages whose firmware hides the nodes.
const HIDDEN: &str = "cpus 0-7\nsocket 0-3 x2+4";
/// More processors than a `cpu_set_t` has bits.
const HUGE: &str = "cpus 0-1535\ncore 0,768 x768\nnuma 0-95,768-863 x8+96\nsocket 0-383,768-1151 x2+384";

thread_local! {
    static BELIEVED: Cell<Option<&'static Description>> = const { Cell::new(None) };
}

/// The settings that `vars` make on the described machine, and the complaints.
fn settings(machine: &str, vars: &[(&str, &str)]) -> (Settings, Vec<String>) {
    let believed: &Description = Box::leak(Box::new(Description::parse(machine).unwrap()));
    BELIEVED.set(Some(believed));
    let processors = believed.worker_target() as u32;
    let machine = EnvMachine {
        usable: || BELIEVED.get().map_or(&[], |machine| &machine.cpus),
        subset: None,
        ll_caches: |cpus: &[Cpu]| BELIEVED.get().map_or_else(Vec::new, |machine| machine.caches_of(cpus)),
        num_procs: processors,
        worker_target: processors,
        stack_limit: None,
    };
    Settings::build(Vars::of(vars), &machine)
}

fn places(machine: &str, text: &str) -> PlaceList {
    let (settings, complaints) = settings(machine, &[("OMP_PLACES", text)]);
    assert_eq!(complaints, Vec::<String>::new(), "{text} on {machine}");
    settings.binding.bound.places.unwrap()
}

/// `first second .. last (number)`.
fn ends(places: &PlaceList) -> String {
    let all = places.to_string();
    let mut sets: Vec<&str> = all.split_inclusive('}').map(|set| set.trim_start_matches(',')).collect();
    let count = sets.len();
    if count > 4 {
        sets = vec![sets[0], sets[1], "..", sets[count - 1]];
    }
    format!("{} ({count})", sets.join(" "))
}

#[test]
fn named_places() {
    let table = [
        (ONE, "threads", "{0} (1)"),
        (ONE, "cores", "{0} (1)"),
        (ONE, "ll_caches", "{0} (1)"),
        (ONE, "numa_domains", "{0} (1)"),
        (ONE, "sockets", "{0} (1)"),
        (ONE, "cores(5)", "{0} (1)"),
        (TWO, "threads", "{0} {1} (2)"),
        (TWO, "cores(1)", "{0} (1)"),
        (TWO, "ll_caches", "{0:2} (1)"),
        (TWO, "numa_domains", "{0:2} (1)"),
        (TWO, "sockets(2)", "{0:2} (1)"),
        (TWO_NODES, "threads", "{0} {1} .. {63} (64)"),
        (TWO_NODES, "cores(40)", "{0} {1} .. {39} (40)"),
        (TWO_NODES, "ll_caches", "{0:8} {8:8} .. {56:8} (8)"),
        (TWO_NODES, "numa_domains", "{0:32} {32:32} (2)"),
        (TWO_NODES, "sockets", "{0:32} {32:32} (2)"),
        (FAR, "threads", "{0} {96} .. {191} (192)"),
        (FAR, "threads(3)", "{0} {96} {1} (3)"),
        (FAR, "cores", "{0,96} {1,97} .. {95,191} (96)"),
        (FAR, "ll_caches", "{0:6,96:6} {6:6,102:6} .. {90:6,186:6} (16)"),
        (FAR, "numa_domains", "{0:12,96:12} {12:12,108:12} .. {84:12,180:12} (8)"),
        (FAR, "numa_domains(2)", "{0:12,96:12} {12:12,108:12} (2)"),
        (FAR, "sockets", "{0:48,96:48} {48:48,144:48} (2)"),
        // Nodes 0, 2, 4, 6 are in package 0; neighbours in the list are neighbours on the machine.
        (INTERLEAVED, "threads", "{0} {1} .. {191} (192)"),
        (INTERLEAVED, "threads(3)", "{0} {1} {16} (3)"),
        (INTERLEAVED, "cores", "{0:2} {16:2} .. {190:2} (96)"),
        (
            INTERLEAVED,
            "ll_caches(2)",
            "{0:2,32:2,64:2,96:2,128:2,160:2} {16:2,48:2,80:2,112:2,144:2,176:2} (2)",
        ),
        (
            INTERLEAVED,
            "numa_domains(2)",
            "{0:2,16:2,32:2,48:2,64:2,80:2,96:2,112:2,128:2,144:2,160:2,176:2} \
             {4:2,20:2,36:2,52:2,68:2,84:2,100:2,116:2,132:2,148:2,164:2,180:2} (2)",
        ),
        (HOLES, "threads", "{0} {4} .. {7} (6)"),
        (HOLES, "cores", "{0,4} {5} {2} {3,7} (4)"),
        (HOLES, "numa_domains", "{0,4:2} {2:2,7} (2)"),
        (HOLES, "sockets", "{0,2:4,7} (1)"),
        (UNEVEN, "numa_domains", "{0:8} {8:4} (2)"),
        (UNEVEN, "sockets", "{0:12} (1)"),
        (UNEVEN, "ll_caches", "{0:8} {8:4} (2)"),
        // Which processors are closest to the same memory: all of them.
        (HIDDEN, "numa_domains", "{0:8} (1)"),
        (HIDDEN, "sockets", "{0:4} {4:4} (2)"),
        (HIDDEN, "ll_caches", "{0:4} {4:4} (2)"),
        (HUGE, "threads", "{0} {768} .. {1535} (1536)"),
        (HUGE, "cores", "{0,768} {1,769} .. {767,1535} (768)"),
        (HUGE, "numa_domains", "{0:96,768:96} {96:96,864:96} .. {672:96,1440:96} (8)"),
        (HUGE, "sockets", "{0:384,768:384} {384:384,1152:384} (2)"),
    ];
    for (machine, text, expected) in table {
        assert_eq!(ends(&places(machine, text)), expected, "{text} on\n{machine}");
    }
}

#[test]
fn a_mask_of_one_node_leaves_one_node() {
    let machine = &format!("{FAR}\n{ONE_NODE}");
    for (text, expected) in [
        ("threads", "{24} {120} .. {131} (24)"),
        ("cores", "{24,120} {25,121} .. {35,131} (12)"),
        ("ll_caches", "{24:6,120:6} {30:6,126:6} (2)"),
        ("numa_domains", "{24:12,120:12} (1)"),
        ("sockets", "{24:12,120:12} (1)"),
        ("{24:2}:2:2", "{24:2} {26:2} (2)"),
    ] {
        assert_eq!(ends(&places(machine, text)), expected, "{text}");
    }
    let (found, lines) = settings(machine, &[("OMP_PLACES", "{0:4}:8:4")]);
    assert_eq!(ends(&found.binding.bound.places.unwrap()), "{24:4} {28:4} (2)");
    assert_eq!(lines, ["OMP_PLACES='{0:4}:8:4': 24 of its processors may not be used; they are left out"]);
}

#[test]
fn lists_of_places() {
    let table = [
        (TWO_NODES, "{0,1,2,3},{4,5,6,7}", "{0:4} {4:4} (2)"),
        (TWO_NODES, "{0:4}:2:4", "{0:4} {4:4} (2)"),
        (TWO_NODES, " { 0 : 4 } : 2 : 4 ", "{0:4} {4:4} (2)"),
        (TWO_NODES, "{0:4}:2", "{0:4} {1:4} (2)"),
        (TWO_NODES, "{0:4:16}:4", "{0,16,32,48} {1,17,33,49} {2,18,34,50} {3,19,35,51} (4)"),
        (TWO_NODES, "{7:4:-1}", "{4:4} (1)"),
        (TWO_NODES, "{3}:4:-1", "{3} {2} {1} {0} (4)"),
        (TWO_NODES, "{0:8:2,!4}", "{0,2,6,8,10,12,14} (1)"),
        (TWO_NODES, "{!4,0:3,4}", "{0:3,4} (1)"),
        (TWO_NODES, "{0:2}:3:2,!{2:2}", "{0:2} {4:2} (2)"),
        (TWO_NODES, "{0},{1},!{0},{0}", "{1} {0} (2)"),
        (TWO_NODES, "{0:4},!{1}", "{0:4} (1)"),
        // A processor may stand for a place.
        (TWO_NODES, "5,1,3", "{5} {1} {3} (3)"),
        (TWO_NODES, "0:4:16", "{0} {16} {32} {48} (4)"),
        (TWO_NODES, "0:4,!2", "{0} {1} {3} (3)"),
        (FAR, "{0:6,96:6}:16:6", "{0:6,96:6} {6:6,102:6} .. {90:6,186:6} (16)"),
        (HUGE, "{1023:2}:4:2,!{1027:2}", "{1023:2} {1025:2} {1029:2} (3)"),
        (HUGE, "{0:1536}", "{0:1536} (1)"),
    ];
    for (machine, text, expected) in table {
        assert_eq!(ends(&places(machine, text)), expected, "{text}");
    }
    for wrong in [
        "{}",
        "{0",
        "{0},",
        "{0:0}",
        "{0:-2}",
        "{0}:0",
        "{0:2}:2:",
        "{0,!0}",
        "{-1}",
        "!{0}",
        "{0:2:-1}",
        "{0}:2:-1",
        "{0}{1}",
        "{0};{1}",
        "cores(0)",
        "cores(-1)",
        "cores()",
        "cores(2",
        "cores,sockets",
        "{0},!{0}:2",
        "{99999999999}",
    ] {
        assert_eq!(settings(TWO_NODES, &[("OMP_PLACES", wrong)]).1.len(), 1, "{wrong}");
    }
}

#[test]
fn processors_and_workers() {
    let table = [
        (ONE.to_owned(), (1, 1, 1)),
        (TWO.to_owned(), (2, 2, 2)),
        (FAR.to_owned(), (192, 192, 192)),
        (HOLES.to_owned(), (6, 6, 6)),
        (HUGE.to_owned(), (1536, 1536, 1536)),
        (format!("{FAR}\n{QUOTA}"), (3, 3, 3)),
        (format!("{FAR}\n{ONE_NODE}"), (24, 24, 24)),
        (format!("{FAR}\n{ONE_NODE}\n{QUOTA}"), (3, 3, 3)),
        (format!("{FAR}\n{ONE_NODE}\nquota 100"), (24, 24, 24)),
    ];
    for (machine, expected) in &table {
        let numbers = |vars| {
            let (s, lines) = settings(machine, vars);
            assert!(lines.is_empty(), "{lines:?}");
            (s.num_procs, s.scheduling.workers, s.initial.nthreads)
        };
        assert_eq!(numbers(&[]), *expected, "{machine}");
        assert_eq!(numbers(&[("GANGWAY_WORKERS", "64")]), (expected.0, 64, 64), "{machine}");
        assert_eq!(numbers(&[("OMP_NUM_THREADS", "5")]), (expected.0, expected.1, 5), "{machine}");
    }
}

#[test]
fn a_quota_takes_no_place_away() {
    let machine = &format!("{FAR}\n{QUOTA}");
    assert_eq!(ends(&places(machine, "cores")), "{0,96} {1,97} .. {95,191} (96)");
    let places = places(machine, "cores");
    let team = assign(Spread, Some(0), places.all(), 3).unwrap();
    assert_eq!(
        team.map(|(place, part)| (place, part.start, part.end)).collect::<Vec<_>>(),
        [(0, 0, 32), (32, 32, 64), (64, 64, 96)]
    );
}

/// A team of so many threads under a policy; the next one is forked by the thread of this number.
type Team = (ProcBind, u32, u32);

/// Processors and partition of each thread of the last of the teams, each forked by a thread of the
/// one before.
fn bound(machine: &str, text: &str, teams: &[Team]) -> String {
    let places = places(machine, text);
    let (mut place, mut partition) = (0, places.all());
    let mut shown = String::new();
    for &(policy, size, next) in teams {
        let team: PlaceAssignment = assign(policy, Some(place), partition.clone(), size).unwrap();
        let one = |(place, part): (u32, core::ops::Range<u32>)| {
            let procs: Vec<String> = places.procs(place as usize).iter().map(usize::to_string).collect();
            format!("{} of {}-{}", procs.join("+"), part.start, part.end - 1)
        };
        shown = team.clone().map(one).collect::<Vec<_>>().join(", ");
        (place, partition) = team.thread(next);
    }
    shown
}

#[test]
fn bindings() {
    let table: &[(&str, &str, &[Team], &str)] = &[
        (ONE, "cores", &[(Close, 2, 0)], "0 of 0-0, 0 of 0-0"),
        (ONE, "cores", &[(Spread, 2, 0)], "0 of 0-0, 0 of 0-0"),
        (TWO, "cores", &[(Close, 3, 0)], "0 of 0-1, 0 of 0-1, 1 of 0-1"),
        (TWO, "cores", &[(Spread, 2, 0)], "0 of 0-0, 1 of 1-1"),
        (FAR, "threads", &[(Close, 3, 0)], "0 of 0-191, 96 of 0-191, 1 of 0-191"),
        (FAR, "cores", &[(Spread, 4, 0)], "0+96 of 0-23, 24+120 of 24-47, 48+144 of 48-71, 72+168 of 72-95"),
        // Nested: eight threads with a node each, then four in the fourth node, then two beside its
        // second thread.
        (
            FAR,
            "cores",
            &[(Spread, 8, 3), (Spread, 4, 1)],
            "36+132 of 36-38, 39+135 of 39-41, 42+138 of 42-44, 45+141 of 45-47",
        ),
        (FAR, "cores", &[(Spread, 8, 3), (Spread, 4, 1), (Close, 2, 0)], "39+135 of 39-41, 40+136 of 39-41"),
        (FAR, "cores", &[(Spread, 8, 7), (Close, 3, 2), (Close, 2, 0)], "86+182 of 84-95, 87+183 of 84-95"),
        (FAR, "cores", &[(Spread, 96, 95), (Primary, 2, 0)], "95+191 of 95-95, 95+191 of 95-95"),
        (FAR, "cores", &[(Close, 96, 95), (Close, 2, 0)], "95+191 of 0-95, 0+96 of 0-95"),
        (FAR, "cores(4)", &[(Close, 4, 3), (Spread, 2, 0)], "3+99 of 2-3, 0+96 of 0-1"),
        (FAR, "cores(5)", &[(Spread, 2, 1), (Spread, 2, 0)], "3+99 of 3-3, 4+100 of 4-4"),
        (FAR, "{0},{96},{1}", &[(Spread, 5, 0)], "0 of 0-0, 0 of 0-0, 96 of 1-1, 96 of 1-1, 1 of 2-2"),
        (FAR, "{0},{96},{1}", &[(Close, 3, 2), (Close, 4, 0)], "1 of 0-2, 1 of 0-2, 0 of 0-2, 96 of 0-2"),
        (FAR, "cores", &[(Close, 3, 2), (Primary, 2, 1)], "2+98 of 0-95, 2+98 of 0-95"),
        (INTERLEAVED, "cores", &[(Close, 2, 0)], "0+1 of 0-95, 16+17 of 0-95"),
        (INTERLEAVED, "cores", &[(Spread, 2, 0)], "0+1 of 0-47, 2+3 of 48-95"),
        (HOLES, "cores", &[(Spread, 2, 0)], "0+4 of 0-1, 2 of 2-3"),
        (HOLES, "threads", &[(Close, 6, 0)], "0 of 0-5, 4 of 0-5, 5 of 0-5, 2 of 0-5, 3 of 0-5, 7 of 0-5"),
        (UNEVEN, "threads", &[(Spread, 3, 2), (Close, 2, 0)], "8 of 8-11, 9 of 8-11"),
        (HUGE, "cores", &[(Spread, 3, 0)], "0+768 of 0-255, 256+1024 of 256-511, 512+1280 of 512-767"),
        (HUGE, "threads", &[(Spread, 1536, 1535), (Close, 2, 1)], "1535 of 1535-1535, 1535 of 1535-1535"),
    ];
    for (machine, text, teams, expected) in table {
        assert_eq!(bound(machine, text, teams), *expected, "{text}, {teams:?} on\n{machine}");
    }
}

#[test]
fn orders_of_llvm_on_large_machines() {
    let shown =
        |machine, text| ends(&settings(machine, &[("KMP_AFFINITY", text)]).0.binding.bound.places.unwrap());
    assert_eq!(shown(FAR, "granularity=fine,compact"), "{0} {96} .. {191} (192)");
    assert_eq!(shown(FAR, "granularity=core,scatter"), "{0,96} {48,144} .. {95,191} (96)");
    assert_eq!(shown(INTERLEAVED, "granularity=core,scatter"), "{0:2} {2:2} .. {190:2} (96)");
    assert_eq!(shown(HUGE, "granularity=core,compact"), "{0,768} {1,769} .. {767,1535} (768)");
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let line = |value: &str| believe(&Vars::of(&[("GANGWAY_TOPOLOGY", value)]));
    assert_eq!(
        line("/nowhere/machine"),
        ["GANGWAY_TOPOLOGY='/nowhere/machine': No such file or directory (os error 2); using this machine"]
    );
    let path = std::env::temp_dir().join(format!("gangway-described-{}", std::process::id()));
    std::fs::write(&path, "cpus 0-3\ncores 4\n").unwrap();
    let name = path.to_str().unwrap();
    let lines = line(name);
    std::fs::remove_file(&path).unwrap();
    let why = "line 2: 'cores' is none of cpus, offline, mask, quota, core, cache, numa, slit, socket";
    assert_eq!(lines, [format!("GANGWAY_TOPOLOGY='{name}': {why}; using this machine")]);
}
