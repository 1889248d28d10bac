//! From events in the order of time to slices, arrows, marks and counters.
//!
//! Each context has a stack of what is open on it. A switch closes all slices of the context that
//! is left, at its lane, and opens those of the context that goes on. While nothing is open on the
//! context that runs, the lane waits for what those wait for that were left there. So a task which
//! waits in the middle, or comes back on another kernel thread, is several slices with one number;
//! the last one is marked `"end":1`. On a lane times only grow, by a nanosecond where two things
//! begin at one time: slices nest.
//!
//! Tasks that were left out are counted: a task that is written stands for those of its thread
//! before it. Each kernel thread has a lane of its own that shows where they were run, beside the
//! one for slices.
//!
//! An event that is lost at the end of a lane looks like one that did not happen: slices that are
//! open there end with the lane's last event.

use std::collections::HashMap;
use std::io::{self, Write};

use super::clock::{self, Scale};
use super::json::{ArgumentValue, ArrowEnd, JsonArguments, JsonSlice, Out, escape};
use super::kind::{Cause, TraceEvent, TraceKind};
use super::lane::Lane;
use super::merge::Merge;
use super::names::PlaceNames;
use super::queues::DeviceQueues;
use super::tasks::{Tasks, TracedTask, TracedTeam};

/// The lane number of kernel threads without a worker.
const NO_WORKER: usize = 9999;

/// The lane number of what was left out of the lane 0; see the module.
const MANY: usize = 10_000;

/// Nanoseconds: a wait that is shorter was none, as for a lock that is free.
const NO_WAIT: u64 = 100;

/// Something open.
#[derive(Clone, Copy)]
struct Open {
    what: ReplayEvent,
    /// The address that its end names.
    address: u64,
    /// Its task's number, or its region's.
    id: u64,
    place: u64,
    /// Where the slice begins that is open now.
    begin: u64,
    /// It has had a slice.
    again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplayEvent {
    /// The facts of its first slice.
    Task {
        parent: u64,
        lane: usize,
        created: u64,
        victim: Option<u32>,
        stands: u32,
        unmeasured: bool,
    },
    Implicit {
        team: TracedTeam,
        number: u32,
        gang: Option<(i64, i32)>,
    },
    Region(TracedTeam),
    Cause(Cause, u64),
    /// Tasks that are left out, run at once by one that is written.
    Short,
}

impl PartialEq for TracedTeam {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for TracedTeam {}

/// From when to when, in nanoseconds.
#[derive(Clone, Copy)]
struct ReplayTime {
    begin: u64,
    end: u64,
}

/// A wait that was left, and its task.
#[derive(Clone, Copy)]
struct SuspendedWait {
    cause: Cause,
    id: u64,
}

/// What a worker leaves, and what it goes on with.
#[derive(Clone, Copy)]
struct ReplaySwitch {
    from: u64,
    to: u64,
}

/// A context of the scheduler.
#[derive(Default)]
struct Context {
    open: Vec<Open>,
    gang: Option<(i64, i32)>,
}

/// A kernel thread.
struct Track {
    number: usize,
    /// The context that runs.
    context: u64,
    /// No time on this lane is before this one.
    now: u64,
    asleep: Option<u64>,
    victim: Option<u32>,
    preempted: bool,
    lost: bool,
    /// Contexts that were left here with something open, the last one last.
    left: Vec<u64>,
    /// Since when nothing is open on the context that runs.
    idle: Option<u64>,
    /// Where the last slice of tasks that are left out ends.
    many: Option<u64>,
}

/// Tasks in numbers.
#[derive(Default)]
struct ReplayCounts {
    made: u64,
    written: u64,
    left_out_ran: u64,
}

/// See the module.
struct Replay<W: Write> {
    out: Out<W>,
    scale: Scale,
    names: PlaceNames,
    tracks: Vec<Track>,
    contexts: HashMap<u64, Context>,
    tasks: Tasks,
    teams: HashMap<u64, TracedTeam>,
    regions: u64,
    queues: DeviceQueues,
    counts: ReplayCounts,
}

/// Writes what the lanes hold.
pub fn write(to: impl Write, lanes: impl Iterator<Item = &'static Lane>) -> io::Result<()> {
    let mut lanes: Vec<_> = lanes.collect();
    lanes.sort_by_key(|lane| number(lane));
    let mut replay = Replay::new(
        to,
        std::process::id(),
        Scale::measure(),
        lanes.iter().map(|lane| (number(lane), lane.lost() != 0)).collect(),
    )?;
    replay.introduce(&lanes)?;
    for (lane, event) in Merge::of(lanes.iter().map(|lane| lane.events()).collect()) {
        let watched = |address: u64| {
            lanes.iter().position(|l| l.worker().is_some_and(|w| w.is_watched_at(address as usize)))
        };
        replay.take(lane, &event, &watched)?;
    }
    replay.finish(lanes.iter().map(|lane| lane.lost()).sum())
}

fn number(lane: &Lane) -> usize {
    lane.worker().map_or(NO_WORKER, |worker| worker.index() as usize)
}

fn cause(small: u32) -> Option<Cause> {
    Cause::ALL.get(small as usize).copied()
}

impl<W: Write> Replay<W> {
    fn new(to: W, process: u32, scale: Scale, lanes: Vec<(usize, bool)>) -> io::Result<Self> {
        // A context that has not been left yet has no address that is known: the lane's number
        // stands for it.
        let track = |(number, lost): (usize, bool)| Track {
            number,
            context: number as u64,
            now: 0,
            asleep: None,
            victim: None,
            preempted: false,
            lost,
            left: Vec::new(),
            idle: None,
            many: None,
        };
        let queues = DeviceQueues::new(lanes.len());
        let tracks = lanes.into_iter().map(track).collect();
        let (contexts, teams) = (HashMap::new(), HashMap::new());
        Ok(Self {
            out: Out::begin(to, process)?,
            scale,
            names: PlaceNames::default(),
            tracks,
            contexts,
            tasks: Tasks::default(),
            teams,
            regions: 0,
            queues,
            counts: ReplayCounts::default(),
        })
    }

