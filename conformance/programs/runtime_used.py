"""Says on stderr whether libgangway.so is mapped into this process, and checks other libraries by name."""
import ctypes
import os
import sys
import time

started = 0.0


def mapped(name):
    """True when a library whose path contains `name` is mapped into this process."""
    return bool(paths(name))


def paths(name):
    """The mapped files whose path contains `name`."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if name in line})


def report(expected_library):
    """Reports the runtime; ends the program when the library that should use it is not even loaded."""
    global started
    if not mapped(expected_library):
        sys.exit(f"{expected_library} is not loaded: this run would prove nothing")
    print("runtime:", "gangway" if mapped("libgangway.so") else "other", file=sys.stderr)
    started = time.perf_counter()


def finish():
    """Says how long it took since `report`, and ends the program when Gangway is mapped but had no region to run."""
    print("seconds:", time.perf_counter() - started, file=sys.stderr)
    if os.environ["OMP_NUM_THREADS"] == "1":
        return
    for path in paths("libgangway.so"):
        counters = (ctypes.c_uint64 * 64)()
        ctypes.CDLL(path).ompx_get_counters(counters, ctypes.sizeof(counters))
        if counters[0] == 0:
            sys.exit("Gangway is loaded and no region ran on it: another runtime was used")
