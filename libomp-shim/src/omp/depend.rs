//! Task dependences (OpenMP 5.2 §15.9): who waits for whom among the children of one task.
//!
//! Each generating task has a [`DependTable`] from addresses to *sets*. A set is a run of tasks that named the address
//! with the same kind and need not wait for each other (`in`, `inoutset`, `mutexinoutset`); `out` makes a set of one. A
//! new task joins the current set if its kind is the set's and not `out`, and then waits for every member of the
//! previous set; otherwise the current set becomes the previous one. Members of `mutexinoutset` sets exclude each
//! other by the set's [`Mutex`].
//!
//! Only the generating task touches its table, so the table has no lock. What completing tasks touch is the [`Node`]:
//! a count of predecessors (atomic) and a list of successors (under the node's own lock). A node outlives its task as
//! long as a table or a predecessor refers to it. Cost grows with the edges; a set forgets completed members before it
//! grows.
//!
//! A task with `mutexinoutset` acquires its mutexes when its last predecessor completes, before it is ready: in the order
//! of their addresses, so that holding some while standing in line for the next cannot deadlock. Who gives a mutex back
//! hands it to the first in line. Tried and rejected: taking all or none (whoever gives some back must wake those who
//! queued meanwhile), and trying at the moment a thread wants to start the task (threads then look at tasks they
//! cannot start).

use core::cell::Cell;
use core::hash::{BuildHasherDefault, Hasher};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex as StdMutex};

use ult::worker::Worker;

use super::queue;
use super::task::{self, Flags, Task};
use super::team::Team;
use super::thread::{Here, Thread};

/// Kind of a dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `in`
    In,
    /// `out` and `inout`
    Out,
    /// `mutexinoutset`
    MutexInOutSet,
    /// `inoutset`
    InOutSet,
}

/// One item of a `depend` clause.
#[derive(Clone, Copy, Debug)]
pub struct Dependence {
    /// The storage location; `None` for `omp_all_memory`.
    pub address: Option<usize>,
    /// The kind.
    pub kind: Kind,
}

/// Mutual exclusion among the members of one `mutexinoutset` set.
struct Mutex {
    state: StdMutex<MutexState>,
}

#[derive(Default)]
struct MutexState {
    held: bool,
    line: VecDeque<NodeRef>,
}

/// A task's place in the graph.
pub struct Node {
    references: AtomicU32,
    /// Predecessors not yet complete, plus one while edges are still being entered.
    predecessors: AtomicU32,
    /// The task that becomes ready, null for a wait (`taskwait depend`, an undeferred task).
    task: AtomicPtr<Task>,
    /// The kernel thread that waits, when there is no task to push.
    waiter: Cell<Option<&'static Worker>>,
    successors: StdMutex<Successors>,
    /// The mutexes the task must hold, by address. Set before the node is released.
    mutexes: Cell<Vec<Arc<Mutex>>>,
    /// How many of them it holds.
    held: Cell<usize>,
    /// A waiter may go on.
    ready: AtomicBool,
}

#[derive(Default)]
struct Successors {
    complete: bool,
    list: Vec<NodeRef>,
    /// What [`successors`] has given out.
    shown: Vec<Box<[Successor]>>,
}

/// One element of a list of successors as tools see it (LLVM's `kmp_depnode_list_t`).
#[repr(C)]
pub struct Successor {
    node: *const Node,
    next: *const Successor,
}

// SAFETY: two addresses that nobody here reads through.
unsafe impl Send for Successor {}

// SAFETY: the cells are written by the creating thread before `release_entry` publishes the node (AcqRel on
// `predecessors`), then by the thread that brings the count to zero, then by whoever hands it a mutex (under that mutex's
// lock), at last by the thread that completes the task: one at a time, each ordered after the one before.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

/// A counted reference to a node.
struct NodeRef(NonNull<Node>);

// SAFETY: the node is Sync and the count atomic.
unsafe impl Send for NodeRef {}

