"""With n private no records are records: the empty data set is read, paid for, released like any other."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.families.registry import EXAMPLES
from discreet.ledger import Ledger
from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.barker import Barker
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import SimplexWalk
from discreet.mcmc.running.plan import ChainPlan
from discreet.mcmc.running.run import run
from discreet.mcmc.target import SimplexTarget
from discreet.models.hidden_markov import HiddenMarkov
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SeededSource

TARGET = ApproxDP(1, 1e-6, relation=ADD_REMOVE)
LETTERS = dc.Categories(["u", "v"], unknown="u")
UNIT = dc.Bounded(0, 1)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "budget.db", budget=ApproxDP(1000, 1e-3, relation=ADD_REMOVE)) as opened:
        yield opened


@pytest.mark.parametrize(("model", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))
def test_the_statistic_of_nothing_is_zero_and_leaves_the_prior(model, data):
    rows = np.asarray(data)
    for nothing in ([], rows[:0], rows[:0].astype(np.float64)):
        statistic = model.statistic(nothing)
        assert statistic.dtype == np.int64
        assert statistic.tolist() == (0 * model.statistic(rows[:1])).tolist()
    assert model.update(statistic, 0) == model
    assert model.statistic(rows).tolist() == (statistic + model.statistic(rows)).tolist()


@pytest.mark.parametrize(("model", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))
@pytest.mark.parametrize(
    "mechanism",
    [
        dc.NoisyStatistics,
        dc.DirectPosterior,
        dc.DiffusedPosterior,
        dc.ConcentratedPosterior,
        dc.OnePosteriorSample,
    ],
)
def test_every_mechanism_of_a_family_releases_it(model, data, mechanism):
    options = {"truncation": Fraction(1, 100)} if mechanism is dc.OnePosteriorSample else {}
    try:
        made = mechanism.calibrate(model, target=TARGET, **options)
    except (NotProved, Unreachable):
        pytest.skip("this pairing is refused, whatever the data")
    assert made.release(model.statistic([]), SeededSource(1), count=0) is not None


def columns(kinds, types):
    return dc.Table.open(pa.table({name: pa.array([], types[name]) for name in types}), schema=kinds)


TABLES = {
    "beta_bernoulli": (
        columns({"x": dc.Binary(true=1)}, {"x": pa.int64()})["x"],
        dc.BetaBernoulli(1, 1),
    ),
    "dirichlet": (columns({"x": LETTERS}, {"x": pa.string()})["x"], dc.DirichletCategorical([1, 1])),
    "gamma_poisson": (columns({"x": dc.Count(16)}, {"x": pa.int64()})["x"], dc.GammaPoisson(1, 1, 16)),
    "normal_mean": (columns({"x": UNIT}, {"x": pa.float64()})["x"], dc.NormalMean(1, 1, 1, 0, 1)),
    "naive_bayes": (
        columns(dict.fromkeys("ay", LETTERS), dict.fromkeys("ay", pa.string())),
        dc.NaiveBayes("y", ("a",)),
    ),
    "bayesian_network": (
        columns(dict.fromkeys("ay", LETTERS), dict.fromkeys("ay", pa.string())),
        dc.BayesianNetwork((("y", "a"),)),
    ),
    "mixture": (
        columns(dict.fromkeys("ay", LETTERS), dict.fromkeys("ay", pa.string())),
        dc.Mixture(2, ("a", "y")),
    ),
    "hidden_markov": (
        columns(dict.fromkeys("cta", LETTERS), dict.fromkeys("cta", pa.string())),
        dc.HiddenMarkov(2, "c", "t", ("a",)),
    ),
    "logistic": (
        columns({"a": UNIT, "y": dc.Binary(true=1)}, {"a": pa.float64(), "y": pa.int64()}),
        dc.BayesianLogisticRegression("y", ("a",), norm=1.5, radius=2),
    ),
    "poisson": (
        columns({"a": UNIT, "y": dc.Count(5)}, {"a": pa.float64(), "y": pa.int64()}),
        dc.GeneralizedLinear("y", ("a",), norm=1.5, radius=2, loss=dc.ClippedPoisson(5)),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_empty_tables_are_privatised(name, ledger):
    table, model = TABLES[name]
    made = dc.privatise(table, model, target=TARGET, ledger=ledger, source=SeededSource(1))
    assert made.n is None
    assert made.certificate()["protected"]["relation"] == "add_remove"


@pytest.mark.parametrize("nothing", [[], [None, None]], ids=["no rows", "only missing values"])
def test_a_frame_without_a_value_to_tell_its_type_by_is_not_refused(nothing, ledger):
    """The type of such a column is a fact about the values: an error would tell that there are none."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frames = (
        {"x": nothing, "who": nothing},
        pandas.DataFrame(
            {"x": pandas.Series(nothing, dtype=object), "who": pandas.Series(nothing, dtype=object)}
        ),
        polars.DataFrame({"x": nothing, "who": nothing}),
        pa.table({"x": pa.nulls(len(nothing)), "who": pa.nulls(len(nothing))}),
    )
    kinds = {
        "texts": (LETTERS, dc.DirichletCategorical([1, 1])),
        "numbers": (dc.Binary(true=1), dc.BetaBernoulli(1, 1)),
        "truths": (dc.Binary(), dc.BetaBernoulli(1, 1)),
        "reals": (UNIT, dc.NormalMean(1, 1, 1, 0, 1)),
    }
    for frame, (kind, model) in itertools.product(frames, kinds.values()):
        table = dc.Table.open(frame, schema={"x": kind}, unit="who", rows_per_unit=1)
        assert dc.privatise(table["x"], model, target=TARGET, ledger=ledger, source=SeededSource(1))


