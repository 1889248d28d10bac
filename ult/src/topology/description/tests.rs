//! What descriptions mean, and how wrong ones are refused. Expected values are written by hand.

use super::super::Cpu;
use super::Description;

fn good(text: &str) -> Description {
    Description::parse(text).unwrap_or_else(|why| panic!("{why} in\n{text}"))
}

/// `os:core/numa/socket`, in order.
fn shown(text: &str) -> String {
    let one = |cpu: &Cpu| format!("{}:{}/{}/{}", cpu.os, cpu.core, cpu.numa, cpu.socket);
    good(text).cpus.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_left_out_is_flat() {
    assert_eq!(shown("cpus 0"), "0:0/0/0");
    assert_eq!(shown("# two\n\n  cpus 0-1 # of them\n"), "0:0/0/0 1:1/0/0");
    let machine = good("cpus 0-1");
    assert_eq!((machine.quota, machine.numbers, machine.worker_target()), (None, 2, 2));
    assert!(machine.caches.is_empty());
}

#[test]
fn groups_and_their_copies() {
    let text = "cpus 0-7\ncore 0,4 x4\nnuma 0-1,4-5 x2+2\nsocket 0-7";
    assert_eq!(shown(text), "0:0/0/0 4:0/0/0 1:1/0/0 5:1/0/0 2:2/1/0 6:2/1/0 3:3/1/0 7:3/1/0");
    let interleaved = "cpus 0-7\ncore 0-1 x4+2\nsocket 0-7:2/4 x2+2";
    assert_eq!(shown(interleaved), "0:0/0/0 1:0/0/0 4:4/0/0 5:4/0/0 2:2/0/1 3:2/0/1 6:6/0/1 7:6/0/1");
}

#[test]
fn processors_that_are_off_or_not_allowed() {
    let text = "cpus 0-7\ncore 0,4 x4\nnuma 0-1,4-5 x2+2";
    // Core 1 has lost its first thread and is known by the second, as the kernel tells it.
    assert_eq!(shown(&format!("{text}\noffline 1,6\noffline 0")), "4:4/0/0 5:5/0/0 2:2/1/0 3:3/1/0 7:3/1/0");
    assert_eq!(shown(&format!("{text}\nmask 2,4,6")), "4:0/0/0 2:2/1/0 6:2/1/0");
    assert_eq!(shown(&format!("{text}\nmask 2,4,6,900\noffline 6")), "4:0/0/0 2:2/1/0");
    assert_eq!(good(&format!("{text}\nmask 0-3")).numbers, 8);
}

#[test]
fn caches_hold_what_may_be_used() {
    let machine = good("cpus 0-7\ncache 0-7:1/2 x2\nmask 1-6\nsocket 4-7\nsocket 0-3");
    assert_eq!(machine.caches, [[4, 6, 2].as_slice(), &[5, 1, 3]].map(sorted));
    assert_eq!(machine.caches_of(&machine.cpus[..2]), [[4], [5]]);
}

fn sorted(numbers: &[usize]) -> Vec<usize> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers
}

#[test]
fn quotas_limit_workers() {
    let table = [("2.5", 3), ("0.2", 1), ("4", 4), ("1000", 192), ("2.0", 2)];
    for (quota, workers) in table {
        assert_eq!(good(&format!("cpus 0-191\nquota {quota}")).worker_target(), workers, "{quota}");
    }
}

#[test]
fn more_processors_than_the_c_library_counts() {
    let machine = good("cpus 0-1535\ncore 0,768 x768\nnuma 0-95,768-863 x8+96\nsocket 0-383,768-1151 x2+384");
    assert_eq!((machine.cpus.len(), machine.numbers), (1536, 1536));
    assert_eq!(machine.cpus[0], Cpu { os: 0, core: 0, socket: 0, numa: 0 });
    assert_eq!(machine.cpus[1], Cpu { os: 768, core: 0, socket: 0, numa: 0 });
    assert_eq!(machine.cpus[768], Cpu { os: 384, core: 384, socket: 1, numa: 4 });
    assert_eq!(machine.cpus[1535], Cpu { os: 1535, core: 767, socket: 1, numa: 7 });
}

