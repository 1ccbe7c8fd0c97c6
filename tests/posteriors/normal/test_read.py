"""The reading as users meet it: shapes, determinism, what is refused, what is not."""

import numpy as np
import pytest

from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.latent_model import Observed
from discreet.posteriors.normal.linear_regression import Design
from discreet.sampling.source import SeededSource
from discreet.shown import steps

QUICK = ChainLengths(chains=2, draws=100, thin=16, burn=1000)


@pytest.fixture
def release(model, simulate, release_of):
    rng = np.random.default_rng(31)
    return release_of(model, simulate(model, 50, rng)[1], rng, 4.0)


def read(release, **options):
    return release.read(reading="noise_aware", **{"plan": QUICK, **options})


def test_shapes_are_those_of_the_family_and_the_reading_has_a_name(model, release):
    posterior, naive = read(release), release.read(reading="naive")
    assert posterior.reading == "noise_aware"
    assert np.shape(posterior.mean()) == np.shape(naive.mean())
    assert np.shape(posterior.variance()) == np.shape(naive.variance())
    assert posterior.interval(0.9).shape == (np.size(naive.mean()), 2)
    assert posterior.sample(7, SeededSource(1)).shape == naive.sample(7, SeededSource(1)).shape
    d = 1 if model.name.endswith("gamma") else 3 if model.name.endswith("regression") else 2
    x = np.linspace(-1, 1, 5 * d).reshape(5, d)
    x = x[:, 0] if d == 1 else x
    assert posterior.log_predictive(x).shape == naive.log_predictive(x).shape
    assert np.shape(posterior.log_predictive(x[0])) == np.shape(naive.log_predictive(x[0]))
    assert posterior.diagnostics.chains == 2
    assert posterior.diagnostics.r_hat < 1.5
    assert posterior.diagnostics.ess > 10


def test_one_release_is_read_alike_every_time_and_differently_with_other_bits(release):
    first, again, other = read(release), read(release), read(release, source=SeededSource(5))
    assert np.array_equal(first.draws, again.draws)
    assert not np.array_equal(first.draws, other.draws)


def test_the_limit_law_is_left_to_many_records_or_wide_noise(model, simulate, release_of):
    rng = np.random.default_rng(36)
    for n, scale, few in ((150, 4.0, True), (250, 4.0, False), (250, 0.1, True), (1100, 0.1, False)):
        observed = Observed.of(release_of(model, simulate(model, n, rng)[1], rng, scale), model)
        assert observed.few is few


def test_the_predictive_is_a_density(models, simulate, release_of):
    rng = np.random.default_rng(32)
    model = models["gamma"]
    x = np.linspace(-60, 60, 1001)
    for n, plan in ((50, QUICK), (300, None)):
        posterior = read(release_of(model, simulate(model, n, rng)[1], rng, 4.0), plan=plan)
        assert np.trapezoid(np.exp(posterior.log_predictive(x)), x) == pytest.approx(1, abs=1e-3)


def test_impossible_moments_are_data_like_any_other(model, release_of):
    """Second moments below 0, an indefinite matrix, n̂ below 0: no error, nothing projected."""
    rng = np.random.default_rng(33)
    rows = rng.normal(0, 0.3, (60, 3 if model.name.endswith("regression") else 2))
    rows = rows[:, 0] if model.name.endswith("gamma") else rows
    for private in (False, True):
        release = release_of(model, rows, rng, 500.0, private=private)
        noisy = -abs(np.array(release.noisy)) * np.where(np.arange(len(release.noisy)) % 2, 1, 2)
        posterior = read(type(release)(**{**vars(release), "noisy": tuple(noisy.tolist())}))
        assert np.all(np.isfinite(posterior.mean()))
        assert (posterior.size is None) is not private
        assert not private or (posterior.size >= 0).all()
        low, high = model.interval(0.9999).T  # 60 records under noise of 500: the prior is what is left
        assert np.all((low <= posterior.interval(0.5).T) & (high >= posterior.interval(0.5).T))


def test_records_far_outside_the_bounds_widen_the_posterior(models, release_of):
    """All records at the upper bound: the naive reading is sure of a mean just there, the model is not."""
    model, rng = models["gamma"], np.random.default_rng(34)
    release = release_of(model, rng.normal(30, 0.1, 1000), rng, 4.0)
    naive, aware = release.read(reading="naive"), read(release, clips=True)
    assert naive.interval(0.99)[0, 1] < 2.05
    assert aware.interval(0.5)[0, 0] > 2.0


def test_a_design_with_an_intercept(models, release_of):
    rng = np.random.default_rng(35)
    x = rng.normal(0.4, 0.6, 4000)
    y = 0.7 - 0.5 * x + rng.normal(0, 0.4, x.size)
    release = release_of(models["regression"], np.column_stack([np.ones_like(x), x, y]), rng, 1.0)
    posterior = read(
        release, design=Design(intercept=True), plan=ChainLengths(chains=2, draws=200, thin=15, burn=3000)
    )
    low, high = posterior.interval(0.9999).T
    assert np.all((low < [0.7, -0.5, 0.16]) & (high > [0.7, -0.5, 0.16]))
    assert np.all(high - low < 1.0)


@pytest.mark.parametrize("options", [{"chains": 0}, {"draws": 3}, {"thin": 0}, {"burn": float("nan")}])
def test_a_plan_of_nothing_is_refused(options):
    with pytest.raises(ValueError, match="at least"):
        ChainLengths(**options)


def test_unknown_laws_and_designs_are_refused(model, release):
    with pytest.raises(ValueError, match="records"):
        read(release, law="nonsense")
    with pytest.raises(ValueError, match="public"):
        Design(spread=float("nan"))


def test_a_chain_can_be_stopped_between_pieces():
    def pieces():
        yield np.zeros(1)
        raise KeyboardInterrupt

    seen = steps(pieces(), "work", 2)
    next(seen)
    with pytest.raises(KeyboardInterrupt):
        next(seen)
