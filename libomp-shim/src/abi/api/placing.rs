//! `ompx_*` routines for regions whose device is the runtime's choice (`docs/placement.md`).

use core::ffi::{CStr, c_char, c_int};

use omp::thread::CurrentThread;
use omp::{env, report};
use omp_offload::place::{hints, policies, region};
use omp_offload::resident;

/// `ompx_device_any`: the number for `device` clauses of target regions that leave the choice of
/// the device to the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_device_any() -> c_int {
    region::ANY
}

/// `ompx_set_sched`: regions whose device is the runtime's choice are placed by this policy from
/// here on, a text as in `OMPX_SCHED`. 0, or −1 and a line when there is no such policy; then
/// nothing changes. Any thread.
///
/// # Safety
/// `text` is a C string, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_set_sched(text: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let text = if text.is_null() { "".into() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy() };
    match policies::set(&text, omp_offload::usable().len(), env::settings().devices.memory) {
        Ok(()) => 0,
        Err(why) => {
            report::warn(format_args!("ompx_set_sched(\"{text}\"): {why}; this call changes nothing"));
            -1
        }
    }
}

/// `ompx_set_coherence`: what regions map whose device is the runtime's choice and that are created
/// from here on stays on their devices for the next ones (not 0), or does not (0). What was said
/// before. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_set_coherence(on: c_int) -> c_int {
    CurrentThread::get(); // what the environment says comes first
    c_int::from(resident::set(on != 0))
}

/// `ompx_set_task_memory`: the next target region that the calling task creates needs so many bytes
/// of its device besides what it maps.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_set_task_memory(bytes: usize) {
    hints::set_memory(CurrentThread::get().task, bytes as u64);
}
