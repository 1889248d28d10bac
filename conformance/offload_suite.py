"""Runs LLVM's tests of devices (offload/test) on a device with memory of its own: `llvm_suite.py --devices`.

They are built by clang with images for this machine. `host` is the host behind an address space of its own, `openmpi` and `mpich`
another rank of that MPI. Regions have to run there (OMP_TARGET_OFFLOAD=mandatory, unless a test sets it); tests that ask how many devices
there are find two. Programs are kept in the cache: a second run compiles nothing.

Without --full a third of each directory's tests is run on a rank, half of them on the host.

Lives here: choosing, running, judging. May not live here: what a test stands for (`offload`), fetching (`llvm_source`), what the other
suites need as well (`harness`).
"""
import hashlib
import pathlib
import sys
import tempfile

import harness
import lit
import llvm_source
import offload
from harness import LISTS, listed

EVERY = {"host": 2, "openmpi": 3, "mpich": 3}  # of a directory's tests in the bounded subset
HERE = pathlib.Path(__file__).resolve().parent
STRAIGHT = HERE / "straight.sh"
# Makes standard output leave line by line: part of stdbuf.
LINES = [pathlib.Path(directory, "coreutils/libstdbuf.so") for directory in ("/usr/libexec", "/usr/lib")]
NAMES = ["libomptarget.so", "libomptarget.so.19.1"]


class Suite:
    """Compiler, runtime, device and scratch space shared by all tests of a run."""

    def __init__(self, options, root, features, found, work):
        self.options, self.features, self.work = options, features, work
        self.links = lit.links(options.runtime, work / "lib", NAMES)
        self.commands = offload.Commands(root, found)
        self.programs = options.cache / f"build-{found['version']}"

    def verdict(self, test):
        """Runs one test. PASS, FAIL, TIMEOUT, XPASS or SKIP; seconds; output or why it is skipped."""
        reason = test.reason_to_skip(self.features)
        if reason:
            return "SKIP", 0.0, reason
        return harness.repeated(self.options.repeat, lambda: self.once(test))

    def launch(self, count):
        """As `harness.with_devices`. Each line that a rank prints leaves it at once, and not by way of the launcher: so lines come in the
        order in which they were printed."""
        if self.options.devices == "host":
            return harness.with_devices(self.options, {"LD_LIBRARY_PATH": str(self.links)}, count)
        lines = [str(path) for path in LINES if path.exists()]
        place = {"LD_LIBRARY_PATH": str(self.links), "_STDBUF_O": "L"}
        words, further = harness.with_devices(self.options, place, count, lines[:1], ["sh", str(STRAIGHT), "rank"])
        return ["sh", str(STRAIGHT), "launch", *words], further

    def environment(self, test, script):
        """What the script of a test finds in its environment."""
        launch, place = self.launch(2 if "omp_get_num_devices" in test.text else 1)
        kept = self.programs / test.name / hashlib.sha1(script.encode()).hexdigest()[:16]
        kept.mkdir(parents=True, exist_ok=True)
        return {"OMP_TARGET_OFFLOAD": "mandatory", **harness.settings(self.options), **place, "KEPT": str(kept), "LINKS": str(self.links),
                "LAUNCH": " ".join(launch), "FAILS": f"{sys.executable} {HERE / 'offload_words.py'}"}

    def once(self, test):
        """One run: verdict and output."""
        script = self.commands.script(test)
        with tempfile.TemporaryDirectory(dir=self.work, ignore_cleanup_errors=True) as name:
            code, output = harness.spawn(["bash", "-c", script], name, self.environment(test, script), self.options.timeout)
        if test.fails_by_design(self.features):
            return ("XPASS" if code == 0 else "PASS"), output
        return {0: "PASS", None: "TIMEOUT"}.get(code, "FAIL"), output


def subset(tests, features, options, always):
    """The tests that run without --full: of each directory's tests that apply every so many, and those in `always`."""
    seen, chosen = {}, []
    for test in (t for t in tests if not t.reason_to_skip(features)):
        index = seen[test.group] = seen.get(test.group, -1) + 1
        if index % EVERY[options.devices] == 0 or test.name in always:
            chosen.append(test)
    return chosen


def known_failures(options):
    """Failures that are known, with reasons."""
    here = {} if options.devices == "host" else listed(LISTS / "llvm_ranks.txt")
    return {**listed(LISTS / "llvm_devices.txt"), **here}


def main(options):
    root = llvm_source.fetch(options.cache, options.llvm, "offload")
    found = llvm_source.tools(options.cache, options.llvm)
    found["version"] = lit.version(found["clang"])
    features = offload.features(found["clang"], options.feature)
    everything = [offload.Test(p, root) for p in sorted(root.rglob("*")) if p.suffix in (".c", ".cpp", ".f90") and "Inputs" not in p.parts]
    known = known_failures(options)
    harness.check_lists([known], {t.name for t in everything})
    tests = harness.asked_for(everything, options, lambda: subset(everything, features, options, known))
    if options.list:
        for test in tests:
            reason = test.reason_to_skip(features)
            print(test.name + (f"  (skipped: {reason})" if reason else ""))
        return 0
    report = harness.Report(known, not options.env, options.logs)
    with tempfile.TemporaryDirectory(prefix="llvm-devices-", ignore_cleanup_errors=True) as work:
        return harness.judge(tests, Suite(options, root, features, found, pathlib.Path(work)).verdict, options, report)
