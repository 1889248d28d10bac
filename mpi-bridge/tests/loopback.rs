//! Several ranks in one process, over a carrier that delays messages and reports completions in any
//! order.
//!
//! Everything goes through the C table's types, one thread drives all ranks unless a test says
//! otherwise, and every number below comes from a seed, so that a failure repeats.
#![cfg(not(loom))]
#![allow(clippy::vec_box, reason = "an open bridge does not move: its thread and its messages point to it")]

use mpi_bridge::bridge::{Bridge, BridgeSettings};
use mpi_bridge::fabric::Fabric;
use mpi_bridge::fabric::loopback::{Behaviour, Endpoint, world};
use mpi_bridge::near::carrier::Near;
use mpi_bridge::near::segment::{Inbox, in_process};
use mpi_bridge::pair::PairLimits;
use mpi_bridge::start::hash;
use mpi_bridge::table::{Arrival, BridgeBlock, BridgeConfig, BridgeMessage, Done, MORE, code};
use mpi_bridge::wave::WaveOperation;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::SeqCst};

/// Small sizes, so that every limit is met.
const SMALL: BridgeSettings = BridgeSettings {
    limits: PairLimits { packet: 4096, batch: 512, queue: 2048, window: 4 },
    chunk: 1000,
    most_in_flight: 3,
    posted_receives: 3,
};

fn behaviour(seed: u64) -> Behaviour {
    Behaviour { most_delay: 20, shuffle: true, most_eager: 600, seed, most_tag: 32767 }
}

/// Two of three seeds have ranks that share memory: all of them, or those with odd numbers and
/// those with even ones, with rings that are full soon and too small for some packets.
fn bridges(ranks: u32, seed: u64, config: BridgeConfig) -> Vec<Box<Bridge>> {
    let machines: Vec<Vec<u32>> = match seed % 3 {
        0 => Vec::new(),
        1 => vec![(0..ranks).collect()],
        _ => (0..2).map(|odd| (0..ranks).filter(|rank| rank % 2 == odd).collect()).collect(),
    };
    let mut inboxes: Vec<Option<Inbox>> = (0..ranks).map(|_| None).collect();
    for machine in machines {
        for (&rank, inbox) in machine.iter().zip(in_process(&machine, 1024)) {
            inboxes[rank as usize] = Some(inbox);
        }
    }
    let fabric = |(end, inbox): (Endpoint, Option<Inbox>)| -> Box<dyn Fabric> {
        match inbox {
            Some(inbox) => Box::new(Near::new(end, inbox)),
            None => Box::new(end),
        }
    };
    let ends = world(ranks, behaviour(seed)).into_iter().zip(inboxes);
    ends.map(|end| Bridge::new(fabric(end), SMALL, config)).collect()
}

fn turn(all: &[Box<Bridge>]) {
    for bridge in all {
        bridge.progress().expect("the bridge is fine");
    }
}

/// Drives all ranks until `end`, or fails after a great many looks.
fn drive(all: &[Box<Bridge>], what: &str, end: impl Fn() -> bool) {
    let looks = (0..200_000).take_while(|_| !end()).map(|_| turn(all)).count();
    assert!(end(), "{what}: not after {looks} looks");
}

/// Finalizes all ranks, each on a thread, as it waits for the others.
fn finish(all: &[Box<Bridge>]) {
    std::thread::scope(|s| {
        let ends: Vec<_> = all.iter().map(|b| s.spawn(|| b.finish())).collect();
        ends.into_iter().for_each(|e| assert_eq!(e.join().expect("no panic"), Ok(())));
    });
}

fn context<T>(value: &T) -> *mut c_void {
    (&raw const *value).cast_mut().cast()
}

/// SAFETY for all uses: contexts are made by `context` from values that outlive the bridges' use of
/// them.
unsafe fn known<'a, T>(context: *mut c_void) -> &'a T {
    // SAFETY: as above.
    unsafe { &*context.cast::<T>() }
}

unsafe extern "C" fn store(status: *mut c_void, value: c_int) {
    // SAFETY: see `known`.
    unsafe { known::<AtomicI32>(status) }.store(value, SeqCst);
}

const NOT_YET: i32 = 77;

