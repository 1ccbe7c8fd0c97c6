"""Every kind of posterior keeps one contract: names, labelled answers, a summary, cautions, one screen."""

import importlib
import inspect
import pkgutil
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta, norm

import discreet as dc
import discreet.posteriors
from discreet.mechanisms.statistics.noisy_plain import NoisyPlain
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.generalized_linear import Feature
from discreet.posteriors.conjugate import ConjugatePosterior
from discreet.posteriors.counts import naive_bayes
from discreet.posteriors.counts.dirichlet import CountDraws
from discreet.posteriors.grouped import GroupedPosterior
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
from discreet.posteriors.labels import Labels, unique
from discreet.posteriors.mixture.posterior import MixturePosterior
from discreet.posteriors.network.posterior import NetworkDraws, OneNetwork
from discreet.posteriors.network.read import NetworkCounts
from discreet.posteriors.network.read import exact as exact_network
from discreet.posteriors.normal.in_units import LinearPosterior
from discreet.posteriors.normal.latent_model import SampledPosterior
from discreet.posteriors.plain import PlainReading
from discreet.posteriors.posterior import NAIVE, Diagnostics, Posterior
from discreet.posteriors.private_chain import ChainPosterior
from discreet.posteriors.read import DrawnPosterior, Draws, OnlyDraws
from discreet.posteriors.regression.coefficients import CoefficientDraws, NormalCoefficients
from discreet.posteriors.tables import Answers, TablePosterior

RNG = np.random.default_rng(7)
SEED = dc.SeededSource(5)
WISHART = dc.NormalInverseWishart([0, 0], 1, degrees=4, scale=[[1, 0], [0, 1]], radius=6)
LINEAR = dc.BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], 2, 1, 2)
BY_NAME = dc.BayesianLinearRegression(target="answer", features=["x"])
LOGISTIC = dc.BayesianLogisticRegression("ill", ("age", "dose"), norm=2).bind(
    (Feature("age"), Feature("dose"))
)
NETWORK = dc.BayesianNetwork([("ward", "ill")]).bind({"ward": 3, "ill": 2})
BAYES = dc.NaiveBayes("ill", ("ward",)).bind({"ill": 2, "ward": 3})
MIXTURE = dc.Mixture(components=2, features=("ward",)).bind({"ward": 3})
STATES = dc.HiddenMarkov(states=2, chain="r", step="t", features=("ward",)).bind({"r": 2, "t": 5, "ward": 3})
WARD = {"kind": "categories", "levels": ["<b>A</b>", "B", "C"], "unknown": "C"}
SCHEMA = {"columns": {"ward": WARD, "ill": {"kind": "binary"}}}


def noisy(model, noise, n=40):
    statistic = model.statistic([1] * 10 + [0] * (n - 10))
    return dc.NoisyStatistics(model, n=n, scale=2).release(statistic, dc.SeededSource(noise))


def simplices(*shape):
    return RNG.dirichlet(np.ones(shape[-1]), shape[:-1])


def several(model, count, draws=60):
    return Draws.of(model, RNG.random((draws, count)) + 0.1, several=True)


def mixture(gap=0.0):
    theta = np.tile([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], (3, 50, 1, 1)) + RNG.normal(0, 0.01, (3, 50, 2, 3))
    theta[1] = theta[1] if not gap else 1 / 3
    weights = np.tile([0.7, 0.3], (3, 50, 1)) + RNG.normal(0, 0.01, (3, 50, 2))
    return MixturePosterior.of(
        model=MIXTURE, reading="exact", weights=weights, theta=theta,
        log_joint=RNG.normal(0, 1, (3, 50)) - gap * np.eye(3)[1][:, None], records=np.full((3, 50), 40),
    )  # fmt: skip


def states():
    z = np.tile(np.repeat([0, 1], 5), (2, 50, 1)).astype(np.int16)
    return HiddenMarkovPosterior.of(
        model=STATES, reading="exact", kernel="ffbs", z=z, theta=simplices(2, 50, 2, 3),
        transitions=simplices(2, 50, 3, 2), log_joint=RNG.normal(0, 1, (2, 60)), warm_up=10,
    )  # fmt: skip


def chain():
    kernel = SimpleNamespace(name="barker", heat=3, columns=("ward",), shape=(3,))
    return ChainPosterior(kernel, ("ward[0]", "ward[1]", "ward[2]"), simplices(2, 80, 3))


def grouped():
    parts = tuple(noisy(dc.BetaBernoulli(2, 3), seed).posterior for seed in (11, 12, 13))
    return GroupedPosterior(dc.Grouped(dc.BetaBernoulli(2, 3), by="ward", of="ill", sizes=(3,)), parts)


