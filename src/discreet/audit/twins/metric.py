"""Broken twins of one draw under a metric."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case
from discreet.audit.cases.metric import LARGEST, WAITS, below, location_law, simplex_draws, wait_draws
from discreet.audit.cases.statistics import TRUNCATION, N
from discreet.audit.twins.twin import EXACT_ONLY, Twins
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.laplace_location import LaplaceLocation
from discreet.mechanisms.posterior.metric_sample import MetricSample
from discreet.privacy.under_metric.distances import AbsoluteDifference, Hamming
from discreet.privacy.under_metric.promise import MetricDP

twin = Twins()


@twin("metric_sample/lipschitz_constant_once", "L claimed for a ratio of two, which moves 2L", EXACT_ONLY)
def lipschitz_constant_once() -> Case:
    """Claim L/T where the average of the likelihood moves as well: half of what is right."""
    right = MetricSample.calibrate(
        BetaBernoulli(1, 1), n=N, target=MetricDP(2, metric=Hamming()), truncation=TRUNCATION
    )
    s, lower = 1 / float(right.temperature), float(TRUNCATION)
    left, other = (1 + s, 1 + s * (N - 1)), (1.0, 1 + s * N)
    return Case(
        MetricDP(1, metric=Hamming()),
        partial(simplex_draws, right),
        ([1], [0]),
        lambda p: p > profiles.truncated_beta_threshold(left, other, lower, 1.0),
        profiles.truncated_beta(left, other, lower),
    )


@twin("laplace_location/quarter_of_the_scale", "a quarter of the scale that the claim needs")
def quarter_of_the_scale() -> Case:
    """Draw on scale ½, which costs 4 per unit of distance, and claim 1."""
    broken = LaplaceLocation(0, 4, scale=Fraction(1, 2), grid=Fraction(1, 4))
    left, right = np.zeros(3), np.array([0.0, 0, 1])
    laws = (location_law(np.arange(17) / 4, x, 0.5) for x in (left, right))
    return Case(
        MetricDP(1, metric=AbsoluteDifference(Fraction(1, 4))),
        broken.releases,
        (right, left),
        lambda y: y >= 1,
        profiles.finite(*[*laws][::-1]),
    )


@twin("metric_sample/not_tempered", "T = 1 on rates up to 3, and 1 is claimed")
def not_tempered() -> Case:
    broken = MetricSample(
        model=WAITS, n=N, truncation=LARGEST, temperature=1, relation=AbsoluteDifference(1).relation
    )
    left, right = (1.0 + N, 4.0), (1.0 + N, 5.0)
    return Case(
        MetricDP(1, metric=AbsoluteDifference(Fraction(1))),
        partial(wait_draws, broken),
        ([0], [1]),
        lambda x: x > 2.4,
        below(left, right, float(LARGEST)),
    )
