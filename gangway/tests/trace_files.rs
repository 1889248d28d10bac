//! Where a trace goes. The program's exit status does not depend on the trace file, and an existing
//! trace stays until the new one is complete.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{built, copy_environment, directory, gangway, library, outcome};

const PROGRAM: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int threads;

static void region(int rounds)
{
    for (int i = 0; i < rounds; i++)
#pragma omp parallel num_threads(2)
#pragma omp atomic
        threads++;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    region(2);
    if (strcmp(what, "moves") == 0 && chdir(argv[2]) != 0)
        return 1;
    if (strcmp(what, "much") == 0)
        region(3000);
    if (strcmp(what, "starts") == 0 || strcmp(what, "stays") == 0)
        region(50);
    if (strcmp(what, "starts") == 0) {
        char command[4096];
        snprintf(command, sizeof command, "%s child", argv[0]);
        if (system(command) == -1)
            return 1;
    }
    if (strcmp(what, "stays") == 0) {
        /* A child that lives on after its parent, and starts another program then. */
        if (fork() == 0) {
            usleep(300000);
            execl(argv[0], argv[0], "child", (char *)0);
        }
        usleep(100000);
    }
    puts("done");
    return 7;
}
"#;

/// The program and the library, or why a test is left out.
fn made(test: &str, at: &Path) -> Option<(PathBuf, PathBuf)> {
    let library = library(test)?;
    let (source, program) = (at.join("program.c"), at.join("program"));
    fs::write(&source, PROGRAM).unwrap();
    if !built("gcc", &source, &program, &["-fopenmp"]) {
        eprintln!("{test} is left out: gcc is not here");
        return None;
    }
    Some((library, program))
}

/// The program traces to this file; where it has children, their status is not looked at.
fn traced(library: &Path, program: &Path, at: &Path, file: &str, words: &[&str]) -> String {
    let mut command = gangway(library, at);
    let ended = outcome(
        command
            .current_dir(at)
            .arg("run")
            .args(["--env", &format!("GANGWAY_TRACE={file}")])
            .arg(program)
            .args(words),
    );
    assert!(ended.0 == Some(7) && ended.1.ends_with("done\n"), "{words:?}: {ended:?}");
    ended.2
}

fn is_trace(file: &Path) -> bool {
    fs::read_to_string(file)
        .is_ok_and(|text| text.starts_with("{\"displayTimeUnit\"") && text.ends_with("}}\n"))
}

