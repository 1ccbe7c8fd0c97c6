"""Run in an environment of its own by linear_regression.py: diffprivlib on the same splits.

It gets the scaled features, their bounds, and pure ε; all else are its defaults. Prints R², a row for each ε.
"""

import json
import sys
import warnings

import numpy as np


def scores(data, epsilon):
    from diffprivlib.models import LinearRegression  # noqa: PLC0415

    x, y, found = data["features"], data["answers"], []
    ones = np.ones(x.shape[1])
    for seed, train in enumerate(data["trains"]):
        model = LinearRegression(
            epsilon=epsilon, bounds_X=(-ones, ones), bounds_y=(-1.0, 1.0), random_state=seed
        )
        model.fit(x[train], y[train])
        rest = y[~train] - model.predict(x[~train])
        found.append(float(1 - np.sum(rest**2) / np.sum((y[~train] - y[train].mean()) ** 2)))
    return found


if __name__ == "__main__" and len(sys.argv) > 1:
    warnings.simplefilter("ignore")
    file = np.load(sys.argv[1])
    print(json.dumps([scores(file, epsilon) for epsilon in file["epsilons"].tolist()]))
