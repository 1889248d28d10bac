//! A device's primary context: the one that CUDA's own runtime uses, so that memory and streams of
//! the program's libraries are the same.
//!
//! Contexts are current per kernel thread, and OpenMP threads move between kernel threads. So
//! nothing is kept: a caller of the driver makes the context current, and afterwards puts back the
//! context that was there.

use crate::driver::{Context, CuDevice, Driver, DriverError};

/// A primary context that was retained.
pub struct Primary {
    driver: &'static Driver,
    device: CuDevice,
    context: Context,
}

impl Primary {
    /// Retains that of a device.
    ///
    /// # Errors
    /// The driver's: the device is busy, or broken.
    pub fn new(driver: &'static Driver, device: CuDevice) -> Result<Self, DriverError> {
        let mut context = Context::NULL;
        // SAFETY: a valid out pointer.
        driver.check(unsafe { (driver.context_retain)(&raw mut context, device) })?;
        Ok(Self { driver, device, context })
    }

    /// The driver's handle.
    pub fn handle(&self) -> Context {
        self.context
    }

    /// Makes it current until the returned value is dropped, on the same kernel thread. So the
    /// caller may not wait meanwhile.
    ///
    /// # Errors
    /// The driver's.
    pub fn enter(&self) -> Result<Inside, DriverError> {
        let (driver, mut before) = (self.driver, Context::NULL);
        // SAFETY: a valid out pointer.
        driver.check(unsafe { (driver.context_current)(&raw mut before) })?;
        if before == self.context {
            return Ok(Inside { driver, before: None });
        }
        // SAFETY: a context that is retained.
        driver.check(unsafe { (driver.context_set)(self.context) })?;
        Ok(Inside { driver, before: Some(before) })
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: retained in `new`. No code needs the returned status any more.
        unsafe { (self.driver.context_release)(self.device) };
    }
}

impl Inside {
    /// It stays current when this is gone. What was before, null for the same.
    pub fn stay(mut self, context: &Primary) -> Context {
        self.before.take().unwrap_or(context.context)
    }
}

/// The context is current.
pub struct Inside {
    driver: &'static Driver,
    before: Option<Context>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: it was current when this began.
            unsafe { (self.driver.context_set)(before) };
        }
    }
}
