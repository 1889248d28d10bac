#!/usr/bin/env python3
"""Run the tests of GCC's libgomp on any OpenMP runtime.

    gcc_suite.py CACHE_DIR --runtime target/release/libgangway.so -j2 --full

The tests are not part of this project: they are taken from Debian's package gcc-N-source, which is fetched into
CACHE_DIR. Programs are linked by gcc against libgomp as usual and kept there, so a second run compiles nothing.
Without --runtime the compiler's own libgomp is tested. --mode says how the runtime is put in place:

  strict   LD_PRELOAD, and in place of libgomp an empty library with the same version nodes: a symbol that the
           runtime lacks is an error (default)
  preload  LD_PRELOAD alone; what the runtime lacks is served by libgomp, silently
  path     the runtime stands in for libgomp.so.1 on LD_LIBRARY_PATH

Groups: libgomp.c, libgomp.c++, libgomp.fortran, and libgomp.c-c++-common as C (c-c++-common/c) and as C++
(c-c++-common/c++). Without --full every 5th test of each directory is run, and those that failed once
(known/gcc.txt, known/gcc_mended.txt): minutes on two cores. Tests for offload devices and tests of the
compiler alone count as skipped.

With --devices only tests that have to do with devices are run, those for offload devices among them, on one that does not share the
host's memory: `host` is the host behind an address space of its own (GANGWAY_HOST_DEVICES), `openmpi` and `mpich` another rank of
that MPI (known/gcc_devices.txt, known/gcc_host.txt). Beside the library has to lie what `cargo xtask bridge` builds.

Output: a line for each failure, one for each group, then `N passed, N failed, N skipped`. Status 0 if nothing failed.

Lives here: fetching, building, running, judging. May not live here: what a test asks for (`dejagnu`), what the other suite
needs as well (`harness`).
Needs gcc, g++ and gfortran of one version, binutils, tar, xz; apt for the first run.
"""
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import dejagnu
import harness
from harness import LISTS, listed, spawn

GROUPS = ("libgomp.c", "libgomp.c++", "c-c++-common/c", "c-c++-common/c++", "libgomp.fortran")
FORTRAN = (".f", ".f90", ".f95", ".f03", ".f08", ".F", ".F90", ".F95", ".F03", ".F08")
TARGET = re.compile(r"omp\s+(declare\s+|begin\s+declare\s+)?target|omp_target_|omp_get_mapped_ptr", re.I)
EVERY = 5                       # of a directory's tests in the bounded subset


def fetch(cache, gcc):
    """The directory with libgomp/ and include/ of GCC's sources; fetched when `cache` does not have them."""
    root = cache / f"gcc-{gcc}-libgomp"
    if (root / ".complete").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        tarball = source_tarball(pathlib.Path(scratch), gcc)
        subprocess.run(["tar", "-xf", tarball, "-C", root, "--strip-components=1", "--wildcards",
                        "*/libgomp/testsuite/libgomp.c*", "*/libgomp/testsuite/libgomp.fortran/*",
                        "*/libgomp/testsuite/libgomp.oacc-fortran/*", "*/libgomp/*.h",
                        "*/include/gomp-constants.h"], check=True)
    # One test of affinity includes the config.h of a build tree.
    (root / "libgomp/config.h").write_text("#define HAVE_PTHREAD_AFFINITY_NP 1\n")
    (root / ".complete").touch()
    return root


def source_tarball(scratch, gcc):
    """GCC's sources as Debian packs them: of the installed package, or downloaded to `scratch`."""
    package = f"gcc-{gcc}-source"
    installed = sorted(pathlib.Path(f"/usr/src/gcc-{gcc}").glob("gcc-*.tar.*"))
    if installed:
        return installed[0]
    print(f"fetching {package}", file=sys.stderr)
    subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "-qq", "download", package], check=True, cwd=scratch)
    subprocess.run(["dpkg-deb", "-x", next(scratch.glob("*.deb")), scratch / "x"], check=True)
    return next((scratch / "x").rglob("gcc-*.tar.*"))


