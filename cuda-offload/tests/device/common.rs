//! Drivers that no other test uses, images, and the few steps that all tests take.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use cuda_offload::driver::{Absent, Context, Function};
use cuda_offload::{Driver, Gpu, gpus};
use device_trait::{
    Convention, Device, DeviceCode, DeviceFailure, DeviceImage, DeviceModule, DeviceOperation,
    DeviceProgress, Launch, Release, Stream,
};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compiles a C file to a shared object.
pub fn compile(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
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

pub fn driver_file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| compile(&root().join("abi-tests/fake-cuda/driver.c"), "libcuda.so.1", &[]))
}

/// One without what is optional.
pub fn driver_file_old() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| compile(&root().join("abi-tests/fake-cuda/driver.c"), "old.so", &["-DFAKE_CUDA_OLD"]))
}

pub fn kernels() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| kernels_with("kernels.so", &[]))
}

/// The image, compiled with these flags.
pub fn kernels_with(name: &str, flags: &[&str]) -> Vec<u8> {
    let file = compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/device/kernels.c"), name, flags);
    let mut bytes = std::fs::read(file).expect("the image");
    bytes[18..20].copy_from_slice(&190_u16.to_le_bytes());
    bytes
}

/// As the program brings it.
pub fn image(bytes: &[u8], id: u64) -> DeviceImage<'_> {
    DeviceImage { bytes, id, release: Release::Llvm20 }
}

pub fn text(path: impl AsRef<OsStr>) -> CString {
    CString::new(path.as_ref().as_encoded_bytes()).expect("a path")
}

/// Drivers read their settings when they start: one after the other.
static STARTING: Mutex<u32> = Mutex::new(0);

/// A driver that no other test uses: a copy of the file has variables of its own.
pub fn open_file(file: &Path, settings: &str) -> Result<&'static Driver, Absent> {
    let mut number = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    *number += 1;
    let copy =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fake-{}-{number}.so", std::process::id()));
    std::fs::copy(file, &copy).expect("a copy");
    // SAFETY: Rust's own readers of the environment take its lock, and of those in C none runs but
    // the driver that starts here, under ours.
    unsafe { std::env::set_var("GANGWAY_FAKE_CUDA", settings) };
    let driver = Driver::open(&text(&copy));
    std::fs::remove_file(&copy).expect("there");
    driver.map(|driver| &*Box::leak(Box::new(driver)))
}

pub fn open(settings: &str) -> Result<&'static Driver, Absent> {
    open_file(driver_file(), settings)
}

pub fn all(settings: &str) -> Vec<Gpu> {
    gpus(open(settings).expect("a driver")).expect("devices").0
}

pub fn one(settings: &str) -> Gpu {
    all(settings).remove(0)
}

pub fn complete(gpu: &Gpu, operation: Result<DeviceOperation, DeviceFailure>) -> Result<(), DeviceFailure> {
    let operation = operation?;
    loop {
        match gpu.poll(operation) {
            DeviceProgress::Pending => std::thread::yield_now(),
            DeviceProgress::Done => return Ok(()),
            DeviceProgress::Failed(why) => return Err(why),
        }
    }
}

pub fn put(gpu: &Gpu, values: &[u32]) -> usize {
    let block = gpu.allocate(size_of_val(values), 64).expect("room");
    // SAFETY: as large, and waited for.
    complete(gpu, unsafe { gpu.copy_in(block, values.as_ptr().cast(), size_of_val(values)) })
        .expect("copied");
    block
}

pub fn get<const N: usize>(gpu: &Gpu, from: usize) -> [u32; N] {
    let mut values = [0; N];
    // SAFETY: as large, and waited for.
    complete(gpu, unsafe { gpu.copy_out(values.as_mut_ptr().cast(), from, size_of_val(&values)) })
        .expect("copied");
    values
}

pub fn load(gpu: &Gpu) -> DeviceModule {
    gpu.load(&image(kernels(), 1)).expect("it loads").expect("it is for GPUs")
}

pub fn launch<'a>(
    gpu: &Gpu,
    module: DeviceModule,
    name: &'a CStr,
    convention: Convention,
    arguments: &'a [usize],
) -> Launch<'a> {
    let address = gpu.find(module, name).expect("the kernel");
    Launch {
        device: 0,
        depth: 1,
        stolen: false,
        code: DeviceCode::Loaded(module, name, address),
        convention,
        arguments,
        teams: [0; 3],
        thread_limit: [0; 3],
        iterations: 0,
        priority: 0,
        shared_bytes: 0,
        wanted: &[],
        into: core::ptr::null_mut(),
        after: &[],
    }
}

/// A device and its driver, for tests that are the program that calls it.
pub fn opened(settings: &str) -> (&'static Driver, Gpu) {
    let driver = open(settings).expect("a driver");
    (driver, gpus(driver).expect("devices").0.remove(0))
}

/// Puts a kernel on a stream, as a program does.
pub fn on_stream(driver: &Driver, gpu: &Gpu, stream: Stream, function: usize, arguments: &[usize]) {
    let mut before = Context::NULL;
    let context = Context(gpu.handles().expect("handles").context);
    let bytes = size_of_val(arguments);
    let extra = [
        core::ptr::without_provenance::<c_void>(1),
        arguments.as_ptr().cast(),
        core::ptr::without_provenance(2),
        (&raw const bytes).cast(),
        core::ptr::null(),
    ];
    // SAFETY: the device's own context and stream, a function of an image that is loaded, its
    // arguments.
    unsafe {
        driver.check((driver.context_current)(&raw mut before)).expect("fine");
        driver.check((driver.context_set)(context)).expect("fine");
        let stream = cuda_offload::driver::Stream(stream.handle);
        driver
            .check((driver.launch)(
                Function(function as *mut c_void),
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                stream,
                core::ptr::null(),
                extra.as_ptr(),
            ))
            .expect("put");
        driver.check((driver.context_set)(before)).expect("fine");
    }
}
