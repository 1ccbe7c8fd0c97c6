"""Run in an environment of its own by learners.py: diffprivlib's estimators on the same splits and bounds.

It gets pure ε (it knows no other for these), columns scaled to [−1, 1] by the same public bounds, and its
defaults for the rest. Prints one line of JSON: for each ε the scores of every seed.
"""

import json
import sys
import warnings

import numpy as np


def score(kind, data, epsilon, seed, train):
    from diffprivlib import models  # noqa: PLC0415

    x, y = data["features"], data["answers"]
    d, test = x.shape[1], ~train
    ends = (-np.ones(d), np.ones(d))
    known = {"epsilon": epsilon, "random_state": seed}
    if kind == "GaussianNB":
        made = models.GaussianNB(bounds=ends, **known)
    elif kind == "LogisticRegression":
        made = models.LogisticRegression(data_norm=float(data["norm"]), max_iter=1000, **known)
    elif kind == "LinearRegression":
        made = models.LinearRegression(bounds_X=ends, bounds_y=(-1.0, 1.0), **known)
    elif kind == "KMeans":
        made = models.KMeans(n_clusters=len(np.unique(y)), bounds=ends, **known).fit(x[train])
        return -float(np.square(x[test][:, None] - made.cluster_centers_[None]).sum(2).min(1).mean())
    else:
        made = models.PCA(n_components=2, bounds=ends, data_norm=float(np.sqrt(d)), **known).fit(x[train])
        rest = x[test] - x[train].mean(axis=0)
        return float(np.square(rest @ made.components_.T).sum() / np.square(rest).sum())
    made.fit(x[train], y[train])
    return float(made.score(x[test], y[test]))


def scores(kind, data, epsilon):
    found = []
    for seed, train in enumerate(data["trains"]):
        try:
            found.append(score(kind, data, epsilon, seed, train))
        except Exception:  # noqa: BLE001 - it fails on some of its own noise
            found.append(float("nan"))
    return found


if __name__ == "__main__" and len(sys.argv) > 2:
    warnings.simplefilter("ignore")
    file = np.load(sys.argv[2])
    print(json.dumps([scores(sys.argv[1], file, epsilon) for epsilon in file["epsilons"].tolist()]))
