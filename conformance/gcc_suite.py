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
(c-c++-common/c++). Without --full every 3rd test of each directory is run, and those that failed once
(known/gcc.txt, known/gcc_mended.txt): minutes on two cores. Tests for offload devices and tests of the
compiler alone count as skipped.

Output: a line for each failure, one for each group, then `N passed, N failed, N skipped`. A test listed in the --known
file counts as skipped when it fails, and as failed when it passes (unless --env changes what is tested). Status 0 if
nothing failed.

Lives here: fetching, building, running, judging, the report. May not live here: what a test asks for (`dejagnu`).
Needs gcc, g++ and gfortran of one version, binutils, tar, xz; apt for the first run.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dejagnu

GROUPS = ("libgomp.c", "libgomp.c++", "c-c++-common/c", "c-c++-common/c++", "libgomp.fortran")
FORTRAN = (".f", ".f90", ".f95", ".f03", ".f08", ".F", ".F90", ".F95", ".F03", ".F08")
EVERY = 3                       # of a directory's tests in the bounded subset
LISTS = pathlib.Path(__file__).resolve().parent / "known"
OUTPUT_KEPT = 20000             # bytes of a program's output, from its end


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


def choose(tests, options, always):
    """The tests that `options` ask for; `always` names those that the bounded subset contains in any case."""
    if options.only:
        names = set(listed(options.only))
        tests = [t for t in tests if t.name in names]
    if options.filter:
        tests = [t for t in tests if re.search(options.filter, t.name)]
    if options.full or options.only or options.filter:
        return tests
    chosen, directories = [], {}
    for test in tests:
        if test.skip is None:
            directories.setdefault(test.name.rpartition("/")[0], []).append(test)
    for members in directories.values():
        chosen += [t for i, t in enumerate(members) if i % EVERY == 0 or t.name in always]
    return chosen


def listed(path):
    """Names and reasons of a list: a name, blanks, a reason; `#` begins a comment."""
    rows = {}
    for line in pathlib.Path(path).read_text().splitlines():
        name, _, reason = line.partition("#")[0].strip().partition(" ")
        if name:
            rows[name] = reason.strip()
    return rows


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


def spawn(command, directory, environment, limit):
    """Runs a command in a session of its own, killed as a whole. Status (None: took longer than `limit` seconds)
    and the end of its output."""
    kept = {k: os.environ[k] for k in ("PATH", "HOME", "USER") if k in os.environ}
    kept.update(LC_ALL="C", TMPDIR=str(directory), **environment)
    with tempfile.TemporaryFile("w+b") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory, env=kept,
                                   start_new_session=True)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        log.seek(max(0, log.seek(0, os.SEEK_END) - OUTPUT_KEPT))
        return status, log.read().decode(errors="replace")


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
        self.options, self.builder, self.place, self.work = options, builder, place, work

    def verdict(self, test):
        """Verdict, seconds, and output of the first repetition that failed, or of the last one."""
        if test.skip:
            return "SKIPPED", 0.0, test.skip
        program, why = self.builder.build(test)
        if program is None:
            return "BUILD", 0.0, why
        given = dict(e.partition("=")[::2] for e in self.options.env)
        environment = {**given, **test.environment, **self.place}
        start = time.monotonic()
        for _ in range(self.options.repeat):
            with tempfile.TemporaryDirectory(dir=self.work) as directory:
                status, output = spawn([program], directory, environment, self.options.timeout * test.patience)
            verdict = judge(test, status, output)
            if test.xfail:
                verdict = "PASS" if verdict != "PASS" else "XPASS"
            if verdict != "PASS":
                break
        return verdict, time.monotonic() - start, output


def summary(output):
    """The line of an output that says most."""
    missing = re.search(r"undefined symbol: [^\s,]+", output)
    if missing:
        return missing.group(0)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"[Ee]rror:|undefined reference|not found|gangway:", line)]
    return (telling + lines[-1:] + [""])[0][:160]


