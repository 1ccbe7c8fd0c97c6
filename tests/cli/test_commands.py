"""Every other command: what it prints, what it refuses, and how it ends."""

import json
import sqlite3
from dataclasses import replace

import pytest

from discreet.experiments.registry import EXPERIMENTS, GROUPS, chosen

from .conftest import CANARIES, FIT


# ── ledger ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_ledger_is_started_shown_and_listed(run, budget):
    shown = run("ledger", "show", "budget.db")
    assert shown.code == 0
    assert "PureDP(1.0)" in shown.out
    assert "100.0%" in shown.out
    assert run("ledger", "init", "budget.db", "--budget", "zcdp:0.1", "--scope", "alice").code == 0
    said = json.loads(run("ledger", "show", "budget.db", "--json").out)
    assert [row["scope"] for row in said["scopes"]] == ["alice", "default"]
    assert (
        json.loads(run("ledger", "show", "budget.db", "--scope", "alice", "--json").out)["scopes"][0]["share"]
        == 1
    )
    kinds = [entry["kind"] for entry in json.loads(run("ledger", "history", "budget.db", "--json").out)]
    assert kinds == ["scope", "scope"]


def test_a_budget_never_changes(run, budget):
    done = run("ledger", "init", "budget.db", "--budget", "pure:2")
    assert done.code == 2
    assert "cannot become" in done.err
    assert run("ledger", "init", "budget.db", "--budget", "pure:1").code == 0


def test_a_budget_without_a_filter_leaves_no_file(run, home):
    assert run("ledger", "init", "new.db", "--budget", "pure:-1").code == 2
    assert not (home / "new.db").exists()


def test_verify_finds_a_changed_row_and_a_strange_receipt(run, home, budget):
    assert run(*FIT, "--target", "pure:0.5", "--out", "r").code == 0
    whole = run("ledger", "verify", "budget.db", "--release", "r", "--json")
    assert json.loads(whole.out)["whole"] is True
    assert run("ledger", "init", "other.db", "--budget", "pure:1").code == 0
    assert run("ledger", "verify", "other.db", "--release", "r").code == 3  # no such charge there
    connection = sqlite3.connect(home / "budget.db")
    (table,) = [
        name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")
        if {"body", "hash"} <= {row[1] for row in connection.execute(f"pragma table_info({name})")}
    ]  # fmt: skip
    for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
        connection.execute(f"drop trigger {name}")  # whoever can write the file can do that, too
    connection.execute(f'update {table} set body = replace(body, \'"note":""\', \'"note":"x"\')')  # noqa: S608
    connection.commit()
    connection.close()
    done = run("ledger", "verify", "budget.db")
    assert done.code == 3
    assert "changed" in done.err


def test_refund_is_refused_once_a_release_exists(run, budget):
    assert run(*FIT, "--target", "pure:0.5", "--out", "r", "--charge-id", "one").code == 0
    done = run("ledger", "refund", "budget.db", "one", "--reason", "regret")
    assert done.code == 2
    assert "computed" in done.err


def test_refund_gives_back_a_charge_that_was_never_used(run, budget):
    from discreet.ledger import Ledger
    from discreet.privacy.kinds import PureDP

    with Ledger.open(budget) as ledger:
        ledger.charge(PureDP(0.5), charge_id="two")
    assert json.loads(run("ledger", "show", "budget.db", "--json").out)["scopes"][0]["share"] == 0.5
    assert run("ledger", "refund", "budget.db", "two", "--reason", "no such file").code == 0
    assert json.loads(run("ledger", "show", "budget.db", "--json").out)["scopes"][0]["share"] == 1


def test_export(run, home, budget):
    assert run("ledger", "export", "budget.db", "h.csv").code == 0
    assert (home / "h.csv").read_text().startswith("position,kind")
    assert json.loads(run("ledger", "export", "budget.db", "h.json", "--json").out) == {"written": "h.json"}
    assert run("ledger", "export", "budget.db", "h.xlsx").code == 2


