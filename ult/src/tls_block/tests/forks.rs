//! Forks from under a donor, on a kernel thread whose stack the C library did not allocate (as
//! contexts have it).

use super::*;

/// Runs `body` on a new kernel thread with a stack of ours, and waits for it.
fn on_own_stack(body: fn() -> c_int) -> c_int {
    const SIZE: usize = 1 << 20;
    extern "C" fn call(body: *mut c_void) -> *mut c_void {
        // SAFETY: the function pointer passed below.
        let body = unsafe { core::mem::transmute::<*mut c_void, fn() -> c_int>(body) };
        core::ptr::without_provenance_mut(body() as usize)
    }
    // SAFETY: local, initialised objects; the mapping is the thread's alone and stays.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let stack =
            libc::mmap(core::ptr::null_mut(), SIZE, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        assert_ne!(stack, libc::MAP_FAILED);
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        assert_eq!(libc::pthread_attr_setstack(&mut attributes, stack, SIZE), 0);
        let mut id: libc::pthread_t = core::mem::zeroed();
        assert_eq!(libc::pthread_create(&mut id, &attributes, call, body as *mut c_void), 0);
        let mut result = core::ptr::null_mut();
        assert_eq!(libc::pthread_join(id, &mut result), 0);
        result as usize as c_int
    }
}

/// Forks; the child does `child` and ends with its result. Returns the wait status, or -1 if the
/// child hung.
fn fork_and_wait(child: fn() -> c_int) -> c_int {
    // SAFETY: the child calls what POSIX and glibc allow it and ends without returning; the parent
    // waits for it.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::alarm(20);
            libc::_exit(child());
        }
        let mut status = -1;
        libc::waitpid(pid, &mut status, 0);
        status
    }
}

/// Allocates memory, and makes and joins threads of a donor's stack size and of the standard
/// library's. More of them live at once than there are donors: stacks that the C library took back
/// at the fork, and would reuse, have these sizes. Returns 0 when all is well.
fn live_on() -> c_int {
    exercise(8);
    for (size, threads) in [(donor::stack_size(), 128), (2 << 20, 16)] {
        if make_and_join(size, threads) != 42 * threads {
            return 1;
        }
    }
    exercise(9);
    0
}

/// `threads` of them alive at once, with stacks of `size` bytes; the sum of their answers, or 0.
fn make_and_join(size: usize, threads: usize) -> usize {
    let mut ids = Vec::with_capacity(threads);
    // ORDERING: Relaxed, both; creation and joining order the rest, the threads only wait for the
    // number.
    ALIVE.store(0, Relaxed);
    EXPECTED.store(threads, Relaxed);
    // SAFETY: plain POSIX calls on local objects.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, size);
        for _ in 0..threads {
            let mut id: libc::pthread_t = core::mem::zeroed();
            if libc::pthread_create(&mut id, &attributes, meet_and_answer, core::ptr::null_mut()) != 0 {
                return 0;
            }
            ids.push(id);
        }
        let mut sum = 0;
        for id in ids {
            let mut result = core::ptr::null_mut();
            libc::pthread_join(id, &mut result);
            sum += result as usize;
        }
        sum
    }
}

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static EXPECTED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn meet_and_answer(_: *mut c_void) -> *mut c_void {
    // ORDERING: Relaxed, all; see `make_and_join`.
    ALIVE.fetch_add(1, Relaxed);
    while ALIVE.load(Relaxed) < EXPECTED.load(Relaxed) {
        std::thread::yield_now();
    }
    exercise(42);
    core::ptr::without_provenance_mut(42)
}

#[test]
fn the_child_of_a_fork_under_a_tls_donor_lives_on_under_it() {
    let status = on_own_stack(|| {
        let tls_donor = borrowed();
        let status = under(tls_donor, || {
            NUMBER.set(77);
            fork_and_wait(|| if NUMBER.get() == 77 { live_on() } else { 2 })
        });
        give_back(tls_donor);
        status
    });
    assert_eq!(status, 0);
}

