//! JSON, as far as it is written here: objects in the order in which they were made, strings,
//! numbers, lists.

use std::fmt::{self, Display, Formatter, Write as _};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonText {
    Null,
    Number(f64),
    Text(String),
    List(Vec<JsonText>),
    Object(Vec<(String, JsonText)>),
}

impl JsonText {
    pub fn text(value: impl Display) -> JsonText {
        JsonText::Text(value.to_string())
    }

    pub fn object<'a>(pairs: impl IntoIterator<Item = (&'a str, JsonText)>) -> JsonText {
        JsonText::Object(pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }
}

impl From<u64> for JsonText {
    /// Numbers above 2^53 lose their last digits, as everywhere in JSON.
    fn from(value: u64) -> JsonText {
        JsonText::Number(value as f64)
    }
}

impl Display for JsonText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            JsonText::Null => f.write_str("null"),
            JsonText::Number(value) if value.is_finite() => write!(f, "{value}"),
            JsonText::Number(_) => f.write_str("null"),
            JsonText::Text(text) => quoted(f, text),
            JsonText::List(all) => joined(f, '[', all.iter(), ']', |f, value| write!(f, "{value}")),
            JsonText::Object(pairs) => joined(f, '{', pairs.iter(), '}', |f, (name, value)| {
                quoted(f, name)?;
                write!(f, ": {value}")
            }),
        }
    }
}

fn joined<T>(
    f: &mut Formatter<'_>,
    open: char,
    all: impl Iterator<Item = T>,
    close: char,
    one: impl Fn(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (index, value) in all.enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        one(f, value)?;
    }
    f.write_char(close)
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::JsonText;

    #[test]
    fn values_are_written_as_json_reads_them() {
        let list =
            JsonText::List(vec![JsonText::Null, JsonText::Number(f64::NAN), 3.into(), JsonText::Number(0.5)]);
        let all =
            JsonText::object([("a\"\n", JsonText::text("\u{1}é")), ("b", list), ("c", JsonText::object([]))]);
        assert_eq!(all.to_string(), r#"{"a\"\n": "\u0001é", "b": [null, null, 3, 0.5], "c": {}}"#);
    }
}