def test_a_file_that_is_no_ledger_is_said_to_be_none(run, home):
    (home / "text.db").write_text("not a database, but long enough to look like one " * 50)
    done = run("ledger", "show", "text.db")
    assert done.code in {2, 3}
    assert done.err.startswith("discreet: ")


# ── schema ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_template_holds_names_and_types_and_no_value(run, home):
    for data in ("rows.parquet", "rows.csv"):
        done = run("schema", "init", data)
        assert done.code == 0, done.err
        assert "[columns." in done.out
        assert "ward" in done.out
        assert not any(canary in done.out for canary in CANARIES)
    assert run("schema", "init", "rows.parquet", "--out", "new.toml").code == 0
    assert run("schema", "init", "rows.parquet", "--out", "new.toml").code == 2  # may be filled in already
    unfilled = run("schema", "check", "new.toml")
    assert unfilled.code == 2
    assert "?" in unfilled.err


def test_a_schema_is_checked_alone_and_against_its_table(run, home):
    assert run("schema", "check", "schema.toml").code == 0
    said = json.loads(run("schema", "check", "schema.toml", "rows.parquet", "--json").out)
    assert said["valid"] is True
    assert set(said["columns"]) == {"smoker", "ward", "age", "visits"}
    (home / "other.toml").write_text('[columns.nowhere]\nkind = "binary"\n')
    done = run("schema", "check", "other.toml", "rows.parquet")
    assert done.code == 2
    assert "nowhere" in done.err
    (home / "reversed.toml").write_text('[columns.age]\nkind = "bounded"\nlower = 9\nupper = 1\n')
    assert "lower < upper" in run("schema", "check", "reversed.toml").err


# ── plan ────────────────────────────────────────────────────────────────────────────────────────────
PLAN = ("plan", "--model", "beta_bernoulli", "--prior", "alpha=6,beta=12")


def test_a_plan_ranks_and_draws(run, home):
    done = run(*PLAN, "--n", "200", "--target", "approx:0.5,1e-6", "--picture", "plan.png")
    assert done.code == 0, done.err
    assert "noisy_statistics" in done.out
    assert (home / "plan.png").read_bytes().startswith(b"\x89PNG")
    said = json.loads(run(*PLAN, "--n", "200", "--target", "approx:0.5,1e-6", "--json").out)
    errors = [row["error"] for row in said["rows"]]
    assert errors == sorted(errors)
    assert len(errors) >= 4


def test_a_plan_takes_bounds_from_the_schema(run):
    done = run(
        "plan", "--schema", "schema.toml", "--column", "ward", "--model", "dirichlet_categorical",
        "--prior", "alpha=1", "--n", "30", "--target", "pure:1", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "[1.0, 1.0, 1.0]" in json.loads(done.out)["model"]


def test_a_plan_tries_what_the_job_names_alone(run, home):
    words = 'model = "beta_bernoulli"\nn = 200\ntarget = "approx:0.5,1e-6"\nmechanism = "diffused"\n'
    (home / "named.toml").write_text(words + "[prior]\nalpha = 6\nbeta = 12\n", "utf-8")
    done = run("plan", "named.toml", "--json")
    assert done.code == 0, done.err
    assert [row["name"] for row in json.loads(done.out)["rows"]] == ["diffused"]


def test_a_plan_backwards(run):
    epsilon = json.loads(run(*PLAN, "--n", "400", "--width", "0.15", "--json").out)["epsilon"]
    assert 0 < epsilon < 64
    n = json.loads(run(*PLAN, "--target", "pure:0.5", "--width", "0.15", "--json").out)["n"]
    assert n > 50
    done = run(*PLAN, "--n", "10", "--width", "0.0001")
    assert done.code == 1
    assert "exact posterior" in done.err


def test_a_budget_is_split(run):
    parts = json.loads(run("plan", "--target", "pure:1", "--split", "3", "--json").out)
    assert set(parts) == {"1", "2", "3"}
    said = run("plan", "--target", "pure:1", "--split", "3").out
    assert said.count("pure:1/3\n") == 3  # as --target takes it


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--n", "10"), "--target"),
        (("--target", "pure:1"), "--n"),
        (("--width", "0.1"), "--width needs"),
        (("--n", "10", "--target", "pure:1", "--rank-by", "luck"), "--rank-by"),
        (("--n", "0", "--target", "pure:1"), "n"),
    ],
)
def test_a_plan_that_lacks_something_says_what(run, options, word):
    done = run(*PLAN, *options)
    assert done.code == 2
    assert word in done.err


