//! The device on the fake driver (`abi-tests/fake-cuda`): what the trait promises, in order, with delays, without memory, with failures.

use std::ffi::{CStr, CString, OsStr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use cuda_offload::driver::Absent;
use cuda_offload::{Driver, Gpu, gpus};
use device_trait::{Code, Convention, Device, Failure, Image, Launch, Module, Operation, Progress};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compiles a C file to a shared object.
fn compile(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let done = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O1", "-fvisibility=default", "-o"])
        .args([output.as_os_str(), source.as_os_str()])
        .args(flags)
        .args(["-lpthread", "-ldl"])
        .status();
    assert!(done.is_ok_and(|status| status.success()), "{compiler} does not compile {}", source.display());
    output
}

fn driver_file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| compile(&root().join("abi-tests/fake-cuda/driver.c"), "libcuda.so.1", &[]))
}

fn kernels() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let file = compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels.c"), "kernels.so", &[]);
        let mut bytes = std::fs::read(file).expect("the image");
        bytes[18..20].copy_from_slice(&190_u16.to_le_bytes());
        bytes
    })
}

fn text(path: impl AsRef<OsStr>) -> CString {
    CString::new(path.as_ref().as_encoded_bytes()).expect("a path")
}

/// Drivers read their settings when they start: one after the other.
static STARTING: Mutex<u32> = Mutex::new(0);

/// A driver that is nobody else's: a copy of the file has variables of its own.
fn open_file(file: &Path, settings: &str) -> Result<&'static Driver, Absent> {
    let mut number = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    *number += 1;
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fake-{}-{number}.so", std::process::id()));
    std::fs::copy(file, &copy).expect("a copy");
    // SAFETY: Rust's own readers of the environment take its lock, and of those in C none runs but the driver that starts here, under ours.
    unsafe { std::env::set_var("GANGWAY_FAKE_CUDA", settings) };
    let driver = Driver::open(&text(&copy));
    std::fs::remove_file(&copy).expect("there");
    driver.map(|driver| &*Box::leak(Box::new(driver)))
}

fn open(settings: &str) -> Result<&'static Driver, Absent> {
    open_file(driver_file(), settings)
}

fn all(settings: &str) -> Vec<Gpu> {
    gpus(open(settings).expect("a driver")).expect("devices").0
}

fn one(settings: &str) -> Gpu {
    all(settings).remove(0)
}

fn settle(gpu: &Gpu, operation: Result<Operation, Failure>) -> Result<(), Failure> {
    let operation = operation?;
    loop {
        match gpu.poll(operation) {
            Progress::Pending => std::thread::yield_now(),
            Progress::Done => return Ok(()),
            Progress::Failed(why) => return Err(why),
        }
    }
}

fn put(gpu: &Gpu, values: &[u32]) -> usize {
    let block = gpu.allocate(size_of_val(values), 64).expect("room");
    // SAFETY: as large, and waited for.
    settle(gpu, unsafe { gpu.copy_in(block, values.as_ptr().cast(), size_of_val(values)) }).expect("copied");
    block
}

fn get<const N: usize>(gpu: &Gpu, from: usize) -> [u32; N] {
    let mut values = [0; N];
    // SAFETY: as large, and waited for.
    settle(gpu, unsafe { gpu.copy_out(values.as_mut_ptr().cast(), from, size_of_val(&values)) }).expect("copied");
    values
}

fn load(gpu: &Gpu) -> Module {
    gpu.load(&Image { bytes: kernels(), id: 1 }).expect("it loads").expect("it is for GPUs")
}

fn launch<'a>(gpu: &Gpu, module: Module, name: &'a CStr, convention: Convention, arguments: &'a [usize]) -> Launch<'a> {
    let address = gpu.find(module, name).expect("the kernel");
    Launch {
        after: &[],
        device: 0,
        depth: 1,
        stolen: false,
        code: Code::Loaded(module, name, address),
        convention,
        arguments,
        teams: [0; 3],
        thread_limit: [0; 3],
        iterations: 0,
        shared_bytes: 0,
        wanted: &[],
        into: core::ptr::null_mut(),
    }
}

// ---- the driver ------------------------------------------------------------------------------------------------------------

