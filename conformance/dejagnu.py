"""The part of DejaGnu's language that decides how a libgomp test is compiled, run and judged.

Lives here: reading `dg-` directives from a test's comments, answers to target selectors, and `Test`, the outcome of
both. May not live here: where the tests come from, how they are started (`gcc_suite`).

A directive is a Tcl list in braces: `{ dg-do run { target i?86-*-* && lp64 } }`. Only tests with `dg-do run` count.
What checks the compiler (dg-error, dg-warning, dg-final) has no say here. Running GCC's own expect scripts was
rejected: they need DejaGnu and a build tree of GCC.
"""
import fnmatch
import os
import pathlib
import re

ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}

# What holds on a host with glibc and without an offload device, whose target regions see the host's memory; and with one that does not see it.
HOLDS = {"lp64", "tls", "tls_runtime", "lto", "sync_int_long", "size32plus", "fpic", "shared", "fd_truncate",
         "vect_simd_clones", "large_long_double", "sync_char_short", "alias", "pthread", "run", "c99_runtime",
         "offload_device_shared_as"}
DEVICE_HOLDS = {"offload_device", "offload_device_nonshared_as"}
DEVICE_DOES_NOT = {"offload_device_shared_as"}
HOLDS_ON_X86 = {"__float128", "sse2_runtime", "sse2"}
DOES_NOT_HOLD = {"ia32", "ilp32", "run_expensive_tests", "skip-all-targets", "aarch64_tiny", "avx_runtime",
                 "openacc_nvidia_accel_present"}


def parse_list(text, start):
    """The Tcl list in `text` that begins after the brace before `start`: nested lists of words, or None if it does
    not end. Returns it with the index behind its closing brace."""
    words, at = [], start
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == "}":
            return words, at + 1
        elif text[at] == "{":
            inner, at = parse_list(text, at + 1)
            words.append(inner)
        else:
            word, at = parse_word(text, at)
            words.append(word)
    return None, at


def parse_word(text, at):
    """A bare word, or a quoted one with its escapes replaced."""
    if text[at] != '"':
        end = re.compile(r'[\s{}"]|$').search(text, at).start()
        return text[at:end], end
    value, at = "", at + 1
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
            value += ESCAPES.get(text[at], text[at])
        else:
            value += text[at]
        at += 1
    return value, at + 1


def directives(path):
    """Name and arguments of each directive in the file, in order."""
    for line in path.read_text(encoding="latin-1").splitlines():
        for opening in re.finditer(r"\{\s*dg-", line):
            words, _ = parse_list(line, opening.start() + 1)
            if words and isinstance(words[0], str):
                yield words[0][len("dg-"):], words[1:]


def flat(argument):
    """A word, or the words of a nested list with blanks between."""
    return argument if isinstance(argument, str) else " ".join(map(flat, argument))


class Machine:
    """Answers to target selectors, with an offload device or (`device` false) without. `unknown` collects words that nobody has decided about; they
    count as false."""

    def __init__(self, device=False):
        machine = os.uname().machine
        self.triplet = f"{machine}-pc-linux-gnu"
        self.true = set(HOLDS)
        if machine == "x86_64":
            self.true |= HOLDS_ON_X86
            if re.search(r"^flags\s*:.*\bavx\b", pathlib.Path("/proc/cpuinfo").read_text(), re.M):
                self.true.add("avx_runtime")
        if device:
            self.true = self.true - DEVICE_DOES_NOT | DEVICE_HOLDS
        self.unknown = set()

    def word(self, word, language):
        """Whether one word of a selector holds for a test in `language`."""
        if word.startswith("!"):
            return not self.word(word[1:], language)
        if word in ("c", "c++"):
            return word == language
        if word in self.true:
            return True
        if word in DOES_NOT_HOLD or word.startswith("offload_"):
            return False
        if "*" in word or word.count("-") >= 2:
            return fnmatch.fnmatchcase(self.triplet, word)
        self.unknown.add(word)
        return False

    def holds(self, expression, language):
        """Whether a selector holds: a word or a list with `!`, `&&` and `||`; values in a row mean `or`."""
        if isinstance(expression, str):
            return self.word(expression, language)
        formula, after_value = [], False
        for item in expression:
            is_value = item not in ("&&", "||", "!")
            if after_value and (is_value or item == "!"):
                formula.append("or")
            formula.append(str(self.holds(item, language)) if is_value
                           else {"&&": "and", "||": "or", "!": "not"}[item])
            after_value = is_value
        return bool(eval(" ".join(formula) or "True"))      # only True, False, and, or, not

    def applies(self, selector, language):
        """Whether `{ target EXPRESSION }` or a bare expression holds; what follows `xfail` in it does not matter."""
        if selector and selector[0] == "target":
            selector = selector[1:]
            if "xfail" in selector:
                selector = selector[:selector.index("xfail")]
        return self.holds(selector, language)


