"""AdaSSP: how far one record moves its three statistics, its exact least eigenvalue, its ridge."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.regression.adassp import AdaSSP, cost, least_eigenvalue, moves
from discreet.sampling.source import SeededSource


def family(d=2, radius=5, grid=1):
    return dc.BayesianLinearRegression(
        [0] * d, np.eye(d).tolist(), shape=2, scale=1, radius=radius, grid=grid
    )


def statistics(rows):
    """λ_min as it is released, XᵀX, Xᵀy."""
    x, y = rows[:, :-1], rows[:, -1]
    return least_eigenvalue(x.T @ x), x.T @ x, x.T @ y


@pytest.mark.parametrize("relation", [dc.SUBSTITUTE, dc.ADD_REMOVE])
def test_no_record_moves_further_than_claimed_and_some_move_as_far(relation):
    rng, found = np.random.default_rng(1), []
    every = np.array(list(np.ndindex(11, 11, 11))) - 5
    inside = every[(every**2).sum(axis=1) <= 25]
    special = np.array([[5, 0, 0], [0, 5, 0], [3, 0, 4], [4, 0, 3], [-4, 0, 3], [0, 0, 0]])
    for trial in range(600):
        pool = special if trial % 3 == 0 else inside
        others = inside[rng.integers(len(inside), size=3)] * (trial % 2)
        one, two = pool[rng.integers(len(pool), size=2)]
        before = statistics(np.vstack([others, one]))
        after = statistics(np.vstack([others, two]) if relation is dc.SUBSTITUTE else others)
        found.append([float(np.sum((np.asarray(a) - b) ** 2)) for a, b in zip(before, after, strict=True)])
    most = np.max(found, axis=0)
    claimed = np.array([float(m) for m in moves(family(), relation)])
    assert (most <= claimed).all()
    assert most[1] == claimed[1]  # orthogonal rows of full length
    assert most[2] >= 0.92 * claimed[2]  # x = y needs R/√2, which is no integer
    assert most[0] >= 24**2 * (relation is dc.SUBSTITUTE)


def test_the_least_eigenvalue_is_exact():
    rng = np.random.default_rng(2)
    for _ in range(40):
        a = rng.integers(-50, 50, size=(4, 6))
        gram = a @ a.T
        found = least_eigenvalue(gram)
        low = np.linalg.eigvalsh(gram.astype(float))[0]
        assert found == max(0, int(np.ceil(low - 1e-9)) - 1)
    assert least_eigenvalue(np.diag([4, 9])) == 3
    assert least_eigenvalue(np.diag([0, 9])) == 0
    huge = np.diag([2**60 + 1, 2**60 + 7]) + np.array([[0, 1], [1, 0]])
    assert least_eigenvalue(huge) == 2**60  # where doubles are 256 apart


@pytest.mark.parametrize("relation", [dc.SUBSTITUTE, dc.ADD_REMOVE])
@pytest.mark.parametrize("weights", [(1, 1, 1), (2, 1, 1), (0.1, 1, 5), (1, 0.2, 9), (0.01, 0.3, 0.4)])
def test_one_record_moves_all_three_together_no_further_than_is_charged(relation, weights):
    """Rows (x₁, x₂, y) on a mesh of the unit ball; equal parts of λ_min's and XᵀX's bounds are attained."""
    angle, up = np.meshgrid(np.linspace(0, np.pi, 9), np.linspace(-1, 1, 21))
    around = np.sqrt(1 - up**2)
    z = np.stack([around * np.cos(angle), around * np.sin(angle), up], axis=-1).reshape(-1, 3)
    x, y = z[:, :2], z[:, 2]
    square, mixed = x[:, :, None] * x[:, None, :], x * y[:, None]
    if relation is dc.SUBSTITUTE:
        square = (square[:, None] - square[None]).reshape(-1, 2, 2)
        mixed = (mixed[:, None] - mixed[None]).reshape(-1, 2)
    least = np.abs(np.linalg.eigvalsh(square)).max(axis=1)  # what λ_min moves at most, whatever the others
    w0, w2, w1 = weights
    moved = w0 * least**2 + w2 * (square**2).sum(axis=(1, 2)) + w1 * (mixed**2).sum(axis=1)
    claimed = float(cost(Fraction(w0), Fraction(w2), Fraction(w1), relation))
    assert moved.max() <= claimed * (1 + 1e-12)
    if relation is dc.ADD_REMOVE or w1 <= 2 * w2:
        assert moved.max() >= 0.98 * claimed  # also with the top of the parabola inside, between two nodes


def test_three_equal_parts_cost_two_thirds_of_their_sum():
    made = AdaSSP.calibrate(family(), n=50, target=dc.ApproxDP(1, 1e-5))
    assert made.guarantee.mu == pytest.approx(0.26805, abs=1e-5)  # analytic Gaussian, GLM.md §1
    parts = [m / Fraction(s) ** 2 for m, s in zip(moves(family(), dc.SUBSTITUTE), made.scales, strict=True)]
    assert float(max(parts) / min(parts)) == pytest.approx(1, rel=1e-9)
    assert float(sum(parts)) == pytest.approx(1.5 * made.guarantee.mu**2, rel=1e-9)
    assert made.guarantee <= dc.ApproxDP(1, 1e-5)


def test_the_ridge_covers_the_noise_unless_the_rows_do():
    made = AdaSSP(family(), n=5, scales=(1, 10, 1))
    # 10·√(2 ln(8/.05)) = 31.86; less what is surely there: λ̃ − 1.645
    assert made.ridge(0.0) == pytest.approx(31.859, abs=1e-3)
    assert made.ridge(11.645) == pytest.approx(21.859, abs=1e-3)
    assert made.ridge(100.0) == 0


def test_without_noise_it_is_least_squares():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 3)) * 0.5
    y = x @ [0.5, -0.3, 0.1] + 0.1 * rng.normal(size=500)
    model = family(3, radius=4, grid=2**-13)
    out = AdaSSP(model, n=500, scales=(1, 1, 1)).release(
        model.statistic(np.column_stack([x, y])), SeededSource(1)
    )
    assert out.weights == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0], abs=1e-3)
    assert out.ridge == 0
    assert out.seeded


def test_one_column_more_columns_than_rows_and_bad_input():
    one = family(1)
    assert np.isfinite(AdaSSP.calibrate(one, n=1, target=dc.GaussianDP(1)).release([4, 2, 1]).weights).all()
    wide = family(6)
    few = AdaSSP.calibrate(wide, n=1, target=dc.GaussianDP(1)).release(
        wide.statistic([[1, 2, 0, 0, 1, 0, 3]])
    )
    assert np.isfinite(few.weights).all()
    with pytest.raises(ValueError, match="are 3 integers"):
        AdaSSP(one, n=1, scales=(1, 1, 1)).release([1, 2])
    with pytest.raises(ValueError, match="three moments"):
        AdaSSP(one, n=1, scales=(1, 1))
    with pytest.raises(ValueError, match="below 1/2"):
        AdaSSP(one, n=1, scales=(1, 1, 1), failure=0.7)
    with pytest.raises(ValueError, match="greater than 0"):
        AdaSSP(one, n=1, scales=(1, 0, 1))
