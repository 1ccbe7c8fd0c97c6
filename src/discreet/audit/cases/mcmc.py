"""Cases of the Markov kernels: one step on one record, which is where neighbours differ most."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, Cases
from discreet.audit.cases.noise import softmax
from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker, accepted
from discreet.mcmc.kernel import Counts
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk
from discreet.mcmc.running.endings import NoisyWeights
from discreet.mcmc.target import UNIT, CellTarget
from discreet.privacy.guarantee import SUBSTITUTE
from discreet.sampling import exact
from discreet.sampling.source import Source

Floats = NDArray[np.float64]


case = Cases()

LEFT, RIGHT = np.array([1, 0]), np.array([0, 1])  # one record, in the one cell or the other
HERE, THERE = np.array([0.0]), np.array([1.0])


def two_points(log_prior: float) -> CellTarget:
    """θ ∈ {0, 1}: a move to 1 adds ½ for a record of the first cell and takes ½ for one of the second."""
    return CellTarget(
        columns=("x",),
        shape=(2,),
        labels=("theta",),
        log_likelihood=lambda t: [[-0.5, 0.0], [0.0, -0.5]][int(t[0])],
        log_prior_density=lambda t: [0.0, log_prior][int(t[0])] if t[0] in {0.0, 1.0} else -math.inf,
        draw_prior=lambda source: exact.uniform_integers(source, 2, 1),
        lower=-0.5,
        upper=0,
    )


def odds(kernel: Barker | Metropolis, counts: Counts) -> Fraction:
    """Log-odds of the move from 0 to 1."""
    u = kernel.target.log_odds((HERE, THERE), counts, kernel.heat, kernel.walk.width)
    assert u is not None
    return u


def bits(kernel: Barker, counts: Counts, runs: int, source: Source) -> NDArray[Any]:
    """Accept bits of many first steps."""
    return accepted(source, odds(kernel, counts), runs)


@case("barker")
def barker() -> Case:
    """Log-odds u and u − 1; the prior makes δ(½) of 1-bounded range attained, as in `exponential`."""
    ratio = math.exp(0.75)
    base = math.log((math.e - ratio) / (ratio - 1)) - 0.5
    kernel = Barker(target=two_points(base), walk=CoordinateWalk(1, 1))
    return Case(
        kernel.guarantee,
        partial(bits, kernel),
        (LEFT, RIGHT),
        lambda y: y,
        profiles.finite(softmax([1, 0], 1, [base - 0.5, 0]), softmax([0, 0], 1, [base - 0.5, 0])),
        epsilon=0.5,
    )


@case("metropolis")
def metropolis() -> Case:
    """Log-odds −½ reject with 1 − e^{−½}, 0 never: the whole δ at every ε [F16 suppl. Thm C.1]."""
    kernel = Metropolis(target=two_points(-0.25), walk=CoordinateWalk(1, 1), temperature=2, delta=0.5)
    stay = -math.expm1(-0.5)

    def stays(counts: Counts, runs: int, source: Source) -> NDArray[Any]:
        refusal = max(-odds(kernel, counts), Fraction(0))
        return ~exact.bernoulli_exp(source, refusal, runs)

    return Case(
        kernel.guarantee,
        stays,
        (RIGHT, LEFT),
        lambda y: y,
        profiles.finite([stay, 1 - stay], [0, 1]),
        epsilon=0.5,
    )


# ── Gibbs: two classes, one binary column, one record ──

PRIOR = Fraction(1, 16)  # little: then the ends of every interval are likely, where neighbours differ most
MODEL = Mixture(
    classes=2, columns=("x",), shape=(2,), truncation=Fraction(1, 4), weight=PRIOR, emission=PRIOR
)
LOWER = 1 / 8
STATE = np.array([0.5, 0.5, 0.875, 0.125, 0.125, 0.875])  # the classes explain the two cells well


def responsibilities(heat: Fraction) -> Floats:
    """P(z = k | x), one row a value of x."""
    weights = np.exp(MODEL.log_joint(STATE) * float(UNIT / heat))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def density(first: float, second: float, x: Floats) -> Floats:
    """Beta(prior + first, prior + second) on [1/8, 7/8]."""
    a, b = float(PRIOR) - 1 + first, float(PRIOR) - 1 + second
    grid = LOWER + (np.arange(4000) + 0.5) / 4000 * (1 - 2 * LOWER)
    mass = (grid**a * (1 - grid) ** b).mean() * (1 - 2 * LOWER)
    return np.asarray(x**a * (1 - x) ** b / mass)


def blocks(found: tuple[int, int], heat: Fraction, runs: int, source: Source) -> Floats:
    a, b = (PRIOR + Fraction(e) / heat for e in found)
    return exact.truncated_beta(source, a, b, Fraction(1, 8), Fraction(7, 8), runs)


def sweeps(heat: Fraction, x: int, runs: int, source: Source) -> Floats:
    """Rows (π₀, θ₀, θ₁, z) of many sweeps from STATE on one record: MixtureGibbs.step in batches."""
    log_weights = MODEL.responsibility(MODEL.log_joint(STATE)[x], heat)
    z = exact.categorical(source, log_weights, runs)
    drawn = np.empty((runs, 4))
    for k in range(2):
        chosen = np.flatnonzero(z == k)
        mine, none = (int(x == 0), int(x == 1)), (0, 0)
        for column, found in enumerate(
            ((int(k == 0), int(k == 1)), *((mine, none) if k == 0 else (none, mine)))
        ):
            drawn[chosen, column] = blocks(found, heat, chosen.size, source)
    drawn[:, 3] = z
    return drawn


def sweep_density(x: int, heat: Fraction, at: Floats) -> Floats:
    """P(π₀, θ₀, θ₁) with z summed out; `at` has them in its last axis."""
    s = 1 / float(heat)
    first, second = s * (x == 0), s * (x == 1)
    mine = [density(first, second, at[..., 1 + k]) for k in range(2)]
    none = density(0, 0, at[..., 0])
    chances = responsibilities(heat)[x]
    weights = [density(s * (k == 0), s * (k == 1), at[..., 0]) for k in range(2)]
    return np.asarray(sum(chances[k] * weights[k] * mine[k] * none for k in range(2)))


def cube(side: int) -> Floats:
    edge = LOWER + (np.arange(side) + 0.5) / side * (1 - 2 * LOWER)
    return np.stack(np.meshgrid(edge, edge, edge, indexing="ij"), axis=-1).reshape(-1, 3)


@case("mixture_gibbs")
def mixture_gibbs() -> Case:
    """One sweep, assignments forgotten: three numbers leave."""
    kernel = MixtureGibbs(model=MODEL, temperature=2)
    points, epsilon = cube(40), 0.25
    p, q = (sweep_density(x, kernel.heat, points) for x in range(2))
    return Case(
        kernel.guarantee,
        partial(sweeps, kernel.heat),
        (0, 1),
        lambda y: (
            sweep_density(0, kernel.heat, y[:, :3])
            > math.exp(epsilon) * sweep_density(1, kernel.heat, y[:, :3])
        ),
        profiles.finite(p / p.sum(), q / q.sum()),
        epsilon,
    )


def assigned_density(x: int, heat: Fraction, z: int, theta: Floats) -> Floats:
    """P(z, θ_z): the rest of the sweep has the same law on both sides, given z."""
    s = 1 / float(heat)
    return np.asarray(responsibilities(heat)[x, z] * density(s * (x == 0), s * (x == 1), theta))


def assignment_ratio(y: Floats, heat: Fraction) -> Floats:
    z = y[:, 3].astype(np.int64)
    theta = y[np.arange(len(y)), 1 + z]
    left, right = (
        np.where(z == 0, assigned_density(x, heat, 0, theta), assigned_density(x, heat, 1, theta))
        for x in range(2)
    )
    return np.asarray(left / right)


@case("assignment_gibbs")
def assignment_gibbs() -> Case:
    """Release the assignment of the same sweep too."""
    kernel = AssignmentGibbs(model=MODEL, records=1, temperature=4)
    edge, epsilon = LOWER + (np.arange(4000) + 0.5) / 4000 * (1 - 2 * LOWER), 0.25
    p, q = (np.concatenate([assigned_density(x, kernel.heat, z, edge) for z in range(2)]) for x in range(2))
    return Case(
        kernel.guarantee,
        partial(sweeps, kernel.heat),
        (0, 1),
        lambda y: assignment_ratio(y, kernel.heat) > math.exp(epsilon),
        profiles.finite(p / p.sum(), q / q.sum()),
        epsilon,
    )


# ── annealed importance sampling: the step that releases the weights ──


def annealed(**more: object) -> AnnealedImportance:
    return AnnealedImportance(
        target=two_points(0.0),
        walk=CoordinateWalk(1, 1),
        inverse_temperatures=(1,),
        particles=2,
        **more,  # type: ignore[arg-type]
    )


PATH = np.array([1.0, 0.0, 1.0, 0.0, 1.0, np.nan, np.nan])  # particles at 0 and 1, which stayed there


@case("annealed_importance")
def annealed_importance() -> Case:
    """Log weights (−½, 0) against (0, −½): a range of 2βΔ = 1."""
    kernel = annealed()

    def chosen(counts: Counts, runs: int, source: Source) -> NDArray[Any]:
        log_weights = kernel.private_log_weights(PATH, counts)
        return exact.categorical(source, log_weights, runs)

    ((claim, _),) = kernel.ending.parts(kernel.weight_range, 2, SUBSTITUTE)
    return Case(
        claim,
        chosen,
        (LEFT, RIGHT),
        lambda y: y == 1,
        profiles.finite(softmax([0, 1], 0.5, [0, 0]), softmax([1, 0], 0.5, [0, 0])),
        epsilon=0.25,
    )


@case("annealed_importance/noisy_weights")
def noisy_weights() -> Case:
    """All weight on the one particle against all on the other: where both noisy weights point one way."""
    ending = NoisyWeights(1)
    mechanism, full = ending.mechanism(2, SUBSTITUTE), 2**20

    def released(first: int, runs: int, source: Source) -> NDArray[Any]:
        shares = np.array([first, full - first])
        return np.stack([mechanism.releases(int(s), runs, source) for s in shares], axis=1)

    loss = float(2 * full / Fraction(mechanism.scale))
    corner = (1 / (1 + math.exp(-1 / float(mechanism.scale)))) ** 2
    return Case(
        ending.parts(Fraction(1), 2, SUBSTITUTE)[0][0],
        released,
        (full, 0),
        lambda y: (y[:, 0] >= full) & (y[:, 1] <= 0),
        lambda epsilon: corner * max(0.0, -math.expm1(epsilon - loss)),
    )
