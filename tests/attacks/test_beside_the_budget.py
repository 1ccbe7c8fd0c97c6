"""Nobody spends beside the budget that a data set requires, whichever way they come."""

import csv
import os
import random
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.learn import LogisticRegression
from discreet.ledger import ScopeRefusedError
from discreet.line import chains
from discreet.line.local import release_observations
from discreet.line.tiers import privatise_tiers
from discreet.mcmc.barker import Barker
from discreet.mcmc.proposals import SimplexWalk
from discreet.mcmc.target import SimplexTarget
from discreet.mechanisms.local.profile_categorical import SmoothCategorical
from discreet.privacy.profile_graph import ProfileGraph

SCHEMA = {"ill": dc.Binary()}
MODEL, PRICE = dc.BetaBernoulli(1, 1), dc.ApproxDP(Fraction(1, 50), Fraction(1, 10**8))
SHARED = dc.ApproxDP(1, 1e-6)
BOTH = ["mine", "shared"]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "visits.csv"
    chance = random.Random(1)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["ill"], *([chance.randint(0, 1)] for _ in range(200))])
    return path


@pytest.fixture
def ledger(tmp_path, rows):
    """An analyst's scope, and one that the data set requires, under whatever label."""
    with dc.Ledger.open(tmp_path / "budget.db", budget=SHARED, scope="mine") as book:
        book.add_scope("shared", SHARED)
        table = dc.Table.open(rows, schema=SCHEMA)
        book.require(table.label, "shared")
        book.require(table.place, "shared")
        yield book


def table(rows, label=None):
    return dc.Table.open(rows, schema=SCHEMA, label=label)["ill"]


def privatised(rows, ledger, scope):
    return dc.privatise(table(rows, "not visits"), MODEL, target=PRICE, ledger=ledger, scope=scope)


def tiers(rows, ledger, scope):
    return privatise_tiers(table(rows), MODEL, targets={"all": PRICE}, ledger=ledger, scope=scope)


def chain(rows, ledger, scope):
    target = SimplexTarget(column="ill", alpha=(1, 1), truncation=0.05)
    kernel = chains.calibrate(Barker(target=target, walk=SimplexWalk(0.1)), steps=2, target=PRICE, chains=1)
    return chains.run(table(rows), kernel, steps=2, chains=1, ledger=ledger, scope=scope)


def learned(rows, ledger, scope):
    estimator = LogisticRegression(
        target=dc.ApproxDP(0.5, 1e-7),
        bounds=(0, 1),
        norm=2,
        classes=[0, 1],
        ledger=ledger,
        scope=scope,
        label=rows.name,
    )
    x = [[i % 2] for i in range(200)]
    return estimator.fit(x, [i % 2 for i in range(200)])


WAYS = {"privatise": privatised, "tiers": tiers, "chains": chain, "learn": learned}


@pytest.mark.filterwarnings("ignore")  # of what so small a budget buys
@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_refused_beside_the_shared_scope_and_passes_with_it(ledger, rows, way):
    with pytest.raises(ScopeRefusedError, match=r"scope=\['mine', 'shared'\]"):
        WAYS[way](rows, ledger, "mine")
    assert [e.kind for e in ledger.history()] == ["scope", "scope", "require", "require"]
    WAYS[way](rows, ledger, BOTH)
    (charge,) = [e for e in ledger.history() if e.kind == "charge"]
    assert charge.content["scopes"] == BOTH
    ledger.close_scope("shared", "the data set is spent")
    with pytest.raises(ScopeRefusedError, match="the data set is spent"):
        WAYS[way](rows, ledger, BOTH)
    ledger.verify()


def test_observations_are_refused_beside_it_too(tmp_path):
    graph = ProfileGraph.load(_graph(tmp_path))
    data = tmp_path / "usage.csv"
    data.write_text("level,role\n" + "low,a\nhigh,b\n" * 10)
    with dc.Ledger.open(tmp_path / "local.db", budget=dc.PureDP(2, relation=graph.relation)) as book:
        book.add_scope("shared", dc.PureDP(2, relation=graph.relation))
        book.require(dc.tables.opening.named.place_of(data, None), "shared")
        ask = {"column": "level", "profile": "role", "observations": "march", "unknown": "a", "ledger": book}
        mechanism = SmoothCategorical.solve(graph, 0.5)
        with pytest.raises(ScopeRefusedError, match="'march' requires the scope 'shared'"):
            release_observations(data, mechanism, **ask)
        made = release_observations(data, mechanism, scope=["default", "shared"], **ask)
        assert made.receipt.scopes == ("default", "shared")


def _graph(folder):
    path = folder / "roles.json"
    path.write_text(
        '{"labels": ["low", "high"], "profiles": {"a": [0.75, 0.25], "b": [0.25, 0.75]},'
        ' "edges": [["a", "b"]]}'
    )
    return path


