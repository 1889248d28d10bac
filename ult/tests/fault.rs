//! Overflow, chaining to the program's handlers, alternate stacks; each case in a process of its
//! own.
use std::ffi::c_void;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::{mem, ptr, thread};
use ult::{fault, stack};

mod common;
use common::{Pair, child, role, stderr};

fn run(role: &str) -> Output {
    child(role).output().unwrap()
}

fn assert_overflow(output: &Output, hint: &str) {
    let text = stderr(output);
    let lines: Vec<_> = text.lines().filter(|line| line.contains("gangway")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("gangway: stack overflow") && lines[0].ends_with(hint), "{text}");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{text}");
}

#[test]
fn overflow_is_one_line_and_the_signal() {
    assert_overflow(&run("overflow"), "; set SOME_SIZE to more than its present 64 KiB");
}

#[test]
fn overflow_by_a_large_frame() {
    assert_overflow(&run("overflow-by-leap"), "; the program ends here");
}

#[test]
fn overflow_on_a_thread_without_alternate_stack() {
    assert_overflow(&run("overflow-on-bare-thread"), "; the program ends here");
}

#[test]
fn overflow_after_the_program_installed_its_own_handler_first() {
    assert_overflow(&run("overflow-with-program-handler"), "; the program ends here");
}

#[test]
fn faults_of_the_program_reach_its_handler() {
    let output = run("repair");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn masks_are_those_of_the_kernel() {
    let output = run("masks");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_handler_that_resets_itself_runs_once() {
    let output = run("reset");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("handled").count(), 1);
}

#[test]
fn default_and_ignore_have_their_effect() {
    for (role, signal) in [
        ("default-fault", Some(libc::SIGSEGV)),
        ("default-sent", Some(libc::SIGSEGV)),
        ("default-bus-sent", Some(libc::SIGBUS)),
        ("ignore-fault", Some(libc::SIGSEGV)),
        ("ignore-sent", None),
    ] {
        let output = run(role);
        assert_eq!(output.status.signal(), signal, "{role}: {}", stderr(&output));
        assert!(!stderr(&output).contains("gangway"), "{role}: {}", stderr(&output));
    }
}

#[test]
fn alternate_stacks_are_made_once_and_freed() {
    let output = run("alternate");
    assert!(output.status.success(), "{}", stderr(&output));
}

/// What the processes started above do.
#[test]
fn role_of_child() {
    let Some(role) = role() else { return };
    match role.as_str() {
        "overflow" => {
            fault::install();
            fault::install();
            fault::set_overflow_hint("a first text that is longer than the second one, which replaces it");
            fault::set_overflow_hint("set SOME_SIZE to more than its present 64 KiB");
            overflow(recurse);
        }
        "overflow-by-leap" => {
            fault::install();
            overflow(leap);
        }
        "overflow-on-bare-thread" => {
            fault::install();
            on_bare_thread(|| {
                fault::enter_kernel_thread();
                overflow(recurse);
            });
        }
        "overflow-with-program-handler" => {
            handle(libc::SIGSEGV, complain as *const () as usize, libc::SA_SIGINFO, &[]);
            fault::install();
            overflow(recurse);
        }
        "repair" => repair_role(),
        "masks" => masks_role(),
        "reset" => {
            handle(libc::SIGSEGV, repair as *const () as usize, libc::SA_SIGINFO | libc::SA_RESETHAND, &[]);
            fault::install();
            touch_protected();
            touch_protected();
        }
        "default-fault" => under(libc::SIG_DFL, libc::SIGSEGV, touch_protected),
        "default-sent" => under(libc::SIG_DFL, libc::SIGSEGV, || send(libc::SIGSEGV)),
        "default-bus-sent" => under(libc::SIG_DFL, libc::SIGBUS, || send(libc::SIGBUS)),
        "ignore-fault" => under(libc::SIG_IGN, libc::SIGSEGV, touch_protected),
        "ignore-sent" => under(libc::SIG_IGN, libc::SIGSEGV, || send(libc::SIGSEGV)),
        "alternate" => on_bare_thread(alternate_role),
        other => panic!("no role {other}"),
    }
}

#[expect(unconditional_recursion, reason = "the overflow under test")]
fn recurse(depth: usize) -> usize {
    let frame = [depth; 20];
    black_box(&frame);
    recurse(depth + 1) + black_box(&frame)[3]
}

/// Touches an array of half the guard's size at its far end, as an automatic array of Fortran does.
fn leap(_: usize) -> usize {
    let here = black_box(0_u8);
    // In a black box, so that the compiler does not see what it could take for never reached.
    let below = black_box((&raw const here).wrapping_sub(64 << 10).wrapping_sub(stack::GUARD / 2).cast_mut());
    // SAFETY: none: it is the fault under test.
    unsafe { below.write_volatile(1) };
    0
}

/// Runs `dive` on a stack of the smallest size.
fn overflow(dive: fn(usize) -> usize) {
    unsafe extern "C" fn entry(arg: usize) -> ! {
        // SAFETY: the address of the local of `overflow`, which waits.
        let (pair, dive) = unsafe { &*(arg as *const (Pair, fn(usize) -> usize)) };
        pair.to_main(dive(0));
        unreachable!()
    }
    let shared = (Pair::new(), dive);
    let stack = stack::take(0).unwrap();
    shared.0.start(&stack, entry);
    shared.0.to_other(&raw const shared as usize);
}

/// A thread of the C library, to which Rust has given no alternate stack.
fn on_bare_thread(body: fn()) {
    extern "C" fn start(body: *mut c_void) -> *mut c_void {
        // SAFETY: the function pointer passed below.
        unsafe { mem::transmute::<*mut c_void, fn()>(body)() };
        ptr::null_mut()
    }
    let mut thread = 0;
    // SAFETY: `start` gets the pointer it expects; joined before returning.
    unsafe {
        assert_eq!(libc::pthread_create(&raw mut thread, ptr::null(), start, body as *mut c_void), 0);
        libc::pthread_join(thread, ptr::null_mut());
    }
}

fn handle(signal: i32, handler: usize, flags: i32, masked: &[i32]) {
    // SAFETY: a fully initialised action.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        for &signal in masked {
            libc::sigaddset(&raw mut action.sa_mask, signal);
        }
        assert_eq!(libc::sigaction(signal, &raw const action, ptr::null_mut()), 0);
    }
}

