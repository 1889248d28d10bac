"""Gangway's threads, teams and tasks in gdb, in a stopped process or a core.

    (gdb) source gangway.py
    (gdb) info gangway ults            contexts: running, suspended, and where in the program each is
    (gdb) info gangway teams           parallel regions that are under way
    (gdb) info gangway tasks           explicit tasks: running, suspended, ready
    (gdb) gangway backtrace 3.0        frames of a suspended context ("all": of each of them)
    (gdb) gangway select 3.0           makes it what `backtrace`, `up`, `info locals` show, above one frame of the real thread
    (gdb) gangway unselect

Source it before `run` or `continue`: the library interrupts spinning code with a signal, and gdb stops at each signal
that it does not know to pass on.

A context's name is the number of the worker it is on, a dot, and its place among those suspended there, oldest first; the one
that runs there has the worker's number alone. Nothing is changed in the process: a suspended context's registers are handed to
gdb by an unwinder, so this works in cores, too. Needs no debug information of libgangway.so: it exports where its fields are
(ult/src/debug.rs). Thread-local variables are shown as the selected kernel thread has them.

x86_64 only: the registers of a suspended context lie as ult/src/sys/arch/x86_64.rs draws them.
"""

import re

import gdb
import gdb.unwinder

TABLE = "GANGWAY_DEBUG"
# Behind the floating-point words at the stack pointer of a suspended context.
SAVED = ["r15", "r14", "r13", "r12", "rbx", "rbp", "rip"]
TEAM_KINDS = ["assigned workers", "kernel threads", "ULTs"]
MOST_READY = 1000


class Missing(gdb.GdbError):
    pass


# ---- the library's own signal -----------------------------------------------------------------------------------------

# The one that the library takes where the program has no handler for it: the eighth after SIGRTMIN.
FIRST_SIGNAL = 42


class PassedOn:
    """Signals at which gdb does not stop."""

    def __init__(self):
        self.numbers = set()
        self.add(FIRST_SIGNAL)

    def add(self, number):
        if number not in self.numbers:
            gdb.execute("handle SIG%d nostop noprint pass" % number, to_string=True)
            self.numbers.add(number)

    def on_stop(self, _event):
        """Where the library has taken another signal, gdb stops at it once."""
        try:
            number = read(Facts()["stall.signal"], 4, signed=True)
        except (gdb.error, Missing):  # not loaded yet, or another library
            return
        if number >= 34:  # gdb has names of its own for those below, and a program that chose one knows of it
            self.add(number)


PASSED_ON = PassedOn()
gdb.events.stop.connect(PASSED_ON.on_stop)


# ---- memory ---------------------------------------------------------------------------------------------------------


def read(address, size, signed=False):
    data = gdb.selected_inferior().read_memory(address, size)
    return int.from_bytes(bytes(data), "little", signed=signed)


def word(address):
    return read(address, 8)


def evaluate(text):
    """A C expression as a number, whatever language the selected frame is in."""
    language = gdb.parameter("language")
    gdb.execute("set language c", to_string=True)
    try:
        return int(gdb.parse_and_eval(text))
    finally:
        gdb.execute("set language %s" % language, to_string=True)


class Facts:
    """What the library exports about itself: offsets, numbers and addresses by name."""

    def __init__(self):
        try:
            table = evaluate("(unsigned long)&%s" % TABLE)
        except gdb.error:
            raise Missing("no Gangway in this process: %s is not defined in any of its objects" % TABLE)
        self.values = {}
        for part in range(word(table)):
            first, count = word(table + 8 + 16 * part), word(table + 16 + 16 * part)
            for entry in range(count):
                at = first + 32 * entry
                name = bytes(gdb.selected_inferior().read_memory(at, 24)).split(b"\0")[0].decode()
                self.values[name] = word(at + 24)

    def __getitem__(self, name):
        if name not in self.values:
            raise Missing("this libgangway.so says nothing about %s; take the script that belongs to it" % name)
        return self.values[name]


def symbol(address):
    """A function's name and, where known, its line."""
    if not address:
        return "-"
    block_name = None
    try:
        block = gdb.block_for_pc(address)
        while block is not None:
            if block.function is not None:
                block_name = block.function.print_name  # of the outermost one: inlined functions have blocks, too
            block = block.superblock
    except RuntimeError:
        pass
    if block_name is None:
        text = gdb.execute("info symbol %#x" % address, to_string=True)
        block_name = text.split(" in section ")[0].split(" + ")[0].strip() if " in section " in text else "%#x" % address
    place = gdb.find_pc_line(address)
    if place.symtab is not None and place.line:
        return "%s (%s:%d)" % (block_name, place.symtab.filename.split("/")[-1], place.line)
    return block_name


