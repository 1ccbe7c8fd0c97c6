"""Broken twins of the Markov kernels: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.mcmc import (
    LEFT,
    MODEL,
    PATH,
    RIGHT,
    STATE,
    annealed,
    bits,
    cube,
    responsibilities,
    sweep_density,
    sweeps,
    two_points,
)
from discreet.audit.cases.noise import softmax
from discreet.audit.twins.twin import Twins
from discreet.mcmc.barker import Barker
from discreet.mcmc.kernel import Counts
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk
from discreet.privacy.amplification.mixing import secret_scan
from discreet.privacy.kinds import BoundedRange, PureDP
from discreet.sampling import exact
from discreet.sampling.source import Source

twin = Twins()


@twin("barker/one_record_moves_once", "M/T claimed for a substitution, which costs 2M/T")
def one_record_moves_once() -> Case:
    """M/T claimed where a substitution takes one record's ½ away and adds another's: 2M/T."""
    kernel = Barker(target=two_points(0.0), walk=CoordinateWalk(1, 1))
    return Case(
        BoundedRange(Fraction(1, 2)),
        partial(bits, kernel),
        (LEFT, RIGHT),
        lambda y: y,
        profiles.finite(softmax([0.5, 0], 1, [0, 0]), softmax([-0.5, 0], 1, [0, 0])),
        epsilon=0.25,
    )


@twin("mixture_gibbs/not_tempered", "T = 1 claimed as T = 16")
def not_tempered() -> Case:
    """Count records at full weight under the claim for T = 16."""
    claim = MixtureGibbs(model=MODEL, temperature=16).guarantee
    points, epsilon, cold = cube(40), 0.25, Fraction(1)
    p, q = (sweep_density(x, cold, points) for x in range(2))
    return Case(
        claim,
        partial(sweeps, cold),
        (0, 1),
        lambda y: sweep_density(0, cold, y[:, :3]) > math.exp(epsilon) * sweep_density(1, cold, y[:, :3]),
        profiles.finite(p / p.sum(), q / q.sum()),
        epsilon,
    )


@twin("assignment_gibbs/released_but_called_secret", "secret scan's price for assignments that are shown")
def released_but_called_secret() -> Case:
    """Q = 1 of N = 4 assignments rewritten and all released, priced ln(1 + (Q/N)(e^ε − 1)).

    The record's own assignment was 0. That it is 1 now shows that it was chosen, and says as much of the
    record as if all were: the ratio of that outcome is the update's own.
    """
    heat, share = Fraction(1), Fraction(1, 4)
    laws = responsibilities(heat)
    widest = math.log(laws[:, 1].max() / laws[:, 1].min())
    claim = secret_scan(PureDP(widest), 1, 4)
    log_weights = [MODEL.responsibility(row, heat) for row in MODEL.log_joint(STATE)]

    def after(x: int, runs: int, source: Source) -> NDArray[np.int64]:
        chosen = exact.bernoulli(source, share, runs)
        return np.where(chosen, exact.categorical(source, log_weights[x], runs), 0)

    p, q = (np.array([1 - 0.25 * laws[x, 1], 0.25 * laws[x, 1]]) for x in (1, 0))
    return Case(claim, after, (1, 0), lambda y: y == 1, profiles.finite(p, q), epsilon=float(claim.loss))


@twin("annealed_importance/weights_as_they_are", "importance weights released without noise")
def weights_as_they_are() -> Case:
    """Release the normalised weights themselves: numbers that one record changes, without any noise."""
    kernel = annealed()
    claim = kernel.mover(kernel.betas[-1]).guarantee

    def released(counts: Counts, runs: int, _source: Source) -> NDArray[Any]:
        weights = softmax([float(w) for w in kernel.private_log_weights(PATH, counts)], 1, [0, 0])
        return np.tile(weights, (runs, 1))

    return Case(claim, released, (LEFT, RIGHT), lambda y: y[:, 1] > 0.5, profiles.finite([1, 0], [0, 1]))
