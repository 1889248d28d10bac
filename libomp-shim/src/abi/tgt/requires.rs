//! What the parts of a program `require` of devices.

use core::sync::atomic::{AtomicI64, Ordering};

use omp::report;

/// `requires` flags: nothing, and what all parts of a program have to agree about (OpenMP 5.2
/// §8.2).
pub(super) const NOTHING: i64 = 1;
const UNIFIED_SHARED_MEMORY: i64 = 8;
const AGREED: [(i64, &str); 3] =
    [(2, "reverse_offload"), (4, "unified_address"), (UNIFIED_SHARED_MEMORY, "unified_shared_memory")];

/// What the program requires, a set; 0 until some part of it has said.
static REQUIRED: AtomicI64 = AtomicI64::new(0);

/// Does the program rely on devices that use host memory as it is?
pub fn shared_memory() -> bool {
    // ORDERING: Relaxed; set by constructors, before constructs of the same thread.
    REQUIRED.load(Ordering::Relaxed) & UNIFIED_SHARED_MEMORY != 0
}

/// The clause that an object with `new` flags and those before it with `old` ones do not agree
/// about; `old` is 0 when there were none.
fn disagreement(old: i64, new: i64) -> Option<&'static str> {
    AGREED.into_iter().find(|(flag, _)| old != 0 && (old ^ new) & flag != 0).map(|(_, clause)| clause)
}

/// What the object `requires` of devices. Ends the program when its parts disagree.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_register_requires(flags: i64) {
    // ORDERING: Relaxed; see `shared_memory`.
    let old = REQUIRED.fetch_or(flags | NOTHING, Ordering::Relaxed);
    if let Some(clause) = disagreement(old, flags) {
        report::end(format_args!(
            "the parts of this program disagree about `requires {clause}`, which all with target constructs have to say or none; the program stops"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_to_agree_about_some_clauses() {
        assert_eq!(disagreement(0, UNIFIED_SHARED_MEMORY), None, "the first");
        assert_eq!(disagreement(NOTHING, NOTHING | 16), None, "dynamic_allocators");
        assert_eq!(disagreement(NOTHING | UNIFIED_SHARED_MEMORY, UNIFIED_SHARED_MEMORY), None);
        assert_eq!(disagreement(NOTHING, 2), Some("reverse_offload"));
        assert_eq!(disagreement(NOTHING | UNIFIED_SHARED_MEMORY, NOTHING), Some("unified_shared_memory"));
    }
}
