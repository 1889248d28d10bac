//! C++ exceptions on stacks that switch inside `catch`, with the runtime loaded in every way that
//! programs load it.
//!
//! Each case is a process of its own, because loading cannot be undone. The C++ code is compiled by
//! the system's `c++` while the test runs; without one the tests are skipped and say so.
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{mem, thread};
use ult::exceptions::{self, Saved, refresh, restore, save_and_clear};
use ult::stack::{self, Stack};

mod common;
use common::{Pair, child, role, skip, stderr};

type Yield = extern "C" fn(*mut c_void);
type Catcher = unsafe extern "C" fn(c_int, Yield, *mut c_void) -> c_int;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp").join(name)
}

/// Compiles a shared object; `None`, with the reason printed, if there is no compiler for it.
fn build(name: &str, source_name: &str, options: &[&str]) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let object = directory.join(format!("{name}.so"));
    let output = Command::new("c++")
        .args(options)
        .args(["-O1", "-fPIC", "-shared", "-o"])
        .arg(&object)
        .args(if source_name.ends_with(".c") { ["-x", "c"].as_slice() } else { &[] })
        .arg(source(source_name))
        .output();
    match output {
        Err(error) => {
            skip(&format!("no `c++`: {error}"));
            None
        }
        Ok(output) if !output.status.success() => {
            skip(&format!("`c++ {}` fails: {}", options.join(" "), stderr(&output)));
            None
        }
        Ok(_) => Some(object),
    }
}

fn run(role: &str, objects: &[&Path]) -> std::process::Output {
    let list: Vec<_> = objects.iter().map(|path| path.to_str().unwrap()).collect();
    let output = child(role).env("ULT_TEST_OBJECTS", list.join(":")).output().unwrap();
    for object in objects {
        _ = std::fs::remove_dir_all(object.parent().unwrap());
    }
    output
}

fn assert_passes(role: &str, objects: &[&Path]) {
    let output = run(role, objects);
    assert!(output.status.success(), "{role}: {:?} {}", output.status, stderr(&output));
    assert!(!stderr(&output).contains("gangway"), "{}", stderr(&output));
}

#[test]
fn a_privately_loaded_runtime() {
    let Some(object) = build("private", "catch.cpp", &[]) else { return };
    assert_passes("careful", &[&object]);
}

#[test]
fn a_statically_linked_runtime() {
    let Some(object) = build("static", "catch.cpp", &["-static-libstdc++"]) else { return };
    assert_passes("careful", &[&object]);
}

#[test]
fn two_copies_of_the_runtime_at_once() {
    let Some(shared) = build("first", "catch.cpp", &[]) else { return };
    let Some(other) = build("second", "catch.cpp", &["-static-libstdc++"]) else { return };
    assert_passes("careful", &[&shared, &other]);
}

/// An object without a GNU hash table.
#[test]
fn an_object_with_the_older_hash_table() {
    let options = ["-static-libstdc++", "-Wl,--hash-style=sysv"];
    let Some(object) = build("sysv", "catch.cpp", &options) else { return };
    assert_passes("careful", &[&object]);
}

/// The tests above would notice: without saving, an exception goes to the wrong stack.
#[test]
fn without_care_exceptions_are_mixed_up() {
    let Some(object) = build("careless", "catch.cpp", &[]) else { return };
    let output = run("careless", &[&object]);
    assert!(!output.status.success(), "the test does not test anything");
}

#[test]
fn an_unloaded_runtime_is_forgotten() {
    let Some(object) = build("unloaded", "fake_runtime.c", &[]) else { return };
    assert_passes("unload", &[&object]);
}

#[test]
fn too_many_copies_are_reported_once() {
    let objects: Vec<_> = (0..6).filter_map(|i| build(&format!("many{i}"), "fake_runtime.c", &[])).collect();
    if objects.len() < 6 {
        return;
    }
    let output = run("many", &objects.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("gangway: more than 4 copies").count(), 1, "{}", stderr(&output));
}

#[test]
fn without_a_runtime_nothing_happens() {
    assert_passes("none", &[]);
}

#[test]
fn role_of_child() {
    let Some(role) = role() else { return };
    let list = std::env::var("ULT_TEST_OBJECTS").unwrap_or_default();
    let objects: Vec<_> = list.split(':').filter(|path| !path.is_empty()).map(load).collect();
    match role.as_str() {
        "careful" => {
            refresh();
            mixed_catches(&objects, true);
        }
        "careless" => mixed_catches(&objects, false),
        "unload" => unload(objects[0]),
        "many" => (0..3).for_each(|_| refresh()),
        "none" => save_and_restore_all_zero(),
        other => panic!("no role {other}"),
    }
}

