"""Polynomial statistics: joint sensitivity attained and never exceeded, calibration, releases."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.regression.polynomial_statistics import PolynomialStatistics, cost, usual_balance
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, DeclaredLoss
from discreet.models.regression_records import constant_steps, length_square, moment_ball, signed_moments
from discreet.sampling.source import SeededSource


def model(d=2, **options):
    names = tuple(f"x{i}" for i in range(d))
    made = BayesianLogisticRegression("y", names, **{"norm": 1, **options})
    return made.bind(tuple(map(Feature, names)))


def spent(r, s, first, second):
    """‖Δ₁‖²/σ₁² + ‖Δ₂‖_F²/σ₂², from two records r = yx as they are."""
    gap = np.outer(r, r) - np.outer(s, s)
    return ((r - s) ** 2).sum() / first**2 + (gap**2).sum() / second**2


# --- sensitivity ------------
@pytest.mark.parametrize("balance", [Fraction(1, 10), Fraction(3, 5), Fraction(1), Fraction(4)])
def test_the_cost_is_attained_and_never_exceeded(balance):
    square, second = 25, Fraction(7)
    first = second / (Fraction(np.sqrt(float(2 * balance * square))))
    claimed = float(cost(square, first, second, dc.SUBSTITUTE))
    inside = [
        np.array(r) for r in product(np.linspace(-5, 5, 9), repeat=2) if r[0] ** 2 + r[1] ** 2 <= square
    ]
    found = [spent(r, s, float(first), float(second)) for r in inside for s in inside]
    k = min(1.0, float(balance))
    worst = spent(np.array([5, 0]), 5 * np.array([-k, np.sqrt(1 - k * k)]), float(first), float(second))
    assert max(found) <= claimed * (1 + 1e-12)
    assert worst == pytest.approx(claimed, rel=1e-12)
    one = [spent(r, np.zeros(2), float(first), float(second)) for r in inside]
    more = float(cost(square, first, second, dc.ADD_REMOVE))
    assert max(one) == pytest.approx(more, rel=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_no_row_moves_the_integers_further_than_the_claim(intercept):
    bound = model(3, norm=0.7, intercept=intercept)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3)) * np.exp(rng.normal(size=(200, 1)) * 3)
    rows[0] = [np.nan, np.inf, -1]
    moved = [signed_moments(bound, row[None], [y]) for row in rows for y in (-1, 0, 1)]
    d = bound.dimension
    lengths = [int((m[:d].astype(object) ** 2).sum()) for m in moved]
    assert (
        max(lengths) <= length_square(bound) == moment_ball(bound).largest ** 2 + constant_steps(bound) ** 2
    )
    assert max(lengths) > 0.9999 * length_square(bound)
    assert min(lengths) == 0  # an unknown label counts for nothing
    assert constant_steps(bound) * float(moment_ball(bound).grid) == pytest.approx(
        0.35 * intercept, abs=2**-15
    )


def test_the_packed_integers_are_the_moments():
    bound = model(2)
    x, y = np.array([[0.5, -0.25], [3.0, 4.0]]), np.array([1, -1])
    g = 2.0**-15
    r = np.array([[0.5, -0.25, 0.5], [-0.6, -0.8, -0.5]])
    got = signed_moments(bound, x, y) * np.array([g] * 3 + [g * g] * 6)
    assert got[:3] == pytest.approx(r.sum(axis=0), abs=1e-4)
    assert got[3:] == pytest.approx((r.T @ r)[np.triu_indices(3)], abs=1e-4)


# --- calibration ------------
TARGETS = [dc.GaussianDP, lambda x, relation: dc.ApproxDP(x, 1e-5, relation=relation), dc.ZeroCDP]


@pytest.mark.parametrize("relation", [dc.SUBSTITUTE, dc.ADD_REMOVE])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("noise", ["gaussian", "discrete_gaussian"])
def test_calibration_meets_the_target_and_no_less_would(target, relation, noise):
    if target is dc.GaussianDP and noise != "gaussian":
        return  # discrete noise is promised as zCDP, which implies no μ
    wanted = target(0.5, relation=relation)
    n = 100 if relation is dc.SUBSTITUTE else None
    found = PolynomialStatistics.calibrate(model(), n=n, target=wanted, noise=noise)
    assert found.guarantee <= wanted
    less = PolynomialStatistics(
        model(),
        n=n,
        first_scale=found.first_scale * (1 - 1e-9),
        second_scale=found.second_scale * (1 - 1e-9),
        noise=noise,
        relation=relation,
    )
    assert not less.guarantee <= wanted


def test_continuous_noise_goes_through_gaussian_dp_and_needs_less_than_zcdp():
    wanted = dc.ApproxDP(1, 1e-5, relation=dc.ADD_REMOVE)
    mine = PolynomialStatistics.calibrate(model(), target=wanted)
    # μ of the analytic Gaussian mechanism at (1, 1e-5): GLM.md §1 has .268
    assert mine.guarantee.mu == pytest.approx(0.268, abs=5e-4)
    discrete = PolynomialStatistics.calibrate(model(), target=wanted, noise="discrete_gaussian")
    assert discrete.second_scale > 1.05 * mine.second_scale


@pytest.mark.parametrize("relation", [dc.SUBSTITUTE, dc.ADD_REMOVE])
def test_the_usual_balance_minimises_the_noise_of_the_gradient(relation):
    bound, wanted = model(4, radius=6), dc.GaussianDP(1, relation=relation)
    n = 9 if relation is dc.SUBSTITUTE else None

    def noise(balance):
        made = PolynomialStatistics.calibrate(bound, n=n, target=wanted, balance=balance)
        return float(made.first_scale) ** 2 / 4 + (0.15 * 3) ** 2 * float(made.second_scale) ** 2 / 2

    best = usual_balance(bound, relation)
    assert noise(best) <= min(noise(best * 1.1), noise(best / 1.1))
    assert noise(best * 1.1) > noise(best) * (1 + 1e-4)


# --- releases ------------
def test_noise_has_its_variances_diagonal_and_off():
    """Each of 3 averages of 400 squares errs by more than 30 % with probability below 1e-4."""
    bound, source = model(3, norm=1), SeededSource(4)
    made = PolynomialStatistics(bound, n=5, first_scale=2.0, second_scale=3.0)
    zero = np.zeros(4 + 10, np.int64)
    out = [made.release(zero, source) for _ in range(100)]
    upper = np.triu_indices(4, 1)
    first = np.mean([r.first**2 for r in out]) / 4
    diagonal = np.mean([np.diag(r.second) ** 2 for r in out]) / 9
    off = np.mean([r.second[upper] ** 2 for r in out]) / 4.5
    assert all(0.75 < x < 1.3 for x in (first, diagonal, off))
    assert not 0.75 < off / 2 < 1.3
    assert all(np.array_equal(r.second, r.second.T) and r.seeded for r in out)


def test_a_release_is_read_only_equal_to_itself_and_exact_integers_are_demanded():
    bound = model()
    made = PolynomialStatistics(bound, n=5, first_scale=1.0, second_scale=1.0)
    exact = signed_moments(bound, [[0.1, 0.2]] * 5, [1, 1, -1, 0, np.nan])
    out, again = (made.release(exact, SeededSource(3)) for _ in range(2))
    assert out == again
    assert out != made.release(exact, SeededSource(4))
    assert hash(out) == hash(again)
    with pytest.raises(ValueError, match="read-only"):
        out.first[0] = 1
    with pytest.raises(ValueError, match="integers"):
        made.release(exact + 0.5)
    with pytest.raises(ValueError, match="3 columns are 9 integers"):
        made.release(exact[:-1])


def test_wide_noise_is_released_too():
    made = PolynomialStatistics(model(), n=5, first_scale=2.0**40, second_scale=2.0**40)
    assert np.isfinite(made.release(np.zeros(9, np.int64), SeededSource(1)).second).all()


# --- refusals ------------
def test_other_losses_need_a_quadratic():
    given = GeneralizedLinear("y", ("x",), norm=1, loss=ClippedPoisson(5)).bind((Feature("x"),))
    with pytest.raises(ValueError, match=r"logistic loss.*clipped_poisson"):
        PolynomialStatistics.calibrate(given, n=5, target=dc.GaussianDP(1))
    with pytest.raises(ValueError, match="logistic loss"):
        PolynomialStatistics.calibrate(given, n=5, target=dc.GaussianDP(1), quadratic=(-1, 1))

    def hinge(s, y):
        return np.maximum(0, 1 - y * s)

    loss = DeclaredLoss(hinge, hinge, hinge, 1, 1)
    declared = GeneralizedLinear("y", ("x",), norm=1, loss=loss).bind((Feature("x"),))
    with pytest.raises(ValueError, match="quadratic="):
        PolynomialStatistics.calibrate(declared, n=5, target=dc.GaussianDP(1))
    with pytest.raises(ValueError, match="bend > 0"):
        PolynomialStatistics.calibrate(declared, n=5, target=dc.GaussianDP(1), quadratic=(-1, 0))
    made = PolynomialStatistics.calibrate(declared, n=5, target=dc.GaussianDP(1), quadratic=(-1, 0.5))
    assert made.release(np.zeros(5, np.int64), SeededSource(1)).quadratic == (-1, 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": "laplace"}, "unknown noise"),
        ({"first_scale": 0}, "greater than 0"),
        ({"second_scale": float("nan")}, "finite"),
        ({"n": None}, "n is public"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        PolynomialStatistics(model(), **{"n": 5, "first_scale": 1, "second_scale": 1, **change})