# ---- what there is --------------------------------------------------------------------------------------------------


class Context:
    """A stack of the program's: running on a worker, or suspended there."""

    def __init__(self, facts, worker, name, state, ult, locals_at, region, gang):
        self.facts, self.worker, self.name, self.state, self.ult = facts, worker, name, state, ult
        self.thread, self.task = (word(locals_at), word(locals_at + 8)) if locals_at else (0, 0)
        self.region, self.gang = region, gang

    def sp(self):
        return word(self.ult + self.facts["ult.sp"])

    def describe(self):
        """Number and size of the team, and what kind of task it is."""
        if not self.thread:
            return "no region"
        facts = self.facts
        team = word(self.thread + facts["thread.team"])
        number = read(self.thread + facts["thread.num"], 4)
        size = read(team + facts["team.size"], 4)
        level = read(team + facts["team.level"], 4)
        explicit = read(self.task + facts["task.flags"], 4) & facts["task.flags.explicit"] if self.task else 0
        kind = "task %s" % symbol(code_of(facts, self.task)) if explicit else "implicit task"
        return "thread %d of %d, level %d, %s" % (number, size, level, kind)


class Worker:
    """A kernel thread's record."""

    def __init__(self, facts, address):
        self.facts, self.address = facts, address
        self.index = read(address + facts["worker.index"], 4)
        self.tid = read(address + facts["worker.tid"], 4)

    def contexts(self):
        yield self.running()
        facts = self.facts
        for place, entry in enumerate(self.suspended()):
            ult = word(entry + facts["context.ult"])
            state = "interrupted" if read(entry + facts["context.interrupted"], 1) else "suspended"
            if ult == word(self.address + facts["worker.current"]):
                continue  # about to leave its stack, or just back on it
            yield Context(facts, self, "%d.%d" % (self.index, place), state, ult, ult + facts["ult.locals"],
                          word(entry + facts["context.region"]), read(entry + facts["context.gang"], 8, True))

    def suspended(self):
        """Addresses of the entries of suspended contexts: those that the worker polls, then the others."""
        facts = self.facts
        polled = self.address + facts["worker.suspended"]
        yield from self.items(polled, facts["context.size"])
        for group in self.items(polled + facts["list.groups"], facts["group.size"]):
            yield from self.items(group, facts["context.size"])

    def items(self, address, size):
        """Addresses of the items of a list in the runtime's memory."""
        first, length = word(address + self.facts["list.items"]), word(address + self.facts["list.length"])
        return (first + place * size for place in range(length))

    def running(self):
        facts = self.facts
        return Context(facts, self, str(self.index), "running", word(self.address + facts["worker.current"]), self.block(),
                       word(self.address + facts["worker.region"]), read(self.address + facts["worker.gang"], 8, True))

    def kernel_thread(self):
        return next((t for t in gdb.selected_inferior().threads() if self.tid == t.ptid[1]), None)

    def block(self):
        """Address of the words (thread, task) of the code that runs there, found through its thread pointer."""
        distance = read(self.facts["block"], 8, True)
        thread, before = self.kernel_thread(), gdb.selected_thread()
        if thread is None or not distance:
            return 0
        try:
            thread.switch()
            base = evaluate("(unsigned long)$fs_base")
        except gdb.error:
            return 0
        finally:
            if before is not None and before.is_valid():
                before.switch()
        block = base + distance
        return block + 8 if word(block) == self.address else 0


def workers(facts):
    for slot in range(word(facts["workers.len"])):
        address = word(facts["workers"] + 8 * slot)
        if address:
            worker = Worker(facts, address)
            if worker.tid:
                yield worker


def contexts(facts):
    for worker in workers(facts):
        yield from worker.contexts()


def code_of(facts, task):
    """The compiler's function of an explicit task, 0 where it is not known."""
    run = word(task + facts["task.run"])
    if run == facts["gomp.run"]:
        return word(task + facts["task.front"] + 8 * facts["gomp.function"])
    if run == facts["kmpc.run"]:
        return word(task + facts["task.size"] + facts["kmpc.routine"])
    return 0


def named(facts, name):
    found = next((c for c in contexts(facts) if c.name == name), None)
    if found is None:
        raise gdb.GdbError("no context %s; `info gangway ults` lists them" % name)
    return found


# ---- frames of a suspended context ----------------------------------------------------------------------------------


