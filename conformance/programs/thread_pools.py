"""threadpoolctl and joblib from PyPI find the OpenMP runtime by its file's name and change how many threads it uses.

Both look at the names of the loaded files, so a runtime that is preloaded under a name they do not know would be passed over,
and the limit would go to the private copy of libgomp, which nobody calls. Argument: number of samples.
"""
import os
import sys

import joblib
import numpy as np
import threadpoolctl
from sklearn.cluster import KMeans
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as effective

import runtime_used

n = int(sys.argv[1])
asked = int(os.environ["OMP_NUM_THREADS"])


def controlled(where):
    """Ends the program where Gangway is loaded and threadpoolctl does not list it."""
    pools = [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "openmp"]
    if runtime_used.mapped("libgangway.so") and not any("libgangway.so" in p["filepath"] for p in pools):
        sys.exit(f"{where}: threadpoolctl does not find libgangway.so")
    if not pools:
        sys.exit(f"{where}: threadpoolctl finds no OpenMP runtime")
    return sorted({p["num_threads"] for p in pools})


def inertia(seed):
    points = np.concatenate([np.random.RandomState(seed).randn(n // 4, 8) + 5 * k for k in range(4)])
    return float(KMeans(n_clusters=4, n_init=1, random_state=0).fit(points).inertia_)


def child(seed):
    """In a process of joblib's: its threads, those under a limit, and an answer."""
    before = controlled("child"), effective()
    with threadpoolctl.threadpool_limits(limits=1, user_api="openmp"):
        limited = effective()
    return before, limited, effective(), inertia(seed)


if __name__ == "__main__":
    runtime_used.report("libgomp")
    print("threads", controlled("parent"), effective() == asked)
    for limit in (1, 3, 2):
        with threadpoolctl.threadpool_limits(limits=limit, user_api="openmp"):
            print("limit", limit, effective(), repr(inertia(limit)))
    print("after", effective() == asked)
    with joblib.parallel_config(backend="loky", inner_max_num_threads=2):
        for answer in joblib.Parallel(n_jobs=2)(joblib.delayed(child)(seed) for seed in range(4)):
            print("child", *answer)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        for answer in joblib.Parallel()(joblib.delayed(inertia)(seed) for seed in range(2)):
            print("thread", repr(answer))