impl NodeRef {
    fn get(&self) -> &Node {
        // SAFETY: the reference keeps the node alive.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for NodeRef {
    fn clone(&self) -> Self {
        // ORDERING: Relaxed; a reference exists already.
        self.get().references.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl Drop for NodeRef {
    fn drop(&mut self) {
        Node::drop_reference(self.0);
    }
}

impl Node {
    fn new(task: *mut Task) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            references: AtomicU32::new(1),
            predecessors: AtomicU32::new(1),
            task: AtomicPtr::new(task),
            waiter: Cell::new(None),
            successors: StdMutex::new(Successors::default()),
            mutexes: Cell::new(Vec::new()),
            held: Cell::new(0),
            ready: AtomicBool::new(false),
        })))
    }

    /// Gives one reference back; the last one frees the node.
    pub fn drop_reference(node: NonNull<Self>) {
        // ORDERING: AcqRel; the last reference is dropped after every other use.
        // SAFETY: the caller's reference keeps the node until here.
        if unsafe { node.as_ref() }.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the last reference, and the node came from a Box.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }

    fn is_complete(&self) -> bool {
        lock(&self.successors).complete
    }

    /// Makes `successor` wait for this node unless it is complete.
    fn precede(&self, successor: &NodeRef) {
        if ptr::eq(self, successor.get()) {
            return;
        }
        let mut successors = lock(&self.successors);
        // Edges are entered for one task after the other: if this edge is there already, it is the last one.
        let known = successors.list.last().is_some_and(|last| last.0 == successor.0);
        if !successors.complete && !known {
            // ORDERING: Relaxed; the creation guard keeps the count above zero until all edges are entered.
            successor.get().predecessors.fetch_add(1, Ordering::Relaxed);
            successors.list.push(successor.clone());
        }
    }
}

fn lock<T>(mutex: &StdMutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// The nodes that wait for `node` now, as a linked list that lives as long as `node`; null when there are none.
pub fn successors(node: &Node) -> *const Successor {
    let mut successors = lock(&node.successors);
    let items = successors.list.iter().map(|n| Successor { node: n.0.as_ptr(), next: ptr::null() });
    let mut list: Box<[Successor]> = items.collect();
    let Some(count) = list.len().checked_sub(1) else { return ptr::null() };
    let first = list.as_mut_ptr();
    for i in 0..count {
        // SAFETY: both are elements of the list, which stays where it is when the box moves.
        unsafe { (*first.add(i)).next = first.add(i + 1) };
    }
    successors.shown.push(list);
    first
}

// ---- the table --------------------------------------------------------------------------------------------------

/// Multiplicative hash of an address.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_usize(usize::from(b));
        }
    }
    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
}

/// The dependences among one task's children.
#[derive(Default)]
pub struct DependTable {
    addresses: HashMap<usize, Sets, BuildHasherDefault<AddressHasher>>,
    /// The last task with `omp_all_memory`: it precedes every address not seen since.
    all_memory: Option<NodeRef>,
    /// Number of addresses at which those without incomplete tasks are forgotten next.
    sweep_at: usize,
}

/// Addresses a table holds before it looks for some to forget.
const FIRST_SWEEP: usize = 1024;

/// The two newest sets of one address.
#[derive(Default)]
struct Sets {
    kind: Option<Kind>,
    current: Vec<NodeRef>,
    previous: Vec<NodeRef>,
    mutex: Option<Arc<Mutex>>,
}

impl DependTable {
    /// The running task's table, made at its first child with dependences.
    #[allow(clippy::mut_from_ref, reason = "a table belongs to the running task; callers do not nest")]
    fn of(task: &Task) -> &mut Self {
        let table = task.children_depend.get().unwrap_or_else(|| {
            let fresh = NonNull::from(Box::leak(Box::default()));
            task.children_depend.set(Some(fresh));
            fresh
        });
        // SAFETY: only the generating task, which is running here, uses its table.
        unsafe { &mut *table.as_ptr() }
    }

    /// Frees the table of a task that generates no more children.
    pub fn discard(slot: &Cell<Option<NonNull<Self>>>) {
        if let Some(table) = slot.take() {
            // SAFETY: the table came from a Box and the slot was its only owner.
            drop(unsafe { Box::from_raw(table.as_ptr()) });
        }
    }

    /// Enters `node` with one dependence. Returns the mutex it must hold, if any.
    fn enter(&mut self, node: &NodeRef, item: Dependence) -> Option<Arc<Mutex>> {
        match item.address {
            None => {
                self.enter_all_memory(node);
                None
            }
            Some(address) => {
                self.sweep();
                let all_memory = &self.all_memory;
                let sets = self.addresses.entry(address).or_insert_with(|| Sets::after(all_memory));
                sets.enter(node, item.kind)
            }
        }
    }

    /// Forgets addresses whose tasks are complete when the table has doubled since the last time, so that memory follows
    /// the tasks alive and the cost stays constant per entry.
    fn sweep(&mut self) {
        if self.addresses.len() < self.sweep_at.max(FIRST_SWEEP) {
            return;
        }
        let is_live = |node: &NodeRef| !node.get().is_complete();
        self.addresses.retain(|_, sets| sets.current.iter().chain(&sets.previous).any(is_live));
        self.sweep_at = 2 * self.addresses.len();
    }

    fn enter_all_memory(&mut self, node: &NodeRef) {
        if ult::mutant!(all_memory_ignored) { return }
        for sets in self.addresses.values() {
            // A set's predecessors are complete when its members are, but a set may consist of `node` alone.
            for before in sets.current.iter().chain(&sets.previous) {
                before.get().precede(node);
            }
        }
        if let Some(before) = &self.all_memory {
            before.get().precede(node);
        }
        self.addresses.clear();
        self.all_memory = Some(node.clone());
    }
}

