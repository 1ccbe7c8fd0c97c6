"""`discreet tiers`: a folder for each audience, one charge, and what is refused."""

import json

from discreet.privacy.kinds import ApproxDP
from discreet.release.release import Release

TIERS = ("--tier", "team=approx:2,1e-6", "--tier", "public=approx:0.5,1e-6")
WORDS = (
    "tiers",
    "rows.parquet",
    "--schema",
    "schema.toml",
    "--column",
    "smoker",
    "--model",
    "beta_bernoulli",
)
REST = ("--prior", "alpha=1,beta=1", "--ledger", "budget.db")


def charges(run):
    return run("ledger", "history", "budget.db", "--json").out.count('"charge"')


def test_every_audience_gets_a_folder_and_one_charge_pays(run, home):
    assert run("ledger", "init", "budget.db", "--budget", "approx:2.5,1e-5").code == 0
    done = run(*WORDS, *TIERS, *REST, "--out", "smokers", "--seed", "4", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert list(told) == ["team", "public"]
    team, public = (Release.load(home / "smokers" / name) for name in told)
    assert team.receipt == public.receipt
    assert public.posterior.variance() > team.posterior.variance()
    assert public.guarantee <= ApproxDP(0.5, 1e-6)
    assert team.guarantee <= ApproxDP(2, 1e-6)
    assert not team.guarantee <= ApproxDP(0.5, 1e-6)
    assert told["team"]["remaining"] == told["public"]["remaining"]
    assert charges(run) == 1
    broke = run(*WORDS, *TIERS, *REST, "--out", "again")
    assert broke.code == 1
    assert not (home / "again").exists()


def test_it_says_who_was_promised_what_and_that_one_was_paid(run, home):
    assert run("ledger", "init", "budget.db", "--budget", "approx:2.5,1e-5").code == 0
    done = run(*WORDS, *TIERS, *REST, "--out", "smokers")
    assert done.code == 0, done.err
    for word in ("team", "public", "paid once", "left"):
        assert word in done.out


def test_bad_tiers_are_refused_before_anything_is_charged(run, home):
    assert run("ledger", "init", "budget.db", "--budget", "approx:2.5,1e-5").code == 0
    for tiers, words in (
        (("--tier", "team"), "AUDIENCE=PROMISE"),
        (("--tier", "../team=approx:2,1e-6"), "plain word"),
        ((*TIERS, "--tier", "team=approx:1,1e-6"), "plain word"),
        (("--tier", "team=pure:1"), "δ > 0"),
        ((), "--tier"),
    ):
        done = run(*WORDS, *tiers, *REST, "--out", "smokers")
        assert done.code in {1, 2}, done.out
        assert words.lower() in done.err.lower()
    assert charges(run) == 0