#[test]
fn no_driver_and_a_library_that_is_none_are_told_apart() {
    assert!(matches!(Driver::open(c"/nowhere/libcuda.so.1"), Err(Absent::Library(why)) if why.contains("/nowhere/")));
    let none = Driver::open(c"libm.so.6").err().expect("no driver");
    assert_eq!(none, Absent::Function(c"cuInit"));
    assert!(none.to_string().contains("cuInit"));
}

#[test]
fn the_fake_one_does_not_start_by_accident_or_without_devices() {
    let file = text(driver_file());
    let output = Command::new(std::env::current_exe().expect("this"))
        .args(["--exact", "child_without_settings", "--ignored", "--nocapture"])
        .env_remove("GANGWAY_FAKE_CUDA")
        .env("FAKE_FILE", file.to_str().expect("text"))
        .status();
    assert!(output.is_ok_and(|status| status.success()));
    assert!(matches!(open("devices=0"), Err(Absent::Start(why)) if why.code == 100));
}

#[test]
#[ignore = "run by the one before, in a process of its own"]
fn child_without_settings() {
    let file = text(std::env::var_os("FAKE_FILE").expect("set"));
    assert!(matches!(Driver::open(&file), Err(Absent::Start(why)) if why.code == 800));
}

#[test]
fn an_old_driver_without_what_is_optional_works() {
    let file = compile(&root().join("abi-tests/fake-cuda/driver.c"), "old.so", &["-DFAKE_CUDA_OLD"]);
    let driver = open_file(&file, "devices=1").expect("a driver");
    assert!(driver.error_name.is_none());
    assert_eq!(driver.check(2).expect_err("a failure").to_string(), "error 2 of the CUDA driver");
    assert_eq!((driver.version(), driver.count()), (Ok(13000), Ok(1)));
}

#[test]
fn devices_are_counted_and_named() {
    let gpus = all("devices=3");
    let names: Vec<_> = gpus.iter().map(|gpu| gpu.name().to_str().expect("text")).collect();
    assert_eq!(names, ["CUDA_0_Fake_GPU_0", "CUDA_1_Fake_GPU_1", "CUDA_2_Fake_GPU_2"]);
    assert!(!gpus[0].runs_host_functions() && !gpus[0].reaches_host_memory() && !gpus[0].is_reached_by_host());
}

// ---- memory and copies -----------------------------------------------------------------------------------------------------

#[test]
fn bytes_go_there_and_come_back() {
    let gpu = one("delay=100");
    let block = put(&gpu, &[1, 2, 3, 4]);
    assert_eq!(get(&gpu, block), [1, 2, 3, 4]);
    assert_eq!(get(&gpu, block + 8), [3, 4]);
    let other = gpu.allocate(16, 4096).expect("room");
    assert_eq!(other % 4096, 0);
    // SAFETY: as large.
    settle(&gpu, unsafe { gpu.copy_within(other, block + 4, 12) }).expect("copied");
    assert_eq!(get(&gpu, other), [2, 3, 4]);
    // SAFETY: nobody uses them.
    unsafe {
        gpu.free(block);
        gpu.free(other);
    }
    gpu.synchronise().expect("fine");
}

#[test]
fn what_touches_the_same_bytes_happens_in_order_in_whatever_stream() {
    for seed in 1..20 {
        let gpu = one(&format!("delay=300,seed={seed}"));
        let (a, b) = (put(&gpu, &[0; 64]), put(&gpu, &[0; 64]));
        let (values, mut seen) = ((0..8).map(|round| [round + 1; 64]).collect::<Vec<[u32; 64]>>(), [[0_u32; 64]; 8]);
        let mut begun = Vec::new();
        for (values, seen) in values.iter().zip(&mut seen) {
            // SAFETY: as large; values and what is seen stay until all is over.
            unsafe {
                begun.push(gpu.copy_in(a, values.as_ptr().cast(), 256).expect("begun"));
                begun.push(gpu.copy_within(b, a, 256).expect("begun"));
                begun.push(gpu.copy_out(seen.as_mut_ptr().cast(), b, 256).expect("begun"));
            }
        }
        for operation in begun.into_iter().rev() {
            settle(&gpu, Ok(operation)).expect("fine");
        }
        assert_eq!(seen.to_vec(), values, "seed {seed}");
    }
}

