"""Broken twins of profile mechanisms, diffusions and noisy SGD: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.local import (
    CATEGORIES,
    CHAIN,
    TWO,
    profile_case,
    sgd,
    sgd_case,
    tiered_gaussian,
)
from discreet.audit.twins.twin import Twins
from discreet.mechanisms.local.profile_base import ProfileMechanism
from discreet.mechanisms.local.profile_bits import Flips, OneBitCluster, SmoothOneBit, TwoProfileBit
from discreet.mechanisms.local.profile_categorical import KeepOrRedraw, SmoothCategorical
from discreet.mechanisms.noise.ornstein_uhlenbeck import OrnsteinUhlenbeck, TieredGaussian
from discreet.privacy.kinds import GaussianDP, PureDP
from discreet.sampling.source import Source

twin = Twins()


def claimed(broken: ProfileMechanism) -> Case:
    """Claim ε = ½ on the mechanism's own graph."""
    return profile_case(broken, PureDP(0.5, relation=broken.graph.relation), 0.5)


@twin("two_profile_bit/half_the_flips", "half the flips")
def half_the_flips() -> Case:
    honest = TwoProfileBit.solve(TWO, 0.5)
    broken = replace(honest, kernels=Flips.of([a / 2 for a in honest.flip]))
    return claimed(broken)


@twin("one_bit_cluster/least_of_the_edges", "a smaller edge's flip for all")
def least_of_the_edges() -> Case:
    """Flip for a far smaller edge than the component's largest."""
    honest = OneBitCluster.solve(CHAIN, 0.5)
    broken = replace(honest, kernels=Flips.of([0.2 * a for a in honest.flip]))
    return claimed(broken)


@twin("smooth_one_bit/too_few_flips", "fewer flips than asked for")
def too_few_flips() -> Case:
    """Flip less than the program asks for."""
    honest = SmoothOneBit.solve(CHAIN, 0.5)
    broken = replace(honest, kernels=Flips.of([0.01 + 0.3 * a for a in honest.flip]))
    return claimed(broken)


@twin("smooth_categorical/one_redraw_for_all", "one law to draw afresh from")
def one_redraw_for_all() -> Case:
    """Every profile draws afresh from the first one's law."""
    kernels = SmoothCategorical.solve(CATEGORIES, 0.5).kernels
    assert isinstance(kernels, KeepOrRedraw)
    broken = SmoothCategorical(CATEGORIES, replace(kernels, redraw=(kernels.redraw[0],) * 3))
    return claimed(broken)


@twin("ornstein_uhlenbeck/noise_shrunk_only", "the answer is not shrunk")
def noise_shrunk_only() -> Case:
    """Shrink the noise, and not the answer."""
    broken = OrnsteinUhlenbeck(1, Fraction(1, 4), 1)
    return Case(GaussianDP(1), broken.releases, (1, 0), lambda y: y > 0.5 + 1 / 16, profiles.normal(4.0))


@twin("tiered_gaussian/fresh_noise_for_each", "independent noise for each audience")
def fresh_noise_for_each() -> Case:
    """Independent noise for each audience: together they average it away."""
    made = TieredGaussian(1, (1, 1.5, 4))
    precision = np.array([1.0, 1 / 1.5**2, 1 / 16])

    def drawn(value: int, size: int, source: Source) -> NDArray[np.float64]:
        return np.column_stack([made.tier(k).releases(value, size, source) for k in range(3)])

    mu = float(np.sqrt(precision.sum()))
    return replace(
        tiered_gaussian(),
        run=drawn,
        event=lambda y: y @ precision > precision.sum() / 2 + 1.0,
        exact_delta=profiles.normal(mu),
    )


@twin("noisy_projected_sgd/first_for_all", "the first record's promise for all")
def claims_the_first_for_the_last() -> Case:
    """Give the promise of the first record to all: here to one in a run of one step, which nothing hides."""
    broken = sgd(2.0, 1)
    return sgd_case(broken, sgd(2.0, 3).run.at_index(1), 0)
