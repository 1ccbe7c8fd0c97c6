"""`discreet local`: what is written, what is paid, what is refused, and that the profile never leaves."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency, chisquare

from discreet.line.local import fresh
from discreet.mechanisms.local.profile_categorical import SmoothCategorical
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import SeededSource

GRAPH = """labels = ["low", "mid", "high"]
edges = [["engineer", "manager"]]
[profiles]
engineer = [0.2, 0.3, 0.5]
manager = [0.6, 0.3, 0.1]
"""


@pytest.fixture
def usage(run, home):

    rng = np.random.default_rng(5)
    with Path("usage.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["role", "level"])
        for _ in range(4000):
            engineer = rng.random() < 0.5
            law = [0.2, 0.3, 0.5] if engineer else [0.6, 0.3, 0.1]
            writer.writerow(
                ["engineer" if engineer else "manager", rng.choice(["low", "mid", "high"], p=law)]
            )
    Path("roles.toml").write_text(GRAPH)
    assert run("ledger", "init", "local.db", "--budget", "pure:1", "--graph", "roles.toml").code == 0
    return Path("usage.csv")


def local(run, *more, out="r.csv", name="march", epsilon="0.5"):
    words = ["--column", "level", "--profile", "role", "--graph", "roles.toml", "--epsilon", epsilon]
    words += ["--unknown", "manager"]
    return run(
        "local", "usage.csv", *words, "--observations", name, "--ledger", "local.db", "--out", out, *more
    )


def released(path="r.csv"):
    with open(path) as file:  # noqa: PTH123
        return list(csv.DictReader(file))


def test_the_released_column_has_the_promised_law_and_nothing_else_leaves(run, usage):
    """Shares against the mechanism's own outputs: binomial at level 1e-6; the true shares are rejected."""
    done = local(run, "--seed", "3", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["epsilon"] <= 0.5
    rows = released()
    assert len(rows) == 4000
    assert set(rows[0]) == {"level"}
    with usage.open() as file:
        truth = list(csv.DictReader(file))
    changed = sum(a["level"] != b["level"] for a, b in zip(rows, truth, strict=True))
    expected = float(np.mean([told["changed"][row["role"]] for row in truth]))
    assert binomtest(changed, 4000, expected).pvalue > 1e-6
    assert binomtest(changed, 4000, expected * 0.7).pvalue < 1e-6


def test_the_same_observations_are_released_once(run, usage):
    assert local(run).code == 0
    again = local(run, out="s.csv")
    assert again.code == 0, again.err
    assert Path("s.csv").read_bytes() == Path("r.csv").read_bytes()
    other = local(run, out="u.csv", epsilon="0.25")
    assert other.code == 2
    assert "already paid for" in other.err
    assert local(run, out="v.csv", name="april").code == 0
    assert Path("v.csv").read_bytes() != Path("r.csv").read_bytes()
    broke = local(run, out="t.csv", name="may")
    assert broke.code == 1
    assert "does not fit" in broke.err


def test_a_budget_for_profiles_is_for_one_graph(run, usage):
    bare = run("ledger", "init", "bare.db", "--budget", "pure:1", "--relation", "profile")
    assert bare.code == 2
    assert "--graph FILE" in bare.err
    identity = ProfileGraph.load("roles.toml").relation
    shown = json.loads(run("ledger", "show", "local.db", "--json").out)["scopes"][0]
    assert shown["relation"] == {"graph": identity.graph, "about": identity.about}
    assert identity.graph[:12] in run("ledger", "show", "local.db").out.replace("\n", "")
    Path("roles.toml").write_text(GRAPH.replace("0.6, 0.3, 0.1", "0.5, 0.4, 0.1"))
    refused = local(run)
    assert refused.code == 2
    assert identity.graph[:12] in refused.err
    assert ProfileGraph.load("roles.toml").relation.graph[:12] in refused.err
    assert not Path("r.csv").exists()


def test_several_rows_of_one_source_cost_several_times(run, usage):
    done = local(run, "--per-source", "4", "--json", epsilon="0.2")
    assert json.loads(done.out)["epsilon"] == pytest.approx(0.8, rel=1e-6)


def test_rows_of_an_undeclared_profile_leave_as_the_public_one_whatever_was_observed(run, usage):
    """χ² over three values at level 1e-6: the released law of managers, not that of engineers."""
    usage.write_text("role,level\n" + "CANARY,low\n" * 3000 + ",high\n" * 1000)
    done = local(run, "--seed", "4", "--json")
    assert done.code == 0, done.err
    assert "CANARY" not in done.err + done.out
    rows = [row["level"] for row in released()]
    graph = ProfileGraph.load("roles.toml")
    outputs = SmoothCategorical.solve(graph, 0.5).outputs
    seen = np.array([rows.count(label) for label in graph.labels])
    manager, engineer = (
        chisquare(seen, 4000 * np.array([float(q) for q in outputs[graph.place(name)]])).pvalue
        for name in ("manager", "engineer")
    )
    assert manager > 1e-6 > engineer
    canaries, blanks = (
        np.array([part.count(label) for label in graph.labels]) for part in (rows[:3000], rows[3000:])
    )
    assert chi2_contingency([canaries, blanks]).pvalue > 1e-6  # low or high was observed: it does not matter


def test_a_fresh_draw_follows_a_law_with_zeros_and_ones():
    source = SeededSource(5)
    assert fresh((Fraction(0), Fraction(1), Fraction(0)), 50, source).tolist() == [1] * 50
    assert fresh((Fraction(1, 3), Fraction(0), Fraction(2, 3)), 0, source).size == 0
    seen = np.bincount(fresh((Fraction(1, 3), Fraction(0), Fraction(2, 3)), 3000, source), minlength=3)
    assert seen[1] == 0
    assert binomtest(int(seen[0]), 3000, 1 / 3).pvalue > 1e-6
    assert binomtest(int(seen[0]), 3000, 1 / 2).pvalue < 1e-6


def test_bad_input_is_one_line_and_nothing_is_charged(run, usage):
    for more, words in (
        (["--unknown", "nobody"], "one of engineer, manager"),
        (["--kind", "magic"], "no kind is called"),
        (["--kind", "smooth_bit"], "not 2"),
        (["--column", "nope"], "no column 'nope'"),
        (["--per-source", "0"], "≥ 1"),
        (["--out", "x.txt"], ".csv or .parquet"),
    ):
        done = local(run, *more, name="never")
        assert done.code == 2, done.err
        assert words in done.err
    history = json.loads(run("ledger", "history", "local.db", "--json").out)
    assert "never" not in json.dumps(history)
