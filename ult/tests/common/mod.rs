//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses a part of it")]
use std::cell::Cell;
use std::process::{Command, Output};
use std::{env, ptr};
use ult::stack;
use ult::sys::arch::{FpState, fp_state, prepare, switch};

/// Names the part that a re-executed test binary plays; see [`child`].
const ROLE: &str = "ULT_TEST_ROLE";

/// The part this process plays, if it was started by [`child`].
pub fn role() -> Option<String> {
    env::var(ROLE).ok()
}

/// This test binary again, running only its test `role_of_child` with the given role.
pub fn child(role: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "role_of_child", "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Prints why a test did not run; `cargo test` shows it with `--nocapture`.
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// What the two sides of a ping-pong share: where each of them continues.
pub struct Pair {
    pub main: Cell<*mut u8>,
    pub other: Cell<*mut u8>,
    pub seen: Cell<usize>,
    /// The floating-point words of the thread that made it.
    pub words: Cell<FpState>,
}

impl Pair {
    pub fn new() -> Pair {
        Pair {
            main: Cell::new(ptr::null_mut()),
            other: Cell::new(ptr::null_mut()),
            seen: Cell::new(0),
            words: Cell::new(fp_state()),
        }
    }

    /// From the main side; returns what the other side passes.
    pub fn to_other(&self, arg: usize) -> usize {
        // SAFETY: `other` was stored by `prepare` or by the other side's last switch.
        unsafe { switch(self.main.as_ptr(), self.other.get(), arg) }
    }

    pub fn to_main(&self, arg: usize) -> usize {
        // SAFETY: `main` was stored by the switch that brought us here.
        unsafe { switch(self.other.as_ptr(), self.main.get(), arg) }
    }

    pub fn start(&self, stack: &stack::Stack, entry: unsafe extern "C" fn(usize) -> !) {
        // SAFETY: a fresh stack.
        self.other.set(unsafe { prepare(stack.top(), entry) });
    }
}

pub fn pair(arg: usize) -> &'static Pair {
    // SAFETY: every test passes the address of a pair that outlives its stack.
    unsafe { &*(arg as *const Pair) }
}
