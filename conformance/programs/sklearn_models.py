"""KMeans and histogram gradient boosting of scikit-learn from PyPI, with fixed seeds. Argument: number of samples."""
import sys

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier

import runtime_used

n = int(sys.argv[1])
random = np.random.RandomState(7)
points = np.concatenate([random.randn(n // 4, 12) + 6 * k for k in range(4)])
runtime_used.report("libgomp")
for algorithm in ("lloyd", "elkan"):
    model = KMeans(n_clusters=4, n_init=3, algorithm=algorithm, random_state=0).fit(points)
    print(algorithm, repr(float(model.inertia_)), *sorted(np.bincount(model.labels_).tolist()))
    print(*(repr(float(v)) for v in sorted(model.cluster_centers_.sum(axis=1))))
target = (np.sin(points[:, 0]) + points[:, 1] % 3 > 1.5).astype(int)
boosting = HistGradientBoostingClassifier(max_iter=15, random_state=0).fit(points, target)
chance = boosting.predict_proba(points)[:, 1]
print("boosting", repr(float(chance.sum())), repr(float(boosting.score(points, target))))
