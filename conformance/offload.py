"""What the tests of LLVM's library for devices (offload/test) stand for on this machine's own processor.

Lives here: the substitutions that their lit.cfg defines, for the target x86_64 as clang makes images for it, and which tests are about
something that Gangway's devices are not. May not live here: fetching, running, judging (`offload_suite`), directives (`lit`).

A script begins with a function of the shell: `once` keeps what a compiler makes: the same script has the same programs, whatever
runtime and device they run on. $LAUNCH starts one on the device under test, $FAILS (offload_words.py) wants it to end with a clear
error, $LINKS is where the runtime is found. A script names no directory that changes from run to run, so its text tells which programs
belong to it; for that they run in the directory in which they are.
"""
import re

import lit

HERE = "x86_64-pc-linux-gnu"
SKIPPED = (                     # what a command has that says that the test is about LLVM's own library or about GPUs
    (r"LIBOMPTARGET_(INFO|DEBUG)=", "reads what LLVM's library prints about its own work"),
    (r"-fopenmp-target-jit|LIBOMPTARGET_JIT", "compiles images while the program runs, as for a GPU"),
)
PRELUDE = r"""set -o pipefail
once() {
    local number=$1 made=a.out i; shift
    for ((i = 1; i < $#; i++)); do [ "${!i}" = -o ] && { local next=$((i + 1)); made=${!next}; }; done
    if [ -e "$KEPT/$number" ]; then cp "$KEPT/$number" "$made"; return; fi
    "$@" && cp "$made" "$made.kept" && mv "$made.kept" "$KEPT/$number"
}
"""
RUN = "$LAUNCH ./t.tmp"
TRAPS = "__builtin_trap"        # in the text of a test whose program has to be ended by a signal, and not by a message


class Test(lit.Test):
    """A test of devices. As lit's, and tells what in its commands is not for us."""

    def reason_to_skip(self, features):
        """Why this test does not apply, or None."""
        why = super().reason_to_skip(features)
        if why:
            return why
        commands = "\n".join(self.run)
        if not re.search(rf"-(generic|{HERE})(?![-\w])", commands):
            return "has no command for this processor"
        return next((reason for pattern, reason in SKIPPED if re.search(pattern, commands)), None)


def features(clang, changes):
    """The features that hold here: this processor's, no unified memory, no debugging output, no tools interface."""
    return lit.features(clang, ["host", HERE, *changes])


class Commands:
    """Turns the commands of a test into a script for bash."""

    def __init__(self, root, found):
        flags = f"-fopenmp -pthread -I {root} -L $LINKS"
        filecheck = f"tee /dev/stderr | {found['FileCheck']}"
        table = {"%clang": f"once # {found['clang']}", "%flags": f"-I {root} -L $LINKS", "%openmp_flags": "-fopenmp -pthread",
                 "%not": "not"}
        for target in ("generic", HERE):
            cc = f"once # {found['clang']} {flags} -fopenmp-targets={HERE}"
            cxx = f"once # {found['clang++']} {flags} -fopenmp-targets={HERE}"
            table |= {f"%clang-{target}": cc, f"%clangxx-{target}": cxx, f"%libomptarget-run-{target}": RUN,
                      f"%libomptarget-run-fail-{target}": f"%fails {RUN}",
                      f"%fcheck-{target}": f"{filecheck} %s", f"%fcheck-plain-{target}": found["FileCheck"]}
            for word, compiler, level in (("", cc, ""), ("xx", cxx, ""), ("opt", cc, " -O3"), ("optxx", cxx, " -O3")):
                compiling, checked = f"{compiler}{level} %s -o %t", f"{RUN} | {filecheck} %s"
                table |= {f"%libomptarget-compile{word}-{target}": compiling,
                          f"%libomptarget-compile{word}-and-run-{target}": f"{compiling} && {RUN}",
                          f"%libomptarget-compile{word}-run-and-check-{target}": f"{compiling} && {checked}"}
        self.table = table
        self.names = re.compile("(?:" + "|".join(map(re.escape, sorted(table, key=len, reverse=True))) + r")(?![-\w])")
        # What is left is for other processors, as in the suite's own configuration.
        self.others = re.compile(r"%(?:libomptarget|fcheck|clang|clangxx|flang)-[-\w]+")

    def script(self, test):
        """All commands of `test`, joined by &&."""
        paths = {"%s": str(test.path), "%S": str(test.path.parent), "%t": "./t.tmp", "%T": "."}
        lines, number = [], 0
        for line in test.run:
            line = self.names.sub(lambda m: self.table[m.group(0)], line)
            line = self.others.sub("echo ignored-command", line)
            line = re.sub(r"%[sStT](?!\w)", lambda m: paths[m.group(0)], line)
            # A program that is named alone begins a command.
            line = re.sub(r"^((?:env )?(?:\w+=\S* )*)(?=\./t\.tmp(?: |$))", r"\1$LAUNCH ", line)
            line = re.sub(r"(?<!\S)(?:%fails|not) (?:\$LAUNCH )?", f"$FAILS {'--crash ' if TRAPS in test.text else ''}$LAUNCH ", line)
            while "once # " in line:
                line, number = line.replace("once # ", f"once {number} ", 1), number + 1
            lines.append("{ " + line + "; }")
        # By a pipe, to which several processes can write.
        return PRELUDE + "{ " + " &&\n".join(lines) + "; } 2>&1 | cat\n"
