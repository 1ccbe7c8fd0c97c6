"""Newton's method for a strongly convex function, by its gradient: where ‖∇‖ falls is progress."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
