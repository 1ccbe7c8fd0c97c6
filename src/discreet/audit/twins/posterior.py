"""Broken twins of the posterior mechanisms: BROKEN ON PURPOSE, never for use."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import exact_profiles as profiles
from discreet.audit import posterior_pairs as pairs
from discreet.audit.case import Case
from discreet.audit.cases.noise import discrete_gaussian_pmf, discrete_laplace_pmf, moved
from discreet.audit.cases.posterior import DRAWS, FAMILIES, HALF, N, posterior_case
from discreet.audit.cases.statistics import TRUNCATION, crossed, exchanged, noisy, sampled
from discreet.audit.twins.twin import EXACT_ONLY, Twins
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.mechanisms.noise.laplace import DiscreteLaplace
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.posterior.draw import simulate
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.posterior.statistical_query import GaussianQuery, query_model
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.guarantee import SUBSTITUTE
from discreet.privacy.kinds import PureDP
from discreet.privacy.worst_pairs.guarantee_of_pair import guarantee_of
from discreet.privacy.worst_pairs.pairs import BetaPairs, DirichletPairs
from discreet.sampling import exact
from discreet.sampling.source import Source

twin = Twins()


@twin("direct/vertex_only", "worst pair sought at simplex vertices only")
def vertex_only() -> Case:
    """Dirichlet(1, 1, 1), checked only where all other records share a changed category [GSC17 A.6.1]."""
    mechanism = DirectPosterior(DirichletCategorical([1, 1, 1]), n=N)
    honest = posterior_case(mechanism, pairs.categorical([1, 1, 1], n=N, r=1))
    return replace(honest, claim=guarantee_of(DirichletPairs(1, 1 + N - 1, 1), SUBSTITUTE))


@twin("diffused/corollary_16", "Corollary 16 as printed: n for rn")
def corollary_16() -> Case:
    """Beta(½, ½), r = ¼, n = 2: pset(η₀, n) as printed weighs the others fully [G20 Cor. 16]."""
    r = Fraction(1, 4)
    mechanism = DiffusedPosterior(BetaBernoulli(HALF, HALF), n=2, r=r)
    neighbours = pairs.bernoulli(0.5, 0.5, n=2, r=0.25)
    honest = posterior_case(mechanism, neighbours, epsilon=0.25)
    printed = BetaPairs(HALF, HALF, r, 2 - r, 2 - r)  # α + β = prior + n in place of prior + rn
    return replace(honest, claim=guarantee_of(printed, SUBSTITUTE))


def knob_forgotten(kind: str, family: str = "beta") -> Case:
    """Claim what the knob buys and draw without it."""
    model, neighbours = FAMILIES[family]
    broken = posterior_case(DirectPosterior(model, n=N), neighbours(1, 1))
    return replace(broken, claim=DRAWS[kind][0](model).guarantee)


twin("diffused/full_weight", "records weighed 1 for r")(partial(knob_forgotten, "diffused"))
twin("concentrated/prior_as_is", "prior not divided by m")(
    partial(knob_forgotten, "concentrated", "dirichlet")
)
for kind in DRAWS.keys() - {"direct", "diffused", "concentrated"}:
    twin(f"{kind}/knob_forgotten", "drawn without its knob")(partial(knob_forgotten, kind))


@twin("posterior_draws/price_of_one", "four draws for the price of one")
def many_for_the_price_of_one() -> Case:
    """Four draws of a normal mean under the guarantee of one: μ doubles."""
    one = DirectPosterior(FAMILIES["normal_mean"][0], n=N)

    def four(statistic: list[int], runs: int, source: Source) -> NDArray[Any]:
        return np.asarray(simulate(one, statistic, 4 * runs, source)).reshape(runs, 4)

    return Case(
        one.guarantee,
        four,
        ([8], [0]),
        lambda y: y.mean(axis=1) > 1 / 16 + 1.0 * (1 / 256) / (1 / 8),
        profiles.normal(2.0),
    )


@twin("statistical_query/not_clipped", "φ is not held to [0, 1]")
def query_not_clipped() -> Case:
    """φ(x) = 2 for one record, counted as two successes: Beta(2+1, 3+r·0) in all but name."""
    claim = DiffusedPosterior(query_model(2, 3), n=N, r=HALF).guarantee
    broken = DiffusedPosterior(FAMILIES["binomial"][0], n=N, r=HALF)  # records of two trials
    neighbours = FAMILIES["binomial"][1](1, 0.5)
    return replace(posterior_case(broken, neighbours), claim=claim)


def too_cold(truncation: Fraction, temperature: Fraction) -> Case:
    """Beta(1, 1), n = 4, claimed ε = 1; the event is where ln p/q = s logit θ − ln Z_P/Z_Q exceeds 1."""
    broken = OnePosteriorSample(BetaBernoulli(1, 1), n=N, truncation=truncation, temperature=temperature)
    s, lower = 1 / float(temperature), float(truncation)
    left, right = (1 + s, 1 + s * (N - 1)), (1.0, 1 + s * N)
    return Case(
        PureDP(1),
        partial(sampled, broken),
        ([1], [0]),
        lambda p: p > profiles.truncated_beta_threshold(left, right, lower, 1.0),
        profiles.truncated_beta(left, right, lower),
    )


@twin("one_posterior_sample/half_the_temperature", "T = Δ/ε", EXACT_ONLY)
def half_the_temperature() -> Case:
    """T = Δ/ε instead of 2Δ/ε on [¼, ¾], where Δ = ln 3"""
    return too_cold(Fraction(1, 4), Fraction(math.log(3)))


@twin("one_posterior_sample/not_tempered", "T = 1")
def not_tempered() -> Case:
    """Draw from the posterior itself on [⅛, ⅞]: 2Δ = 2 ln 7 = 3.9, and 1 is claimed."""
    return too_cold(TRUNCATION, Fraction(1))


def both_counts(noise: str, claim_at: float) -> Case:
    """Noise for sensitivity 1 on the d counts, where one record moves two; laws rise in the difference."""
    broken = NoisyStatistics(DirichletCategorical([1, 1, 1]), n=N, noise=noise, scale=1)
    claim = NoisyStatistics(BetaBernoulli(1, 1), n=N, noise=noise, scale=1).guarantee
    law = {"discrete_laplace": discrete_laplace_pmf, "discrete_gaussian": discrete_gaussian_pmf}[noise]
    return Case(
        claim,
        partial(noisy, broken),
        (([4, 0, 0], None), ([3, 1, 0], None)),
        lambda s: s[:, 0] - s[:, 1] >= 5,
        exchanged(law(1.0)),
        epsilon=claim_at,
    )


@twin("laplace_query/grid_step", "one grid step taken for the sensitivity")
def grid_step_as_sensitivity() -> Case:
    """Noise made for one step of a grid of ½, where a record moves a query by two."""
    noise, pmf = DiscreteLaplace(1, 1), discrete_laplace_pmf(1.0)
    return Case(
        noise.guarantee, noise.releases, (2, 0), lambda y: y >= 2, profiles.finite(moved(pmf, 2), pmf)
    )


@twin("gaussian_query/quarter_of_the_variance", "a quarter of the variance")
def variance_without_the_two() -> Case:
    """Variance Δ²/(4ρ) where Δ²/(2ρ) is due."""
    claim = GaussianQuery(float, n=2, rho=Fraction(1, 2)).guarantee
    step = 2**10

    def answers(total: int, runs: int, source: Source) -> NDArray[Any]:
        return total + exact.discrete_gaussian(source, step**2 // 4, runs) / step

    return Case(claim, answers, (1, 0), lambda y: y > 0.75, profiles.normal(2.0))


@twin("metropolis/claimed_pure", "a reject has no bounded ratio")
def metropolis() -> Case:
    """One tempered Metropolis step from θ = 0 to 1, accepted with min(1, e^u), |Δu| ≤ ½, claimed ε = 1.

    At u = 0 a reject never happens, at u = −½ with 1 − e^{−½}: no ε bounds that ratio [F16 suppl. C.1].
    """

    def step(u: Fraction, runs: int, source: Source) -> NDArray[Any]:
        return exact.bernoulli_exp(source, max(-u, Fraction(0)), runs).astype(np.int64)

    stay = -math.expm1(-0.5)
    return Case(
        PureDP(1),
        step,
        (Fraction(-1, 2), Fraction(0)),
        lambda theta: theta == 0,
        profiles.finite([stay, 1 - stay], [0, 1]),
    )


twin("noisy_statistics/laplace_on_two_counts", "sensitivity 1 for 2")(
    lambda: both_counts("discrete_laplace", 1.0)
)
twin("noisy_statistics/halved_twice", "products of two columns get a quarter of the variance")(
    lambda: crossed(0.25)
)
twin("noisy_statistics/gaussian_on_two_counts", "sensitivity 1 for √2")(
    lambda: both_counts("discrete_gaussian", 1.5)
)
