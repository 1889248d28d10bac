//! The inboxes of the ranks of one machine: segments of POSIX shared memory, and how ranks find
//! each other's.
//!
//! [`join`] is collective and goes in steps, each of which ends with a reduction over all ranks:
//! (1) every rank makes a segment under a name that only this program's ranks know; (2) each looks
//! which ranks' segments it can open, which are those of its machine, and gives its own segment its
//! size and the list's hash; (3) each maps the others' and compares the hashes. If a step fails on
//! any rank, all ranks do without segments: MPI carries everything. The names are gone when `join`
//! returns; the memory goes with the processes. What may not live here: what is in a ring
//! ([`super::ring`]).
//!
//! Memory: 4 KiB and, for each rank of the machine, a ring; all rings of an inbox together have 1
//! MiB, but each 8 to 64 KiB. It is taken when the segment is made, so that a full `/dev/shm` is
//! noticed then and not by a signal.

use crate::start::hash;
use crate::sync::{AtomicU32, Ordering};
use core::ptr::{self, NonNull};
use std::ffi::CString;

use super::reach::{self, Reach, Reachability};
use super::ring::{Receiver, RingCell, Sender, Taken};

/// What [`join`] needs of the ranks together.
pub trait SegmentRanks {
    /// This rank, and how many there are.
    fn me(&self) -> (u32, u32);
    /// Collective: the first rank's number, on all.
    fn as_first_says(&self, value: u64) -> Result<u64, String>;
    /// Collective: do all ranks say yes?
    fn all(&self, yes: bool) -> Result<bool, String>;
}

/// What stands at the beginning of a segment.
#[repr(C)]
struct Head {
    /// Hash of the ranks that share memory with this one, in order.
    ranks: u64,
    /// How to reach its owner's memory.
    known: Reachability,
    /// Packets that ranks of this machine have sent by another carrier because there was no room in
    /// the ring.
    elsewhere: AtomicU32,
}

const PAGE: usize = 4096;
const LEAST: usize = 8 << 10;
const MOST: usize = 64 << 10;
const ALL: usize = 1 << 20;

/// Bytes of a ring where so many ranks share the machine.
fn ring_bytes(ranks: usize) -> usize {
    let even = ALL / ranks.max(1);
    (if even.is_power_of_two() { even } else { even.next_power_of_two() / 2 }).clamp(LEAST, MOST)
}

/// Where things are in a segment with rings of so many bytes for so many ranks.
#[derive(Clone, Copy)]
struct Layout {
    ranks: usize,
    bytes: usize,
}

impl Layout {
    fn taken(&self, place: usize) -> usize {
        PAGE + place * size_of::<Taken>()
    }

    fn ring(&self, place: usize) -> usize {
        PAGE + (self.ranks * size_of::<Taken>()).next_multiple_of(PAGE) + place * self.bytes
    }

    fn size(&self) -> usize {
        self.ring(self.ranks)
    }
}

/// A mapped segment. It stays mapped as long as the process lives: ends of rings point into it.
#[derive(Clone, Copy)]
struct Segment {
    begin: NonNull<u8>,
}

// SAFETY: shared memory, which is used through atomics and rings only once ranks have joined.
unsafe impl Send for Segment {}

impl Segment {
    fn head(&self) -> &'static Head {
        // SAFETY: a segment begins with it, at a page; it is never unmapped.
        unsafe { self.begin.cast().as_ref() }
    }

    /// The cells and the count of the ring of the sender at `place`.
    fn ring(&self, layout: &Layout, place: usize) -> (*const [RingCell], *const Taken) {
        // SAFETY: both lie in the segment, which was made for this layout.
        let (cells, taken) =
            unsafe { (self.begin.add(layout.ring(place)), self.begin.add(layout.taken(place))) };
        let count = layout.bytes / size_of::<RingCell>();
        (ptr::slice_from_raw_parts(cells.cast().as_ptr(), count), taken.cast().as_ptr())
    }
}

/// A rank of this machine.
pub struct Neighbour {
    /// Its number.
    pub rank: u32,
    /// What it sends here.
    pub receiver: Receiver,
    /// What is sent to it.
    pub sender: Sender,
    there: Segment,
}

impl Neighbour {
    /// A packet goes to it by another way.
    pub fn sent_elsewhere(&self) {
        // ORDERING: Release, pairs with the Acquire in `Inbox::sent_elsewhere`: the packet has been
        // sent.
        self.there.head().elsewhere.fetch_add(1, Ordering::Release);
    }
}

/// What this rank has of the machine's shared memory.
pub struct Inbox {
    /// The ranks of this machine in order, this one among them.
    pub neighbours: Vec<Neighbour>,
    /// Those whose memory is reached.
    pub reach: Reach,
    here: Segment,
}

impl Inbox {
    /// Packets that neighbours have sent here by another way, modulo 2^32.
    pub fn sent_elsewhere(&self) -> u32 {
        // ORDERING: Acquire, pairs with the Release in `Neighbour::sent_elsewhere`: a rank that
        // sees the number finds the packet by a look at the other way.
        self.here.head().elsewhere.load(Ordering::Acquire)
    }
}

