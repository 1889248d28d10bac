"""What the drivers of both suites do alike.

Lives here: options, lists of tests, processes under a time limit, runs side by side, counts and what is printed. May not live
here: anything that one suite alone knows (`llvm_suite`, `gcc_suite`), such as where its tests come from, what they ask for
and when one has passed.

A driver's last line reads `N passed, N failed, N skipped`; `cargo xtask conformance` reads it. A test on the list of known
failures counts as skipped when it fails, and as failed when it passes, unless --env changes what is tested.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

LISTS = pathlib.Path(__file__).resolve().parent / "known"
OUTPUT_KEPT = 20000             # bytes of what a program prints, from the end
LAUNCH = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np"], "mpich": ["mpirun.mpich", "-n"]}
TELLING = re.compile(r"[Ee]rror:|Assertion|undefined reference|not found|gangway:")


def options(description, suite, timeout, own):
    """A parser with the options of all suites. `suite` names its list of known failures, `own` the runtime tested without
    --runtime; `timeout` is in seconds."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cache", type=lambda t: pathlib.Path(t).resolve(), metavar="CACHE_DIR", help="what was fetched and built")
    p.add_argument("--runtime", type=os.path.realpath, help=f"library under test (default: {own})")
    p.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="tests at a time (as many as processors)")
    p.add_argument("--threads", type=int, default=4, help="OMP_NUM_THREADS, unless a test says otherwise (4)")
    p.add_argument("--timeout", type=float, default=timeout, help=f"seconds for one run of a test ({timeout})")
    p.add_argument("--full", action="store_true", help="all tests")
    p.add_argument("--filter", help="only tests whose names match this regular expression")
    p.add_argument("--only", help="only tests named in this file")
    p.add_argument("--devices", choices=("host", *LAUNCH), help="tests of devices, on one with memory of its own")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the programs; may repeat")
    p.add_argument("--repeat", type=int, default=1, help="runs of each test; all have to pass (1)")
    p.add_argument("--known", default=LISTS / f"{suite}.txt", help="failures that are known, with reasons")
    p.add_argument("--json", type=pathlib.Path, help="write all verdicts to this file")
    p.add_argument("--logs", type=pathlib.Path, help="write the output of failing tests to this directory")
    p.add_argument("--list", action="store_true", help="print the chosen tests and end")
    return p


def parse(parser):
    """The options given; ends the program if there is no such library. Makes the cache."""
    given = parser.parse_args()
    if given.runtime and not os.path.exists(given.runtime):
        sys.exit(f"{parser.prog}: no such library: {given.runtime}")
    if given.devices and not given.runtime:
        parser.error("--devices is for --runtime")
    given.cache.mkdir(parents=True, exist_ok=True)
    return given


def with_devices(given, place, count=1, preload=(), each=()):
    """For `count` of the devices that `given` asks for: what comes before a program, further environment variables, those of `place` among
    them, which puts the runtime in place. Ranks have the libraries in `preload`, too, and are started by the words in `each`."""
    if given.devices not in LAUNCH:
        return [], {**place, **({"GANGWAY_HOST_DEVICES": str(count)} if given.devices else {})}
    start = os.path.join(os.path.dirname(given.runtime), "libgangway_start.so")
    inner = {**place, "LD_PRELOAD": ":".join([start, given.runtime, *preload]), "OMPX_CLUSTER": "head"}
    # The launcher itself is not to have them.
    words = [*LAUNCH[given.devices], str(count + 1), *each, "env", *(f"{name}={value}" for name, value in inner.items())]
    return words, {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def listed(path):
    """Names and reasons of a list: a name, blanks, a reason; `#` begins a comment."""
    lines = (line.partition("#")[0].split(None, 1) for line in pathlib.Path(path).read_text().splitlines())
    return {words[0]: words[1].strip() if len(words) > 1 else "" for words in lines if words}


def check_lists(lists, names):
    """Ends the program if a list has a row without a reason or of no test."""
    for name, reason in (row for rows in lists for row in rows.items()):
        if name not in names or not reason:
            sys.exit(f"listed test {name}: " + ("no such test" if reason else "no reason given"))


def asked_for(tests, given, subset):
    """The tests that the options `given` ask for; those of `subset()` when they ask for nothing in particular."""
    if given.only:
        names = listed(given.only)
        for name in sorted(set(names) - {t.name for t in tests}):
            sys.exit(f"{given.only}: no such test: {name}")
        tests = [t for t in tests if t.name in names]
    if given.filter:
        tests = [t for t in tests if re.search(given.filter, t.name)]
    return tests if given.full or given.only or given.filter else subset()


def spawn(command, directory, environment, limit):
    """Runs a command in a session of its own, killed as a whole. Status (None: took longer than `limit` seconds, those in
    which we were stopped or the machine slept not counted) and the end of its output."""
    kept = {k: os.environ[k] for k in ("PATH", "HOME", "USER") if k in os.environ}
    kept.update(LC_ALL="C", TMPDIR=str(directory), **environment)
    with tempfile.TemporaryFile("w+b") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory, env=kept,
                                   start_new_session=True)
        status = wait(process, limit)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        log.seek(max(0, log.seek(0, os.SEEK_END) - OUTPUT_KEPT))
        return status, log.read().decode(errors="replace")


