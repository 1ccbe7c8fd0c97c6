"""Truncated Dirichlet draws for the blocks of a sweep: every α is used once, so planning must be cheap."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.mcmc.kernel import State
from discreet.sampling import exact
from discreet.sampling.checked_arguments import within_simplex
from discreet.sampling.source import Real, Source, Tape, nearest
from discreet.sampling.truncated import from_simplex, simplex_of

BITS = 32
GOOD = 0.2  # acceptance above which no better proposal is looked for; only running time depends on it


def truncated_simplex(alpha: list[Fraction], lower: Fraction, source: Source) -> State:
    """θ ~ Dirichlet(α) given min θ ≥ lower, to multiples of 2⁻³²: exact.truncated_dirichlet, one draw.

    Rounded entries are brought back to [lower, 1 − (J−1)·lower], on which the price of a sweep rests.
    """
    if len(alpha) == 1:
        return np.ones(1)
    if len(alpha) > 2 and (proposal := simplex_of(alpha, lower)).chance() > GOOD:
        cells = [_cell(x) for x in from_simplex(Tape(source), proposal)]
        return within_simplex(np.ldexp(np.array(cells, dtype=np.float64), -BITS), lower, len(alpha))
    drawn: State = exact.truncated_dirichlet(source, np.array(alpha, dtype=object), lower, 1, BITS)[0]
    return drawn


def _cell(x: Real) -> int:
    return nearest(lambda: x() * 2**BITS)
