//! On which memory nodes the pages of a block lie: the trait `partition` (OpenMP 5.2, section 6.2),
//! and memory spaces where the machine has memory of several kinds ([`super::nodes`]).
//!
//! | partition | pages |
//! |---|---|
//! | `environment` | where the kernel puts them: where they are touched first, if no other policy was set |
//! | `nearest` | on the node of the thread that asks, or the one nearest to it |
//! | `blocked` | in as many runs of equal length as there are nodes, one on each |
//! | `interleaved` | on one node after the other, page by page |
//!
//! The kernel is asked by `mbind`, and *prefers* the nodes: where one is full it takes another, so
//! nothing fails here that would have worked without the trait. What it refuses (no such call, a
//! sandbox) is ordinary memory. Blocks of less than a page come from the C library as all others
//! do: they cannot be divided, and its allocator hands them to the thread that touches them first.
//!
//! Rejected: `set_mempolicy` around the first touch (it would have to be the allocating thread that
//! touches all pages), `MPOL_BIND` (a full node would end the program), and libnuma (a dependency
//! for three system calls).

use core::ffi::c_void;
use core::ops::Range;

use ult::sys::memory::LEAST_PAGE as PAGE;
use ult::sys::thread;

use super::nodes::{self, MemorySpace};

/// The trait's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partition {
    Environment,
    Nearest,
    Blocked,
    Interleaved,
}

/// Where the pages of a block are to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placing {
    pub partition: Partition,
    pub space: MemorySpace,
}

const MPOL_PREFERRED: i32 = 1;
const MPOL_INTERLEAVE: i32 = 3;
/// Since Linux 5.15.
const MPOL_PREFERRED_MANY: i32 = 5;

/// What the kernel is asked for a part of a block.
#[derive(Debug, PartialEq, Eq)]
struct PartitionOrder {
    bytes: Range<usize>,
    mode: i32,
    nodes: Vec<usize>,
}

impl Placing {
    /// Anywhere.
    pub(super) const ANYWHERE: Self = Self { partition: Partition::Environment, space: MemorySpace::Default };

    /// Does a block of `size` bytes need pages of its own?
    pub(super) fn needs_pages(self, size: usize) -> bool {
        size >= PAGE && (self.partition != Partition::Environment || nodes::of_space(self.space).is_some())
    }

    /// Asks the kernel to place the `bytes` bytes at `base`, fresh pages that no thread has
    /// touched. Best effort.
    pub(super) fn apply(self, base: *mut c_void, bytes: usize) {
        if !self.needs_pages(bytes) {
            return; // pages of its own for another reason
        }
        let nodes = nodes::of_space(self.space).unwrap_or_else(nodes::ordinary);
        for order in orders(self.partition, bytes, nodes, thread::processor_and_node().1) {
            order.give(base);
        }
    }
}

/// What to ask for a block of whole pages on `nodes`, for a thread on node `here`.
fn orders(partition: Partition, bytes: usize, nodes: &[usize], here: usize) -> Vec<PartitionOrder> {
    let all = |mode| vec![PartitionOrder { bytes: 0..bytes, mode, nodes: nodes.to_vec() }];
    match partition {
        _ if nodes.is_empty() => Vec::new(),
        Partition::Environment if nodes.len() > 1 => all(MPOL_PREFERRED_MANY),
        Partition::Environment => all(MPOL_PREFERRED),
        Partition::Interleaved => all(MPOL_INTERLEAVE),
        Partition::Nearest => {
            vec![PartitionOrder {
                bytes: 0..bytes,
                mode: MPOL_PREFERRED,
                nodes: vec![nodes::nearest(nodes, here)],
            }]
        }
        Partition::Blocked => {
            let pages = bytes / PAGE;
            let edge = |part: usize| pages * part / nodes.len() * PAGE;
            let order = |(part, &node): (usize, &usize)| PartitionOrder {
                bytes: edge(part)..edge(part + 1),
                mode: MPOL_PREFERRED,
                nodes: vec![node],
            };
            nodes.iter().enumerate().map(order).filter(|order| !order.bytes.is_empty()).collect()
        }
    }
}

