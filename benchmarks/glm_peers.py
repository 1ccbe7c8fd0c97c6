"""Run in an environment of its own by glm.py: diffprivlib's logistic regression on the same splits.

It gets the encoded features, the same norm, and pure ε; C and all else are its defaults. Prints one line of
JSON a task: test errors, a row for each ε.
"""

import json
import sys
import warnings

import numpy as np


def errors(data, epsilon):
    from diffprivlib.models import LogisticRegression  # noqa: PLC0415

    x, y, norm = data["features"], data["answers"], float(data["norm"])
    found = []
    for seed, train in enumerate(data["trains"]):
        model = LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed, max_iter=1000)
        model.fit(x[train], y[train])
        found.append(float(np.mean(model.predict(x[~train]) != y[~train])))
    return found


if __name__ == "__main__" and len(sys.argv) > 1:
    warnings.simplefilter("ignore")
    file = np.load(sys.argv[1])
    print(json.dumps([errors(file, epsilon) for epsilon in file["epsilons"].tolist()]))
