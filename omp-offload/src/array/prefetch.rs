//! Copies ahead of time, asked for (`ompx_prefetch`) or not ([`super::ahead`]): a task per block
//! that begins when the block's producer is done, whatever else its users wait for.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use super::{BlockRequest, BlockUser, acquire, ahead, registry};
use crate::handle::{RemoteFault, RemoteHandle};
use crate::ranks;
use omp::depend::{self, Dependence, DependenceKind};
use omp::task::{Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};

/// What the tasks of a call share: how many have not ended, and whom to tell.
struct Whole {
    left: AtomicUsize,
    future: Option<RemoteHandle>,
}

struct Ahead {
    block: Range<usize>,
    device: i32,
    /// `None`: no task asked for the copy.
    whole: Option<Arc<Whole>>,
}

const _: () = assert!(align_of::<Ahead>() <= align_of::<Task>());

/// The blocks that share bytes with a range.
///
/// # Errors
/// There are none.
pub fn blocks(range: &Range<usize>) -> Result<Vec<Range<usize>>, RemoteFault> {
    let blocks = if super::any() { registry().blocks(range) } else { Vec::new() };
    if blocks.is_empty() { Err(RemoteFault::NoArray) } else { Ok(blocks) }
}

/// The device gets copies of these blocks when no task that was created before writes them any
/// more. The future comes when they are there, or when it is known that there is no room for them.
pub fn create(here: CurrentThread, blocks: Vec<Range<usize>>, device: i32, future: Option<RemoteHandle>) {
    let whole = Arc::new(Whole { left: AtomicUsize::new(blocks.len()), future });
    for block in blocks {
        let producers = core::iter::once(block.start);
        ahead::asked(&block, device);
        submit(here, Ahead { block, device, whole: Some(whole.clone()) }, producers);
    }
}

/// The same for one block, for those who depend on these bytes of it, if there is room to spare and
/// the host does not write it then.
pub fn create_unasked(here: CurrentThread, block: Range<usize>, device: i32, bytes: &[usize]) {
    submit(here, Ahead { block, device, whole: None }, bytes.iter().copied());
}

fn submit(here: CurrentThread, ahead: Ahead, producers: impl Iterator<Item = usize> + Clone) {
    let task = Task::allocate(here, size_of::<Ahead>(), run, TaskFlags::UNTIED.with(TaskFlags::OFFLOADED));
    ahead::bind(&task, -1); // no device: it brings its own block only
    // SAFETY: a fresh task with room for it.
    unsafe { task.payload().cast::<Ahead>().write(ahead) };
    depend::submit(
        here,
        task,
        producers.map(|address| Dependence { address: Some(address), kind: DependenceKind::In }),
    );
}

unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    // SAFETY: `create` wrote it; the task runs once.
    let Ahead { block, device, whole } = unsafe { task.payload().cast::<Ahead>().read() };
    if !discarded {
        let want = BlockRequest { block: block.clone(), device, reads: true, writes: false };
        let who = if whole.is_some() { BlockUser::Ahead } else { BlockUser::Unasked };
        // No room is no mistake: the next use of the block brings it. Nor is an array that was
        // destroyed meanwhile. A device that failed says so to the next task that uses it.
        let came = acquire(core::ptr::from_ref(task).addr(), vec![want], who);
        match (came, &whole) {
            (Ok(_), None) => ahead::copied(),
            (Ok(_), Some(_)) => {}
            (Err(_), _) => ahead::refused(&block, device),
        }
    }
    let Some(whole) = whole else { return true };
    // ORDERING: AcqRel; the last one comes after what the others have done.
    if whole.left.fetch_sub(1, Ordering::AcqRel) == 1
        && let Some(future) = whole.future
    {
        ranks::linked().set_future(future, true);
    }
    true
}
