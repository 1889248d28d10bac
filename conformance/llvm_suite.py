#!/usr/bin/env python3
"""Run LLVM's test suite for libomp (openmp/runtime/test) on any OpenMP runtime.

    llvm_suite.py CACHE_DIR --runtime target/release/libgangway.so -j2 --full

The tests are not part of this project: they are taken from Debian's source package llvm-toolchain-N, which is fetched
into CACHE_DIR by apt; so are FileCheck and not (package llvm-N-tools) where they are not installed. Tests are linked
with, and run on, a directory of links named libomp.so, libomp.so.5 and libiomp5.so that lead to the runtime. Without
--runtime Debian's own libomp is tested. They run with --threads OpenMP threads unless a test itself says otherwise.

Without --full every second test of each directory is run, and those that failed once (known/llvm.txt,
known/llvm_mended.txt), but none of those that sleep for a minute (known/llvm_long.txt): minutes on two cores. Tests of
the tools interface (ompt/) take part with --ompt only.

Output: a line for each failure, one for each directory, then `N passed, N failed, N skipped`. A test listed in the
--known file counts as skipped when it fails, and as failed when it passes. Status 0 if nothing failed.

Lives here: fetching, running, judging, the report. May not live here: what a test says about itself (`lit`).
Needs clang-N, libomp-N-dev, binutils, tar, xz; apt and dpkg-deb for the first run.
"""
import argparse
import concurrent.futures
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

import lit

EVERY = 2                       # of a directory's tests in the bounded subset
LISTS = pathlib.Path(__file__).resolve().parent / "known"
LOG_LIMIT = 20000               # characters kept of what a test prints


def apt(cache, *command):
    """Runs apt-get in `cache` with lists of its own, among them the sources of this release."""
    state = cache / "apt"
    for sub in ("lists/partial", "archives/partial"):
        (state / sub).mkdir(parents=True, exist_ok=True)
    release = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    codename = release.get("VERSION_CODENAME", "bookworm").strip('"')
    (state / "both.sources").write_text(
        "Types: deb deb-src\nURIs: http://deb.debian.org/debian\n"
        f"Suites: {codename} {codename}-updates\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    options = [f"Dir::Etc::sourcelist={state}/both.sources", "Dir::Etc::sourceparts=-",
               f"Dir::State::lists={state}/lists", f"Dir::Cache={state}", "APT::Sandbox::User=root"]
    options = [word for option in options for word in ("-o", option)]
    for words in (["update"], command):
        subprocess.run(["apt-get", *options, "-qq", *words], check=True, cwd=cache)


def fetch(cache, version):
    """The directory openmp/runtime/test of LLVM `version`, unpacked below `cache`."""
    package = f"llvm-toolchain-{version}"
    root = cache / package
    if not (root / ".complete").exists():
        if not list(cache.glob(f"{package}_*.orig.tar.*")):
            print(f"fetching {package}", file=sys.stderr)
            apt(cache, "source", "--download-only", package)
        tarballs = sorted(cache.glob(f"{package}_*.orig.tar.*"))
        if not tarballs:
            sys.exit(f"llvm_suite: apt left no {package} in {cache}")
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        # The headers of the runtime are there because tests include kmp_platform.h.
        subprocess.run(["tar", "-xf", tarballs[-1], "-C", root, "--strip-components=1", "--wildcards",
                        "*/openmp/runtime/test/*", "*/openmp/runtime/src/*.h"], check=True)
        (root / ".complete").touch()
    return root / "openmp/runtime/test"


def tools(cache, version):
    """Paths of clang, clang++, FileCheck and not; the last two are fetched if need be."""
    extra = cache / "tools"
    if not lit.tool("FileCheck", version, [extra]) or not lit.tool("not", version, [extra]):
        package = f"llvm-{version}-tools"
        print(f"fetching {package}", file=sys.stderr)
        apt(cache, "download", package)
        for archive in cache.glob(f"{package}_*.deb"):
            subprocess.run(["dpkg-deb", "-x", archive, extra], check=True)
    found = {name: lit.tool(name, version, [extra]) for name in ("clang", "clang++", "FileCheck", "not")}
    for name, path in found.items():
        if not path:
            sys.exit(f"llvm_suite: {name} of LLVM {version} is not there; is clang-{version} installed?")
    return found


