//! The exported symbols that have no implementation yet: each stops the program with its name.
//!
//! Lives here: the generated functions of all rows of `symbols.tsv` whose status is `missing`, the generated
//! constants of its data rows, and the one function they call. May not live here: anything written by hand for a
//! particular symbol; an implementation goes to the front it belongs to and its row becomes `done`.
//!
//! Rejected: leaving such symbols out. Under LD_PRELOAD a symbol that this library does not define is found in
//! the runtime the program was linked against, and two runtimes share one program, silently wrong.

// The names are those of the callers' ABI.
#![allow(non_snake_case, non_upper_case_globals, missing_docs)]

use std::fmt::Write as _;

/// Ends the program with one line that names `symbol` and says what to do instead.
///
/// Writes with a single `write(2)` from a stack buffer: it may be called from any thread at any depth,
/// also before the runtime has started.
#[cold]
#[inline(never)]
fn stop(symbol: &str, hint: &str) -> ! {
    let mut line = Line { bytes: [0; 256], len: 0 };
    // A line that is too long is cut; it cannot fail otherwise.
    let _ = write!(line, "gangway: {symbol} is not implemented yet ({hint})");
    line.bytes[line.len] = b'\n';
    // SAFETY: the buffer is live and `len + 1` of its bytes are initialised (`Line::len` < 256).
    unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len + 1) };
    std::process::abort()
}

/// A text of at most 255 bytes on the stack, so that one byte remains for the end of the line.
struct Line {
    bytes: [u8; 256],
    len: usize,
}

impl std::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let n = text.len().min(self.bytes.len() - 1 - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&text.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

include!(concat!(env!("OUT_DIR"), "/missing.rs"));
