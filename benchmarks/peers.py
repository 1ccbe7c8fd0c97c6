"""What people do today on the same Parquet file, with pandas, scikit-learn and diffprivlib.

Run by `tables.py --peers` in an environment of its own, because diffprivlib needs an older scikit-learn; one
process for each, since a process keeps its peak of memory. Prints one line of JSON: seconds (wall, processor)
of the peer and of the plain scan.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

FEATURES = [f"f{j}" for j in range(5)]
XS = [f"x{j}" for j in range(10)]


def texts(path):
    pd.read_parquet(path, columns=["ward"])["ward"].value_counts()


def clipped_sum(path):
    pd.read_parquet(path, columns=["x"])["x"].clip(0, 100).sum()


def naive_bayes(path):
    from sklearn.naive_bayes import CategoricalNB  # noqa: PLC0415

    frame = pd.read_parquet(path, columns=["label", *FEATURES])
    CategoricalNB().fit(frame[FEATURES].to_numpy(), frame["label"].to_numpy())


def private_naive_bayes(path):
    from diffprivlib.models import GaussianNB  # noqa: PLC0415

    frame = pd.read_parquet(path, columns=["label", *FEATURES])
    model = GaussianNB(epsilon=1.0, bounds=(np.zeros(5), np.full(5, 4.0)), priors=[0.25] * 4)
    model.fit(frame[FEATURES].to_numpy(float), frame["label"].to_numpy())


def cells(path):
    frame = pd.read_parquet(path, columns=["region", "month", *FEATURES])
    for f in FEATURES:
        frame.groupby(["region", "month", f]).size()


def moments(path):
    x = pd.read_parquet(path, columns=XS).to_numpy()
    x = x * (4 / np.maximum(np.linalg.norm(x, axis=1), 4))[:, None]
    x.T @ x


def regression(path):
    from sklearn.linear_model import LinearRegression  # noqa: PLC0415

    frame = pd.read_parquet(path, columns=XS)
    LinearRegression().fit(frame[XS[:9]].to_numpy(), frame[XS[9]].to_numpy())


def private_regression(path):
    from diffprivlib.models import LinearRegression  # noqa: PLC0415

    frame = pd.read_parquet(path, columns=XS)
    model = LinearRegression(epsilon=1.0, bounds_X=(np.full(9, -3.0), np.full(9, 3.0)), bounds_y=(-3.0, 3.0))
    model.fit(frame[XS[:9]].to_numpy(), frame[XS[9]].to_numpy())


def users(path):
    frame = pd.read_parquet(path, columns=["userid", "x"])
    frame.groupby("userid").head(3)["x"].clip(0, 100).sum()


PEERS = {
    "pandas value_counts of texts": texts,
    "pandas clipped sum": clipped_sum,
    "scikit-learn CategoricalNB": naive_bayes,
    "diffprivlib GaussianNB": private_naive_bayes,
    "pandas HMM cells": cells,
    "pandas XᵀX": moments,
    "scikit-learn LinearRegression": regression,
    "diffprivlib LinearRegression": private_regression,
    "pandas first 3 rows a user": users,
}


def timed(call):
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


def main():
    warnings.simplefilter("ignore")
    path, name = sys.argv[1:]
    connection = duckdb.connect()
    plain = [timed(lambda: connection.execute(f"select sum(x) from '{path}'").fetchall()) for _ in range(9)]  # noqa: S608
    took = timed(lambda: PEERS[name](path))
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    print(json.dumps({"took": took, "plain": np.min(plain, axis=0).tolist(), "peak": peak}))


if __name__ == "__main__":
    main()
