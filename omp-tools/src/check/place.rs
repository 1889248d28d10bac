//! Where in the program a call stands, for lines that tell of it.
//!
//! What lives here: finding the code that has called the library, and clang's words for it. What
//! may not: names of functions ([`super::symbols`]), and unwinding ([`crate::tool::code`]).
//!
//! A call's place is the first return address on the stack that is not the library's, found by the
//! unwinder. So nothing has to be passed down through the fronts, and the search costs nothing
//! where no check asks. Where clang's `ident_t` says a file and a line (it does with `-g`), that
//! comes before the address.
//!
//! Rejected: return addresses taken at each entry point, in assembly: a wrapper around some forty
//! functions for a few lines on standard error.

use core::ffi::{CStr, c_char, c_void};
use core::fmt;

use super::symbols;
use crate::tool::code;

/// What clang says of a construct: `ident_t`, of which the flags and the words matter.
#[repr(C)]
struct Ident {
    reserved: i32,
    flags: i32,
    reserved_too: [i32; 2],
    /// `;file;function;line;column;;`
    words: *const c_char,
}

/// What clang's `ident_t` says, kept by its address: it is a constant of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodeSource(usize);

impl CodeSource {
    /// Of code that says nothing (gcc's).
    pub const NONE: Self = Self(0);

    /// What a front was passed by compiled code: null or the compiler's constant `ident_t`.
    pub fn at(location: *const c_void) -> Self {
        Self(location.addr())
    }

    fn ident(self) -> Option<&'static Ident> {
        // SAFETY: null, or a constant of the program: fronts pass on what compiled code has passed
        // them, and no other code has any.
        unsafe { (self.0 as *const Ident).as_ref() }
    }

    /// The flags; 0 where nothing is said.
    pub fn flags(self) -> i32 {
        self.ident().map_or(0, |ident| ident.flags)
    }

    /// File, function, line and column, where they are said.
    pub fn position(self) -> Option<SourcePosition> {
        let words = self.ident()?.words;
        // SAFETY: null or the compiler's constant string.
        let text = (!words.is_null()).then(|| unsafe { CStr::from_ptr(words) })?.to_str().ok()?;
        position(text)
    }
}

/// A line of source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePosition {
    file: &'static str,
    function: &'static str,
    line: u32,
    column: u32,
}

impl SourcePosition {
    /// Are they certainly two? A function that is inlined, or made from a template, several times
    /// is on the same line each time, and a header may have more than one path.
    pub fn differs(&self, other: &Self) -> bool {
        let name = |file: &'static str| file.rsplit('/').next();
        (self.line, self.column) != (other.line, other.column) || name(self.file) != name(other.file)
    }
}

fn position(words: &'static str) -> Option<SourcePosition> {
    let mut words = words.strip_prefix(';')?.split(';');
    let (file, function) = (words.next()?, words.next()?);
    let mut number = || words.next()?.parse().ok();
    let (line, column) = (number()?, number()?);
    (line != 0).then_some(SourcePosition { file, function, line, column })
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{} in {}", self.file, self.line, self.column, self.function)
    }
}

/// A place in the program that has called the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodePosition {
    /// A return address, or a function's where the place is one; 0 if there is none to be found.
    pub address: usize,
    /// What the compiler says of it.
    pub source: CodeSource,
}

impl CodePosition {
    /// The code of the program that has called the library on this stack; `source`: what the
    /// compiler has passed.
    #[cold]
    pub fn of_caller(source: CodeSource) -> Self {
        Self { address: code::caller().address, source }
    }
}

impl fmt::Display for CodePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source.position() {
            Some(position) => position.fmt(f),
            // The call, not what comes after it: it may be the last of its function.
            None => f.write_str(&symbols::name(self.address.saturating_sub(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clangs_words_are_read() {
        let position = position(";src/a.c;solve;12;3;;").expect("a line");
        assert_eq!(position.to_string(), "src/a.c:12:3 in solve");
        assert!(super::position(";unknown;unknown;0;0;;").is_none() && super::position("").is_none());
    }

    #[test]
    fn lines_differ_and_paths_do_not_matter() {
        let at = |words| position(words).expect("a line");
        assert!(!at(";a/x.h;f<int>;3;1;;").differs(&at(";./x.h;f<long>;3;1;;")));
        assert!(
            at(";x.h;f;3;1;;").differs(&at(";x.h;f;4;1;;"))
                && at(";x.h;f;3;1;;").differs(&at(";y.h;f;3;1;;"))
        );
    }

    #[test]
    fn the_stack_is_walked_beyond_the_library() {
        // The test's code and the library's are one object here: what calls it is the C library's.
        let place = CodePosition::of_caller(CodeSource::NONE);
        assert!(
            code::is_ours(CodePosition::of_caller as *const () as usize)
                && !code::is_ours(libc::getpid as *const () as usize)
        );
        assert!(place.address != 0 && !code::is_ours(place.address), "{place}");
    }
}
