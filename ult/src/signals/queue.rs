//! Signals that wait for their addressee: a list for each TLS block, of nodes from one pool.
//!
//! A signal handler appends, on whatever kernel thread it runs; the kernel thread that runs the
//! addressee takes them, one at a time. Nothing is allocated or locked. Standard signals (below 32)
//! are kept once each, as the kernel keeps them; real-time signals are kept as often as they come,
//! in order. A timer has at most one signal in a queue. Its further ticks are counted as overruns
//! of that signal (POSIX.1-2017, `timer_getoverrun`), or they would use up the pool while the
//! thread does not run. When the pool is empty, a signal is kept as a bit without its information:
//! it is delivered, after those of the list, and says that a process has sent it. Several signals
//! with one number are then delivered as one.
//!
//! What may not live here: the choice of the worker that is notified of a signal
//! ([`super::handler`]), and the delivery ([`super::deliver`]).
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{
    AtomicI32, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release,
};

/// Nodes of the process. A program that has more signals under way than this loses their
/// information, and equal ones become one.
const NODES: usize = 1024;
/// Signals below this are kept once, but those of timers.
const FIRST_REAL_TIME: i32 = 32;
/// No node. Nodes count from one, so that a pool of zeros costs no bytes in the library.
const NIL: u32 = 0;

/// `siginfo_t`, as words.
pub type Info = [u64; 16];

struct SignalNode {
    next: UnsafeCell<u32>,
    signal: AtomicI32,
    info: UnsafeCell<Info>,
    /// The address of the queue that has the timer's signal.
    queue: AtomicUsize,
}

// SAFETY: a node belongs to the thread that has taken it out of a list, until it is put into one.
unsafe impl Sync for SignalNode {}

#[unsafe(link_section = ".sbss.large")]
static POOL: [SignalNode; NODES] = [const {
    SignalNode {
        next: UnsafeCell::new(NIL),
        signal: AtomicI32::new(0),
        info: UnsafeCell::new([0; 16]),
        queue: AtomicUsize::new(0),
    }
}; NODES];
/// For each node the timer whose signal it has, and its ticks since, as a [`TimerWord`]. Zero: the
/// node is free, or the signal is not a timer's. Apart from the nodes, because each tick looks at all
/// words: eight of them share a cache line.
#[unsafe(link_section = ".sbss.large")]
static TIMERS: [AtomicU64; NODES] = [const { AtomicU64::new(0) }; NODES];
/// Nodes that were never used begin here.
static FRESH: AtomicU64 = AtomicU64::new(0);
static FREE: SignalList = SignalList::new();

/// A list of nodes, newest first. The upper half of the word counts changes, so that a head that
/// has come back differs from one that has stayed.
#[derive(Debug)]
struct SignalList(AtomicU64);

fn node(number: u32) -> &'static SignalNode {
    &POOL[number as usize - 1]
}

fn timer_of(number: u32) -> &'static AtomicU64 {
    &TIMERS[number as usize - 1]
}

fn head_of(word: u64) -> u32 {
    word as u32
}

fn changed(word: u64, head: u32) -> u64 {
    (word >> 32).wrapping_add(1) << 32 | u64::from(head)
}

impl SignalList {
    const fn new() -> Self {
        Self(AtomicU64::new(NIL as u64))
    }

