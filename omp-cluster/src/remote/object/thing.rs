//! What an object is: plain bytes, or whatever the program's functions make of bytes.
//!
//! No lock is held where a function of the program is called.

use core::ffi::c_void;
use core::ptr;

use super::super::RemoteFault;
use super::super::wire::lost;
use omp_offload::bytes::Bytes;
use omp_offload::modules::{self, ModuleAddress};

/// The functions of a type of objects: `ompx_object_type_t`. On every rank at the same place of the
/// same module.
#[repr(C)]
#[derive(Debug)]
pub struct Functions {
    /// Bytes of the C library's allocator that the object can be made from, and their number. The
    /// object stays as it is.
    pub pack: Option<unsafe extern "C-unwind" fn(*const c_void, *mut usize) -> *mut c_void>,
    /// Makes it from them.
    pub unpack: Option<unsafe extern "C-unwind" fn(*const c_void, usize) -> *mut c_void>,
    /// The object is not used any more on this rank.
    pub free: Option<unsafe extern "C-unwind" fn(*mut c_void)>,
}

/// An object's data, on the rank where it is.
#[derive(Debug)]
pub enum ObjectData {
    /// As many bytes as at its creation.
    Plain(Bytes),
    /// The program's.
    Typed(Typed),
}

/// What an object travels as.
pub struct PackedObject {
    /// Its bytes.
    pub bytes: Bytes,
    /// Where its type is.
    pub place: ModuleAddress,
}

/// Data that functions of the program move and free.
#[derive(Debug)]
pub struct Typed {
    functions: &'static Functions,
    place: ModuleAddress,
    at: *mut c_void,
}

// SAFETY: the program has given it to its handlers, which run on any kernel thread.
unsafe impl Send for Typed {}

/// The place of plain bytes' type.
const PLAIN: ModuleAddress = ModuleAddress { identity: 0, offset: 0 };

impl ObjectData {
    /// The program's data of this type.
    ///
    /// # Errors
    /// The type lies in no module, or has not all functions.
    /// # Safety
    /// The type stays; its functions do with `at` what their fields say.
    pub unsafe fn typed(functions: *const Functions, at: *mut c_void) -> Result<Self, RemoteFault> {
        let place = modules::place(functions.addr()).ok_or(RemoteFault::Function)?;
        // SAFETY: as the caller says.
        let functions = unsafe { &*functions };
        if functions.pack.is_none() || functions.unpack.is_none() {
            return Err(RemoteFault::Argument);
        }
        Ok(Self::Typed(Typed { functions, place, at }))
    }

    /// What a handler gets.
    pub fn address(&self) -> *mut c_void {
        match self {
            Self::Plain(bytes) => bytes.address().cast(),
            Self::Typed(typed) => typed.at,
        }
    }

    /// How many bytes there are at [`ObjectData::address`]; 0 where only the program knows.
    pub fn size(&self) -> usize {
        match self {
            Self::Plain(bytes) => bytes.size(),
            Self::Typed(_) => 0,
        }
    }

    /// The bytes that it travels as, and its type. In a task.
    pub fn into_bytes(self) -> PackedObject {
        let typed = match self {
            Self::Plain(bytes) => return PackedObject { bytes, place: PLAIN },
            Self::Typed(typed) => typed,
        };
        let (mut length, pack) = (0, typed.functions.pack.unwrap_or(no_pack));
        // SAFETY: the promise of `typed`; no other thread uses the object now.
        let bytes = unsafe { pack(typed.at, &raw mut length) };
        if bytes.is_null() && length != 0 {
            lost(format_args!(
                "the function pack of a mobile object has returned no address for {length} bytes"
            ));
        }
        let place = typed.place;
        typed.free();
        // SAFETY: the promise of `pack`.
        let bytes = unsafe { Bytes::adopt(bytes.cast(), length) };
        PackedObject { bytes, place }
    }

    /// Is it made by a function of the program, so that [`ObjectData::from_bytes`] has to be called
    /// in a task?
    pub fn is_made_by_program(place: ModuleAddress) -> bool {
        place != PLAIN
    }

