"""What a step of a private chain promises, against its law computed by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk
from discreet.mcmc.simplex import truncated_simplex
from discreet.mcmc.target import CellTarget
from discreet.privacy.accounting.composition import compose, repeat
from discreet.privacy.json import from_json, to_json
from discreet.privacy.kinds import BoundedRange, MixedRange, PureDP
from discreet.sampling import exact
from discreet.sampling.source import SeededSource

# θ ∈ {−1, 0, 1}: one cell likes −1, the other 1, by ½ a step; the prior decides how likely moves are at all
LOG = {-1: (0.0, -1.0), 0: (-0.5, -0.5), 1: (-1.0, 0.0)}


def barker(lean):
    target = CellTarget(
        columns=("x",),
        shape=(2,),
        labels=("theta",),
        log_likelihood=lambda t: LOG[int(t[0])],
        log_prior_density=lambda t: lean * abs(float(t[0])) if t[0] in {-1.0, 0.0, 1.0} else -math.inf,
        draw_prior=lambda source: exact.uniform_integers(source, 3, 1) - 1.0,
        lower=-1,
        upper=0,
        lipschitz=Fraction(1, 2),
    )
    return Barker(target=target, walk=CoordinateWalk(1, 1))


def law(kernel, counts):
    """P(next state | 0): the walk proposes −1, 0 and 1 alike, and staying may be any of them."""
    moves = {}
    for to in (-1, 1):
        pair = np.array([0.0]), np.array([float(to)])
        u = float(kernel.target.log_odds(pair, np.array(counts), kernel.heat, kernel.walk.width))
        moves[to] = 1 / (1 + math.exp(-u)) / 3
    return [moves[-1], 1 - sum(moves.values()), moves[1]]


def losses(kernel):
    """Privacy loss of each next state, for one record of the first cell against one of the second."""
    return [math.log(p / q) for p, q in zip(law(kernel, [1, 0]), law(kernel, [0, 1]), strict=True)]


@pytest.mark.parametrize("lean", [-3.0, -1.0, 0.0, 1.0, 3.0])
def test_the_losses_of_a_barker_step_lie_in_the_promised_range(lean):
    kernel = barker(lean)
    found = losses(kernel)
    assert max(found) - min(found) <= kernel.guarantee.range_bound
    assert max(map(abs, found)) <= kernel.guarantee.epsilon(0)


def test_a_barker_step_has_a_wider_range_than_its_bit_given_the_proposal():
    kernel = barker(-1.0)
    found = losses(kernel)
    bit = float(kernel.sensitivity)
    assert max(found) - min(found) > 1.2 * bit  # so BoundedRange(bit), which was promised, is false
    assert not kernel.guarantee <= BoundedRange(bit)
    assert kernel.guarantee <= BoundedRange(2 * bit)
    assert kernel.guarantee <= PureDP(bit)


@pytest.mark.parametrize("lean", [-2.0, 0.0, 0.7])
def test_the_profile_and_curve_of_a_barker_step_hold(lean):
    kernel = barker(lean)
    P, Q = law(kernel, [1, 0]), law(kernel, [0, 1])
    for p, q in ((P, Q), (Q, P)):
        for epsilon in (0.0, 0.1, 0.3, 0.6, 0.9):
            assert sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True)) <= (
                kernel.guarantee.delta(epsilon) + 1e-12
            )
        for order in (1.5, 2.0, 8.0):
            power = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
            assert math.log(power) / (order - 1) <= kernel.guarantee.renyi(order) + 1e-12


def test_the_wider_range_is_kept_by_everything_that_handles_promises():
    one = MixedRange(0.5)
    assert from_json(to_json(one)) == one
    assert one.group(3) == MixedRange(1.5)
    assert one <= MixedRange(0.5)
    assert BoundedRange(0.5) <= one
    assert not one <= BoundedRange(0.99)
    assert one <= BoundedRange(1)
    for delta in (0, 1e-6, 1e-2):
        assert one.epsilon(delta) == BoundedRange(0.5).epsilon(delta)
        assert repeat(one, 50).epsilon(delta) == repeat(BoundedRange(0.5), 50).epsilon(delta)
    assert compose(one, one).range_bound == 2
    assert repeat(one, 1) == one  # a run of one step promises no more than the step


def test_gibbs_steps_that_forget_a_coin_do_not_promise_a_range_either():
    model = Mixture(classes=2, columns=("x",), shape=(2,), truncation=Fraction(1, 5))
    kernels = (MixtureGibbs(model=model), AssignmentGibbs(model=model, records=4))
    for kernel, hidden in zip(kernels, (2, 1), strict=True):
        parts = kernel.guarantee.parts
        assert sum(n for part, n in parts if isinstance(part, MixedRange)) == hidden
    alone = Mixture(classes=1, columns=("x",), shape=(2,), truncation=Fraction(1, 5))
    assert isinstance(MixtureGibbs(model=alone).guarantee, BoundedRange)  # no class, no coin


@pytest.mark.parametrize("levels", [3, 30, 100])
@pytest.mark.parametrize("share", [Fraction(99, 100), Fraction(1, 2)])
def test_rounded_tables_keep_to_the_bounds_that_the_price_rests_on(levels, share):
    """One entry takes all there is to take: 1 − (J−1)a₀ to 2⁻³², and rounding must not lift it above."""
    lower = share / levels
    upper = 1 - (levels - 1) * lower
    alpha = [Fraction(10**14)] + [Fraction(1)] * (levels - 1)
    for seed in range(3):
        drawn = truncated_simplex(alpha, lower, SeededSource(seed))
        assert all(lower <= Fraction(x) <= upper for x in drawn.tolist())
    ends = exact.truncated_dirichlet(SeededSource(9), alpha, lower, 20, 8)  # a coarse grid shows it at once
    assert all(lower <= Fraction(x) <= upper for x in ends.reshape(-1).tolist())
