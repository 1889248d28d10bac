"""Boosted trees by LightGBM or XGBoost from PyPI. Arguments: which of the two, number of samples."""
import sys

import numpy as np

import runtime_used

n = int(sys.argv[2])
random = np.random.RandomState(0)
points = random.randn(n, 20)
target = (points[:, 0] * points[:, 1] + points[:, 2] > 0).astype(int)


def by_lightgbm():
    settings = {"objective": "binary", "verbose": -1, "seed": 3, "deterministic": True, "force_row_wise": True}
    for boosting in ("gbdt", "dart"):
        model = lightgbm.train({**settings, "boosting": boosting}, lightgbm.Dataset(points, target), 12)
        print(boosting, repr(float(model.predict(points).sum())), *model.feature_importance().tolist())


def by_xgboost():
    for method in ("hist", "approx", "exact"):
        settings = {"tree_method": method, "seed": 3, "max_depth": 5, "objective": "binary:logistic"}
        model = xgboost.train(settings, xgboost.DMatrix(points, target), 8)
        chance = model.predict(xgboost.DMatrix(points))
        print(method, repr(float(chance.sum())), int((chance > 0.5).sum()), sorted(model.get_fscore().items()))


if sys.argv[1] == "lightgbm":
    import lightgbm

    runtime_used.report("lib_lightgbm")
    by_lightgbm()
else:
    import xgboost

    runtime_used.report("libxgboost")
    by_xgboost()
runtime_used.finish()
