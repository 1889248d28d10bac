//! Code that a rank has asked another one to run before, by number. The second launch of a region
//! needs no module and no offset. It fits into a cache line of shared memory if nothing else goes
//! along, and is looked up without a hash on either side.
//!
//! The launching rank gives the numbers, one table for each rank. A number stands for one code for
//! ever. It is sent with the whole launch ([`super::wire::verb::RUN`]) until one such launch has
//! been handed to the bridge. Messages of one rank to another are handled in order, so the other
//! rank has heard of it when a launch by number ([`super::wire::verb::AGAIN`]) comes. Code that
//! finds no place in the table is launched as a whole each time.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::OnceLock;

use super::wire::code;
use omp_offload::interface::{Convention, DeviceCode};

/// How many numbers there are.
const NUMBERS: usize = 64;
/// How many places are tried for a code.
const TRIES: usize = 4;

/// The numbers that this rank has given, for one other rank.
#[derive(Default)]
pub struct IssuedNumbers(OnceLock<Box<[NumberedCode; NUMBERS]>>);

struct NumberedCode {
    /// [`key`] of the code; 0: free.
    key: AtomicUsize,
    is_notified: AtomicBool,
}

/// What a code is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeName {
    /// By this number, which the other rank knows.
    Known(u32),
    /// By this number from now on.
    New(u32),
    /// By no number.
    None,
}

/// What differs where the code, or how it takes its arguments, does. Never 0.
fn key(code: &DeviceCode<'_>, how: u64) -> usize {
    let (address, kind) = match code {
        DeviceCode::HostFunction(address) => (*address, code::MODULE),
        DeviceCode::Loaded(_, _, address) => (*address, code::IMAGE),
    };
    // Addresses have 57 bits at most.
    address << 4 | 8 | (kind << 2 | how) as usize
}

impl IssuedNumbers {
    /// What `code` is called that takes its arguments as `how` says, below 4.
    pub fn name(&self, code: &DeviceCode<'_>, how: u64) -> CodeName {
        let places = self.0.get_or_init(|| {
            Box::new(
                [const { NumberedCode { key: AtomicUsize::new(0), is_notified: AtomicBool::new(false) } };
                    NUMBERS],
            )
        });
        let key = key(code, how);
        let first = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - NUMBERS.ilog2());
        for number in (first..first + TRIES).map(|at| at % NUMBERS) {
            let place = &places[number];
            // ORDERING: Relaxed, both; the key alone is read, and stays once it is there.
            let mut found = place.key.load(Ordering::Relaxed);
            if found == 0 {
                // ORDERING: as above.
                found = place
                    .key
                    .compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(|other| other, |_| key);
            }
            // ORDERING: Acquire, pairs with the Release in `was_sent`: what is sent from here on
            // comes behind the launch that has said the number.
            match (found == key, place.is_notified.load(Ordering::Acquire)) {
                (true, true) => return CodeName::Known(number as u32),
                (true, false) => return CodeName::New(number as u32),
                (false, _) => {}
            }
        }
        CodeName::None
    }

    /// A launch that says the number has been handed to the bridge.
    pub fn was_sent(&self, number: u32) {
        if let Some(places) = self.0.get() {
            // ORDERING: Release, pairs with the Acquire in `name`.
            places[number as usize].is_notified.store(true, Ordering::Release);
        }
    }
}

/// Which code it is, as a launch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedCode {
    /// [`code::MODULE`] or [`code::IMAGE`].
    pub kind: u64,
    /// The words of that kind.
    pub words: [u64; 2],
    /// How it takes its arguments.
    pub convention: Convention,
}

/// The numbers that another rank has given for code here.
#[derive(Default)]
pub struct ReceivedNumbers(OnceLock<Box<[CalledCode; NUMBERS]>>);

/// Code that another rank calls by a number.
#[derive(Default)]
pub struct CalledCode {
    what: OnceLock<LaunchedCode>,
    /// Where it lies; 0: not looked up yet.
    address: AtomicUsize,
}

impl ReceivedNumbers {
    /// `what` has this number from now on. In the order of messages, by one handler at a time; what
    /// the number stands for already stays.
    pub fn learn(&self, number: u32, what: LaunchedCode) -> Option<&CalledCode> {
        let known = self.0.get_or_init(|| {
            Box::new([const { CalledCode { what: OnceLock::new(), address: AtomicUsize::new(0) } }; NUMBERS])
        });
        let known = known.get(number as usize)?;
        (*known.what.get_or_init(|| what) == what).then_some(known)
    }

    /// What has this number.
    pub fn get(&self, number: u32) -> Option<(&CalledCode, LaunchedCode)> {
        let known = self.0.get()?.get(number as usize)?;
        known.what.get().map(|&what| (known, what))
    }
}

impl CalledCode {
    /// Where the code lies, asked for once.
    ///
    /// # Errors
    /// What `look_up` says.
    pub fn address<E>(&self, look_up: impl FnOnce() -> Result<usize, E>) -> Result<usize, E> {
        // ORDERING: Relaxed, both; a number by itself. Every thread stores the same one.
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return Ok(known);
        }
        // ORDERING: as above.
        look_up().inspect(|&found| self.address.store(found, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omp_offload::interface::DeviceModule;

    #[test]
    fn a_code_keeps_its_number_and_is_known_once_it_was_reported() {
        let given = IssuedNumbers::default();
        let code = DeviceCode::HostFunction(0x5555_1234_5678);
        let CodeName::New(number) = given.name(&code, 0) else { panic!("a first name is new") };
        assert_eq!(given.name(&code, 0), CodeName::New(number), "nobody has notified it");
        given.was_sent(number);
        assert_eq!(given.name(&code, 0), CodeName::Known(number));
        for other in
            [given.name(&code, 1), given.name(&DeviceCode::Loaded(DeviceModule(0), c"", 0x5555_1234_5678), 0)]
        {
            assert!(matches!(other, CodeName::New(n) if n != number), "{other:?}");
        }
    }

    #[test]
    fn more_codes_than_numbers_never_share_one() {
        let given = IssuedNumbers::default();
        let names: Vec<CodeName> =
            (1..1000).map(|at| given.name(&DeviceCode::HostFunction(16 * at), 0)).collect();
        let mut numbers: Vec<u32> =
            names.iter().filter_map(|n| if let CodeName::New(n) = n { Some(*n) } else { None }).collect();
        assert!(numbers.len() > NUMBERS / 2 && names.contains(&CodeName::None));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len() + names.iter().filter(|n| **n == CodeName::None).count(), names.len());
    }

    #[test]
    fn what_is_heard_stays() {
        let (heard, what) = (
            ReceivedNumbers::default(),
            LaunchedCode { kind: code::MODULE, words: [3, 4], convention: Convention::Array },
        );
        assert!(heard.get(5).is_none());
        assert!(heard.learn(5, what).is_some() && heard.learn(5, what).is_some());
        assert!(
            heard.learn(5, LaunchedCode { kind: code::IMAGE, ..what }).is_none(),
            "a number stands for one code"
        );
        assert!(heard.learn(NUMBERS as u32, what).is_none() && heard.get(4).is_none());
        let (known, found) = heard.get(5).expect("learnt");
        assert_eq!(found, what);
        assert_eq!(known.address(|| Err(1)), Err(1));
        assert_eq!(known.address(|| Ok::<_, i32>(77)), Ok(77));
        assert_eq!(known.address(|| Err(2)), Ok(77), "asked for once");
    }
}
