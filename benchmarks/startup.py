"""How long the command and the import take, as ratios to what they stand on, measured side by side.

Each line is the least of several runs of two processes, taken in turn, so that both meet the same machine.
Goals: `discreet --help` at most 3 times `python -c "import typer"`, piped. The fit of one proportion, from
Parquet to a saved release with its report, stands beside a Python that only imports what the fit does.
"""

import os
import pty
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from sizes import sized

ROUNDS = sized(9, 1)
NAMES = "import discreet\nfor name in discreet.__all__: getattr(discreet, name)"
PAIRS = [
    ("discreet --help, piped", ["-m", "discreet", "--help"], ["-c", "import typer"], 3.0),
    ("discreet fit --help, piped", ["-m", "discreet", "fit", "--help"], ["-c", "import typer"], 3.0),
    (
        "discreet reproduce list",
        ["-m", "discreet", "reproduce", "list"],
        ["-c", "import typer, rich.table"],
        None,
    ),
    ("import discreet", ["-c", "import discreet"], ["-c", "import numpy, scipy.special"], 1.0),
    ("import discreet, every name", ["-c", NAMES], ["-c", "import numpy, scipy.special"], None),
]


def seconds(arguments, *, terminal=False):
    leader, follower = pty.openpty() if terminal else (None, subprocess.DEVNULL)
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=follower, stderr=subprocess.DEVNULL)  # noqa: S603
    if terminal:
        os.close(follower)
        try:
            while os.read(leader, 65536):
                pass
        except OSError:  # the other end is closed
            pass
        os.close(leader)
    process.wait()
    return time.perf_counter() - started


def ratio(ours, theirs, *, terminal=False):
    """Take turns, and keep the least of each: start-up has a floor, and everything above it is noise."""
    pairs = [(seconds(ours, terminal=terminal), seconds(theirs)) for _ in range(ROUNDS)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


SCHEMA = '[columns.smoker]\nkind = "binary"\n'
LOADED = """
import sys
from discreet.cli import app
sys.argv = ["discreet", *sys.argv[1:]]
try:
    app()
except SystemExit:
    print("loaded", *sorted(name for name, one in sys.modules.items() if getattr(one, "__spec__", None)))
"""

IMPORTS = """
import contextlib, importlib
for name in {names}:
    with contextlib.suppress(Exception):  # a part that only its own package loads
        importlib.import_module(name)
"""


def one_proportion(folder, rows=2000):
    """Return how to fit, each time into a new folder, and how to import all that the fit does."""
    table = pa.table({"smoker": [i % 3 == 0 for i in range(rows)]})
    parquet.write_table(table, folder / "rows.parquet")
    (folder / "schema.toml").write_text(SCHEMA)
    ledger = str(folder / "budget.db")
    start = [sys.executable, "-m", "discreet", "ledger", "init", ledger, "--budget", "pure:1000"]
    subprocess.run(start, check=True, capture_output=True)  # noqa: S603
    numbers = count()

    words = [
        "fit",
        str(folder / "rows.parquet"),
        "--schema",
        str(folder / "schema.toml"),
        "--column",
        "smoker",
    ]
    words += ["--model", "beta_bernoulli", "--epsilon", "0.5", "--ledger", ledger, "--out"]

    def asked():
        return [*words, str(folder / f"out-{next(numbers)}")]

    said = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LOADED, *asked()], check=True, capture_output=True, text=True
    ).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("loaded ")]
    names = [name for name in line.split()[1:] if name != "__main__"]
    imports = IMPORTS.format(names=names)
    return lambda: ["-m", "discreet", *asked()], ["-c", imports]


def fit_beside_imports():
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = one_proportion(Path(folder))
        pairs = [(seconds(ours()), seconds(theirs)) for _ in range(ROUNDS)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def main():
    print(f"{'what':<34}{'seconds':>9}{'beside':>9}{'ratio':>8}   goal")
    rows = [(name, *ratio(ours, theirs), goal) for name, ours, theirs, goal in PAIRS[: sized(None, 1)]]
    rows.append(
        (
            "discreet --help, on a terminal",
            *ratio(["-m", "discreet", "--help"], ["-c", "import typer"], terminal=True),
            None,
        )
    )
    rows.append(("discreet fit, one proportion", *fit_beside_imports(), None))
    for name, ours, theirs, goal in rows:
        met = "" if goal is None else f"≤ {goal:g}{'' if ours / theirs <= goal else '  MISSED'}"
        print(f"{name:<34}{ours:>9.3f}{theirs:>9.3f}{ours / theirs:>8.2f}   {met}")


if __name__ == "__main__":
    main()