def collect(testsuite, machine):
    """All tests of all groups, in the order of their names."""
    for group in GROUPS:
        directory = testsuite / ("libgomp.c-c++-common" if "/" in group else group)
        suffixes, language = {"libgomp.fortran": (FORTRAN, "fortran"), "libgomp.c++": ((".C",), "c++"),
                              "c-c++-common/c++": ((".c",), "c++")}.get(group, ((".c",), "c"))
        for path in sorted(p for p in directory.rglob("*") if p.suffix in suffixes):
            yield dejagnu.Test(f"{group}/{path.relative_to(directory)}", path, group, language, machine)


def subset(tests, always):
    """The tests that run without --full, those named in `always` among them."""
    chosen, directories = [], {}
    for test in tests:
        if test.skip is None:
            directories.setdefault(test.name.rpartition("/")[0], []).append(test)
    for members in directories.values():
        chosen += [t for i, t in enumerate(members) if i % EVERY == 0 or t.name in always]
    return chosen


class Builder:
    """Compiles tests into the cache."""

    def __init__(self, options, root):
        version = options.gcc
        self.root = root
        self.compilers = {"c": options.cc or f"gcc-{version}", "c++": options.cxx or f"g++-{version}",
                          "fortran": options.fc or f"gfortran-{version}"}
        for compiler in self.compilers.values():
            if not shutil.which(compiler):
                sys.exit(f"gcc_suite: {compiler} not found")
        full = subprocess.run([self.compilers["c"], "-dumpfullversion"], capture_output=True, text=True, check=True)
        self.directory = options.cache / f"build-{full.stdout.strip()}"

    def command(self, test):
        """The compiler call, less the name of the program."""
        options = ["-O2"] if test.options is None else list(test.options)
        if test.language == "fortran" and not any(o.startswith("-O") for o in options):
            options.insert(0, "-O2")
        sources = [str(test.path)] + [str((test.path.parent / s).resolve()) for s in test.sources]
        if test.language == "c++":
            sources = ["-x", "c++", *sources, "-x", "none"]
        return [self.compilers[test.language], *sources, f"-I{self.root}/include", f"-I{self.root}/libgomp", "-w",
                "-fopenmp", "-foffload=disable", *options, *test.extra, "-lm"]

    def build(self, test):
        """The program, and None or why there is none. Programs appear under their final name when complete."""
        command = self.command(test)
        directory = self.directory / test.name / hashlib.sha1("\0".join(command).encode()).hexdigest()[:16]
        if (directory / "a.out").exists():
            return directory / "a.out", None
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
            status, output = spawn([*command, "-o", "a.out"], scratch, {}, 600)
            if status != 0:
                return None, output or "the compiler took too long"
            directory.mkdir(exist_ok=True)
            os.replace(pathlib.Path(scratch, "a.out"), directory / "a.out")
        return directory / "a.out", None


def placement(options, compiler, directory):
    """The environment variables that put the runtime in place, with the files they name made in `directory`."""
    if not options.runtime:
        return {}
    if options.mode == "path":
        (directory / "libgomp.so.1").symlink_to(options.runtime)
        return {"LD_LIBRARY_PATH": str(directory)}
    if options.mode == "strict":
        empty_libgomp(compiler, directory)
        return {"LD_PRELOAD": options.runtime, "LD_LIBRARY_PATH": str(directory)}
    return {"LD_PRELOAD": options.runtime}


def empty_libgomp(compiler, directory):
    """Makes a libgomp.so.1 without symbols that has the real one's version nodes."""
    for name in ("libgomp.so.1", "libgomp.so"):
        real = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        if os.path.isabs(real):
            break
    dump = subprocess.run(["readelf", "-W", "-V", real], capture_output=True, text=True, check=True).stdout
    nodes = sorted(set(re.findall(r"Name: ((?:GOMP|OMP|OACC|GOACC)_[\w.]+)", dump)))
    script = directory / "nodes.map"
    script.write_text("".join(f"{node} {{ }};\n" for node in nodes))
    subprocess.run([compiler, "-shared", "-nostdlib", "-x", "c", os.devnull, "-Wl,-soname,libgomp.so.1",
                    f"-Wl,--version-script={script}", "-o", directory / "libgomp.so.1"], check=True)