fn notify(status: &AtomicI32) -> Done {
    Done { call: Some(store), context: context(status) }
}

/// Messages that a rank got: source and number, in order.
#[derive(Default)]
struct Log(Mutex<Vec<(u32, u64)>>);

unsafe extern "C" fn log(context: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: see `known`; messages of these tests begin with a number.
    unsafe {
        let message = &*message;
        let number = message.bytes.cast::<u64>().read();
        let rest =
            core::slice::from_raw_parts(message.bytes.cast::<u8>().add(8), message.length as usize - 8);
        assert!(rest.iter().all(|b| *b == number as u8), "message {number} arrives as it was sent");
        known::<Log>(context).0.lock().expect("no panic").push((message.source, number));
    }
}

fn numbered(bridge: &Bridge, to: u32, number: u64, size: usize, flags: u32) -> Result<(), i32> {
    let filling = vec![number as u8; size];
    // SAFETY: no blocks.
    unsafe { bridge.send(to, 1, &[&number.to_ne_bytes(), &filling], &[], flags) }
}

#[test]
fn messages_of_a_pair_arrive_once_and_in_order() {
    for seed in 0..6 {
        let ranks = 4;
        let all = bridges(ranks, seed, BridgeConfig::default());
        let logs: Vec<Log> = (0..ranks).map(|_| Log::default()).collect();
        all.iter().zip(&logs).for_each(|(b, l)| b.handle(1, log, context(l)).expect("before open"));
        all.iter().for_each(|b| b.open().expect("once"));
        let (count, mut refused) = (300u64, 0);
        let mut next = vec![0u64; (ranks * ranks) as usize];
        while next.iter().any(|n| *n < count) {
            // Bursts, so that queues fill up.
            let burst = (0..50).flat_map(|_| 0..next.len());
            for i in burst.collect::<Vec<_>>() {
                let n = &mut next[i];
                if *n == count {
                    continue;
                }
                let (from, to) = (i as u32 / ranks, i as u32 % ranks);
                let size = if n.is_multiple_of(5) { *n * 37 % 900 } else { *n % 40 } as usize;
                match numbered(&all[from as usize], to, *n, size, if n.is_multiple_of(3) { MORE } else { 0 })
                {
                    Ok(()) => *n += 1,
                    Err(code) => {
                        assert_eq!(code, code::BUSY);
                        refused += 1;
                    }
                }
            }
            turn(&all);
        }
        let whole = (count * u64::from(ranks)) as usize;
        drive(&all, "all messages", || logs.iter().all(|l| l.0.lock().expect("fine").len() == whole));
        for log in &logs {
            for source in 0..ranks {
                let list = log.0.lock().expect("fine");
                assert!(list.iter().filter(|(s, _)| *s == source).map(|(_, n)| *n).eq(0..count));
            }
        }
        assert!(refused > 0, "the limits of the queue were met");
        let packets: u64 = all.iter().map(|b| b.counters().packets_sent).sum();
        assert!(packets < count * u64::from(ranks * ranks), "messages share packets: {packets}");
        finish(&all);
    }
}

struct Taker {
    bridge: *const Bridge,
    memory: RefCell<Vec<Box<[u8]>>>,
    waiting: RefCell<VecDeque<Arrival>>,
    refuses: bool,
    got: AtomicI32,
}

/// Takes a message's blocks: the first at once, the others later.
unsafe extern "C" fn take(context: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: see `known`; the blocks are those of the message.
    unsafe {
        let (taker, message) = (known::<Taker>(context), &*message);
        let blocks = core::slice::from_raw_parts(message.blocks, message.block_count as usize);
        taker.waiting.borrow_mut().extend(blocks);
        assert_eq!(core::slice::from_raw_parts(message.bytes.cast::<u8>(), message.length as usize), b"head");
        taker.take_one();
    }
}

unsafe extern "C" fn took(context: *mut c_void, status: c_int) {
    assert_eq!(status, code::OK);
    // SAFETY: see `known`.
    unsafe { known::<Taker>(context) }.got.fetch_add(1, SeqCst);
}

impl Taker {
    fn new(bridge: &Bridge, refuses: bool) -> Self {
        let (memory, waiting) = (RefCell::default(), RefCell::default());
        Self { bridge, memory, waiting, refuses, got: AtomicI32::new(0) }
    }