class Report:
    """Counts and prints verdicts as they come. `exact`: known failures have to fail."""

    def __init__(self, known, exact, logs):
        self.known, self.exact, self.logs = known, exact, logs
        self.groups, self.results = {}, {}

    def add(self, test, verdict, seconds, output):
        """Takes one test's verdict."""
        group = self.groups.setdefault(test.group, {"passed": 0, "failed": 0, "skipped": 0})
        text = summary(output)
        self.results[test.name] = {"verdict": verdict, "seconds": round(seconds, 2), "text": text}
        if verdict == "PASS" and test.name in self.known and self.exact:
            verdict, text = "PASSES-BUT-KNOWN", "take it off the list of known failures"
        elif verdict != "PASS" and test.name in self.known:
            print(f"known: {verdict} {test.name}: {self.known[test.name]}", flush=True)
            verdict = "SKIPPED"
        if verdict in ("PASS", "SKIPPED"):
            group["passed" if verdict == "PASS" else "skipped"] += 1
            return
        group["failed"] += 1
        print(f"{verdict} {test.name} [{seconds:.1f} s] {text}", flush=True)
        if self.logs:
            log = self.logs / f"{test.name}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(output)

    def finish(self):
        """Prints the sums. The number of failures."""
        for name in sorted(self.groups):
            print(f"{name}: " + ", ".join(f"{n} {kind}" for kind, n in self.groups[name].items()))
        total = {k: sum(g[k] for g in self.groups.values()) for k in ("passed", "failed", "skipped")}
        print(", ".join(f"{n} {kind}" for kind, n in total.items()))
        return total["failed"]


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("cache", type=pathlib.Path, metavar="CACHE_DIR", help="sources and built programs")
    p.add_argument("--runtime", type=os.path.realpath, help="library under test (default: gcc's libgomp)")
    p.add_argument("--mode", choices=("strict", "preload", "path"), default="strict")
    p.add_argument("--gcc", default="12", help="major version of tests and compilers (12)")
    p.add_argument("--cc"), p.add_argument("--cxx"), p.add_argument("--fc")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    p.add_argument("--timeout", type=float, default=60, help="seconds for one run of a program (60)")
    p.add_argument("--full", action="store_true", help="all tests")
    p.add_argument("--filter", help="only tests whose names match this regular expression")
    p.add_argument("--only", help="only tests named in this file")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the programs; may repeat")
    p.add_argument("--repeat", type=int, default=1, help="runs of each program; all have to pass (1)")
    p.add_argument("--known", default=LISTS / "gcc.txt", help="failures that are known, with reasons")
    p.add_argument("--json", help="write all verdicts to this file")
    p.add_argument("--logs", type=pathlib.Path, help="write the output of failing tests to this directory")
    p.add_argument("--list", action="store_true", help="print the chosen tests and end")
    return p.parse_args()


def check_lists(known, names):
    """Ends the program if the list of known failures has a row without a reason or of no test."""
    for name, reason in known.items():
        if not reason or name not in names:
            sys.exit(f"gcc_suite: known failure {name}: " + ("no such test" if reason else "no reason given"))


def main():
    options = parse_arguments()
    if options.runtime and not os.path.exists(options.runtime):
        sys.exit(f"gcc_suite: no such library: {options.runtime}")
    options.cache = options.cache.resolve()
    options.cache.mkdir(parents=True, exist_ok=True)
    root, machine = fetch(options.cache, options.gcc), dejagnu.Machine()
    everything = list(collect(root / "libgomp/testsuite", machine))
    if machine.unknown:
        print("taken as false: " + " ".join(sorted(machine.unknown)), file=sys.stderr)
    # What fails under this runtime says nothing about libgomp.
    known = listed(options.known) if options.runtime else {}
    check_lists(known, {t.name for t in everything})
    tests = choose(everything, options, {**known, **listed(LISTS / "gcc_mended.txt")})
    if options.list:
        for test in tests:
            print(test.name + (f"  (skipped: {test.skip})" if test.skip else ""))
        return 0
    return run(tests, options, root, Report(known, not options.env, options.logs))


def run(tests, options, root, report):
    """Runs `tests`. The exit status."""
    builder = Builder(options, root)
    with tempfile.TemporaryDirectory(prefix="gcc-suite-") as work:
        place = pathlib.Path(work, "lib")
        place.mkdir()
        runner = Runner(options, builder, placement(options, builder.compilers["c"], place), work)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            pending = {pool.submit(runner.verdict, test): test for test in tests}
            for done in concurrent.futures.as_completed(pending):
                report.add(pending[done], *done.result())
    failures = report.finish()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report.results, indent=1, sort_keys=True) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
