//! What a terminal gets and a file does not: colour, unless `NO_COLOR` is set (no-color.org), and a
//! line that says how far long work is. And what it must not get: names from files may have
//! characters in them that a terminal obeys.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};

/// Whether standard output may have colours.
pub fn has_colour() -> bool {
    io::stdout().is_terminal()
        && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// How a text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Plain,
    Bold,
    Good,
    Bad,
}

/// The text without characters that a terminal obeys: control characters, and those that change the
/// direction of writing.
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_obeyed = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_obeyed(letter) { plain.extend(letter.escape_default()) } else { plain.push(letter) }
    }
    Cow::Owned(plain)
}

/// The plain text, with what makes it look so where that is wanted.
pub fn styled(text: &str, look: Look, colour: bool) -> String {
    let text = plain(text);
    let code = match look {
        Look::Bold => "1",
        Look::Good => "32",
        Look::Bad => "31",
        Look::Plain => return text.into_owned(),
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into_owned() }
}

/// A line on standard error that each step replaces, and that goes with this value. Nothing where
/// that is no terminal.
pub struct ProgressLine(bool);

impl ProgressLine {
    pub fn new() -> ProgressLine {
        ProgressLine(io::stderr().is_terminal())
    }

    pub fn say(&self, text: &str) {
        if self.0 {
            // Who cannot see it misses nothing.
            let _ = write!(io::stderr(), "\r\x1b[K{}", plain(text));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.say("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_nothing_to_obey() {
        assert_eq!(plain("a b: \u{e9}"), "a b: \u{e9}");
        assert_eq!(plain("\x1b]0;title\x07\n\u{9b}2J\u{202e}"), "\\u{1b}]0;title\\u{7}\\n\\u{9b}2J\\u{202e}");
        assert_eq!(styled("a\x1b[2J", Look::Bold, true), "\x1b[1ma\\u{1b}[2J\x1b[0m");
        assert_eq!(styled("a\tb", Look::Plain, false), "a\\tb");
    }
}
