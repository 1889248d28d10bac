"""multiprocessing with the fork method after numpy has run a threaded product. Argument: matrix order.

A runtime whose threads the fork has not copied must still serve the child, or the child waits for them forever.
"""
import multiprocessing
import sys

import numpy as np

import runtime_used

n = int(sys.argv[1])


def product(seed):
    """The sum over a product of two matrices drawn from `seed`."""
    random = np.random.RandomState(seed)
    return float((random.rand(n, n) @ random.rand(n, n)).sum())


if __name__ == "__main__":
    runtime_used.report("openblas-openmp")
    print("parent", repr(product(0)))
    for round_ in range(2):
        with multiprocessing.get_context("fork").Pool(3) as pool:
            for i, s in enumerate(pool.map(product, range(1, 7))):
                print("child", round_, i, repr(s))
        print("parent", repr(product(7)))
