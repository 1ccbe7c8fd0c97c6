"""Run in an environment of its own by trees.py: the peers' trees on the same splits, by their defaults.

Arguments: the task's file, and which peer. They get the same rows and bounds; diffprivlib promises pure ε.
Prints one line of JSON: scores (errors, or R²), a row for each ε. A peer that fails scores nothing.
"""

import json
import sys
import warnings

import numpy as np


def diffprivlib_model(name, data, epsilon, seed):
    from diffprivlib import models  # noqa: PLC0415

    kind = {"forest": models.RandomForestClassifier, "tree": models.DecisionTreeClassifier}[name]
    bounds, classes = (data["lower"], data["upper"]), list(range(int(data["classes"])))
    return kind(epsilon=epsilon, bounds=bounds, classes=classes, random_state=seed)


def dp_ebm(data, epsilon, seed):
    from interpret import privacy  # noqa: PLC0415

    coded = data["categorical"]
    kinds = ["nominal" if c else "continuous" for c in coded]
    given = {
        "epsilon": epsilon,
        "delta": 1e-5,
        "feature_types": kinds,
        "privacy_bounds": {
            str(i): (float(a), float(b))
            for i, (a, b) in enumerate(zip(data["lower"], data["upper"], strict=True))
        },
        "feature_names": [str(i) for i in range(len(coded))],
        "random_state": seed,
    }
    if data["classes"]:
        return privacy.DPExplainableBoostingClassifier(**given)
    low, high = data["answers"].tolist()
    return privacy.DPExplainableBoostingRegressor(**given, privacy_target_min=low, privacy_target_max=high)


def scores(name, data, epsilon):
    x, y, found = data["x"], data["y"], []
    for seed, train in enumerate(data["trains"]):
        model = dp_ebm(data, epsilon, seed) if name == "ebm" else diffprivlib_model(name, data, epsilon, seed)
        model.fit(x[train], y[train])
        value = float(model.score(x[~train], y[~train]))
        found.append(1 - value if data["classes"] else value)
    return found


if __name__ == "__main__" and len(sys.argv) > 2:
    warnings.simplefilter("ignore")
    file = dict(np.load(sys.argv[1]))
    print(json.dumps([scores(sys.argv[2], file, epsilon) for epsilon in file["epsilons"].tolist()]))