class Test:
    """One program in one language.

    `skip`: why it is not run, or None. `options`: of dg-options, None without. `extra`, `sources`: further
    options and files. `environment`: its variables. `outputs`: parts of the pattern that its output has to
    contain. `should_fail`: a status other than 0 is right. `xfail`: GCC expects it to fail. `patience`: factor on the
    time limit."""

    def __init__(self, name, path, group, language, machine):
        self.name, self.path, self.group, self.language = name, path, group, language
        self.options, self.extra, self.sources, self.environment = None, [], [], {}
        self.skip, self.outputs, self.should_fail, self.xfail, self.patience = None, [], False, False, 1.0
        self._machine, self._action, self._selected = machine, None, False
        for directive, arguments in directives(path):
            self._read(directive, arguments)
        if self._action is None:
            self._action, self._selected = "run", True
        if not self._selected:
            self.skip = "wrong target"
        elif self._action != "run":
            self.skip = f"dg-do {self._action}"

    def _read(self, directive, arguments):
        handler = getattr(self, "_" + directive.replace("-", "_"), None)
        try:
            if handler:
                handler(arguments)
        except (IndexError, TypeError, ValueError):
            self.skip = f"cannot read dg-{directive}"

    def _for_us(self, arguments, first=1):
        selectors = [a for a in arguments[first:] if isinstance(a, list)]
        return not selectors or self._machine.applies(selectors[0], self.language)

    def _do(self, arguments):
        # As in DejaGnu: the last action counts, one matching target suffices.
        self._action = flat(arguments[0])
        self._selected |= self._for_us(arguments)

    def _options(self, arguments):
        if self._for_us(arguments):
            self.options = flat(arguments[0]).split()

    def _additional_options(self, arguments):
        if self._for_us(arguments):
            self.extra += flat(arguments[0]).split()

    def _additional_sources(self, arguments):
        if self._for_us(arguments):
            self.sources += flat(arguments[0]).split()

    def _require_effective_target(self, arguments):
        if self._for_us(arguments) and not self._machine.word(arguments[0], self.language):
            self.skip = f"needs {arguments[0]}"

    def _skip_if(self, arguments):
        # The fourth argument lists options for which the test is run after all.
        spared = flat(arguments[3]).split() if len(arguments) > 3 else []
        if self._machine.applies(arguments[1], self.language) and "-O2" not in spared:
            self.skip = flat(arguments[0]) or "dg-skip-if"

    def _set_target_env_var(self, arguments):
        if self._for_us(arguments, 2):
            self.environment[flat(arguments[0])] = flat(arguments[1])

    def _shouldfail(self, arguments):
        self.should_fail |= self._for_us(arguments)

    def _output(self, arguments):
        if self._for_us(arguments):
            self.outputs.append(flat(arguments[0]))

    def _xfail_run_if(self, arguments):
        self.xfail = self._machine.applies(arguments[1], self.language)

    def _timeout_factor(self, arguments):
        self.patience = float(arguments[0])