#[test]
fn memory_runs_out_with_a_line_and_comes_back() {
    let gpu = one("memory=8");
    let blocks: Vec<_> = (0..3).map(|_| gpu.allocate(2 << 20, 64).expect("room")).collect();
    let full = gpu.allocate(4 << 20, 64).expect_err("full");
    assert_eq!(full.to_string(), format!("out of memory for {} bytes", 4 << 20));
    // SAFETY: nobody uses them.
    blocks.into_iter().for_each(|block| unsafe { gpu.free(block) });
    let large = gpu.allocate(6 << 20, 64).expect("what was kept has gone");
    // SAFETY: nobody uses it.
    unsafe { gpu.free(large) };
    assert!(gpu.allocate(usize::MAX, 64).is_err());
}

#[test]
fn a_driver_that_has_no_memory_once_is_asked_again_only_if_something_was_kept() {
    // The first allocation is the device's own words of zeros.
    let gpu = one("alloc=3");
    let block = gpu.allocate(100, 8).expect("room");
    assert!(gpu.allocate(1000, 8).is_err(), "the third one");
    // SAFETY: nobody uses it.
    unsafe { gpu.free(block) };
    assert!(gpu.allocate(1000, 8).is_ok());
}

#[test]
fn many_threads_copy_at_the_same_time() {
    let gpu = one("delay=50");
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let gpu = &gpu;
            scope.spawn(move || {
                for round in 0..30 {
                    let values = [thread, round, thread * round, 9];
                    let block = put(gpu, &values);
                    assert_eq!(get(gpu, block), values);
                    // SAFETY: nobody uses it.
                    unsafe { gpu.free(block) };
                }
            });
        }
    });
}

// ---- images and kernels ----------------------------------------------------------------------------------------------------

#[test]
fn images_for_other_machines_are_declined_and_broken_ones_fail() {
    let gpu = one("");
    let mut host = kernels().to_vec();
    host[18] = 62;
    assert_eq!(gpu.load(&Image { bytes: &host, id: 1 }), Ok(None));
    assert_eq!(gpu.load(&Image { bytes: b"nothing", id: 2 }), Ok(None));
    let mut broken = kernels().to_vec();
    broken[32..64].fill(0);
    assert!(gpu.load(&Image { bytes: &broken, id: 3 }).is_err_and(|why| why.to_string() == "CUDA_ERROR_INVALID_IMAGE"));
}

#[test]
fn kernels_and_variables_are_found() {
    let gpu = one("devices=2");
    let module = load(&gpu);
    assert!(gpu.find(module, c"add").is_some() && gpu.find(module, c"nobody").is_none());
    let counter = gpu.find(module, c"counter").expect("a variable");
    assert_eq!(get(&gpu, counter), [7]);
}

#[test]
fn a_kernel_runs_behind_the_copies_of_what_it_touches_and_before_later_ones() {
    for seed in 1..20 {
        let gpu = one(&format!("delay=300,seed={seed}"));
        let module = load(&gpu);
        let (from, to) = (put(&gpu, &[0; 4]), put(&gpu, &[0; 4]));
        let (values, mut seen) = ([10_u32, 20, 30, 40], [0_u32; 4]);
        // SAFETY: as large; all is waited for.
        let begun = unsafe {
            let copied = gpu.copy_in(from, values.as_ptr().cast(), 16).expect("begun");
            let arguments = [from, to, 4, 5];
            let run = gpu.run(&launch(&gpu, module, c"add", Convention::Separate, &arguments)).expect("begun");
            [copied, run, gpu.copy_out(seen.as_mut_ptr().cast(), to, 16).expect("begun")]
        };
        begun.into_iter().for_each(|operation| settle(&gpu, Ok(operation)).expect("fine"));
        assert_eq!(seen, [15, 25, 35, 45], "seed {seed}");
    }
}

