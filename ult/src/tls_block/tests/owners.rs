//! Who the C library takes the wearer for: mutex owners, `pthread_self()`, signals to oneself.

use super::*;

fn mutex(kind: c_int) -> libc::pthread_mutex_t {
    // SAFETY: local objects, written before they are read.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = core::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_settype(&mut attributes, kind);
        let mut mutex: libc::pthread_mutex_t = core::mem::zeroed();
        libc::pthread_mutex_init(&mut mutex, &attributes);
        libc::pthread_mutexattr_destroy(&mut attributes);
        mutex
    }
}

#[test]
fn pthread_self_differs() {
    let (one, two) = (borrowed(), borrowed());
    // SAFETY: only asks.
    let ask = || unsafe { libc::pthread_self() };
    let selves = [ask(), under(one, ask), under(two, ask)];
    assert!(selves[0] != selves[1] && selves[1] != selves[2] && selves[0] != selves[2]);
    give_back(one);
    give_back(two);
}

#[test]
fn a_recursive_mutex_belongs_to_the_tls_block() {
    let (one, two) = (borrowed(), borrowed());
    let mutex = &raw mut *Box::leak(Box::new(mutex(libc::PTHREAD_MUTEX_RECURSIVE)));
    // SAFETY: an initialised mutex that is never freed.
    let (lock, unlock) =
        (|| unsafe { libc::pthread_mutex_trylock(mutex) }, || unsafe { libc::pthread_mutex_unlock(mutex) });
    assert_eq!(under(one, || (lock(), lock())), (0, 0));
    assert_eq!((under(two, lock), lock()), (libc::EBUSY, libc::EBUSY));
    assert_eq!(under(two, unlock), libc::EPERM);
    assert_eq!(under(one, || (unlock(), unlock())), (0, 0));
    assert_eq!(under(two, || (lock(), unlock())), (0, 0));
    give_back(one);
    give_back(two);
}

#[test]
fn an_error_checking_mutex_belongs_to_the_tls_block() {
    let tls_donor = borrowed();
    let mutex = &raw mut *Box::leak(Box::new(mutex(libc::PTHREAD_MUTEX_ERRORCHECK)));
    // SAFETY: an initialised mutex that is never freed; the second lock of one owner returns an
    // error.
    let (lock, unlock) =
        (|| unsafe { libc::pthread_mutex_lock(mutex) }, || unsafe { libc::pthread_mutex_unlock(mutex) });
    assert_eq!(under(tls_donor, || (lock(), lock())), (0, libc::EDEADLK));
    assert_eq!(unlock(), libc::EPERM);
    assert_eq!(under(tls_donor, unlock), 0);
    give_back(tls_donor);
}

static RAISED_ON: AtomicUsize = AtomicUsize::new(0);

extern "C" fn note_kernel_thread(_: c_int) {
    // SAFETY: only asks.
    // ORDERING: Relaxed; read on the same kernel thread.
    RAISED_ON.store(unsafe { libc::gettid() } as usize, Relaxed);
}

#[test]
fn a_signal_to_oneself_reaches_the_kernel_thread_that_raised_it() {
    let tls_donor = borrowed();
    // SAFETY: a handler that only stores, for a signal that nothing else here uses.
    under(tls_donor, || unsafe {
        libc::signal(libc::SIGUSR2, note_kernel_thread as *const () as libc::sighandler_t);
        assert_eq!(libc::raise(libc::SIGUSR2), 0);
        // ORDERING: Relaxed; the handler has run on this kernel thread.
        assert_eq!(RAISED_ON.load(Relaxed), libc::gettid() as usize);
    });
    give_back(tls_donor);
}

unsafe extern "C" {
    fn pthread_testcancel();
}

#[test]
fn a_request_to_cancel_ends_neither_tls_donor_nor_wearer() {
    let tls_donor = borrowed();
    under(tls_donor, || NUMBER.set(11));
    let id = tls_donor.thread_pointer() as libc::pthread_t;
    // SAFETY: on this processor glibc's thread id is the thread pointer, and a donor does not end
    // by itself.
    assert_eq!(unsafe { libc::pthread_cancel(id) }, 0);
    std::thread::sleep(std::time::Duration::from_millis(20));
    // SAFETY: signal 0 only asks whether the thread exists.
    assert_eq!(unsafe { libc::pthread_kill(id, 0) }, 0);
    under(tls_donor, || {
        // SAFETY: a cancellation point; the process would end here if the request were acted upon.
        unsafe { pthread_testcancel() };
        assert_eq!(NUMBER.get(), 11);
        exercise(5);
    });
    // Not given back: the request stays with it.
}
