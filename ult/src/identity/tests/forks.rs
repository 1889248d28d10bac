//! Forks from under a donor, on a kernel thread whose stack the C library did not allocate (as contexts have it).

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
        let stack = libc::mmap(core::ptr::null_mut(), SIZE, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
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

/// Forks; the child does `child` and ends with its result. Returns the wait status, or -1 if the child hung.
fn fork_and_wait(child: fn() -> c_int) -> c_int {
    // SAFETY: the child calls what POSIX and glibc allow it and ends without returning; the parent waits for it.
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

/// Allocates, makes eight threads one after the other and two at once, and joins them. 0 when all is well.
fn live_on() -> c_int {
    exercise(8);
    for _ in 0..8 {
        if make_and_join() != 42 {
            return 1;
        }
    }
    exercise(9);
    0
}

fn make_and_join() -> usize {
    // SAFETY: plain POSIX calls on local objects.
    unsafe {
        let mut ids: [libc::pthread_t; 2] = core::mem::zeroed();
        for id in &mut ids {
            if libc::pthread_create(id, core::ptr::null(), answer, core::ptr::null_mut()) != 0 {
                return 0;
            }
        }
        let mut result = core::ptr::null_mut();
        for id in ids {
            libc::pthread_join(id, &mut result);
        }
        result as usize
    }
}

#[test]
fn the_child_of_a_fork_under_a_donor_lives_on_under_it() {
    let status = on_own_stack(|| {
        let donor = lent();
        let status = under(donor, || {
            NUMBER.set(77);
            fork_and_wait(|| if NUMBER.get() == 77 { live_on() } else { 2 })
        });
        give_back(donor);
        status
    });
    assert_eq!(status, 0);
}

#[test]
fn the_child_of_a_fork_has_an_empty_pool_and_makes_donors_of_its_own() {
    let status = on_own_stack(|| {
        let (worn, free) = (lent(), lent());
        give_back(free);
        let status = under(worn, || {
            fork_and_wait(|| {
                // Asked before anything is borrowed here.
                let empty = count() == 0 && POOL.lock().free.is_empty();
                let fresh = lent();
                NUMBER.set(5);
                under(fresh, || exercise(6));
                give_back(fresh);
                if empty && count() == 1 && NUMBER.get() == 5 { live_on() } else { 3 }
            })
        });
        give_back(worn);
        status
    });
    assert_eq!(status, 0);
}

#[test]
fn what_a_suspended_context_wore_is_intact_in_the_child() {
    static HELD: AtomicUsize = AtomicUsize::new(0);
    let status = on_own_stack(|| {
        let held = lent();
        under(held, || NUMBER.set(31));
        // ORDERING: Relaxed, here and in the child; one thread.
        HELD.store(core::ptr::from_ref(held) as usize, Relaxed);
        let status = fork_and_wait(|| {
            // New threads first: they would be given the held storage if it counted as free.
            let lived = live_on();
            // SAFETY: records are never freed; stored above.
            let held = unsafe { &*(HELD.load(Relaxed) as *const Identity) };
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

// ---- wearing one's own identity through the fork -------------------------------------------------------------

/// The forking kernel thread, its own thread pointer, and the one it wears: what a scheduler would ask its worker.
static FORKING: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

fn set_if_forking(which: usize) {
    // SAFETY: asks; then sets one of the two pointers that the test stored for this kernel thread or its copy.
    // ORDERING: Relaxed; stored by this kernel thread.
    unsafe {
        if FORKING[0].load(Relaxed) == own_pointer_key() {
            arch::set_thread_pointer(FORKING[which].load(Relaxed));
        }
    }
}

/// The same number in the parent's thread and its copy in the child, and in no other thread: its alternate signal stack.
fn own_pointer_key() -> usize {
    // SAFETY: only asks.
    unsafe {
        let mut stack: libc::stack_t = core::mem::zeroed();
        libc::sigaltstack(core::ptr::null(), &mut stack);
        stack.ss_sp as usize
    }
}

extern "C" fn wear_own() {
    set_if_forking(1);
}

extern "C" fn wear_again() {
    set_if_forking(2);
}

#[test]
fn handlers_may_wear_the_own_identity_through_the_fork() {
    // An ordinary thread this time: its stack is safe in the child because the C library sees it as the forking one.
    let thread = std::thread::spawn(|| {
        crate::fault::leave_kernel_thread();
        crate::fault::enter_kernel_thread();
        let donor = lent();
        let values = [own_pointer_key(), arch::thread_pointer(), donor.thread_pointer()];
        assert_ne!(values[0], 0);
        // SAFETY: handlers that only set the thread pointer, and only on this kernel thread.
        unsafe { libc::pthread_atfork(Some(wear_own), Some(wear_again), Some(wear_again)) };
        for (word, value) in FORKING.iter().zip(values) {
            // ORDERING: Relaxed; for this kernel thread.
            word.store(value, Relaxed);
        }
        let status = under(donor, || {
            NUMBER.set(78);
            let status = fork_and_wait(|| if NUMBER.get() == 78 { live_on() } else { 2 });
            assert_eq!(NUMBER.get(), 78);
            status
        });
        // ORDERING: Relaxed, as above.
        FORKING[0].store(0, Relaxed);
        give_back(donor);
        status
    });
    assert_eq!(thread.join().expect("it ends well"), 0);
}