#[test]
fn every_mistake_is_refused_with_its_line() {
    let table = [
        ("", "a line 'cpus' is missing"),
        ("quota 3", "a line 'cpus' is missing"),
        ("cpus", "line 1: cpus of what?"),
        ("\ncpus 0-x", "line 2: '0-x' is not a list of processors such as 0-3,8"),
        ("cpus 3-1", "line 1: '3-1' is not a list of processors such as 0-3,8"),
        ("cpus 0-3,2", "line 1: '0-3,2' names a processor twice"),
        ("cpus 0-65536", "line 1: processors end at 65535"),
        ("cpus 0-3 x2", "line 1: cpus has one value"),
        ("cpus 0-3\ncpus 4", "line 2: cpus is given twice"),
        ("cpus 0-3\nmask 0\nmask 1", "line 3: mask is given twice"),
        ("cpus 0-3\nquota none", "line 2: 'none' is not a number of processors above 0"),
        ("cpus 0-3\nslit 10,x", "line 2: '10,x' is not a row of distances such as 10,21"),
        ("cpus 0-3\nslit 10,0", "line 2: '10,0' is not a row of distances such as 10,21"),
        ("cpus 0-3\nslit 10,20", "slit: 1 lines of 1 distances are needed"),
        ("cpus 0-3\nnuma 0-1 x2+2\nslit 10,20", "slit: 2 lines of 2 distances are needed"),
        ("cpus 0-3\nnuma 0-1 x2+2\nslit 10,20\nslit 20", "slit: 2 lines of 2 distances are needed"),
        ("cpus 0-3\nquota 0", "line 2: '0' is not a number of processors above 0"),
        ("cpus 0-3\nquota inf", "line 2: 'inf' is not a number of processors above 0"),
        (
            "cpus 0-3\ndie 0-3",
            "line 2: 'die' is none of cpus, offline, mask, quota, core, cache, numa, slit, socket",
        ),
        ("cpus 0-3\ncore 0-1 x2+2 again", "line 2: 'again' is too much"),
        ("cpus 0-3\ncore 0-1 2", "line 2: '2' is not copies such as x4 or x4+16"),
        ("cpus 0-3\ncore 0-1 x0", "line 2: 'x0' is not copies such as x4 or x4+16"),
        ("cpus 0-3\ncore 0-1 x2+0", "line 2: 'x2+0' is not copies such as x4 or x4+16"),
        ("cpus 0-3\ncore 0-1 x65536+65536", "line 2: processors end at 65535"),
        ("cpus 0-3\ncore 0-1 x3+2", "core: there is no processor 4"),
        ("cpus 0-3\nsocket 0-2 x2", "socket: processor 1 is in two"),
        ("cpus 0-3\nnuma 0-2", "numa: processor 3 is in none"),
        (
            "cpus 0-3\ncore 0,2 x2\nsocket 0-1 x2+2",
            "core: processors 0 and 2 are in different packages or nodes",
        ),
        ("cpus 0-3\nmask 7", "no processor may be used"),
        ("cpus 0-3\noffline 0-3", "no processor may be used"),
    ];
    for (text, why) in table {
        assert_eq!(Description::parse(text).unwrap_err(), why, "{text:?}");
    }
}

/// Each of these took gigabytes, or minutes.
#[test]
fn no_file_takes_long() {
    let all = "cpus 0-65535\n";
    assert_eq!(
        Description::parse(&format!("{all}core 0-65535\noffline 0-65534")).map(|machine| machine.cpus.len()),
        Ok(1)
    );
    assert_eq!(
        Description::parse(&format!("{all}mask 0-65535\ncache 0 x65536"))
            .map(|machine| machine.caches_of(&machine.cpus).len()),
        Ok(65536)
    );
    let again = format!("{all}{}", "core 0 x65536\n".repeat(50_000));
    assert_eq!(Description::parse(&again), Err("line 7: core: too many processors".into()));
    assert_eq!(
        Description::parse(&format!("{all}core 0-32767 x32768")),
        Err("line 2: a processor is in two".into())
    );
    assert_eq!(
        Description::parse(&format!("{all}{}", "offline 0-65534\n".repeat(50_000))),
        Err("line 7: offline: too many processors".into())
    );
}
