"""The law of a noisy count with the count summed out; and calibration of what is concluded from it."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import poisson

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import CountEmissions, StateChain
from discreet.posteriors.hidden_markov.noisy_count_law import log_f, noise_table
from discreet.posteriors.hidden_markov.noisy_counts import SIZE_SHAPE, NoisyData, NoisyEmissions, noisy_data
from discreet.posteriors.noise_law import NoiseLaw
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import PureDP


def summed(law, y, mu):
    x = np.arange(int(mu + 40 * np.sqrt(mu) + max(y, 0) + 60))
    noise = law.log_density(y - x) if law.discrete else law.log_between(y - x - 0.5, y - x + 0.5)
    return logsumexp(poisson.logpmf(x, mu) + noise)


@pytest.mark.parametrize("kind", ["discrete_laplace", "discrete_gaussian", "laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.7, 3.0, 100.0])
def test_table_agrees_with_the_sum_over_all_counts(kind, scale):
    law, rng = NoiseLaw(kind, scale), np.random.default_rng(3)
    ys = np.unique(
        np.concatenate([np.arange(-5, 6), rng.integers(-int(5 * scale), int(200 + 5 * scale), 30)])
    )
    table = noise_table(law, ys)
    rows = rng.integers(0, len(ys), 150).astype(np.int32)
    u = np.sqrt(np.maximum(ys[rows] + scale * rng.normal(size=150), 0)) + np.abs(rng.normal(size=150))
    got = np.zeros(150)
    log_f(rows, u, table.pieces, table.base, table.first, table.length, table.ends, got)
    wanted = np.array([summed(law, ys[r], x * x) for r, x in zip(rows, u, strict=True)])
    assert np.abs(got - wanted).max() < 2e-3
    assert np.median(np.abs(got - wanted)) < 1e-4


def test_beyond_the_table_the_law_only_falls():
    law, out = NoiseLaw("discrete_laplace", 2.0), np.zeros(50)
    table = noise_table(law, np.array([40]))
    u = np.linspace(12, 200, 50)
    log_f(
        np.zeros(50, dtype=np.int32), u, table.pieces, table.base, table.first, table.length, table.ends, out
    )
    assert (np.diff(out) < 0).all()
    assert np.isfinite(out).all()


# --- simulation-based calibration [Talts et al. 2018] ------------
MODEL = HiddenMarkov(
    states=2, chain="r", step="t", features=("a", "b"), transition=1, emission=1, sizes=(3, 4, 3, 2)
)
LAW, MEAN, CELLS, SETS, BINS = NoiseLaw("discrete_laplace", 3.0), 20.0, 12, 150, 10


SIZE_PRIOR = (3.0, 40.0)  # of 1/mean, where n is private


def simulated(rng, *, shared, mean=MEAN):
    """θ of the cells, and noisy counts; `shared`: the features of a cell count the same records, as real"""
    rows = rng.dirichlet(np.ones(2), 3)
    z = np.zeros(CELLS, dtype=np.int64)
    for c in range(CELLS):
        z[c] = rng.random() < rows[2 if c % 4 == 0 else z[c - 1], 1]
    theta = np.concatenate([rng.dirichlet(np.ones(k), 2) for k in (3, 2)], axis=1)
    rate = rng.gamma(SIZE_SHAPE, mean / SIZE_SHAPE, CELLS)
    if shared:
        records = rng.poisson(rate)
        parts = [rng.multinomial(records, part[z]) for part in np.split(theta, [3], axis=1)]
        counts = np.concatenate(parts, axis=1)
    else:
        counts = rng.poisson(rate[:, None] * theta[z])
    q = np.exp(-1 / LAW.scale)
    noise = rng.geometric(1 - q, counts.shape) - rng.geometric(1 - q, counts.shape)
    return theta[z], (counts + noise).astype(float)


def noise_aware(noisy):
    return NoisyEmissions.of(MODEL, NoisyData.of(MODEL, noisy, [LAW, LAW], MEAN))


def with_private_size(noisy, prior=SIZE_PRIOR):
    return NoisyEmissions.of(MODEL, NoisyData.of(MODEL, noisy, [LAW, LAW], MEAN, prior=prior))


def naive(noisy):
    return CountEmissions.of(MODEL, np.maximum(noisy, 0))


def ranks(read, *, shared, private=False, sets=SETS):
    """Rank of the truth among 19 draws: θ_{z_c,j} of cell 0 value 0 and of cell 5 value 3; and the mean"""
    rng, found = np.random.default_rng(21), []
    for _ in range(sets):
        mean = SIZE_PRIOR[1] / rng.gamma(SIZE_PRIOR[0]) if private else MEAN
        truth, noisy = simulated(rng, shared=shared, mean=mean)
        chain = StateChain.start(read(noisy), "ffbs", rng, rng.integers(0, 2, CELLS))
        draws = []
        for sweep in range(60 + 19 * 10):
            if sweep == 60:
                chain.emissions.settle()
            chain.sweep()
            if sweep >= 60 and sweep % 10 == 0:
                of_cell = np.exp(chain.emissions.log_theta)[chain.z]
                size = chain.emissions.mean[:1] if read is not naive else [MEAN]
                draws.append([of_cell[0, 0], of_cell[5, 3], *size])
        found.append((np.array(draws) < [truth[0, 0], truth[5, 3], mean]).sum(axis=0))
    return np.array(found)[:, : 3 if private else 2]


def chi_square(rank):
    seen = np.bincount(rank // 2, minlength=BINS)
    return float(((seen - len(rank) / BINS) ** 2 / (len(rank) / BINS)).sum())


LIMIT = 33.7  # the 1 − 1e-4 quantile of χ²₉


@pytest.mark.parametrize("shared", [False, True])
def test_noise_aware_ranks_are_uniform(shared):
    # the second case is not the model's own law but the world's: a cell's features count the same records
    found = ranks(noise_aware, shared=shared)
    assert max(chi_square(found[:, i]) for i in (0, 1)) < LIMIT
    inside = ((found >= 1) & (found <= 18)).mean()  # the 90 % interval of 19 draws
    assert 0.84 < inside < 0.95  # 300 indicators of mean .9: ±3 standard errors


def test_ranks_are_uniform_with_n_private_and_not_for_other_beliefs_about_it():
    """Three χ²₉ below the 1 − 1e-4 quantile; a twin that expects a mean of 5, not 20; and the naive one"""
    found = ranks(with_private_size, shared=False, private=True, sets=100)
    assert max(chi_square(found[:, i]) for i in (0, 1, 2)) < LIMIT
    small = ranks(lambda noisy: with_private_size(noisy, (30.0, 150.0)), shared=False, private=True, sets=40)
    assert chi_square(small[:, 2]) > 2 * LIMIT
    clipped = ranks(naive, shared=False, private=True, sets=100)
    assert max(chi_square(clipped[:, i]) for i in (0, 1)) > 2 * LIMIT


def test_with_n_private_the_mean_has_a_flat_prior_and_needs_three_cells():
    model = HiddenMarkov(states=2, chain="r", step="t", features=("a", "b"), sizes=(1, 2, 3, 2))
    with pytest.raises(ValueError, match="at least 3 cells"):
        noisy_data(model, released(model, np.full((2, 5), 4.0)))
    # 1/m · ½Σλ ~ Gamma(C/2 − 1), and 1200 records a cell tell Σλ: mean 2, error .07; flat in ln m it were 3
    six = HiddenMarkov(states=1, chain="r", step="t", features=("a", "b"), sizes=(2, 3, 3, 2))
    data = noisy_data(six, released(six, np.tile([400.0, 400.0, 400.0, 600.0, 600.0], (6, 1))))
    chain = StateChain.start(
        NoisyEmissions.of(six, data), "ffbs", np.random.default_rng(0), np.zeros(6, dtype=int)
    )
    inverse = []
    for _ in range(500):
        chain.sweep()
        inverse.append(1 / chain.emissions.mean[0])
    assert np.mean(inverse[100:]) * 3600 == pytest.approx(2, abs=0.4)


def released(model, by_cell):
    """Counts as if released with n private"""
    return NoisyCells(
        model=model,
        noisy=model.flat(by_cell),
        n=None,
        noise="discrete_laplace",
        scales=(3.0, 3.0),
        guarantee=PureDP(1.0, relation=ADD_REMOVE),
        seeded=True,
    )


def test_naive_ranks_are_not():
    found = ranks(naive, shared=True)
    assert max(chi_square(found[:, i]) for i in (0, 1)) > 2 * LIMIT
    assert ((found >= 1) & (found <= 18)).mean() < 0.84
