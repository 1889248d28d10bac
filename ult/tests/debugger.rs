//! What gdb shows from inside a user-level thread: the frames of its stack, and an end that it
//! takes for one.
use std::process::Command;
use ult::stack;

mod common;
use common::{Pair, child, role, skip};

#[test]
fn a_backtrace_ends_at_the_base() {
    let program = child("stop");
    let output = Command::new("timeout")
        .args([
            "120",
            "gdb",
            "-batch",
            "-nx",
            "-ex",
            "set debuginfod enabled off",
            "-ex",
            "run",
            "-ex",
            "bt",
            "--args",
        ])
        .arg(program.get_program())
        .args(program.get_args())
        .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output();
    let text = match output {
        Ok(output) if output.status.code() != Some(127) => {
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        }
        _ => return skip("no `gdb`"),
    };
    if !text.contains("SIGTRAP") {
        return skip(&format!("gdb cannot run programs here: {text}"));
    }
    let frames: Vec<_> = text.lines().filter(|line| line.starts_with('#')).collect();
    for name in ["second_function", "first_function"] {
        assert_eq!(frames.iter().filter(|frame| frame.contains(name)).count(), 1, "{text}");
    }
    assert!(frames.last().unwrap().contains("::base"), "{text}");
    assert!(!text.contains("Backtrace stopped") && !text.contains("corrupt"), "{text}");
}

#[inline(never)]
fn second_function() {
    // SAFETY: stops in the debugger.
    unsafe { libc::raise(libc::SIGTRAP) };
    std::hint::black_box(());
}

unsafe extern "C" fn first_function(_: usize) -> ! {
    second_function();
    std::process::exit(0);
}

#[test]
fn role_of_child() {
    if role().is_some() {
        let (pair, stack) = (Pair::new(), stack::take(1 << 20).unwrap());
        pair.start(&stack, first_function);
        pair.to_other(0);
    }
}
