//! What is kept of a thread's settings: numbers ([`super::numbers`]), its processors and its name.
//!
//! All system calls are made past the C library, whose functions are taken over and come here.
use core::sync::atomic::{
    AtomicI64, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use super::alternate_stack::{Alternate, KeptStack};
use super::numbers::{KernelSetting, SETTINGS, call};

/// Words of a mask of processors: 4,096, more than any kernel is built for by default.
pub const AFFINITY_WORDS: usize = 64;

/// Processors that a thread may run on, as the kernel writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// Bytes that the kernel uses; zero: not known.
    pub bytes: usize,
    /// Bit `n % 64` of word `n / 64`: processor `n`.
    pub words: [u64; AFFINITY_WORDS],
}

impl Affinity {
    /// Not known.
    pub const UNKNOWN: Affinity = Affinity { bytes: 0, words: [0; AFFINITY_WORDS] };
}

/// What the calling kernel thread may run on.
pub(super) fn affinity() -> Affinity {
    let mut found = Affinity::UNKNOWN;
    // SAFETY: the kernel writes into the words.
    let bytes = unsafe {
        call(
            libc::SYS_sched_getaffinity,
            [0, size_of_val(&found.words), found.words.as_mut_ptr() as usize, 0],
        )
    };
    found.bytes = bytes.max(0) as usize;
    found
}

/// Restricts the calling kernel thread: zero or an error number.
///
/// # Safety
/// So many bytes are there.
pub(super) unsafe fn bind(bytes: usize, mask: *const u8) -> i32 {
    // SAFETY: passed on.
    -unsafe { call(libc::SYS_sched_setaffinity, [0, bytes, mask as usize, 0]) } as i32
}

/// Bytes of a thread's name with the zero at its end.
pub const NAME_BYTES: usize = 16;
/// A thread's name, zeros behind it.
pub type ThreadName = [u8; NAME_BYTES];

/// The calling kernel thread's name.
pub(super) fn name() -> ThreadName {
    let mut name = [0; NAME_BYTES];
    // SAFETY: as many bytes as the kernel writes.
    unsafe { call(libc::SYS_prctl, [libc::PR_GET_NAME as usize, name.as_mut_ptr() as usize, 0, 0]) };
    name
}

/// Names the calling kernel thread: zero or an error number.
///
/// # Safety
/// A C string.
pub(super) unsafe fn rename(name: *const u8) -> i32 {
    // SAFETY: passed on.
    -unsafe { call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, name as usize, 0, 0]) } as i32
}

/// Values that are known.
pub(super) struct Values {
    numbers: [Option<i64>; SETTINGS],
    pub(super) affinity: Affinity,
    pub(super) name: Option<ThreadName>,
}

impl Values {
    pub(super) const NONE: Values =
        Values { numbers: [None; SETTINGS], affinity: Affinity::UNKNOWN, name: None };

    /// Notes a value unless one is known.
    pub(super) fn learn(&mut self, setting: KernelSetting, value: i64) {
        self.numbers[setting as usize].get_or_insert(value);
    }

    pub(super) fn note(&mut self, setting: KernelSetting, value: i64) {
        self.numbers[setting as usize] = Some(value);
    }

    pub(super) fn number(&self, setting: KernelSetting) -> Option<i64> {
        self.numbers[setting as usize]
    }

    pub(super) fn learn_affinity(&mut self) {
        if self.affinity.bytes == 0 {
            self.affinity = affinity();
        }
    }

    pub(super) fn learn_name(&mut self) {
        self.name.get_or_insert_with(name);
    }
}

/// What a thread has asked for. Written by that thread and, for some settings, by other threads of
/// the program; read where it runs.
pub(super) struct KeptSettings {
    /// A bit for each of [`KernelSetting::ALL`], then [`AFFINITY`] and [`NAME`].
    which: AtomicU32,
    numbers: [AtomicI64; SETTINGS],
    bytes: AtomicU32,
    words: [AtomicU64; AFFINITY_WORDS],
    name: [AtomicU64; 2],
    alternate: KeptStack,
}

const AFFINITY: u32 = 1 << SETTINGS;
const NAME: u32 = 2 << SETTINGS;

impl KeptSettings {
    pub(super) fn new() -> Self {
        Self {
            which: AtomicU32::new(0),
            numbers: [const { AtomicI64::new(0) }; SETTINGS],
            bytes: AtomicU32::new(0),
            words: [const { AtomicU64::new(0) }; AFFINITY_WORDS],
            name: [const { AtomicU64::new(0) }; 2],
            alternate: KeptStack::new(),
        }
    }

    fn has(&self, bit: u32) -> bool {
        // ORDERING: Acquire, pairs with the Release in `add`: the value is there.
        self.which.load(Acquire) & bit != 0
    }

    fn add(&self, bit: u32) {
        // ORDERING: Release, pairs with the Acquire in `has`.
        self.which.fetch_or(bit, Release);
    }

    pub(super) fn forget(&self) {
        // ORDERING: Relaxed; no thread has the TLS block.
        self.which.store(0, Relaxed);
        self.alternate.store(Alternate::NONE);
    }

