//! `gangway report` and `gangway doctor` on files that others have made.

mod common;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{copy_environment, directory, gangway, library, outcome};

/// The command's name, for what needs no library.
const TOOL: &str = env!("CARGO_BIN_EXE_gangway");
/// What either command may take for a file of a mebibyte, in seconds and in kilobytes of memory
/// (docs/security.md).
const LIMIT: Duration = Duration::from_secs(10);
const MEMORY: &str = "1048576";

/// The command with a limit on its memory.
fn limited(words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$@\""), "sh", TOOL]).args(words);
    command
}

fn slice(members: &str) -> String {
    format!("{{\"ph\":\"X\",\"pid\":1,{members}}}")
}

#[test]
fn thousands_of_lanes_are_reported_soon() {
    let at = directory("report-lanes");
    let trace = at.join("t.json");
    let lane = |i: usize| {
        slice(&format!(
            "\"tid\":{i},\"name\":\"f\",\"cat\":\"task\",\"ts\":{i},\"dur\":1,\"args\":{{\"task\":{i},\"parent\":1,\"victim\":{}}}",
            (i * 7) % 6000
        ))
    };
    fs::write(&trace, format!("[{}]", (1..6000).map(lane).collect::<Vec<_>>().join(","))).unwrap();
    let begun = Instant::now();
    let (status, said, complaints) = outcome(&mut limited(&["report", trace.to_str().unwrap()]));
    assert!(status == Some(0) && begun.elapsed() < LIMIT, "{:?}: {said}{complaints}", begun.elapsed());
    assert!(fs::metadata(at.join("t.html")).unwrap().len() < 8 << 20);
}

#[test]
fn odd_traces_have_a_page_or_a_line() {
    let at = directory("report-odd");
    let report = |name: &str, text: &str, more: &[&str]| {
        fs::write(at.join(name), text).unwrap();
        outcome(Command::new(TOOL).current_dir(&at).args(["report", name]).args(more))
    };
    let made_later = slice(
        "\"tid\":0,\"name\":\"f\",\"cat\":\"task\",\"ts\":1,\"dur\":1,\"args\":{\"task\":1,\"parent\":9,\"created\":5}",
    );
    assert_eq!(report("later.json", &format!("[{made_later}]"), &[]).0, Some(0));
    let endless = slice("\"tid\":0,\"name\":\"f\",\"cat\":\"task\",\"ts\":1e308,\"dur\":1e308");
    let (status, _, said) = report("endless.json", &format!("[{endless}]"), &[]);
    assert!(status == Some(125) && said.contains("too large"), "{said}");
    // The page is not written over the trace.
    let fine = slice("\"tid\":0,\"name\":\"f\",\"cat\":\"task\",\"ts\":1,\"dur\":1,\"args\":{\"task\":1}");
    let text = format!("[{fine}]");
    let (status, said, _) = report("trace.html", &text, &[]);
    assert!(status == Some(0) && said.ends_with("trace.report.html\n"), "{said}");
    let (status, _, said) = report("trace.html", &text, &["--out", "./trace.html"]);
    assert!(status == Some(125) && said.contains("is a trace"), "{said}");
    assert_eq!(fs::read_to_string(at.join("trace.html")).unwrap(), text);
}

#[test]
fn names_from_files_do_not_reach_the_terminal_as_they_are() {
    let at = directory("report-terminal");
    let many: Vec<String> = (0..2000).map(|i| slice(&format!("\"tid\":0,\"name\":\"\\u001b[2Jf\\u009b\",\"cat\":\"task\",\"ts\":{i},\"dur\":0.5,\"args\":{{\"task\":{},\"parent\":1,\"created\":0,\"end\":1}}", i + 2))).collect();
    fs::write(at.join("t.json"), format!("[{}]", many.join(","))).unwrap();
    let (status, said, complaints) = outcome(Command::new(TOOL).current_dir(&at).args(["report", "t.json"]));
    assert!(
        status == Some(0) && said.contains("\\u{1b}[2Jf") && !said.contains(['\x1b', '\u{9b}']),
        "{said}{complaints}"
    );
    let (_, _, complaints) = outcome(Command::new(TOOL).args(["report", "none\x1b[2J.json"]));
    assert!(complaints.contains("none\\u{1b}[2J.json") && !complaints.contains('\x1b'), "{complaints}");
}

/// An ELF file of half a mebibyte whose dynamic section asks 16,000 times for a library whose name
/// is a quarter of a mebibyte long.
fn greedy() -> Vec<u8> {
    let (count, name) = (16_000_usize, 256 << 10);
    let mut bytes = vec![0; 64 + 2 * 56];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (bytes[16], bytes[18], bytes[0x20], bytes[0x36], bytes[0x38]) = (3, 62, 64, 56, 2);
    let entry = |tag: u64, value: u64| [tag.to_le_bytes(), value.to_le_bytes()].concat();
    let strings = (bytes.len() + 16 * (count + 3)) as u64;
    let mut dynamic: Vec<u8> = (0..count).flat_map(|i| entry(1, i as u64)).collect();
    dynamic.extend([entry(5, strings), entry(10, name + 1), entry(0, 0)].concat());
    for (at, kind, offset, size) in
        [(64, 1_u32, 0, u64::MAX >> 1), (120, 2, bytes.len() as u64, dynamic.len() as u64)]
    {
        bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        for (field, value) in [(8, offset), (16, offset), (32, size)] {
            bytes[at + field..at + field + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    bytes.extend(dynamic);
    bytes.extend(vec![b'a'; name as usize]);
    bytes.push(0);
    bytes
}

#[test]
fn a_greedy_program_costs_the_doctor_little() {
    let Some(library) = library("a_greedy_program_costs_the_doctor_little") else { return };
    let at = directory("doctor-greedy");
    let program = at.join("program");
    common::executable(&program, &greedy());
    let tool = gangway(&library, &at);
    let mut command = limited(&["doctor", program.to_str().unwrap()]);
    copy_environment(&tool, &mut command);
    let begun = Instant::now();
    let (status, said, complaints) = outcome(&mut command);
    assert!(
        status.is_some_and(|status| status != 101 && status < 128) && begun.elapsed() < LIMIT,
        "{status:?}, {:?}: {said}{complaints}",
        begun.elapsed()
    );
}
