"""`discreet fit` of models of counts: a job file on the bundled data, and what is refused."""

import json
from importlib.resources import files

import numpy as np
import pytest

from discreet.datasets import adult
from discreet.release.release import Release

JOB = """
data = "{data}"
model = "naive_bayes"
prior = {{ label = "income", features = ["education", "sex", "hours"] }}
options = {{ shares = [0.5, 0.25, 0.25] }}
target = "pure:1"
ledger = "budget.db"
out = "income"
derive = {{ education = "education_num.cut([9, 10, 13])", hours = "hours_per_week.cut([35, 41, 50])" }}

[schema.columns.income]
kind = "label"
levels = ["<=50K", ">50K"]
unknown = "<=50K"

[schema.columns.sex]
kind = "categories"
levels = ["Female", "Male"]
unknown = "Female"

[schema.columns.education_num]
kind = "bounded"
lower = 1
upper = 16

[schema.columns.hours_per_week]
kind = "bounded"
lower = 0
upper = 100
"""


@pytest.fixture
def job(run, home):
    assert run("ledger", "init", "budget.db", "--budget", "pure:1").code == 0
    (home / "job.toml").write_text(JOB.format(data=files("discreet.datasets") / "adult.parquet"))
    return "job.toml"


def test_a_job_of_naive_bayes_on_the_bundled_data(run, home, job):
    done = run("fit", job, "--seed", "7")
    assert done.code == 0, done.err
    assert "naive_bayes of income, education, sex, hours, released by noisy_counts" in done.out
    assert "promised ε = 1 at δ = 0" in done.out
    assert "read     noise-aware: " in done.out
    assert "sex = Male" in done.out
    release = Release.load(home / "income")
    data = adult("income", "sex")
    men = (data["sex"] == "Male")[data["income"] == ">50K"].mean()
    share = release.posterior.tables()["sex"].values[1, 1]
    low, high = release.posterior.tables(release.posterior.interval(0.999))["sex"].values[1, 1]
    assert low < men < high
    assert abs(share - men) < 0.01
    assert release.posterior.reading == "noise_aware"
    refused = run("fit", job, "--out", "again")
    assert refused.code == 1  # the budget is gone
    assert not (home / "again").exists()


def test_json_has_every_share_and_what_it_is_given(run, job):
    done = run("fit", job, "--option", 'noise="laplace"', "--option", "shares=[0.2, 0.4, 0.4]", "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert (said["reading"], said["cautions"]) == ("noise_aware", [])
    assert len(said["posterior"]) == 2 + 2 * (4 + 2 + 4)
    by_class = {row["given"]: 0.0 for row in said["posterior"] if row["table"] == "hours"}
    for row in said["posterior"]:
        assert row["interval"][0] <= row["interval"][1]
        if row["table"] == "hours":
            by_class[row["given"]] += row["mean"]
    assert list(by_class) == ["income = <=50K", "income = >50K"]
    assert np.allclose(list(by_class.values()), 1)
    assert "noisy_counts/laplace" in said["certificate"]["verification"]["audit"]


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--prior", 'label="income", features=["income"]'], "cannot predict itself"),
        (["--prior", 'label="income", features=["nope"]'], "no column 'nope'"),
        (["--prior", 'label="income"'], "takes label, features, prior"),
        (["--prior", "wrong=1"], "takes label, features, prior"),
        (["--option", "shares=[0.5, 0.2, 0.2]"], "add up to 1"),
        (["--option", "noise=cauchy"], "unknown noise 'cauchy'"),
        (["--mechanism", "diffused"], "noisy_counts"),
        (["--column", "sex"], "leave the columns (--column) out"),
        (["--model", "beta_bernoulli"], "--column"),
        (["--prior", 'label="income", features=["hours_per_week"]'], "cut"),
    ],
)
def test_what_is_wrong_is_one_line_and_costs_nothing(run, home, job, extra, words):
    done = run("fit", job, *extra, "--out", "refused")
    assert done.code == 2, done.err
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (home / "refused").exists()
    assert "100.0%" in run("ledger", "show", "budget.db").out