def plain():
    model = dc.Histogram(["ward"]).bind((3,))
    noisy_counts, promise = np.array([300.0, 400.0, 500.0]), dc.GaussianDP(0.1)
    counts = NoisyPlain(model, noisy_counts, None, "gaussian", 20.0, promise, seeded=True)
    return PlainReading(counts)


WARDS = ("ward = <b>A</b>", "ward = B", "ward = C")
CELLS = (*WARDS, *(f"ill = {x} | {ward}" for ward in WARDS for x in ("no", "yes")))
CLASSES = ("class 1", "class 2", *(f"{ward} | class {k}" for k in (1, 2) for ward in WARDS))
MET, APART = Diagnostics("chains", 2, 90), Diagnostics("chains", 2, 90, 1.5, 20.0)
THREE = dc.DirichletCategorical([1, 1, 1])
IN_STATES = tuple(f"{ward} | state {k}" for k in (1, 2) for ward in WARDS)
MOVES = tuple(f"next state {j} | state {i}" for i in (1, 2) for j in (1, 2))
# kind → posterior, columns, its names under the schema; each built once
CASES = {
    "grid": (lambda: noisy(dc.BetaBernoulli(2, 3), 1).posterior, ("ill",), ("p",)),
    "conjugate": (lambda: noisy(dc.BetaBernoulli(2, 3), 2).read(reading="naive"), ("ill",), ("p",)),
    "counts": (
        lambda: CountDraws(dc.DirichletCategorical([1, 1, 1]), RNG.integers(1, 30, (50, 3), np.int32), 3),
        ("ward",),
        ("<b>A</b>", "B", "C"),
    ),
    "sampled": (
        lambda: SampledPosterior(WISHART, RNG.random((2, 90, 5)), None, APART),
        ("x", "y"),
        ("mean of x", "mean of y", "variance of x", "covariance of x and y", "variance of y"),
    ),
    "linear": (
        lambda: SampledPosterior(LINEAR, RNG.random((2, 90, 3)), None, MET),
        ("x", "variance", "answer"),
        ("x", "variance", "variance (2)"),
    ),
    "linear by name": (
        lambda: LinearPosterior(BY_NAME, SampledPosterior(BY_NAME, RNG.random((2, 90, 3)), None, MET)),
        ("x", "answer"),
        ("x", "(intercept)", "variance"),
    ),
    "drawn": (lambda: DrawnPosterior(several(THREE, 3, 4)), ("ward",), ("<b>A</b>", "B", "C")),
    "weights": (
        lambda: NormalCoefficients(LOGISTIC, np.array([1.0, 2.0, 3.0]), np.diag([1.0, 4.0, 9.0])),
        ("age", "dose", "ill"),
        ("age", "dose", "(intercept)"),
    ),
    "weights drawn": (
        lambda: CoefficientDraws(several(LOGISTIC, 3, 1)),
        ("age", "dose", "ill"),
        ("age", "dose", "(intercept)"),
    ),
    "naive Bayes": (
        lambda: naive_bayes.exact(BAYES, [5, 6, 7, 8, 9, 10]),
        ("ill", "ward"),
        ("ill = no", "ill = yes", *(f"{ward} | ill = {x}" for x in ("no", "yes") for ward in WARDS)),
    ),
    "network": (lambda: exact_network(np.arange(9), NETWORK), ("ward", "ill"), CELLS),
    "network by table": (
        lambda: NetworkCounts(NETWORK, RNG.integers(1, 9, (30, 9)).astype(np.float32)),
        ("ward", "ill"),
        CELLS,
    ),
    "network together": (
        lambda: NetworkDraws(
            NETWORK, RNG.random((2, 90, 9), np.float32), "noise_aware", MET, np.zeros((2, 90), int)
        ),
        ("ward", "ill"),
        CELLS,
    ),
    "network drawn": (lambda: OneNetwork(several(NETWORK, 9, 1)), ("ward", "ill"), CELLS),
    "grouped": (grouped, ("ward", "ill"), tuple(f"p | {ward}" for ward in WARDS)),
    "plain": (plain, ("ward",), WARDS),
    "mixture": (mixture, ("ward",), CLASSES),
    "hidden Markov": (states, ("r", "t", "ward"), (*IN_STATES, *MOVES, "first state 1", "first state 2")),
    "private chain": (chain, ("ward",), WARDS),
}  # fmt: skip
POSTERIORS = {name: make().labelled(Labels(columns, SCHEMA)) for name, (make, columns, _) in CASES.items()}
DRAWN = [name for name, one in POSTERIORS.items() if isinstance(one, DrawnPosterior)]
WHOLE = [name for name in POSTERIORS if name not in DRAWN]


