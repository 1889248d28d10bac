//! The cache of links where others share it: processes of equal numbers in containers, and users
//! who may write there.

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{copy_environment, directory, gangway, library, outcome};

/// The command as process 1 of a container, or why a test is left out.
fn in_container(test: &str, library: &Path, cache: &Path) -> Option<Command> {
    const WORDS: [&str; 3] = ["-Urpf", "--kill-child", "--"];
    if !Command::new("unshare")
        .args(WORDS)
        .arg("true")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("{test} is left out: containers cannot be made here (unshare -Urpf)");
        return None;
    }
    let tool = gangway(library, cache);
    let mut command = Command::new("unshare");
    command.args(WORDS).arg(tool.get_program());
    copy_environment(&tool, &mut command);
    Some(command)
}

#[test]
fn process_1_of_a_container_runs_programs() {
    let test = "process_1_of_a_container_runs_programs";
    let Some(library) = library(test) else { return };
    let at = directory("process-1");
    for _ in 0..2 {
        let Some(mut command) = in_container(test, &library, &at) else { return };
        let (status, said, complaints) = outcome(command.args([
            "run",
            "sh",
            "-c",
            "echo $$; grep -c libomp-libgangway /proc/$$/maps >&2; exit 5",
        ]));
        assert_eq!((status, said.as_str()), (Some(5), "1\n"), "{complaints}");
    }
    let Some(mut command) = in_container(test, &library, &at) else { return };
    let own = at.join("own");
    assert_eq!(
        outcome(command.args(["run", "--links"]).arg(&own).arg("true")),
        (Some(0), String::new(), String::new())
    );
    assert!(own.join("libgomp.so.1").is_symlink());
}

#[test]
fn containers_that_share_a_home_do_not_disturb_each_other() {
    let test = "containers_that_share_a_home_do_not_disturb_each_other";
    let Some(library) = library(test) else { return };
    let at = directory("containers");
    let own = at.join("libgangway.so");
    for round in 0..8 {
        // Another state of the library: both make the links.
        fs::copy(&library, &own).unwrap();
        let starts: Vec<_> = (0..4)
            .map(|start| {
                let mut command = in_container(test, &own, &at)?;
                if start >= 2 {
                    command.args(["run", "--links"]).arg(at.join(format!("links-{round}")));
                } else {
                    command.arg("run");
                }
                Some(command.args(["sh", "-c", "exec true"]).stderr(Stdio::piped()).spawn().unwrap())
            })
            .collect();
        for start in starts {
            let Some(start) = start else { return };
            let ended = start.wait_with_output().unwrap();
            assert!(
                ended.status.success() && ended.stderr.is_empty(),
                "{:?}, {}",
                ended.status,
                String::from_utf8_lossy(&ended.stderr)
            );
        }
    }
}

/// What lies in the cache.
fn in_cache(at: &Path) -> Vec<PathBuf> {
    fs::read_dir(at.join("gangway")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn directories_of_the_cache_are_their_users_alone() {
    let Some(library) = library("directories_of_the_cache_are_their_users_alone") else { return };
    let at = directory("private");
    let base = at.join("cache");
    let run = || outcome(gangway(&library, &base).args(["run", "true"]));
    assert_eq!(run().0, Some(0));
    let made = in_cache(&base);
    for directory in [&base, &base.join("gangway"), &made[0]] {
        assert_eq!(fs::metadata(directory).unwrap().mode() & 0o777, 0o700, "{}", directory.display());
    }
    let refused = |shared: &Path| {
        fs::set_permissions(shared, Permissions::from_mode(0o777)).unwrap();
        let (status, _, complaints) = run();
        let fine = status == Some(125)
            && complaints.lines().count() == 1
            && complaints.contains(&format!("{} can be written to by other users", shared.display()));
        assert!(fine, "{status:?}, {complaints}");
        fs::set_permissions(shared, Permissions::from_mode(0o700)).unwrap();
    };
    for shared in [&base, &base.join("gangway"), &made[0]] {
        refused(shared);
    }
    assert_eq!(run().0, Some(0));
}

#[test]
fn links_of_another_user_are_not_loaded() {
    let test = "links_of_another_user_are_not_loaded";
    let Some(library) = library(test) else { return };
    let at = directory("foreign");
    let run = || outcome(gangway(&library, &at).args(["run", "true"]));
    assert_eq!(run().0, Some(0));
    let links = in_cache(&at).remove(0);
    for owned in [&at.join("gangway"), &links] {
        if chown(owned, Some(65534), Some(65534)).is_err() {
            return eprintln!("{test} is left out: only root may give a directory away");
        }
        let (status, _, complaints) = run();
        assert!(
            status == Some(125) && complaints.contains("belongs to user 65534"),
            "{status:?}, {complaints}"
        );
        chown(owned, Some(0), Some(0)).unwrap();
    }
    assert_eq!(run().0, Some(0));
}