    /// A new thread begins with what `maker` has asked for, but for the alternate stack
    /// (`clone(2)`).
    pub(super) fn inherit(&self, maker: &KeptSettings) {
        for setting in KernelSetting::ALL {
            if let Some(value) = maker.number(setting) {
                self.note(setting, value);
            }
        }
        if let Some(affinity) = maker.affinity() {
            self.note_affinity(&affinity);
        }
        if let Some(name) = maker.name() {
            self.note_name(&name);
        }
    }

    pub(super) fn note(&self, setting: KernelSetting, value: i64) {
        // ORDERING: Relaxed; published by `add`.
        self.numbers[setting as usize].store(value, Relaxed);
        self.add(1 << setting as usize);
    }

    /// Forgets the value of `setting`.
    pub(super) fn forget_one(&self, setting: KernelSetting) {
        // ORDERING: Relaxed; the thread itself, which reads it next.
        self.which.fetch_and(!(1 << setting as u32), Relaxed);
    }

    pub(super) fn note_alternate(&self, stack: Alternate) {
        self.alternate.store(stack);
    }

    pub(super) fn alternate(&self) -> Alternate {
        self.alternate.load()
    }

    fn number(&self, setting: KernelSetting) -> Option<i64> {
        // ORDERING: Relaxed; acquired by `has`.
        self.has(1 << setting as usize).then(|| self.numbers[setting as usize].load(Relaxed))
    }

    pub(super) fn note_affinity(&self, affinity: &Affinity) {
        for (kept, &word) in self.words.iter().zip(&affinity.words) {
            // ORDERING: Relaxed; published by `add`. Who reads while another thread writes reads
            // again at the next switch.
            kept.store(word, Relaxed);
        }
        // ORDERING: as above.
        self.bytes.store(affinity.bytes as u32, Relaxed);
        self.add(AFFINITY);
    }

    pub(super) fn affinity(&self) -> Option<Affinity> {
        self.has(AFFINITY).then(|| Affinity {
            // ORDERING: Relaxed; acquired by `has`.
            bytes: self.bytes.load(Relaxed) as usize,
            // ORDERING: as above.
            words: core::array::from_fn(|index| self.words[index].load(Relaxed)),
        })
    }

    pub(super) fn note_name(&self, name: &ThreadName) {
        for (kept, word) in self.name.iter().zip(name.chunks_exact(8)) {
            // ORDERING: Relaxed; published by `add`.
            kept.store(u64::from_ne_bytes(word.try_into().unwrap_or_default()), Relaxed);
        }
        self.add(NAME);
    }

    fn name(&self) -> Option<ThreadName> {
        // ORDERING: Relaxed; acquired by `has`.
        let words = || [0, 1].map(|index| self.name[index].load(Relaxed).to_ne_bytes());
        self.has(NAME).then(|| {
            let [low, high] = words();
            core::array::from_fn(|index| if index < 8 { low[index] } else { high[index - 8] })
        })
    }
}

/// The calling kernel thread, which `has` these values and `had` those of its own, gets what is
/// `kept`, or its own where nothing is.
pub(super) fn change(had: &mut Values, has: &mut Values, kept: Option<&KeptSettings>) {
    for setting in KernelSetting::ALL {
        let wanted = kept.and_then(|kept| kept.number(setting));
        if wanted.is_some() {
            had.learn(setting, setting.get());
        }
        let index = setting as usize;
        let wanted = wanted.or(had.numbers[index]);
        if let Some(value) = wanted
            && has.numbers[index].or(had.numbers[index]) != wanted
        {
            // Refused where it cannot be set back: then it stays as it is, and the next switch
            // tries again.
            if setting.set(value) == 0 {
                has.numbers[index] = wanted;
            }
        }
    }
    change_affinity(had, has, kept.and_then(KeptSettings::affinity));
    change_name(had, has, kept.and_then(KeptSettings::name));
}

fn change_affinity(had: &mut Values, has: &mut Values, wanted: Option<Affinity>) {
    if wanted.is_some() {
        had.learn_affinity();
    }
    let has_now = if has.affinity.bytes == 0 { had.affinity } else { has.affinity };
    let wanted = wanted.unwrap_or(had.affinity);
    if affinity_has_to_change(&has_now, &wanted) {
        // SAFETY: the mask's own words.
        unsafe { bind(wanted.bytes, wanted.words.as_ptr().cast()) };
        has.affinity = wanted;
        // Workers go from processor to processor with their threads: two may be on the same one,
        // where who spins keeps the other from it.
        crate::sched::spin_policy::set_cores(1);
    }
}

crate::seam! {
    /// Does a kernel thread with the affinity `present` need another one for a thread that has
    /// `wanted`, if that is known?
    fn affinity_has_to_change(present: &Affinity, wanted: &Affinity) -> bool {
        wanted.bytes != 0 && wanted != present
    } or affinity_stays_with_worker {
        false
    }
}

fn change_name(had: &mut Values, has: &mut Values, wanted: Option<ThreadName>) {
    if wanted.is_some() {
        had.learn_name();
    }
    let wanted = wanted.or(had.name);
    if let Some(name) = wanted
        && has.name.or(had.name) != wanted
    {
        // SAFETY: ends with a zero byte, as the kernel had it.
        unsafe { rename(name.as_ptr()) };
        has.name = wanted;
    }
}
