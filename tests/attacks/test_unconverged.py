"""Sampled readings that were confident and wrong: vague priors, sharp fits, constant columns, far means.

A reading must come near an independent oracle or carry a caution. Oracles: the conjugate posterior where
noise is all but absent; elsewhere importance sampling, of parameters from the prior and of the moments of n
rows, weighed by the noise, or of moments from the noise, weighed by their law.
"""

import dataclasses
import warnings

import numpy as np
import pytest

from discreet.cli.printed.release import cautions as told
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.models.mixture import Mixture
from discreet.posteriors.mixture import read as mixture
from discreet.posteriors.mixture.posterior import MixturePosterior
from discreet.posteriors.noise_law import cautions, judged, misfit
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.linear_regression import Design
from discreet.posteriors.posterior import Diagnostics
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource


def released(model, rows, scale, *, noise="laplace", private=False, seed=0):
    """Noise of `scale` times the square of the radius, drawn by NumPy."""
    rng, n, unit = np.random.default_rng(seed), len(rows), scale * model.count_unit
    exact = model.joint(model.statistic(rows), n) if private else model.statistic(rows)
    draw = rng.laplace if noise == "laplace" else rng.normal
    noisy = tuple((exact + np.rint(draw(0, unit, exact.size))).tolist())
    return NoisyStatistic(model, noisy, None if private else n, private, noise, unit, PureDP(1), seeded=True)


def distances(posterior, exact):
    """Of medians in exact deviations, and of widths as a ratio."""
    ends, spread = posterior.flat_interval(0.9), np.sqrt(np.ravel(exact.variance()))
    draws = posterior.draws.reshape(-1, len(ends))
    off = abs(np.median(draws, axis=0) - np.ravel(exact.mean())) / spread
    return off, (ends[:, 1] - ends[:, 0]) / 3.29 / spread


def line(slope=0.4, deviation=0.1, n=1000):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, n)
    return np.column_stack([np.full(n, 0.5), x, 0.1 + slope * x + rng.normal(0, deviation, n)])


# ── little noise: the conjugate posterior is the oracle; 4000 draws err by 0.03 deviations ──
LITTLE = 1e-6
VAGUE = {"shape": 0.001, "scale": 0.001}
NEAR = {
    "vague": ({"precision": 1e-6, **VAGUE}, line()),
    "fairly vague": ({"precision": 0.01, "shape": 0.1, "scale": 0.01}, line()),
    "R² = 0.99998": ({"precision": 1e-5, "shape": 2, "scale": 1e-5}, line(0.7, 0.0018)),
}


@pytest.mark.parametrize("law", [None, "moments", "normal"])
@pytest.mark.parametrize("name", NEAR)
def test_vague_priors_and_sharp_fits_are_read_as_they_are(name, law):
    asked, rows = NEAR[name]
    precision = (asked["precision"] * np.eye(2)).tolist()
    model = BayesianLinearRegression([0, 0], precision, asked["shape"], asked["scale"], radius=1.6)
    release = released(model, rows, LITTLE)
    off, ratio = distances(release.read(law=law), model.update(model.statistic(rows), len(rows)))
    assert (off < 0.15).all()
    assert ratio == pytest.approx(1, abs=0.1)
    other = model.update(model.statistic(rows[:500]), 500)  # a control: half the rows are told apart
    assert (distances(release.read(law=law), other)[1] < 0.9).all()


def kids(n=434):
    """Scores of children on whether their mother finished school (0 or 1) and her IQ, made up."""
    rng = np.random.default_rng(8)
    school, iq = (rng.random(n) < 0.786).astype(float), rng.normal(0, 0.3, n)
    return np.column_stack([np.ones(n), school, iq, 0.03 + 0.08 * school + 0.4 * iq + rng.normal(0, 0.26, n)])


@pytest.mark.parametrize("declared", [False, True])
def test_a_column_of_zeros_and_ones_and_a_constant_are_no_matter(declared):
    model, rows = BayesianLinearRegression([0] * 3, np.eye(3).tolist(), 2, 0.1, radius=2.5), kids()
    found = released(model, rows, LITTLE).read(design=Design(intercept=declared))
    off, ratio = distances(found, model.update(model.statistic(rows), len(rows)))
    assert (off < 0.15).all()
    assert ratio == pytest.approx(1, abs=0.1)
    assert not any("have not converged" in words or "deviations" in words for words in found.cautions)


