"""How a fit walks through the house: which files of src/discreet run, and how often the folder changes.

`discreet fit` runs in a process of its own under Python's profiler. Each function of src/discreet counts
once, when it is first called, in that order; what runs while a module is imported does not count. A change
of folder is two neighbours in this list whose files stand in different folders, the first below src/discreet.
The version before the files moved: 102 files and 155 changes, 99 and 186, 108 and 172.

    python benchmarks/trace.py                 three fits, a line for each
    python benchmarks/trace.py proportion      the walk of one, function by function, with numbers of calls
"""

import contextlib
import io
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from sizes import TINY, sized

import discreet
from discreet.cli.command import app
from discreet.datasets import event_log

HOME = Path(discreet.__file__).parent
MONTHS = [str(month) for month in range(sized(24, 3))]
ADULT = """
[columns.income]
kind = "binary"
true = ">50K"
[columns.age]
kind = "bounded"
lower = 17
upper = 90
[columns.sex]
kind = "categories"
levels = ["Female", "Male"]
"""
FITS = {  # name → data, what is typed
    "proportion": ("adult", ["--column", "income", "--model", "beta_bernoulli", "--prior", "alpha=1,beta=3"]),
    "regression": (
        "adult",
        [
            "--model",
            "bayesian_logistic_regression",
            "--prior",
            'target="income",features=["age","sex"],norm=1.5',
        ],
    ),
    "hidden-markov": (
        "events",
        ["--model", "hidden_markov", "--prior", 'states=2,chain="region",step="t",features=["type"]'],
    ),
}


class Walk:
    """Functions of the package by first call: code → [file, number of calls]."""

    def __init__(self):
        self.steps, self.importing = {}, 0

    def __call__(self, frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(f"{HOME}/"):
            return
        if code.co_name == "<module>":
            self.importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self.importing:
            self.steps.setdefault(code, [Path(code.co_filename).relative_to(HOME), 0])[1] += 1

    @property
    def files(self):
        return len({path for path, _ in self.steps.values()})

    @property
    def changes(self):
        folders = [path.parent.parts[:1] for path, _ in self.steps.values()]
        return sum(a != b for a, b in pairwise(folders))


def written(data, folder):
    """Write rows and schema where the command will look for them."""
    if data == "adult":
        rows = parquet.read_table(HOME / "datasets" / "adult.parquet").slice(0, sized(48842, 500))
        schema = ADULT
    else:
        log = event_log.synthetic(share=sized(1.0, 0.1))
        columns = {name: [str(word) for word in column] for name, column in log.columns().items()}
        rows = pa.table(columns).filter(pa.compute.is_in(pa.array(columns["t"]), pa.array(MONTHS)))
        levels = {**log.levels, "t": MONTHS}
        schema = "\n".join(
            f"[columns.{name}]\nkind = 'categories'\nlevels = {list(levels[name])}"
            for name in ("region", "t", "type")
        )
    parquet.write_table(rows, folder / "rows.parquet")
    (folder / "schema.toml").write_text(schema)


def walked(name):
    """Fit, and return the walk; what the command prints is left out."""
    data, typed = FITS[name]
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        written(data, Path(place))
        words = ["fit", "rows.parquet", "--schema", "schema.toml", *typed, "--target", "approx:1,1e-6"]
        walk = Walk()
        with contextlib.redirect_stdout(io.StringIO()):
            app(["ledger", "init", "budget.db", "--budget", "approx:2,1e-5"], standalone_mode=False)
            sys.setprofile(walk)
            code = app([*words, "--ledger", "budget.db", "--out", "out"], standalone_mode=False)
            sys.setprofile(None)
    if code:
        raise SystemExit(f"the fit of {name} failed with exit code {code}")
    return walk


if __name__ == "__main__":
    if len(sys.argv) > 1:
        walk = walked(sys.argv[1])
        for code, (path, calls) in walk.steps.items():
            print(f"{path}  {code.co_qualname}  {calls}")
        print(f"{sys.argv[1]:<14} {walk.files:>4} files, {walk.changes:>4} changes of folder")
    else:
        for name in sized(
            list(FITS), ["proportion"]
        ):  # each in a process of its own: what one has cached, the next would not run
            words = [sys.executable, __file__, name, *(["--tiny"] if TINY else [])]
            ran = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
            print(ran.stdout.splitlines()[-1])
