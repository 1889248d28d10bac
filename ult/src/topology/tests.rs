//! Machines other than the one that runs the tests: fabricated `/sys` and `/proc` trees.

use super::{Cpu, caches, cgroup, sysfs, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory that plays `/` and disappears with the test.
struct Root(PathBuf);

impl Root {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // ORDERING: Relaxed: only uniqueness matters.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("gangway-topology-{}-{number}", std::process::id())))
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn files(self, files: &[(&str, &str)]) -> Self {
        files.iter().fold(self, |root, (path, text)| root.file(path, text))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// 2 sockets × 4 NUMA nodes × 12 cores × 2 hardware threads. Processor `c + 96 t` is thread `t` of
/// core `c`.
fn large_machine(root: Root) -> Root {
    let mut root = root.file("sys/devices/system/node/online", "0-7\n");
    for node in 0..8 {
        let (first, last) = (node * 12, node * 12 + 11);
        let text = format!("{first}-{last},{}-{}\n", first + 96, last + 96);
        root = root.file(&format!("sys/devices/system/node/node{node}/cpulist"), &text);
    }
    for os in 0..192 {
        let (core, socket) = (os % 96, os % 96 / 48);
        let (first, last) = (socket * 48, socket * 48 + 47);
        let topology = format!("sys/devices/system/cpu/cpu{os}/topology");
        root = root
            .file(&format!("{topology}/core_cpus_list"), &format!("{core},{}\n", core + 96))
            .file(
                &format!("{topology}/package_cpus_list"),
                &format!("{first}-{last},{}-{}\n", first + 96, last + 96),
            )
            .file(&format!("{topology}/physical_package_id"), &format!("{socket}\n"));
    }
    root
}

#[test]
fn neighbours_on_a_large_machine_share_what_they_can() {
    let root = large_machine(Root::new());
    let cpus = sysfs::describe(root.path(), &(0..192).collect::<Vec<_>>());
    assert_eq!(cpus.len(), 192);
    for (position, cpu) in cpus.iter().enumerate() {
        let core = position / 2;
        let expected = Cpu { os: core + 96 * (position % 2), core, socket: core / 48, numa: core / 12 };
        assert_eq!(*cpu, expected, "position {position}");
    }
}

#[test]
fn a_mask_leaves_the_other_processors_out() {
    let root = large_machine(Root::new());
    // One hardware thread of core 5, both of core 60, none else.
    let cpus = sysfs::describe(root.path(), &[60, 101, 156]);
    let expected = [
        Cpu { os: 101, core: 5, socket: 0, numa: 0 },
        Cpu { os: 60, core: 60, socket: 1, numa: 5 },
        Cpu { os: 156, core: 60, socket: 1, numa: 5 },
    ];
    assert_eq!(cpus, expected);
}

#[test]
fn offline_processors_leave_holes() {
    // Processors 1 and 2 of four are offline: the kernel removes their topology and their mention
    // elsewhere.
    let root = Root::new().files(&[
        ("sys/devices/system/cpu/online", "0,3\n"),
        ("sys/devices/system/cpu/cpu1/online", "0\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0\n"),
        ("sys/devices/system/cpu/cpu0/topology/package_cpus_list", "0,3\n"),
        ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
        ("sys/devices/system/cpu/cpu3/topology/core_cpus_list", "3\n"),
        ("sys/devices/system/node/online", "0\n"),
        ("sys/devices/system/node/node0/cpulist", "0,3\n"),
    ]);
    let expected = [Cpu { os: 0, core: 0, socket: 0, numa: 0 }, Cpu { os: 3, core: 3, socket: 0, numa: 0 }];
    assert_eq!(sysfs::describe(root.path(), &[0, 3]), expected);
}

#[test]
fn old_kernels_and_odd_machines() {
    // The names of kernels before 5.1, a socket the firmware does not know, no NUMA.
    let root = Root::new().files(&[
        ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_siblings_list", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n"),
    ]);
    let expected = [Cpu { os: 0, core: 0, socket: 0, numa: 0 }, Cpu { os: 1, core: 0, socket: 0, numa: 0 }];
    assert_eq!(sysfs::describe(root.path(), &[0, 1]), expected);
}

#[test]
fn without_sysfs_the_machine_is_flat() {
    let cpus = sysfs::describe(Root::new().path(), &[4, 2000]);
    assert_eq!(cpus, [4, 2000].map(|os| Cpu { os, core: os, socket: 0, numa: 0 }));
}

#[test]
fn packages_without_a_number_are_distinguished() {
    let file = |os: usize, name: &str| format!("sys/devices/system/cpu/cpu{os}/topology/{name}");
    let root = [(0, "0-1\n"), (1, "0-1\n"), (2, "2-3\n"), (3, "2-3\n")].iter().fold(
        Root::new(),
        |root, (os, package)| {
            root.file(&file(*os, "package_cpus_list"), package)
                .file(&file(*os, "physical_package_id"), "-1\n")
        },
    );
    let sockets: Vec<usize> =
        sysfs::describe(root.path(), &[0, 1, 2, 3]).iter().map(|cpu| cpu.socket).collect();
    assert_eq!(sockets, [0, 0, 2, 2]);
}

#[test]
fn nodes_of_different_sizes_and_nodes_of_memory_alone() {
    let root = Root::new().files(&[
        ("sys/devices/system/node/online", "0-1,4\n"),
        ("sys/devices/system/node/node0/cpulist", "0-2,5\n"),
        ("sys/devices/system/node/node1/cpulist", "\n"),
        ("sys/devices/system/node/node4/cpulist", "3-4\n"),
    ]);
    let cpus = sysfs::describe(root.path(), &[0, 1, 2, 3, 4, 5]);
    let found: Vec<(usize, usize)> = cpus.iter().map(|cpu| (cpu.os, cpu.numa)).collect();
    assert_eq!(found, [(0, 0), (1, 0), (2, 0), (5, 0), (3, 4), (4, 4)]);
}

#[test]
fn last_level_caches_come_in_the_order_of_the_machine() {
    // Processor n is in package n % 2; pairs (n, n + 4) share the last cache, which is not the one
    // with the highest index.
    let file = |os: usize, rest: &str| format!("sys/devices/system/cpu/cpu{os}/cache/index{rest}");
    let root = (0..8).fold(Root::new(), |root, os: usize| {
        root.file(&file(os, "0/level"), "3\n")
            .file(&file(os, "0/shared_cpu_list"), &format!("{},{}\n", os % 4, os % 4 + 4))
            .file(&file(os, "1/level"), "1\n")
            .file(&file(os, "1/shared_cpu_list"), &format!("{os}\n"))
    });
    let cpu = |os: usize| Cpu { os, core: os, socket: os % 2, numa: 0 };
    let all = [0, 2, 4, 6, 1, 3, 5, 7].map(cpu);
    assert_eq!(caches::last_level(root.path(), &all), [[0, 4], [2, 6], [1, 5], [3, 7]]);
    assert_eq!(caches::last_level(root.path(), &[cpu(6), cpu(3)]), [[6], [3]]);
    let silent = root.file(&file(6, "0/shared_cpu_list"), "all of them\n");
    assert!(caches::last_level(silent.path(), &[cpu(6), cpu(3)]).is_empty());
    assert!(caches::last_level(Root::new().path(), &all).is_empty());
}

const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1_MOUNT: &str = "33 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

#[test]
fn quotas() {
    type Files = &'static [(&'static str, &'static str)];
    let table: &[(&str, Files, Option<f64>)] = &[
        ("no /proc at all", &[], None),
        (
            "version 2, one level",
            &[
                ("proc/self/cgroup", "0::/job\n"),
                ("proc/self/mountinfo", V2_MOUNT),
                ("sys/fs/cgroup/job/cpu.max", "150000 100000\n"),
            ],
            Some(1.5),
        ),
        (
            "version 2, no limit",
            &[
                ("proc/self/cgroup", "0::/job\n"),
                ("proc/self/mountinfo", V2_MOUNT),
                ("sys/fs/cgroup/job/cpu.max", "max 100000\n"),
            ],
            None,
        ),
        (
            "version 2, nested: an outer group is stricter",
            &[
                ("proc/self/cgroup", "0::/slice/job/step\n"),
                ("proc/self/mountinfo", V2_MOUNT),
                ("sys/fs/cgroup/slice/cpu.max", "200000 100000\n"),
                ("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/slice/job/step/cpu.max", "800000 100000\n"),
            ],
            Some(2.0),
        ),
        (
            "version 2 in a cgroup namespace: the mount point is the group",
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("proc/self/mountinfo", V2_MOUNT),
                ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ],
            Some(0.5),
        ),
        (
            "version 2, a group outside our namespace",
            &[
                ("proc/self/cgroup", "0::/../other\n"),
                ("proc/self/mountinfo", V2_MOUNT),
                ("sys/fs/cgroup/cpu.max", "300000 100000\n"),
                ("sys/fs/other/cpu.max", "1000 100000\n"),
            ],
            Some(3.0),
        ),
        (
            "version 1, nested",
            &[
                ("proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/a/b\n1:cpuset:/\n"),
                ("proc/self/mountinfo", V1_MOUNT),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"),
            ],
            Some(2.5),
        ),
        (
            "version 1 in a container that sees the host's paths",
            &[
                ("proc/self/cgroup", "4:cpu:/docker/1f\n"),
                (
                    "proc/self/mountinfo",
                    "33 24 0:29 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
                ),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ],
            Some(4.0),
        ),
        (
            "version 1 in a container whose mount shows something else",
            &[
                ("proc/self/cgroup", "4:cpu:/kube/pod/1f\n"),
                (
                    "proc/self/mountinfo",
                    "33 24 0:29 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
                ),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ],
            Some(1.0),
        ),
        (
            "hybrid: both versions limit, the smaller holds",
            &[
                ("proc/self/cgroup", "4:cpu:/job\n0::/job\n"),
                (
                    "proc/self/mountinfo",
                    "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                     33 24 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
                ),
                ("sys/fs/cgroup/unified/job/cpu.max", "700000 100000\n"),
                ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "600000\n"),
                ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
            ],
            Some(6.0),
        ),
        (
            "version 2 where it usually is: the list of mounts is not asked",
            &[
                ("proc/self/cgroup", "0::/job\n"),
                ("proc/self/mountinfo", "30 23 0:26 / /elsewhere rw - cgroup2 cgroup2 rw\n"),
                ("sys/fs/cgroup/job/cgroup.controllers", "cpu\n"),
                ("sys/fs/cgroup/job/cpu.max", "500000 100000\n"),
                ("elsewhere/job/cpu.max", "100000 100000\n"),
            ],
            Some(5.0),
        ),
        (
            "a group of that path, but not of version 2",
            &[
                ("proc/self/cgroup", "0::/job\n"),
                ("proc/self/mountinfo", "30 23 0:26 / /elsewhere rw - cgroup2 cgroup2 rw\n"),
                ("sys/fs/cgroup/job/cpu.max", "500000 100000\n"),
                ("elsewhere/job/cpu.max", "100000 100000\n"),
            ],
            Some(1.0),
        ),
        (
            "no mountinfo: the usual place",
            &[("proc/self/cgroup", "0::/job\n"), ("sys/fs/cgroup/job/cpu.max", "100000 50000\n")],
            Some(2.0),
        ),
        (
            "a mount point with a space in it",
            &[
                ("proc/self/cgroup", "0::/job\n"),
                ("proc/self/mountinfo", "30 23 0:26 / /mnt/c\\040g rw - cgroup2 none rw\n"),
                ("mnt/c g/job/cpu.max", "900000 100000\n"),
            ],
            Some(9.0),
        ),
        (
            "nonsense",
            &[("proc/self/cgroup", "0::/job\n::\nx\n"), ("sys/fs/cgroup/job/cpu.max", "many few\n")],
            None,
        ),
    ];
    for (what, files, expected) in table {
        let root = Root::new().files(files);
        assert_eq!(cgroup::quota(root.path()), *expected, "{what}");
    }
}