    fn take_one(&self) {
        let Some(arrival) = self.waiting.borrow_mut().pop_front() else { return };
        // SAFETY: the bridge outlives its taker's use.
        let bridge = unsafe { &*self.bridge };
        if self.refuses {
            return bridge.refuse(arrival).expect("it is open");
        }
        let mut memory = vec![0; arrival.bytes as usize].into_boxed_slice();
        let into = memory.as_mut_ptr();
        self.memory.borrow_mut().push(memory);
        // SAFETY: the box is not touched before everything has arrived.
        unsafe {
            bridge
                .accept(arrival, into, Done { call: Some(took), context: context(self) })
                .expect("it is open")
        };
    }
}

#[test]
fn blocks_go_straight_into_memory_or_are_refused() {
    for (seed, refuses) in [(1, false), (2, true), (3, false), (4, true)] {
        let all = bridges(2, seed, BridgeConfig::default());
        let taker = Taker::new(&all[1], refuses);
        all.iter().for_each(|b| b.handle(2, take, context(&taker)).expect("before open"));
        all.iter().for_each(|b| b.open().expect("once"));
        let sizes = [0usize, 1, 999, 1000, 1001, 2000, 5432, 60_000];
        let data: Vec<Vec<u8>> = sizes.iter().map(|s| (0..*s).map(|i| (i * 7 + s) as u8).collect()).collect();
        let ends: Vec<AtomicI32> = sizes.iter().map(|_| AtomicI32::new(NOT_YET)).collect();
        let block = |(d, e): (&Vec<u8>, &AtomicI32)| BridgeBlock {
            from: d.as_ptr().cast(),
            bytes: d.len() as u64,
            done: Some(store),
            context: context(e),
        };
        let blocks: Vec<BridgeBlock> = data.iter().zip(&ends).map(block).collect();
        // SAFETY: `data` outlives the transfers.
        unsafe { all[0].send(1, 2, &[b"he", b"ad"], &blocks, 0).expect("there is room") };
        drive(&all, "the first block", || ends[0].load(SeqCst) != NOT_YET);
        (0..100).for_each(|_| turn(&all));
        assert_eq!(ends[1].load(SeqCst), NOT_YET, "nobody has taken the second block");
        drive(&all, "all blocks", || {
            taker.take_one();
            ends.iter().all(|e| e.load(SeqCst) != NOT_YET)
        });
        let expected = if refuses { code::REFUSED } else { code::OK };
        assert!(ends.iter().all(|e| e.load(SeqCst) == expected));
        assert_eq!(taker.got.load(SeqCst), if refuses { 0 } else { sizes.len() as i32 });
        if !refuses {
            assert!(taker.memory.borrow().iter().zip(&data).all(|(m, d)| **m == **d));
        }
        finish(&all);
    }
}

#[test]
fn many_small_blocks_wait_for_each_other() {
    for seed in 0..4 {
        let all = bridges(2, seed, BridgeConfig::default());
        let taker = Taker::new(&all[1], false);
        all.iter().for_each(|b| b.handle(2, take, context(&taker)).expect("before open"));
        all.iter().for_each(|b| b.open().expect("once"));
        let data = [7u8; 64];
        let ends: Vec<AtomicI32> = (0..100).map(|_| AtomicI32::new(NOT_YET)).collect();
        for end in &ends {
            let block = BridgeBlock {
                from: data.as_ptr().cast(),
                bytes: 64,
                done: Some(store),
                context: context(end),
            };
            // SAFETY: `data` outlives the transfers.
            while unsafe { all[0].send(1, 2, &[b"head"], &[block], 0) }.is_err() {
                turn(&all);
            }
        }
        drive(&all, "all blocks", || ends.iter().all(|e| e.load(SeqCst) == code::OK));
        assert!(taker.memory.borrow().iter().all(|m| **m == data));
        finish(&all);
    }
}