def test_columns_of_very_different_sizes_are_read_by_another_law_where_chains_do_not_meet(monkeypatch):
    """IQ and score as they are, beside a 1: before, 4.4 deviations off at R-hat 1.7, and nothing said."""
    monkeypatch.setattr("discreet.posteriors.normal.moments.ROUNDS", 1)  # more would not do either
    rows = kids() * [1, 1, 50, 70] + [0, 0, 100, 80]
    model = BayesianLinearRegression([0] * 3, (0.01 * np.eye(3)).tolist(), 2, 300, radius=220)
    release = released(model, rows, 1e-6)
    assert any("have not converged" in words for words in release.read(law="moments").cautions)
    found = release.posterior
    off, ratio = distances(found, model.update(model.statistic(rows), len(rows)))
    assert (off < 0.15).all()
    assert ratio == pytest.approx(1, abs=0.1)
    assert not any("have not converged" in words for words in found.cautions)


@pytest.mark.parametrize("n", [50, 1000])
def test_a_constant_column_of_normal_rows_is_read_right_or_with_a_caution(n):
    rows = np.column_stack([np.ones(n), np.random.default_rng(1).normal(1, 1, n)])
    model = NormalInverseWishart([0, 0], 1, degrees=4, scale=np.eye(2).tolist(), radius=7)
    found = released(model, rows, 1e-5).posterior
    off, _ = distances(found, model.update(model.statistic(rows), n))
    assert (off < 0.15).all() or any("deviations from what" in words for words in found.cautions)


