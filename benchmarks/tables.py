"""Each statistic as a ratio to DuckDB's own scan-and-sum of one column, beside what people do today.

python benchmarks/tables.py [--rows 10000000] [--peers] [--memory-rows 100000000] [--only naive]
Times are the best of several, interleaved with the plain scan; wall clock and processor time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import duckdb
import numpy as np
from sizes import sized

import discreet as dc
from discreet.statistics.cells import counts
from discreet.tables.schema import Binary, Bounded, Categories, Label
from discreet.tables.table import Table

LEVELS = ["red", "green", "blue", "black", "white"]
FEATURES = [f"f{j}" for j in range(5)]
XS = [f"x{j}" for j in range(10)]
NEEDED = ["diffprivlib", "scikit-learn<1.8", "pandas", "pyarrow", "duckdb"]  # diffprivlib needs an older one
SCHEMA = {
    "b": Binary(),
    "ward": Categories(["A", "B", "C", "D"]),
    "code": Categories(range(8)),
    "x": Bounded(0, 100),
    "label": Label(range(4)),
    **{f: Categories(range(5)) for f in FEATURES},
    **{f"g{j}": Categories(LEVELS) for j in range(5)},
    "region": Categories(range(18)),
    "month": Categories(range(72)),
    **{x: Bounded(-3, 3) for x in XS},
}
ONE_THREAD = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # threads that wait would count against the peers
GOALS = {
    "counts of truths": 1.3,
    "counts of 4 texts": 1.3,
    "counts of 8 codes": 1.3,
    "clipped sum": 4,
    "clipped sum and squares": 4,
    "naive Bayes, 5 codes × 4 classes": 4,
    "naive Bayes, 5 texts × 4 classes": 4,
    "HMM cells, 18 × 72, 5 features": 12,
    "XᵀX, d = 10": 24,
    "≤ 3 rows a user, counts": 25,
    "≤ 3 rows a user, clipped sum": 25,
}


def generate(path, rows, only=()):
    texts = "['red','green','blue','black','white']"
    columns = [
        "random() * 110 as x",
        "random() < 0.3 as b",
        "['A','B','C','D'][1 + (random() * 4)::int % 4] as ward",
        "(random() * 8)::int % 8 as code",
        "(random() * 4)::int % 4 as label",
        *(f"(random() * 5)::int % 5 as {f}" for f in FEATURES),
        *(f"{texts}[1 + (random() * 5)::int % 5] as g{j}" for j in range(5)),
        "(random() * 18)::int % 18 as region",
        "(random() * 72)::int % 72 as month",
        f"(random() * {max(1, rows // 20)})::bigint as userid",
        *(f"random() * 6 - 3 as {x}" for x in XS),
    ]
    chosen = [c for c in columns if not only or c.rpartition(" ")[2] in only]
    with duckdb.connect() as connection:
        connection.execute(f"copy (select {', '.join(chosen)} from range({rows})) to '{path}'")  # noqa: S608


def statistics(path, rows):
    table = Table.open(path, schema=SCHEMA, n=rows)
    users = Table.open(path, schema=SCHEMA, unit="userid", rows_per_unit=3)
    mean = dc.NormalMean(50, 1, variance=9, lower=0, upper=100)
    spread = dc.NormalInverseGamma(50, 1, shape=2, scale=9, lower=0, upper=100)
    line = dc.BayesianLinearRegression([0] * 9, np.eye(9).tolist(), shape=2, scale=1, radius=4)
    add = dc.ADD_REMOVE
    texts = [f"g{j}" for j in range(5)]
    return {
        "counts of truths": (table["b"].bounded(dc.BetaBernoulli(1, 1)), ["b"]),
        "counts of 4 texts": (table["ward"].bounded(dc.DirichletCategorical([1] * 4)), ["ward"]),
        "counts of 8 codes": (table["code"].bounded(dc.DirichletCategorical([1] * 8)), ["code"]),
        "clipped sum": (table["x"].bounded(mean), ["x"]),
        "clipped sum and squares": (table["x"].bounded(spread), ["x"]),
        "naive Bayes, 5 codes × 4 classes": (counts(table, FEATURES, by=["label"]), ["label", *FEATURES]),
        "naive Bayes, 5 texts × 4 classes": (counts(table, texts, by=["label"]), ["label", *texts]),
        "HMM cells, 18 × 72, 5 features": (
            counts(table, FEATURES, by=["region", "month"]),
            ["region", "month", *FEATURES],
        ),
        "XᵀX, d = 10": (table[tuple(XS)].bounded(line), XS),
        "≤ 3 rows a user, counts": (
            users["ward"].bounded(dc.DirichletCategorical([1] * 4), add),
            ["userid", "ward"],
        ),
        "≤ 3 rows a user, clipped sum": (users["x"].bounded(mean, add), ["userid", "x"]),
    }


def peers(path, only):
    """Print what others take on the same file, in an environment of their own: it is made once, and kept."""
    from peers import PEERS  # noqa: PLC0415 - beside this file

    home = Path(tempfile.gettempdir()) / "discreet-peers"
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED], check=True)  # noqa: S603
        (home / "ready").touch()
    print(f"\n{'':36s} {'wall':>7s} {'cpu':>7s} {'peak MB':>8s}")
    for name in PEERS:
        if only in name:
            code = [python, Path(__file__).with_name("peers.py"), path, name]
            ran = subprocess.run(code, check=True, capture_output=True, text=True, env=ONE_THREAD)  # noqa: S603
            found = json.loads(ran.stdout)
            wall, processor = np.array(found["took"]) / found["plain"]
            print(f"{name:36s} {wall:7.1f} {processor:7.1f} {found['peak']:8.0f}", flush=True)


def timed(call):
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return np.array([time.perf_counter() - wall, time.process_time() - processor])


def best(call, plain, times=sized(5, 1)):
    """Return the best (wall, processor) of both, taken in turn so that a busy moment hits both."""
    pairs = [(timed(plain), timed(call)) for _ in range(times)]
    return np.min([p for p, _ in pairs], axis=0), np.min([c for _, c in pairs], axis=0)


def scan(connection, path, names):
    sums = ", ".join(f"sum({n})" if n not in {"b", "ward"} and n[0] != "g" else f"max({n})" for n in names)
    return lambda: connection.execute(f"select {sums} from '{path}'").fetchall()  # noqa: S608


def run(path, rows, only, with_peers):
    connection = duckdb.connect()
    plain = scan(connection, path, ["x"])
    plain()
    print(f"{rows:,} rows; ratios to the scan-and-sum of one column (and of the columns read)")
    print(f"{'':36s} {'wall':>7s} {'cpu':>7s} {'goal':>6s}   {'same columns':>12s}")
    for name, (statistic, names) in statistics(path, rows).items():
        if only in name:
            statistic.read()
            base, own = best(statistic.read, plain)
            _, same = best(scan(connection, path, names), plain, 2)
            ratio = own / base
            print(
                f"{name:36s} {ratio[0]:7.1f} {ratio[1]:7.1f} {GOALS[name]:6.1f}   {own[1] / same[1]:12.1f}",
                flush=True,
            )
    if with_peers:
        peers(path, only)


def measure(path, rows, feature):
    """Print the peak memory of counts: of one text column, or of naive Bayes."""
    names = ["label", *FEATURES] if feature == "naive Bayes" else ["ward"]
    table = Table.open(path, schema={name: SCHEMA[name] for name in names}, n=rows)
    before = highest()
    counts(table, names[-5:], by=names[:-5]).read()
    print(f"{feature}, {rows:,} rows: peak {highest():.0f} MB, of which {before:.0f} MB imports")


def highest():
    """Return this program's peak in MB; getrusage would tell the parent's, which survives exec."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def peak(path, rows):
    """In processes of their own, since a process keeps its peak."""
    for name in ("texts", "naive Bayes"):
        code = [sys.executable, __file__, "--measure", name, "--path", str(path), "--rows", str(rows)]
        print(subprocess.run(code, check=True, capture_output=True, text=True).stdout.strip(), flush=True)  # noqa: S603


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=lambda s: int(float(s)), default=sized(10_000_000, 2000))
    parser.add_argument("--memory-rows", type=lambda s: int(float(s)), default=sized(0, 2000))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--path", type=Path, help="an existing file of an earlier run")
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.path, given.rows, given.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.path or Path(folder) / "rows.parquet"
        if not path.exists():
            generate(path, given.rows)
        run(path, given.rows, given.only, given.peers)
        if given.memory_rows:
            many = Path(folder) / "many.parquet"
            generate(many, given.memory_rows, {"ward", "label", *FEATURES})
            peak(many, given.memory_rows)


if __name__ == "__main__":
    main()
