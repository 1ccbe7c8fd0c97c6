"""Many processes at once, and processes that die: nothing is lost, doubled or overspent. Real engines.

100 kills on each engine: a weak moment that lasts 5 % of a client's time escapes them once in 170 runs.
32 × 125 charges on SQLite, 32 × 50 on PostgreSQL. With DISCREET_LEDGER_FULL=1 200 kills, 32 × 500 charges on
both and 8 × 500 on a budget of many meters: two minutes of processor time more.
"""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.ledger import Overspent
from discreet.ledger.amounts import FULL
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP

HERE = Path(__file__).parent
WHOLE = bool(os.environ.get("DISCREET_LEDGER_FULL"))
PROCESSES, KILLS = 32, 200 if WHOLE else 100
CHARGES = {"sqlite": 500 if WHOLE else 125, "postgresql": 500 if WHOLE else 50}
METERED = 500 if WHOLE else 10


def run(script, *arguments):
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-W", "ignore::DeprecationWarning", HERE / script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def notes(folder):
    return [line.split() for path in folder.iterdir() for line in path.read_text().splitlines()]


def charges(ledger):
    return [entry for entry in ledger.history() if entry.kind == "charge"]


def test_a_crowd_on_one_budget_never_overspends_it(place, tmp_path, opened):
    out = tmp_path / "paid"
    out.mkdir()
    each = CHARGES["postgresql" if "://" in place else "sqlite"]
    run("crowd.py", place, out, PROCESSES, each, "pure")
    ledger = opened(place)
    total = PROCESSES * each
    entries = charges(ledger)
    # every receipt handed out is in the chain, and nothing else is
    assert sorted(notes(out)) == sorted([e.id, e.hash] for e in entries)
    assert len(entries) == 9 * total // 10  # exactly as many as fit
    (spent,) = ledger.spent().sums
    assert spent == sum(Fraction(e.content["amounts"]["default"][1], FULL) for e in entries) <= 1
    with pytest.raises(Overspent):
        ledger.charge(PureDP(Fraction(10, 9 * total)))
    assert ledger.verify().entries == len(entries) + 1


def test_a_crowd_on_a_budget_of_many_meters(place, tmp_path, opened):
    out = tmp_path / "paid"
    out.mkdir()
    run("crowd.py", place, out, 8, METERED, "approximate")
    ledger = opened(place)
    entries = charges(ledger)
    assert sorted(notes(out)) == sorted([e.id, e.hash] for e in entries)
    assert 0 < len(entries) < 8 * METERED  # some were refused
    promise = ZeroCDP(Fraction(20, 1000 * 8 * METERED))
    assert repeat(promise, len(entries)) <= ApproxDP(1, 1e-6)
    with pytest.raises(Overspent):
        ledger.charge(promise)
    ledger.verify()


def test_clients_killed_at_any_point_leave_no_release_without_its_charge(place, tmp_path, opened):
    out = tmp_path / "released"
    out.mkdir()
    run("mortal.py", place, out, KILLS, "right", 20240607)
    ledger = opened(place)
    history = ledger.history()
    released = {name for (name,) in notes(out)}
    computed = {e.id for e in history if e.kind == "computed"}
    charged = {e.id for e in history if e.kind == "charge"}
    assert released
    assert released <= computed <= charged
    assert len(charged) - len(released) <= KILLS  # each death wastes at most the charge in hand
    (spent,) = ledger.spent().sums
    assert spent == Fraction(len(charged), 10**6)
    ledger.verify()


def test_the_killing_would_find_a_client_that_releases_before_it_pays(tmp_path, opened):
    # most of a client's time passes in the charge; the chance that 20 deaths all miss it is below 2⁻²⁰
    out, place = tmp_path / "released", tmp_path / "budget.db"
    out.mkdir()
    run("mortal.py", place, out, 20, "wrong", 7)
    charged = {entry.id for entry in charges(opened(place))}
    assert not {name for (name,) in notes(out)} <= charged