#[test]
fn the_code_knows_its_device_and_gets_the_teams_that_were_asked_for() {
    for (number, gpu) in (0..).zip(all("devices=2")) {
        let (module, out) = (load(&gpu), put(&gpu, &[9; 5]));
        let arguments = [out];
        let asked = Launch { teams: [5, 0, 0], thread_limit: [64, 0, 0], shared_bytes: 100, ..launch(&gpu, module, c"where", Convention::Separate, &arguments) };
        // SAFETY: the kernel's arguments.
        settle(&gpu, unsafe { gpu.run(&asked) }).expect("it runs");
        assert_eq!(get(&gpu, out), [number, 2, 5, 64, 100]);
        let free = Launch { iterations: 1000, ..launch(&gpu, module, c"where", Convention::Separate, &arguments) };
        // SAFETY: as above.
        settle(&gpu, unsafe { gpu.run(&free) }).expect("it runs");
        assert_eq!(get(&gpu, out), [number, 2, 8, 128, 0], "1000 iterations, 128 to a team");
    }
}

#[test]
fn kernels_get_the_environment_that_clang_s_code_wants() {
    let gpu = one("delay=50");
    let module = load(&gpu);
    for (name, has_buffer) in [(c"plain", 0), (c"reduce", 1), (c"reduce", 1)] {
        let out = put(&gpu, &[9; 2]);
        // SAFETY: the kernel's arguments.
        settle(&gpu, unsafe { gpu.run(&launch(&gpu, module, name, Convention::SeparateAfterEnvironment, &[out])) }).expect("it runs");
        assert_eq!(get(&gpu, out), [0, has_buffer]);
    }
    let newer = launch(&gpu, module, c"newer", Convention::SeparateAfterEnvironment, &[]);
    // SAFETY: it is refused.
    let refused = unsafe { gpu.run(&newer) }.expect_err("of another release");
    assert!(refused.to_string().contains("56 bytes") && refused.to_string().contains("LLVM 19"), "{refused}");
}

#[test]
fn functions_of_the_host_are_refused() {
    let gpu = one("");
    let module = load(&gpu);
    let of_gcc = Launch { code: Code::HostFunction(64), ..launch(&gpu, module, c"add", Convention::Separate, &[]) };
    // SAFETY: it is refused.
    assert!(unsafe { gpu.run(&of_gcc) }.is_err());
    let array = launch(&gpu, module, c"add", Convention::Array, &[]);
    // SAFETY: as above.
    assert!(unsafe { gpu.run(&array) }.is_err());
}

#[test]
fn a_kernel_that_fails_says_so_and_only_its_device_is_lost() {
    let gpus = all("devices=2,launch=1,delay=50");
    let (module, other) = (load(&gpus[0]), load(&gpus[1]));
    let (block, fine) = (put(&gpus[0], &[1; 4]), put(&gpus[1], &[1; 4]));
    // SAFETY: the kernel's arguments.
    let lost = settle(&gpus[0], unsafe { gpus[0].run(&launch(&gpus[0], module, c"add", Convention::Separate, &[block, block, 4, 1])) });
    assert_eq!(lost.expect_err("it fails").to_string(), "CUDA_ERROR_LAUNCH_FAILED");
    // SAFETY: as large.
    assert!(settle(&gpus[0], unsafe { gpus[0].copy_in(block, [0_u8; 4].as_ptr(), 4) }).is_err(), "the device is lost");
    assert!(gpus[0].synchronise().is_err());
    // SAFETY: as above.
    settle(&gpus[1], unsafe { gpus[1].run(&launch(&gpus[1], other, c"add", Convention::Separate, &[fine, fine, 4, 1])) }).expect("it goes on");
    assert_eq!(get(&gpus[1], fine), [2; 4]);
}

#[test]
fn a_thousand_kernels_one_after_the_other_leave_nothing_behind() {
    let gpu = one("memory=4");
    let (module, block) = (load(&gpu), put(&gpu, &[0; 16]));
    let arguments = [block];
    for _ in 0..1000 {
        let run = launch(&gpu, module, c"reduce", Convention::SeparateAfterEnvironment, &arguments);
        // SAFETY: the kernel's arguments.
        settle(&gpu, unsafe { gpu.run(&run) }).expect("it runs");
    }
    gpu.synchronise().expect("fine");
}