def listed(path):
    """Names and reasons in a file of `NAME reason` lines."""
    lines = (line.split("#")[0].split(None, 1) for line in open(path)) if path else ()
    return {words[0]: words[1].strip() if len(words) > 1 else "" for words in lines if words}


def choose(tests, options, known):
    """The tests that `options` ask for."""
    if options.filter:
        return [t for t in tests if re.search(options.filter, t.name)]
    if options.full:
        return tests
    always = {*known, *listed(LISTS / "llvm_mended.txt")}
    long, seen, chosen = listed(LISTS / "llvm_long.txt"), {}, []
    for test in (t for t in tests if t.name not in long):
        index = seen[test.group] = seen.get(test.group, -1) + 1
        if index % EVERY == 0 or test.name in always:
            chosen.append(test)
    return chosen


class Suite:
    """Compiler, runtime and scratch space shared by all tests of a run."""

    def __init__(self, options, root, work):
        self.options, self.work = options, work
        found = tools(options.cache, options.llvm)
        self.links = self.library_directory(options.runtime)
        self.features = lit.features(found["clang"], options.feature + (["ompt"] if options.ompt else []))
        self.substitutions = lit.Substitutions(root, self.links, found["clang"], found["clang++"],
                                               found["FileCheck"], found["not"])

    def library_directory(self, library):
        """A directory in which every name a loader may look for leads to `library`."""
        directory = self.work / "lib"
        directory.mkdir()
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True).stdout
        for name in {"libomp.so", "libomp.so.5", "libiomp5.so", *re.findall(r"SONAME.*\[(.*)\]", dynamic)}:
            (directory / name).symlink_to(library)
        return directory

    def environment(self, directory):
        kept = {k: os.environ[k] for k in ("PATH", "HOME", "LANG", "USER") if k in os.environ}
        kept.update(LD_LIBRARY_PATH=str(self.links), TMPDIR=str(directory), LC_ALL="C",
                    OMP_NUM_THREADS=str(self.options.threads))
        kept.update(assignment.partition("=")[::2] for assignment in self.options.env)
        return kept

    def verdict(self, test):
        """Runs one test. Returns (PASS, FAIL, TIMEOUT, XPASS or SKIP; seconds; output or reason)."""
        reason = test.reason_to_skip(self.features)
        if reason:
            return "SKIP", 0.0, reason
        by_design = test.fails_by_design(self.features)
        directory = self.work / test.name.replace("/", "__")
        start = time.monotonic()
        for _ in range(self.options.repeat):
            directory.mkdir()
            code, output = self.shell(self.substitutions.script(test, directory), directory)
            shutil.rmtree(directory, ignore_errors=True)
            if code != 0:
                break
        seconds = time.monotonic() - start
        if by_design:
            return ("XPASS" if code == 0 else "PASS"), seconds, output
        return {0: "PASS", None: "TIMEOUT"}.get(code, "FAIL"), seconds, output

    def shell(self, script, directory):
        """Runs a script in a process group of its own. Returns (exit status, None when it was too slow; output)."""
        with open(directory / "log", "w+", errors="replace") as log:
            process = subprocess.Popen(["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       cwd=directory, env=self.environment(directory), start_new_session=True)
            try:
                code = process.wait(timeout=self.options.timeout)
            except subprocess.TimeoutExpired:
                code = None
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_LIMIT))
            return code, log.read()


def summary(output):
    """The most telling line of a log: the first error, else the last line."""
    missing = re.search(r"undefined (symbol|reference to)[:\s][^\s,]+", output)
    if missing:
        return missing.group(0)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = (line for line in lines if re.search(r"error:|version .* not found|Assertion", line))
    return next(telling, lines[-1] if lines else "")[:160]