    /// Names of the process and its lanes.
    fn introduce(&mut self, lanes: &[&'static Lane]) -> io::Result<()> {
        let program =
            std::env::current_exe().ok().and_then(|path| Some(escape(&path.file_name()?.to_string_lossy())));
        self.out.metadata(
            0,
            "process_name",
            &[("name", ArgumentValue::Text(program.as_deref().unwrap_or("program")))],
        )?;
        for lane in lanes {
            let name = match lane.worker() {
                Some(worker) => format!("worker {} (thread {})", worker.index(), lane.thread()),
                None => "monitor and others".to_owned(),
            };
            self.out.metadata(number(lane), "thread_name", &[("name", ArgumentValue::Text(&name))])?;
            self.out.metadata(
                number(lane),
                "thread_sort_index",
                &[("sort_index", ArgumentValue::Number(number(lane) as i64))],
            )?;
        }
        Ok(())
    }

    /// One event of a lane. `watched`: the lane of the worker with this record of the monitor's.
    fn take(
        &mut self,
        lane: usize,
        event: &TraceEvent,
        watched: &dyn Fn(u64) -> Option<usize>,
    ) -> io::Result<()> {
        let before = self.tracks[lane].now;
        let now = self.scale.nanos(event.ticks).max(before);
        self.tracks[lane].now = now;
        if event.kind == TraceKind::NoProcessor {
            // It does not change what runs: `preempted` and `idle` stay.
            return self.no_processor(lane, ReplayTime { begin: before, end: now }, event.a);
        }
        let preempted = core::mem::take(&mut self.tracks[lane].preempted);
        let idle = self.tracks[lane].idle.take();
        let waits_for = idle.and_then(|_| self.suspended_wait(lane));
        let TraceEvent { a, b, small, .. } = *event;
        match event.kind {
            TraceKind::Switch => self.switch(lane, now, ReplaySwitch { from: a, to: b }, preempted)?,
            TraceKind::Sleep => self.tracks[lane].asleep = Some(now),
            TraceKind::Wake => self.wakes(lane, now)?,
            TraceKind::StealUlt => self.mark(
                lane,
                now,
                "steal",
                "steals a thread",
                &[("victim", ArgumentValue::Number(small.into()))],
            )?,
            TraceKind::Move => {
                let from = [("from", ArgumentValue::Number(small.into()))];
                self.mark(lane, now, "move", "moves here", &from)?;
            }
            TraceKind::RunningWorkers => {
                let numbers = [
                    ("running", ArgumentValue::Number(small.into())),
                    ("withdrawn", ArgumentValue::Number(a as i64 - i64::from(small))),
                ];
                self.out.counter(0, now, "running workers", &numbers)?;
            }
            TraceKind::Gang => {
                let facts = [
                    ("gang", ArgumentValue::Number(a as i64)),
                    ("level", ArgumentValue::Number(small.into())),
                    ("size", ArgumentValue::Number(b as i64)),
                ];
                self.mark(lane, now, "gang", "gang", &facts)?;
            }
            TraceKind::UltBegin => {
                self.context(lane).gang = (a as i64 >= 0).then_some((a as i64, small as i32))
            }
            TraceKind::UltEnd => self.context(lane).gang = None,
            TraceKind::Stall => self.mark_other(watched(a), now, "stall")?,
            TraceKind::Interrupt => self.mark_other(watched(a), now, "interrupt")?,
            TraceKind::HandOff => self.mark_other(watched(a), now, "hand-off")?,
            TraceKind::Preempt => self.tracks[lane].preempted = true,
            TraceKind::RegionBegin => self.region(lane, now, a, b, small),
            TraceKind::RegionEnd => {
                self.close(lane, now, true, |open| {
                    matches!(open.what, ReplayEvent::Region(_)) && open.address == a
                })?;
                self.teams.remove(&a);
            }
            TraceKind::ImplicitBegin => self.implicit(lane, now, a, b, small),
            TraceKind::ImplicitEnd => self.close(lane, now, true, |open| {
                matches!(open.what, ReplayEvent::Implicit { .. }) && open.address == a
            })?,
            TraceKind::TaskCreate => {
                let parent = self.running(lane);
                self.counts.made += u64::from(small);
                self.counts.written += u64::from(small != 0);
                self.tasks.create(
                    a,
                    TracedTask {
                        parent,
                        place: b,
                        lane,
                        created: now,
                        stands: small,
                        ..TracedTask::default()
                    },
                );
                self.queues.ready(lane, 1);
                self.count(lane, now)?;
            }
            TraceKind::TaskBegin => self.task(lane, now, a)?,
            TraceKind::TaskEnd => self.task_ends(lane, now, a)?,
            TraceKind::TaskLeave => self.task_pauses(lane, now, a)?,
            TraceKind::WaitBegin | TraceKind::SpanBegin => {
                if let Some(cause) = cause(small) {
                    let id = self.running(lane);
                    self.open(
                        lane,
                        now,
                        Open {
                            what: ReplayEvent::Cause(cause, b),
                            address: a,
                            id,
                            place: 0,
                            begin: 0,
                            again: false,
                        },
                    );
                }
            }
            TraceKind::WaitEnd | TraceKind::SpanEnd => {
                let which = cause(small);
                self.close(
                    lane,
                    now,
                    true,
                    |open| matches!(open.what, ReplayEvent::Cause(cause, _) if Some(cause) == which),
                )?;
            }
            TraceKind::Copy => {
                let name = cause(small).map_or("copy", Cause::name);
                self.mark(lane, now, "copy", name, &[("bytes", ArgumentValue::Number(a as i64))])?;
            }
            TraceKind::Depend => {
                if self.tasks.depend(a, b) {
                    let made = self.tasks.get(b).map_or(lane, |task| task.lane);
                    self.queues.ready(made, -1);
                    self.queues.waiting(1);
                    self.count(made, now)?;
                }
            }
            TraceKind::StealTask => self.tracks[lane].victim = Some(small),
            TraceKind::LeftOut => self.counts.made += u64::from(small),
            TraceKind::Ran => self.ran(lane, ReplayTime { begin: self.scale.nanos(a), end: now }, small)?,
            TraceKind::ShortBegin => {
                let id = self.running(lane);
                self.open(
                    lane,
                    now,
                    Open { what: ReplayEvent::Short, address: 0, id, place: 0, begin: 0, again: false },
                );
            }
            TraceKind::ShortEnd => self.close(lane, now, true, |open| open.what == ReplayEvent::Short)?,
            TraceKind::Unmeasured => self.is_unmeasured(lane),
            // Handled above.
            TraceKind::NoProcessor => {}
        }
        let stays = self.context(lane).open.is_empty();
        if let (Some(since), Some(wait), false) = (idle, waits_for, stays && event.kind != TraceKind::Switch)
        {
            self.idles(lane, ReplayTime { begin: since, end: now }, wait)?;
        }
        let since = idle.filter(|_| event.kind != TraceKind::Switch).unwrap_or(self.tracks[lane].now);
        self.tracks[lane].idle = stays.then_some(since);
        Ok(())
    }

    /// What the context waits for that was left here last, and its task.
    fn suspended_wait(&self, lane: usize) -> Option<SuspendedWait> {
        let tops =
            self.tracks[lane].left.iter().rev().filter_map(|context| self.contexts.get(context)?.open.last());
        tops.filter_map(|open| {
            if let ReplayEvent::Cause(cause, _) = open.what {
                Some(SuspendedWait { cause, id: open.id })
            } else {
                None
            }
        })
        .find(|wait| wait.cause.is_wait())
    }

    /// Nothing ran there, and who was left there waits for this.
    fn idles(&mut self, lane: usize, time: ReplayTime, wait: SuspendedWait) -> io::Result<()> {
        let (ReplayTime { begin, end }, SuspendedWait { cause, id }) = (time, wait);
        if end < begin + NO_WAIT {
            return Ok(());
        }
        let slice =
            JsonSlice { lane: self.tracks[lane].number, begin, end, category: "wait", name: cause.name() };
        self.out
            .slice(&slice, &[("task", ArgumentValue::Number(id as i64)), ("idle", ArgumentValue::Number(1))])
    }

    fn context(&mut self, lane: usize) -> &mut Context {
        self.contexts.entry(self.tracks[lane].context).or_default()
    }

    /// The number of the task that runs.
    fn running(&mut self, lane: usize) -> u64 {
        let open = &self.context(lane).open;
        open.iter()
            .rev()
            .find(|o| matches!(o.what, ReplayEvent::Task { .. } | ReplayEvent::Implicit { .. }))
            .map_or(0, |o| o.id)
    }

    fn mark(
        &mut self,
        lane: usize,
        now: u64,
        category: &'static str,
        name: &str,
        facts: JsonArguments,
    ) -> io::Result<()> {
        self.out.instant(self.tracks[lane].number, now, category, name, facts)
    }

    /// The monitor's, about another lane.
    fn mark_other(&mut self, lane: Option<usize>, now: u64, name: &str) -> io::Result<()> {
        match lane {
            Some(lane) => self.mark(lane, now, "stall", name, &[]),
            None => Ok(()),
        }
    }

    fn count(&mut self, lane: usize, now: u64) -> io::Result<()> {
        if let Some(ready) = self.queues.due(lane, now) {
            let (number, name) =
                (self.tracks[lane].number, format!("ready tasks of {}", self.tracks[lane].number));
            self.out.counter(number, now, &name, &[("ready", ArgumentValue::Number(ready))])?;
        }
        match self.queues.waiting_due(now) {
            Some(waiting) => self.out.counter(
                0,
                now,
                "tasks that depend on others",
                &[("waiting", ArgumentValue::Number(waiting))],
            ),
            None => Ok(()),
        }
    }

    // ---- slices -------------------------------------------------------------

    fn open(&mut self, lane: usize, now: u64, mut open: Open) {
        open.begin = now;
        self.tracks[lane].now = now + 1;
        self.context(lane).open.push(open);
    }

    /// Closes the newest that is `wanted`, and what is open above it; `ends`: for good.
    fn close(&mut self, lane: usize, now: u64, ends: bool, wanted: impl Fn(&Open) -> bool) -> io::Result<()> {
        let stack = &mut self.context(lane).open;
        let Some(at) = stack.iter().rposition(wanted) else { return Ok(()) };
        let closed = stack.split_off(at);
        closed.iter().rev().try_for_each(|open| self.put(lane, now, open, ends))
    }

    /// Writes the slice of `open` that ends at `now`; `ends`: the last one. Not a wait that was
    /// none.
    fn put(&mut self, lane: usize, now: u64, open: &Open, ends: bool) -> io::Result<()> {
        if matches!(open.what, ReplayEvent::Cause(cause, _) if cause.is_wait())
            && ends
            && !open.again
            && now < open.begin + NO_WAIT
        {
            return Ok(());
        }
        let number = |n: u64| ArgumentValue::Number(n as i64);
        let mut facts: Vec<(&'static str, ArgumentValue)> = Vec::with_capacity(8);
        let (category, name) = match open.what {
            ReplayEvent::Task { parent, lane, created, victim, stands, unmeasured } => {
                facts.push(("task", number(open.id)));
                if !open.again {
                    facts.extend([
                        ("parent", number(parent)),
                        ("by", number(self.tracks[lane].number as u64)),
                        ("created", ArgumentValue::Time(created)),
                    ]);
                    facts.extend(victim.map(|v| ("victim", number(v.into()))));
                    facts.extend((stands > 1).then_some(("stands", number(stands.into()))));
                }
                facts.extend(unmeasured.then_some(("unmeasured", ArgumentValue::Number(1))));
                ("task", self.names.of(open.place))
            }
            ReplayEvent::Implicit { team, number: thread, gang } => {
                facts.extend([
                    ("task", number(open.id)),
                    ("region", number(team.id)),
                    ("thread", number(thread.into())),
                ]);
                facts.extend(gang.into_iter().flat_map(|(id, level)| {
                    [("gang", ArgumentValue::Number(id)), ("level", ArgumentValue::Number(level.into()))]
                }));
                ("implicit", if team.id == 0 { "initial task" } else { self.names.of(open.place) })
            }
            ReplayEvent::Region(team) => {
                facts.extend([
                    ("region", number(team.id)),
                    ("size", number(team.size.into())),
                    ("task", number(open.id)),
                ]);
                ("region", self.names.of(open.place))
            }
            ReplayEvent::Cause(cause, whose) => {
                facts.push(("task", number(open.id)));
                facts.extend(
                    (!cause.is_wait())
                        .then_some((if cause == Cause::Served { "rank" } else { "device" }, number(whose))),
                );
                (if cause.is_wait() { "wait" } else { "device" }, cause.name())
            }
            ReplayEvent::Short => {
                facts.push(("task", number(open.id)));
                ("short", "short tasks")
            }
        };
        facts.extend(ends.then_some(("end", ArgumentValue::Number(1))));
        let slice = JsonSlice {
            lane: self.tracks[lane].number,
            begin: open.begin,
            end: now.max(open.begin),
            category,
            name,
        };
        self.out.slice(&slice, &facts)
    }

    fn switch(&mut self, lane: usize, now: u64, contexts: ReplaySwitch, preempted: bool) -> io::Result<()> {
        let ReplaySwitch { from, to } = contexts;
        if preempted {
            self.mark(lane, now, "stall", "switched out", &[])?;
        }
        let known = core::mem::replace(&mut self.tracks[lane].context, to);
        if known != from
            && let Some(context) = self.contexts.remove(&known)
        {
            self.contexts.insert(from, context);
        }
        let left = self.contexts.get_mut(&from).map_or(Vec::new(), |context| {
            let left = context.open.clone();
            context.open.iter_mut().for_each(|open| open.again = true);
            left
        });
        // Who goes on and waits on at once is no slice.
        left.iter()
            .rev()
            .filter(|open| !open.again || open.begin + NO_WAIT < now)
            .try_for_each(|open| self.put(lane, now, open, false))?;
        let still_open = !left.is_empty();
        let track = &mut self.tracks[lane];
        track.left.retain(|&context| context != to && context != from);
        track.left.extend(still_open.then_some(from));
        let mut at = now;
        if let Some(context) = self.contexts.get_mut(&to) {
            for open in &mut context.open {
                (open.begin, at) = (at, at + 1);
            }
        }
        self.tracks[lane].now = at;
        Ok(())
    }

    fn wakes(&mut self, lane: usize, now: u64) -> io::Result<()> {
        let Some(begin) = self.tracks[lane].asleep.take().filter(|&begin| begin < now) else { return Ok(()) };
        self.out.slice(
            &JsonSlice { lane: self.tracks[lane].number, begin, end: now, category: "sleep", name: "asleep" },
            &[],
        )
    }

    /// Writes the time without a processor. The kernel does not say when it was, so the slice ends
    /// at this event. It begins after the event before, because no other slice may begin or end
    /// within it. The rest is dropped: delays of less than a millisecond, between events that are
    /// closer.
    fn no_processor(&mut self, lane: usize, between: ReplayTime, nanos: u64) -> io::Result<()> {
        let now = between.end;
        let begin = now.saturating_sub(nanos).max(between.begin + 1);
        if now < begin + NO_WAIT {
            return Ok(());
        }
        let lane = self.tracks[lane].number;
        self.out.slice(&JsonSlice { lane, begin, end: now, category: "runnable", name: "no processor" }, &[])
    }

    // ---- regions and tasks --------------------------------------------------

    fn region(&mut self, lane: usize, now: u64, address: u64, place: u64, size: u32) {
        self.regions += 1;
        let team = TracedTeam { id: self.regions, size, place };
        self.teams.insert(address, team);
        let id = self.running(lane);
        self.open(
            lane,
            now,
            Open { what: ReplayEvent::Region(team), address, id, place, begin: 0, again: false },
        );
    }

    fn implicit(&mut self, lane: usize, now: u64, address: u64, team: u64, number: u32) {
        let team = self.teams.get(&team).copied().unwrap_or_default();
        let gang = self.context(lane).gang;
        let id = self.tasks.next_id();
        self.open(
            lane,
            now,
            Open {
                what: ReplayEvent::Implicit { team, number, gang },
                address,
                id,
                place: team.place,
                begin: 0,
                again: false,
            },
        );
    }

    fn task(&mut self, lane: usize, now: u64, address: u64) -> io::Result<()> {
        let victim = self.tracks[lane].victim.take();
        let Some(task) = self.tasks.get(address).filter(|task| !task.open) else { return Ok(()) };
        let again = core::mem::replace(&mut task.begun, true);
        task.open = true;
        let (id, place, made, created) = (task.id, task.place, task.lane, task.created);
        let what = ReplayEvent::Task {
            parent: task.parent,
            lane: made,
            created,
            victim,
            stands: task.stands,
            unmeasured: false,
        };
        let arrows = core::mem::take(&mut task.arrows);
        let was_ready = task.waits == 0 && !again;
        self.open(lane, now, Open { what, address, id, place, begin: 0, again });
        let number = self.tracks[lane].number;
        for (arrow, before) in arrows {
            let ends =
                [("from", ArgumentValue::Number(before as i64)), ("to", ArgumentValue::Number(id as i64))];
            self.out.flow(ArrowEnd::Finish, number, now, "dependence", arrow, &ends)?;
        }
        if victim.is_some() {
            let arrow = self.tasks.next_arrow();
            self.out.flow(ArrowEnd::Start, self.tracks[made].number, created, "steal", arrow, &[])?;
            self.out.flow(ArrowEnd::Finish, number, now, "steal", arrow, &[])?;
        }
        if was_ready {
            self.queues.ready(made, -1);
            self.count(made, now)?;
        }
        Ok(())
    }

    fn task_pauses(&mut self, lane: usize, now: u64, address: u64) -> io::Result<()> {
        if let Some(task) = self.tasks.get(address) {
            task.open = false;
            self.close(lane, now, false, |open| {
                matches!(open.what, ReplayEvent::Task { .. }) && open.address == address
            })?;
        }
        Ok(())
    }

    fn task_ends(&mut self, lane: usize, now: u64, address: u64) -> io::Result<()> {
        self.close(lane, now, true, |open| {
            matches!(open.what, ReplayEvent::Task { .. }) && open.address == address
        })?;
        let Some((task, leaving)) = self.tasks.end(address) else { return Ok(()) };
        let number = self.tracks[lane].number;
        for (arrow, released) in leaving {
            self.out.flow(
                ArrowEnd::Start,
                number,
                now - 1,
                "dependence",
                arrow,
                &[("from", ArgumentValue::Number(task.id as i64))],
            )?;
            if let Some(made) = released {
                self.queues.waiting(-1);
                self.queues.ready(made, 1);
                self.count(made, now)?;
            }
        }
        Ok(())
    }

    /// So many tasks that are left out were run there, in that time.
    fn ran(&mut self, lane: usize, time: ReplayTime, tasks: u32) -> io::Result<()> {
        let ReplayTime { begin, end } = time;
        self.counts.left_out_ran += u64::from(tasks);
        let number = self.tracks[lane].number;
        if self.tracks[lane].many.is_none() {
            let name = format!("worker {number}: tasks left out");
            self.out.metadata(MANY + number, "thread_name", &[("name", ArgumentValue::Text(&name))])?;
            self.out.metadata(
                MANY + number,
                "thread_sort_index",
                &[("sort_index", ArgumentValue::Number(number as i64))],
            )?;
        }
        let begin = begin.max(self.tracks[lane].many.unwrap_or(0)).min(end);
        self.tracks[lane].many = Some(end);
        let facts =
            [("lane", ArgumentValue::Number(number as i64)), ("tasks", ArgumentValue::Number(tasks.into()))];
        self.out.slice(
            &JsonSlice { lane: MANY + number, begin, end, category: "many", name: "short tasks" },
            &facts,
        )
    }

    /// The running task runs others that are not written.
    fn is_unmeasured(&mut self, lane: usize) {
        let newest = self
            .context(lane)
            .open
            .iter_mut()
            .rev()
            .find(|open| matches!(open.what, ReplayEvent::Task { .. }));
        if let Some(Open { what: ReplayEvent::Task { unmeasured, .. }, .. }) = newest {
            *unmeasured = true;
        }
    }

    /// What is open ends where the trace ends, or where its lane did.
    fn finish(mut self, lost: u64) -> io::Result<()> {
        let last = self.tracks.iter().map(|track| track.now).max().unwrap_or(0);
        for lane in 0..self.tracks.len() {
            let end = if self.tracks[lane].lost { self.tracks[lane].now } else { last };
            let open = core::mem::take(&mut self.context(lane).open);
            open.iter().rev().try_for_each(|open| self.put(lane, end, open, false))?;
            if self.tracks[lane].lost {
                self.mark(lane, end, "lost", "no room for more events", &[])?;
            }
        }
        let machine = clock::machine();
        let facts = [
            ("version", ArgumentValue::Text(env!("CARGO_PKG_VERSION"))),
            ("lost", ArgumentValue::Number(lost as i64)),
            ("tasks", ArgumentValue::Number(self.counts.made as i64)),
            ("tasks_written", ArgumentValue::Number(self.counts.written as i64)),
            ("tasks_left_out", ArgumentValue::Number((self.counts.made - self.counts.written) as i64)),
            ("left_out_and_run", ArgumentValue::Number(self.counts.left_out_ran as i64)),
            ("machine", ArgumentValue::Text(&machine)),
            ("start", ArgumentValue::Time(clock::start())),
            ("end", ArgumentValue::Time(last)),
        ];
        self.out.end(&facts).map(drop)
    }
}

#[cfg(test)]
mod tests;