def test_the_command_says_which_scope_to_add(tmp_path, rows):
    book = str(tmp_path / "budget.db")

    def run(*words):
        done = CliRunner().invoke(app, list(map(str, words)))
        return done.exit_code, " ".join(done.output.split())

    run("ledger", "init", book, "--budget", "approx:1,1e-6")
    run("ledger", "init", book, "--budget", "approx:1,1e-6", "--scope", "shared")
    assert run("ledger", "require", book, rows, "--scope", "shared")[0] == 0
    (tmp_path / "schema.toml").write_text('[columns.ill]\nkind = "binary"\n')
    fit = [
        "fit",
        rows,
        "--model",
        "beta_bernoulli",
        "--prior",
        "alpha=1,beta=1",
        "--column",
        "ill",
        "--ledger",
        book,
    ]
    fit += ["--schema", tmp_path / "schema.toml", "--target", "approx:0.1,1e-7", "--label", "something else"]
    fit += ["--out", tmp_path / "out"]
    code, said = run(*fit)
    assert (code, "--scope default,shared" in said) == (1, True), said
    code, said = run(*fit, "--scope", "default,shared")
    assert code == 0, said
    assert dc.Release.load(tmp_path / "out").receipt.scopes == ("default", "shared")


# ── crashes and races ───────────────────────────────────────────────────────────────────────────────

HOME = Path(dc.__file__).parent / "ledger"
DECISIONS = {
    "close": lambda book: book.close_scope("shared", "over"),
    "lower": lambda book: book.lower_scope("shared", dc.ApproxDP(0.5, 1e-6)),
    "raise": lambda book: book.raise_scope("shared", dc.ApproxDP(2, 1e-6), "more"),
    "require": lambda book: book.require("wards", "shared"),
}


def dying(count, work):
    """Run in a child that is killed when it reaches a statement of the ledger for the count-th time."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        seen = [0]

        def step(frame, event, _):
            if event == "line":
                seen[0] += 1
                if seen[0] == count:
                    os.kill(os.getpid(), signal.SIGKILL)
            return step

        sys.settrace(lambda frame, *_: step if Path(frame.f_code.co_filename).parent == HOME else None)
        work()
        code = 0
    finally:
        os._exit(code)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_that_dies_on_the_way_is_whole_or_was_not_made(ledger, tmp_path, decision):
    where, before = tmp_path / "budget.db", len(ledger.history())
    ledger.charge(PRICE, scopes=BOTH)
    before = ledger.verify().entries
    ledger.close()

    def decide():
        with dc.Ledger.open(where) as book:
            DECISIONS[decision](book)

    made, deaths = False, 0
    for count in range(1, 2000, 29):
        code = dying(count, decide)
        with dc.Ledger.open(where) as book:
            entries = book.history()
            book.verify()
        made = len(entries) == before + 1
        assert len(entries) <= before + 1
        if code == 0 or made:
            break
        assert code == -signal.SIGKILL
        deaths += 1
    assert made
    assert deaths > 3
    assert entries[-1].kind == decision


RACE = """
import sys
from fractions import Fraction
import discreet as dc
from discreet.ledger import ScopeRefusedError
where, what = sys.argv[1:]
with dc.Ledger.open(where, scope="shared") as book:
    print("ready", flush=True)
    sys.stdin.readline()
    if what == "close":
        for turn in range(15):
            book.close_scope("shared", "now")
            book.reopen_scope("shared")
    elif what == "lower":
        for turn in range(12):
            whole = book.remaining().budget
            book.lower_scope("shared", dc.ApproxDP(Fraction(whole.loss) * Fraction(19, 20), whole.slack))
    else:
        paid = 0
        while paid < 15:
            try:
                book.charge(dc.ApproxDP(Fraction(1, 100), Fraction(1, 10**9)))
                paid += 1
            except ScopeRefusedError:
                pass
"""


def test_charges_that_race_with_decisions_keep_to_them(ledger, tmp_path):
    where = str(tmp_path / "budget.db")
    running = [
        subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-c", RACE, where, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for what in ("charge", "charge", "close", "lower")
    ]
    for process in running:
        assert process.stdout.readline() == b"ready\n"
    for process in running:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in running:
        process.communicate()
    assert [process.wait() for process in running] == [0] * len(running)
    closed, budget, spent = False, Fraction(1), Fraction(0)
    for entry in ledger.history("shared"):
        if entry.kind in {"close", "reopen"}:
            closed = entry.kind == "close"
        elif entry.kind == "lower":
            budget = Fraction(entry.content["budget"]["epsilon"])
        elif entry.kind == "charge":
            assert not closed
            spent += Fraction(1, 100)
        assert spent <= budget
    kinds = [entry.kind for entry in ledger.history("shared")]
    assert {kind: kinds.count(kind) for kind in ("charge", "close", "reopen", "lower")} == {
        "charge": 30,
        "close": 15,
        "reopen": 15,
        "lower": 12,
    }
    ledger.verify()
