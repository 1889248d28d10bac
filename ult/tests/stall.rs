//! Which loaded objects count as the program's: the map on objects made by the C compiler of this
//! machine.
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use ult::stall::{is_program_code, refresh_objects, yields_for};

mod common;
use common::skip;

/// Compiles `code` into a shared object; `None`, and says so, where there is no compiler.
fn build(name: &str, code: &str, options: &[&str]) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stall");
    std::fs::create_dir_all(&directory).unwrap();
    let (source, object) = (directory.join(format!("{name}.c")), directory.join(format!("{name}.so")));
    std::fs::write(&source, code).unwrap();
    let output = Command::new("cc")
        .args(options)
        .args(["-O1", "-fPIC", "-shared", "-o"])
        .args([&object, &source])
        .output();
    match output {
        Err(error) => {
            skip(&format!("no `cc`: {error}"));
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(object)
        }
    }
}

/// Loads `object` and returns the address of its function.
fn load(object: &Path, function: &CStr) -> usize {
    let path = CString::new(object.to_str().unwrap()).unwrap();
    // SAFETY: loads a test object that is never unloaded. Lazily: what it refers to exists nowhere.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        assert!(!handle.is_null(), "cannot load {path:?}");
        let address = libc::dlsym(handle, function.as_ptr()) as usize;
        assert!(address != 0);
        address
    }
}

/// One test, because the map belongs to the process.
#[test]
fn only_objects_that_use_a_runtime_are_the_programs() {
    let cases = [
        ("gcc", "void GOMP_parallel(void); void gcc_user(void) { GOMP_parallel(); }", c"gcc_user", true),
        (
            "clang",
            "void __kmpc_fork_call(void); void clang_user(void) { __kmpc_fork_call(); }",
            c"clang_user",
            true,
        ),
        (
            "api",
            "int omp_get_thread_num(void); int api_user(void) { return omp_get_thread_num(); }",
            c"api_user",
            true,
        ),
        ("plain", "int sched_yield(void); int plain(void) { return sched_yield(); }", c"plain", false),
        (
            "runtime",
            "void omp_other(void); void GOMP_parallel(void) { omp_other(); }",
            c"GOMP_parallel",
            false,
        ),
        (
            "private",
            "static void omp_own(void) {} void (*f)(void) = omp_own; void own(void) { f(); }",
            c"own",
            false,
        ),
    ];
    // Both kinds of relocation: by way of the procedure linkage table; and of the global offset
    // table, which is filled when the object is loaded, so that what is not there has to be weak.
    let names = ["GOMP_parallel", "__kmpc_fork_call", "omp_get_thread_num", "omp_other"];
    let weak: String = names.iter().map(|name| format!("#pragma weak {name}\n")).collect();
    let kinds =
        [("plt", "", ["-fplt", "-Wl,-z,lazy"]), ("got", &weak, ["-fno-plt", "-Wl,--hash-style=sysv"])];
    for (suffix, before, options) in kinds {
        for (name, code, function, expected) in &cases {
            let code = format!("{before}{code}");
            let Some(object) = build(&format!("{name}-{suffix}"), &code, &options) else { return };
            let address = load(&object, function);
            assert!(!is_program_code(address), "{name}: known before it was looked for");
            refresh_objects();
            assert_eq!(is_program_code(address), *expected, "{name}, {suffix}");
            assert_eq!(yields_for(address), *expected);
        }
    }
    assert!(
        !is_program_code(only_objects_that_use_a_runtime_are_the_programs as *const () as usize),
        "this test itself"
    );
    assert!(!is_program_code(libc::memcpy as *const () as usize));
}
