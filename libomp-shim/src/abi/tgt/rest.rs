//! What else LLVM's library for offloading exports: memory, and what is known of devices.

use core::ffi::{c_int, c_void};

use omp_offload::spaces::DeviceSpace;

/// Prints what is mapped to each device, on standard error.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_dump_mapping_tables() {
    for slot in omp_offload::usable() {
        for mapped in slot.lock().iter() {
            let (host, at, count) = (&mapped.host, mapped.device, mapped.count());
            let times = if count == u64::MAX { "for ever".into() } else { format!("{count} times") };
            eprintln!(
                "device {}: {} bytes at {:#x} are at {at:#x}, held {times}",
                slot.number,
                host.len(),
                host.start
            );
        }
    }
}

/// Prints what is known of a device, on standard output. 1 when it exists, else 0.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __tgt_print_device_info(device: i64) -> c_int {
    let Some(slot) = i32::try_from(device).ok().and_then(omp_offload::get) else { return 0 };
    println!("device {}: {}", slot.number, slot.device.name().to_string_lossy());
    1
}

// ---- memory -----------------------------------------------------------------

macro_rules! allocations {
    ($($(#[$doc:meta])* $space:ident: $allocate:ident $free:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $allocate(size: usize, device: c_int) -> *mut c_void {
            DeviceSpace::$space.allocate(device, size) as *mut c_void
        }
        /// Gives it back.
        ///
        /// # Safety
        /// `block` is null or came from the routine before for that device, and is not used any
        /// more.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $free(block: *mut c_void, device: c_int) {
            if !block.is_null() {
                // SAFETY: the same promise.
                unsafe { DeviceSpace::$space.free(device, block.addr()) };
            }
        }
    )*};
}

allocations! {
    /// The device's memory: `omp_target_alloc`.
    Device: llvm_omp_target_alloc_device llvm_omp_target_free_device;
    /// The host's memory, near a device. Null for a device that does not exist.
    Host: llvm_omp_target_alloc_host llvm_omp_target_free_host;
    /// Memory that host and device use by the same address. Null where there is none, as between
    /// ranks.
    Shared: llvm_omp_target_alloc_shared llvm_omp_target_free_shared;
}