#[test]
fn the_child_of_a_fork_has_an_empty_pool_and_makes_donors_of_its_own() {
    let status = on_own_stack(|| {
        let (block_in_use, free) = (borrowed(), borrowed());
        give_back(free);
        let status = under(block_in_use, || {
            fork_and_wait(|| {
                // Asked before anything is borrowed here.
                let empty = count() == 0 && POOL.lock().free.is_empty();
                let fresh = borrowed();
                NUMBER.set(5);
                under(fresh, || exercise(6));
                give_back(fresh);
                if empty && count() == 1 && NUMBER.get() == 5 { live_on() } else { 3 }
            })
        });
        give_back(block_in_use);
        status
    });
    assert_eq!(status, 0);
}

#[test]
fn what_a_suspended_context_wore_is_intact_in_the_child() {
    static HELD: AtomicUsize = AtomicUsize::new(0);
    let status = on_own_stack(|| {
        let held = borrowed();
        under(held, || NUMBER.set(31));
        // ORDERING: Relaxed, here and in the child; one thread.
        HELD.store(core::ptr::from_ref(held) as usize, Relaxed);
        let status = fork_and_wait(|| {
            // New threads first: they would be given the held storage if it counted as free.
            let lived = live_on();
            // SAFETY: records are never freed; stored above.
            let held = unsafe { &*(HELD.load(Relaxed) as *const TlsBlock) };
            let number = under(held, || {
                exercise(7);
                NUMBER.get()
            });
            let before = POOL.lock().free.len();
            give_back(held);
            if lived == 0 && number == 31 && POOL.lock().free.len() == before { 0 } else { 4 }
        });
        give_back(held);
        status
    });
    assert_eq!(status, 0);
}

#[test]
fn parked_donors_answer_a_change_of_user() {
    // In a child, where no thread runs with a donor's block.
    // `abi-tests/process/change_of_user.c` tests threads that do.
    let status = on_own_stack(|| {
        fork_and_wait(|| {
            let tls_donor = borrowed();
            give_back(tls_donor);
            // SAFETY: sets the user that is set; the C library waits for an answer from every
            // thread.
            unsafe { libc::setuid(libc::getuid()) }
        })
    });
    assert_eq!(status, 0);
}

// ---- running with one's own TLS block through the fork ----------------------------

/// The own thread pointer of the kernel thread that forks in the test below, and the one it runs
/// with; zero for none. What a scheduler would ask its worker.
static OWN: AtomicUsize = AtomicUsize::new(0);
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// Sets the pointer `to` if `from` is in force: other tests fork too, with other pointers.
fn change(from: &AtomicUsize, to: &AtomicUsize) {
    // ORDERING: Relaxed; the forking kernel thread stored them, all others only have to see that
    // they are not theirs.
    let (from, to) = (from.load(Relaxed), to.load(Relaxed));
    if from == arch::thread_pointer() {
        // SAFETY: both are the test's, for this kernel thread or its copy in the child; nothing
        // thread-local is live here.
        unsafe { arch::set_thread_pointer(to) };
    }
}

extern "C" fn run_with_own() {
    change(&IN_USE, &OWN);
}

extern "C" fn run_with_tls_donor_again() {
    change(&OWN, &IN_USE);
}

#[test]
fn handlers_may_run_with_the_own_tls_block_through_the_fork() {
    // An ordinary thread this time: its stack is safe in the child because the C library sees it as
    // the forking one.
    let thread = std::thread::spawn(|| {
        let tls_donor = borrowed();
        // ORDERING: Relaxed, both; for this kernel thread.
        OWN.store(arch::thread_pointer(), Relaxed);
        IN_USE.store(tls_donor.thread_pointer(), Relaxed);
        // SAFETY: handlers that only set the thread pointer, and only on this kernel thread.
        unsafe {
            libc::pthread_atfork(
                Some(run_with_own),
                Some(run_with_tls_donor_again),
                Some(run_with_tls_donor_again),
            )
        };
        let status = under(tls_donor, || {
            NUMBER.set(78);
            let status = fork_and_wait(|| if NUMBER.get() == 78 { live_on() } else { 2 });
            assert_eq!(NUMBER.get(), 78);
            status
        });
        // ORDERING: Relaxed, both; as above, and before anybody else borrows the donor.
        IN_USE.store(0, Relaxed);
        OWN.store(0, Relaxed);
        give_back(tls_donor);
        status
    });
    assert_eq!(thread.join().expect("it ends well"), 0);
}
