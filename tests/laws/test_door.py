"""At the door: public bounds, NaN to a public place, and errors that never show a value."""

import itertools

import numpy as np
import pytest

from discreet.families import (
    BayesianLinearRegression,
    BetaBernoulli,
    BetaBinomial,
    BetaGeometric,
    DirichletCategorical,
    DirichletMultinomial,
    GammaExponential,
    GammaPoisson,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalMean,
)
from discreet.families.registry import EXAMPLES
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE

NAN, INF = np.nan, np.inf
examples = pytest.mark.parametrize(("prior", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))
SECRET = 31337.25  # a value that no message may show
SHOWN = "31337"


@pytest.mark.parametrize(
    ("prior", "wild", "clipped"),
    [
        (BetaBernoulli(1, 1), [-5, 3, NAN, INF, -INF, None], [0, 1, 0, 1, 0, 0]),
        (BetaBernoulli(1, 1, grid=2**-4), [-5, 0.26, NAN, 7], [0, 0.25, 0, 1]),
        (BetaBinomial(1, 1, 7), [-1, 9, NAN, 3], [0, 7, 0, 3]),
        (BetaGeometric(1, 1, 12), [-1, 99, NAN, INF], [0, 12, 0, 12]),
        (GammaPoisson(1, 1, 20), [-1, 21, NAN, 20], [0, 20, 0, 20]),
        (GammaExponential(1, 1, 8), [-1, 9, NAN, 1e308], [0, 8, 0, 8]),
        (NormalMean(0, 1, 1, -4, 6), [-9, 9, NAN, -INF], [-4, 6, -4, -4]),
        (NormalInverseGamma(0, 1, 1, 1, -4, 6), [-9, 9, NAN, -INF], [-4, 6, -4, -4]),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_clipping_to_the_public_bounds(prior, wild, clipped):
    assert prior.statistic(wild).tolist() == prior.statistic(clipped).tolist()
    masked = np.ma.masked_invalid(np.array(wild, dtype=float))
    masked[np.isinf(np.array(wild, dtype=float))] = np.array(clipped, dtype=float)[
        np.isinf(np.array(wild, dtype=float))
    ]
    assert prior.statistic(masked).tolist() == prior.statistic(clipped).tolist()  # NULL is NaN


def test_rows_are_clipped_to_the_ball():
    prior = NormalInverseWishart([0, 0], 1, 3, [[1, 0], [0, 1]], radius=5, grid=1)
    limit = prior.ball.largest
    assert limit == 5
    wild = [[300, 400], [NAN, 2], [INF, 0], [3, 4], [-INF, INF]]
    q = prior.ball.integers(wild, 2)
    assert np.all((q**2).sum(axis=1) <= limit**2)
    assert q.tolist() == [[3, 4], [0, 2], [5, 0], [3, 4], [-3, 4]]
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(2000, 3)) * 10.0 ** rng.integers(-3, 9, size=(2000, 1))
    regression = BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], 1, 1, radius=0.7)
    q = regression.ball.integers(rows, 3)
    assert np.all((q**2).sum(axis=1) <= regression.ball.largest**2)
    assert (q**2).sum(axis=1).max() > 0.999 * regression.ball.largest**2  # clipped, not zeroed


def test_sums_are_exact_integers_in_any_order():
    prior = NormalInverseGamma(0, 1, 1, 1, 0, 0.1)
    x = np.random.default_rng(3).uniform(0, 0.1, 10_000)
    assert prior.statistic(x).tolist() == prior.statistic(np.sort(x)).tolist()
    parts = sum(prior.statistic(part) for part in np.array_split(x, 7))
    assert prior.statistic(x).tolist() == parts.tolist()


def test_default_grid_and_quantisation():
    prior = NormalMean(0, 1, 1, 0, 100)
    assert prior.grid == 2**-8  # the smallest power of two ≥ 100/2^15
    assert (prior.lattice.low, prior.lattice.high) == (0, 25600)
    assert prior.statistic([0.001, 0.002]).tolist() == [0 + 1]  # ⌊x·2^8 + ½⌋
    assert NormalMean(0, 1, 1, 0, 0.3, grid=0.25).lattice.high == 1  # the bound itself is quantised


@examples
def test_values_stay_within_what_check_accepts(prior, data):
    for size in (1, len(data)):
        statistic = prior.statistic(data[:size])
        assert prior.check(statistic, size).tolist() == statistic.tolist()
    joint = prior.joint(prior.statistic(data), len(data))
    statistic, n = prior.split(joint)
    np.testing.assert_allclose(statistic, prior.statistic(data), rtol=1e-12)
    assert n == pytest.approx(len(data), rel=1e-12)
    assert prior.check(0 * prior.statistic(data), 0).tolist() == [0] * prior.units.size  # an empty table


