//! What a terminal gets and a file does not: colour, unless `NO_COLOR` is set (no-color.org), and a line that says how far long work is.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

/// Whether standard output may have colours.
pub fn has_colour() -> bool {
    io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// How a text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Plain,
    Bold,
    Good,
    Bad,
}

/// The text, with what makes it look so where that is wanted.
pub fn dressed(text: &str, look: Look, colour: bool) -> String {
    let code = match look {
        Look::Bold => "1",
        Look::Good => "32",
        Look::Bad => "31",
        Look::Plain => return text.to_string(),
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

/// A line on standard error that each step replaces, and that goes with this value. Nothing where that is no terminal.
pub struct Progress(bool);

impl Progress {
    pub fn new() -> Progress {
        Progress(io::stderr().is_terminal())
    }

    pub fn say(&self, text: &str) {
        if self.0 {
            // Who cannot see it misses nothing.
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.say("");
    }
}
