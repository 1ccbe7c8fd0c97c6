"""`discreet fit` of a regression: a job file on the bundled data, and what is refused."""

import json
from importlib.resources import files

import numpy as np
import pytest

from discreet.datasets import adult
from discreet.release.release import Release

JOB = """
data = "{data}"
model = "bayesian_logistic_regression"
prior = {{ target = "income", features = ["education_num", "sex"], labels = ["<=50K", ">50K"], norm = 1.5 }}
target = "approx:1,1e-6"
ledger = "budget.db"
out = "weights"

[schema.columns.income]
kind = "label"
levels = ["<=50K", ">50K"]

[schema.columns.sex]
kind = "binary"
true = "Male"

[schema.columns.education_num]
kind = "bounded"
lower = 1
upper = 16
"""


@pytest.fixture
def job(run, home):
    assert run("ledger", "init", "budget.db", "--budget", "approx:2,1e-5").code == 0
    (home / "job.toml").write_text(JOB.format(data=files("discreet.datasets") / "adult.parquet"))
    return "job.toml"


def test_a_job_of_logistic_regression_on_the_bundled_data(run, home, job):
    done = run("fit", job, "--seed", "7")
    assert done.code == 0, done.err
    assert "released by objective_perturbation" in done.out
    assert "sex = Male" in done.out
    release = Release.load(home / "weights")
    data = adult("income", "sex", "education_num")
    men = {name: data[name][data["sex"] == "Male"] for name in ("sex", "education_num")}
    share = (data["income"] == ">50K")[data["sex"] == "Male"].mean()
    # 32 650 men: the average prediction is the share to well within 3 points, the noise of ε = 1 included
    assert release.posterior.probability_of(men).mean() == pytest.approx(share, abs=0.03)
    assert "What makes" in (home / "weights" / "report.html").read_text()


def test_draws_as_json(run, job):
    done = run("fit", job, "--mechanism", "tuned", "--seed", "7", "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    rows = said["posterior"]
    assert said["reading"] == "draws"
    assert [row["parameter"] for row in rows] == ["education_num", "sex = Male", "(intercept)"]
    assert all(len(row["draws"]) == 1 and np.isfinite(row["draws"]).all() for row in rows)


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ('target="income", features=["sex"], norm=0', "norm"),
        ('target="income", features=["sex"], labels=["<=50K", ">99K"], norm=1', "declared"),
        ('target="income", features=["sex"], norm=1, loss="declared"', "Python"),
        ('target="income", features=["sex"], norm=1, loss="hinge"', "logistic"),
        ('target="wages", features=["sex"], norm=1', "wages"),
        ('target="income", features=["income"], norm=1', "itself"),
        ('target="income", features=["sex"], norm=1, size=3', "takes target, features, norm"),
    ],
)
def test_what_cannot_be_fitted_is_refused_and_nothing_is_charged(run, job, prior, said):
    done = run("fit", job, "--prior", prior)
    assert done.code == 2
    assert said in done.err.replace("\n", " ")
    assert len(json.loads(run("ledger", "history", "budget.db", "--json").out)) == 1  # that it was opened


def test_the_help_teaches_it(run):
    said = run("fit", "--help").out
    assert "bayesian_logistic_regression" in said
    assert "clipped_poisson" in said
