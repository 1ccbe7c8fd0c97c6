"""Linear regression end to end: calibrated through Gaussian DP, read by errors in variables."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.inference.noise_aware_regression_normal import METHOD, Given, weights
from discreet.mechanisms.noisy_statistics import NoisyStatistics
from discreet.sampling.source import SeededSource


def family(d, **options):
    settings = {"shape": 4, "scale": 0.3, "radius": 2.5, **options}
    return dc.BayesianLinearRegression([0] * d, (0.5 * np.eye(d)).tolist(), **settings)


def world(rng, d, n):
    variance = 0.3 / rng.gamma(4)
    w = rng.normal(size=d) * np.sqrt(variance / 0.5)
    x = rng.uniform(-1, 1, size=(n, d - 1)) * np.linspace(0.4, 1, d - 1)
    x = np.column_stack([x, np.full(n, 0.5)])
    return np.column_stack([x, x @ w + rng.normal(size=n) * np.sqrt(variance)]), np.append(w, variance)


def test_through_the_table_it_is_calibrated_by_the_gaussian_profile(tmp_path):
    rng = np.random.default_rng(1)
    rows, truth = world(rng, 7, 3000)
    names = [f"x{i}" for i in range(7)] + ["y"]
    table = dc.Table.open(
        pa.table(dict(zip(names, rows.T, strict=True))), schema={name: dc.Bounded(-3, 3) for name in names}
    )
    ledger = dc.Ledger.open(str(tmp_path / "b.db"), budget=dc.ApproxDP(2, 1e-4))
    release = dc.privatise(
        table,
        family(7),
        target=dc.ApproxDP(1, 1e-5),
        ledger=ledger,
        noise="gaussian",
        source=SeededSource(3),
    )
    assert isinstance(release.guarantee, dc.GaussianDP)
    # 0.26805 is the analytic Gaussian mechanism's μ at (1, 1e-5); through zCDP it would be 0.24
    assert release.guarantee.mu == pytest.approx(0.26805, abs=1e-5)
    assert release.value.model == family(7)
    exact = family(7).statistic(rows)
    assert np.abs(np.array(release.value.noisy) - exact).max() < 6 * float(release.value.scale)
    posterior = release.posterior
    assert posterior.diagnostics.method == METHOD
    low, high = posterior.interval(0.999).T
    assert ((low < truth) & (truth < high)).all()


def test_without_noise_it_is_the_conjugate_posterior():
    rng = np.random.default_rng(2)
    rows, _ = world(rng, 7, 2000)
    model = family(7)
    release = NoisyStatistics(model, n=2000, noise="gaussian", scale=2.0**10).release(
        model.statistic(rows), SeededSource(1)
    )
    aware, exact = release.posterior(law="normal"), release.posterior(reading="naive")
    spread = np.sqrt(exact.variance())
    # 4000 draws: a mean errs by 0.016 deviations, a deviation by 1.1 %; five of these, and σ² on its grid
    assert (np.abs(aware.mean() - exact.mean()) < 0.1 * spread).all()
    assert np.sqrt(aware.variance()) == pytest.approx(spread, rel=0.08)


@pytest.mark.parametrize(("mixed", "square"), [(60.0, 200.0), (-90.0, 300.0), (10.0, 120.0)])
@pytest.mark.parametrize("noise", [4.0, 15.0])
def test_one_weight_given_its_variance_against_quadrature(mixed, square, noise):
    """p(w | ĉ, Ĝ) ∝ N(w; 0, σ²/P) ∫ N(ĉ; Gw, σ²G + τ²) N(Ĝ; G, τ²) dG over G > 0."""
    variance, model = 0.2, family(1)
    given = Given(np.array([[square]]), np.array([mixed]), 500.0, noise**2, 1.0, 1000.0)
    found = weights(model, given, float(np.log(variance)))
    w = np.linspace(-3, 3, 1501)[:, None]
    g = np.linspace(max(1e-3, square - 8 * noise), square + 8 * noise, 801)[None]
    spread = variance * g + noise**2
    log = -((mixed - g * w) ** 2) / (2 * spread) - 0.5 * np.log(spread)
    log = log - (square - g) ** 2 / (2 * noise**2) - 0.5 * w**2 / (2 * variance)
    mass = np.exp(log - log.max()).sum(axis=1)
    mass /= mass.sum()
    mean = (mass * w[:, 0]).sum()
    deviation = np.sqrt((mass * (w[:, 0] - mean) ** 2).sum())
    assert found.location[0] == pytest.approx(mean, abs=0.15 * deviation)
    assert np.sqrt(found.spread[0, 0]) == pytest.approx(deviation, rel=0.1)


def test_coverage_and_its_negative_control():
    """90 % intervals of 8 numbers in 8 worlds: if independent, below 75 % with probability 1e-3."""
    rng, model, hits = np.random.default_rng(5), family(7), {"noise_aware": [], "naive": []}
    made = NoisyStatistics.calibrate(model, n=2000, target=dc.ApproxDP(1, 1e-5), noise="gaussian")
    for seed in range(8):
        rows, truth = world(rng, 7, 2000)
        release = made.release(model.statistic(rows), SeededSource(seed))
        for reading in hits if seed < 3 else ["noise_aware"]:
            low, high = release.posterior(reading=reading).interval(0.9).T
            hits[reading].append(np.mean((low < truth) & (truth < high)))
    assert np.mean(hits["noise_aware"]) > 0.75
    assert np.mean(hits["naive"]) < 0.6


@pytest.mark.parametrize("n", [3, 400])
def test_only_noise_leaves_the_prior_and_nothing_blows_up(n):
    model = family(7)
    release = NoisyStatistics.calibrate(model, n=n, target=dc.ApproxDP(0.01, 1e-6), noise="gaussian").release(
        np.zeros(36, np.int64), SeededSource(n)
    )
    found, prior = release.posterior(law="normal"), model
    assert (np.abs(found.mean()[:-1]) < 3 * np.sqrt(prior.variance()[:-1])).all()
    assert np.isfinite(found.interval(0.9)).all()
    assert found.mean()[-1] < 10


def test_more_columns_than_rows_and_a_private_number_of_rows():
    rng = np.random.default_rng(8)
    rows, _ = world(rng, 12, 6)
    model = family(12)
    target = dc.ApproxDP(1, 1e-5, relation=dc.ADD_REMOVE)
    release = NoisyStatistics.calibrate(model, target=target, noise="gaussian").release(
        model.statistic(rows), SeededSource(2), count=6
    )
    found = release.posterior()
    assert found.diagnostics.method == METHOD
    assert found.size.shape == (1, 4000)
    assert np.isfinite(found.interval(0.9)).all()
