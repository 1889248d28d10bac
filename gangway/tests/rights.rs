//! A program that gains rights when it is started, linked with the library: what its environment
//! may have it do.

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use links::unique::UniqueDirectory;

use common::{built, gangway, library, outcome};

/// Prints its users, and how many threads a region has.
const PROGRAM: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    int threads = 0;
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    printf("%d %d %d\n", (int)getuid(), (int)geteuid(), threads);
    return 0;
}
"#;

/// A tool that shows that its code runs.
const TOOL: &str = r#"
#include <stdio.h>
void *ompt_start_tool(unsigned version, const char *runtime)
{
    puts("the tool's code runs");
    return NULL;
}
"#;

const USER: u32 = 65534;

/// A directory that the user of few rights can reach, with the program linked against the library.
fn setuid_program(test: &str, library: &Path) -> Option<UniqueDirectory> {
    let left_out = |why: &str| eprintln!("{test} is left out: {why}");
    let at = UniqueDirectory::new(&std::env::temp_dir(), "gangway-rights-").unwrap();
    fs::set_permissions(at.path(), Permissions::from_mode(0o755)).unwrap();
    // The loader takes libraries of such programs only from places that their users cannot choose.
    let links = at.path().join("links");
    assert_eq!(
        outcome(gangway(library, at.path()).args(["run", "--links"]).arg(&links).arg("true")).0,
        Some(0)
    );
    let (source, program) = (at.path().join("program.c"), at.path().join("program"));
    fs::write(&source, PROGRAM).unwrap();
    fs::write(at.path().join("tool.c"), TOOL).unwrap();
    let rpath = format!("-Wl,-rpath,{}", links.display());
    if !built("gcc", &source, &program, &["-fopenmp", &rpath])
        || !built("gcc", &at.path().join("tool.c"), &at.path().join("tool.so"), &["-shared", "-fPIC"])
    {
        left_out("gcc is not here");
        return None;
    }
    if chown(&program, Some(0), Some(0)).is_err() {
        left_out("only root can make a setuid program");
        return None;
    }
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();
    fs::create_dir(at.path().join("open")).unwrap();
    fs::set_permissions(at.path().join("open"), Permissions::from_mode(0o777)).unwrap();
    if outcome(Command::new(&program).uid(USER).gid(USER).env("OMP_NUM_THREADS", "2")).1
        != format!("{USER} 0 2\n")
    {
        left_out("the file system does not let programs gain rights (nosuid)");
        return None;
    }
    Some(at)
}

#[test]
fn no_variable_of_its_user_has_it_write_files_or_run_code() {
    let test = "no_variable_of_its_user_has_it_write_files_or_run_code";
    let Some(library) = library(test) else { return };
    let Some(at) = setuid_program(test, &library) else { return };
    let at = at.path();
    let name = |file: &str| at.join(file).display().to_string();
    let variables = [
        ("GANGWAY_TRACE", name("open/trace")),
        ("OMP_TOOL_LIBRARIES", name("tool.so")),
        ("OMP_TOOL_VERBOSE_INIT", name("open/log")),
        ("OMPX_GRAPH", name("open/graph")),
        ("OMPX_SCHED", format!("library:{}", name("tool.so"))),
        ("OMPX_CUDA", name("tool.so")),
        ("OMPX_TASKS", name("tasks")),
        ("OMPX_RATES", name("rates")),
        ("GANGWAY_TOPOLOGY", name("topology")),
    ];
    let run = |program: &Path| {
        let mut command = Command::new(program);
        outcome(
            command
                .uid(USER)
                .gid(USER)
                .env("OMP_NUM_THREADS", "3")
                .envs(variables.iter().map(|(n, v)| (*n, v.as_str()))),
        )
    };
    let (status, said, complaints) = run(&at.join("program"));
    assert!(status == Some(0) && said == format!("{USER} 0 3\n"), "{said}{complaints}");
    assert_eq!(fs::read_dir(at.join("open")).unwrap().count(), 0);
    for (variable, _) in &variables {
        let line =
            complaints.lines().find(|line| line.contains(&format!("{variable}: names a file or a library")));
        assert!(line.is_some_and(|line| line.ends_with("not read")), "{variable}: {complaints}");
    }
    // The second run shows what three of them do to an ordinary program.
    fs::set_permissions(at.join("program"), Permissions::from_mode(0o755)).unwrap();
    let (status, said, _) = run(&at.join("program"));
    assert!(status == Some(0) && said.contains("the tool's code runs"), "{said}");
    assert!(at.join("open/trace").exists() && at.join("open/log").exists());
}
