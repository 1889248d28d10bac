"""Says on stderr whether libgangway.so is mapped into this process, and checks other libraries by name."""
import sys


def mapped(name):
    """True when a library whose path contains `name` is mapped into this process."""
    with open("/proc/self/maps") as maps:
        return any(name in line for line in maps)


def report(expected_library):
    """Reports the runtime; ends the program when the library that should use it is not even loaded."""
    if not mapped(expected_library):
        sys.exit(f"{expected_library} is not loaded: this run would prove nothing")
    print("runtime:", "gangway" if mapped("libgangway.so") else "other", file=sys.stderr)
