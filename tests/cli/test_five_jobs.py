"""Five jobs on real data that the package does not bring, each beside the answer that has no privacy.

Seeds are fixed, and so is what comes out; the bounds leave what other draws of the noise would give. The data
lie where DISCREET_DATA says, and are not in the project.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OrdinalEncoder

import discreet as dc

DATA = Path(os.environ.get("DISCREET_DATA", "nowhere"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="DISCREET_DATA names no folder"),
]


def categories(name, levels, kind="categories"):
    return f"[schema.columns.{name}]\nkind = '{kind}'\nlevels = {list(levels)}\n"


def bounded(name, lower, upper):
    return f"[schema.columns.{name}]\nkind = 'bounded'\nlower = {lower}\nupper = {upper}\n"


@pytest.fixture
def fitted(home, run):
    """Fit a job file by the command, and return the release and the rows."""

    def fit(name, job, *declared):
        assert run("ledger", "init", "budget.db", "--budget", "approx:10,1e-5").code == 0
        path = DATA / f"{name}.parquet"
        common = f"data = '{path}'\nledger = 'budget.db'\nout = 'out'\nseed = 1\n"
        (home / "job.toml").write_text(common + job + "\n" + "".join(declared))
        done = run("fit", "job.toml")
        assert done.code == 0, done.err
        return dc.Release.load("out"), pd.read_parquet(path)

    return fit


def test_a_proportion_is_that_of_the_exact_posterior_and_hardly_wider(fitted):
    """How many of 1885 people took cannabis in the last year: ε = 1 moves the share by 1e-3."""
    job = """model = 'beta_bernoulli'\nepsilon = 1\ncolumn = 'recent'
derive = { recent = 'cannabis in ["CL3", "CL4", "CL5", "CL6"]' }"""
    release, frame = fitted("drug_consumption", job, categories("cannabis", [f"CL{i}" for i in range(7)]))
    took = frame["cannabis"].isin(["CL3", "CL4", "CL5", "CL6"])
    exact = stats.beta(1 + took.sum(), 1 + (~took).sum())
    low, high = release.posterior.flat_interval(0.9)[0]
    assert release.posterior.flat_mean()[0] == pytest.approx(exact.mean(), abs=0.006)
    assert exact.std() * 3.2 < high - low < exact.std() * 3.6


def test_a_table_of_two_columns_is_that_of_the_counts(fitted):
    """Odour by edibility of 8124 mushrooms; ε = 1 moves a cell by e^-10 at 20 records, and there are 18."""
    frame = pd.read_parquet(DATA / "mushroom.parquet")
    odours = sorted(frame["odor"].unique())
    job = "model = 'dirichlet_categorical'\nepsilon = 1\ncolumn = ['odor', 'class']"
    release, frame = fitted("mushroom", job, categories("odor", odours), categories("class", ["e", "p"]))
    cells = pd.crosstab(frame["odor"], frame["class"], normalize="all").to_numpy().ravel()
    assert release.posterior.names[:2] == (f"{odours[0]}, e", f"{odours[0]}, p")
    assert release.posterior.flat_mean() == pytest.approx(cells, abs=20 / len(frame))


def test_a_line_has_the_slopes_of_least_squares(fitted):
    """Rings of 4177 abalones, ε = 3: 90 % intervals of four weights, of which at least three of four hold."""
    ends = {"length": (0, 1), "shucked_weight": (0, 2), "shell_weight": (0, 1.5), "rings": (0, 30)}
    features = list(ends)[:3]
    job = f"""model = 'bayesian_linear_regression'\nepsilon = 3\ndelta = 1e-6
prior = {{ target = 'rings', features = {features} }}"""
    release, frame = fitted("abalone", job, *(bounded(name, *pair) for name, pair in ends.items()))
    design = np.column_stack([frame[features], np.ones(len(frame))])
    exact = np.linalg.lstsq(design, frame["rings"], rcond=None)[0]
    low, high = release.posterior.flat_interval(0.9)[:4].T
    assert ((low <= exact) & (exact <= high)).sum() >= 3
    assert np.sign(release.posterior.flat_mean()[1:3]).tolist() == np.sign(exact[1:3]).tolist() == [-1, 1]
    assert release.posterior.flat_mean()[2] == pytest.approx(exact[2], rel=0.5)


def test_naive_bayes_labels_nearly_as_well_as_without_privacy(fitted):
    """Edible or poisonous from four columns at ε = 1: noise of 8 a cell hides rare levels, worth 2 to 5 %."""
    frame = pd.read_parquet(DATA / "mushroom.parquet")
    features = ["odor", "spore_print_color", "gill_color", "ring_type"]
    job = f"model = 'naive_bayes'\nepsilon = 1\nprior = {{ label = 'class', features = {features} }}"
    said = [categories(name, sorted(frame[name].unique())) for name in features]
    release, frame = fitted("mushroom", job, *said, categories("class", ["e", "p"], "label"))
    codes = OrdinalEncoder().fit_transform(frame[features])
    theirs = CategoricalNB().fit(codes, frame["class"]).score(codes, frame["class"])
    ours = (release.posterior.predict(frame) == frame["class"]).mean()
    assert theirs > 0.9
    assert ours == pytest.approx(theirs, abs=0.06)
    assert (frame["class"] == "e").mean() < 0.52  # what a constant would score


def test_hidden_states_are_those_of_the_counts_themselves(fitted):
    """Two states of 14 regions in 10 years at ε = 2, against EM on the counts (no noise, no chains)."""
    frame = pd.read_parquet(DATA / "ged21_syria_hmm.parquet")
    regions, years = sorted(frame["region"].unique()), sorted(frame["year"].unique().tolist())
    sides = ["insurgents", "IS", "kurdish_led", "civilians", "group"]
    job = """model = 'hidden_markov'\nepsilon = 2
prior = { states = 2, chain = 'region', step = 'year', features = ['side_b'] }"""
    declared = [categories("region", regions), categories("year", years), categories("side_b", sides)]
    release, frame = fitted("ged21_syria_hmm", job, *declared)
    counts = pd.crosstab([frame["region"], frame["year"]], frame["side_b"]).reindex(
        pd.MultiIndex.from_product([regions, years]), fill_value=0
    )[sides]
    theirs, emissions = two_states(counts.to_numpy().astype(float))
    ours = release.posterior.states().to_numpy().ravel()
    filled = counts.sum(axis=1).to_numpy() >= 50
    alike = np.mean((ours == "state 1")[filled] == (theirs == 0)[filled])
    assert filled.sum() > 90
    assert max(alike, 1 - alike) > 0.9  # which state is the first is a matter of names
    assert 0.05 < np.mean(theirs[filled]) < 0.95
    found = release.posterior.table("side_b").sel(side_b="kurdish_led").to_numpy()
    assert np.sort(found) == pytest.approx(np.sort(emissions[:, 2]), abs=0.1)


def two_states(counts):
    """EM for a mixture of two multinomials over cells: (state of each cell, emissions)."""
    shares = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)
    law = shares[[np.argmax(shares[:, 0]), np.argmin(shares[:, 0])]]
    weight = np.full(2, 0.5)
    for _ in range(100):
        log = counts @ np.log(law).T + np.log(weight)
        held = np.exp(log - np.logaddexp.reduce(log, axis=1, keepdims=True))
        law = held.T @ counts + 1e-3
        law, weight = law / law.sum(axis=1, keepdims=True), held.mean(axis=0)
    return held.argmax(axis=1), law
