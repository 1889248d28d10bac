//! What the messages about GPUs look like: words, then bytes, as in [`super::super::wire`]. May not
//! live here: what is done.

use super::super::launch::{convention, convention_of};
use super::super::wire::WireReader;
use omp_offload::DeviceOwner;
use omp_offload::interface::{Convention, DeviceAddress, DeviceCode, DeviceFailure, DeviceModule, Launch};
use std::ffi::CString;

/// The number of all these messages, after those of `device::rank::wire::verb` and of mobile
/// objects: `[ticket, what, …]`.
pub const VERB: u32 = 96;

/// What is asked. Behind it stands the number of the GPU on its rank, but in the first and the
/// last.
pub mod ask {
    /// `[first] counts`: so many GPUs have the ranks from this one on, a byte each. No answer, and
    /// no ticket.
    pub const COUNT: u64 = 0;
    /// `[gpu, size, align]`: memory; the answer's word is its address.
    pub const ALLOCATE: u64 = 1;
    /// `[gpu, address]`: the memory is not used any more. No answer, and no ticket.
    pub const FREE: u64 = 2;
    /// `[gpu, to] bytes`: write them.
    pub const WRITE: u64 = 3;
    /// `[gpu, from, size, into]`: the answer's bytes are what is there, its word is `into`.
    pub const READ: u64 = 4;
    /// `[gpu, to, from, size]`: copy from the asking rank's memory.
    pub const PULL: u64 = 5;
    /// `[gpu, from, into, size]`: copy to the asking rank's memory.
    pub const PUSH: u64 = 6;
    /// `[gpu, to, from, size]`: copy inside the GPU's memory.
    pub const WITHIN: u64 = 7;
    /// `[gpu, identity]`: load the image; the answer's word is the module.
    pub const LOAD: u64 = 8;
    /// `[gpu, module] name`: where the module has it; the answer's word is 0 if nowhere.
    pub const FIND: u64 = 9;
    /// `[gpu, …]`: run a region ([`super::launch_words`]).
    pub const RUN: u64 = 10;
    /// `[to, address, rank, from, address, size]`: copy to a device of this rank from one of that
    /// rank: a GPU's number and one, 0 for the rank itself.
    pub const ACROSS: u64 = 11;
}

/// A device as two words.
pub fn owner(owner: DeviceOwner) -> [u64; 2] {
    [owner.rank.into(), owner.gpu.map_or(0, |gpu| u64::from(gpu) + 1)]
}

/// [`owner`], read.
pub fn owner_of(rank: u64, gpu: u64) -> DeviceOwner {
    DeviceOwner { rank: rank as u32, gpu: gpu.checked_sub(1).map(|gpu| gpu as u32) }
}

/// The words of a launch, behind which its code's name stands.
///
/// # Errors
/// A GPU cannot run it.
pub fn launch_words(gpu: u32, launch: &Launch<'_>) -> Result<Vec<u64>, DeviceFailure> {
    let DeviceCode::Loaded(DeviceModule(module), _, address) = launch.code else {
        return Err(DeviceFailure("it cannot run functions of the host".into()));
    };
    let mut words = vec![
        ask::RUN,
        gpu.into(),
        launch.device as u64,
        launch.depth.into(),
        module,
        address as u64,
        convention(launch.convention),
    ];
    words.extend(launch.teams.iter().chain(&launch.thread_limit).map(|&number| u64::from(number)));
    words.extend([
        launch.iterations,
        launch.priority.into(),
        launch.shared_bytes.into(),
        launch.arguments.len() as u64,
    ]);
    words.extend(launch.arguments.iter().map(|&word| word as u64));
    Ok(words)
}

/// A launch as its message describes it.
pub struct ReceivedLaunch {
    device: i32,
    depth: u32,
    module: DeviceModule,
    address: DeviceAddress,
    convention: Convention,
    numbers: [u32; 6],
    iterations: u64,
    priority: u32,
    shared_bytes: u32,
    arguments: Vec<usize>,
    name: CString,
}

impl ReceivedLaunch {
    /// Reads [`launch_words`] behind the GPU's number.
    pub fn read(reader: &mut WireReader<'_>) -> Self {
        let (device, depth) = (reader.word() as i32, reader.word() as u32);
        let (module, address, convention) =
            (DeviceModule(reader.word()), reader.word() as DeviceAddress, convention_of(reader.word()));
        let numbers = core::array::from_fn(|_| reader.word() as u32);
        let (iterations, priority) = (reader.word(), reader.word() as u32);
        let (shared_bytes, count) = (reader.word() as u32, reader.word());
        let arguments = (0..count).map(|_| reader.word() as usize).collect();
        let name = CString::new(reader.0).unwrap_or_default();
        Self {
            device,
            depth,
            module,
            address,
            convention,
            numbers,
            iterations,
            priority,
            shared_bytes,
            arguments,
            name,
        }
    }

    /// The launch.
    pub fn launch(&self) -> Launch<'_> {
        let [a, b, c, d, e, f] = self.numbers;
        Launch {
            device: self.device,
            depth: self.depth,
            stolen: false,
            code: DeviceCode::Loaded(self.module, &self.name, self.address),
            convention: self.convention,
            arguments: &self.arguments,
            teams: [a, b, c],
            thread_limit: [d, e, f],
            iterations: self.iterations,
            priority: self.priority,
            shared_bytes: self.shared_bytes,
            wanted: &[],
            into: core::ptr::null_mut(),
            after: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::wire::bytes;
    use super::*;

    #[test]
    fn a_launch_is_read_as_it_was_written() {
        let launch = Launch {
            device: 5,
            depth: 2,
            stolen: true,
            code: DeviceCode::Loaded(DeviceModule(3), c"kernel", 0x7777),
            convention: Convention::SeparateAfterEnvironment,
            arguments: &[8, 9, 10],
            teams: [1, 2, 3],
            thread_limit: [4, 5, 6],
            iterations: 1 << 40,
            priority: 88,
            shared_bytes: 77,
            wanted: &[],
            into: core::ptr::null_mut(),
            after: &[],
        };
        let words = launch_words(1, &launch).unwrap();
        let mut message = bytes(&words).to_vec();
        message.extend_from_slice(b"kernel");
        let mut reader = WireReader(&message);
        assert_eq!((reader.word(), reader.word()), (ask::RUN, 1));
        let came = ReceivedLaunch::read(&mut reader);
        let read = came.launch();
        let DeviceCode::Loaded(module, name, address) = read.code else { panic!("no code of an image") };
        assert_eq!((module, name, address), (DeviceModule(3), c"kernel", 0x7777));
        assert_eq!(
            (read.device, read.depth, read.convention, read.arguments),
            (5, 2, launch.convention, launch.arguments)
        );
        assert_eq!(
            (read.teams, read.thread_limit, read.iterations, read.priority, read.shared_bytes),
            (launch.teams, launch.thread_limit, 1 << 40, 88, 77)
        );
        assert!(launch_words(0, &Launch { code: DeviceCode::HostFunction(4), ..launch }).is_err());
    }

    #[test]
    fn devices_are_two_words() {
        for here in [
            DeviceOwner { rank: 3, gpu: None },
            DeviceOwner { rank: 0, gpu: Some(0) },
            DeviceOwner { rank: 9, gpu: Some(7) },
        ] {
            let [rank, gpu] = owner(here);
            assert_eq!(owner_of(rank, gpu), here);
        }
    }
}