# ── audit and reproduce ─────────────────────────────────────────────────────────────────────────────
def test_an_audit_by_mechanism_name_and_a_twin_that_is_caught(run):
    # 1e-4 is the chance that a true claim is refuted; the seed is fixed
    done = run("audit", "randomized_response", "--runs", "20000", "--seed", "3", "--json")
    assert done.code == 0, done.out
    assert not any(row["refuted"] for row in json.loads(done.out)["audits"])
    listed = json.loads(run("audit", "--list", "--json").out)
    twin = next(name for name in listed["twins"] if "float" in name or "laplace" in name)
    caught = run("audit", twin, "--runs", "100000", "--seed", "3", "--json")
    assert json.loads(caught.out)["audits"][0]["refuted"]
    assert caught.code == 0  # as it should be


def test_an_unknown_audit_points_to_the_list(run):
    done = run("audit", "nonsense")
    assert done.code == 2
    assert "--list" in done.err


def test_every_mechanism_that_a_certificate_names_can_be_audited(run):
    listed = json.loads(run("audit", "--list", "--json").out)["cases"]
    from discreet.mechanisms.registry import offered_to

    OF_FAMILIES = offered_to("family")

    for mechanism in OF_FAMILIES:
        assert any(case.partition("/")[0] == mechanism for case in listed), mechanism


def test_reproduce_lists_and_runs(run, home):
    assert [row["name"] for row in json.loads(run("reproduce", "list", "--json").out)] == list(EXPERIMENTS)
    assert "erratum 1" in run("reproduce", "list").out
    done = run("reproduce", "adversarial-data", "--quick", "--out", "figures", "--json")
    assert done.code == 0, done.err
    assert (home / "figures" / "adversarial-data.png").exists()
    refused = run("reproduce", "hmm", "figure-9.9")
    assert refused.code == 2
    assert "figure-9.9" in refused.err
    assert not (home / "out" / "figures" / "hmm.txt").exists()  # nothing is drawn before all names are known


def test_reproduce_judges_a_claim_and_says_when_its_verdict_changed(run, monkeypatch):
    found = json.loads(run("reproduce", "G20-5.4", "--quick", "--json").out)["claims"]
    assert [one["verdict"] for one in found] == ["fails"]
    assert "erratum 3" not in run("reproduce", "claims").out  # the list is short: where and what
    from discreet.experiments.claims import registry
    from discreet.experiments.claims.claim import Judgement

    changed = replace(registry.claims()["G20-5.4"], recorded=Judgement.HOLDS)
    monkeypatch.setattr(registry, "claims", lambda: {"G20-5.4": changed})
    done = run("reproduce", "G20-5.4", "--quick")
    assert done.code == 1
    assert "changed: G20-5.4" in done.out


def test_a_figure_is_found_by_its_number_in_every_paper():
    for number, name in (
        ("f16-figure-1", "figure-4.1"),
        ("GSC17-figure-2", "figure-5.8"),
        ("figure-5.1", "figure-5.1"),
    ):
        assert chosen([number]) == [name]


def test_reproduce_takes_every_experiment_and_groups_of_them_by_name():
    assert chosen(["hmm", "profiles", "hmm"]) == ["hmm", "profiles"]
    assert chosen(["all"]) == list(EXPERIMENTS)
    assert len(chosen(["thesis"])) == 17
    assert not {"list", *GROUPS} & set(EXPERIMENTS)  # words of the command
