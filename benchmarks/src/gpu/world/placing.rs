//! Which GPU a task goes to, and when that is said.
//!
//! A task is placed when all tasks that it waits for have ended, as long as few placed tasks have
//! not ended. The first task by [`TaskOrder`](placement::order::TaskOrder) goes first.
//! *Ahead*, when all tasks that it waits for are placed, it can be placed where most of its data
//! will be, if the policy wants it there. Then it follows them in a stream of the GPU, without the
//! host. A task that would do better elsewhere waits until it is ready, since by then tasks may
//! have come that belong there. Even so, tasks placed ahead make their GPU look busier than GPUs
//! whose next tasks are not made yet, and blocks wander about (`docs/gpu-model.md`, the stencil).
//! So this is not the default. As long as no task of a function has ended, its time is not known,
//! and few of its tasks are placed.

use placement::directory::DeviceNumber;
use placement::forecast::ForecastHandle;
use placement::order::Id;
use placement::policy::{PlacementRequest, View};
use std::time::Instant;

use super::super::GpuTime;
use super::{GpuEvent, GpuMapping, GpuSimulation, GpuTaskState, HOST};

/// In place of `GpuSetting::placed` while the time of the next task is not known.
const UNKNOWN: usize = 2;

/// Tasks that are looked at, if the first ones had better wait.
const LOOKED_AT: usize = 8;

