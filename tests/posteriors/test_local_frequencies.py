"""Debiased frequencies: unbiased, and intervals that cover."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.local.profile_bits import Flips, OneBitCluster
from discreet.mechanisms.local.profile_categorical import LARGEST_ERROR, KeepOrRedraw, SmoothCategorical
from discreet.posteriors.local_frequencies import frequencies
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling.source import SeededSource

BITS = ProfileGraph.chain([0.1, 0.5, 0.9])
ROLES = ProfileGraph.chain([[0.2, 0.3, 0.4, 0.1], [0.3, 0.3, 0.3, 0.1], [0.4, 0.4, 0.1, 0.1]])
MADE = [
    (OneBitCluster.solve(BITS, 0.5), 0, [0.8, 0.2]),
    (SmoothCategorical.solve(ROLES, 0.2), 2, [0.4, 0.3, 0.2, 0.1]),
    (SmoothCategorical.solve(ROLES, 0.2, objective=LARGEST_ERROR), 0, [0.1, 0.2, 0.3, 0.4]),
]


@pytest.mark.parametrize(("mechanism", "place", "truth"), MADE)
def test_intervals_cover_and_the_naive_ones_do_not(mechanism, place, truth):
    """300 data sets of 2000 observations: at level .9 at least 252 are covered but for chance 1e-4 or less.

    Reading the released values as they are (the negative control) covers almost never.
    """
    plain = SmoothCategorical(mechanism.graph, KeepOrRedraw(Fraction(1), mechanism.graph.profiles))
    rng, source, covered, naive, total = np.random.default_rng(3), SeededSource(4), 0, 0, np.zeros(len(truth))
    for _ in range(300):
        released = mechanism.release(rng.choice(len(truth), size=2000, p=truth), source, profile=place)
        found, misread = (frequencies(m, released, profile=place) for m in (mechanism, plain))
        total += found.estimate
        covered += bool(np.all((found.lower <= truth) & (truth <= found.upper)))
        naive += bool(np.all((misread.lower <= truth) & (truth <= misread.upper)))
    assert covered >= 252
    assert naive <= 60
    assert total / 300 == pytest.approx(truth, abs=0.02)


def test_bad_input_is_refused():
    mechanism = MADE[0][0]
    for released, words in (([], "at least one"), ([2], "0 to 1"), ([0.5], "integers")):
        with pytest.raises(ValueError, match=words):
            frequencies(mechanism, released, profile=0)
    with pytest.raises(ValueError, match="level"):
        frequencies(mechanism, [0, 1], profile=0, level=1.0)
    coin = OneBitCluster(BITS, Flips.of([0.5, 0.5, 0.5]))
    with pytest.raises(ValueError, match="forgets everything"):
        frequencies(coin, [0, 1], profile=0)
