//! Members of JSON objects (RFC 8259), as far as a trace has them: a name, and a number or a text.
//!
//! What lives here: what is kept of an object while `serde_json` reads it. What does not: which
//! members an event needs ([`super::trace`]). A trace may come from anywhere. So values that no
//! event has are read over and not kept, and of an object with very many members only the first
//! ones are kept: what is kept is no multiple of the file. `serde_json::Value` would keep all of it,
//! and would copy each text.

use std::borrow::Cow;
use std::fmt;

use serde_core::Deserialize;
use serde_core::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Members of an object that are kept. Chosen: four times as many as events have.
const MAX_MEMBERS: usize = 64;

/// The value of a member. Text is borrowed where nothing in it is escaped.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberValue<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    Object(Members<'a>),
    /// A list, a word, or an object inside of an object: nothing that an event has.
    Other,
}

/// The members of an object, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members<'a>(Vec<(Cow<'a, str>, MemberValue<'a>)>);

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&MemberValue<'a>> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.number()
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        if let MemberValue::Text(text) = self.get(name)? { Some(text) } else { None }
    }

    pub fn object(&self, name: &str) -> Option<&Members<'a>> {
        if let MemberValue::Object(members) = self.get(name)? { Some(members) } else { None }
    }

    /// The value of the first member.
    pub fn first(&self) -> Option<&MemberValue<'a>> {
        self.0.first().map(|(_, value)| value)
    }
}

impl MemberValue<'_> {
    pub fn number(&self) -> Option<f64> {
        if let MemberValue::Number(number) = self { Some(*number) } else { None }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match source.deserialize_any(ValueReader { outer: 0 })? {
            MemberValue::Object(members) => Ok(members),
            _ => Err(D::Error::custom("not an object")),
        }
    }
}

/// Reads any value.
#[derive(Clone, Copy)]
struct ValueReader {
    /// How many objects it is in.
    outer: usize,
}

/// Objects of which one is in another, and whose members are kept.
const MAX_DEPTH: usize = 2;

impl<'de> serde_core::de::DeserializeSeed<'de> for ValueReader {
    type Value = MemberValue<'de>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<MemberValue<'de>, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader {
    type Value = MemberValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_f64<E>(self, number: f64) -> Result<MemberValue<'de>, E> {
        Ok(MemberValue::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<MemberValue<'de>, E> {
        Ok(MemberValue::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<MemberValue<'de>, E> {
        Ok(MemberValue::Number(number as f64))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<MemberValue<'de>, E> {
        Ok(MemberValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<MemberValue<'de>, E> {
        Ok(MemberValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<MemberValue<'de>, E> {
        Ok(MemberValue::Other)
    }

    fn visit_unit<E>(self) -> Result<MemberValue<'de>, E> {
        Ok(MemberValue::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MemberValue<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(MemberValue::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<MemberValue<'de>, A::Error> {
        if self.outer == MAX_DEPTH {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(MemberValue::Other);
        }
        let inner = ValueReader { outer: self.outer + 1 };
        let mut members = Vec::new();
        while let Some(name) = object.next_key_seed(inner)? {
            let MemberValue::Text(name) = name else { return Err(A::Error::custom("no name")) };
            if members.len() < MAX_MEMBERS {
                members.push((name, object.next_value_seed(inner)?));
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(MemberValue::Object(Members(members)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Members<'_>, String> {
        serde_json::from_str(text).map_err(|why| why.to_string())
    }

    #[test]
    fn members_are_read() {
        let text =
            r#" {"a":-2.5e3,"b":{"c":"x\"\u00e9\ud83d\ude00\n","o":{"deep":1}},"d":[1,{}],"e":null,"a":2} "#;
        let members = read(text).unwrap();
        assert_eq!(
            (members.number("a"), members.number("b"), members.number("f")),
            (Some(-2500.0), None, None)
        );
        let inner = members.object("b").unwrap();
        assert_eq!(inner.text("c"), Some("x\"\u{e9}\u{1f600}\n"));
        assert_eq!((inner.first(), inner.get("o")), (inner.get("c"), Some(&MemberValue::Other)));
        assert_eq!(
            (members.get("d"), members.get("e")),
            (Some(&MemberValue::Other), Some(&MemberValue::Other))
        );
        let large = read("{\"a\":18446744073709551616,\"b\":9007199254740993,\"c\":-0.0}").unwrap();
        assert_eq!((large.number("a"), large.number("b")), (Some(2f64.powi(64)), Some(2f64.powi(53))));
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
            "\"a\nb\"",
            "1e999",
            "\"a\\",
            "\"\\é",
        ];
        for value in wrong {
            assert!(read(value).is_err() && read(&format!("{{\"a\":{value}}}")).is_err(), "{value}");
        }
        // What is read over has to be JSON, too.
        for value in ["1,", "{a:1}", "nul", "01", "\"a", "\"\\x\"", "\"a\nb\""] {
            assert!(read(&format!("{{\"a\":[{value}]}}")).is_err(), "{value}");
        }
        assert!(read("{}]").is_err() && read("[]").is_err());
        let nested = |depth| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(100_000)).is_ok(), "needs no deep stack");
        assert!(read(&nested(100_000)[..150_000]).is_err(), "cut short");
        assert!(read("{\"a\":1,\n\"b\":2,\n\"c\":x}").unwrap_err().contains("line 3"));
    }

    #[test]
    fn no_more_is_kept_than_a_few_members() {
        let many: Vec<String> = (0..1000).map(|i| format!("\"{i}\":{i}")).collect();
        let text = format!("{{{}}}", many.join(","));
        let members = read(&text).unwrap();
        assert_eq!((members.0.len(), members.number("63"), members.number("64")), (64, Some(63.0), None));
    }
}
