//! Histories made by hand, and what becomes of them.

use super::*;

/// What the events (lane, time, kind, small, a, b) become, one event of the file a line, without
/// what all lines have.
fn replay(lanes: usize, events: &[(usize, u64, TraceKind, u32, u64, u64)]) -> Vec<String> {
    let mut text = Vec::new();
    let mut replay =
        Replay::new(&mut text, 1, Scale::plain(), (0..lanes).map(|n| (n, false)).collect()).unwrap();
    for &(lane, ticks, kind, small, a, b) in events {
        replay
            .take(lane, &TraceEvent { ticks, a, b, small, kind }, &|address| Some(address as usize))
            .unwrap();
    }
    replay.finish(0).unwrap();
    let text = String::from_utf8(text).unwrap();
    let events = text.lines().filter(|line| line.starts_with("{\"ph\""));
    events.map(|line| line.trim_end_matches(',').replace("\"pid\":1,", "").replace('"', "")).collect()
}

#[test]
fn a_task_that_waits_and_goes_on_elsewhere_is_three_slices() {
    let lines = replay(
        2,
        &[
            (0, 1000, TraceKind::ImplicitBegin, 0, 50, 0),
            (0, 2000, TraceKind::TaskCreate, 0, 70, 0),
            (0, 3000, TraceKind::Switch, 0, 0x100, 0x200),
            (0, 3100, TraceKind::TaskBegin, 0, 70, 0),
            (0, 4000, TraceKind::WaitBegin, Cause::Lock as u32, 0, 0),
            (0, 5000, TraceKind::Switch, 0, 0x200, 0x100),
            (1, 6000, TraceKind::Switch, 0, 0x300, 0x200),
            (1, 7000, TraceKind::WaitEnd, Cause::Lock as u32, 0, 0),
            (1, 8000, TraceKind::TaskEnd, 0, 70, 0),
        ],
    );
    assert_eq!(
        lines,
        [
            "{ph:C,tid:0,name:ready tasks of 0,ts:2,args:{ready:1}}",
            "{ph:X,tid:0,name:initial task,cat:implicit,ts:1,dur:2,args:{task:1,region:0,thread:0}}",
            "{ph:X,tid:0,name:lock,cat:wait,ts:4,dur:1,args:{task:2}}",
            "{ph:X,tid:0,name:?,cat:task,ts:3.100,dur:1.900,args:{task:2,parent:1,by:0,created:2}}",
            "{ph:X,tid:1,name:lock,cat:wait,ts:6.001,dur:0.999,args:{task:2,end:1}}",
            "{ph:X,tid:1,name:?,cat:task,ts:6,dur:2,args:{task:2,end:1}}",
            "{ph:X,tid:0,name:initial task,cat:implicit,ts:5,dur:3,args:{task:1,region:0,thread:0}}",
        ]
        .map(str::to_owned)
    );
}

#[test]
fn dependences_and_steals_are_arrows() {
    let lines = replay(
        2,
        &[
            (0, 100, TraceKind::TaskCreate, 0, 70, 0),
            (0, 200, TraceKind::TaskCreate, 0, 80, 0),
            (0, 201, TraceKind::Depend, 0, 70, 80),
            (0, 300, TraceKind::TaskBegin, 0, 70, 0),
            (0, 400, TraceKind::TaskEnd, 0, 70, 0),
            (1, 500, TraceKind::StealTask, 0, 0, 0),
            (1, 510, TraceKind::TaskBegin, 0, 80, 0),
            (1, 600, TraceKind::TaskEnd, 0, 80, 0),
        ],
    );
    let arrows: Vec<_> =
        lines.iter().filter(|line| line.contains("ph:s") || line.contains("ph:f")).cloned().collect();
    assert_eq!(
        arrows,
        [
            "{ph:s,tid:0,name:dependence,cat:dependence,ts:0.399,id:1,args:{from:1}}",
            "{ph:f,tid:1,name:dependence,cat:dependence,ts:0.510,id:1,bp:e,args:{from:1,to:2}}",
            "{ph:s,tid:0,name:steal,cat:steal,ts:0.200,id:2}",
            "{ph:f,tid:1,name:steal,cat:steal,ts:0.510,id:2,bp:e}",
        ]
        .map(str::to_owned)
    );
    assert!(lines.iter().any(|line| line.contains("victim:0")));
}

#[test]
fn threads_of_a_gang_say_which() {
    let lines = replay(
        1,
        &[
            (0, 10, TraceKind::RegionBegin, 4, 900, 0),
            (0, 20, TraceKind::Gang, 1, 6, 3),
            (0, 30, TraceKind::Switch, 0, 0x100, 0x200),
            (0, 40, TraceKind::UltBegin, 1, 6, 0),
            (0, 50, TraceKind::ImplicitBegin, 2, 60, 900),
            (0, 60, TraceKind::ImplicitEnd, 0, 60, 0),
            (0, 70, TraceKind::UltEnd, 0, 0, 0),
            (0, 80, TraceKind::Switch, 0, 0x200, 0x100),
            (0, 90, TraceKind::RegionEnd, 0, 900, 0),
        ],
    );
    assert_eq!(lines, [
        "{ph:i,tid:0,name:gang,cat:gang,ts:0.020,s:t,args:{gang:6,level:1,size:3}}",
        "{ph:X,tid:0,name:?,cat:region,ts:0.010,dur:0.020,args:{region:1,size:4,task:0}}",
        "{ph:X,tid:0,name:?,cat:implicit,ts:0.050,dur:0.010,args:{task:1,region:1,thread:2,gang:6,level:1,end:1}}",
        "{ph:X,tid:0,name:?,cat:region,ts:0.080,dur:0.010,args:{region:1,size:4,task:0,end:1}}",
    ].map(str::to_owned));
}