fn under(disposition: usize, signal: i32, act: fn()) {
    handle(signal, disposition, 0, &[]);
    fault::install();
    act();
}

fn send(signal: i32) {
    // SAFETY: a signal to this process.
    unsafe { libc::kill(libc::getpid(), signal) };
    thread::sleep(std::time::Duration::from_millis(50));
}

static HANDLED: AtomicUsize = AtomicUsize::new(0);
static PROTECTED: AtomicUsize = AtomicUsize::new(0);
static MASK: AtomicUsize = AtomicUsize::new(0);

extern "C" fn complain(_: i32, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: async-signal-safe.
    unsafe {
        libc::write(2, c"the program's handler got our overflow\n".as_ptr().cast(), 39);
        libc::_exit(3);
    }
}

/// Makes the page accessible and lets the access continue, after a look at the arguments and the
/// mask.
extern "C" fn repair(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the arguments of a signal handler; async-signal-safe calls.
    unsafe {
        let page = PROTECTED.load(SeqCst);
        if signal != libc::SIGSEGV || (*info).si_addr() as usize != page || context.is_null() {
            libc::_exit(4);
        }
        let mut mask: libc::sigset_t = mem::zeroed();
        libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &raw mut mask);
        let bits = (1..64).filter(|&number| libc::sigismember(&raw const mask, number) == 1);
        MASK.store(bits.map(|number| 1 << number).sum(), SeqCst);
        libc::mprotect(page as *mut c_void, 4096, libc::PROT_READ | libc::PROT_WRITE);
        libc::write(2, c"handled\n".as_ptr().cast(), 8);
    }
    HANDLED.fetch_add(1, SeqCst);
}

