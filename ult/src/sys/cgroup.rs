//! CPU quotas of control groups: how many processors' worth of time the process is granted.
//!
//! Containers rarely shrink the affinity mask; they set a quota. If a pool has more threads than
//! the quota allows, the kernel throttles all of them at once. Both versions are read, because
//! hybrid systems mount both: version 2 has `cpu.max` (quota and period in microseconds, or `max`),
//! version 1 has `cpu.cfs_quota_us` (−1: none) and `cpu.cfs_period_us`. A group's limit holds for
//! everything below it, so every level up to the mount point counts and the smallest wins.
//!
//! Where a group is found: `/proc/self/cgroup` names it relative to the hierarchy's root,
//! `/proc/self/mountinfo` says which part of the hierarchy is mounted where. In a container without
//! a cgroup namespace the two disagree (the path names the host's view, the mount shows only the
//! container's own group); then the mount point itself is the group.
//!
//! This is read by every process that forks a region, so it opens few files, some ten microseconds
//! each. If every group is the root and the whole system is seen, there is no quota, and no further
//! file is opened. A group that is found where nearly all systems have it needs no `mountinfo`, and
//! a quota of -1 no period.

use std::cell::LazyCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The smallest quota in processors that applies to this process, `None` without a limit.
#[cold]
pub(crate) fn quota(root: &Path) -> Option<f64> {
    let memberships = text_of(&root.join("proc/self/cgroup"))?;
    let mut groups = memberships.lines().filter_map(Membership::parse);
    if groups.all(|group| group.path == "/") && sees_all_groups(root) {
        return None;
    }
    let mounts = LazyCell::new(|| {
        let mountinfo = text_of(&root.join("proc/self/mountinfo")).unwrap_or_default();
        mountinfo.lines().filter_map(Mount::parse).collect::<Vec<_>>()
    });
    let limits =
        memberships.lines().filter_map(Membership::parse).flat_map(|group| group.limits(root, || &**mounts));
    limits.min_by(f64::total_cmp)
}

/// Is the root that this process sees the system's, and not that of a container's namespace?
/// `PROC_CGROUP_INIT_INO` in the kernel's `proc_ns.h`.
fn sees_all_groups(root: &Path) -> bool {
    fs::read_link(root.join("proc/self/ns/cgroup")).is_ok_and(|name| name == Path::new("cgroup:[4026531835]"))
}

/// A file of the kernel's, which has no size to ask for before.
#[cold]
fn text_of(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let (mut text, mut block) = (Vec::new(), [0; 2048]);
    loop {
        match file.read(&mut block).ok()? {
            0 => return String::from_utf8(text).ok(),
            length => text.extend_from_slice(&block[..length]),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A line of `/proc/self/cgroup` that concerns CPU time: `0::/path` or `4:cpu,cpuacct:/path`.
struct Membership<'a> {
    version: Version,
    path: &'a str,
}

impl<'a> Membership<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let version = match controllers {
            "" if hierarchy == "0" => Version::Two,
            _ if has_word(controllers, "cpu") => Version::One,
            _ => return None,
        };
        Some(Self { version, path })
    }

    /// The limits of this group and of those around it, as far up as the mount shows them.
    fn limits<'m>(&self, root: &Path, mounts: impl FnOnce() -> &'m [Mount]) -> Vec<f64> {
        let usual = self.usual_directory(root);
        let (point, group) = usual.unwrap_or_else(|| self.directory(mounts()));
        let top = below(root, &point);
        let bottom = below(&top, &group);
        let levels = bottom.ancestors().take_while(|level| level.starts_with(&top));
        levels.filter_map(|level| limit_of(level, self.version)).collect()
    }

    /// As [`Membership::directory`], if the hierarchy is where it usually is, and has the group by
    /// the path that the process knows.
    fn usual_directory(&self, root: &Path) -> Option<(PathBuf, PathBuf)> {
        // Besides the places a file that all of such groups have, and no others.
        let (points, mark) = match self.version {
            Version::Two => (["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], "cgroup.controllers"),
            Version::One => (["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"], "cpu.cfs_quota_us"),
        };
        let group = Path::new(self.path);
        if group.components().any(|component| component == Component::ParentDir) {
            return None;
        }
        let has_group = |point: &Path| below(&below(root, point), group).join(mark).exists();
        let point = points.into_iter().map(Path::new).find(|point| has_group(point))?;
        Some((point.into(), group.into()))
    }

    /// Mount point, and the group's path below it.
    fn directory(&self, mounts: &[Mount]) -> (PathBuf, PathBuf) {
        let path = Path::new(self.path);
        let fitting = mounts.iter().filter(|mount| mount.version == self.version);
        // Bind mounts may show several parts of the hierarchy: the one that holds our group says
        // most.
        let best = fitting.max_by_key(|mount| path.strip_prefix(&mount.shows).is_ok());
        let Some(mount) = best else {
            let usual = if self.version == Version::Two { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" };
            return (usual.into(), path.into());
        };
        let group = path.strip_prefix(&mount.shows).unwrap_or(Path::new(""));
        (mount.point.clone(), group.into())
    }
}

/// A mounted hierarchy that may carry CPU quotas.
struct Mount {
    version: Version,
    /// The group that appears at the mount point; `/` normally.
    shows: PathBuf,
    point: PathBuf,
}

impl Mount {
    /// `36 35 0:31 /docker/1 /sys/fs/cgroup/cpu ro,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct`
    fn parse(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (shows, point) = (unescape(place.next()?), unescape(place.next()?));
        let mut kind = kind.split(' ');
        let version = match kind.next()? {
            "cgroup2" => Version::Two,
            "cgroup" if has_word(kind.nth(1)?, "cpu") => Version::One,
            _ => return None,
        };
        Some(Self { version, shows: shows.into(), point: point.into() })
    }
}

/// `path` placed below `top`, whether it is absolute or not. A `..` (a group outside our cgroup
/// namespace) makes it `top`.
fn below(top: &Path, path: &Path) -> PathBuf {
    let mut result = top.to_path_buf();
    for component in path.components() {
        match component {
            Component::Normal(name) => result.push(name),
            Component::ParentDir => return top.to_path_buf(),
            _ => {}
        }
    }
    result
}

fn limit_of(group: &Path, version: Version) -> Option<f64> {
    match version {
        Version::Two => {
            let text = text_of(&group.join("cpu.max"))?;
            let mut words = text.split_whitespace();
            // The period may be left out when the file is written, but not when it is read.
            ratio(words.next()?, words.next()?)
        }
        Version::One => {
            let quota = text_of(&group.join("cpu.cfs_quota_us"))?;
            if quota.trim_start().starts_with('-') {
                return None;
            }
            let period = text_of(&group.join("cpu.cfs_period_us"))?;
            ratio(quota.trim(), period.trim())
        }
    }
}

/// Quota by period; `None` for `max`, −1 and everything else that is no limit.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|entry| entry == word)
}

/// Undoes mountinfo's octal escapes for space, tab, newline and backslash.
fn unescape(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