def test_every_kind_is_here():
    modules = pkgutil.walk_packages(discreet.posteriors.__path__, "discreet.posteriors.")
    homes = [importlib.import_module(found.name) for found in modules]
    kinds = {kind for home in homes for _, kind in inspect.getmembers(home, inspect.isclass)}
    concrete = {kind for kind in kinds if issubclass(kind, Posterior) and not inspect.isabstract(kind)}
    assert concrete == {type(one) for one in POSTERIORS.values()}


@pytest.mark.parametrize("name", POSTERIORS)
def test_names_are_public_labels_and_no_two_are_alike(name):
    one = POSTERIORS[name]
    assert one.names == CASES[name][2]
    assert len(set(one.names)) == len(one.names)
    assert len(CASES[name][0]().names) == len(one.names)  # the model's own, without a release


@pytest.mark.parametrize("name", POSTERIORS)
def test_what_it_says_of_itself_has_one_shape(name):
    one = POSTERIORS[name]
    assert isinstance(one.reading, str)
    assert isinstance(one.diagnostics, Diagnostics)
    assert isinstance(one.cautions, tuple)
    assert all(isinstance(words, str) and words for words in one.cautions)
    text, page = repr(one), one._repr_html_()
    assert len(text.splitlines()) <= 40
    assert one.reading in text
    assert all(words in text for words in one.cautions)
    assert "<b>" not in page
    assert "<table" in page


@pytest.mark.parametrize("name", WHOLE)
def test_answers_are_labelled_arrays_of_the_same_numbers(name):
    one = POSTERIORS[name]
    size = len(one.names)
    for answer in (one.mean(), one.sd(), one.variance()):
        assert answer.dims == ("parameter",)
        assert tuple(answer.parameter.values) == one.names
    ends = one.interval(0.8)
    assert (ends.dims, ends.shape, list(ends.bound.values)) == (
        ("parameter", "bound"),
        (size, 2),
        ["lower", "upper"],
    )
    assert (ends.sel(bound="lower").values < ends.sel(bound="upper").values).all()
    assert one.sd().values == pytest.approx(np.sqrt(one.flat_variance()))
    drawn = one.sample(4000, dc.SeededSource(3))
    assert (drawn.dims, drawn.shape) == (("draw", "parameter"), (4000, size))
    assert (one.sample(3, dc.SeededSource(3)).values == one.sample(3, dc.SeededSource(3)).values).all()
    # 4000 draws, at most 12 numbers each: six standard errors leave chance below 1e-6 over all kinds
    assert (np.abs(drawn.mean("draw") - one.mean()) <= 6 * one.sd() / 4000**0.5 + 1e-12).all()
    inside = ((drawn >= ends.sel(bound="lower")) & (drawn <= ends.sel(bound="upper"))).mean("draw").values
    assert inside == pytest.approx(0.8, abs=0.05)
    assert np.abs(inside - 0.9).min() > 0.02  # a control: not of another level


@pytest.mark.parametrize("name", WHOLE)
def test_a_summary_has_a_row_per_parameter(name):
    one = POSTERIORS[name]
    said = one.summary(0.8)
    assert list(said.columns) == ["name", "mean", "sd", "lower", "upper", "r_hat", "ess"]
    assert tuple(said["name"]) == one.names
    assert said[["lower", "upper"]].to_numpy() == pytest.approx(one.flat_interval(0.8))
    ran = one.chains() is not None
    assert np.isfinite(said[["r_hat", "ess"]].to_numpy()).all() == ran
    assert np.isnan(said[["r_hat", "ess"]].to_numpy()).all() != ran


@pytest.mark.parametrize("name", DRAWN)
def test_released_draws_show_themselves_and_refuse_the_rest(name):
    one = POSTERIORS[name]
    said = one.summary()
    assert list(said.columns) == ["name", "mean", *(f"draw {i + 1}" for i in range(one.size))]
    assert (one.sample().values == one.held).all()
    assert (one.sample(1).values == one.held[:1]).all()
    assert one.mean().values == pytest.approx(one.held.mean(axis=0))
    for ask in (one.variance, one.sd, one.interval, lambda: one.sample(one.size + 1)):
        with pytest.raises(OnlyDraws, match="mechanism="):
            ask()


@pytest.mark.parametrize(
    "name", [name for name, one in POSTERIORS.items() if isinstance(one, TablePosterior)]
)
def test_tables_give_the_same_numbers_their_axes(name):
    one = POSTERIORS[name]
    means = one.tables()
    assert np.concatenate([table.values.ravel() for table in means.values()]) == pytest.approx(
        one.flat_mean()
    )
    ward = one.tables(one.sample(1))["ward"]
    assert ward.dims[0] == "draw"
    assert list(ward.coords["ward"].values) == ["<b>A</b>", "B", "C"]
    assert means["ward"].equals(one.table("ward"))
    if name not in DRAWN:
        assert one.tables(one.interval(0.9))["ward"].dims[-1] == "bound"


