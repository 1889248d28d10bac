//! Splits Rust source into code, comments and strings.
//!
//! What lives here: enough of Rust's lexical rules to find comments, names and the marks between
//! them. What does not: what they are checked for ([`crate::words`], [`crate::circles`]).

/// What a stretch of source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Code,
    Comment,
    Text,
}

/// The stretches of `source` in order; together they are `source`. Character literals count as
/// code.
pub fn stretches(source: &str) -> Vec<(Class, &str)> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let Some((class, end)) = special(source, at) else {
            at = char_literal(source, at).unwrap_or(at + 1);
            continue;
        };
        if start < at {
            found.push((Class::Code, &source[start..at]));
        }
        found.push((class, &source[at..end]));
        (start, at) = (end, end);
    }
    if start < bytes.len() {
        found.push((Class::Code, &source[start..]));
    }
    found
}

/// The comment or string that begins at `at`, and its end.
fn special(source: &str, at: usize) -> Option<(Class, usize)> {
    let bytes = source.as_bytes();
    match bytes[at] {
        b'/' if bytes[at..].starts_with(b"//") => {
            let end = source[at..].find('\n').map_or(source.len(), |length| at + length);
            Some((Class::Comment, end))
        }
        b'/' if bytes[at..].starts_with(b"/*") => Some((Class::Comment, block_comment(bytes, at))),
        b'"' => Some((Class::Text, quoted(bytes, at))),
        b'r' | b'b' | b'c' if at == 0 || !is_name(bytes[at - 1]) => prefixed(source, at),
        _ => None,
    }
}

fn block_comment(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut at) = (1, at + 2);
    while at < bytes.len() && depth > 0 {
        let step = &bytes[at..];
        depth =
            if step.starts_with(b"/*") { depth + 1 } else { depth - usize::from(step.starts_with(b"*/")) };
        at += if step.starts_with(b"/*") || step.starts_with(b"*/") { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// The end of the string whose opening quote is at `at`.
fn quoted(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// A string with `r`, `b`, `c` and `#` before its quote.
fn prefixed(source: &str, at: usize) -> Option<(Class, usize)> {
    let letters = source[at..].bytes().take_while(|byte| b"rbc".contains(byte)).count();
    let marks = source[at + letters..].bytes().take_while(|&byte| byte == b'#').count();
    let quote = at + letters + marks;
    if letters > 2 || source.as_bytes().get(quote) != Some(&b'"') {
        return None;
    }
    if !source[at..at + letters].contains('r') {
        return (marks == 0).then(|| (Class::Text, quoted(source.as_bytes(), quote)));
    }
    let close = format!("\"{}", "#".repeat(marks));
    let end =
        source[quote + 1..].find(&close).map_or(source.len(), |length| quote + 1 + length + close.len());
    Some((Class::Text, end))
}

/// The end of the character literal at `at`; `None` where there is none, or a lifetime.
fn char_literal(source: &str, at: usize) -> Option<usize> {
    if source.as_bytes()[at] != b'\'' {
        return None;
    }
    let first = source[at + 1..].chars().next()?;
    if first == '\\' {
        return Some(at + 3 + source.get(at + 3..)?.find('\'')? + 1);
    }
    let end = at + 1 + first.len_utf8();
    (source.as_bytes().get(end) == Some(&b'\'')).then_some(end + 1)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The names in a stretch of code.
pub fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// A name, a number, `::`, or any other mark of code, and its line from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeToken<'a> {
    pub text: &'a str,
    pub line: usize,
}

/// The tokens of the code in `source`. Comments, strings, character literals and lifetimes are left
/// out.
pub fn tokens(source: &str) -> Vec<CodeToken<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    for (class, stretch) in stretches(source) {
        if class == Class::Code {
            tokens_of_code(stretch, line, &mut found);
        }
        line += stretch.matches('\n').count();
    }
    found
}

fn tokens_of_code<'a>(code: &'a str, mut line: usize, found: &mut Vec<CodeToken<'a>>) {
    let (bytes, mut at) = (code.as_bytes(), 0);
    let name_end = |from: usize| from + bytes[from..].iter().take_while(|&&byte| is_name(byte)).count();
    while let Some(c) = code[at..].chars().next() {
        let end = match c {
            '\'' => char_literal(code, at).unwrap_or_else(|| name_end(at + 1)),
            _ if is_name(bytes[at]) => name_end(at),
            ':' if bytes.get(at + 1) == Some(&b':') => at + 2,
            _ => at + c.len_utf8(),
        };
        if c == '\n' {
            line += 1;
        }
        if c != '\'' && !c.is_whitespace() {
            found.push(CodeToken { text: &code[at..end], line });
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, names, stretches, tokens};

    #[test]
    fn tokens_have_lines() {
        let source = "use a::b; // c\nlet x = '{';\n\"\n\" fn f<'a>() {}";
        let found: Vec<_> = tokens(source).iter().map(|t| (t.text, t.line)).collect();
        let of_line = |line| found.iter().filter(|t| t.1 == line).map(|t| t.0).collect::<Vec<_>>();
        assert_eq!(of_line(1), ["use", "a", "::", "b", ";"]);
        assert_eq!(of_line(2), ["let", "x", "=", ";"]);
        assert_eq!(of_line(4), ["fn", "f", "<", ">", "(", ")", "{", "}"]);
    }

    #[test]
    fn comments_and_strings_are_found() {
        let source = "let a = \"// no\"; // yes \"\nlet b = r#\"x\" /* */\"#; /* c /* d */ e */ 'x' b'\"' \
                      fn f<'a>() {}";
        let found = stretches(source);
        assert_eq!(found.iter().map(|(_, text)| *text).collect::<String>(), source);
        let of = |class| found.iter().filter(|s| s.0 == class).map(|s| s.1).collect::<Vec<_>>();
        assert_eq!(of(Class::Comment), ["// yes \"", "/* c /* d */ e */"]);
        assert_eq!(of(Class::Text), ["\"// no\"", "r#\"x\" /* */\"#"]);
    }

    #[test]
    fn names_are_found() {
        assert_eq!(names("let a_1 = 2u8 + B::c;").collect::<Vec<_>>(), ["let", "a_1", "B", "c"]);
    }
}