#[test]
fn what_the_monitor_does_is_marked_where_it_was_done() {
    let lines = replay(
        3,
        &[
            (2, 10, TraceKind::Stall, 0, 1, 0),
            (2, 11, TraceKind::Interrupt, 0, 1, 0),
            (1, 12, TraceKind::Preempt, 0, 0, 0),
            (1, 13, TraceKind::Switch, 0, 0x100, 0x200),
            (1, 20, TraceKind::Preempt, 0, 0, 0),
            (1, 21, TraceKind::Sleep, 0, 0, 0),
            (1, 29, TraceKind::Wake, 0, 0, 0),
        ],
    );
    let marks: Vec<_> = lines.iter().map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(
        marks,
        ["name:stall", "name:interrupt", "name:switched out", "name:asleep"],
        "one preemption found nobody to go to"
    );
    assert!(lines.iter().all(|line| line.contains("tid:1,")));
}

#[test]
fn a_lane_with_nothing_to_do_waits_for_what_is_suspended_there() {
    let lines = replay(
        1,
        &[
            (0, 1000, TraceKind::ImplicitBegin, 0, 50, 0),
            (0, 2000, TraceKind::WaitBegin, Cause::Taskwait as u32, 0, 0),
            (0, 3000, TraceKind::Switch, 0, 0x100, 0x200),
            (0, 5000, TraceKind::Sleep, 0, 0, 0),
            (0, 7000, TraceKind::Wake, 0, 0, 0),
            (0, 8000, TraceKind::Switch, 0, 0x200, 0x100),
            (0, 8100, TraceKind::WaitEnd, Cause::Taskwait as u32, 0, 0),
            (0, 9000, TraceKind::ImplicitEnd, 0, 50, 0),
        ],
    );
    let slices: Vec<_> =
        lines.iter().filter(|line| line.contains("taskwait") || line.contains("asleep")).cloned().collect();
    assert_eq!(
        slices,
        [
            "{ph:X,tid:0,name:taskwait,cat:wait,ts:2,dur:1,args:{task:1}}",
            "{ph:X,tid:0,name:asleep,cat:sleep,ts:5,dur:2}",
            "{ph:X,tid:0,name:taskwait,cat:wait,ts:3,dur:5,args:{task:1,idle:1}}",
            "{ph:X,tid:0,name:taskwait,cat:wait,ts:8.001,dur:0.099,args:{task:1,end:1}}",
        ]
        .map(str::to_owned)
    );
}

#[test]
fn ends_without_a_beginning_are_left_out() {
    let lines = replay(
        1,
        &[
            (0, 10, TraceKind::TaskEnd, 0, 7, 0),
            (0, 11, TraceKind::WaitEnd, 0, 0, 0),
            (0, 12, TraceKind::TaskBegin, 0, 9, 0),
            (0, 13, TraceKind::ImplicitEnd, 0, 3, 0),
        ],
    );
    assert_eq!(lines, Vec::<String>::new());
}

#[test]
fn tasks_left_out_are_counted_and_stood_for() {
    let lines = replay(
        1,
        &[
            (0, 1000, TraceKind::ImplicitBegin, 0, 50, 0),
            (0, 2000, TraceKind::TaskCreate, 8, 70, 0),
            (0, 2100, TraceKind::TaskBegin, 0, 70, 0),
            (0, 2500, TraceKind::ShortBegin, 0, 0, 0),
            (0, 2800, TraceKind::ShortEnd, 0, 0, 0),
            (0, 3000, TraceKind::Unmeasured, 0, 0, 0),
            (0, 4000, TraceKind::TaskEnd, 0, 70, 0),
            (0, 5000, TraceKind::Ran, 6, 1500, 0),
            (0, 5500, TraceKind::Ran, 3, 4800, 0),
            (0, 6000, TraceKind::LeftOut, 2, 0, 0),
            (0, 7000, TraceKind::ImplicitEnd, 0, 50, 0),
        ],
    );
    assert_eq!(lines[1..], [
        "{ph:X,tid:0,name:short tasks,cat:short,ts:2.500,dur:0.300,args:{task:2,end:1}}",
        "{ph:X,tid:0,name:?,cat:task,ts:2.100,dur:1.900,args:{task:2,parent:1,by:0,created:2,stands:8,unmeasured:1,end:1}}",
        "{ph:M,tid:10000,name:thread_name,args:{name:worker 0: tasks left out}}",
        "{ph:M,tid:10000,name:thread_sort_index,args:{sort_index:0}}",
        "{ph:X,tid:10000,name:short tasks,cat:many,ts:1.500,dur:3.500,args:{lane:0,tasks:6}}",
        "{ph:X,tid:10000,name:short tasks,cat:many,ts:5,dur:0.500,args:{lane:0,tasks:3}}",
        "{ph:X,tid:0,name:initial task,cat:implicit,ts:1,dur:6,args:{task:1,region:0,thread:0,end:1}}",
    ].map(str::to_owned));
}

#[test]
fn running_workers_are_a_counter_and_moves_are_marks() {
    let lines = replay(
        2,
        &[
            (1, 1000, TraceKind::RunningWorkers, 1, 2, 0),
            (0, 2000, TraceKind::Move, 1, 0, 0),
            (0, 3000, TraceKind::RunningWorkers, 2, 2, 0),
        ],
    );
    assert_eq!(
        lines,
        [
            "{ph:C,tid:0,name:running workers,ts:1,args:{running:1,withdrawn:1}}",
            "{ph:i,tid:0,name:moves here,cat:move,ts:2,s:t,args:{from:1}}",
            "{ph:C,tid:0,name:running workers,ts:3,args:{running:2,withdrawn:0}}",
        ]
        .map(str::to_owned)
    );
}
