"""Products, solutions and decompositions by numpy on the OpenMP flavour of OpenBLAS. Argument: matrix order."""
import sys

import numpy as np

import runtime_used

n = int(sys.argv[1])
random = np.random.RandomState(20240607)
a = random.rand(n, n)
b = random.rand(n, n)
runtime_used.report("openblas-openmp")
for _ in range(3):
    c = a @ b
print("product", repr(float(c.sum())), repr(float(c[n // 2, n // 3])))
x = np.linalg.solve(a + n * np.eye(n), b[:, :8])
print("solve", repr(float(np.abs(x).sum())))
s = np.linalg.svd(a[: n // 3, : n // 4], compute_uv=False)
print("svd", repr(float(s[0])), repr(float(s.sum())))
w = np.linalg.eigvalsh(a[: n // 3, : n // 3] + a[: n // 3, : n // 3].T)
print("eigenvalues", repr(float(w[-1])), repr(float(np.abs(w).sum())))
