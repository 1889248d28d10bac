//! What ends the program under `OMP_TARGET_OFFLOAD=MANDATORY` although its device is there. What
//! ends it without a device is in [`target`].

use omp::env::TargetOffload;
use omp::report;
use omp::target;

/// With `OMP_TARGET_OFFLOAD=MANDATORY` a program that requires unified shared memory ends where it
/// names a device without.
pub fn refuse_without_shared_memory(device: i32) {
    if target::offload() == TargetOffload::Mandatory {
        report::fatal(format_args!(
            "the program requires unified shared memory, which device {device} does not have, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops"
        ));
    }
}

/// With `OMP_TARGET_OFFLOAD=MANDATORY` a region that its device has no code for ends the program.
pub fn refuse_without_code(device: i32) {
    if target::offload() == TargetOffload::Mandatory {
        report::fatal(format_args!(
            "a target region has no code for device {device}, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops"
        ));
    }
}