def wait(process, limit):
    """The status of a process, or None when it has not ended after `limit` seconds in which we ran: a clock alone would
    take a driver that was stopped together with its tests for a test that hangs."""
    while limit > 0:
        step = min(1.0, limit)
        try:
            return process.wait(timeout=step)
        except subprocess.TimeoutExpired:
            limit -= step
    return None


def settings(given):
    """The environment variables that the options `given` ask for."""
    return {"OMP_NUM_THREADS": str(given.threads), **dict(e.partition("=")[::2] for e in given.env)}


def repeated(times, once):
    """Calls `once` until its verdict is not PASS, at most `times` times. Verdict, seconds of all runs, output of the last."""
    start = time.monotonic()
    for number in range(1, times + 1):
        verdict, output = once()
        if verdict != "PASS":
            output += f"\nrun {number} of {times}\n" if times > 1 else ""
            break
    return verdict, time.monotonic() - start, output


def retried_if_timed(once):
    """Calls `once` for a test that orders its threads by waiting for a while, which a busy machine can undo: after a FAIL
    it has to pass twice. Verdict and output of the last call."""
    verdict, output = once()
    if verdict != "FAIL":
        return verdict, output
    for _ in range(2):
        verdict, output = once()
        if verdict != "PASS":
            break
    return verdict, output


def judge(tests, verdict, given, report):
    """Has `verdict` judge each test, `given.jobs` at a time; calls of it may overlap. The exit status."""
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        pending = {pool.submit(verdict, test): test for test in tests}
        for done in concurrent.futures.as_completed(pending):
            report.add(pending[done], *done.result())
    failures = report.finish()
    if given.json:
        given.json.write_text(json.dumps(report.results, indent=1, sort_keys=True) + "\n")
    return 1 if failures else 0


def summary(output):
    """The line of an output that says most: what is missing, else the first error, else the last line."""
    missing = re.search(r"undefined symbol: [^\s,]+", output)
    if missing:
        return missing.group(0)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return ([line for line in lines if TELLING.search(line)] + lines[-1:] + [""])[0][:160]


class Report:
    """Counts verdicts by group, and prints those that are not PASS or SKIP as they come.

    `known`: failures that are known, with reasons. `exact`: they have to fail. `logs`: a directory for outputs, or None."""

    def __init__(self, known, exact, logs):
        self.known, self.exact, self.logs = known, exact, logs
        self.groups, self.results = {}, {}

    def add(self, test, verdict, seconds, output):
        """Takes the verdict on one test, which has a `name` and a `group`. `output` of SKIP is the reason."""
        text = output if verdict == "SKIP" else summary(output)
        if self.logs and verdict not in ("PASS", "SKIP"):
            log = self.logs / f"{test.name}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(output)
        if test.name in self.known and verdict == "PASS" and self.exact:
            verdict, text = "PASSES-BUT-KNOWN", "take it off the list of known failures"
        elif test.name in self.known and verdict not in ("PASS", "SKIP"):
            print(f"known: {verdict} {test.name}: {self.known[test.name]}", flush=True)
            verdict = "KNOWN"
        kind = {"PASS": "passed", "SKIP": "skipped", "KNOWN": "skipped"}.get(verdict, "failed")
        self.groups.setdefault(test.group, {"passed": 0, "failed": 0, "skipped": 0})[kind] += 1
        self.results[test.name] = {"verdict": verdict, "seconds": round(seconds, 2), "text": text}
        if kind == "failed":
            print(f"{verdict} {test.name} [{seconds:.1f} s] {text}", flush=True)

    def finish(self):
        """Prints the sums. The number of failures."""
        words = lambda counts: ", ".join(f"{n} {kind}" for kind, n in counts.items())
        for name in sorted(self.groups):
            print(f"{name}: {words(self.groups[name])}")
        total = {k: sum(g[k] for g in self.groups.values()) for k in ("passed", "failed", "skipped")}
        print(words(total))
        return total["failed"]