WALKING = {"target": SimplexTarget(column="x", alpha=(1, 1), truncation=0.0625), "walk": SimplexWalk(0.25)}
HIDDEN = HiddenMarkov(states=2, chain="r", step="t", features=("x",)).bind({"r": 1, "t": 1, "x": 2})


@pytest.mark.parametrize(
    "kernel",
    [
        Barker(**WALKING, temperature=2),
        Metropolis(**WALKING, temperature=2, delta=0.99),
        MixtureGibbs(model=Mixture(classes=2, columns=("x",), shape=(2,), truncation=0.25), temperature=2),
        AnnealedImportance(**WALKING, inverse_temperatures=(0.5, 1), particles=2),
        HiddenMarkovGibbs(HIDDEN, temperature=2),
    ],
    ids=lambda kernel: kernel.name,
)
def test_kernels_walk_over_no_counts(kernel):
    private = replace(kernel, relation=ADD_REMOVE)
    steps = private.length or 3
    nothing = np.zeros(private.shape, dtype=np.int64).ravel()
    walked = run(ChainPlan(private, steps=steps), nothing, source=SeededSource(1))
    assert walked.complete


def test_estimators_fit_it():
    learn = pytest.importorskip("discreet.learn")
    common = {"target": TARGET, "random_state": 1, "bounds": (0, 1)}
    nothing = np.empty((0, 2))
    estimators = [
        (learn.LogisticRegression(**common, classes=["a", "b"]), np.array([], dtype=str)),
        (learn.LinearRegression(**common, answers=(0, 1)), np.empty(0)),
        (learn.PoissonRegression(**common, upper=5), np.empty(0)),
    ]
    for estimator, answers in estimators:
        assert estimator.fit(nothing, answers).predict(np.zeros((1, 2))).shape == (1,)


# ── quantiles ──

GRID = {"lower": 0, "upper": 4, "epsilon": 1, "grid": 1}


def spread_of(score, other, points=5):
    def at(one, j):
        return one.levels[int(np.searchsorted(one.starts, j, side="right")) - 1]

    moved = [at(score, j) - at(other, j) for j in range(points)]
    return max(moved) - min(moved)


@pytest.mark.parametrize("level", [Fraction(1, 10), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)], ids=str)
def test_a_quantiles_spread_with_n_private_is_twice_the_larger_share(level):
    """Data sets of up to 30 records over three values, every record added: attained, never exceeded."""
    made = dc.ContinuousExponential(**GRID, relation=ADD_REMOVE)
    least, worst = 2 * max(level, 1 - level), Fraction(0)
    for counts in itertools.product((0, 1, 9, 10), repeat=3):
        data = np.repeat([0, 2, 4], counts)
        score = made.quantile(data, level)
        assert score.spread == least
        for record in range(5):
            other = made.quantile([*data, record], level)
            moved = spread_of(score, other)
            worst = max(worst, moved)
            assert moved <= least
            if moved == least:
                assert made.hockey_stick(score, other, 1) <= made.guarantee.delta(1) + 1e-12
    assert worst == least


def test_a_spread_that_is_too_small_for_the_level_is_refused():
    narrow = dc.ContinuousExponential(**GRID, spread=1, relation=ADD_REMOVE)
    assert narrow.quantile([1, 2], Fraction(1, 2)).spread == 1
    for level in (Fraction(1, 10), Fraction(9, 10)):
        with pytest.raises(ValueError, match=r"spread 9/5"):
            narrow.quantile([1, 2], level)
    with pytest.raises(ValueError, match="spread 2"):
        dc.ContinuousExponential(**GRID, spread=1).quantile([1, 2])


def test_a_median_with_n_private_is_drawn_with_all_of_its_epsilon():
    """Of (2, 3, 3) the scores are −3/2 at 0 and −1/2 at 2: one unit is e^ε at spread 1, not e^{ε/2}."""
    made = dc.ContinuousExponential(**GRID, relation=ADD_REMOVE)
    score = made.quantile([2, 3, 3])
    runs = [float(p) for p in made._runs(score)]
    each = [p / k for p, k in zip(runs, score.lengths(5), strict=True)]
    assert each[1] / each[0] == pytest.approx(np.e)
    declared = dc.ContinuousExponential(**GRID, spread=2, relation=ADD_REMOVE)
    wide = [float(p) for p in declared._runs(declared.quantile([2, 3, 3]))]
    assert wide[1] / (wide[0] / 2) == pytest.approx(np.exp(0.5))
    assert made.quantile([]).levels == (0,)
    assert 0 <= made.release(made.quantile([]), SeededSource(1)) <= 4