#[test]
fn put_and_get_of_every_size_under_way_at_once() {
    for seed in 0..4 {
        let all = bridges(3, seed, BridgeConfig::default());
        all.iter().for_each(|b| b.open().expect("once"));
        let sizes = [0usize, 1, 2047, 2048, 2049, 3000, 17_001];
        let source: Vec<Vec<u8>> =
            sizes.iter().map(|s| (0..*s).map(|i| (i * 31 + s) as u8).collect()).collect();
        let mut written: Vec<Vec<u8>> = sizes.iter().map(|s| vec![0; *s]).collect();
        let mut read = written.clone();
        let ends: Vec<AtomicI32> = (0..2 * sizes.len()).map(|_| AtomicI32::new(NOT_YET)).collect();
        for i in 0..sizes.len() {
            let (from, to) = (source[i].as_ptr(), written[i].as_mut_ptr());
            // SAFETY: the vectors outlive the transfers and are not touched before they end.
            unsafe {
                all[0]
                    .put(1 + i as u32 % 2, from, to as u64, sizes[i] as u64, notify(&ends[2 * i]))
                    .expect("there is room");
                all[2]
                    .get(
                        i as u32 % 3,
                        read[i].as_mut_ptr(),
                        from as u64,
                        sizes[i] as u64,
                        notify(&ends[2 * i + 1]),
                    )
                    .expect("room");
            }
        }
        drive(&all, "puts and gets", || ends.iter().all(|e| e.load(SeqCst) == code::OK));
        assert!(written == source && read == source);
        finish(&all);
    }
}

unsafe extern "C" fn below(
    limit: *mut c_void,
    _rank: u32,
    _address: u64,
    bytes: u64,
    _write: c_int,
) -> c_int {
    // SAFETY: see `known`.
    c_int::from(bytes < unsafe { known::<AtomicU64>(limit) }.load(SeqCst))
}

#[test]
fn what_is_not_allowed_is_refused_and_touches_nothing() {
    let limit = AtomicU64::new(10);
    let config = BridgeConfig { allow: Some(below), context: context(&limit), ..BridgeConfig::default() };
    let all = bridges(2, 5, config);
    all.iter().for_each(|b| b.open().expect("once"));
    for (size, expected) in [(9usize, code::OK), (10, code::REFUSED), (5000, code::REFUSED)] {
        let (from, mut to, mut back) = (vec![1u8; size], vec![0u8; size], vec![0u8; size]);
        let ends = [AtomicI32::new(NOT_YET), AtomicI32::new(NOT_YET)];
        // SAFETY: the vectors outlive the transfers.
        unsafe {
            all[0]
                .put(1, from.as_ptr(), to.as_mut_ptr() as u64, size as u64, notify(&ends[0]))
                .expect("room");
            all[0]
                .get(1, back.as_mut_ptr(), from.as_ptr() as u64, size as u64, notify(&ends[1]))
                .expect("room");
        }
        drive(&all, "both", || ends.iter().all(|e| e.load(SeqCst) != NOT_YET));
        assert!(ends.iter().all(|e| e.load(SeqCst) == expected), "{size} bytes");
        let moved = u8::from(expected == code::OK);
        assert!(to.iter().chain(&back).all(|b| *b == moved));
    }
    finish(&all);
}

#[test]
fn a_barrier_holds_everybody_until_all_are_there() {
    let all = bridges(7, 9, BridgeConfig::default());
    all.iter().for_each(|b| b.open().expect("once"));
    let ends: Vec<AtomicI32> = (0..7).map(|_| AtomicI32::new(NOT_YET)).collect();
    for (i, (bridge, end)) in all.iter().zip(&ends).enumerate() {
        assert!(ends.iter().all(|e| e.load(SeqCst) == NOT_YET), "before rank {i} has arrived");
        bridge.collective(WaveOperation::Barrier, None, notify(end)).expect("it is open");
        (0..200).for_each(|_| turn(&all));
    }
    drive(&all, "the barrier", || ends.iter().all(|e| e.load(SeqCst) == code::OK));
    finish(&all);
}

/// A tree of tasks over ranks: a message with depth d makes two of depth d - 1 on other ranks, from
/// outside the handler.
struct Worker {
    todo: RefCell<Vec<u64>>,
    ran: AtomicU32,
}

unsafe extern "C" fn enqueue(context: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: see `known`; messages begin with a depth.
    unsafe { known::<Worker>(context).todo.borrow_mut().push((*message).bytes.cast::<u64>().read()) };
}

