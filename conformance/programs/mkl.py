"""Intel's MKL from PyPI, called through ctypes: dgemm, dgesv, dsyev and a sparse direct solver (PARDISO).

libmkl_intel_thread was built by Intel's compiler and asks for libiomp5.so. Argument: matrix order.
"""
import ctypes
import os
import sys

import numpy as np

import runtime_used

# Otherwise MKL never uses more threads than there are cores.
os.environ["MKL_DYNAMIC"] = "FALSE"
directory = os.path.join(sys.prefix, "lib")
mkl = ctypes.CDLL(sorted(f.path for f in os.scandir(directory) if f.name.startswith("libmkl_rt.so"))[-1])
# Otherwise MKL takes its layer for gcc where a file named libgomp.so.1 is loaded, and one of the links has that name.
mkl.MKL_Set_Threading_Layer(0)
n = int(sys.argv[1])
random = np.random.RandomState(3)
ROW_MAJOR, PLAIN = 101, 111


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def integer(value):
    return ctypes.byref(ctypes.c_int(value))


def product(a, b):
    c, one, zero = np.zeros((n, n)), ctypes.c_double(1), ctypes.c_double(0)
    mkl.cblas_dgemm(ROW_MAJOR, PLAIN, PLAIN, n, n, n, one, pointer(a), n, pointer(b), n, zero, pointer(c), n)
    return c


def solution(a, b):
    x, pivots, work = b.copy(), np.zeros(n, dtype=np.int32), a.copy()
    assert mkl.LAPACKE_dgesv(ROW_MAJOR, n, b.shape[1], pointer(work), n, pointer(pivots), pointer(x), b.shape[1]) == 0
    return x


def eigenvalues(a):
    w, work = np.zeros(n), a + a.T
    assert mkl.LAPACKE_dsyev(ROW_MAJOR, ord("N"), ord("U"), n, pointer(work), n, pointer(w)) == 0
    return w


def laplacian(m):
    """The upper triangle of the five-point operator on an m by m grid, by rows, counted from 1."""
    rows, columns, values = [1], [], []
    for i in range(m * m):
        entries = [(i, 4.0 + i % 3)]
        entries += [(i + 1, -1.0)] if (i + 1) % m else []
        entries += [(i + m, -1.0)] if i + m < m * m else []
        columns += [j + 1 for j, _ in entries]
        values += [v for _, v in entries]
        rows.append(len(columns) + 1)
    return np.array(rows, dtype=np.int32), np.array(columns, dtype=np.int32), np.array(values)


def pardiso(m):
    rows, columns, values = laplacian(m)
    size, b = m * m, np.sin(np.arange(m * m, dtype=float))
    x, memory, parameters = np.zeros(size), np.zeros(64, dtype=np.int64), np.zeros(64, dtype=np.int32)
    kind, error = 2, ctypes.c_int(0)
    mkl.pardisoinit(pointer(memory), integer(kind), pointer(parameters))
    for phase in (13, -1):
        mkl.pardiso(pointer(memory), integer(1), integer(1), integer(kind), integer(phase), integer(size), pointer(values),
                    pointer(rows), pointer(columns), integer(0), integer(1), pointer(parameters), integer(0), pointer(b),
                    pointer(x), ctypes.byref(error))
        assert error.value == 0, error.value
    return x


a, b = random.rand(n, n), random.rand(n, n)
mkl.MKL_Get_Max_Threads()
runtime_used.report("libmkl_intel_thread")
for _ in range(3):
    c = product(a, b)
print("product", repr(float(c.sum())), repr(float(c[n // 2, n // 3])))
x = solution(a + n * np.eye(n), b[:, :8].copy())
print("solve", repr(float(np.abs(x).sum())))
w = eigenvalues(a)
print("eigenvalues", repr(float(w[-1])), repr(float(np.abs(w).sum())))
y = pardiso(n // 4)
print("pardiso", repr(float(y.sum())), repr(float(np.abs(y).max())))
print("threads", mkl.MKL_Get_Max_Threads())
runtime_used.finish()
