"""Hosts in Python: worker processes by fork beside numpy over OpenBLAS built for OpenMP, and a library that calls back from its threads."""
import ctypes
import multiprocessing
import sys
import threading


def product(seed):
    import numpy
    a = numpy.random.default_rng(seed).random((300, 300))
    return float(abs(a @ a - numpy.einsum("ij,jk->ik", a, a)).max()) < 1e-9


def processes(first):
    right = not first or product(1)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        right = right and all(pool.map(product, range(6)))
    return right and product(2)


def callback(library):
    back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda i: sum(range(i + 1)) - sum(range(i)))
    return all(library.plugin_call(back, n) == n * (n - 1) // 2 for n in [1, 100, 1000])


def callback_waits(library):
    """Each call has a state of its own in Python, found by the thread that calls; while it waits in the library the others' calls run."""
    own, threads, now = threading.local(), 6, ctypes.pythonapi.PyGILState_GetThisThreadState
    now.restype = ctypes.c_void_p
    seen = []

    def called(number):
        own.number, state, ident = number, now(), threading.get_ident()
        seen.append(ident)
        for _ in range(3):
            library.plugin_meet()
            if (own.number, now(), threading.get_ident()) != (number, state, ident):
                return 0
        return 1

    back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(called)
    return library.plugin_call_each(back, threads) == 3 * threads and len(set(seen)) == threads


def main(case, file):
    if case in ("processes_before", "processes_after"):
        try:
            import numpy  # noqa: F401
        except ImportError:
            print("numpy is not installed")
            return 77
        with open("/proc/self/maps") as maps:
            if "openblas-openmp" not in maps.read():
                print("numpy does not use libopenblas0-openmp")
                return 77
        right = processes(case == "processes_after")
    else:
        library = ctypes.CDLL(file)
        calls = callback if case == "callback" else callback_waits
        right = library.plugin_run() == 1 and calls(library) and library.plugin_run() == 1
    print("right" if right else "wrong")
    return int(not right)


sys.exit(main(*sys.argv[1:]))