class FrameId:
    """What names a frame; gdb before 14 has no type of its own for that."""

    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Frames(gdb.unwinder.Unwinder):
    """Puts the frames of one suspended context below the innermost frame of the selected kernel thread."""

    def __init__(self):
        super().__init__("gangway")
        self.enabled = True
        self.context, self.innermost = None, None

    def select(self, context):
        self.context, self.innermost = None, None
        gdb.invalidate_cached_frames()
        if context is not None:
            self.innermost = evaluate("(unsigned long)$sp")
            self.context = context
            gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if self.context is None:
            return None
        sp = pending.read_register("rsp")
        if int(sp) != self.innermost:
            return None
        unsigned, frame = gdb.lookup_type("unsigned long"), self.context.sp()
        # Its name lies on the context's stack: gdb takes a caller that is further down for a broken stack.
        info = pending.create_unwind_info(FrameId(gdb.Value(frame).cast(unsigned), pending.read_register("rip")))
        for number, register in enumerate(SAVED):
            info.add_saved_register(register, gdb.Value(word(frame + 8 * number)).cast(unsigned))
        info.add_saved_register("rsp", gdb.Value(frame + 8 * len(SAVED)).cast(unsigned))
        return info


FRAMES = Frames()
gdb.unwinder.register_unwinder(None, FRAMES, True)


def frames(context):
    """The frames of a context, innermost first, as (address, text, in the library itself)."""
    before, thread = FRAMES.context, gdb.selected_thread()
    found = []
    try:
        if context.state == "running":
            FRAMES.select(None)
            own = context.worker.kernel_thread()
            if own is None:
                return found
            own.switch()
            frame = gdb.newest_frame()
        else:
            FRAMES.select(context)
            frame = gdb.newest_frame().older()
        while frame is not None and frame.is_valid():
            found.append(line_of(frame))
            frame = frame.older()
    finally:
        if thread is not None and thread.is_valid():
            thread.switch()
        FRAMES.select(before)
    return found


def without_parameters(name):
    """A Rust function's name without type parameters and hash; `<` also begins the names of operators and of gdb's own frames."""
    kept, depth = "", 0
    for letter in re.sub("::h[0-9a-f]{16}$|->", "", name):
        depth += letter == "<"
        kept += letter if depth == 0 else ""
        depth -= letter == ">" and depth > 0
    return kept


def line_of(frame):
    address = frame.pc()
    objfile = gdb.solib_name(address) or ""
    name = frame.name() or ("<signal handler called>" if frame.type() == gdb.SIGTRAMP_FRAME else "??")
    place = frame.find_sal()
    where = ""
    if place.symtab is not None and place.line:
        where = " at %s:%d" % (place.symtab.filename, place.line)
    elif objfile:
        where = " from %s" % objfile
    library = evaluate("(unsigned long)&%s" % TABLE)
    own = objfile == (gdb.solib_name(library) or "?")
    return address, "%s%s" % (without_parameters(name) if own else name, where), own


def place_in_program(context):
    """The innermost frame that is neither the library's nor the C library's."""
    for address, text, own in frames(context):
        name = (gdb.solib_name(address) or "").split("/")[-1]
        if not own and not name.startswith(("libc.", "libc-", "libpthread", "ld-linux")) and not text.startswith("<signal handler"):
            return text
    return ""


# ---- commands -------------------------------------------------------------------------------------------------------


class InfoPrefix(gdb.Command):
    """Gangway's contexts, teams and tasks."""

    def __init__(self):
        super().__init__("info gangway", gdb.COMMAND_STATUS, prefix=True)