    /// # Safety
    /// The node is the caller's.
    unsafe fn push(&self, number: u32) {
        // ORDERING: Relaxed; the exchange decides.
        let mut word = self.0.load(Relaxed);
        loop {
            // SAFETY: ours until it is in the list.
            unsafe { *node(number).next.get() = head_of(word) };
            // ORDERING: AcqRel. Release pairs with the Acquire in `pop` and `take`: the node is
            // written. Acquire pairs with the Release in `take`: `put` sets `news` after this, and so
            // after the store by the thread that has taken the list.
            match self.0.compare_exchange_weak(word, changed(word, number), AcqRel, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        // ORDERING: Acquire, pairs with `push`: the link behind the head.
        let mut word = self.0.load(Acquire);
        loop {
            let head = head_of(word);
            if head == NIL {
                return None;
            }
            // SAFETY: nodes are never freed; a link that another thread is writing is thrown away,
            // because the count has changed then.
            let next = unsafe { node(head).next.get().read_volatile() };
            // ORDERING: Acquire, both, as above.
            match self.0.compare_exchange_weak(word, changed(word, next), Acquire, Acquire) {
                Ok(_) => return Some(head),
                Err(now) => word = now,
            }
        }
    }

    /// Takes all; the newest one, from which the links lead to the others.
    fn take(&self) -> u32 {
        // ORDERING: Acquire, pairs with `push`.
        let mut word = self.0.load(Acquire);
        loop {
            // ORDERING: AcqRel. Acquire as above. Release pairs with the Acquire in `push`: the store
            // to `news` before this comes before the one of a later `put`.
            match self.0.compare_exchange_weak(word, changed(word, NIL), AcqRel, Acquire) {
                Ok(_) => return head_of(word),
                Err(now) => word = now,
            }
        }
    }

    fn is_empty(&self) -> bool {
        // ORDERING: Relaxed; a hint.
        head_of(self.0.load(Relaxed)) == NIL
    }
}

fn allocate_node() -> Option<u32> {
    FREE.pop().or_else(|| {
        // ORDERING: Relaxed; a number that each caller gets for itself.
        let fresh = FRESH.load(Relaxed);
        // ORDERING: as above. At the end of the pool the count stays.
        let fresh = if fresh < NODES as u64 { FRESH.fetch_add(1, Relaxed) } else { fresh };
        (fresh < NODES as u64).then_some(fresh as u32 + 1)
    })
}

/// A timer in the upper half, in the lower one the ticks that came while its signal waited.
#[derive(Clone, Copy)]
struct TimerWord(u64);

impl TimerWord {
    /// That of the signal that `info` describes, without ticks. `None`: no timer has sent it.
    fn of(info: &Info) -> Option<Self> {
        let is_timer = info[1] as i32 == libc::SI_TIMER;
        // The lower half is the timer's number, which counts from zero.
        is_timer.then_some(Self((info[2] << 32).wrapping_add(1 << 32)))
    }

    fn is_none(self) -> bool {
        self.0 == 0
    }

    fn is_of(self, timer: Self) -> bool {
        self.0 >> 32 == timer.0 >> 32
    }

    fn ticks(self) -> u32 {
        self.0 as u32
    }

    fn plus(self, ticks: u32) -> Self {
        Self(self.0 & !u64::from(u32::MAX) | u64::from(self.ticks().saturating_add(ticks)))
    }
}

/// The overruns of a timer's signal: ticks between the one that sent it and its arrival.
fn overruns(info: &Info) -> u32 {
    (info[2] >> 32) as u32
}

/// `info` of a timer's signal that leaves a queue: with the ticks that came meanwhile as overruns, at
/// most `DELAYTIMER_MAX`.
fn with_ticks(mut info: Info, timer: TimerWord) -> Info {
    let sum = overruns(&info).saturating_add(timer.ticks()).min(i32::MAX as u32);
    super::overruns::note(info[2] as u32, sum);
    info[2] = u64::from(info[2] as u32) | u64::from(sum) << 32;
    info
}

/// The signals that wait for one TLS block.
#[derive(Debug)]
pub(crate) struct SignalQueue {
    list: SignalList,
    /// Standard signals that wait, in the list or without a node.
    pending_standard: AtomicU64,
    /// Signals without a node.
    without_info: AtomicU64,
    /// Something has come since the last attempt to deliver.
    news: AtomicU64,
}

impl SignalQueue {
    pub(crate) const fn new() -> Self {
        Self {
            list: SignalList::new(),
            pending_standard: AtomicU64::new(0),
            without_info: AtomicU64::new(0),
            news: AtomicU64::new(0),
        }
    }

    /// Keeps a signal. Any thread, in a signal handler.
    pub(super) fn put(&self, signal: i32, info: &Info) {
        let timer = TimerWord::of(info);
        if !timer.is_some_and(|timer| self.add_ticks(timer, signal, overruns(info).saturating_add(1))) {
            self.put_alone(signal, info, timer);
        }
        // ORDERING: Release, pairs with the Acquire in `has_news`.
        self.news.store(1, Release);
    }

    /// Keeps a signal that is not a further tick of a timer.
    fn put_alone(&self, signal: i32, info: &Info, timer: Option<TimerWord>) {
        let bit = super::mask::bit(signal);
        // The kernel keeps the signals of two timers apart, whatever their number.
        let is_kept_often = signal >= FIRST_REAL_TIME || timer.is_some();
        // ORDERING: Relaxed; the list publishes the node, and a standard signal that comes while an
        // equal one is being taken merges with that.
        if !is_kept_often && self.pending_standard.fetch_or(bit, Relaxed) & bit != 0 {
            return;
        }
        let Some(number) = allocate_node() else {
            // ORDERING: Relaxed; the bit is the whole message.
            self.without_info.fetch_or(bit, Relaxed);
            return;
        };
        let node = node(number);
        // ORDERING: Relaxed, both; published by the word of the timer, or by the list.
        node.signal.store(signal, Relaxed);
        node.queue.store(ptr::from_ref(self).addr(), Relaxed);
        // SAFETY: the node is ours until it is in the list.
        unsafe { *node.info.get() = *info };
        if let Some(timer) = timer {
            // ORDERING: Release, pairs with the Acquire in `add_ticks`.
            timer_of(number).store(timer.0, Release);
        }
        // SAFETY: as above. A handler that interrupts this may add ticks to the node, no more.
        unsafe { self.list.push(number) };
    }

    /// Counts `ticks` of a timer whose signal waits in this queue. False if there is none.
    ///
    /// The signals of a timer that is made for a thread come to one kernel thread. So while this
    /// looks, no other thread puts one into a queue. Signals of a timer that is made for the process
    /// may come to several kernel threads at once: such a timer may then have two nodes, whose counts
    /// add up to its ticks. The addressee may take the node that is there: the exchange decides
    /// whether it takes these ticks with it.
    fn add_ticks(&self, timer: TimerWord, signal: i32, ticks: u32) -> bool {
        // ORDERING: Relaxed; `FRESH` includes every node that this kernel thread has taken.
        let used = FRESH.load(Relaxed).min(NODES as u64) as usize;
        TIMERS[..used].iter().zip(&POOL).any(|(of_node, node)| {
            // ORDERING: Acquire, pairs with the Release in `put_alone`.
            let mut word = TimerWord(of_node.load(Acquire));
            while word.is_of(timer) {
                // A program may delete a timer whose signal waits, and the number comes again.
                // ORDERING: Relaxed, both; written before the word of the timer.
                if node.queue.load(Relaxed) != ptr::from_ref(self).addr()
                    || node.signal.load(Relaxed) != signal
                {
                    return false;
                }
                // ORDERING: Relaxed, then Acquire as above; the word is the whole message, and
                // `take` empties it.
                match of_node.compare_exchange_weak(word.0, word.plus(ticks).0, Relaxed, Acquire) {
                    Ok(_) => return true,
                    Err(now) => word = TimerWord(now),
                }
            }
            false
        })
    }

    /// Is there a signal that no thread has tried to deliver?
    pub(crate) fn has_news(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `put`.
        self.news.load(Acquire) != 0
    }

    /// Blocked signals may have been unblocked, so that delivery is tried again.
    pub(super) fn are_news_again(&self) {
        // ORDERING: Relaxed; for the calling kernel thread, which runs the addressee.
        self.news.store(1, Relaxed);
    }

    /// Does anything wait, blocked signals too?
    pub(super) fn is_empty(&self) -> bool {
        // ORDERING: Relaxed; a hint.
        self.list.is_empty() && self.without_info.load(Relaxed) == 0
    }

    /// Takes the oldest signal that waits and that `blocked` does not hold. One at a time: a
    /// handler that is called for it may leave by `siglongjmp`. By the kernel thread that runs
    /// the addressee.
    pub(super) fn take(&self, blocked: u64) -> Option<(i32, Info)> {
        // ORDERING: Relaxed; the list is taken below, and a signal that is put after this store
        // sets `news` again.
        self.news.store(0, Relaxed);
        let (mut found, mut more) = (None, false);
        let mut next = reversed(self.list.take());
        while next != NIL {
            let (number, node) = (next, node(next));
            // ORDERING: Relaxed; published by the list.
            let signal = node.signal.load(Relaxed);
            // SAFETY: taken out of the list by us alone.
            let info = unsafe {
                next = *node.next.get();
                *node.info.get()
            };
            let bit = super::mask::bit(signal);
            // SAFETY: as above.
            unsafe {
                if found.is_some() || blocked & bit != 0 {
                    more |= blocked & bit == 0;
                    self.list.push(number);
                } else {
                    // ORDERING: Relaxed; see `add_ticks`. The push publishes that the node is free.
                    let timer = TimerWord(timer_of(number).swap(0, Relaxed));
                    if timer.is_none() {
                        // ORDERING: Relaxed; see `put_alone`.
                        self.pending_standard.fetch_and(!bit, Relaxed);
                    }
                    FREE.push(number);
                    found = Some((signal, if timer.is_none() { info } else { with_ticks(info, timer) }));
                }
            }
        }
        if more {
            // ORDERING: Relaxed; for this kernel thread, which has put them back.
            self.news.store(1, Relaxed);
        }
        found.or_else(|| self.take_bare(blocked))
    }

    /// The signals that wait. By the kernel thread that runs the addressee, with its signals
    /// blocked.
    pub(super) fn pending_set(&self) -> u64 {
        // ORDERING: Relaxed; a bit is the whole message.
        let mut set = self.without_info.load(Relaxed);
        let mut next = reversed(self.list.take());
        while next != NIL {
            let (number, node) = (next, node(next));
            // ORDERING: Relaxed; published by the list.
            set |= super::mask::bit(node.signal.load(Relaxed));
            // SAFETY: taken out of the list by us alone, and put back.
            unsafe {
                next = *node.next.get();
                self.list.push(number);
            }
        }
        set
    }

    /// Drops all queued signals. The thread of this queue and its donor have ended.
    pub(crate) fn clear(&self) {
        while self.take(0).is_some() {}
    }

    fn take_bare(&self, blocked: u64) -> Option<(i32, Info)> {
        // ORDERING: Relaxed; a bit is the whole message.
        let bare = self.without_info.load(Relaxed) & !blocked;
        if bare == 0 {
            return None;
        }
        let signal = bare.trailing_zeros() as i32 + 1;
        // ORDERING: as above.
        self.without_info.fetch_and(!super::mask::bit(signal), Relaxed);
        // ORDERING: as above.
        self.pending_standard.fetch_and(!super::mask::bit(signal), Relaxed);
        let mut info = [0; 16];
        info[0] = signal as u64; // all else zero: `SI_USER`, without a sender
        Some((signal, info))
    }
}

/// In the child of a fork, when the one queue that is left is empty: no node has a timer's signal. A
/// thread of the parent may have been about to put such a node into a list, where no thread would
/// find it.
///
/// Only while the child has one thread.
pub(super) fn forget_timers_after_fork() {
    // ORDERING: Relaxed, both; the child has one thread.
    let used = FRESH.load(Relaxed).min(NODES as u64) as usize;
    // ORDERING: as above.
    TIMERS[..used].iter().for_each(|timer| timer.store(0, Relaxed));
}

/// The list that begins at `newest`, the other way round. All of it is the caller's.
fn reversed(newest: u32) -> u32 {
    let (mut from, mut oldest) = (newest, NIL);
    while from != NIL {
        let next = node(from).next.get();
        // SAFETY: the nodes are the caller's.
        from = unsafe { core::mem::replace(&mut *next, core::mem::replace(&mut oldest, from)) };
    }
    oldest
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn taken(queue: &SignalQueue, blocked: u64) -> Vec<(i32, u64)> {
        core::iter::from_fn(|| queue.take(blocked)).map(|(signal, info)| (signal, info[1])).collect()
    }

    #[test]
    fn standard_signals_are_kept_once_and_real_time_signals_in_order() {
        let queue = SignalQueue::new();
        assert!(!queue.has_news());
        for (signal, word) in [(10, 1), (40, 2), (10, 3), (40, 4), (12, 5)] {
            let mut info = [0; 16];
            info[1] = word;
            queue.put(signal, &info);
        }
        assert!(queue.has_news() && !queue.is_empty());
        assert_eq!(taken(&queue, 0), [(10, 1), (40, 2), (40, 4), (12, 5)]);
        assert!(!queue.has_news() && queue.is_empty());
        queue.put(10, &[0; 16]);
        assert_eq!(taken(&queue, 0), [(10, 0)]);
    }

    #[test]
    fn what_is_blocked_stays_without_being_news() {
        let queue = SignalQueue::new();
        queue.put(10, &[0; 16]);
        queue.put(12, &[0; 16]);
        assert_eq!(taken(&queue, super::super::mask::bit(10)), [(12, 0)]);
        assert!(!queue.has_news() && !queue.is_empty());
        assert_eq!(taken(&queue, 0), [(10, 0)]);
    }

    #[test]
    fn pending_set_leaves_the_queue_unchanged() {
        let queue = SignalQueue::new();
        for (signal, word) in [(10, 1), (40, 2), (40, 3)] {
            let mut info = [0; 16];
            info[1] = word;
            queue.put(signal, &info);
        }
        assert_eq!(queue.pending_set(), super::super::mask::bit(10) | super::super::mask::bit(40));
        assert!(queue.has_news());
        assert_eq!(taken(&queue, 0), [(10, 1), (40, 2), (40, 3)]);
        assert_eq!(queue.pending_set(), 0);
    }

    /// What the kernel says of a tick.
    fn tick(signal: i32, timer: u64, overruns: u64) -> Info {
        let mut info = [0; 16];
        info[..4].copy_from_slice(&[
            signal as u64,
            u64::from(libc::SI_TIMER as u32),
            timer | overruns << 32,
            timer + 100,
        ]);
        info
    }

    /// What a program reads: the signal, the timer, the overruns.
    fn ticks_taken(queue: &SignalQueue) -> Vec<(i32, u64, u64)> {
        core::iter::from_fn(|| queue.take(0))
            .map(|(signal, info)| (signal, info[2] & u64::from(u32::MAX), info[2] >> 32))
            .collect()
    }

    #[test]
    fn ticks_of_a_timer_are_overruns_of_its_signal() {
        let (queue, other) = (SignalQueue::new(), SignalQueue::new());
        for (signal, timer, overruns) in
            [(40, 0, 2), (40, 1, 0), (40, 0, 3), (10, 2, 0), (10, 3, 0), (40, 0, 0)]
        {
            queue.put(signal, &tick(signal, timer, overruns));
        }
        // The number of a deleted timer, for another thread or with another signal.
        other.put(40, &tick(40, 1, 0));
        queue.put(41, &tick(41, 1, 7));
        assert_eq!(ticks_taken(&queue), [(40, 0, 7), (40, 1, 0), (10, 2, 0), (10, 3, 0), (41, 1, 7)]);
        assert_eq!(ticks_taken(&other), [(40, 1, 0)]);
        queue.put(40, &tick(40, 0, 0));
        assert_eq!(ticks_taken(&queue), [(40, 0, 0)]);
    }

    #[test]
    fn a_timer_does_not_use_up_the_pool() {
        let queue = SignalQueue::new();
        let count = 2 * NODES as u64;
        (0..count).for_each(|_| queue.put(40, &tick(40, 9, 0)));
        assert_eq!(ticks_taken(&queue), [(40, 9, count - 1)]);
        queue.put(40, &tick(40, 9, i32::MAX as u64 - 1));
        (0..3).for_each(|_| queue.put(40, &tick(40, 9, 0)));
        assert_eq!(ticks_taken(&queue), [(40, 9, i32::MAX as u64)]);
    }

    #[test]
    fn no_tick_is_lost_while_one_takes() {
        static QUEUE: SignalQueue = SignalQueue::new();
        const TICKS: u64 = 20_000;
        let mut seen = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| (0..TICKS).for_each(|_| QUEUE.put(40, &tick(40, 5, 0))));
            while seen < TICKS {
                seen += ticks_taken(&QUEUE).iter().map(|(_, _, overruns)| 1 + overruns).sum::<u64>();
            }
        });
        assert_eq!(seen, TICKS);
        assert!(QUEUE.is_empty());
    }

    #[test]
    fn threads_put_while_one_takes() {
        static QUEUE: SignalQueue = SignalQueue::new();
        const EACH: u64 = 100;
        let mut seen = 0;
        std::thread::scope(|scope| {
            for thread in 0..3 {
                scope.spawn(move || {
                    for n in 0..EACH {
                        QUEUE.put(40 + thread, &[n + 1; 16]);
                    }
                });
            }
            while seen < 3 * EACH {
                if let Some((signal, _)) = QUEUE.take(0) {
                    assert!((40..43).contains(&signal));
                    seen += 1;
                }
            }
        });
        assert!(QUEUE.is_empty());
    }
}
