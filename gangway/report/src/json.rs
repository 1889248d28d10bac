//! Reading JSON (RFC 8259): the whole text into a tree, except for one long list, whose items are
//! handed out one by one.
//!
//! Strict: what is not JSON is an error with the place where it was found. Text is borrowed where
//! nothing in it is escaped. A crate was rejected: it would be four times as much to build as this
//! command, for a page of code.

use std::borrow::Cow;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<JsonValue<'a>>),
    Object(Vec<(Cow<'a, str>, JsonValue<'a>)>),
}

impl JsonValue<'_> {
    /// The member of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            JsonValue::Object(members) => members.iter().find(|(n, _)| n == name).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn number(&self) -> Option<f64> {
        if let JsonValue::Number(n) = self { Some(*n) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let JsonValue::Text(text) = self { Some(text) } else { None }
    }
}

/// Lists and objects inside of each other.
const DEEPEST: usize = 64;

/// Reads from a text.
pub struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// What is wrong, and at which byte.
pub type Result<T> = std::result::Result<T, String>;

impl<'a> JsonReader<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    fn wrong<T>(&self, what: &str) -> Result<T> {
        let line = 1 + self.text.as_bytes()[..self.at].iter().filter(|&&b| b == b'\n').count();
        Err(format!("line {line}: {what}"))
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() != Some(byte) {
            return self.wrong(&format!("'{}' is missing", byte as char));
        }
        self.at += 1;
        Ok(())
    }

    /// After an item: true if another one follows, false at `end`.
    fn goes_on(&mut self, end: u8) -> Result<bool> {
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == end => {
                self.at += 1;
                return Ok(false);
            }
            _ => return self.wrong(&format!("neither ',' nor '{}'", end as char)),
        }
        Ok(true)
    }

    /// Calls `item` at each item between `begin` and `end`.
    fn each(&mut self, begin: u8, end: u8, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(begin)?;
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong("too deep");
        }
        loop {
            item(self)?;
            if !self.goes_on(end)? {
                break;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Calls `member` with each name of an object; it reads the value.
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<()>) -> Result<()> {
        self.each(b'{', b'}', |reader| {
            let name = reader.string()?;
            reader.expect(b':')?;
            member(reader, name)
        })
    }

    /// Calls `item` at each item of a list; it reads it.
    pub fn list(&mut self, item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.each(b'[', b']', item)
    }

    /// Nothing may follow.
    pub fn end(&mut self) -> Result<()> {
        if self.peek().is_some() { self.wrong("something behind the end") } else { Ok(()) }
    }

    /// Is the next value a list?
    pub fn is_list(&mut self) -> bool {
        self.peek() == Some(b'[')
    }

    /// Any value.
    pub fn value(&mut self) -> Result<JsonValue<'a>> {
        match self.peek() {
            Some(b'"') => self.string().map(JsonValue::Text),
            Some(b'{') => {
                let mut members = Vec::new();
                self.object(|reader, name| {
                    members.push((name, reader.value()?));
                    Ok(())
                })?;
                Ok(JsonValue::Object(members))
            }
            Some(b'[') => {
                let mut items = Vec::new();
                self.list(|reader| {
                    items.push(reader.value()?);
                    Ok(())
                })?;
                Ok(JsonValue::List(items))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<JsonValue<'a>> {
        let words =
            [("null", JsonValue::Null), ("true", JsonValue::Bool(true)), ("false", JsonValue::Bool(false))];
        let found = words.into_iter().find(|(word, _)| self.text[self.at..].starts_with(word));
        let Some((word, value)) = found else { return self.wrong("not a value") };
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<JsonValue<'a>> {
        let rest = &self.text[self.at..];
        let length =
            rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let word = &rest[..length];
        let digits = word.trim_start_matches('-');
        let odd = digits.starts_with('.')
            || word.ends_with('.')
            || (digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit));
        match word.parse::<f64>() {
            Ok(number) if !odd && number.is_finite() => {
                self.at += length;
                Ok(JsonValue::Number(number))
            }
            _ => self.wrong(&format!("'{word}' is not a number")),
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>> {
        self.expect(b'"')?;
        let begin = self.at;
        let mut own: Option<String> = None;
        loop {
            let from = self.at;
            let rest = &self.text.as_bytes()[from..];
            let Some(length) = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < b' ') else {
                return self.wrong("text without an end");
            };
            self.at += length;
            let piece = &self.text[from..self.at];
            match rest[length] {
                b'"' => {
                    self.at += 1;
                    return Ok(own.map_or(Cow::Borrowed(&self.text[begin..self.at - 1]), |own| {
                        Cow::Owned(own + piece)
                    }));
                }
                b'\\' => {
                    let mut text = own.take().unwrap_or_default() + piece;
                    text.push(self.escape()?);
                    own = Some(text);
                }
                _ => return self.wrong("a control character in text"),
            }
        }
    }

    /// What a backslash stands for.
    fn escape(&mut self) -> Result<char> {
        let letter = self.text.as_bytes().get(self.at + 1).copied();
        self.at = (self.at + 2).min(self.text.len());
        Ok(match letter {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(same @ (b'"' | b'\\' | b'/')) => same as char,
            Some(b'u') => {
                let first = self.unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first).map_or_else(|| self.wrong("half a character"), Ok);
                }
                if !self.text[self.at..].starts_with("\\u") {
                    return self.wrong("half a character");
                }
                self.at += 2;
                let second = self.unit()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return self.wrong("half a character");
                }
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return char::from_u32(code).map_or_else(|| self.wrong("half a character"), Ok);
            }
            _ => return self.wrong("an unknown escape"),
        })
    }

    fn unit(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(code) = digits.and_then(|d| u32::from_str_radix(d, 16).ok()) else {
            return self.wrong("not four hexadecimal digits");
        };
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<JsonValue<'_>> {
        let mut reader = JsonReader::new(text);
        let value = reader.value()?;
        reader.end()?;
        Ok(value)
    }

    #[test]
    fn values_are_read() {
        let value =
            read(r#" {"a":[1,-2.5e3,true,null],"b":{"c":"x\"\u00e9\ud83d\ude00\n"},"d":[]} "#).unwrap();
        assert_eq!(
            value.get("a"),
            Some(&JsonValue::List(vec![
                JsonValue::Number(1.0),
                JsonValue::Number(-2500.0),
                JsonValue::Bool(true),
                JsonValue::Null
            ]))
        );
        assert_eq!(value.get("b").and_then(|b| b.get("c")?.text()), Some("x\"\u{e9}\u{1f600}\n"));
        assert_eq!(value.get("d"), Some(&JsonValue::List(vec![])));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let wrong = [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "{a:1}",
            "[1 2]",
            "01",
            "1.",
            ".5",
            "-",
            "nul",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "[1]]",
            "\"a\nb\"",
            "1e999",
            "\"a\\",
            "\"\\é",
        ];
        for text in wrong {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&("[".repeat(100) + &"]".repeat(100))).unwrap_err().contains("too deep"));
        assert_eq!(read("[1,\n2,\nx]").unwrap_err(), "line 3: not a value");
    }
}
