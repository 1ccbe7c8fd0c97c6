"""How many rows a linear regression scaled down to its radius, judged by its release, and when to say so."""

from __future__ import annotations

import numpy as np

from discreet.families.family import Floats
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.named_columns import NamedColumns
from discreet.posteriors.noise_law import matters

CLIPPED = 0.02  # share of rows beyond the radius from which a caution is due, however little σ² is known
ROWS = 32  # imagined for every draw: to see shares that matter where rows are many
LEAST = 1e-150


def clipped(
    family: BayesianLinearRegression, rows: Floats, variance: Floats, again: Floats | None = None
) -> str | None:
    """Say where so many of these imagined rows (x, y) are too long that a reading should have modelled it.

    Rows are ROWS for every draw, a draw apart. `again` are others, of moments that were noised once more.

    They take about their share off σ² [measured]: they matter by how well its draws know it, where
    rows are normal. Rows of named columns are not, and smaller shares of them cannot be told.
    """
    named, radius = family.named, f"the radius {float(family.radius):.3g}"
    if named is not None and family.radius**2 >= named.longest:
        return None
    squares = np.sum(rows**2, axis=1) if named is None else squares_within(named, rows)
    share = float(np.mean(squares > float(family.radius) ** 2))
    if share < CLIPPED and (named is not None or not matters(share, 2 / _unknown(variance) ** 2)):
        return None
    if named is not None and share - _apart(family, named, rows if again is None else again) < CLIPPED:
        return None  # noise alone makes as many
    if named is not None:
        return (
            f"about {share:.0%} of the rows seem to be longer than {radius} of encoded rows, and were scaled "
            "down to it: they count for less, the variance comes out too small, and where the line is not "
            "quite straight it is that of the shorter rows; with radius="
            f"{float(named.longest) ** 0.5:.3g} no row is scaled down, at the price of more noise"
        )
    return (
        f"if rows are normal, about {share:.2%} of them lie beyond {radius} and "
        "were clipped to it, which this reading leaves out: unless public bounds keep every row inside, "
        'intervals may cover too rarely; law="limit" assumes normal rows and models the clipping, and a '
        "larger radius clips fewer"
    )


def _apart(family: BayesianLinearRegression, named: NamedColumns, rows: Floats) -> float:
    """Return the deviation of the share of long rows between draws, less what ROWS rows of one law have."""
    long = (squares_within(named, rows) > float(family.radius) ** 2).reshape(ROWS, -1)
    share = long.mean(axis=0)
    own = share.mean() * (1 - share.mean()) / ROWS
    return float(max(share.var() - own, 0.0) ** 0.5)


def _unknown(variance: Floats) -> float:
    """Return the relative deviation of σ²."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.nan_to_num(np.std(variance) / np.mean(variance), nan=np.inf))
    return max(found, LEAST)


def squares_within(named: NamedColumns, rows: Floats) -> Floats:
    """Return ‖(x, y)‖² of normal rows, held to what is public of the columns.

    The constant is ½, a number is at most 1, and one level is chosen of a column or none: as often as the
    squares of its indicators say, in the rows where the normal ones are largest.
    """
    rows = held_to_constant(named, rows)
    total = np.full(len(rows), float(named.constant) ** 2)
    features = [*enumerate(named.design), (rows.shape[1] - 1, named.answer)]
    for column in dict.fromkeys(feature.column for _, feature in features):
        places = [at for at, feature in features if feature.column == column]
        level = next(feature.level for _, feature in features if feature.column == column)
        if level is None:
            total += np.minimum(np.sum(rows[:, places] ** 2, axis=1), 1.0)
        else:
            share = min(float(np.mean(np.sum(rows[:, places] ** 2, axis=1))), 1.0)
            chosen = np.sum(rows[:, places], axis=1)
            total += chosen >= np.quantile(chosen, 1 - share)
    return total


def held_to_constant(named: NamedColumns, rows: Floats) -> Floats:
    """Shift normal rows to where their constant is what it is in every row."""
    if not named.intercept:
        return rows
    constant = rows[:, len(named.design)]
    slope = rows.T @ constant / max(float(constant @ constant), 1e-300)
    return np.asarray(rows + np.outer(float(named.constant) - constant, slope))
