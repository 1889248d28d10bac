//! `cargo xtask programs`: the real programs on Gangway, each answer compared with that under the program's own runtime.
//!
//! Lives here: which runs are made and how they are judged. Every program runs with 1, 2, 4 and 8 threads, by
//! LD_PRELOAD and through the directory of symlinks; each run counts, one row per program is printed.

use crate::answer;
use crate::exec::{self, Ran};
use crate::programs::{self, Places, Program};
use crate::report::Report;
use crate::runtime::{self, Runtime};
use std::path::Path;

const THREADS: [u32; 4] = [1, 2, 4, 8];
/// Seconds after which a run counts as hanging; on an idle machine with two cores none takes five.
const LIMIT: u32 = 60;
/// At most this many failing runs of one program are printed.
const SHOWN: usize = 4;
/// A program that hangs this often is not run any further.
const PATIENCE: usize = 2;

/// Runs all programs whose name contains `filter` on `library`; without a library, on their own runtime only.
pub fn run(places: &Places, library: Option<&Path>, filter: &str, report: &mut Report) {
    let runtimes = match library.map(|l| runtime::gangway(places, l)).transpose() {
        Ok(runtimes) => runtimes.map_or_else(|| vec![Runtime::Own], |r| r.to_vec()),
        Err(e) => return report.fail("programs", &format!("the directory of symlinks: {e}")),
    };
    for program in programs::all(places)
        .iter()
        .filter(|p| p.name.contains(filter))
    {
        match &program.command {
            Ok(_)
                if library.is_none()
                    && (program.reference_is_serial || program.reference.is_some()) =>
            {
                report.skip(program.name, "its own runtime is known to fail it")
            }
            Ok(command) => one(places, program, command, &runtimes, report),
            Err(why) => report.skip(program.name, why),
        }
    }
}

fn one(
    places: &Places,
    program: &Program,
    command: &[String],
    runtimes: &[Runtime],
    report: &mut Report,
) {
    let (mut problems, mut passed, mut hangs, mut seconds) = (Vec::new(), 0, 0, 0.0);
    for threads in THREADS {
        let reference = reference(places, program, command, threads);
        for runtime in runtimes {
            if hangs >= PATIENCE {
                break;
            }
            let env = runtime.env(program, threads);
            let ran = exec::run(&sized(command, program), &env, &places.root, LIMIT);
            seconds += ran.seconds;
            hangs += usize::from(ran.problem.as_deref() == Some("hangs"));
            match judge(program, runtime, &reference, &ran) {
                None => passed += 1,
                Some(why) => problems.push((
                    format!("{threads} threads, {}: {why}", runtime.words()),
                    line(&env, command, program),
                )),
            }
        }
    }
    let all = THREADS.len() * runtimes.len();
    let note = format!("{passed} of {all} runs right, {seconds:.1} s");
    report.row(
        if passed == all { "pass" } else { "FAIL" },
        program.name,
        &note,
    );
    for (problem, line) in problems.iter().take(SHOWN) {
        println!("                 {problem}\n                   again: {line}");
    }
    if problems.len() > SHOWN {
        println!("                 and {} more runs", problems.len() - SHOWN);
    }
    report.add(passed, all - passed, 0);
}

/// The answer under the program's own runtime.
fn reference(places: &Places, program: &Program, command: &[String], threads: u32) -> Ran {
    let threads = if program.reference_is_serial {
        1
    } else {
        threads
    };
    let command = program.reference.as_deref().unwrap_or(command);
    exec::run(
        &sized(command, program),
        &Runtime::Own.env(program, threads),
        &places.root,
        LIMIT,
    )
}

fn judge(program: &Program, runtime: &Runtime, reference: &Ran, ran: &Ran) -> Option<String> {
    if let Some(problem) = &reference.problem {
        return Some(format!(
            "{problem} under its own runtime: {}",
            exec::last_line(&reference.stderr)
        ));
    }
    if let Some(problem) = &ran.problem {
        return Some(format!("{problem}: {}", exec::last_line(&ran.stderr)));
    }
    let ours = ran.stderr.contains("runtime: gangway");
    if *runtime != Runtime::Own && !ours {
        return Some("Gangway was not loaded into it".into());
    }
    let said = ran.stderr.lines().find(|l| !l.starts_with("runtime: "));
    said.map(|l| format!("it says: {l}"))
        .or_else(|| answer::difference(&reference.stdout, &ran.stdout, program.tolerance))
}

fn sized(command: &[String], program: &Program) -> Vec<String> {
    command
        .iter()
        .cloned()
        .chain([program.sizes[0].to_string()])
        .collect()
}

/// The line to type to see a failure again.
fn line(env: &[(String, String)], command: &[String], program: &Program) -> String {
    let env = env.iter().map(|(k, v)| format!("{k}={v}"));
    env.chain(sized(command, program))
        .collect::<Vec<_>>()
        .join(" ")
}