unsafe extern "C" fn has_nothing(context: *mut c_void) -> c_int {
    // SAFETY: see `known`.
    c_int::from(unsafe { known::<Worker>(context) }.todo.borrow().is_empty())
}

#[test]
fn quiet_is_reached_when_all_work_is_done_and_not_before() {
    for seed in 0..8 {
        let ranks = 5;
        let all = bridges(ranks, seed, BridgeConfig::default());
        let workers: Vec<Worker> =
            (0..ranks).map(|_| Worker { todo: RefCell::default(), ran: AtomicU32::new(0) }).collect();
        all.iter().zip(&workers).for_each(|(b, w)| b.handle(1, enqueue, context(w)).expect("before open"));
        all.iter().for_each(|b| b.open().expect("once"));
        let ends: Vec<AtomicI32> = (0..ranks).map(|_| AtomicI32::new(NOT_YET)).collect();
        workers[2].todo.borrow_mut().push(8);
        for ((bridge, worker), end) in all.iter().zip(&workers).zip(&ends) {
            let idle = Some((has_nothing as _, context(worker)));
            bridge.collective(WaveOperation::Quiet, idle, notify(end)).expect("it is open");
        }
        let mut steps = 0u32;
        while ends.iter().any(|e| e.load(SeqCst) == NOT_YET) {
            turn(&all);
            // Each rank works off one task now and then.
            steps += 1;
            let rank = steps % ranks;
            let Some(depth) = workers[rank as usize].todo.borrow_mut().pop() else { continue };
            workers[rank as usize].ran.fetch_add(1, SeqCst);
            for child in 0..2u32.min(2 * depth as u32) {
                let to = (rank + steps + child) % ranks;
                while numbered(&all[rank as usize], to, depth - 1, 0, 0).is_err() {
                    turn(&all);
                }
            }
            assert!(steps < 1_000_000, "quiescence");
        }
        let ran: u32 = workers.iter().map(|w| w.ran.load(SeqCst)).sum();
        assert_eq!(ran, (1 << 9) - 1, "all tasks of the tree ran before quiescence was reported");
        finish(&all);
    }
}

#[test]
fn random_traffic_with_checksums_on_threads() {
    #[derive(Default)]
    struct Sums([AtomicU64; 4]);
    unsafe extern "C" fn add(context: *mut c_void, message: *const BridgeMessage) {
        // SAFETY: see `known`; the message is valid during the call.
        unsafe {
            let m = &*message;
            let bytes = core::slice::from_raw_parts(m.bytes.cast::<u8>(), m.length as usize);
            known::<Sums>(context).0[m.source as usize].fetch_add(hash(0, bytes), SeqCst);
        }
    }
    let all = bridges(4, 11, BridgeConfig::default());
    let got: Vec<Sums> = (0..4).map(|_| Sums::default()).collect();
    let sent: Vec<Sums> = (0..4).map(|_| Sums::default()).collect();
    all.iter().zip(&got).for_each(|(b, s)| b.handle(1, add, context(s)).expect("before open"));
    all.iter().for_each(|b| b.open().expect("once"));
    let finished = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for t in 0..8u64 {
            let (all, sent, finished) = (&all, &sent, &finished);
            // Two threads for each rank.
            scope.spawn(move || {
                let from = (t % 4) as usize;
                let mut random = t + 1;
                for i in 0..2000u64 {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
                    let bytes: Vec<u8> = (0..random >> 33 & 255).map(|k| (k ^ random) as u8).collect();
                    let to = (random >> 50) as u32 % 4;
                    // SAFETY: no blocks.
                    while unsafe { all[from].send(to, 1, &[&bytes], &[], 0) }.is_err() {
                        all[from].progress().expect("fine");
                        std::thread::yield_now();
                    }
                    sent[to as usize].0[from].fetch_add(hash(0, &bytes), SeqCst);
                }
                finished.fetch_add(1, SeqCst);
                while finished.load(SeqCst) < 8 {
                    all[from].progress().expect("fine");
                    std::thread::yield_now();
                }
            });
        }
    });
    finish(&all);
    for (sent, got) in sent.iter().zip(&got) {
        for (s, g) in sent.0.iter().zip(&got.0) {
            assert_eq!(s.load(SeqCst), g.load(SeqCst));
        }
    }
    assert_eq!(all.iter().map(|b| b.counters().messages_handled).sum::<u64>(), 16_000);
}

