//! The kernel's affinity masks. Their size is the kernel's business: machines with more than the
//! 1024 processors of the C library's `cpu_set_t` exist, so masks are plain vectors that grow until
//! the kernel is content.

use crate::sys::thread;
use std::io;

/// One bit per processor.
type Word = libc::c_ulong;
const WORD_BITS: usize = Word::BITS as usize;
/// Where the search for the kernel's mask size starts (1024 processors) and gives up (8 million).
const FIRST_WORDS: usize = 1024 / WORD_BITS;
const LAST_WORDS: usize = (8 << 20) / WORD_BITS;
/// Words that [`num_current_thread_cpus`] has on its stack: 16,384 processors (chosen: 2 KiB).
const WORDS_ON_STACK: usize = 16384 / WORD_BITS;

/// The processors that the main thread or the calling thread may run on, ascending, never empty.
/// The kernel leaves out processors that are offline.
#[cold]
pub(super) fn process_cpus() -> Vec<usize> {
    // SAFETY: no preconditions.
    let main_thread = unsafe { libc::getpid() };
    let mut cpus = mask_of(main_thread).unwrap_or_default();
    cpus.extend(mask_of(0).unwrap_or_default());
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.is_empty() {
        // A sandbox that refuses the call: some processor is running us.
        cpus.push(thread::processor_and_node().0);
    }
    cpus
}

/// Restricts the calling kernel thread to `cpus`, operating system numbers. A worker's kernel thread
/// is bound by [`crate::kernel_state::bind_kernel_thread`].
///
/// # Errors
/// `InvalidInput` if none of them exists or is allowed to this process, otherwise what the kernel
/// says. On a machine that is only believed in ([`super::believe`]) it is the same where none of
/// them really exists; the thread then counts as bound, and runs anywhere.
pub fn bind_current_thread(cpus: &[usize]) -> io::Result<()> {
    super::belief::bind(cpus).unwrap_or_else(|| bind_to(cpus))
}

/// Restricts the calling kernel thread to those of `cpus` that the kernel lets it have.
pub(super) fn bind_to(cpus: &[usize]) -> io::Result<()> {
    let words = words_of(cpus);
    // SAFETY: the pointer and the size in bytes describe `words`, which the kernel only reads.
    // Past the C library, whose function notes what the program asks for.
    let refused = unsafe {
        crate::sys::arch::system_call(
            libc::SYS_sched_setaffinity as usize,
            [0, size_of_val(&*words), words.as_ptr() as usize, 0],
        )
    };
    if refused == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-refused as i32)) }
}

/// The processors the calling kernel thread may run on, ascending; empty where the kernel does not
/// tell.
pub fn current_thread_cpus() -> Vec<usize> {
    super::belief::mask().unwrap_or_else(|| mask_of(0).unwrap_or_default())
}

/// Number of processors that the calling thread may run on; 0 if the kernel does not tell. Does not
/// allocate, except where the kernel's mask is larger than 16,384 processors.
pub fn num_current_thread_cpus() -> usize {
    if let Some(len) = super::belief::mask_len() {
        return len;
    }
    let mut words: [Word; WORDS_ON_STACK] = [0; WORDS_ON_STACK];
    match mask_into(0, &mut words) {
        Ok(()) => words.iter().map(|word| word.count_ones() as usize).sum(),
        Err(_) => current_thread_cpus().len(),
    }
}

/// The processor that the calling kernel thread runs on, as far as it makes sense to remember. On a
/// machine that is only assumed it is the first processor that the thread counts as bound to, and
/// none for a thread that is not bound.
pub(super) fn seen_on() -> Option<usize> {
    match super::belief::mask() {
        None => Some(thread::processor_and_node().0),
        Some(mask) if mask.len() < super::allowed().len() => mask.first().copied(),
        Some(_) => None,
    }
}

/// The mask of kernel thread `thread` (0: the caller) as ascending numbers.
#[cold]
fn mask_of(thread: libc::pid_t) -> io::Result<Vec<usize>> {
    let mut words: Vec<Word> = vec![0; FIRST_WORDS];
    loop {
        let Err(error) = mask_into(thread, &mut words) else { return Ok(numbers_of(&words)) };
        // EINVAL: the kernel's mask is larger than ours.
        if error.raw_os_error() != Some(libc::EINVAL) || words.len() >= LAST_WORDS {
            return Err(error);
        }
        words.resize(words.len() * 2, 0);
    }
}

/// Writes the mask of `thread` (0: the caller) to `words`.
fn mask_into(thread: libc::pid_t, words: &mut [Word]) -> io::Result<()> {
    // SAFETY: the pointer and the size in bytes describe `words`, which the kernel may write.
    let refused = unsafe { libc::sched_getaffinity(thread, size_of_val(words), words.as_mut_ptr().cast()) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn numbers_of(words: &[Word]) -> Vec<usize> {
    let is_set = |cpu: &usize| words[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
    let not_empty = (0..words.len()).filter(|&word| words[word] != 0);
    not_empty.flat_map(|word| (word * WORD_BITS..(word + 1) * WORD_BITS).filter(is_set)).collect()
}

fn words_of(cpus: &[usize]) -> Vec<Word> {
    let highest = cpus.iter().copied().max().unwrap_or(0).min(LAST_WORDS * WORD_BITS - 1);
    let mut words = vec![0; (highest / WORD_BITS + 1).max(FIRST_WORDS)];
    for &cpu in cpus.iter().filter(|&&cpu| cpu <= highest) {
        words[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_round_trip_beyond_1024_processors() {
        let table: [&[usize]; 5] = [&[], &[0], &[0, 63, 64, 1023], &[1024, 4095], &[5, 70_000]];
        for cpus in table {
            assert_eq!(numbers_of(&words_of(cpus)), cpus);
        }
        assert!(numbers_of(&words_of(&[usize::MAX])).is_empty(), "no such processor, no allocation for it");
    }

    #[test]
    fn binding_moves_the_thread_and_shows_in_its_mask() {
        let before = mask_of(0).unwrap();
        for &cpu in before.iter().take(4) {
            bind_current_thread(&[cpu]).unwrap();
            assert_eq!(mask_of(0).unwrap(), [cpu]);
            assert_eq!(thread::processor_and_node().0, cpu);
        }
        bind_current_thread(&before).unwrap();
        assert_eq!(mask_of(0).unwrap(), before);
    }

    #[test]
    fn binding_to_nothing_is_an_error() {
        assert_eq!(bind_current_thread(&[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_pinned_thread_still_sees_the_process() {
        let all = process_cpus();
        assert!(!all.is_empty());
        let seen = std::thread::spawn(move || {
            bind_current_thread(&all[..1]).unwrap();
            (all, process_cpus())
        });
        let (all, pinned) = seen.join().unwrap();
        assert_eq!(pinned, all);
    }
}
