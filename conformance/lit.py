"""What a test of LLVM's suite says about itself, and the commands it stands for.

Lives here: the directives RUN, REQUIRES, UNSUPPORTED and XFAIL, boolean expressions over features, and the
substitutions that the suite's own lit.cfg defines. May not live here: fetching, running, judging (`llvm_suite`).
Rejected: LLVM's lit itself. It wants a configured build of libomp, and a list of known failures is foreign to it.
"""
import os
import re
import shutil
import subprocess
import sys

DIRECTIVE = re.compile(r"\b(RUN|REQUIRES|UNSUPPORTED|XFAIL):(.*)$")


class Test:
    """One source file of the suite.

    `group` is its directory, `text` all of it. `run` are its commands; `requires`, `unsupported` and `xfail` are boolean expressions.
    """

    def __init__(self, path, root):
        self.path = path
        self.name = str(path.relative_to(root))
        self.group = str(path.parent.relative_to(root))
        self.run, self.requires, self.unsupported, self.xfail = [], [], [], []
        self.text = path.read_text(errors="replace")
        self._read(self.text)

    def _read(self, text):
        conditions = {"REQUIRES": self.requires, "UNSUPPORTED": self.unsupported, "XFAIL": self.xfail}
        continued = False
        for keyword, value in (f.groups() for f in map(DIRECTIVE.search, text.splitlines()) if f):
            value = value.strip()
            if keyword != "RUN":
                conditions[keyword] += [v.strip() for v in value.split(",") if v.strip()]
                continue
            if continued:
                self.run[-1] = self.run[-1][:-1] + " " + value
            else:
                self.run.append(value)
            continued = self.run[-1].endswith("\\")

    def reason_to_skip(self, features):
        """Why this test does not apply where `features` hold, or None."""
        for need in self.requires:
            if not holds(need, features):
                return f"requires {need}"
        for bad in self.unsupported:
            if holds(bad, features):
                return f"not with {bad}"
        return None if self.run else "has no RUN line"

    def fails_by_design(self, features):
        """Whether its authors expect it to fail."""
        return any(holds(x, features) for x in self.xfail)


def holds(expression, features):
    """The value of a boolean expression (`&&`, `||`, `!`, parentheses) over names of features."""
    words = {"&&": "and", "||": "or", "!": "not", "(": "(", ")": ")", "true": "True", "false": "False"}
    tokens = re.findall(r"&&|\|\||!|\(|\)|[^\s&|!()]+", expression)
    return bool(eval(" ".join(words.get(t, repr(t in features)) for t in tokens)))


def version(clang):
    """The version of a compiler."""
    return subprocess.run([clang, "-dumpversion"], capture_output=True, text=True).stdout.strip()


def features(clang, changes):
    """The features of this machine and compiler; `changes` are names to add, or with `-` before them to remove."""
    release = version(clang)
    major, minor = (release.split(".") + ["0"])[:2]
    machine = os.uname().machine
    found = {"clang", f"clang-{major}", f"clang-{major}.{minor}", f"clang-{release}", "linux", "affinity",
             "hidden-helper", machine, f"{machine}-target-arch"}
    if machine in ("x86_64", "i386", "i686"):
        found.add("x86-target-arch")
    if len(os.sched_getaffinity(0)) > 1:
        found.add("multicpu")
    found |= {c for c in changes if not c.startswith("-")}
    return found - {c[1:] for c in changes if c.startswith("-")}


def libraries(clang):
    """The libraries every test is linked with."""
    probe = subprocess.run([clang, "-x", "c", "-", "-latomic", "-o", os.devnull],
                           input="int main(void){return 0;}", text=True, capture_output=True)
    return " -lm" + (" -latomic" if probe.returncode == 0 else "")


# A warning of ours that a test looks for in LLVM's words; what it says is what those say.
WARNING = r"s/^gangway: error directive at \(.*\); the program goes on$/OMP: Warning: \1/"


class Substitutions:
    """Turns the commands of a test into a script for bash."""

    def __init__(self, root, link, clang, clangxx, filecheck, negate):
        self.filecheck = filecheck
        openmp, libs = "-fopenmp -pthread", libraries(clang)
        flags = f"-I {root} -L {link} -fno-omit-frame-pointer -I {root}/ompt"
        c, cxx = f"{clang} {openmp} {flags}", f"{clangxx} {openmp} {flags}"
        compiling = {
            "%libomp-compile": f"{c} %s -o %t{libs}",
            "%libomp-irbuilder-compile": f"{c} -fopenmp-enable-irbuilder %s -o %t{libs}",
            "%libomp-c99-compile": f"{c} -std=c99 %s -o %t{libs}",
            "%libomp-cxx-compile-c": f"{cxx} -std=c++17 -x c++ %s -o %t{libs}",
            "%libomp-cxx-compile": f"{cxx} -std=c++17 %s -o %t{libs}",
            "%libomp-cxx20-compile": f"{cxx} -std=c++20 %s -o %t{libs}",
        }
        self.table = {f"{name}-and-run": f"{command} && %t" for name, command in compiling.items()}
        self.table.update(compiling)
        self.table.update({
            "%libomp-run": "%t", "%clangXX": clangxx, "%clang": clang, "%openmp_flags": openmp,
            "%flags-use-compiler-omp-h": flags, "%flags": flags, "%python": f'"{sys.executable}"', "%not": negate,
            "%sort-threads": "sort -n -s", "%preload-tool": "env LD_PRELOAD=%T/tool.so",
            "%no-as-needed-flag": "-Wl,--no-as-needed"})
        names = sorted(self.table, key=len, reverse=True)
        self.pattern = re.compile("(?:" + "|".join(map(re.escape, names)) + r")(?![-\w])")

    def script(self, test, directory):
        """All commands of `test`, joined by &&; its files lie in `directory`."""
        paths = {"%s": test.path, "%S": test.path.parent, "%t": directory / "t.tmp", "%T": directory}
        lines = []
        for line in test.run:
            line = self.pattern.sub(lambda m: self.table[m.group(0)], line)
            # What FileCheck reads is shown in the log, too.
            line = re.sub(r"(?<![\w/.-])FileCheck\b", lambda m: f"tee /dev/stderr | sed -e '{WARNING}' | {self.filecheck}", line)
            line = re.sub(r"%[sStT](?!\w)", lambda m: str(paths[m.group(0)]), line)
            lines.append("{ " + line + "; }")
        return "set -o pipefail\n" + " &&\n".join(lines) + "\n"


def links(library, directory, further):
    """Makes `directory`, in which every name under which a program may want LLVM's runtime, those in `further` among them, leads to
    `library`."""
    directory.mkdir()
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True).stdout
    for name in {"libomp.so", "libomp.so.5", "libiomp5.so", *further, *re.findall(r"SONAME.*\[(.*)\]", dynamic)}:
        (directory / name).symlink_to(library)
    return directory


def tool(name, version, directories=()):
    """The path of `name-version` or `name` of that version of LLVM, on PATH or below `directories`; or None."""
    candidates = [f"{name}-{version}", f"/usr/lib/llvm-{version}/bin/{name}"]
    candidates += [f"{d}/usr/lib/llvm-{version}/bin/{name}" for d in directories]
    return next(filter(None, map(shutil.which, candidates)), None)
