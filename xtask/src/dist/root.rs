//! The Debian package in a minimal Debian: installed there by apt with nothing but what it depends
//! on, tried, tried again with a compiler, CMake and pkg-config, and removed.
//!
//! The mirror is the one that this machine's apt uses. It takes minutes and some 700 MB, so it is
//! no part of the gate.

use super::{check, step};
use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = "Debian package in a minimal Debian";
/// The release that it is tried in.
const RELEASE: &str = "bookworm";
/// What the second half of the checks needs.
const TOOLS: [&str; 5] = ["gcc", "libc6-dev", "clang-14", "libomp-14-dev", "cmake"];

/// Makes the root, installs and checks. Says why not where that cannot be.
pub fn run(places: &Workspace, package: &Path, report: &mut Report) {
    let made = prerequisites()
        .and_then(|()| mirror())
        .and_then(|mirror| Root::make(places.target.join("dist/root"), &mirror));
    let root = match made {
        Ok(root) => root,
        Err(why) => return report.skip(NAME, &why),
    };
    if let Err(why) = in_root(places, package, &root, report) {
        report.fail(NAME, &why);
    }
}

fn prerequisites() -> Result<(), String> {
    if step(&["id", "-u"], &[], Path::new("/"), 10)?.trim() != "0" {
        return Err("only root can make another root".into());
    }
    for tool in ["debootstrap", "unshare"] {
        if !exec::on_path(tool) {
            return Err(format!("{tool} is not installed"));
        }
    }
    let proc =
        step(&["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"], &[], Path::new("/"), 10);
    proc.map(drop).map_err(|_| "this root may not mount a /proc of its own".into())
}

/// Where this machine's apt has the release from.
fn mirror() -> Result<String, String> {
    let said = step(
        &["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
        &[],
        Path::new("/"),
        60,
    )?;
    let lines = said.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let site = words.next()?;
        (words.next() == Some(RELEASE) && words.next() == Some("main")).then(|| site.to_string())
    });
    lines.into_iter().next().ok_or(format!("apt of this machine has no mirror of {RELEASE}"))
}

/// A directory with a Debian in it.
struct Root(PathBuf);

impl Root {
    fn make(at: PathBuf, mirror: &str) -> Result<Root, String> {
        if at.exists() {
            fs::remove_dir_all(&at).map_err(|e| format!("{}: {e}", at.display()))?;
        }
        let shown = at.display().to_string();
        step(&["debootstrap", "--variant=minbase", RELEASE, &shown, mirror], &[], Path::new("/"), 900)?;
        Ok(Root(at))
    }

    /// Runs a command inside, with a /proc of its own that goes with it.
    fn inside(&self, words: &[&str], limit: u32) -> Result<String, String> {
        let root = self.0.display().to_string();
        let proc = format!("--mount-proc={root}/proc");
        let env = [
            ("DEBIAN_FRONTEND", "noninteractive"),
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("HOME", "/root"),
        ];
        step(
            &[&["unshare", "--mount", "--pid", "--fork", &proc, "chroot", &root], words].concat(),
            &env,
            Path::new("/"),
            limit,
        )
    }
}

fn in_root(places: &Workspace, package: &Path, root: &Root, report: &mut Report) -> Result<(), String> {
    fs::copy(package, root.0.join("gangway.deb")).map_err(|e| e.to_string())?;
    check::prepared(places, &root.0.join("check"))?;
    root.inside(&["apt-get", "install", "-y", "-qq", "--no-install-recommends", "/gangway.deb"], 300)?;
    let tried = |what: &str, extent: &str, report: &mut Report| -> Result<(), String> {
        let said = root.inside(&["sh", "-c", &format!("cd /check && sh check.sh /usr {extent}")], 300)?;
        check::judge(&format!("{NAME}{what}"), &said, report);
        Ok(())
    };
    tried("", "bare", report)?;
    root.inside(
        &[&["apt-get", "install", "-y", "-qq", "--no-install-recommends", "pkg-config", "make"], &TOOLS[..]]
            .concat(),
        900,
    )?;
    tried(", with compilers", "", report)?;
    root.inside(&["apt-get", "remove", "-y", "-qq", "gangway"], 120)?;
    let left: Vec<String> = ["usr/lib/gangway", "usr/bin/gangway", "usr/lib/cmake/Gangway"]
        .into_iter()
        .filter(|name| root.0.join(name).exists())
        .map(|name| format!("/{name} stays"))
        .collect();
    report.check(&format!("{NAME}: removed"), left);
    fs::remove_dir_all(&root.0).map_err(|e| format!("{}: {e}", root.0.display()))
}
