//! Checks that no other user can change a directory, because programs load libraries from it.
//!
//! The check includes all directories above: the owner of one can replace what lies in it. Symbolic
//! links are followed first, and the caller goes on with the path that was checked ([`Checked`]),
//! for a link may be changed later. OpenSSH checks a user's keys so (`StrictModes`,
//! sshd_config(5)).
//!
//! What may not live here: what becomes of a directory that others can change.

use std::fs::{self, DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{io, iter};

/// Who may own a directory.
struct AllowedOwners {
    user: u32,
    group: u32,
    /// What the kernel says of owners that the user namespace does not know, if there are such:
    /// user_namespaces(7).
    unmapped: Option<u32>,
}

impl AllowedOwners {
    fn of_process() -> Self {
        // SAFETY: these two have no arguments and cannot fail.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let maps_all = fs::read_to_string("/proc/self/uid_map")
            .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
        let unmapped = || fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok();
        Self { user, group, unmapped: if maps_all { None } else { unmapped() } }
    }

    /// Why the directory `of` these data is not to be trusted; nothing if it is.
    fn problem(&self, of: &Metadata, is_above: bool) -> Option<String> {
        let owner = of.uid();
        let may_own = owner == self.user || (is_above && (owner == 0 || Some(owner) == self.unmapped));
        if !may_own {
            return Some(format!("belongs to user {owner}"));
        }
        // In a sticky directory only the owner of the directory or of a file can rename the file. A
        // group whose number is the user's is taken for private to the user, as distributions make
        // them.
        let is_safe = (is_above && of.mode() & 0o1000 != 0)
            || (of.mode() & 0o002 == 0
                && (of.mode() & 0o020 == 0 || (of.gid() == self.group && of.gid() == self.user)));
        (!is_safe).then(|| "can be written to by other users".into())
    }
}

/// What a check has found.
pub struct Checked {
    /// The directory, without symbolic links.
    pub real: PathBuf,
    /// Why other users than the superuser could change what lies in it, as a sentence about it or a
    /// directory above; nothing if they cannot.
    pub problem: Option<String>,
}

/// Checks a directory.
///
/// # Errors
/// The directory, or one above, cannot be asked for its owner.
pub fn check(directory: &Path) -> io::Result<Checked> {
    let real = directory.canonicalize()?;
    let owners = AllowedOwners::of_process();
    for (steps, at) in real.ancestors().enumerate() {
        if let Some(why) = owners.problem(&fs::symlink_metadata(at)?, steps != 0) {
            let problem = Some(format!("{} {why}", at.display()));
            return Ok(Checked { real, problem });
        }
    }
    Ok(Checked { real, problem: None })
}

/// Makes a directory, and those above that are not there, for the user alone (mode 0700).
///
/// # Errors
/// Those of `mkdir(2)`; that it is there already is none.
pub fn create_private(directory: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        iter::successors(Some(directory), |at| at.parent()).take_while(|at| !at.exists()).collect();
    for at in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(at) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use links::unique::UniqueDirectory;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    fn problem(of: &Path) -> Option<String> {
        check(of).unwrap().problem
    }

    fn mode(at: &Path, mode: u32) {
        fs::set_permissions(at, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_directory_of_the_users_in_a_sticky_one_is_trusted() {
        let at = UniqueDirectory::new(&std::env::temp_dir(), "gangway-trust-").unwrap();
        assert_eq!(problem(at.path()), None);
        let inner = at.path().join("a/b");
        create_private(&inner).unwrap();
        create_private(&inner).unwrap();
        assert_eq!(fs::metadata(at.path().join("a")).unwrap().mode() & 0o777, 0o700);
        assert_eq!(problem(&inner), None);
        assert!(check(&at.path().join("none")).is_err());
        fs::write(at.path().join("file"), "").unwrap();
        assert!(create_private(&at.path().join("file/c")).is_err());
    }

    #[test]
    fn others_who_may_write_to_it_or_above_are_seen() {
        let at = UniqueDirectory::new(&std::env::temp_dir(), "gangway-trust-").unwrap();
        let [above, inner] = ["a", "a/b"].map(|name| at.path().join(name));
        create_private(&inner).unwrap();
        let says = |of: &Path, what: &str| problem(of).is_some_and(|why| why.contains(what));
        for shared in [0o777, 0o702] {
            mode(&above, shared);
            assert!(says(&inner, "/a can be written to by other users"), "{shared:o}");
        }
        mode(&above, 0o1777);
        assert_eq!(problem(&inner), None);
        assert!(says(&above, "can be written to"), "sticky or not, others may put files into it");
        mode(&above, 0o755);
        symlink(&inner, at.path().join("link")).unwrap();
        mode(&inner, 0o777);
        assert!(says(&at.path().join("link"), "/a/b can be written to"));
    }

    #[test]
    fn owners_are_the_user_and_above_the_superuser() {
        let at = UniqueDirectory::new(&std::env::temp_dir(), "gangway-trust-").unwrap();
        if chown(at.path(), Some(65534), Some(65534)).is_err() {
            return eprintln!(
                "owners_are_the_user_and_above_the_superuser is left out: this user cannot give a directory away"
            );
        }
        let data = fs::metadata(at.path()).unwrap();
        let problem =
            |user, unmapped, is_above| AllowedOwners { user, group: user, unmapped }.problem(&data, is_above);
        assert_eq!(problem(0, None, true), Some("belongs to user 65534".into()));
        assert_eq!(problem(65534, None, false), None);
        assert_eq!(problem(0, Some(65534), true), None);
        assert!(problem(0, Some(65534), false).is_some());
        let of_root = fs::metadata("/").unwrap();
        assert_eq!(AllowedOwners { user: 1000, group: 1000, unmapped: None }.problem(&of_root, true), None);
        assert!(AllowedOwners { user: 1000, group: 1000, unmapped: None }.problem(&of_root, false).is_some());
    }

    #[test]
    fn a_group_of_the_users_own_may_write() {
        let at = UniqueDirectory::new(&std::env::temp_dir(), "gangway-trust-").unwrap();
        mode(at.path(), 0o770);
        let data = fs::metadata(at.path()).unwrap();
        let problem = |user, group| AllowedOwners { user, group, unmapped: None }.problem(&data, false);
        assert_eq!(problem(data.uid(), data.gid()).is_none(), data.uid() == data.gid());
        assert!(problem(data.uid(), data.gid() + 1).is_some());
    }
}