def test_vague_normal_families_are_read_without_a_warning():
    rng = np.random.default_rng(2)
    x, z = rng.normal(1, 0.7, 300), rng.normal(0.5, 0.5, (300, 2))
    gamma = NormalInverseGamma(0, 0.001, **VAGUE, lower=-6, upper=8)
    wishart = NormalInverseWishart([0, 0], 0.001, 1.01, (0.001 * np.eye(2)).tolist(), radius=6)
    for model, rows in ((gamma, x), (wishart, z)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = released(model, rows, LITTLE).posterior
        off, ratio = distances(found, model.update(model.statistic(rows), 300))
        assert (off < 0.15).all()
        assert ratio == pytest.approx(1, abs=0.1)
        assert found.cautions == ()


@pytest.mark.parametrize("law", [None, "limit"])
def test_a_prior_a_million_away_says_that_it_does_not_fit(law):
    """Before: ZeroDivisionError, or σ² of 0 at R-hat 1.00 and nothing said."""
    x = np.random.default_rng(3).normal(1, 1, 300)
    short = ChainLengths(chains=2, draws=50, thin=5, burn=500)
    model = NormalInverseGamma(10**6, 1, shape=2, scale=1, lower=-5, upper=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = released(model, x, 0.01).read(law=law, plan=short)
    assert any("deviations from what" in words for words in found.cautions)


# ── any noise: oracles by importance sampling, on the distance of distributions ──
SIZE = 300_000
CLOSE = 0.09  # in |F − G| at 9 quantiles: 3.8 deviations, if draws and oracle are worth 1000 each
SEEDS = (0, 1, 2, 4, 5, 9, 10, 11, 12, 16, 19, 27, 35, 47)  # where an oracle is worth 1000; n private at 4k+3


def chosen(theta, log_weight, rng):
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    return theta[rng.choice(len(weight), 4000, p=weight)], 1 / np.sum(weight**2)


def log_noise(gap, release):
    scaled = abs(gap) / release.scale
    return -np.sum(scaled if release.noise == "laplace" else scaled**2 / 2, axis=1)


def from_noise(release, rng):
    """Moments from the noise, weighed by their law; (w, σ²) given them, for one weight and x ~ N(0, v)."""
    family, n = release.model, release.n
    (m,), ((P,),), a, b = family._parameters
    unit, draw = float(family.grid) ** 2, rng.laplace if release.noise == "laplace" else rng.normal
    G, mixed, square = (np.array(release.noisy) - draw(0, release.scale, (SIZE, 3))).T * unit
    rest = np.where(G > 0, square - mixed**2 / np.where(G > 0, G, 1), -1)
    G, mixed, rest = G[rest > 0], mixed[rest > 0], rest[rest > 0]
    scale = b + 0.5 * (rest + (mixed / G - m) ** 2 / (1 / G + 1 / P))
    wide = 2 * float(family.radius) ** 2 / 8
    log = (n - 2) / 2 * np.log(G) - (4 + n) / 2 * np.log(wide + G) - 0.5 * np.log(G * (P + G))
    log += ((n - 1) / 2 - 1) * np.log(rest) - (a + n / 2) * np.log(scale)
    variance = scale / rng.gamma(a + n / 2, size=G.size)
    w = (P * m + mixed) / (P + G) + np.sqrt(variance / (P + G)) * rng.standard_normal(G.size)
    return chosen(np.column_stack([w, variance]), log, rng)


def from_prior(release, rng):
    """(w, σ²), the variance of x and the moments of n rows from their laws, weighed by the noise."""
    family, n, unit = release.model, release.n, float(release.model.grid) ** 2
    (m,), ((P,),), a, b = family._parameters
    if n is None:  # flat
        n = rng.integers(2, 400, SIZE)
    variance = b / rng.gamma(a, size=SIZE)
    w = m + np.sqrt(variance / P) * rng.standard_normal(SIZE)
    G = 2 * float(family.radius) ** 2 / 8 / rng.chisquare(4, SIZE) * rng.chisquare(n, SIZE)
    mixed = G * w + np.sqrt(variance * G) * rng.standard_normal(SIZE)
    square = mixed**2 / G + variance * rng.chisquare(n - 1, SIZE)
    seen = np.stack([G, mixed, square] + ([n * float(family.radius) ** 2] if release.joint else []), axis=1)
    return chosen(
        np.column_stack([w, variance]), log_noise(np.array(release.noisy) - seen / unit, release), rng
    )


def apart(draws, oracle):
    places = np.quantile(oracle, np.linspace(0.1, 0.9, 9), axis=0)
    return max(
        abs((draws[:, j] <= p).mean() - (oracle[:, j] <= p).mean())
        for j in range(oracle.shape[1])
        for p in places[:, j]
    )


def settings(seed):
    """A world drawn at random: a prior, rows, a noise."""
    rng = np.random.default_rng(seed)
    a, b, P = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-3, 1)
    model = BayesianLinearRegression([float(rng.normal())], [[P]], a, b, radius=20)
    n, private = int(10 ** rng.uniform(0.6, 3)), bool(seed % 4 == 3)
    n = min(n, 150) if private else n
    deviation, w = 10 ** rng.uniform(-1.5, 0), rng.normal()
    x = rng.normal(0, 1, n)
    rows = np.column_stack([x, w * x + rng.normal(0, deviation, n)])
    scale = 10 ** rng.uniform(-1, 1) if private else 10 ** rng.uniform(-6, -1) * n**0.5
    noise = "laplace" if rng.random() < 0.5 else "gaussian"
    return released(model, rows, scale, noise=noise, private=private, seed=seed)


def oracle_of(release, seed):
    rng = np.random.default_rng(seed)
    oracles = [from_prior(release, rng)] + ([] if release.joint else [from_noise(release, rng)])
    oracle, worth = max(oracles, key=lambda found: found[1])
    assert worth > 1000
    return oracle


@pytest.mark.parametrize("seed", SEEDS)
def test_a_regression_drawn_at_random_is_near_its_oracle(seed):
    """18 looks a seed; of 80 seeds below 120 that have an oracle none was farther than 0.05."""
    release = settings(seed)
    oracle = oracle_of(release, seed)
    found = release.posterior
    assert apart(found.draws.reshape(-1, 2), oracle) < CLOSE or any("deviations" in w for w in found.cautions)


def test_the_oracle_tells_noise_that_is_ten_times_as_wide():
    far = 0
    for seed in SEEDS[:8]:
        release = settings(seed)
        wider = dataclasses.replace(release, scale=10 * release.scale)
        found = wider.read(plan=ChainLengths(chains=2, thin=6, burn=6000))
        far += apart(found.draws.reshape(-1, 2), oracle_of(release, seed)) > CLOSE
    assert far >= 3  # the others are decided by their rows or by the prior


# ── what is said, and where ──
def test_checks_see_what_they_are_for():
    rng = np.random.default_rng(5)
    good = rng.standard_normal((4, 500, 2))
    assert judged(good)[0] < 1.02
    assert judged(good + np.arange(4)[:, None, None])[0] > 1.5
    assert judged(np.where(good > 3, np.inf, good)) == (np.inf, 0.0)
    assert abs(misfit(rng.laplace(0, 1, (4000, 6)), 1.0)) < 0.2
    assert abs(misfit(rng.normal(0, 1, (4000, 6)), 2.0)) < 0.2
    assert misfit(rng.normal(4, 1, (4000, 6)), 2.0) > 6
    fine = Diagnostics("chains", 4, 500, 1.003, 900.0)
    assert cautions(fine) == ()
    assert cautions(Diagnostics("quadrature")) == ()
    assert "R-hat 1.83" in cautions(dataclasses.replace(fine, r_hat=1.83))[0]
    assert "too short" in cautions(dataclasses.replace(fine, r_hat=np.nan))[0]
    assert "only 12 independent" in cautions(dataclasses.replace(fine, ess=12.0))[0]
    assert "70 deviations" in cautions(fine, apart=70.0)[0]
    assert "wrong by several of its deviations" in cautions(fine, apart=70.0)[1]
    assert len(cautions(Diagnostics("quadrature"), apart=70.0)) == 1
    assert "range of doubles" in cautions(fine, finite=False)[0]
    assert cautions(fine, more=(None, "rows were clipped")) == ("rows were clipped",)


@pytest.mark.parametrize("sizes", [(2, 3), (17, 17)], ids=["every cell is watched", "codes are"])
def test_a_mixture_s_chains_that_differ_in_cells_alone_have_not_met(sizes):
    """Weights, log joint and n agree; before, that was all that was watched."""
    rng, shape = np.random.default_rng(3), (4, 300)
    model = Mixture(1, ("a", "b")).bind(dict(zip("ab", sizes, strict=True)))
    same = np.concatenate([rng.dirichlet(np.full(size, 9.0), shape) for size in sizes], axis=-1)

    def judged_r_hat(theta):
        facts = {"log_joint": rng.standard_normal(shape), "records": np.full(shape, 50)}
        weights = np.ones((*shape, 1))
        return MixturePosterior.of(
            model=model, reading="exact", weights=weights, theta=theta[:, :, None], **facts
        ).diagnostics.r_hat

    assert judged_r_hat(same) < 1.05
    parts = np.split(same, [sizes[0]], axis=-1)
    moved = np.concatenate([np.sort(part, axis=-1) for part in parts], axis=-1)  # towards the last codes
    assert judged_r_hat(np.concatenate([moved[:2], same[2:]])) > 1.05


@pytest.mark.parametrize(("sweeps", "runs"), [(None, 3), (40, 1)])
def test_a_mixture_s_chains_that_have_not_met_are_run_again_for_longer(sweeps, runs, monkeypatch):
    """Short chains of a release of three classes; of a length that the caller gives, they are run once."""
    lengths = []
    true = mixture._chains

    def counted(evidence, seeds, total, keep):
        lengths.append(total)
        return true(evidence, seeds, total, keep)

    monkeypatch.setattr(mixture, "_chains", counted)
    monkeypatch.setattr(mixture, "FEWEST", 40)
    monkeypatch.setattr(mixture, "MOST", 40)
    counts = np.random.default_rng(4).multinomial(3000, np.full(8, 1 / 8))
    model = Mixture(3, ("a", "b", "c")).bind(dict.fromkeys("abc", 2))
    mixture.exact(counts, model, source=SeededSource(1), sweeps=sweeps, keep=40)
    assert lengths == [40 << k for k in range(runs)]


@pytest.mark.parametrize("law", ["moments", "limit", "records"])
def test_chains_that_are_too_short_say_so_wherever_cautions_are_shown(law):
    model = NormalInverseWishart([0, 0], 1, degrees=4, scale=np.eye(2).tolist(), radius=6)
    rows = np.random.default_rng(6).normal(0.3, 0.5, (60, 2))
    hasty = ChainLengths(chains=3, draws=8, thin=1, burn=1)
    found = released(model, rows, 0.5).read(law=law, plan=hasty)
    assert any(
        "chains have not converged" in words or "independent ones" in words for words in found.cautions
    )
    assert found.cautions[0] in repr(found)

    class Release:
        posterior = found

        def certificate(self):
            return {"cautions": []}

    assert told(Release()) == list(found.cautions)