# ── the numbers are those of the laws ───────────────────────────────────────────────────────────────


def test_closed_forms():
    naive = POSTERIORS["conjugate"]
    law = beta(float(naive.law.alpha), float(naive.law.beta))
    assert naive.interval(0.9).values[0] == pytest.approx(law.interval(0.9), rel=1e-9)
    assert naive.mean().item() == pytest.approx(law.mean())
    assert isinstance(naive, ConjugatePosterior)
    weights = POSTERIORS["weights"]
    assert weights.interval(0.9).sel(parameter="dose").values == pytest.approx(norm(2, 2).interval(0.9))
    cell = POSTERIORS["network"].interval(0.9).sel(parameter="ill = yes | ward = C").values
    assert cell == pytest.approx(beta(1 + 8, 1 + 7).interval(0.9))
    table = POSTERIORS["naive Bayes"].table("ward").sel(ill="yes").values
    assert table == pytest.approx(np.array([9, 10, 11]) / 30)


@pytest.mark.parametrize("name", ["sampled", "network together", "private chain", "mixture"])
def test_chains_are_read_as_their_draws(name):
    one = POSTERIORS[name]
    flat = one.chains().reshape(-1, len(one.names))
    assert one.mean().values == pytest.approx(flat.mean(axis=0), rel=1e-5)
    assert pytest.approx(np.quantile(flat, [0.25, 0.75], axis=0), rel=1e-5) == one.interval(0.5).values.T


def test_several_answers_are_not_averaged():
    apart = mixture(gap=100.0)
    assert isinstance(apart, Answers)
    assert not apart.agreed
    assert apart.mean().equals(apart.best.mean())
    assert apart.table("ward").values[0, 0] > 0.7  # an average over all chains would have 0.64
    assert any("2 different answers" in words for words in apart.cautions)


# ── cautions ────────────────────────────────────────────────────────────────────────────────────────


def test_cautions_tell_chains_that_have_not_met_and_noise_left_out():
    assert any("have not converged" in words for words in POSTERIORS["sampled"].cautions)
    assert POSTERIORS["conjugate"].cautions == (NAIVE,)
    assert POSTERIORS["grid"].cautions == POSTERIORS["weights"].cautions == ()
    assert any("T = 3" in words for words in POSTERIORS["private chain"].cautions)


def test_names_stay_apart_and_control_characters_are_not_obeyed():
    assert unique(["a", "a (2)", "a", "a"]) == ("a", "a (2)", "a (3)", "a (4)")
    odd = CASES["counts"][0]().labelled(
        Labels(
            ("w",),
            {"columns": {"w": {"kind": "categories", "levels": ["\x1b[31m", "x", "y"], "unknown": "x"}}},
        )
    )
    assert odd.names[0] == "\x1b[31m"
    assert "\x1b" not in repr(odd)


def test_very_many_parameters_stay_on_one_screen():
    wide = dc.BayesianNetwork([("a", "b")]).bind({"a": 60, "b": 60})
    text = repr(exact_network(np.ones(wide.size), wide))
    assert len(text.splitlines()) <= 40
    assert "more parameters" in text


# ── through a release ───────────────────────────────────────────────────────────────────────────────


def hidden_markov_release():
    model = dc.HiddenMarkov(states=2, chain="r", step="t", features=("ward",))
    model = model.bind({"r": 1, "t": 4, "ward": 3})
    cells = NoisyCells(model, np.arange(12.0), 66, "discrete_laplace", (1,), dc.PureDP(1), seeded=True)
    facts = dict.fromkeys(("unit", "selection", "schema_hash"), "")
    return dc.Release(
        value=cells, model=model, mechanism="noisy_counts", parameters=(), theorem="", guarantee=dc.PureDP(1),
        target=dc.PureDP(1), n=66, rows_per_unit=1, columns=("r", "t", "ward"), version="", created="",
        schema_text='{"columns": {"ward": {"kind": "categories", "levels": ["A", "B"]}}}',
        receipt=SimpleNamespace(id="x"), seeded=True, **facts,
    )  # fmt: skip


def test_a_release_of_hidden_states_answers_as_every_other():
    release = hidden_markov_release()
    assert release.posterior.names[0] == "ward = A | state 1"
    assert release.posterior.interval(0.9).shape == (12, 2)
    assert release.posterior.sample(5).shape == (5, 12)
    assert release.public_draws(3).equals(release.public_draws(3))
    made = release.to_inference_data(draws=20)
    assert made.posterior["ward"].shape == (4, 20, 2, 3)
    assert release.read(reading="naive").cautions[-1] == NAIVE