# --- bad input: each a ValueError that says what is wrong and shows no value ------------
@examples
def test_text_and_wrong_shapes_do_not_leak(prior, data):
    for bad in (["31337.25x"] * 3, np.full((2, 2, 2), SECRET)):
        with pytest.raises(
            ValueError, match=r"records (must be numbers|need a \d-dimensional array)"
        ) as caught:
            prior.statistic(bad)
        assert SHOWN not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("prior", "data", "message"),
    [
        (BetaBernoulli(1, 1), [0.5], "whole numbers"),
        (GammaPoisson(1, 1, 10**6), [SECRET], "whole numbers"),
        (BetaGeometric(1, 1, 10**6), [SECRET], "whole numbers"),
        (BetaBinomial(1, 1, 10**6), [SECRET], "whole numbers"),
        (DirichletCategorical([1, 1, 1]), [SECRET], "integer codes"),
        (DirichletCategorical([1, 1, 1]), [NAN], "declared category of their own"),
        (DirichletCategorical([1, 1, 1]), [0, 31337], "outside the 3 declared categories"),
        (DirichletCategorical([1, 1, 1]), [-1], "outside the 3 declared categories"),
        (DirichletMultinomial([1, 1], 4), [[31337, 0]], "add up to 4 trials"),
        (DirichletMultinomial([1, 1], 4), [[-1, 5]], "counts ≥ 0"),
        (DirichletMultinomial([1, 1], 4), [[1.5, 2.5]], "whole counts"),
        (DirichletMultinomial([1, 1], 4), [[1, 2, 1]], "a record has 2 counts"),
        (NormalInverseWishart([0, 0], 1, 3, [[1, 0], [0, 1]], 1), [[1, 2, SECRET]], "a record has 2 numbers"),
    ],
)
def test_bad_records(prior, data, message):
    with pytest.raises(ValueError, match=message) as caught:
        prior.statistic(data)
    assert SHOWN not in str(caught.value)


@examples
def test_bad_statistics(prior, data):
    good, n = prior.statistic(data), len(data)
    size = good.size
    cases = [
        (np.full(size, NAN), "finite"),
        (np.full(size, INF), "finite"),
        (np.full(size + 3, 31337), f"{size} co(ordinates|unts)"),
        (["31337x"] * size, "finite numbers|numbers"),
    ]
    for bad, message in cases:
        for refuse in (lambda s: prior.update(s, n), lambda s: prior.check(s, n)):
            with pytest.raises(ValueError, match=message) as caught:
                refuse(bad)
            assert SHOWN not in str(caught.value)
    with pytest.raises(ValueError, match="whole numbers"):
        prior.check(good + 0.25, n)
    with pytest.raises(ValueError, match=r"beyond|do not add up|no n (records|rows)|negative"):
        prior.check(good * 31337 + 31337, n)
    for n_bad in (-1, NAN, INF):
        with pytest.raises(ValueError, match=r"number of records n must be finite"):
            prior.update(good, n_bad)
    for weight in (0, -1, NAN, INF):
        with pytest.raises(ValueError, match="weight must be a finite number above 0"):
            prior.update(good, n, weight=weight)


@pytest.mark.parametrize(
    ("prior", "statistic", "n"),
    [
        (BetaBernoulli(1, 1), [-31337], 5),
        (BetaBernoulli(1, 1), [31337], 5),
        (BetaBinomial(1, 1, 7), [36], 5),
        (GammaPoisson(1, 1, 7), [-1], 5),
        (DirichletCategorical([1, 1]), [-31337, 31342], 5),
        (DirichletCategorical([1, 1]), [31337, 5], 5),
        (NormalMean(0, 1, 1, -4, 6, grid=1), [31337], 5),
    ],
)
def test_negative_and_impossible_counts(prior, statistic, n):
    for refuse in (prior.update, prior.check):
        with pytest.raises(ValueError, match=r"negative|beyond|do not add up") as caught:
            refuse(statistic, n)
        assert SHOWN not in str(caught.value)


