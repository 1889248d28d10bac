//! The compute engine: which task runs, and what its end brings about.

use placement::directory::DeviceNumber;

use super::super::machine::{LAUNCH, STREAMS};
use super::{GpuEvent, GpuSimulation};

impl GpuSimulation<'_> {
    /// Kernels begin, in their order, as long as the GPU is not full.
    pub(super) fn start_kernels(&mut self, gpu: usize) {
        while self.gpus[gpu].running.len() < STREAMS {
            let of = &self.gpus[gpu];
            let ready =
                of.admitted.iter().copied().filter(|&task| {
                    self.task_states[task].missing == 0 && self.task_states[task].unended == 0
                });
            let first = ready.min_by(|&a, &b| match (self.task_states[a].id, self.task_states[b].id) {
                (Some(a), Some(b)) => self.library.order.compare(a, b),
                _ => a.cmp(&b),
            });
            // One that does not fit holds up those behind it: the hardware takes kernels in turn.
            let Some(task) = first.filter(|&task| of.filled + self.program.tasks[task].share <= 1.0 + 1e-9)
            else {
                return;
            };
            self.begin(task, gpu);
        }
    }

    fn begin(&mut self, task: usize, gpu: usize) {
        let (now, work) = (self.clock.now(), &self.program.tasks[task]);
        let of = &mut self.gpus[gpu];
        of.admitted.retain(|&other| other != task);
        of.running.push(task);
        of.filled += work.share;
        if let Some(handle) = self.task_states[task].handle {
            self.library.forecast.begin(handle, now);
        }
        self.task_states[task].began = now;
        if let Some(id) = self.task_states[task].id {
            self.library.order.begin(id);
        }
        self.clock.at(now + LAUNCH + work.time, GpuEvent::Ended(task));
    }

    pub(super) fn end(&mut self, task: usize) {
        let (gpu, work) = (self.task_states[task].gpu, &self.program.tasks[task]);
        let began = self.task_states[task].began;
        let of = &mut self.gpus[gpu];
        of.running.retain(|&other| other != task);
        of.filled -= work.share;
        of.placed -= 1;
        if let Some(handle) = self.task_states[task].handle.take() {
            self.library.forecast.end(handle);
        }
        self.counts.under_way -= 1;
        self.library.times.ended(self.task_states[task].kind, self.clock.now() - began);
        self.outcome.busy[gpu] += self.clock.now() - began;
        self.outcome.makespan = self.clock.now();
        self.counts.ended += 1;
        self.task_states[task].has_ended = true;
        self.library.ahead.ended(gpu as DeviceNumber, &self.task_states[task].uses);
        for used in &work.uses {
            let range = self.range(used.datum);
            let gone = self.library.directory.give(gpu as DeviceNumber, &range, used.writes);
            self.free(&gone);
        }
        self.release(task);
        if let Some(id) = self.task_states[task].id {
            let begin = std::time::Instant::now();
            self.library.order.end(id);
            self.outcome.order += begin.elapsed();
            self.by_id.remove(&id);
        }
    }

    /// Each task that waits for `task` waits for one task less.
    fn release(&mut self, task: usize) {
        for at in 0..self.task_states[task].after.len() {
            let next = self.task_states[task].after[at];
            let state = &mut self.task_states[next];
            state.unended -= 1;
            let writers = state.writers.iter_mut().filter(|writer| **writer == Some(task));
            // Written: the mark of `enter`.
            writers.for_each(|writer| *writer = Some(usize::MAX));
            let (is_ready, is_placed) = (state.unended == 0, state.is_placed);
            self.counts.early -= usize::from(is_ready && is_placed);
            if state.is_admitted {
                self.enter(next);
            } else if !is_placed {
                self.wait_for_place(next);
            } else if !self.setting.prefetch {
                self.wait_for_room(next);
            }
        }
    }
}