#[test]
fn handlers_are_not_refused_and_senders_are() {
    unsafe extern "C" fn answer(context: *mut c_void, message: *const BridgeMessage) {
        // SAFETY: see `known`; the bridge is the one that calls.
        unsafe {
            let bridge = &*(*message).bridge;
            assert_eq!(bridge.progress(), Ok(0), "no look inside a look");
            assert_eq!(
                bridge.wait(WaveOperation::Barrier, None),
                Err(code::STATE),
                "no waiting in a handler"
            );
            for i in 0..100 {
                assert_eq!(numbered(bridge, 0, i, 500, 0), Ok(()));
            }
            known::<AtomicU32>(context).fetch_add(1, SeqCst);
        }
    }
    let all = bridges(2, 3, BridgeConfig::default());
    let (answered, list) = (AtomicU32::new(0), Log::default());
    all[0].handle(1, log, context(&list)).expect("before open");
    all[1].handle(1, answer, context(&answered)).expect("before open");
    all.iter().for_each(|b| b.open().expect("once"));
    let accepted = (0..100).take_while(|i| numbered(&all[0], 1, *i, 500, 0).is_ok()).count() as u32;
    assert!((4..20).contains(&accepted), "a window of 4 packets and 2048 bytes, not {accepted}");
    assert!(all[0].waiting(1) >= 2048);
    drive(&all, "the answers", || list.0.lock().expect("fine").len() == 100 * accepted as usize);
    assert_eq!(answered.load(SeqCst), accepted);
    finish(&all);
}

#[test]
fn mistakes_of_callers_are_named() {
    let all = bridges(1, 0, BridgeConfig::default());
    let bridge = &all[0];
    assert_eq!(numbered(bridge, 0, 0, 0, 0), Err(code::STATE), "not open");
    assert_eq!(bridge.handle(1024, log, core::ptr::null_mut()), Err(code::ARGUMENT));
    let list = Log::default();
    bridge.handle(1, log, context(&list)).expect("before open");
    bridge.open().expect("once");
    assert_eq!(bridge.open(), Err(code::STATE));
    assert_eq!(bridge.handle(1, log, core::ptr::null_mut()), Err(code::STATE), "too late");
    assert_eq!(numbered(bridge, 1, 0, 0, 0), Err(code::ARGUMENT), "no such rank");
    let most = bridge.most_bytes();
    assert_eq!(numbered(bridge, 0, 0, most - 7, 0), Err(code::TOO_LARGE));
    assert_eq!(numbered(bridge, 0, 1, most - 8, 0), Ok(()));
    drive(&all, "the largest message", || list.0.lock().expect("fine").len() == 1);
    finish(&all);
    assert_eq!(numbered(bridge, 0, 0, 0, 0), Err(code::STATE), "closed");
    assert_eq!(bridge.finish(), Err(code::STATE));
}

#[test]
fn a_message_without_a_handler_is_reported_with_its_sender() {
    #[derive(Default)]
    struct Failure(Mutex<Option<(i32, String)>>);
    unsafe extern "C" fn failed(context: *mut c_void, code: c_int, text: *const c_char) {
        // SAFETY: see `known`; the text is a string.
        unsafe {
            let text = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
            *known::<Failure>(context).0.lock().expect("fine") = Some((code, text));
        }
    }
    let failure = Failure::default();
    let config = BridgeConfig { failed: Some(failed), context: context(&failure), ..BridgeConfig::default() };
    let all = bridges(2, 0, config);
    all.iter().for_each(|b| b.open().expect("once"));
    numbered(&all[0], 1, 5, 0, 0).expect("sent");
    for _ in 0..1000 {
        let _ = all.iter().map(|b| b.progress()).fold(Ok(0), Result::and);
    }
    let (code, text) = failure.0.lock().expect("fine").take().expect("reported");
    assert_eq!(code, code::PROTOCOL);
    assert!(text.contains("rank 0") && text.contains("handler 1,"), "{text}");
    assert_eq!(all[1].progress(), Err(code::STATE), "dead from here on");
    assert!(all[0].progress().is_ok(), "the other end is not");
}