extern "C" fn repair_simple(signal: i32) {
    // SAFETY: async-signal-safe.
    unsafe {
        if signal != libc::SIGSEGV {
            libc::_exit(5);
        }
        libc::mprotect(PROTECTED.load(SeqCst) as *mut c_void, 4096, libc::PROT_READ | libc::PROT_WRITE);
    }
    HANDLED.fetch_add(1, SeqCst);
}

/// Writes to a page that may not be written to.
fn touch_protected() {
    // SAFETY: a mapping of our own; the handler under test makes it writable, or the process dies.
    unsafe {
        let page = libc::mmap(
            ptr::null_mut(),
            4096,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        PROTECTED.store(page as usize, SeqCst);
        page.cast::<u8>().write_volatile(1);
    }
}

fn repair_role() {
    handle(libc::SIGSEGV, repair as *const () as usize, libc::SA_SIGINFO, &[]);
    fault::install();
    (0..3).for_each(|_| touch_protected());
    assert_eq!(HANDLED.load(SeqCst), 3);
}

/// Each kind of handler in a process of its own, because `install` works once per process.
fn masks_role() {
    if let Ok(kind) = std::env::var("ULT_TEST_MASK") {
        return one_mask(&kind);
    }
    for kind in ["plain", "nodefer", "simple"] {
        let output = child("masks").env("ULT_TEST_MASK", kind).output().unwrap();
        assert!(output.status.success(), "{kind}: {}", stderr(&output));
    }
}

fn one_mask(kind: &str) {
    let bit = |signal: i32| 1_usize << signal;
    // SAFETY: blocks a signal in this thread.
    unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        libc::sigaddset(&raw mut mask, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut());
    }
    let (handler, flags) = match kind {
        "simple" => (repair_simple as *const () as usize, 0),
        "nodefer" => (repair as *const () as usize, libc::SA_SIGINFO | libc::SA_NODEFER),
        _ => (repair as *const () as usize, libc::SA_SIGINFO),
    };
    handle(libc::SIGSEGV, handler, flags, &[libc::SIGUSR2]);
    fault::install();
    touch_protected();
    assert_eq!(HANDLED.load(SeqCst), 1);
    match kind {
        "plain" => {
            assert_eq!(MASK.load(SeqCst), bit(libc::SIGUSR1) | bit(libc::SIGUSR2) | bit(libc::SIGSEGV))
        }
        "nodefer" => assert_eq!(MASK.load(SeqCst), bit(libc::SIGUSR1) | bit(libc::SIGUSR2)),
        _ => {}
    }
    // SAFETY: asks for the mask.
    unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &raw mut mask);
        assert_eq!(libc::sigismember(&raw const mask, libc::SIGUSR2), 0, "the mask was not put back");
        assert_eq!(libc::sigismember(&raw const mask, libc::SIGUSR1), 1);
    }
}

fn alternate() -> libc::stack_t {
    // SAFETY: only asks.
    unsafe {
        let mut stack: libc::stack_t = mem::zeroed();
        libc::sigaltstack(ptr::null(), &raw mut stack);
        stack
    }
}

fn alternate_role() {
    let off = |stack: libc::stack_t| stack.ss_flags & libc::SS_DISABLE != 0;
    assert!(off(alternate()));
    fault::enter_kernel_thread();
    let ours = alternate();
    assert!(!off(ours));
    fault::enter_kernel_thread();
    assert_eq!(alternate().ss_sp, ours.ss_sp);
    fault::leave_kernel_thread();
    assert!(off(alternate()));
    fault::leave_kernel_thread();

    let mut host = vec![0_u8; 256 << 10];
    let stack = libc::stack_t { ss_sp: host.as_mut_ptr().cast(), ss_flags: 0, ss_size: host.len() };
    // SAFETY: the vector outlives its use.
    unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    fault::enter_kernel_thread();
    fault::leave_kernel_thread();
    assert_eq!(alternate().ss_sp, stack.ss_sp, "the host's own was touched");
    let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: puts back what was there.
    unsafe { libc::sigaltstack(&raw const none, ptr::null_mut()) };
}