/// `dlopen` as Python does it.
fn load(path: &str) -> *mut c_void {
    let path = CString::new(path).unwrap();
    // SAFETY: loads a test object.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "cannot load {path:?}");
    handle
}

fn catcher(object: *mut c_void, name: &str) -> Catcher {
    let name = CString::new(name).unwrap();
    // SAFETY: a function of the test object with this type.
    unsafe {
        let function = libc::dlsym(object, name.as_ptr().cast::<c_char>());
        assert!(!function.is_null());
        mem::transmute(function)
    }
}

/// A stack that runs one catcher over and over.
struct Catching {
    pair: Pair,
    saved: RefCell<Saved>,
    careful: bool,
    function: Catcher,
    number: c_int,
    expected: c_int,
    rounds: Cell<usize>,
    done: Cell<bool>,
    stack: Stack,
}

// SAFETY: the driver below hands all of them from thread to thread and waits.
unsafe impl Send for Catching {}
// SAFETY: as above.
unsafe impl Sync for Catching {}

extern "C" fn leave(arg: *mut c_void) {
    // SAFETY: the address that `enter` passed to the catcher.
    let this = unsafe { &*(arg as *const Catching) };
    if this.careful {
        // SAFETY: this stack is being left, and continued by the second half.
        unsafe { save_and_clear(&mut this.saved.borrow_mut()) };
    }
    this.pair.to_main(0);
    if this.careful {
        // SAFETY: first thing on the kernel thread that resumes the stack.
        unsafe { restore(&this.saved.borrow()) };
    }
}

unsafe extern "C" fn enter(arg: usize) -> ! {
    // SAFETY: the driver passes the address of a `Catching` that outlives its stack's run.
    let this = unsafe { &*(arg as *const Catching) };
    for _ in 0..this.rounds.get() {
        // SAFETY: a function of the test object.
        let got = unsafe { (this.function)(this.number, leave, arg as *mut c_void) };
        if got != this.expected {
            eprintln!("stack {} got {got} instead of {}", this.number, this.expected);
            std::process::exit(1);
        }
    }
    this.done.set(true);
    this.pair.to_main(0);
    unreachable!()
}

/// Three stacks per object, resumed in turn, each time on another kernel thread.
fn mixed_catches(objects: &[*mut c_void], careful: bool) {
    let mut all = Vec::new();
    for (index, &object) in objects.iter().enumerate() {
        for (part, name) in
            ["catch_and_rethrow", "catch_and_rethrow", "yield_in_flight"].into_iter().enumerate()
        {
            let number = (index * 10 + part) as c_int + 1;
            let expected = if part == 2 { 11 } else { number };
            let (function, stack) = (catcher(object, name), stack::take(1 << 20).unwrap());
            all.push(Catching {
                pair: Pair::new(),
                saved: RefCell::default(),
                careful,
                function,
                number,
                expected,
                rounds: Cell::new(50),
                done: Cell::new(false),
                stack,
            });
        }
    }
    all.iter().for_each(|one| one.pair.start(&one.stack, enter));
    let shared = &all;
    let turn = move || {
        for one in shared.iter().filter(|one| !one.done.get()) {
            one.pair.to_other(&raw const *one as usize);
        }
    };
    while !all.iter().all(|one| one.done.get()) {
        turn();
        thread::scope(|scope| scope.spawn(turn).join().unwrap());
    }
}

fn unload(object: *mut c_void) {
    refresh();
    save_and_restore_all_zero();
    // SAFETY: nothing of the object is running.
    assert_eq!(unsafe { libc::dlclose(object) }, 0);
    refresh();
    save_and_restore_all_zero();
    // A thread that has no pointer yet would have to call into the object that is gone.
    thread::spawn(save_and_restore_all_zero).join().unwrap();
}

fn save_and_restore_all_zero() {
    refresh();
    exceptions::warm();
    let mut saved = Saved::default();
    for _ in 0..3 {
        // SAFETY: this thread handles no exception, so that nothing changes.
        unsafe {
            save_and_clear(&mut saved);
            restore(&saved);
        }
    }
}
