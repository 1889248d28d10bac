//! CPU quotas of control groups: how many processors' worth of time the process is granted.
//!
//! Containers rarely shrink the affinity mask; they set a quota, and a pool larger than it is throttled with all its
//! threads at once. Both versions are read, because hybrid systems mount both: version 2 has `cpu.max` (quota and period
//! in microseconds, or `max`), version 1 has `cpu.cfs_quota_us` (−1: none) and `cpu.cfs_period_us`. A group's limit
//! holds for everything below it, so every level up to the mount point counts and the smallest wins.
//!
//! Where a group is found: `/proc/self/cgroup` names it relative to the hierarchy's root, `/proc/self/mountinfo` says
//! which part of the hierarchy is mounted where. In a container without a cgroup namespace the two disagree (the
//! path names the host's view, the mount shows only the container's own group); then the mount point itself is the group.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The smallest quota in processors that applies to this process, `None` without a limit.
pub(super) fn quota(root: &Path) -> Option<f64> {
    let memberships = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mountinfo = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
    let limits = memberships
        .lines()
        .filter_map(Membership::parse)
        .flat_map(|group| group.limits(root, &mounts));
    limits.min_by(f64::total_cmp)
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
    fn limits(&self, root: &Path, mounts: &[Mount]) -> Vec<f64> {
        let (point, group) = self.directory(mounts);
        let top = below(root, &point);
        let bottom = below(&top, &group);
        let levels = bottom
            .ancestors()
            .take_while(|level| level.starts_with(&top));
        levels
            .filter_map(|level| limit_of(level, self.version))
            .collect()
    }

    /// Mount point, and the group's path below it.
    fn directory(&self, mounts: &[Mount]) -> (PathBuf, PathBuf) {
        let path = Path::new(self.path);
        let fitting = mounts.iter().filter(|mount| mount.version == self.version);
        // Bind mounts may show several parts of the hierarchy: the one that holds our group says most.
        let best = fitting.max_by_key(|mount| path.strip_prefix(&mount.shows).is_ok());
        let Some(mount) = best else {
            let usual = if self.version == Version::Two {
                "/sys/fs/cgroup"
            } else {
                "/sys/fs/cgroup/cpu"
            };
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
        Some(Self {
            version,
            shows: shows.into(),
            point: point.into(),
        })
    }
}

/// `path` placed below `top`, whether it is absolute or not. A `..` (a group outside our cgroup namespace) makes it `top`.
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
            let text = fs::read_to_string(group.join("cpu.max")).ok()?;
            let mut words = text.split_whitespace();
            // The period may be left out when the file is written, but not when it is read.
            ratio(words.next()?, words.next()?)
        }
        Version::One => {
            let quota = fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
            let period = fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
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
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    escapes
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
