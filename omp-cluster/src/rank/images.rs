//! Images of target code on another rank: one copy of each in its process for all that ask, from
//! the first rank that loads it to the last one that lets it go.
//!
//! The asking rank lets an image go when the object that holds it is closed there
//! ([`omp_offload::program::leaving`]). The loader's lock is held then, and a message may
//! have to wait. So the message is sent with the next launch there, or ahead of the next image
//! ([`Parted`]). Messages of one rank are handled in order. When the last user's message has been
//! handled, no rank has the copy any more, and an image that comes later is a new one.
//!
//! The copy itself is closed when no region that others have launched runs on the rank. The reason:
//! a rank that closes its object does not wait for regions for which none of its tasks has waited.
//!
//! Whether the rank's own object is still open does not matter: other ranks may go on with the
//! copy, whose bytes are its own.
//!
//! Rejected: closing the copy with the rank's own object (ranks close theirs at different times,
//! and each region would have to ask whether its code is still there).

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ult::sys::hash;

use super::Cluster;
use super::pending::PendingOutcome;
use super::remote::lock;
use super::wire::verb;
use omp::lock::Lock;
use omp_offload::image::{self, ImageObject};
use omp_offload::interface::DeviceFailure;
use omp_offload::program;

/// A copy of an image.
struct ImageCopy {
    identity: u64,
    object: Arc<ImageObject>,
    /// The ranks that have it, each as often as it has loaded it.
    users: Vec<u32>,
}

#[derive(Default)]
struct ImageCopies {
    /// By number. Numbers are not used again.
    open: HashMap<u64, ImageCopy>,
    last: u64,
    /// Copies that no rank has any more.
    left: Vec<Arc<ImageObject>>,
}

impl ImageCopies {
    /// The copy with this identity, one more time that of `source`.
    fn take(&mut self, identity: u64, source: u32) -> Option<u64> {
        let (&number, copy) = self.open.iter_mut().find(|(_, copy)| copy.identity == identity)?;
        copy.users.push(source);
        Some(number)
    }

    fn add(&mut self, copy: ImageCopy) -> u64 {
        self.last += 1;
        self.open.insert(self.last, copy);
        self.last
    }

    /// `source` has it one time less; true if no rank has it then.
    fn let_go(&mut self, number: u64, source: u32) -> bool {
        let Some(copy) = self.open.get_mut(&number) else { return false };
        if let Some(at) = copy.users.iter().position(|&user| user == source) {
            copy.users.swap_remove(at);
        }
        if !copy.users.is_empty() {
            return false;
        }
        self.left.extend(self.open.remove(&number).map(|copy| copy.object));
        true
    }
}

/// The copies on this rank.
#[derive(Default)]
pub struct RankImages {
    /// Held while an image is loaded, so that each is loaded once.
    loading: Lock,
    /// Never held while the loader is called, whose lock others hold when they come here.
    copies: Mutex<ImageCopies>,
    /// There are copies that no rank has any more.
    have_left: AtomicBool,
}

impl RankImages {
    /// Loads the image of this identity for `source`, once in the process: its number.
    pub(super) fn load(&self, identity: u64, source: u32) -> PendingOutcome {
        self.loading.lock();
        let known = lock(&self.copies).take(identity, source);
        let loaded = known.map_or_else(|| self.copy(identity, source), Ok);
        self.loading.unlock();
        loaded
    }

    fn copy(&self, identity: u64, source: u32) -> PendingOutcome {
        let Some(bytes) = program::image(|bytes| hash::of_bytes(0, bytes) == identity) else {
            return Err(DeviceFailure(
                "the other rank has not loaded the module that the image is in, or another version of it"
                    .into(),
            ));
        };
        let object = Arc::new(image::load(bytes)?);
        Ok(lock(&self.copies).add(ImageCopy { identity, object, users: vec![source] }))
    }

    /// Where the image has this symbol, 0 if nowhere.
    pub(super) fn find(&self, number: u64, name: &CStr) -> usize {
        let object = lock(&self.copies).open.get(&number).map(|copy| copy.object.clone());
        let Some(object) = object else { return 0 };
        let found = object.find(name).unwrap_or(0);
        close(object);
        found
    }

    /// `source` lets it go. Also in handlers.
    pub(super) fn let_go(&self, number: u64, source: u32) {
        if lock(&self.copies).let_go(number, source) {
            // ORDERING: Relaxed; a closing thread takes the lock, and the thread that has set this
            // looks itself.
            self.have_left.store(true, Ordering::Relaxed);
        }
    }

    /// Closes the copies that no rank has any more, if no region runs here. The regions of a rank
    /// came before its message that let the copy go. Not in handlers: destructors are the
    /// program's code.
    #[inline]
    pub(super) fn close_idle(&self, cluster: &Cluster) {
        // ORDERING: Relaxed; see `let_go`. Should a region that ends not see it, nor the job behind
        // that the region's end, the next region's end does.
        if self.have_left.load(Ordering::Relaxed) {
            self.close_left(cluster);
        }
    }

    #[cold]
    fn close_left(&self, cluster: &Cluster) {
        let left = {
            let mut copies = lock(&self.copies);
            if !cluster.served.is_idle() {
                return;
            }
            // ORDERING: as in `close_idle`.
            self.have_left.store(false, Ordering::Relaxed);
            core::mem::take(&mut copies.left)
        };
        left.into_iter().for_each(close);
    }
}

/// The last one who has it closes it.
fn close(object: Arc<ImageObject>) {
    Arc::into_inner(object).into_iter().for_each(ImageObject::close);
}

/// Images that this rank has let go of, as far as the other rank has not been notified of it.
#[derive(Default)]
pub struct Parted {
    /// There are some.
    any: AtomicBool,
    /// Held while the other rank is notified: an image that is loaded meanwhile comes behind that.
    telling: Lock,
    numbers: Mutex<Vec<u64>>,
}

impl Parted {
    /// From here on nothing of it is used. Under the loader's lock.
    pub(super) fn add(&self, number: u64) {
        lock(&self.numbers).push(number);
        // ORDERING: Relaxed; who loads or launches after the `dlclose` comes behind it, and the
        // numbers have a lock.
        self.any.store(true, Ordering::Relaxed);
    }

    /// Tells the rank. Costs a load if there is nothing to tell.
    ///
    /// # Errors
    /// The bridge's.
    #[inline]
    pub(super) fn notify(&self, cluster: &Cluster, rank: u32) -> Result<(), DeviceFailure> {
        // ORDERING: Relaxed; see `add`.
        if self.any.load(Ordering::Relaxed) { self.notify_all(cluster, rank) } else { Ok(()) }
    }

    /// [`Parted::notify`], behind a thread that does so at the moment.
    #[cold]
    pub(super) fn notify_all(&self, cluster: &Cluster, rank: u32) -> Result<(), DeviceFailure> {
        self.telling.lock();
        // ORDERING: Relaxed; before the numbers are taken, so that one that is added later says so
        // again.
        self.any.store(false, Ordering::Relaxed);
        let numbers = core::mem::take(&mut *lock(&self.numbers));
        let sent =
            numbers.into_iter().try_for_each(|number| cluster.post(rank, verb::UNLOAD, &[number], &[], 0));
        self.telling.unlock();
        sent
    }
}