@pytest.mark.parametrize("bad", [0, -1, NAN, INF, -INF])
def test_priors_that_are_not_normalizable(bad):
    builders = [
        lambda: BetaBernoulli(bad, 1),
        lambda: BetaBinomial(1, bad, 3),
        lambda: BetaGeometric(bad, 1, 3),
        lambda: DirichletCategorical([1, bad]),
        lambda: DirichletMultinomial([bad, 1], 2),
        lambda: GammaPoisson(bad, 1, 3),
        lambda: GammaExponential(1, bad, 3),
        lambda: NormalMean(0, bad, 1, -1, 1),
        lambda: NormalMean(0, 1, bad, -1, 1),
        lambda: NormalInverseGamma(0, 1, bad, 1, -1, 1),
        lambda: NormalInverseWishart([0, 0], 1, bad, [[1, 0], [0, 1]], 1),
        lambda: NormalInverseWishart([0, 0], 1, 3, [[1, 0], [0, bad]], 1),
        lambda: BayesianLinearRegression([0], [[bad]], 1, 1, 1),
    ]
    for build in builders:
        with pytest.raises(ValueError, match="normalizable"):
            build()


def test_other_bad_constructions():
    cases = [
        (lambda: DirichletCategorical([1]), "at least 2 concentrations"),
        (lambda: DirichletCategorical([]), "at least 2 concentrations"),
        (lambda: DirichletCategorical([[1, 2]]), "at least 2 concentrations"),
        (lambda: NormalInverseWishart([0, 0], 1, 1, [[1, 0], [0, 1]], 1), "above d − 1 = 1"),
        (lambda: NormalInverseWishart([0, 0], 1, 3, [[1, 2], [2, 1]], 1), "positive definite"),
        (lambda: NormalInverseWishart([0, 0], 1, 3, [[1, 2], [0, 1]], 1), "symmetric"),
        (lambda: NormalInverseWishart([0], 1, 3, [[1, 0], [0, 1]], 1), "1 coordinates"),
        (lambda: BayesianLinearRegression([0], [[1, 0], [0, 1]], 1, 1, 1), "1 coordinates"),
        (lambda: NormalMean(0, 1, 1, 2, 2), "lower < upper"),
        (lambda: NormalMean(0, 1, 1, 3, 2), "lower < upper"),
        (lambda: NormalMean(0, 1, 1, NAN, 2), "finite"),
        (lambda: NormalMean(0, 1, 1, 0, 1, grid=0.3), "power of two"),
        (lambda: NormalMean(0, 1, 1, 0, 1, grid=4), "coarser"),
        (lambda: NormalMean(0, 1, 1, 0, 1, grid=2**-60), "too fine"),
        (lambda: BetaBernoulli(1, 1, grid=2), "grid must be 1"),
        (lambda: BetaBinomial(1, 1, 2.5), "positive integer"),
        (lambda: GammaPoisson(1, 1, 0), "above 0"),
        (lambda: BayesianLinearRegression([0], [[1]], 1, 1, 1, grid=3), "power of two"),
        (lambda: BayesianLinearRegression([0], [[1]], 1, 1, 1, grid=2), "divide the radius"),
        (lambda: BetaBernoulli(1, 1).interval(1), "strictly between 0 and 1"),
        (lambda: BetaBernoulli(1, 1).scale_prior(0), "factor must be"),
        (lambda: BetaBernoulli(1, 1).project([1], -1), "clip a noisy n first"),
        (lambda: BetaBernoulli(1, 1).project([NAN], 1), "finite"),
    ]
    for build, message in cases:
        with pytest.raises(ValueError, match=message):
            build()


def test_overflow_is_refused_from_public_numbers():
    prior = NormalInverseGamma(0, 1, 1, 1, 0, 1, grid=2**-31)
    with pytest.raises(ValueError, match="overflow 64-bit sums"):
        prior.statistic(np.zeros(10))
    with pytest.raises(ValueError, match="overflow"):
        NormalInverseGamma(0, 1, 1, 1, 0, 1, grid=2**-40)


def test_worst_case_wants_a_public_count():
    for n, message in (
        (None, "n is public"),
        (0, "positive integer"),
        (2.5, "positive integer"),
        (NAN, "positive"),
    ):
        with pytest.raises(ValueError, match=message):
            BetaBernoulli(1, 1).worst_case(n, relation=SUBSTITUTE)
    for step, family in itertools.product((0, NAN, -1), (BetaBernoulli(1, 1), GammaPoisson(1, 1, 3))):
        with pytest.raises(ValueError, match="step must be"):
            family.worst_case(3, step=step, relation=SUBSTITUTE)
    assert BetaBernoulli(1, 1).worst_case(None, relation=ADD_REMOVE).order_limit == 2
