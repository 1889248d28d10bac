"""Nearest neighbours by faiss from PyPI: an inverted file, a graph made with locks, exact search. Argument: points."""
import sys

import faiss
import numpy as np

import runtime_used

n = int(sys.argv[1])
points = np.random.RandomState(0).randn(n, 32).astype("float32")
runtime_used.report("libgomp")
for kind in ("IVF32,Flat", "Flat", "IVF32,SQ8"):
    index = faiss.index_factory(32, kind)
    index.train(points)
    index.add(points)
    distances, found = index.search(points[:400] + np.float32(0.01), 5)
    print(kind, int(found.sum()), repr(float(distances.sum())))
graph = faiss.IndexHNSWFlat(32, 16)
graph.add(points[: n // 4])
distances, found = graph.search(points[:300], 1)
print("graph", int((found[:, 0] == np.arange(300)).sum()) > 290)
print("threads", faiss.omp_get_max_threads())
runtime_used.finish()
