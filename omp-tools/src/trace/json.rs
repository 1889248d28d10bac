//! The syntax of the file: Chrome's trace event format, one event a line, written as it comes.
//!
//! Times are microseconds with three digits behind the point. What lives here: the shape of each
//! kind of event. What may not: when there is one.

use std::fmt::Write as _;
use std::io::{self, Write};

/// A value among an event's arguments.
#[derive(Clone, Copy, Debug)]
pub enum ArgumentValue<'a> {
    /// A number.
    Number(i64),
    /// Nanoseconds, written as microseconds.
    Time(u64),
    /// Text that is escaped already.
    Text(&'a str),
}

/// Names and values.
pub type JsonArguments<'a> = &'a [(&'static str, ArgumentValue<'a>)];

/// A slice of a lane.
pub struct JsonSlice<'a> {
    /// The lane.
    pub lane: usize,
    /// Nanoseconds.
    pub begin: u64,
    /// Nanoseconds, not before `begin`.
    pub end: u64,
    /// Its kind.
    pub category: &'static str,
    /// What is written on it, escaped.
    pub name: &'a str,
}

/// Which end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowEnd {
    /// Where it begins.
    Start,
    /// Where it points to.
    Finish,
}

/// A file that is being written.
pub struct Out<W: Write> {
    to: W,
    process: u32,
    line: String,
    written: u64,
}

/// `text` with what may not stand in a string escaped.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            // Writing to a String does not fail.
            control if control < ' ' => _ = write!(escaped, "\\u{:04x}", control as u32),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Nanoseconds as microseconds.
fn time(line: &mut String, nanos: u64) {
    let (whole, rest) = (nanos / 1000, nanos % 1000);
    _ = match rest {
        0 => write!(line, "{whole}"),
        _ => write!(line, "{whole}.{rest:03}"),
    };
}

impl<W: Write> Out<W> {
    /// Begins the file of process `process`.
    pub fn begin(mut to: W, process: u32) -> io::Result<Self> {
        to.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        Ok(Self { to, process, line: String::with_capacity(512), written: 0 })
    }

    /// The beginning that all events have.
    fn head(&mut self, phase: char, lane: usize, name: &str) {
        self.line.clear();
        self.line.push_str(if self.written == 0 { "" } else { ",\n" });
        self.written += 1;
        _ = write!(
            self.line,
            "{{\"ph\":\"{phase}\",\"pid\":{},\"tid\":{lane},\"name\":\"{name}\"",
            self.process
        );
    }

    fn at(&mut self, name: &str, nanos: u64) {
        _ = write!(self.line, ",\"{name}\":");
        time(&mut self.line, nanos);
    }

    fn category(&mut self, category: &str) {
        _ = write!(self.line, ",\"cat\":\"{category}\"");
    }

    /// The arguments, and the end of the event.
    fn finish(&mut self, arguments: JsonArguments) -> io::Result<()> {
        for (i, (name, value)) in arguments.iter().enumerate() {
            _ = write!(self.line, "{}\"{name}\":", if i == 0 { ",\"args\":{" } else { "," });
            match *value {
                ArgumentValue::Number(n) => _ = write!(self.line, "{n}"),
                ArgumentValue::Time(nanos) => time(&mut self.line, nanos),
                ArgumentValue::Text(text) => _ = write!(self.line, "\"{text}\""),
            }
        }
        self.line.push_str(if arguments.is_empty() { "}" } else { "}}" });
        self.to.write_all(self.line.as_bytes())
    }

    /// A slice.
    pub fn slice(&mut self, slice: &JsonSlice, arguments: JsonArguments) -> io::Result<()> {
        self.head('X', slice.lane, slice.name);
        self.category(slice.category);
        self.at("ts", slice.begin);
        self.at("dur", slice.end - slice.begin);
        self.finish(arguments)
    }