/// A name that is taken back when this goes.
struct Name(CString);

impl Drop for Name {
    fn drop(&mut self) {
        // SAFETY: a string. A name that is not there does no harm.
        unsafe { libc::shm_unlink(self.0.as_ptr()) };
    }
}

fn name(program: u64, rank: u32) -> CString {
    CString::new(format!("/gangway-{program:016x}-{rank}")).unwrap_or_default()
}

/// Opens shared memory; `None` when there is none of that name, or the system refuses.
fn open(name: &CString, make: bool) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    let flags = libc::O_RDWR | libc::O_CLOEXEC | if make { libc::O_CREAT | libc::O_EXCL } else { 0 };
    // SAFETY: a string.
    let file = unsafe { libc::shm_open(name.as_ptr(), flags, 0o600) };
    // SAFETY: a file that was opened just now, and that has no other owner.
    (file >= 0).then(|| unsafe { std::os::fd::OwnedFd::from_raw_fd(file) })
}

/// Maps a segment; with `make` it gets its memory first.
fn map(name: &CString, size: usize, make: bool) -> Option<Segment> {
    use std::os::fd::AsRawFd;
    let file = open(name, false)?;
    // SAFETY: our file. The call answers with the error's number.
    if make && unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size as libc::off_t) } != 0 {
        return None;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh mapping changes no memory in use; the file may be closed afterwards.
    let at = unsafe { libc::mmap(ptr::null_mut(), size, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED { None } else { NonNull::new(at.cast()).map(|begin| Segment { begin }) }
}

/// A number that no other program on the machine has.
fn draw() -> u64 {
    let mut number = [0; 8];
    // SAFETY: 8 bytes of ours.
    if unsafe { libc::getrandom(number.as_mut_ptr().cast(), 8, 0) } == 8 {
        return u64::from_ne_bytes(number);
    }
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
    now ^ u64::from(std::process::id()) << 40
}

/// The ranks of this machine share memory, if all ranks want to and have some. Collective. See the
/// module's header.
///
/// # Errors
/// The words of MPI.
pub fn join(ranks: &dyn SegmentRanks, wants: bool) -> Result<Option<Inbox>, String> {
    let (me, count) = ranks.me();
    let program = ranks.as_first_says(draw())?;
    let mine = Name(name(program, me));
    if !ranks.all(wants && open(&mine.0, true).is_some())? {
        return Ok(None);
    }
    let near: Vec<u32> = (0..count).filter(|&rank| open(&name(program, rank), false).is_some()).collect();
    let (layout, list) = (Layout { ranks: near.len(), bytes: ring_bytes(near.len()) }, hash_of(&near));
    let here = map(&mine.0, layout.size(), true);
    if let Some(here) = here {
        // SAFETY: fresh memory that no other rank looks at before the next step.
        unsafe {
            let head = here.begin.cast::<Head>().as_ptr();
            (&raw mut (*head).ranks).write(list);
            (&raw mut (*head).known).write(reach::known(program));
        }
    }
    if !ranks.all(here.is_some())? {
        return Ok(None);
    }
    let others: Option<Vec<Segment>> =
        near.iter().map(|&rank| map(&name(program, rank), layout.size(), false)).collect();
    let others = others.filter(|others| others.iter().all(|other| other.head().ranks == list));
    if !ranks.all(others.is_some())? {
        return Ok(None);
    }
    let (Some(here), Some(others), Some(place)) = (here, others, near.iter().position(|&rank| rank == me))
    else {
        return Ok(None);
    };
    // SAFETY: zeroed memory that stays mapped; `join` is called once in a program's life.
    let mut inbox = unsafe { inbox(layout, place, here, near.into_iter().zip(others)) };
    for neighbour in &inbox.neighbours {
        inbox.reach.add(neighbour.rank, count, neighbour.there.head().known, program);
    }
    Ok(Some(inbox))
}

/// The inbox of the rank at `place` of the list.
///
/// # Safety
/// The segments have this layout, were zeroed, and are not unmapped; this is done once for each
/// place.
unsafe fn inbox(
    layout: Layout,
    place: usize,
    here: Segment,
    near: impl Iterator<Item = (u32, Segment)>,
) -> Inbox {
    let neighbour = |(at, (rank, there)): (usize, (u32, Segment))| {
        let ((from, taken_here), (to, taken_there)) = (here.ring(&layout, at), there.ring(&layout, place));
        // SAFETY: as the caller says: there is one end of each kind per ring.
        let (receiver, sender) = unsafe { (Receiver::new(from, taken_here), Sender::new(to, taken_there)) };
        Neighbour { rank, receiver, sender, there }
    };
    Inbox { neighbours: near.enumerate().map(neighbour).collect(), reach: Reach::default(), here }
}

/// For tests: inboxes of ranks that are all in this process, in the order of the list, with rings
/// of `bytes` each, a power of two from 64 on. The memory is never freed.
pub fn in_process(ranks: &[u32], bytes: usize) -> Vec<Inbox> {
    let layout = Layout { ranks: ranks.len(), bytes };
    let segment = || {
        let pages: &'static mut [Page] =
            Box::leak((0..layout.size().div_ceil(PAGE)).map(|_| Page([0; PAGE])).collect());
        Segment { begin: NonNull::from(pages).cast() }
    };
    let all: Vec<Segment> = ranks.iter().map(|_| segment()).collect();
    let near = || ranks.iter().copied().zip(all.iter().copied());
    // SAFETY: fresh memory that stays; each place once.
    all.iter().enumerate().map(|(place, &here)| unsafe { inbox(layout, place, here, near()) }).collect()
}

#[repr(C, align(4096))]
struct Page([u8; PAGE]);

fn hash_of(ranks: &[u32]) -> u64 {
    let bytes: Vec<u8> = ranks.iter().flat_map(|rank| rank.to_le_bytes()).collect();
    hash(0, &bytes)
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier, Mutex};

    /// Ranks that are threads; `fails` says no at its place of the questions.
    struct Threads {
        me: u32,
        barrier: Arc<Barrier>,
        board: Arc<Mutex<Vec<u64>>>,
        fails: Option<usize>,
        asked: core::cell::Cell<usize>,
    }

    impl Threads {
        /// What all ranks say, in order.
        fn exchange(&self, value: u64) -> Vec<u64> {
            self.board.lock().expect("board")[self.me as usize] = value;
            self.barrier.wait();
            let all = self.board.lock().expect("board").clone();
            self.barrier.wait();
            all
        }
    }

    impl SegmentRanks for Threads {
        fn me(&self) -> (u32, u32) {
            (self.me, self.board.lock().expect("board").len() as u32)
        }

        fn as_first_says(&self, value: u64) -> Result<u64, String> {
            Ok(self.exchange(value)[0])
        }

        fn all(&self, yes: bool) -> Result<bool, String> {
            let number = self.asked.replace(self.asked.get() + 1);
            let says = yes && self.fails != Some(number);
            Ok(self.exchange(says.into()).iter().all(|&said| said == 1))
        }
    }

    fn joined<T: Send>(
        count: u32,
        fails: Option<usize>,
        work: impl Fn(u32, Option<Inbox>) -> T + Sync,
    ) -> Vec<T> {
        let (barrier, board) =
            (Arc::new(Barrier::new(count as usize)), Arc::new(Mutex::new(vec![0; count as usize])));
        std::thread::scope(|scope| {
            let begin = |me| {
                let fails = fails.filter(|_| me == 1);
                let threads = Threads {
                    me,
                    barrier: barrier.clone(),
                    board: board.clone(),
                    fails,
                    asked: core::cell::Cell::new(0),
                };
                let work = &work;
                scope.spawn(move || work(me, join(&threads, true).expect("ranks")))
            };
            let all: Vec<_> = (0..count).map(begin).collect();
            all.into_iter().map(|thread| thread.join().expect("rank")).collect()
        })
    }

    fn names() -> usize {
        std::fs::read_dir("/dev/shm").map_or(0, |d| {
            d.flatten().filter(|f| f.file_name().to_string_lossy().starts_with("gangway-")).count()
        })
    }

    #[test]
    fn neighbours_reach_each_other_or_all_go_without() {
        let before = names();
        for fails in [None, Some(0), Some(1), Some(2)] {
            let heard = joined(3, fails, |me, inbox| {
                let mut inbox = inbox?;
                for neighbour in &mut inbox.neighbours {
                    assert!(neighbour.sender.push(&[me as u8, neighbour.rank as u8]));
                    neighbour.sent_elsewhere();
                }
                let mut heard = Vec::new();
                for neighbour in &mut inbox.neighbours {
                    let mut bytes = [0; 2];
                    while neighbour.receiver.waiting().is_none() {
                        std::thread::yield_now();
                    }
                    // SAFETY: two bytes were sent.
                    unsafe { neighbour.receiver.take(bytes.as_mut_ptr(), 2) };
                    heard.push((neighbour.rank, bytes));
                }
                while inbox.sent_elsewhere() != 3 {
                    std::thread::yield_now();
                }
                Some(heard)
            });
            for (me, heard) in (0..).zip(heard) {
                let all = (0..3).map(|from| (from, [from as u8, me])).collect();
                assert_eq!(heard, fails.is_none().then_some(all));
            }
        }
        assert!(names() <= before, "no name is left");
    }

    #[test]
    fn rings_have_a_mebibyte_together() {
        assert_eq!(
            [1, 2, 16, 17, 64, 100, 1000].map(ring_bytes),
            [64 << 10, 64 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 8 << 10]
        );
        let layout = Layout { ranks: 64, bytes: ring_bytes(64) };
        assert_eq!((layout.ring(0) % PAGE, layout.size()), (0, PAGE + 2 * PAGE + ALL));
        assert!(layout.taken(64) <= layout.ring(0));
    }
}
