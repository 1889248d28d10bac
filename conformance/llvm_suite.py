#!/usr/bin/env python3
"""Run LLVM's test suite for libomp (openmp/runtime/test) on any OpenMP runtime.

    llvm_suite.py CACHE_DIR --runtime target/release/libgangway.so -j2 --full

The tests are not part of this project: they are taken from Debian's source package llvm-toolchain-N, which is fetched
into CACHE_DIR by apt; so are FileCheck and not (package llvm-N-tools) where they are not installed. Tests are linked
with, and run on, a directory of links named libomp.so, libomp.so.5 and libiomp5.so that lead to the runtime. Without
--runtime Debian's own libomp is tested. They run with --threads OpenMP threads unless a test itself says otherwise.

Without --full every third test of each directory is run, and those that failed once (known/llvm.txt,
known/llvm_mended.txt), but none of those that sleep for a minute (known/llvm_long.txt): minutes on two cores.

Output: a line for each failure, one for each directory, then `N passed, N failed, N skipped`. Status 0 if nothing failed.

Lives here: fetching, choosing, running, judging. May not live here: what a test says about itself (`lit`), what the other
suite needs as well (`harness`).
Needs clang-N, libomp-N-dev, binutils, tar, xz; apt and dpkg-deb for the first run.
"""
import pathlib
import re
import sys
import tempfile

import harness
import lit
import llvm_source
import offload_suite
from harness import LISTS, listed

EVERY = 3                       # of a directory's tests in the bounded subset
LONG = 3                        # times the usual limit for tests in known/llvm_long.txt
FEW = 4                         # with fewer threads some tests cannot pass (known/llvm_few_threads.txt)
WAITS = re.compile(r"\b(delay|u?sleep)\(") # in tests that order their threads by waiting for a while


def subset(tests, known):
    """The tests that run without --full."""
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
        self.options, self.work, self.long = options, work, listed(LISTS / "llvm_long.txt")
        found = llvm_source.tools(options.cache, options.llvm)
        self.links = lit.links(options.runtime, work / "lib", [])
        self.features = lit.features(found["clang"], ["ompt", *options.feature])
        self.substitutions = lit.Substitutions(root, self.links, found["clang"], found["clang++"],
                                               found["FileCheck"], found["not"])

    def verdict(self, test):
        """Runs one test. PASS, FAIL, TIMEOUT, XPASS or SKIP; seconds; output or why it is skipped."""
        reason = test.reason_to_skip(self.features)
        if reason:
            return "SKIP", 0.0, reason
        once = lambda: self.once(test)
        if WAITS.search(test.text):
            return harness.repeated(self.options.repeat, lambda: harness.retried_if_timed(once))
        return harness.repeated(self.options.repeat, once)

    def once(self, test):
        """One run: verdict and output."""
        environment = {"LD_LIBRARY_PATH": str(self.links), **harness.settings(self.options)}
        with tempfile.TemporaryDirectory(dir=self.work, ignore_cleanup_errors=True) as name:
            script = self.substitutions.script(test, pathlib.Path(name))
            limit = self.options.timeout * (LONG if test.name in self.long else 1)
            code, output = harness.spawn(["bash", "-c", script], name, environment, limit)
        if test.fails_by_design(self.features):
            return ("XPASS" if code == 0 else "PASS"), output
        return {0: "PASS", None: "TIMEOUT"}.get(code, "FAIL"), output


def parse_arguments():
    p = harness.options(__doc__, "llvm", 240, "Debian's libomp")
    p.add_argument("--llvm", default="19", help="major version of tests and tools (19)")
    p.add_argument("--feature", action="append", default=[], metavar="[-]NAME", help="add (-: remove) a lit feature")
    return harness.parse(p)


def main():
    options = parse_arguments()
    if options.devices:
        return offload_suite.main(options)
    root = llvm_source.fetch(options.cache, options.llvm, "runtime")
    everything = [lit.Test(p, root) for p in sorted(root.rglob("*")) if p.suffix in (".c", ".cpp")]
    known = listed(options.known) if options.runtime else {}
    if options.threads < FEW:
        known |= listed(LISTS / "llvm_few_threads.txt")
    mended, long = listed(LISTS / "llvm_mended.txt"), listed(LISTS / "llvm_long.txt")
    harness.check_lists([known, mended, long], {t.name for t in everything})
    tests = harness.asked_for(everything, options, lambda: subset(everything, known))
    if options.list:
        print("\n".join(t.name for t in tests))
        return 0
    options.runtime = options.runtime or f"/usr/lib/llvm-{options.llvm}/lib/libomp.so.5"
    report = harness.Report(known, not options.env, options.logs)
    tests.sort(key=lambda t: t.name not in long)        # the long ones first
    with tempfile.TemporaryDirectory(prefix="llvm-suite-", ignore_cleanup_errors=True) as work:
        return harness.judge(tests, Suite(options, root, pathlib.Path(work)).verdict, options, report)


if __name__ == "__main__":
    sys.exit(main())
