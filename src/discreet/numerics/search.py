"""Searches and solvers: the edge of a predicate, and the minimum of a convex function."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

# ── Find the edge of a predicate that fails on one side of it and holds on the other.
# Every search for one number returns a value at which the predicate was seen to hold (or at which the caller
# knows that it holds), never the failing end. So the least noise and the largest budget err to the private
# side, however a search is cut short and however its middles are rounded.
Floats = NDArray[np.float64]


T = TypeVar("T", int, float, Fraction)

# A middle is what to try next between an end that fails and one that holds; None ends the search.


def integers(one: int, other: int) -> int | None:
    """Return the integer halfway, rounded down; None between neighbours."""
    return (one + other) // 2 if abs(one - other) > 1 else None


def doubles(one: float, other: float, width: float = 0.0) -> float | None:
    """Return the double halfway; None at ends at most `width` apart or without a double between them."""
    middle = (one + other) / 2
    return middle if abs(one - other) > width and min(one, other) < middle < max(one, other) else None


def ratios(finest: float) -> Callable[[float, float], float | None]:
    """Return the geometric mean of positive ends while their ratio is above `finest`."""
    return lambda one, other: math.sqrt(one * other) if max(one, other) > min(one, other) * finest else None


def bisect(
    holds: Callable[[T], bool],
    failed: T,
    held: T,
    middle: Callable[[T, T], T | None],
    *,
    turns: int | None = None,
) -> T:
    """Return the held value nearest to the failing end, after `turns` trials at most; no end is tried."""
    left = math.inf if turns is None else turns
    while left and (x := middle(failed, held)) is not None:
        failed, held, left = (failed, x, left - 1) if holds(x) else (x, held, left - 1)
    return held


def bracket(
    holds: Callable[[T], bool], failed: T, first: T, farther: Callable[[T], T], last: Callable[[T], bool]
) -> tuple[T, T] | None:
    """Go farther from `first` until it holds: (value before, held), or None where even the last fails."""
    while not holds(first):
        if last(first):
            return None
        failed, first = first, farther(first)
    return failed, first


def least_count(
    holds: Callable[[int], bool],
    most: int,
    factor: int = 2,
    middle: Callable[[int, int], int | None] = integers,
) -> int | None:
    """Least k ≥ 1 that holds, found between two powers of `factor`; None where the one at `most` fails."""
    found = bracket(holds, 0, 1, lambda k: factor * k, lambda k: k >= most)
    return found and bisect(holds, *found, middle)


def greatest_near(holds: Callable[[int], bool], guess: int, least: int | None, most: int | None) -> int:
    """Greatest k that holds, from `least`, which is known to hold, to `most`; None leaves a side open.

    Gallops from the guess in steps 1, 2, 4, …, then bisects.
    """
    low, high = least, None if most is None else most + 1
    at, step = guess, 1
    while low is None or high is None or high - low > 1:
        if low is not None:
            at = max(at, low + 1)
        if high is not None:
            at = min(at, high - 1)
        if holds(at):
            low, at = at, at + step
        else:
            high, at = at, at - step
        step *= 2
        if low is not None and high is not None and not low < at < high:
            at = (low + high) // 2
    return low


def each_bisected(below: Callable[[Floats], Any], low: Floats, high: Floats, turns: int) -> Floats:
    """Upper ends of many brackets at once, halved `turns` times; `below` says which middles lie too low."""
    for _ in range(turns):
        middle = (low + high) / 2
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return high


# ── Newton's method for a strongly convex function, by its gradient: where ‖∇‖ falls is progress.
STEPS = 100  # far more than are ever taken
SHORTEST = 2.0**-50  # of a step: a loss may bend within a millionth of the way to where it is flat
KEPT = 4  # a Hessian is kept while it shrinks ‖∇‖ by this


def descend(
    gradient: Callable[[Floats], Floats],
    hessian: Callable[[Floats, bool], Floats],
    start: Floats,
    done: Callable[[Floats, Floats], bool],
    *,
    rough: bool = False,
) -> tuple[Floats, Floats]:
    """Go to where `done` says so, or rounding ends the descent: w and its gradient.

    Newton's direction shrinks ‖∇‖ at the rate −‖∇‖: halve the step until a quarter of that is seen. With
    `rough` the Hessian may at first be a cheap guess, as only the direction comes from it.
    """
    w, g, inverse = start, gradient(start), None
    for _ in range(STEPS):
        if done(w, g):
            break
        fresh = inverse is None
        inverse = inverted(hessian(w, rough)) if inverse is None else inverse
        shortest = SHORTEST if fresh and not rough else 1.0
        found = _halved(gradient, w, g, inverse @ g, shortest)
        if found:
            shrunk = np.linalg.norm(found[1]) <= np.linalg.norm(g) / KEPT
            (w, g), inverse = found, inverse if shrunk else None
        elif fresh and not rough:
            break  # rounding is all that is left
        else:
            inverse, rough = None, rough and not fresh
    return w, g


def inverted(hessian: Floats) -> Floats:
    """H⁻¹; where doubles cannot tell H from a singular matrix, the length of a gradient step that is safe."""
    try:
        return np.asarray(np.linalg.inv(hessian))
    except np.linalg.LinAlgError:
        return np.asarray(np.eye(len(hessian)) / np.trace(hessian))


def _halved(
    gradient: Callable[[Floats], Floats], w: Floats, g: Floats, step: Floats, shortest: float
) -> tuple[Floats, Floats] | None:
    size, t = float(np.linalg.norm(g)), 1.0
    while t >= shortest:
        trial = w - t * step
        tried = gradient(trial)
        if np.linalg.norm(tried) <= (1 - t / 4) * size:
            return trial, tried
        t /= 2
    return None