fn names(at: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_trace_lies_where_its_name_led_when_the_program_began() {
    let at = directory("trace-moves");
    let Some((library, program)) = made("a_trace_lies_where_its_name_led_when_the_program_began", &at) else {
        return;
    };
    let (one, two) = (at.join("100%p"), at.join("two"));
    fs::create_dir(&one).and_then(|()| fs::create_dir(&two)).unwrap();
    let mut command = gangway(&library, &at);
    let ended = outcome(
        command
            .current_dir(&one)
            .args(["run", "--env", "GANGWAY_TRACE=t.json"])
            .arg(&program)
            .arg("moves")
            .arg(&two),
    );
    assert_eq!((ended.0, ended.2.as_str()), (Some(7), ""));
    assert!(is_trace(&one.join("t.json")) && names(&two).is_empty());
}

#[test]
fn what_is_no_file_costs_the_trace_alone() {
    let at = directory("trace-pipe");
    let Some((library, program)) = made("what_is_no_file_costs_the_trace_alone", &at) else { return };
    assert!(Command::new("mkfifo").arg(at.join("pipe")).status().unwrap().success());
    for (file, why) in [("pipe", "is a pipe"), (".", "is a directory"), ("none/t.json", "No such file")] {
        let said = traced(&library, &program, &at, file, &[]);
        assert!(
            said.lines().count() == 1 && said.contains(why) && said.contains("there is no trace"),
            "{file}: {said}"
        );
    }
    assert_eq!(traced(&library, &program, &at, "/dev/null", &[]), "");
    assert!(fs::metadata("/dev/null").unwrap().len() == 0 && !fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_full_disk_or_a_limit_leaves_the_trace_of_before() {
    let at = directory("trace-full");
    let Some((library, program)) = made("a_full_disk_or_a_limit_leaves_the_trace_of_before", &at) else {
        return;
    };
    let said = traced(&library, &program, &at, "t.json", &[]);
    assert!(said.is_empty() && is_trace(&at.join("t.json")));
    let before = fs::read(at.join("t.json")).unwrap();
    // 4 blocks of 512 or 1024 bytes, as the shell counts them.
    let tool = gangway(&library, &at);
    let mut limited = Command::new("sh");
    limited
        .current_dir(&at)
        .args(["-c", "ulimit -f 4; exec \"$@\"", "sh"])
        .arg(tool.get_program())
        .args(["run", "--env", "GANGWAY_TRACE=t.json"])
        .arg(&program)
        .arg("much");
    copy_environment(&tool, &mut limited);
    let (status, _, said) = outcome(&mut limited);
    assert!(
        status == Some(7) && said.contains("ulimit -f") && said.contains("there is no trace"),
        "{status:?}, {said}"
    );
    assert_eq!(fs::read(at.join("t.json")).unwrap(), before);
    assert!(!names(&at).iter().any(|name| name.starts_with(".gangway-")), "{:?}", names(&at));
    full_disk(&library, &program, &at);
}

/// A trace that is longer than the room on a small disk.
fn full_disk(library: &Path, program: &Path, at: &Path) {
    let disk = at.join("disk");
    fs::create_dir(&disk).unwrap();
    let script = "mount -t tmpfs -o size=64k none \"$1\" || exit 77; echo old >\"$1/t.json\"; shift; \"$@\"; echo $? $(cat disk/t.json) $(ls -A disk)";
    let tool = gangway(library, at);
    let mut command = Command::new("unshare");
    command.current_dir(at).args(["-Urm", "sh", "-c", script, "sh"]).arg(&disk).arg(tool.get_program());
    command.args(["run", "--env", "GANGWAY_TRACE=disk/t.json"]).arg(program).arg("much");
    copy_environment(&tool, &mut command);
    match outcome(&mut command) {
        (Some(0), printed, said) => assert!(
            printed == "done\n7 old t.json\n"
                && said.contains("No space left")
                && said.contains("there is no trace"),
            "{printed}{said}"
        ),
        (status, _, said) => {
            eprintln!("a full disk is left out: a small one cannot be mounted here ({status:?}, {said})")
        }
    }
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let at = directory("trace-link");
    let Some((library, program)) = made("a_link_stays_and_what_it_leads_to_is_written", &at) else { return };
    fs::create_dir(at.join("d")).unwrap();
    fs::write(at.join("d/t.json"), "old").unwrap();
    symlink("d/t.json", at.join("link")).unwrap();
    assert_eq!(traced(&library, &program, &at, "link", &[]), "");
    assert!(fs::symlink_metadata(at.join("link")).unwrap().is_symlink() && is_trace(&at.join("d/t.json")));
}

#[test]
fn programs_that_are_started_have_traces_of_their_own() {
    let at = directory("trace-child");
    let Some((library, program)) = made("programs_that_are_started_have_traces_of_their_own", &at) else {
        return;
    };
    for (what, file) in [("starts", "a.json"), ("stays", "b.json")] {
        let mut command = gangway(&library, &at);
        command
            .current_dir(&at)
            .args(["run", "--env", &format!("GANGWAY_TRACE={file}")])
            .arg(&program)
            .arg(what);
        // The child keeps the pipe of standard error, so this waits for it, too.
        let said = outcome(&mut command).2;
        let mut traces: Vec<_> = names(&at).into_iter().filter(|name| name.starts_with(&file[..2])).collect();
        traces.retain(|name| is_trace(&at.join(name)));
        assert!(traces.len() == 2 && traces.contains(&file.to_owned()), "{traces:?}");
        let child = traces.iter().find(|name| *name != file).unwrap();
        assert!(
            said.contains(&format!("{file} is the trace of another process"))
                && said.contains(child.as_str()),
            "{said}"
        );
        assert!(
            fs::metadata(at.join(file)).unwrap().len() > fs::metadata(at.join(child)).unwrap().len(),
            "the parent's has the name"
        );
    }
}
