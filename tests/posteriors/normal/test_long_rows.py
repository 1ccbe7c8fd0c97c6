"""How many rows a linear regression says that it scaled down, against rows that are counted."""

import numpy as np
import pytest

from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.named_columns import Feature
from discreet.posteriors.normal.long_rows import clipped, squares_within

SHARE = 0.8  # of rows with the indicator
LEVELS = ("B", "C")


def designed(radius):
    """x a number, `hs` a truth, `ward` of three levels, y a number."""
    model = BayesianLinearRegression(target="y", features=["x", "hs", "ward"], radius=radius)
    wards = [Feature("ward", level=level, reference="A") for level in LEVELS]
    return model.bind([Feature("x"), Feature("hs", level=True), *wards], Feature("y"))


def world(rng, n, width):
    x = rng.uniform(-width, width, n)
    hs, ward = rng.random(n) < SHARE, rng.integers(3, size=n)
    y = np.clip(0.5 * x + 0.2 * hs + rng.normal(0, 0.2, n), -1, 1)
    return np.column_stack([x, hs, ward == 1, ward == 2, np.full(n, 0.5), y])


def like(rows, rng):
    """Normal rows of the same second moments, as a reading imagines them."""
    return rng.multivariate_normal(np.zeros(rows.shape[1]), rows.T @ rows / len(rows), size=20_000)


@pytest.mark.parametrize(("width", "radius"), [(0.25, 1.66), (1, 1.4), (1, 1.6), (0.6, 1.2)])
def test_the_share_of_long_rows_is_that_of_rows_with_truths_and_levels_in_them(width, radius):
    """Levels are 0 or 1, which normal rows are not: those are up to 24 points off here, either way."""
    rng = np.random.default_rng(1)
    rows, model = world(rng, 20_000, width), designed(radius)
    found = float(np.mean(squares_within(model.named, like(rows, rng)) > radius**2))
    true = float(np.mean(np.sum(rows**2, axis=1) > radius**2))
    assert found == pytest.approx(true, abs=0.06)


def test_the_caution_is_for_rows_that_are_long_and_normal_rows_would_cry_wolf():
    rng = np.random.default_rng(2)
    rows = world(rng, 20_000, 0.25)
    imagined, variance = like(rows, rng), rng.normal(1, 0.01, 1000)
    assert np.mean(np.sum(rows**2, axis=1) > 1.75**2) < 0.002
    assert np.mean(np.sum(imagined**2, axis=1) > 1.75**2) > 0.15  # what was taken for the share
    assert clipped(designed(1.75), imagined, variance) is None
    assert "seem to be longer than the radius 1.2 " in str(clipped(designed(1.2), imagined, variance))
    assert clipped(designed(2.3), 10 * imagined, variance) is None  # √(4 + ¼): none can be longer


def test_noise_that_makes_as_many_long_rows_is_no_reason_to_say_that_there_are_some():
    """Of one law 5 % are said; where the share moves by as much from draw to draw, they are not."""
    rng = np.random.default_rng(3)
    rows, variance = world(rng, 20_000, 0.6), rng.normal(1, 0.01, 1000)
    imagined = like(rows, rng)[: 32 * 600]
    sure = next(
        radius
        for radius in np.arange(1.2, 1.9, 0.05)
        if 0.03 < np.mean(squares_within(designed(radius).named, imagined) > radius**2) < 0.1
    )
    model = designed(sure)
    assert "seem to be longer" in str(clipped(model, imagined, variance))
    moved = imagined.reshape(32, 600, -1) * rng.uniform(0.5, 1.5, 600)[:, None]
    assert clipped(model, imagined, variance, moved.reshape(imagined.shape)) is None
