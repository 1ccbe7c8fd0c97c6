"""Promises under a metric as users type them: in arguments and job files, for plans, fits and budgets."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.cli.command import app
from discreet.cli.typed.arguments import promise, typed
from discreet.planning import plan, split
from discreet.privacy import AbsoluteDifference, Hamming, NormalDifference, Steps, TotalDifference, Weighted
from discreet.sampling.source import SeededSource

METRICS = {
    "hamming": Hamming(),
    "normal": NormalDifference(),
    "absolute": AbsoluteDifference(),
    "absolute=1/64": AbsoluteDifference(Fraction(1, 64)),
    "total=1/3": TotalDifference(Fraction(1, 3)),
    "steps=1/2": Steps(Fraction(1, 2)),
}


@pytest.mark.parametrize("words", METRICS)
def test_a_promise_is_read_as_it_is_written(words):
    found = promise(f"metric:0.1,1e-7,{words}")
    assert found == dc.MetricDP(Fraction(1, 10), Fraction(1, 10**7), METRICS[words])
    assert promise(typed(found)) == found


def test_the_weights_of_a_network_are_named():
    assert promise("metric:1,weighted=a b:2+c:1") == dc.MetricDP(1, metric=Weighted({"a b": 2, "c": 1}))


@pytest.mark.parametrize(
    "words", ["metric:1", "metric:1,2,3,hamming", "metric:x,hamming", "metric:1,euclid", "metric:1,steps"]
)
def test_what_is_no_metric_is_refused_with_the_way_to_write_one(words):
    with pytest.raises(ValueError, match=r"written|one of|not a number"):
        promise(words)
    with pytest.raises(ValueError, match="leave --relation out"):
        promise("metric:1,hamming", "add_remove")


def test_a_job_under_a_metric_is_planned_paid_and_released(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    waits = np.random.default_rng(5).exponential(0.7, 300).clip(0, 8)
    pd.DataFrame({"wait": waits}).to_parquet("w.parquet")
    (tmp_path / "w.toml").write_text('[columns.wait]\nkind = "bounded"\nlower = 0\nupper = 8\n')
    (tmp_path / "job.toml").write_text(
        'data = "w.parquet"\nschema = "w.toml"\ncolumn = "wait"\nmodel = "gamma_exponential"\n'
        "prior = { shape = 2, rate = 1, grid = 0.015625 }\noptions = { truncation = 4 }\n"
        'target = "metric:1,absolute=1/64"\nledger = "b.db"\nout = "o"\n'
    )

    def run(*words):
        return app(list(words), standalone_mode=False) or 0

    assert run("ledger", "init", "b.db", "--budget", "metric:1.5,absolute=1/64") == 0
    assert run("plan", "job.toml", "--n", "300") == 0
    assert "--mechanism one_posterior_sample --option truncation=4" in capsys.readouterr().out
    assert run("fit", "job.toml") == 0  # the default mechanism is one that is proved under a metric
    release = dc.Release.load(tmp_path / "o")
    assert release.guarantee == dc.MetricDP(1, metric=AbsoluteDifference(Fraction(1, 64)))
    assert 0 < release.posterior.flat_sample(1)[0, 0] <= 4
    assert run("fit", "job.toml", "--out", "again") == 1  # half is left
    assert run("fit", "job.toml", "--target", "pure:0.1", "--out", "mixed") != 0
    with dc.Ledger.open("b.db") as ledger:
        assert ledger.spent().sums == (Fraction(1),)


def test_a_plan_predicts_what_the_draw_does():
    """Truncated Gamma draws by inversion, against the mechanism's own: their errors over 400 tables agree."""
    model, metric = (
        dc.GammaExponential(2, 1, upper=8, grid=Fraction(1, 64)),
        AbsoluteDifference(Fraction(1, 64)),
    )
    found = plan(model, 50, dc.MetricDP(1, metric=metric), truncation=4, simulations=400, truth=1.0)
    row = found.rows[0]
    rng, source = np.random.default_rng(0), SeededSource(0)
    sums = np.rint(rng.exponential(1, (400, 50)).clip(0, 8) * 64).sum(axis=1)
    errors = [float(row.mechanism.release([int(s)], source)) - 1.0 for s in sums]
    ours = np.sqrt(np.mean(np.square(errors)))
    assert row.error == pytest.approx(ours, rel=0.2)  # 3 standard errors of either is 15 %
    assert sum(Fraction(p.loss) for p in split(found.target, 3).values()) == 1


def test_what_nothing_is_proved_for_is_refused():
    found = plan(dc.GammaPoisson(2, 1, upper=20), 50, dc.MetricDP(1, metric=Hamming()), simulations=16)
    assert not found.rows
    assert "no Lipschitz constant is proved for GammaPoisson" in found.refused[0].reason