    /// The inverse of [`ObjectData::into_bytes`].
    pub fn from_bytes(bytes: Bytes, place: ModuleAddress) -> Self {
        if place == PLAIN {
            return Self::Plain(bytes);
        }
        let Some(functions) = place.here() else {
            lost(format_args!(
                "a mobile object has come whose type lies in a module that is not loaded here, or in another version of it"
            ));
        };
        let functions: *const Functions = ptr::with_exposed_provenance(functions);
        // SAFETY: the same place of the same module as where the object was made, where it is a
        // type.
        let functions = unsafe { &*functions };
        let unpack = functions.unpack.unwrap_or(no_unpack);
        // SAFETY: the promise of `typed`.
        let at = unsafe { unpack(bytes.address().cast(), bytes.size()) };
        Self::Typed(Typed { functions, place, at })
    }

    /// It is not used any more. In a task.
    pub fn free(self) {
        if let Self::Typed(typed) = self {
            typed.free();
        }
    }
}

impl Typed {
    fn free(self) {
        if let Some(free) = self.functions.free {
            // SAFETY: the promise of `typed`; no other thread uses the object.
            unsafe { free(self.at) };
        }
    }
}

/// The type was complete when the object was made.
unsafe extern "C-unwind" fn no_pack(_: *const c_void, _: *mut usize) -> *mut c_void {
    lost(format_args!("the type of a mobile object has changed: it has no function pack"))
}

/// As [`no_pack`].
unsafe extern "C-unwind" fn no_unpack(_: *const c_void, _: usize) -> *mut c_void {
    lost(format_args!("the type of a mobile object has changed: it has no function unpack"))
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C-unwind" fn pack(object: *const c_void, bytes: *mut usize) -> *mut c_void {
        // SAFETY: the test's numbers; memory for one.
        unsafe {
            bytes.write(8);
            let at: *mut u64 = libc::malloc(8).cast();
            at.write(*object.cast::<u64>());
            at.cast()
        }
    }

    unsafe extern "C-unwind" fn unpack(from: *const c_void, bytes: usize) -> *mut c_void {
        assert_eq!(bytes, 8);
        // SAFETY: what `pack` wrote.
        Box::into_raw(Box::new(unsafe { *from.cast::<u64>() } + 1)).cast()
    }

    unsafe extern "C-unwind" fn free(object: *mut c_void) {
        // SAFETY: made as a box.
        drop(unsafe { Box::from_raw(object.cast::<u64>()) });
    }

    static NUMBER: Functions = Functions { pack: Some(pack), unpack: Some(unpack), free: Some(free) };
    static HALF: Functions = Functions { pack: Some(pack), unpack: None, free: None };

    #[test]
    fn the_programs_functions_carry_its_data() {
        // SAFETY: numbers in boxes.
        let thing = unsafe { ObjectData::typed(&raw const NUMBER, Box::into_raw(Box::new(7u64)).cast()) }
            .expect("a type");
        let PackedObject { bytes, place } = thing.into_bytes();
        assert!(ObjectData::is_made_by_program(place) && bytes.size() == 8);
        let there = ObjectData::from_bytes(bytes, place);
        // SAFETY: what `unpack` has made.
        assert_eq!((unsafe { *there.address().cast::<u64>() }, there.size()), (8, 0));
        there.free();
    }

    #[test]
    fn types_have_a_place_and_functions() {
        // SAFETY: nothing is called.
        let typed =
            |functions: *const Functions| unsafe { ObjectData::typed(functions, ptr::null_mut()) }.map(drop);
        let elsewhere = Box::new(Functions { pack: Some(pack), unpack: Some(unpack), free: None });
        assert_eq!(
            (typed(&raw const HALF), typed(&raw const *elsewhere)),
            (Err(RemoteFault::Argument), Err(RemoteFault::Function))
        );
    }

    #[test]
    fn plain_bytes_stay_what_they_are() {
        // SAFETY: a slice.
        let bytes = unsafe { Bytes::copy(b"abc".as_ptr(), 3) }.expect("memory");
        let PackedObject { bytes, place } = ObjectData::Plain(bytes).into_bytes();
        let there = ObjectData::from_bytes(bytes, place);
        assert_eq!((there.size(), ObjectData::is_made_by_program(place)), (3, false));
    }
}
