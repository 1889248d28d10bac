"""Loads an OpenMP shared object privately, as extension modules are, and returns what its check() says."""
import ctypes
import sys
import threading

library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL if hasattr(ctypes, "RTLD_LOCAL") else 0)
result = library.check()
# A second Python thread is a foreign thread to the runtime; ctypes releases the interpreter lock.
results = []
threads = [threading.Thread(target=lambda: results.append(library.check())) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(0 if result == 0 and results == [0, 0, 0] else 1)
