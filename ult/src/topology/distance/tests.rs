//! Distances on described machines, other than the one that runs the tests. Expected values are
//! written by hand.

use super::{CpuSite, Distances, FARTHEST, PREFERENCES, moves};
use crate::topology::Description;

fn distances(text: &str) -> Option<Distances> {
    Description::parse(text).unwrap_or_else(|why| panic!("{why} in\n{text}")).distances()
}

/// Two packages of four nodes of twelve cores of two hardware threads; six cores share a cache.
/// Nodes of a package are 12 apart, others 32.
const LARGE: &str = "cpus 0-191\ncore 0,96 x96\ncache 0-5,96-101 x16+6\nnuma 0-11,96-107 x8+12\nsocket 0-47,96-143 x2+48
slit 10,12,12,12,32,32,32,32\nslit 12,10,12,12,32,32,32,32\nslit 12,12,10,12,32,32,32,32\nslit 12,12,12,10,32,32,32,32
slit 32,32,32,32,10,12,12,12\nslit 32,32,32,32,12,10,12,12\nslit 32,32,32,32,12,12,10,12\nslit 32,32,32,32,12,12,12,10";

#[test]
fn each_step_of_a_large_machine() {
    let machine = distances(LARGE).unwrap();
    let table = [
        (0, 96, 0),
        (0, 5, 1),
        (0, 101, 1),
        (0, 6, 2),
        (0, 102, 2),
        (0, 12, 3),
        (0, 47, 3),
        (0, 48, 4),
        (0, 191, 4),
    ];
    for (a, b, expected) in table {
        assert_eq!(machine.between(a, b), expected, "{a} {b}");
        assert_eq!(machine.between(b, a), expected, "{b} {a}");
        assert_eq!(machine.between(a, a), 0);
    }
    assert_eq!(machine.between(0, 192), FARTHEST);
    assert_eq!(machine.between(5000, 0), FARTHEST);
}

#[test]
fn seats_have_a_core_each_before_they_share() {
    let machine = distances(LARGE).unwrap();
    let table = [
        (0, 5, 0),
        (0, 96, 1),
        (0, 101, 1),
        (0, 6, 2),
        (0, 102, 3),
        (0, 12, 4),
        (0, 108, 5),
        (0, 48, 6),
        (0, 144, 7),
    ];
    for (a, b, expected) in table {
        assert_eq!(machine.preference(a, b), expected, "{a} {b}");
    }
    assert_eq!(machine.preference(101, 96), 0, "second hardware threads among themselves");
    assert_eq!(machine.preference(101, 5), 1, "its own core");
    let all = (0..192).flat_map(|a| (0..192).map(move |b| (a, b)));
    assert!(all.into_iter().all(|(a, b)| usize::from(machine.preference(a, b)) < PREFERENCES));
    assert_eq!(usize::from(machine.preference(0, 999)), PREFERENCES - 1);
}

#[test]
fn nodes_are_ranked_from_where_one_stands() {
    let text = "cpus 0-5\nnuma 0\nnuma 1\nnuma 2\nnuma 3\nnuma 4\nnuma 5
slit 10,11,15,20,30,40\nslit 99,10,99,99,99,99\nslit 10,10,10,10,10,10\nslit 12,11,11,10,12,13\nslit 20,20,20,20,10,20\nslit 1,2,3,4,5,10";
    let machine = distances(text).unwrap();
    let from = |a| (0..6).map(|b| if a == b { 0 } else { machine.between(a, b) }).collect::<Vec<_>>();
    assert_eq!(from(0), [0, 3, 4, 5, 6, 6], "four ranks");
    assert_eq!(from(1), [3, 0, 3, 3, 3, 3]);
    assert_eq!(from(3), [4, 3, 3, 0, 4, 5]);
}

#[test]
fn without_a_slit_other_nodes_are_alike() {
    let machine = distances("cpus 0-5\nnuma 0-1 x3+2").unwrap();
    assert_eq!([1, 2, 5].map(|to| machine.between(0, to)), [2, 3, 3]);
}

#[test]
fn flat_machines_have_none() {
    for text in ["cpus 0", "cpus 0-63", "cpus 0-7\ncache 0-7\nnuma 0-7\nsocket 0-3 x2+4"] {
        assert!(distances(text).is_none(), "{text}");
    }
    for text in ["cpus 0-3\ncore 0-1 x2+2", "cpus 0-3\ncache 0-1 x2+2", "cpus 0-3\nnuma 0-1 x2+2"] {
        assert!(distances(text).is_some(), "{text}");
    }
}

#[test]
fn a_mask_leaves_holes() {
    let machine = distances(&format!("{LARGE}\nmask 3,99,50,101")).unwrap();
    assert_eq!(
        [99, 101, 50].map(|to| machine.between(3, to)),
        [0, 1, 3],
        "one far node is the nearest of those there are"
    );
    assert_eq!(machine.between(3, 4), FARTHEST);
    assert_eq!(machine.preference(3, 101), 0, "the first usable hardware thread of its core");
}

#[test]
fn sites_count_their_changes() {
    let site = CpuSite::new();
    assert_eq!(site.get(), None);
    let before = moves();
    site.set(Some(0));
    assert_eq!(site.get(), Some(0));
    assert!(moves() != before);
    site.set(None);
    assert_eq!(site.get(), None);
    let here = CpuSite::new();
    assert_eq!(here.note(), here.get());
    assert!(here.get().is_some(), "the kernel says where we are");
}