impl Sets {
    fn after(all_memory: &Option<NodeRef>) -> Self {
        let mut sets = Self::default();
        if let Some(node) = all_memory {
            sets.kind = Some(Kind::Out);
            sets.current.push(node.clone());
        }
        sets
    }

    fn enter(&mut self, node: &NodeRef, kind: Kind) -> Option<Arc<Mutex>> {
        // A task may name an address twice, with kinds that differ: it counts as the stronger one, `out`.
        let again = self.current.iter().any(|n| n.0 == node.0);
        if again && (self.kind == Some(kind) || self.kind == Some(Kind::Out)) {
            return self.mutex.clone();
        }
        let kind = if again { Kind::Out } else { kind };
        let kind = if ult::mutant!(inoutset_as_in) && kind == Kind::InOutSet { Kind::In } else { kind };
        if self.kind != Some(kind) || kind == Kind::Out {
            self.begin_set(node, kind);
        }
        for before in &self.previous {
            before.get().precede(node);
        }
        self.forget_completed();
        self.current.push(node.clone());
        self.mutex.clone()
    }

    /// The current set becomes the previous one. If the new task is its only member (it has named the address before)
    /// the previous set stays in force.
    fn begin_set(&mut self, node: &NodeRef, kind: Kind) {
        self.current.retain(|n| n.0 != node.0 && !loses_edge(self.kind, kind));
        if !self.current.is_empty() || self.kind.is_none() {
            self.previous = core::mem::take(&mut self.current);
        }
        self.kind = Some(kind);
        self.mutex = (kind == Kind::MutexInOutSet)
            .then(|| Arc::new(Mutex { state: StdMutex::new(MutexState::default()) }));
    }

    /// Before the set's storage grows, members that are complete are dropped.
    fn forget_completed(&mut self) {
        if self.current.len() == self.current.capacity() && self.current.len() >= 8 {
            self.current.retain(|n| !n.get().is_complete());
        }
    }
}

/// A mutant that forgets this edge?
fn loses_edge(from: Option<Kind>, to: Kind) -> bool {
    match (from, to) {
        (Some(Kind::In), Kind::Out) => ult::mutant!(in_to_out_lost),
        (Some(Kind::Out), Kind::In) => ult::mutant!(out_to_in_lost),
        (Some(Kind::Out), Kind::Out) => ult::mutant!(out_to_out_lost),
        _ => false,
    }
}

// ---- entering and completing ------------------------------------------------------------------------------------

/// Creates a deferred task with dependences: it is pushed when its last predecessor completes, perhaps now.
pub fn submit(here: Here, task: NonNull<Task>, items: impl Iterator<Item = Dependence>) {
    // SAFETY: the task is ours until it is published.
    let task_ref = unsafe { task.as_ref() };
    task::announce(here, task_ref);
    if here.task.flags().has(Flags::FINAL) {
        wait_to_run(here, task, items);
        task::run_undeferred(here, task);
        return;
    }
    let node = Node::new(task.as_ptr());
    task_ref.set_node(node);
    let reference = enter(here, node, items);
    if release_entry(reference.get()) {
        if task::is_included(here) {
            task::run_undeferred(here, task);
        } else {
            queue::push(here.thread, task);
        }
    }
    drop(reference);
    queue::throttle(here);
}

/// Creates an undeferred task with dependences: waits until it may run. The caller then runs it with
/// [`task::run_undeferred`] (or the compiler's own code runs it).
pub fn wait_to_run(here: Here, task: NonNull<Task>, items: impl Iterator<Item = Dependence>) {
    // SAFETY: the task is ours.
    let task_ref = unsafe { task.as_ref() };
    let node = Node::new(ptr::null_mut());
    task_ref.set_node(node);
    let reference = enter(here, node, items);
    wait_ready(here, &reference);
}

/// `taskwait depend(…)` (5.2 §15.5): waits for the children that the items depend on.
pub fn wait_for(here: Here, items: impl Iterator<Item = Dependence>) {
    if let Some(node) = wait_and_hold(here, items) {
        leave(here, node);
    }
}

/// As [`wait_for`], before a task that the caller runs itself. What this returns holds the mutexes of `mutexinoutset`: it is
/// to be made the task's node, or given to [`leave`] when the task has ended. `None` if there is nothing to hold; who
/// comes later then need not wait for the task, since the generating task does.
#[must_use]
pub fn wait_and_hold(here: Here, items: impl Iterator<Item = Dependence>) -> Option<NonNull<Node>> {
    here.task.children_depend.get()?;
    let node = Node::new(ptr::null_mut());
    let reference = enter(here, node, items);
    wait_ready(here, &reference);
    if reference.get().held.get() == 0 {
        leave(here, node);
        return None;
    }
    Some(node)
}