impl PartitionOrder {
    fn give(&self, base: *mut c_void) {
        let mask = nodes::mask(&self.nodes);
        let bits = mask.len() * 64;
        // SAFETY: the range lies in a mapping of ours that no other code knows; `mask` holds
        // `bits` bits and is only read.
        unsafe {
            let start = base.cast::<u8>().add(self.bytes.start);
            libc::syscall(
                libc::SYS_mbind,
                start,
                self.bytes.len(),
                self.mode as libc::c_long,
                mask.as_ptr(),
                bits,
                0,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(
        partition: Partition,
        pages: usize,
        nodes: &[usize],
        here: usize,
    ) -> Vec<(Range<usize>, i32, Vec<usize>)> {
        let order = |o: PartitionOrder| (o.bytes.start / PAGE..o.bytes.end / PAGE, o.mode, o.nodes);
        orders(partition, pages * PAGE, nodes, here).into_iter().map(order).collect()
    }

    #[test]
    fn each_partition_on_many_nodes() {
        let eight: Vec<usize> = (0..8).collect();
        assert_eq!(ranges(Partition::Interleaved, 100, &eight, 3), [(0..100, 3, eight.clone())]);
        assert_eq!(ranges(Partition::Nearest, 100, &eight, 3), [(0..100, 1, vec![3])]);
        assert_eq!(
            ranges(Partition::Blocked, 10, &[0, 2, 5], 3),
            [(0..3, 1, vec![0]), (3..6, 1, vec![2]), (6..10, 1, vec![5])]
        );
        let blocked = ranges(Partition::Blocked, 1000, &eight, 0);
        assert!(blocked.iter().enumerate().all(|(i, part)| *part == (125 * i..125 * (i + 1), 1, vec![i])));
        assert_eq!(ranges(Partition::Blocked, 2, &eight, 0).len(), 2, "fewer pages than nodes");
        assert_eq!(ranges(Partition::Environment, 4, &[6, 7], 0), [(0..4, 5, vec![6, 7])]);
        assert_eq!(ranges(Partition::Environment, 4, &[6], 0), [(0..4, 1, vec![6])]);
        assert_eq!(ranges(Partition::Blocked, 4, &[], 0), []);
    }

    /// The policy and the nodes of a page, as the kernel tells them.
    fn policy_at(address: *mut u8) -> Option<(i32, u64)> {
        const MPOL_F_ADDR: libc::c_long = 2;
        let (mut mode, mut mask) = (0_i32, [0_u64; 16]);
        // SAFETY: both out pointers are valid, the mask has as many bits as said; the address is
        // only looked up.
        let refused = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                &raw mut mode,
                mask.as_mut_ptr(),
                1024_usize,
                address,
                MPOL_F_ADDR,
            )
        };
        (refused == 0).then_some((mode, mask[0]))
    }

    #[test]
    fn the_kernel_has_been_notified() {
        let bytes = 16 * PAGE;
        for (partition, mode) in [
            (Partition::Environment, 0),
            (Partition::Nearest, 1),
            (Partition::Blocked, 1),
            (Partition::Interleaved, 3),
        ] {
            // SAFETY: a fresh mapping, unmapped below.
            let base = unsafe {
                libc::mmap(
                    core::ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            assert!(base != libc::MAP_FAILED);
            let untouched = policy_at(base.cast());
            Placing { partition, space: MemorySpace::Default }.apply(base, bytes);
            if let Some((before, _)) = untouched {
                assert_eq!(before, 0);
                for page in 0..16 {
                    // SAFETY: inside the mapping.
                    let (found, nodes) = policy_at(unsafe { base.cast::<u8>().add(page * PAGE) }).unwrap();
                    assert_eq!(found, mode, "{partition:?}");
                    assert!(mode == 0 || nodes != 0);
                }
            }
            // SAFETY: the mapping made above.
            unsafe { libc::munmap(base, bytes) };
        }
    }
}
