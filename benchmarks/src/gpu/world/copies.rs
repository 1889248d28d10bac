//! Room on GPUs, and copies: when a task is admitted, when its copies are requested, and which
//! copies are dropped to make room.

use placement::directory::{DeviceNumber, Eviction, FreedMemory, From, Save};

use super::super::GpuTime;
use super::{ADMITTED, GpuEvent, GpuSimulation, STREAMS};

/// Bytes of a copy that is let in before large ones.
const SMALL: u64 = 1 << 20;

/// A copy that waits for its engines, or is made.
pub(super) struct Copying {
    what: CopyEvent,
    from: Option<usize>,
    to: Option<usize>,
    bytes: u64,
    /// The path of the task that asked first: longest first.
    path: GpuTime,
    has_begun: bool,
    is_over: bool,
}

enum CopyEvent {
    /// A task reads the datum.
    Fill(usize, From),
    /// It goes to the host, for room.
    Save(Save),
}

impl GpuSimulation<'_> {
    /// The datum is where it is to be in the beginning.
    pub(super) fn lay(&mut self, datum: usize) {
        let Some(gpu) = self.program.lies[datum].map(|at| at % self.gpus.len()) else { return };
        let range = self.range(datum);
        self.library.directory.add(gpu as DeviceNumber, &range, datum, datum, None);
        self.library.directory.filled(gpu as DeviceNumber, &range, From::Nowhere);
        self.library.directory.give(gpu as DeviceNumber, &range, true);
        self.gpus[gpu].used += range.len() as u64;
        self.library.ahead.lies(datum, self.program.sizes[datum], gpu as DeviceNumber);
    }

    pub(super) fn free(&mut self, gone: &[FreedMemory]) {
        for block in gone {
            self.gpus[block.device as usize].used -= self.program.sizes[block.block];
        }
    }

    /// Tasks get room there, in their order; the first that finds none holds up those behind it.
    pub(super) fn admit_all(&mut self, gpu: usize) {
        let most = if self.setting.prefetch { ADMITTED } else { STREAMS };
        while self.gpus[gpu].admitted.len() + self.gpus[gpu].running.len() < most
            && let Some(id) = self.library.order.first(gpu)
        {
            let task = self.task_of(id);
            if !self.make_room(task, gpu) {
                return;
            }
            self.library.order.remove(id);
            self.admit(task, gpu);
        }
    }

    /// Room for all that the task uses: what is there is held, what is not gets its place.
    fn make_room(&mut self, task: usize, gpu: usize) -> bool {
        let device = gpu as DeviceNumber;
        let ranges: Vec<_> =
            self.task_states[task].uses.iter().map(|used| (used.datum, self.range(used.datum))).collect();
        let (there, absent): (Vec<_>, Vec<_>) = ranges
            .into_iter()
            .partition(|(_, range)| self.library.directory.reuse(device, range, None).is_some());
        let need: u64 = absent.iter().map(|(_, range)| range.len() as u64).sum();
        if !self.evict(gpu, need) {
            for (_, range) in there {
                let gone = self.library.directory.give(device, &range, false);
                self.free(&gone);
            }
            return false;
        }
        for (datum, range) in absent {
            self.library.directory.add(device, &range, datum, datum, None);
        }
        self.gpus[gpu].used += need;
        true
    }

    /// So many bytes are free there, or will be.
    fn evict(&mut self, gpu: usize, need: u64) -> bool {
        while self.gpus[gpu].used + need > self.machine.memory {
            match self.library.directory.victim(gpu as DeviceNumber) {
                Eviction::Gone(block) => {
                    self.free(&[block]);
                    self.library.ahead.gone(block.device, block.block);
                    self.outcome.evicted += 1;
                }
                Eviction::Save(save) => {
                    let (from, bytes) = (save.device as usize, save.host.len() as u64);
                    self.ask(Copying {
                        what: CopyEvent::Save(save),
                        from: Some(from),
                        to: None,
                        bytes,
                        path: GpuTime::MAX,
                        has_begun: false,
                        is_over: false,
                    });
                    return false;
                }
                Eviction::Busy | Eviction::None => return false,
            }
        }
        true
    }

    fn ask(&mut self, copying: Copying) {
        self.copies.push(copying);
    }

    fn admit(&mut self, task: usize, gpu: usize) {
        self.task_states[task].is_admitted = true;
        self.gpus[gpu].admitted.push(task);
        self.enter(task);
        for at in 0..self.task_states[task].after.len() {
            let next = self.task_states[task].after[at];
            self.task_states[next].unadmitted -= 1;
            if self.setting.prefetch {
                self.wait_for_room(next);
            }
        }
    }

    /// Requests copies of the data that the task reads, if their writer has ended.
    pub(super) fn enter(&mut self, task: usize) {
        let (gpu, path) = (
            self.task_states[task].gpu,
            self.task_states[task].id.map_or(0, |id| self.library.order.path(id)),
        );
        for at in 0..self.task_states[task].uses.len() {
            let state = &mut self.task_states[task];
            let is_written = state.writers[at].is_none_or(|writer| writer == usize::MAX);
            if !state.uses[at].reads || !is_written || core::mem::replace(&mut state.entered[at], true) {
                continue;
            }
            let datum = state.uses[at].datum;
            self.fill(task, gpu, datum, path);
        }
        self.notify_if_brought(task);
    }

    /// All that the task reads is there.
    fn notify_if_brought(&mut self, task: usize) {
        let state = &self.task_states[task];
        let has_entered =
            state.uses.iter().zip(&state.entered).all(|(used, entered)| *entered || !used.reads);
        if let Some(handle) = state.handle.filter(|_| state.missing == 0 && has_entered) {
            self.library.forecast.brought(handle);
        }
    }

    fn fill(&mut self, task: usize, gpu: usize, datum: usize, path: GpuTime) {
        let range = self.range(datum);
        if let Some(tasks) = self.gpus[gpu].filling.get_mut(&datum) {
            tasks.push(task);
            self.task_states[task].missing += 1;
            return;
        }
        if self.library.directory.has(gpu as DeviceNumber, &range) {
            return;
        }
        let used = self
            .library
            .directory
            .reuse(gpu as DeviceNumber, &range, Some(&self.machine))
            .expect("it has its place");
        let from = match used.from {
            From::Device(other, _) => Some(other as usize),
            From::Host => None,
            From::Nowhere => unreachable!("it is not valid there"),
        };
        assert!(from.is_some() || !self.library.directory.is_stale(&range), "the host's bytes are old");
        self.gpus[gpu].filling.insert(datum, vec![task]);
        self.task_states[task].missing += 1;
        self.ask(Copying {
            what: CopyEvent::Fill(datum, used.from),
            from,
            to: Some(gpu),
            bytes: range.len() as u64,
            path,
            has_begun: false,
            is_over: false,
        });
    }

    /// Copies begin whose engines are free: small ones first, then those for the longest path.
    pub(super) fn start_copies(&mut self) {
        if self.copies.iter().all(|copy| copy.is_over) {
            self.copies.clear();
        }
        let mut waiting: Vec<usize> =
            (0..self.copies.len()).filter(|&at| !self.copies[at].has_begun).collect();
        waiting
            .sort_by_key(|&at| (self.copies[at].bytes > SMALL, core::cmp::Reverse(self.copies[at].path), at));
        for at in waiting {
            let Copying { from, to, bytes, .. } = self.copies[at];
            if from.is_some_and(|gpu| self.gpus[gpu].sends) || to.is_some_and(|gpu| self.gpus[gpu].receives) {
                continue;
            }
            self.engines(from, to, true);
            self.copies[at].has_begun = true;
            let way = match (from, to) {
                (None, _) => 0,
                (_, None) => 1,
                _ => 2,
            };
            self.outcome.moved[way] += bytes;
            self.clock.at(self.clock.now() + self.machine.copy(from, to, bytes), GpuEvent::Copied(at));
        }
    }

    fn engines(&mut self, from: Option<usize>, to: Option<usize>, busy: bool) {
        if let Some(gpu) = from {
            self.gpus[gpu].sends = busy;
        }
        if let Some(gpu) = to {
            self.gpus[gpu].receives = busy;
        }
    }

    pub(super) fn copied(&mut self, copy: usize) {
        let Copying { from, to, .. } = self.copies[copy];
        self.engines(from, to, false);
        self.copies[copy].is_over = true;
        match (&self.copies[copy].what, to) {
            (CopyEvent::Save(save), _) => {
                let gone = self.library.directory.saved(save);
                self.library.ahead.saved(self.starts.partition_point(|&start| start <= save.host.start) - 1);
                self.free(&gone);
            }
            (&CopyEvent::Fill(datum, from), Some(gpu)) => {
                let range = self.range(datum);
                let mut gone = self.library.directory.filled(gpu as DeviceNumber, &range, from);
                gone.extend(self.library.directory.give(gpu as DeviceNumber, &range, false));
                self.free(&gone);
                let tasks = self.gpus[gpu].filling.remove(&datum).unwrap_or_default();
                for task in tasks {
                    self.task_states[task].missing -= 1;
                    self.notify_if_brought(task);
                }
            }
            (CopyEvent::Fill(..), None) => unreachable!("a copy for a task goes to its GPU"),
        }
    }
}
