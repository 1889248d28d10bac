//! Opening the driver, and what devices it has.

use std::process::Command;

use cuda_offload::Driver;
use cuda_offload::driver::Absent;
use device_trait::Device;

use crate::common::{all, driver_file, driver_file_old, open, open_file, text};

#[test]
fn no_driver_and_a_library_that_is_none_are_distinguished() {
    assert!(
        matches!(Driver::open(c"/nowhere/libcuda.so.1"), Err(Absent::Library(why)) if why.contains("/nowhere/"))
    );
    let none = Driver::open(c"libm.so.6").err().expect("no driver");
    assert_eq!(none, Absent::Function(c"cuInit"));
    assert!(none.to_string().contains("cuInit"));
}

#[test]
fn the_fake_one_does_not_start_by_accident_or_without_devices() {
    let file = text(driver_file());
    let output = Command::new(std::env::current_exe().expect("this"))
        .args(["--exact", "driver::child_without_settings", "--ignored", "--nocapture"])
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
    let driver = open_file(driver_file_old(), "devices=1").expect("a driver");
    assert!(driver.error_name.is_none() && driver.stream_create_with_priority.is_none());
    assert_eq!(driver.check(2).expect_err("a failure").to_string(), "error 2 of the CUDA driver");
    assert_eq!((driver.version(), driver.count()), (Ok(13000), Ok(1)));
}

#[test]
fn devices_are_counted_and_named() {
    let gpus = all("devices=3");
    let names: Vec<_> = gpus.iter().map(|gpu| gpu.name().to_str().expect("text")).collect();
    assert_eq!(names, ["CUDA_0_Fake_GPU_0", "CUDA_1_Fake_GPU_1", "CUDA_2_Fake_GPU_2"]);
    assert!(
        !gpus[0].runs_host_functions() && !gpus[0].reaches_host_memory() && !gpus[0].is_reached_by_host()
    );
}
