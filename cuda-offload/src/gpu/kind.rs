//! What the trait asks for, put together from the other files.

use core::ffi::CStr;

use device_trait::{
    Device, DeviceAddress, DeviceFailure, DeviceImage, DeviceModule, DeviceOperation, DeviceProgress,
    Handles, Launch, Release, Stream,
};

use super::{Gpu, failed, launch, lock, no_stream};
use crate::driver::{self, Context, Driver, DriverError, code};
use crate::images::{self, LoadedImage};
use crate::staging::{CopyDirection, Staging};
use crate::streams::{OperationState, StreamLane, StreamUse};

impl Device for Gpu {
    fn name(&self) -> &CStr {
        &self.name
    }

    fn allocate(&self, size: usize, align: usize) -> Result<DeviceAddress, DeviceFailure> {
        let (_inside, driver) = (self.enter()?, self.driver);
        let allocate = |bytes| {
            let mut block = 0;
            // SAFETY: a valid out pointer; the context is current.
            driver.check(unsafe { (driver.memory_allocate)(&raw mut block, bytes) }).map(|()| block)
        };
        let result = self.memory().allocate(size, align, allocate, self.free_by_driver());
        result.map_err(|why| match why {
            Some(why) if why.code != code::OUT_OF_MEMORY => failed(&why),
            _ => DeviceFailure(format!("out of memory for {size} bytes").into()),
        })
    }

    unsafe fn free(&self, block: DeviceAddress) {
        self.memory().release(block);
    }

    unsafe fn copy_in(
        &self,
        to: DeviceAddress,
        from: *const u8,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        unsafe { self.copy(CopyDirection::In, to, from.addr(), size) }
    }

    unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        unsafe { self.copy(CopyDirection::Out, from, to.addr(), size) }
    }

    unsafe fn copy_within(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let uses = vec![StreamUse::writes(to, size), StreamUse::reads(from, size)];
        // SAFETY: as the caller says.
        self.begin(StreamLane::Within, uses, |stream| unsafe {
            (self.driver.copy_within)(to, from, size, stream)
        })
    }

    fn peer(&self) -> Option<u64> {
        self.driver.peer_copy.map(|_| self.shared.peer())
    }

    fn reaches(&self, peer: u64) -> bool {
        self.family.reaches(peer)
    }

    unsafe fn copy_across(
        &self,
        to: DeviceAddress,
        peer: u64,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let _inside = self.enter()?;
        // SAFETY: as the caller says; the context is current.
        unsafe { self.family.copy(to, peer, from, size) }
    }

    fn load(&self, image: &DeviceImage<'_>) -> Result<Option<DeviceModule>, DeviceFailure> {
        if !images::is_ours(image.bytes) {
            return Ok(None);
        }
        if image.release == Release::Later {
            return Err(DeviceFailure(
                "its device code is of LLVM 21 or later, which is not known (LLVM 19's is)".into(),
            ));
        }
        let loaded = {
            let _inside = self.enter()?;
            LoadedImage::new(self.driver, image.bytes).map_err(|why| failed(&why))?
        };
        if let Some((at, words)) = loaded.environment(&self.place).map_err(|why| DeviceFailure(why.into()))? {
            self.write(at, &words)?;
        }
        self.construct(&loaded, image.bytes)?;
        let destructors = self.destructors(&loaded, image.bytes)?;
        let mut images = lock(&self.images);
        images.loaded.push(Some(launch::KernelModule { image: loaded, destructors }));
        Ok(Some(DeviceModule(images.loaded.len() as u64 - 1)))
    }

    fn unload(&self, module: DeviceModule) -> Result<(), DeviceFailure> {
        let gone = {
            let mut images = lock(&self.images);
            images.kernels.retain(|&(of, _), _| of != module.0);
            images.loaded.get_mut(module.0 as usize).and_then(Option::take)
        };
        let Some(gone) = gone else { return Ok(()) };
        if self.synchronise().is_err() {
            return Ok(()); // all that was there is lost
        }
        let destroyed = gone.destructors.map_or(Ok(()), |list| self.destroy(list));
        if let Ok(_inside) = self.enter() {
            gone.image.unload();
        }
        destroyed
    }

    fn end(&self) -> Result<(), DeviceFailure> {
        let lists: Vec<_> = lock(&self.images)
            .loaded
            .iter_mut()
            .rev()
            .flatten()
            .filter_map(|module| module.destructors.take())
            .collect();
        if lists.is_empty() || self.synchronise().is_err() {
            return Ok(());
        }
        // All are called, whatever becomes of the others.
        let destroyed: Vec<_> = lists.into_iter().map(|list| self.destroy(list)).collect();
        destroyed.into_iter().collect()
    }

    fn find(&self, module: DeviceModule, name: &CStr) -> Option<DeviceAddress> {
        let _inside = self.enter().ok()?;
        let images = lock(&self.images);
        let image = images.get(module.0)?;
        image
            .kernel(name)
            .map(|kernel| kernel.0.addr())
            .or_else(|| image.variable(name).map(|variable| variable.address))
    }

    fn runs_host_functions(&self) -> bool {
        false
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        unsafe { self.begin_kernel(launch) }
    }

    fn orders_operations(&self) -> bool {
        true
    }

    fn handles(&self) -> Option<Handles> {
        Some(Handles { ordinal: self.place.number as i32, context: self.shared.context.handle().0 })
    }

    fn open_stream(&self, priority: u32) -> Result<Stream, DeviceFailure> {
        let _inside = self.enter()?;
        let opened = self.streams().open(priority);
        opened.map(|opened| Stream { id: opened.id, handle: opened.stream.0 }).map_err(|why| failed(&why))
    }

    fn close_stream(&self, stream: u64) {
        self.streams().give_back(stream);
    }

    fn put_behind(&self, stream: u64, after: &[DeviceOperation]) -> Result<(), DeviceFailure> {
        let _inside = self.enter()?;
        let after = self.shared.staging.pieces_of(&self.shared, after);
        let done = self.streams().put_own_behind(stream, &after);
        done.ok_or_else(no_stream)?.map_err(|why| failed(&why))
    }

    fn mark(
        &self,
        stream: u64,
        touches: &[(DeviceAddress, usize)],
    ) -> Result<DeviceOperation, DeviceFailure> {
        let uses = touches.iter().map(|&(from, size)| StreamUse::writes(from, size)).collect();
        let _inside = self.enter()?;
        let marked = self.streams().mark(stream, uses);
        marked.ok_or_else(no_stream)?.map(DeviceOperation).map_err(|why| failed(&why))
    }

    fn bind(&self) -> Result<usize, DeviceFailure> {
        Ok(self.enter()?.stay(&self.shared.context).0.expose_provenance())
    }

    fn unbind(&self, before: usize) {
        // SAFETY: a context that was current when `bind` was called, or none.
        unsafe { (self.driver.context_set)(Context(core::ptr::with_exposed_provenance_mut(before))) };
    }

    fn poll(&self, operation: DeviceOperation) -> DeviceProgress {
        let Ok(_inside) = self.enter() else {
            return DeviceProgress::Failed(DeviceFailure("the device is lost".into()));
        };
        if Staging::is_its(operation.0) {
            return self
                .shared
                .staging
                .poll(&self.shared, operation.0)
                .map_or(DeviceProgress::Pending, progress);
        }
        let state = self.streams().poll(operation.0);
        match state {
            OperationState::Pending => DeviceProgress::Pending,
            OperationState::Over(result, left) => {
                self.release(left);
                progress(result)
            }
        }
    }

    fn synchronise(&self) -> Result<(), DeviceFailure> {
        let _inside = self.enter()?;
        // Not under the lock: others may ask for what is over meanwhile.
        let all = self.streams().all();
        loop {
            let results: Vec<_> =
                all.iter().map(|&stream| self.driver.check(wait_for(self.driver, stream))).collect();
            let is_over = self.shared.staging.advance_all(&self.shared);
            results.into_iter().collect::<Result<(), _>>().map_err(|why| failed(&why))?;
            if is_over {
                return Ok(());
            }
        }
    }
}

fn progress(result: Result<(), DriverError>) -> DeviceProgress {
    result.map_or_else(|why| DeviceProgress::Failed(failed(&why)), |()| DeviceProgress::Done)
}

/// Waits for a stream of the current context.
fn wait_for(driver: &Driver, stream: driver::Stream) -> driver::DriverCode {
    // SAFETY: streams stay as long as their device.
    unsafe { (driver.stream_synchronise)(stream) }
}
