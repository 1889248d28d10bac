#!/usr/bin/env python3
"""Runs a program that has to fail, and gives its message in the words of LLVM's library, which tests look for.

    offload_words.py [--crash] COMMAND...

Status 0 when the command ends with status 1 after an error of ours: a crash is not what we promise. What our line says (what happened,
to which bytes at which address) is what the words in its place say, so that the test judges the facts. LLVM's library tells several of its
own functions' failures for one error; those lines come with it. With --crash a signal has to end the command, or the rank that runs the
region, of which our line tells.

Lives here: the translation. May not live here: which tests there are, and which of them have to fail.
"""
import re
import subprocess
import sys

MESSAGE = "omptarget message: "
NULL = "omptarget error: Call to getTargetPointer returned null pointer "
PRESENT = MESSAGE + "device mapping required by 'present' map type modifier does not exist for host address {address} ({size} bytes)"
PART = r"gangway: .* on device \d+: (?P<size>\d+) bytes at (?P<address>0x[0-9a-f]+) "
# Our words for an error, and the lines that stand for them.
WORDS = [
    (PART.replace(".*", "target update") + r"have to be present \(map modifier `present`\), and are not;",
     [PRESENT.replace("map type modifier", "motion modifier")]),
    (PART + r"have to be present \(map modifier `present`\), and are not;", [PRESENT, NULL + "('present' map type modifier)."]),
    (PART + r"are to be mapped, of which a part is mapped already \((?P<other>\d+) bytes at (?P<at>0x[0-9a-f]+)\);",
     [MESSAGE + "explicit extension not allowed: host address specified is {address} ({size} bytes), but device allocation maps to host "
      "at {at} ({other} bytes)", PRESENT, NULL + "('present' map type modifier).", NULL + "(device failure or illegal mapping)."]),
    (r"gangway: .*disagree about `requires (?P<what>\w+)`", ["omptarget fatal error 2: '#pragma omp requires {what}' not used consistently!"]),
]
CRASHED = re.compile(r"gangway: rank \d+: SIG(SEGV|ILL|FPE|BUS) at 0x[0-9a-f]+ in a target region or handler")
END = ["omptarget error: Call to targetDataBegin failed, abort target.",
       "omptarget error: Failed to process data before launching the kernel.",
       "omptarget fatal error 1: failure of target construct while offloading is mandatory"]


def translated(line):
    """The lines that LLVM's library has in place of `line`; None for what is not an error of ours."""
    for pattern, words in WORDS:
        found = re.match(pattern, line)
        if found:
            return [w.format(**found.groupdict()) for w in words] + END
    return None


def main():
    crash = sys.argv[1] == "--crash"
    ours = died = False
    process = subprocess.Popen(sys.argv[1 + crash:], stderr=subprocess.PIPE, text=True, errors="replace")
    for line in process.stderr:
        lines = translated(line)
        ours |= lines is not None
        died |= bool(CRASHED.match(line))
        print("\n".join(lines or [line.rstrip("\n")]), file=sys.stderr, flush=True)
    status = process.wait()
    if status < 0 or died and status > 1 if crash else status == 1 and ours:
        return 0
    print(f"the program ended with status {status}, {'with' if ours else 'without'} an error that we know", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
