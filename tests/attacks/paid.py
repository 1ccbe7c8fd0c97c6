"""Processes that release and save under charge ids, and are killed on the way.

python paid.py WHERE OUT crowd: many at once under one id; each writes what it was given to OUT.
python paid.py WHERE OUT kills STRIDE: one after another under ids of their own, each killed with SIGKILL when
it first reaches a statement from the charge to the saved folder, STRIDE statements later each time; each is
followed by one that asks again. The table is a list and the calibration is made once.
"""

import importlib
import os
import signal
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

import discreet as dc
from discreet import report
from discreet.ledger import Ledger
from discreet.release.json import canonical, release_to_json
from discreet.statistics.bounded_statistic import PrivateValue
from discreet.tables.schema import Binary, Schema

PRICE = Fraction(1, 1000)
CROWD = 8
HOME = Path(dc.__file__).parent
LINE = {
    str(HOME / name)
    for name in ("privatise.py", *(f"release/{n}.py" for n in ("receipt", "release", "folder")))
}
LINE |= {str(path) for folder in ("line", "ledger") for path in (HOME / folder).glob("*.py")}
LINE |= {str(Path(__file__))}  # read and draw, below
line = importlib.import_module("discreet.privatise")


class Smokers:
    """A table of 120 rows in memory."""

    schema, columns, filters, derived, unit = Schema({"smoker": Binary()}), ("smoker",), (), {}, None
    model, relation, n, rows_per_unit = dc.BetaBernoulli(1, 1), dc.SUBSTITUTE, 120, 1
    label, fingerprint, place = "smokers", "0" * 64, ""

    @property
    def table(self):
        return self

    def read(self):
        values = self.model.statistic(np.array([1, 0, 0] * 40))
        return PrivateValue(values, self.n)


def prepared():
    """Calibrate once, and write a short page: what is left is the line from the charge on."""
    kind = line.mechanism_class("noisy_statistics", Smokers.model)
    ready = line.calibrate(kind, Smokers(), dc.PureDP(PRICE))
    line.bounded = lambda *_, **__: Smokers()
    line.calibrate = lambda *_, **__: ready
    report.report = lambda *_: "<p>short</p>"


def given(where, out, name, file, count=0):
    """Release, let the bytes leave, then save unless that was done; die at the count-th statement."""
    with Ledger.open(where) as ledger:
        if count:
            dying(count)
        ask = {"target": dc.PureDP(PRICE), "ledger": ledger, "charge_id": name}
        release = dc.privatise(Smokers(), Smokers.model, **ask)
    file.write_text(canonical(release_to_json(release)))
    if not (out / name).exists():
        release.save(out / name, draws=0)
    sys.settrace(None)


def dying(count):
    """Kill this process at the count-th statement that it reaches for the first time."""
    seen = set()

    def step(frame, event, _):
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
            if len(seen) == count:
                os.kill(os.getpid(), signal.SIGKILL)
        return step

    sys.settrace(lambda frame, *_: step if frame.f_code.co_filename in LINE else None)


def born(work):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def crowd(where, out):
    """Let many ask at once; one saves."""
    children = [
        born(lambda i=i: given(where, out / str(i), "crowd", out / f"crowd.{i}")) for i in range(CROWD)
    ]
    return max(map(ended, children))


def kills(where, out, stride):
    """Go on until a process comes to its end before it is killed."""
    for count in range(1, 10_000, stride):
        name = f"kill-{count}"
        code = ended(born(lambda n=name, c=count: given(where, out, n, out / f"{n}.first", c)))
        if code not in {0, -signal.SIGKILL}:
            return f"{name} ended with {code}"
        given(where, out, name, out / f"{name}.again")
        if code == 0:
            return 0
    return "no end"


if __name__ == "__main__":
    prepared()
    _where, _out, _how, *_stride = sys.argv[1:]
    given(_where, Path(_out), "warm", Path(_out) / "warm.first")  # loads everything
    sys.exit({"crowd": crowd, "kills": kills}[_how](_where, Path(_out), *map(int, _stride)))
