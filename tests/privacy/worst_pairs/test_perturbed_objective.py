"""The profile of objective perturbation against hockey-stick divergences by quadrature, both relations."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.cases.objective import Ideal, Pair
from discreet.privacy.accounting.conversions import gaussian_delta
from discreet.privacy.arithmetic.ball import ball
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import ApproxDP, GaussianDP
from discreet.privacy.worst_pairs.perturbed_objective import LogisticObjective, SmoothObjective

EPSILONS = (0.01, 0.1, 0.3, 1.0, 3.0)
QUADRATURE = 1e-7


def normal(mu, epsilon):
    return float(gaussian_delta(ball(mu), ball(epsilon)).mid())


def ideal(rows, strength, noise, dimension=1):
    return Ideal(tuple(rows), strength, noise, 1e9, dimension)


def worst(pairs, epsilon):
    return max(profile(epsilon) for profile in pairs)


BASES = [(), ((-1.0,),) * 2, ((1.0,), (-1.0,)), ((0.3,),) * 3]


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("ratio", [0.3, 3.0])
def test_one_record_more_or_less_in_one_dimension(mu, ratio):
    claim = LogisticObjective(Fraction(mu) ** 2, Fraction(0), Fraction(ratio), ADD_REMOVE)
    pairs = []
    for base in BASES:
        more = ideal((*base, (1.0,)), 1 / ratio, 1 / mu)
        less = ideal(base, 1 / ratio, 1 / mu)
        pairs += [Pair(more, less).profile(), Pair(less, more).profile()]
    ratios = [max(worst(pairs, e) - QUADRATURE, 0) / claim.delta(e) for e in EPSILONS]
    print(f"μ = {mu}, c²/λ = {ratio}: exact over claimed δ", np.round(ratios, 4))  # noqa: T201 - to be read
    assert max(ratios) <= 1


@pytest.mark.parametrize(("mu", "ratio"), [(0.3, 0.5), (1.0, 4.0), (2.0, 2.0)])
def test_one_record_in_place_of_another_in_two_dimensions(mu, ratio):
    # In one dimension the two slopes add up to 1; at a right angle, and nearly opposed, they need not.
    claim = LogisticObjective(Fraction(mu) ** 2, Fraction(0), Fraction(ratio), SUBSTITUTE)
    ways = [(0.0, 1.0), (-1.0, 0.0), (-0.9, math.sqrt(0.19)), (0.6, 0.8)]
    noise = 2 / mu
    first = ideal(((1.0, 0.0),), 1 / ratio, noise, 2)
    pairs = [Pair(first, ideal((way,), 1 / ratio, noise, 2)).profile() for way in ways]
    ratios = [max(worst(pairs, e) - QUADRATURE, 0) / claim.delta(e) for e in EPSILONS]
    print(f"μ = {mu}, c²/λ = {ratio}: exact over claimed δ", np.round(ratios, 4))  # noqa: T201 - to be read
    assert max(ratios) <= 1


def test_a_lambda_below_its_condition_exceeds_the_gaussian_profile():
    # Negative control: μ = 0.3, λ = c²/20 where δ(1) ≤ δ_μ(1) asks for λ ≥ c²/(1 + μ²/2).
    more, less = ideal(((1.0,),), 1 / 20, 1 / 0.3), ideal((), 1 / 20, 1 / 0.3)
    found = Pair(more, less).profile()(1.0)
    assert found > 100 * normal(0.3, 1.0)
    assert found < LogisticObjective(Fraction(9, 100), Fraction(0), Fraction(20), ADD_REMOVE).delta(1)


def test_the_excess_vanishes_where_the_rules_say():
    mu2, e = Fraction(1, 10), Fraction(1)
    for relation, times in ((ADD_REMOVE, 1), (SUBSTITUTE, 2)):
        at = (e + mu2 / 2) / times  # c²/λ with λ = times·c²/(ε + μ²/2)
        assert LogisticObjective(mu2, Fraction(0), at, relation).excess(e) == 0
        assert LogisticObjective(mu2, Fraction(0), at * Fraction(21, 20), relation).excess(e) > 0


def test_enough_strength_is_gaussian():
    for relation, wanted in ((ADD_REMOVE, Fraction(1, 2)), (SUBSTITUTE, Fraction(3, 8))):
        enough = LogisticObjective(Fraction(1), Fraction(1, 5), wanted, relation)
        assert enough.guarantee(1) == GaussianDP.from_square(Fraction(6, 5), relation=relation)
        short = LogisticObjective(Fraction(1), Fraction(1, 5), wanted * Fraction(101, 100), relation)
        assert isinstance(short.guarantee(1), ApproxDP)


def test_substitution_of_the_normal_law_splits_with_equality():
    # δ_{2s}(e) = δ_s((e−s²)/2) + e^{(e−s²)/2} δ_s((e+s²)/2), on which the path through the union rests.
    for s in (0.1, 0.5, 1.0):
        for e in (0.05, 0.3, 1.0, 2.0):
            first, second = (e - s * s) / 2, (e + s * s) / 2
            split = normal(s, first) + math.exp(first) * normal(s, second)
            assert math.isclose(split, normal(2 * s, e), rel_tol=1e-9)


@pytest.mark.parametrize("relation", [ADD_REMOVE, SUBSTITUTE])
def test_releases_that_follow_are_integrated(relation):
    # E[δ*(ε − X₂)] by a sum over X₂ in doubles; δ* from the profile without X₂, mirrored below 0.
    mu2, others, ratio, epsilon = Fraction(1, 4), Fraction(1, 25), Fraction(3, 2), 1.0
    alone = LogisticObjective(mu2, Fraction(0), ratio, relation)
    claim = LogisticObjective(mu2, others, ratio, relation)
    x = np.linspace(-1.2, 1.2, 241) + float(others) / 2
    weights = np.exp(-((x - float(others) / 2) ** 2) / 2 / float(others))
    weights /= weights.sum()

    def star(e):
        return alone.delta(e) if e > 0 else 1 - math.exp(e) + math.exp(e) * alone.delta(-e)

    summed = sum(w * star(epsilon - v) for w, v in zip(weights, x, strict=True))
    assert math.isclose(summed, claim.delta(epsilon), rel_tol=2e-3)
    assert claim.delta(epsilon) > normal(math.sqrt(claim.total), epsilon)


def test_a_loss_of_bounded_bend_pays_the_determinant():
    claim = SmoothObjective(Fraction(1, 4), Fraction(0), Fraction(1, 2), ADD_REMOVE)
    assert math.isclose(claim.delta(1), normal(0.5, 1 - math.log(1.5)), rel_tol=1e-9)
    assert claim.delta(0.4) == 1  # below h nothing is proved
    assert not claim.gaussian
    # The logistic loss is one: ratio = ¼c²/λ. Its own profile must be below this one, and above the exact.
    mu, a = 0.5, 2.0
    more, less = ideal(((1.0,),), 1 / a, 1 / mu), ideal((), 1 / a, 1 / mu)
    exact = max(Pair(more, less).profile()(1.0), Pair(less, more).profile()(1.0))
    assert exact <= SmoothObjective(Fraction(mu) ** 2, Fraction(0), Fraction(a) / 4, ADD_REMOVE).delta(1)


NODES = np.linspace(-20, 20, 8001)


def huber(s, ratio, centre=None):
    """Density of λθ̃/σ without a record, or with one of slope clip(κ(θ − centre), ±1); b is normal."""
    if centre is None:
        image, bend = NODES, 1.0
    else:
        slope = ratio * (NODES - centre) / s
        image, bend = NODES + s * np.clip(slope, -1, 1), 1 + ratio * (np.abs(slope) < 1)
    return np.exp(-(image**2) / 2) / math.sqrt(2 * math.pi) * bend


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (NODES[1] - NODES[0]))


def test_a_slope_of_either_sign_tells_from_both_sides():
    # One record less, μ = 4, κc²/λ = 4, ε = 12: both tails lie beyond where the slope is full. The bound that
    # knows one sign only, δ(ε − h), is exceeded; twice δ(ε) is attained (to 1e-3, the quadrature's error).
    exact = hockey_stick(huber(4, 4), huber(4, 4, 0.0), 12)
    claim = SmoothObjective(Fraction(16), Fraction(0), Fraction(4), ADD_REMOVE).delta(12)
    assert exact > 1.05 * normal(4, 12 - math.log(5))
    assert math.isclose(exact, claim, rel_tol=1e-3)


@pytest.mark.parametrize(("s", "ratio"), [(0.3, 0.2), (1.0, 1.0), (3.0, 8.0)])
def test_a_bent_loss_of_either_sign_holds_its_claim(s, ratio):
    some, other, none = huber(s, ratio, 0.5), huber(s, ratio, -1.0), huber(s, ratio)
    one = SmoothObjective(Fraction(s) ** 2, Fraction(0), Fraction(ratio), ADD_REMOVE)
    two = SmoothObjective(Fraction(2 * s) ** 2, Fraction(0), Fraction(ratio), SUBSTITUTE)
    for epsilon in (s, 2 * s, 4 * s + s * s):
        for p, q, claim in ((some, none, one), (none, some, one), (some, other, two), (other, some, two)):
            assert hockey_stick(p, q, epsilon) <= claim.delta(epsilon) + QUADRATURE


def test_smooth_losses_pay_for_the_far_side_of_what_follows():
    alone = SmoothObjective(Fraction(1, 4), Fraction(0), Fraction(1, 2), ADD_REMOVE)
    more = replace(alone, others=Fraction(1, 4))
    inner = 1 - math.log(1.5)
    beyond = math.erfc((inner - 1 / 8) / math.sqrt(1 / 2)) / 2
    assert math.isclose(more.delta(1), normal(math.sqrt(1 / 2), inner) + beyond, rel_tol=1e-9)
    beyond = math.erfc((inner + 1 / 16 - 1 / 8) / math.sqrt(1 / 2)) / 2
    expected = 2 * normal(math.sqrt(1 / 2), inner) + beyond
    assert math.isclose(replace(more, relation=SUBSTITUTE).delta(1), expected, rel_tol=1e-9)


def test_numbers_that_mean_nothing_are_refused():
    for wrong in ((0, 0, 1), (1, -1, 1), (1, 0, 0)):
        with pytest.raises(ValueError, match="above 0"):
            LogisticObjective(*(Fraction(v) for v in wrong))