#[test]
fn the_root_of_the_whole_system_has_no_quota() {
    let namespace = |name: &str, path: &str| {
        let root = Root::new().files(&[
            ("proc/self/cgroup", &format!("4:cpu:{path}\n3:memory:/job\n0::/\n")),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        let link = root.path().join("proc/self/ns/cgroup");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(name, link).unwrap();
        cgroup::quota(root.path())
    };
    assert_eq!(namespace("cgroup:[4026531835]", "/"), None);
    assert_eq!(namespace("cgroup:[4026532277]", "/"), Some(2.0), "the root of a container");
    assert_eq!(namespace("cgroup:[4026531835]", "/job"), Some(2.0), "not the root");
}

#[test]
fn workers_follow_mask_and_quota() {
    let table = [
        (192, None, 192),
        (192, Some(1.5), 2),
        (192, Some(2.5), 3),
        (1536, None, 1536),
        (192, Some(0.1), 1),
        (2, Some(16.0), 2),
        (8, Some(8.0), 8),
        (0, None, 1),
        (4, Some(f64::INFINITY), 4),
    ];
    for (cpus, quota, expected) in table {
        assert_eq!(target(cpus, quota), expected, "{cpus} processors, quota {quota:?}");
    }
}

#[test]
fn this_machine_makes_sense() {
    let cpus = super::usable();
    assert!(super::worker_target() >= 1 && super::worker_target() <= cpus.len());
    assert_eq!(super::usable().as_ptr(), cpus.as_ptr(), "decided once");
    assert!(super::quota().is_none_or(|quota| quota > 0.0));
    assert!(cpus.iter().all(|cpu| cpu.os < super::numbers()));
    let caches = super::last_level_caches(cpus);
    let listed: usize = caches.iter().map(Vec::len).sum();
    assert!(caches.is_empty() || listed == cpus.len(), "{caches:?}");
}