    /// A point in time on a lane.
    pub fn instant(
        &mut self,
        lane: usize,
        at: u64,
        category: &str,
        name: &str,
        arguments: JsonArguments,
    ) -> io::Result<()> {
        self.head('i', lane, name);
        self.category(category);
        self.at("ts", at);
        self.line.push_str(",\"s\":\"t\"");
        self.finish(arguments)
    }

    /// One end of the arrow `id`.
    pub fn flow(
        &mut self,
        end: ArrowEnd,
        lane: usize,
        at: u64,
        category: &str,
        id: u64,
        arguments: JsonArguments,
    ) -> io::Result<()> {
        self.head(if end == ArrowEnd::Start { 's' } else { 'f' }, lane, category);
        self.category(category);
        self.at("ts", at);
        _ = write!(self.line, ",\"id\":{id}");
        if end == ArrowEnd::Finish {
            self.line.push_str(",\"bp\":\"e\"");
        }
        self.finish(arguments)
    }

    /// A counter's values from `at` on.
    pub fn counter(&mut self, lane: usize, at: u64, name: &str, values: JsonArguments) -> io::Result<()> {
        self.head('C', lane, name);
        self.at("ts", at);
        self.finish(values)
    }

    /// A fact about the process, or about a lane.
    pub fn metadata(&mut self, lane: usize, name: &str, arguments: JsonArguments) -> io::Result<()> {
        self.head('M', lane, name);
        self.finish(arguments)
    }

    /// The end of the file, with facts about the whole.
    pub fn end(mut self, facts: JsonArguments) -> io::Result<W> {
        self.line.clear();
        self.line.push_str("\n],\"otherData\":{\"producer\":\"gangway\"");
        for (name, value) in facts {
            _ = match *value {
                ArgumentValue::Number(n) => write!(self.line, ",\"{name}\":{n}"),
                ArgumentValue::Time(nanos) => write!(self.line, ",\"{name}\":{nanos}"),
                ArgumentValue::Text(text) => write!(self.line, ",\"{name}\":\"{text}\""),
            };
        }
        self.line.push_str("}}\n");
        self.to.write_all(self.line.as_bytes())?;
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_event_has_its_shape() {
        let mut out = Out::begin(Vec::new(), 7).unwrap();
        out.slice(
            &JsonSlice { lane: 1, begin: 1500, end: 3000, category: "task", name: "f" },
            &[("task", ArgumentValue::Number(3))],
        )
        .unwrap();
        out.instant(1, 2000, "stall", "stall", &[]).unwrap();
        out.flow(ArrowEnd::Start, 1, 2999, "dependence", 4, &[]).unwrap();
        out.flow(ArrowEnd::Finish, 0, 4001, "dependence", 4, &[]).unwrap();
        out.counter(0, 0, "tasks", &[("ready", ArgumentValue::Number(2))]).unwrap();
        out.metadata(0, "thread_name", &[("name", ArgumentValue::Text("worker 0"))]).unwrap();
        let text = String::from_utf8(out.end(&[("lost", ArgumentValue::Number(0))]).unwrap()).unwrap();
        let expected = r#"{"displayTimeUnit":"ns","traceEvents":[
{"ph":"X","pid":7,"tid":1,"name":"f","cat":"task","ts":1.500,"dur":1.500,"args":{"task":3}},
{"ph":"i","pid":7,"tid":1,"name":"stall","cat":"stall","ts":2,"s":"t"},
{"ph":"s","pid":7,"tid":1,"name":"dependence","cat":"dependence","ts":2.999,"id":4},
{"ph":"f","pid":7,"tid":0,"name":"dependence","cat":"dependence","ts":4.001,"id":4,"bp":"e"},
{"ph":"C","pid":7,"tid":0,"name":"tasks","ts":0,"args":{"ready":2}},
{"ph":"M","pid":7,"tid":0,"name":"thread_name","args":{"name":"worker 0"}}
],"otherData":{"producer":"gangway","lost":0}}
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a\"b\\c\n\u{e9}"), "a\\\"b\\\\c\\u000a\u{e9}");
    }
}