def judge(test, status, output):
    """PASS or the kind of failure of one run."""
    if status is None:
        return "TIMEOUT"
    if status < 0 and not test.should_fail:
        return signal.Signals(-status).name
    if (status != 0) != test.should_fail:
        return f"EXIT{status}"
    # The patterns of a test are parts of one.
    if test.outputs and not re.search("".join(test.outputs), output):
        return "OUTPUT"
    return "PASS"


class Runner:
    """Builds and runs tests; may be used by several threads."""

    def __init__(self, options, builder, place, work):
        self.options, self.builder, self.work = options, builder, work
        self.launch, self.place = harness.with_devices(options, place)

    def verdict(self, test):
        """Verdict, seconds, and output of the first repetition that failed, or of the last one."""
        if test.skip:
            return "SKIP", 0.0, test.skip
        program, why = self.builder.build(test)
        if program is None:
            return "BUILD", 0.0, why
        return harness.repeated(self.options.repeat, lambda: self.once(test, program))

    def once(self, test, program):
        """One run: verdict and output."""
        environment = {**harness.settings(self.options), **test.environment, **self.place}
        with tempfile.TemporaryDirectory(dir=self.work) as directory:
            status, output = spawn([*self.launch, program], directory, environment, self.options.timeout * test.patience)
        verdict = judge(test, status, output)
        if test.xfail:
            verdict = "PASS" if verdict != "PASS" else "XPASS"
        return verdict, output


def parse_arguments():
    p = harness.options(__doc__, "gcc", 60, "gcc's libgomp")
    p.add_argument("--mode", choices=("strict", "preload", "path"), default="strict")
    p.add_argument("--gcc", default="12", help="major version of tests and compilers (12)")
    p.add_argument("--cc"), p.add_argument("--cxx"), p.add_argument("--fc")
    return harness.parse(p)


def known_failures(options):
    """Failures that are known, with reasons. What fails under this runtime says nothing about libgomp."""
    if options.devices:
        here = listed(LISTS / "gcc_host.txt") if options.devices == "host" else {}
        return {**listed(LISTS / "gcc_devices.txt"), **here}
    return listed(options.known) if options.runtime else {}


def main():
    options = parse_arguments()
    root, machine = fetch(options.cache, options.gcc), dejagnu.Machine(device=bool(options.devices))
    everything = list(collect(root / "libgomp/testsuite", machine))
    if machine.unknown:
        print("taken as false: " + " ".join(sorted(machine.unknown)), file=sys.stderr)
    known, mended = known_failures(options), listed(LISTS / "gcc_mended.txt")
    harness.check_lists([known, mended], {t.name for t in everything})
    if options.devices:
        everything = [t for t in everything if TARGET.search(t.path.read_text(encoding="latin-1"))]
    tests = harness.asked_for(everything, options, lambda: subset(everything, {**known, **mended}))
    if options.list:
        for test in tests:
            print(test.name + (f"  (skipped: {test.skip})" if test.skip else ""))
        return 0
    return run(tests, options, root, harness.Report(known, not options.env, options.logs))


def run(tests, options, root, report):
    """Runs `tests`. The exit status."""
    builder = Builder(options, root)
    with tempfile.TemporaryDirectory(prefix="gcc-suite-") as work:
        place = pathlib.Path(work, "lib")
        place.mkdir()
        runner = Runner(options, builder, placement(options, builder.compilers["c"], place), work)
        return harness.judge(tests, runner.verdict, options, report)


if __name__ == "__main__":
    sys.exit(main())