/// The end of what [`wait_and_hold`] began.
pub fn leave(here: Here, node: NonNull<Node>) {
    complete(node, Some(here.thread), here.thread.team());
    Node::drop_reference(node);
}

/// Enters a node's dependences; the creation guard is still on it.
fn enter(here: Here, node: NonNull<Node>, items: impl Iterator<Item = Dependence>) -> NodeRef {
    // SAFETY: the creator's reference.
    unsafe { node.as_ref() }.references.fetch_add(1, Ordering::Relaxed); // ORDERING: Relaxed; not published yet.
    let reference = NodeRef(node);
    let table = DependTable::of(here.task);
    let mut mutexes: Vec<Arc<Mutex>> = Vec::new();
    for item in items {
        if let Some(mutex) = table.enter(&reference, item)
            && !mutexes.iter().any(|m| Arc::ptr_eq(m, &mutex))
        {
            mutexes.push(mutex);
        }
    }
    mutexes.sort_by_key(Arc::as_ptr);
    reference.get().mutexes.set(mutexes);
    reference
}

fn wait_ready(here: Here, reference: &NodeRef) {
    let node = reference.get();
    node.waiter.set(Some(here.thread.worker()));
    if release_entry(node) || ult::mutant!(undeferred_ignores_depend) {
        return;
    }
    // ORDERING: Acquire, pairs with the Release in `make_ready`.
    here.team().help_until(here.thread, &|| node.ready.load(Ordering::Acquire));
}

/// One predecessor (or the creation guard) less. True when it was the last and the mutexes are ours: the node is ready.
fn release_entry(node: &Node) -> bool {
    // ORDERING: AcqRel; Release publishes what the predecessor wrote, Acquire shows it to whoever runs the task.
    let last = node.predecessors.fetch_sub(1, Ordering::AcqRel) == 1;
    last && acquire_mutexes(node)
}

/// Goes on acquiring the node's mutexes. True when it holds them all; otherwise it stands in line for the next one, and
/// whoever hands that over goes on in its place.
fn acquire_mutexes(node: &Node) -> bool {
    // SAFETY: see `Node`'s Sync argument: only the thread that brought the count to zero, or that handed a mutex over,
    // is here; the list itself does not change before the task completes.
    let mutexes = unsafe { &*node.mutexes.as_ptr() };
    while let Some(mutex) = mutexes.get(node.held.get()) {
        let mut state = lock(&mutex.state);
        if state.held && !ult::mutant!(mutexinoutset_shared) {
            // ORDERING: Relaxed; our caller holds a reference.
            node.references.fetch_add(1, Ordering::Relaxed);
            state.line.push_back(NodeRef(NonNull::from(node)));
            return false;
        }
        state.held = true;
        node.held.set(node.held.get() + 1);
    }
    true
}

/// The node's task is complete: its successors lose a predecessor and its mutexes are handed on. `thread` is the running
/// thread when it belongs to `team`.
pub fn complete(node: NonNull<Node>, thread: Option<&Thread>, team: &Team) {
    // SAFETY: the task's reference on its node is dropped later.
    let node = unsafe { node.as_ref() };
    let successors = {
        let mut successors = lock(&node.successors);
        successors.complete = true;
        core::mem::take(&mut successors.list)
    };
    for successor in successors {
        if release_entry(successor.get()) {
            make_ready(successor.get(), thread, team);
        }
    }
    release_mutexes(node, thread, team);
}

fn release_mutexes(node: &Node, thread: Option<&Thread>, team: &Team) {
    for mutex in node.mutexes.take() {
        let heir = {
            let mut state = lock(&mutex.state);
            let heir = state.line.pop_front();
            state.held = heir.is_some();
            heir
        };
        if let Some(heir) = heir {
            heir.get().held.set(heir.get().held.get() + 1);
            if acquire_mutexes(heir.get()) {
                make_ready(heir.get(), thread, team);
            }
        }
    }
}

fn make_ready(node: &Node, thread: Option<&Thread>, team: &Team) {
    // ORDERING: Relaxed; constant since the node was made, published by the count.
    let Some(task) = NonNull::new(node.task.load(Ordering::Relaxed)) else {
        // Read first: the waiter may leave, and the node with it, as soon as it sees the flag.
        let waiter = node.waiter.get();
        // ORDERING: Release, pairs with the Acquire in `wait_ready`.
        node.ready.store(true, Ordering::Release);
        if let Some(worker) = waiter {
            worker.wake();
        }
        return;
    };
    match thread {
        Some(thread) => queue::push(thread, task),
        None => queue::push_foreign(team, task),
    }
}
