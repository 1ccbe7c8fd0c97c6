"""Every registered family through the posterior mechanisms: calibrated and never exceeded, or refused."""

import itertools
import math

import numpy as np
import pytest

from discreet.families.registry import EXAMPLES
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.guarantee import SUBSTITUTE, NotProved
from discreet.privacy.kinds import ApproxDP, RenyiDP
from discreet.sampling.source import SeededSource


def proved(model):
    try:
        model.worst_case(4, relation=SUBSTITUTE)
    except NotProved:
        return False
    return True


COVERED = [(model, data) for model, data in EXAMPLES if proved(model)]
REFUSED = [model for model, _ in EXAMPLES if not proved(model)]
SCALAR = [(model, data) for model, data in COVERED if np.ndim(model.mean()) == 0]


def name(value):
    return getattr(value, "name", "")


def test_both_kinds_exist():
    assert len(COVERED) >= 8
    assert len(REFUSED) >= 3


@pytest.mark.parametrize("model", REFUSED, ids=name)
@pytest.mark.parametrize("target", [ApproxDP(1, 1e-6), RenyiDP.at(2, 0.1)], ids=repr)
def test_families_without_a_proved_pair_are_refused_and_told_the_way_out(model, target):
    with pytest.raises(NotProved, match="NoisyStatistics"):
        DirectPosterior(model, n=4)
    for kind in (DiffusedPosterior, ConcentratedPosterior):
        with pytest.raises(NotProved, match="NoisyStatistics"):
            kind.calibrate(model, n=4, target=target)


@pytest.mark.parametrize(("model", "data"), COVERED, ids=name)
@pytest.mark.parametrize("target", [ApproxDP(1, 1e-6), RenyiDP.at(2, 0.1)], ids=repr)
def test_calibrated_to_either_target_and_drawn_from(model, data, target):
    n = len(data)
    for kind in (DiffusedPosterior, ConcentratedPosterior):
        mechanism = kind.calibrate(model, n=n, target=target)
        assert mechanism.guarantee <= target
        draw = mechanism.release(model.statistic(data), SeededSource(1))
        assert np.all(np.isfinite(draw))


@pytest.mark.parametrize(("model", "data"), COVERED, ids=name)
@pytest.mark.parametrize("knob", [0.3, 1.0, 2.0**-20])
def test_scaling_the_pair_is_scaling_the_family(model, data, knob):
    base = model.worst_case(30, relation=SUBSTITUTE)
    lighter = base.reweighted(prior=1, step=knob)
    assert lighter is None or lighter == model.worst_case(30, step=knob, relation=SUBSTITUTE)
    assert ConcentratedPosterior(model, n=30, m=0.25).worst == model.scale_prior(4).worst_case(
        30, relation=SUBSTITUTE
    )


def hockey_stick(p, q, epsilon):
    """δ(ε) of two scalar laws by the midpoint rule on their common support: exact to about 1e-5."""
    low, high = np.min([f.interval(1 - 1e-9) for f in (p, q)]), np.max([f.interval(1 - 1e-9) for f in (p, q)])
    edges = np.linspace(low, high, 20001)
    x, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    return (
        np.maximum(np.exp(p.log_density(x)) - math.exp(epsilon) * np.exp(q.log_density(x)), 0).sum() * width
    )


@pytest.mark.parametrize(("model", "data"), SCALAR, ids=name)
def test_no_neighbours_among_the_examples_exceed_the_claim(model, data):
    mechanism = DiffusedPosterior(model, n=3, r=0.25)
    values = sorted({min(data), max(data), data[len(data) // 2]})
    worst = 0.0
    for rest in itertools.combinations_with_replacement(values, 2):
        for x, y in itertools.permutations(values, 2):
            laws = [mechanism._private_posterior(model.statistic([*rest, z])) for z in (x, y)]
            worst = max(worst, hockey_stick(*laws, 0.25))
    claimed = mechanism.guarantee.delta(0.25)
    assert worst <= claimed * (1 + 1e-3) + 1e-5
    # the examples hold both bounds of a record, so the claim is nearly attained (Beta–Geometric's is a bound)
    assert worst > (0.3 if model.name == "beta_geometric" else 0.6) * claimed
