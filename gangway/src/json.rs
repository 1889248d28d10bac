//! JSON, as far as it is written here: objects in the order in which they were made, strings,
//! numbers, lists.

use std::fmt::{self, Display, Formatter, Write as _};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn text(value: impl Display) -> Json {
        Json::Text(value.to_string())
    }

    pub fn object<'a>(pairs: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
        Json::Object(pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }
}

impl From<u64> for Json {
    /// Numbers above 2^53 lose their last digits, as everywhere in JSON.
    fn from(value: u64) -> Json {
        Json::Number(value as f64)
    }
}

impl Display for Json {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Number(value) if value.is_finite() => write!(f, "{value}"),
            Json::Number(_) => f.write_str("null"),
            Json::Text(text) => quoted(f, text),
            Json::List(all) => joined(f, '[', all.iter(), ']', |f, value| write!(f, "{value}")),
            Json::Object(pairs) => joined(f, '{', pairs.iter(), '}', |f, (name, value)| {
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
    use super::Json;

    #[test]
    fn values_are_written_as_json_reads_them() {
        let list = Json::List(vec![Json::Null, Json::Number(f64::NAN), 3.into(), Json::Number(0.5)]);
        let all = Json::object([("a\"\n", Json::text("\u{1}é")), ("b", list), ("c", Json::object([]))]);
        assert_eq!(all.to_string(), r#"{"a\"\n": "\u0001é", "b": [null, null, 3, 0.5], "c": {}}"#);
    }
}