impl GpuSimulation<'_> {
    /// The task is to be placed, if it may.
    pub(super) fn wait_for_place(&mut self, task: usize) {
        let (state, gpus) = (&self.task_states[task], self.gpus.len());
        if !state.is_made || state.is_placed {
            return;
        }
        if state.unended == 0 {
            self.queue(task, gpus);
        } else if state.unplaced == 0 && (self.setting.ahead > 0 || self.is_fixed()) {
            self.queue(task, gpus + 1);
        }
    }

    pub(super) fn is_fixed(&self) -> bool {
        matches!(self.mapping, GpuMapping::Fixed(_))
    }

    pub(super) fn place_all(&mut self) {
        let gpus = self.gpus.len();
        while self.place_some(gpus) || self.place_some(gpus + 1) {}
    }

    /// Places the first tasks of a queue; false if there are none that may be placed now.
    fn place_some(&mut self, queue: usize) -> bool {
        let first: Vec<Id> = self.library.order.queue(queue).take(LOOKED_AT).collect();
        let mut has_placed = false;
        for id in first {
            let task = self.task_of(id);
            if !self.may_place(task) {
                break;
            }
            has_placed |= self.place(task);
        }
        has_placed
    }

    /// Are few enough tasks under way, on all GPUs together?
    fn may_place(&self, task: usize) -> bool {
        let (state, gpus) = (&self.task_states[task], self.gpus.len());
        let is_known = self.library.times.knows(state.kind);
        if self.is_fixed() || !self.setting.postpones {
            true
        } else if state.unended > 0 {
            is_known && self.counts.early < self.setting.ahead * gpus
        } else {
            let of_each = if is_known { self.setting.placed } else { UNKNOWN.min(self.setting.placed) };
            self.counts.under_way - self.counts.early < of_each * gpus
        }
    }

    /// What the task waits for that was placed and has not ended.
    fn before(&self, task: usize) -> Vec<ForecastHandle> {
        self.task_states[task].before.iter().filter_map(|&before| self.task_states[before].handle).collect()
    }

    /// What the policy gets to know of a GPU, by a fresh forecast.
    fn view(&self, task: usize, gpu: usize, before: &[ForecastHandle]) -> View {
        let (state, found) = (
            &self.task_states[task],
            self.library.ahead.find(gpu as DeviceNumber, &self.task_states[task].uses, &self.machine),
        );
        let overflow = (self.library.ahead.held(gpu as DeviceNumber) + found.fresh)
            .saturating_sub(self.machine.memory)
            .min(found.fresh);
        // What goes for it is written back, or brought again.
        let evicts = if overflow > 0 { self.machine.copy(Some(gpu), None, overflow) } else { 0 };
        let moves = found.bring + evicts;
        let (forecast, now) = (&self.library.forecast, self.clock.now());
        let arrives = forecast.arrives(gpu, forecast.ready(before).max(now), moves);
        View {
            need: 0,
            room: u64::MAX,
            present: found.present,
            running: self.gpus[gpu].placed,
            wait: forecast.begins(gpu, arrives, state.expected) - now,
            bring: arrives - now,
            moves,
            cost: state.expected,
            near: found.near,
        }
    }

    /// Places the task, unless that is better done later.
    fn place(&mut self, task: usize) -> bool {
        self.task_states[task].expected = self.library.times.expected(self.task_states[task].kind);
        if let Some(id) = self.task_states[task].id.filter(|_| self.setting.by_path) {
            self.library.order.expect(id, self.task_states[task].expected);
        }
        let (begin, before) = (Instant::now(), self.before(task));
        let Some((gpu, bring)) = self.choose(task, &before) else { return false };
        if let Some(id) = self.task_states[task].id {
            self.library.order.remove(id);
        }
        let &GpuTaskState { kind, expected, .. } = &self.task_states[task];
        self.library.ahead.place(gpu as DeviceNumber, &self.task_states[task].uses);
        // A setting that places everything at once does without a forecast.
        self.task_states[task].handle =
            self.setting.postpones.then(|| self.library.forecast.place(gpu, kind, expected, bring, &before));
        self.outcome.mapping += begin.elapsed();
        self.gpus[gpu].placed += 1;
        self.counts.under_way += 1;
        if self.task_states[task].unended > 0 {
            self.counts.early += 1;
        } else {
            self.task_states[task].missing += 1;
            self.clock.at(self.clock.now() + HOST, GpuEvent::Notified(task));
        }
        (self.task_states[task].gpu, self.task_states[task].is_placed) = (gpu, true);
        for at in 0..self.task_states[task].after.len() {
            let next = self.task_states[task].after[at];
            self.task_states[next].unplaced -= 1;
            self.wait_for_place(next);
        }
        self.wait_for_room(task);
        true
    }

    /// The GPU for a task, and how long its copies take.
    fn choose(&mut self, task: usize, before: &[ForecastHandle]) -> Option<(usize, GpuTime)> {
        if let GpuMapping::Fixed(gpus) = self.mapping {
            return Some((gpus[task], 0));
        }
        self.library.forecast.look(self.clock.now(), &self.library.times);
        let views: Vec<View> = (0..self.gpus.len()).map(|gpu| self.view(task, gpu, before)).collect();
        let GpuMapping::Policy(policy) = &mut self.mapping else { unreachable!("nothing else there is") };
        let gpu = policy.choose(PlacementRequest { task: Some(task) }, &views).expect("all fit");
        let is_hasty =
            self.setting.postpones && self.task_states[task].unended > 0 && views[gpu].is_hasty(&views);
        (!is_hasty).then_some((gpu, views[gpu].moves))
    }

    /// The task is to be admitted next, if it may.
    pub(super) fn wait_for_room(&mut self, task: usize) {
        let state = &self.task_states[task];
        let waits = if self.setting.prefetch { state.unadmitted } else { state.unended };
        let (is_placed, gpu) = (state.is_placed && !state.is_admitted, state.gpu);
        if is_placed && waits == 0 {
            self.queue(task, gpu);
        }
    }

    pub(super) fn steal_all(&mut self) {
        if !self.setting.steals || self.is_fixed() {
            return;
        }
        for gpu in 0..self.gpus.len() {
            while self.gpus[gpu].admitted.is_empty()
                && self.gpus[gpu].running.is_empty()
                && self.library.order.is_empty(gpu)
                && self.steal(gpu)
            {
                self.admit_all(gpu);
            }
        }
    }

    /// The GPU takes a task from another one, if that pays.
    fn steal(&mut self, gpu: usize) -> bool {
        let others = (0..self.gpus.len()).filter(|&other| other != gpu);
        let candidates =
            others.flat_map(|other| self.library.order.queue(other).rev().take(8)).map(|id| self.task_of(id));
        let candidates: Vec<usize> = candidates.collect();
        if candidates.is_empty() {
            return false;
        }
        self.library.forecast.look(self.clock.now(), &self.library.times);
        let gains = candidates.into_iter().filter_map(|task| {
            let (state, before) = (&self.task_states[task], self.before(task));
            let (begin, cost) = self.library.forecast.of(state.handle?)?;
            let (from, to) =
                (self.view(task, state.gpu, &before), View { cost, ..self.view(task, gpu, &before) });
            // It stands in its queue already.
            let from = View { bring: 0, moves: 0, wait: begin - self.clock.now(), cost, ..from };
            Some((from.gain(&to)?, to.moves, task))
        });
        let Some((_, bring, task)) = gains.max() else { return false };
        let from = self.task_states[task].gpu;
        if let Some(handle) = self.task_states[task].handle {
            self.library.forecast.carry(handle, gpu, bring);
        }
        self.gpus[from].placed -= 1;
        self.gpus[gpu].placed += 1;
        self.library.ahead.carried(from as DeviceNumber, gpu as DeviceNumber, &self.task_states[task].uses);
        self.task_states[task].gpu = gpu;
        self.outcome.stolen += 1;
        self.queue(task, gpu);
        true
    }
}