class Report:
    """Prints verdicts as they come, and counts them by directory."""

    def __init__(self, known, logs):
        self.known, self.logs = known, logs
        self.groups, self.verdicts = {}, {}

    def add(self, test, verdict, seconds, output):
        counts = self.groups.setdefault(test.group, dict(passed=0, failed=0, skipped=0))
        text = output if verdict == "SKIP" else summary(output)
        if verdict == "PASS" and test.name in self.known:
            verdict, text = "PASSES-BUT-KNOWN", "take it off the list of known failures"
        elif verdict not in ("PASS", "SKIP") and test.name in self.known:
            print(f"known: {verdict} {test.name}: {self.known[test.name]}", flush=True)
            verdict = "KNOWN"
        kind = {"PASS": "passed", "SKIP": "skipped", "KNOWN": "skipped"}.get(verdict, "failed")
        counts[kind] += 1
        self.verdicts[test.name] = dict(verdict=verdict, seconds=round(seconds, 2), text=text)
        if kind == "failed":
            print(f"{verdict} {test.name} [{seconds:.1f} s] {text}", flush=True)
        if self.logs and verdict not in ("PASS", "SKIP"):
            log = self.logs / (test.name + ".log")
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(output)

    def finish(self):
        """Prints the counts; returns how many failed."""
        for name in sorted(self.groups):
            print(f"{name}: " + ", ".join(f"{n} {kind}" for kind, n in self.groups[name].items()))
        total = {k: sum(g[k] for g in self.groups.values()) for k in ("passed", "failed", "skipped")}
        print(", ".join(f"{n} {kind}" for kind, n in total.items()))
        return total["failed"]


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cache", type=lambda t: pathlib.Path(t).resolve(), metavar="CACHE_DIR", help="fetched sources, tools")
    p.add_argument("--runtime", type=os.path.realpath, help="library under test (default: Debian's libomp)")
    p.add_argument("--llvm", default="19", help="major version of tests and tools (19)")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    p.add_argument("--threads", type=int, default=4, help="OMP_NUM_THREADS (4)")
    p.add_argument("--timeout", type=float, default=240, help="seconds for one test (240)")
    p.add_argument("--full", action="store_true", help="all tests")
    p.add_argument("--filter", help="only tests whose names match this regular expression")
    p.add_argument("--ompt", action="store_true", help="with the tests of the tools interface")
    p.add_argument("--feature", action="append", default=[], metavar="[-]NAME", help="add (-: remove) a lit feature")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the programs; may repeat")
    p.add_argument("--repeat", type=int, default=1, help="runs of each test; all have to pass (1)")
    p.add_argument("--known", default=LISTS / "llvm.txt", help="failures that are known, with reasons")
    p.add_argument("--json", help="write all verdicts to this file")
    p.add_argument("--logs", type=pathlib.Path, help="write the output of failing tests to this directory")
    p.add_argument("--list", action="store_true", help="print the chosen tests and end")
    return p.parse_args()


def check_lists(lists, names):
    """Ends the program if a list has a row without a reason or of no test."""
    for name, reason in (item for entries in lists for item in entries.items()):
        if name not in names or not reason:
            sys.exit(f"llvm_suite: listed test {name}: " + ("no such test" if reason else "no reason given"))


def main():
    options = parse_arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    root = fetch(options.cache, options.llvm)
    everything = [lit.Test(p, root) for p in sorted(root.rglob("*")) if p.suffix in (".c", ".cpp")]
    everything = [t for t in everything if options.ompt or not t.group.startswith("ompt")]
    known = listed(options.known) if options.runtime else {}
    check_lists([known, *(listed(LISTS / f"llvm_{n}.txt") for n in ("mended", "long"))], {t.name for t in everything})
    tests = choose(everything, options, known)
    if options.list:
        print("\n".join(t.name for t in tests))
        return 0
    options.runtime = options.runtime or f"/usr/lib/llvm-{options.llvm}/lib/libomp.so.5"
    if not os.path.exists(options.runtime):
        sys.exit(f"llvm_suite: {options.runtime} is not there")
    with tempfile.TemporaryDirectory(prefix="llvm-suite-", ignore_cleanup_errors=True) as work:
        return run(tests, Suite(options, root, pathlib.Path(work)), Report(known, options.logs))


def run(tests, suite, report):
    """Runs `tests`, long ones first. Returns the exit status."""
    long = listed(LISTS / "llvm_long.txt")
    tests = sorted(tests, key=lambda t: t.name not in long)
    with concurrent.futures.ThreadPoolExecutor(suite.options.jobs) as pool:
        futures = {pool.submit(suite.verdict, test): test for test in tests}
        for future in concurrent.futures.as_completed(futures):
            report.add(futures[future], *future.result())
    failed = report.finish()
    if suite.options.json:
        with open(suite.options.json, "w") as file:
            json.dump(report.verdicts, file, indent=1, sort_keys=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
