//! Two machines. A GPU has a compute engine, which several kernels share that do not fill it, and a
//! copy engine for each direction, each with one copy at a time.
//!
//! Figures are those of data sheets; copies and kernels reach the share of them that is given here.
//! [`RTX`] is the machine of Parla's thesis; [`A100`] computes fifty times as fast and copies twice
//! as fast, so that what is moved matters.

use placement::directory::{CopyWays, DeviceNumber};

use super::GpuTime;

/// Some GPUs of a kind.
#[derive(Clone, Copy, Debug)]
pub struct GpuMachine {
    /// A name for people.
    pub name: &'static str,
    /// How many GPUs.
    pub gpus: usize,
    /// Bytes of each.
    pub memory: u64,
    /// Flops per nanosecond (GFlop/s), double precision, of a matrix product.
    pub product: f64,
    /// The same of other code.
    pub flops: f64,
    /// Bytes per nanosecond (GB/s) of its memory.
    pub stream: f64,
    /// Bytes per nanosecond between host and GPU, each GPU and each direction by itself.
    pub host: f64,
    /// The same between two GPUs that have a link.
    pub peer: f64,
    /// GPUs have a link if their numbers divided by this are the same.
    pub linked: usize,
}

/// Nanoseconds before the first byte of a copy moves.
pub const LATENCY: GpuTime = 10_000;
/// Nanoseconds between two kernels on an engine.
pub const LAUNCH: GpuTime = 4_000;
/// Kernels that run at a time, one in each stream.
pub const STREAMS: usize = 4;

/// Quadro RTX 5000 (data sheet: 16 GB, 448 GB/s, 11.2 TFlop/s single precision, of which double
/// precision is 1/32; NVLink 25 GB/s each way between the two of a socket), PCIe 3.0 x16.
pub const RTX: GpuMachine = GpuMachine {
    name: "RTX 5000",
    gpus: 4,
    memory: 16 << 30,
    product: 330.0,
    flops: 250.0,
    stream: 400.0,
    host: 12.0,
    peer: 23.0,
    linked: 2,
};

/// A100 SXM4 (data sheet: 40 GB, 1555 GB/s, double precision 9.7 TFlop/s, 19.5 by tensor cores;
/// NVLink 300 GB/s each way, to all by NVSwitch), PCIe 4.0 x16.
pub const A100: GpuMachine = GpuMachine {
    name: "A100",
    gpus: 4,
    memory: 40 << 30,
    product: 17_500.0,
    flops: 6_000.0,
    stream: 1_350.0,
    host: 24.0,
    peer: 250.0,
    linked: 4,
};

impl GpuMachine {
    /// As many of them.
    #[must_use]
    pub const fn with(self, gpus: usize) -> Self {
        Self { gpus, ..self }
    }

    /// Do these two have a link?
    #[must_use]
    pub const fn has_link(&self, a: usize, b: usize) -> bool {
        a / self.linked == b / self.linked
    }

    /// How long a copy keeps its engines busy, between two GPUs or a GPU and the host (`None`).
    /// Without a link it goes by way of the host, in pieces, so that both halves run at the same
    /// time.
    #[must_use]
    pub fn copy(&self, from: Option<usize>, to: Option<usize>, bytes: u64) -> GpuTime {
        let (rate, latency) = match (from, to) {
            (Some(a), Some(b)) if self.has_link(a, b) => (self.peer, LATENCY),
            (Some(_), Some(_)) => (self.host, 3 * LATENCY),
            _ => (self.host, LATENCY),
        };
        latency + (bytes as f64 / rate) as GpuTime
    }
}

impl CopyWays for GpuMachine {
    fn time(&self, from: Option<DeviceNumber>, to: DeviceNumber, bytes: u64) -> Option<GpuTime> {
        let straight = from.is_none_or(|from| self.has_link(from as usize, to as usize));
        straight.then(|| self.copy(from.map(|from| from as usize), Some(to as usize), bytes))
    }
}