class InfoUlts(gdb.Command):
    """All contexts: what runs on each worker, and what is suspended there."""

    def __init__(self):
        super().__init__("info gangway ults", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for context in contexts(Facts()):
            thread = " (LWP %d)" % context.worker.tid if context.state == "running" else ""
            print("%-6s %-11s %s%s" % (context.name, context.state, context.describe(), thread))
            place = place_in_program(context) if context.thread else ""
            if place:
                print("       in %s" % place)


class InfoTeams(gdb.Command):
    """Parallel regions that are under way: level, threads, region, gang."""

    def __init__(self):
        super().__init__("info gangway teams", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        facts = Facts()
        seen = []
        for context in contexts(facts):
            thread = context.thread
            while thread:
                team = word(thread + facts["thread.team"])
                if team not in seen:
                    seen.append(team)
                thread = word(team + facts["team.parent_thread"])
        for team in sorted(seen, key=lambda t: (read(t + facts["team.level"], 4), t)):
            self.show(facts, team)

    def show(self, facts, team):
        level, size = read(team + facts["team.level"], 4), read(team + facts["team.size"], 4)
        kind = read(team + facts["team.kind"], 1)
        gang = read(team + facts["team.gang"], 8, True)
        parent = word(team + facts["team.parent_thread"])
        function = word(team + facts["team.function"])
        words = ["team %#x" % team, "level %d" % level, "%d thread%s" % (size, "s"[: size != 1])]
        words.append(symbol(function) if function else "initial")
        if size > 1:
            words.append(TEAM_KINDS[kind] if kind < len(TEAM_KINDS) else "kind %d" % kind)
            words.append("%d at its barrier" % read(team + facts["team.arrived"], 4))
        if gang >= 0:
            words.append("gang %d" % gang)
        if parent:
            words.append("forked by thread %d of team %#x" % (read(parent + facts["thread.num"], 4), word(parent + facts["thread.team"])))
        print(", ".join(words))


class InfoTasks(gdb.Command):
    """Explicit tasks: those that have begun, and the ready ones in the deques of threads whose contexts are known."""

    def __init__(self):
        super().__init__("info gangway tasks", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        facts = Facts()
        threads = []
        for context in contexts(facts):
            self.members(facts, context.thread, threads)
            if context.task and read(context.task + facts["task.flags"], 4) & facts["task.flags.explicit"]:
                print("%-11s %s, context %s, %s" % (context.state, self.name(facts, context.task), context.name, context.describe().split(", task")[0]))
        for thread in threads:
            self.ready(facts, thread)

    def members(self, facts, thread, threads):
        while thread:
            team = word(thread + facts["thread.team"])
            slots, count = word(team + facts["team.slots"]), read(team + facts["team.size"], 4)
            for member in (word(slots + 8 * i) for i in range(count)):
                if member and member not in threads:
                    threads.append(member)
            thread = word(team + facts["team.parent_thread"])

    def ready(self, facts, thread):
        deque = thread + facts["thread.deque"]
        top, bottom = read(deque + facts["deque.top"], 8, True), read(deque + facts["deque.bottom"], 8, True)
        buffer = word(deque + facts["deque.buffer"])
        slots, length = word(buffer + facts["buffer.slots"]), word(buffer + facts["buffer.slots"] + 8)
        for at in range(top, min(bottom, top + MOST_READY)):
            task = word(slots + 8 * (at % length))
            number = read(thread + facts["thread.num"], 4)
            print("%-11s %s, in the deque of thread %d of team %#x" % ("ready", self.name(facts, task), number, word(thread + facts["thread.team"])))
        if bottom - top > MOST_READY:
            print("            and %d more there" % (bottom - top - MOST_READY))

    def name(self, facts, task):
        code = code_of(facts, task)
        return "task %#x%s" % (task, " " + symbol(code) if code else "")


class Prefix(gdb.Command):
    """Looks into Gangway's user-level threads."""

    def __init__(self):
        super().__init__("gangway", gdb.COMMAND_STACK, prefix=True)


class Backtrace(gdb.Command):
    """gangway backtrace NAME|all: the frames of a context that `info gangway ults` names."""

    def __init__(self):
        super().__init__("gangway backtrace", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        facts, wanted = Facts(), argument.strip()
        if not wanted:
            raise gdb.GdbError("gangway backtrace NAME, or all; `info gangway ults` lists the names")
        for context in contexts(facts) if wanted == "all" else [named(facts, wanted)]:
            print("context %s, %s, %s" % (context.name, context.state, context.describe()))
            for number, (address, text, _) in enumerate(frames(context)):
                print("  #%-2d %#018x in %s" % (number, address, text))


class Select(gdb.Command):
    """gangway select NAME: `backtrace`, `up`, `info locals` show this context, from frame 1 on."""

    def __init__(self):
        super().__init__("gangway select", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        context = named(Facts(), argument.strip())
        if context.state == "running":
            FRAMES.select(None)
            thread = context.worker.kernel_thread()
            if thread is None:
                raise gdb.GdbError("its kernel thread %d is not among gdb's threads" % context.worker.tid)
            thread.switch()
            return
        FRAMES.select(context)
        gdb.execute("frame 1")


class Unselect(gdb.Command):
    """gangway unselect: gdb shows its kernel thread's own frames again."""

    def __init__(self):
        super().__init__("gangway unselect", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        FRAMES.select(None)


for command in (InfoPrefix, InfoUlts, InfoTeams, InfoTasks, Prefix, Backtrace, Select, Unselect):
    command()
