"""What OnePosteriorSample asks of a family on the simplex, and the three ways to temper it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import singledispatch
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.beta_binomial import BetaBinomial
from discreet.families.exact_fields import exactly
from discreet.families.family import Family
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.privacy.guarantee import NotProved
from discreet.sampling.source import SYSTEM, Source

Entries = tuple[Fraction, ...]
Draw = Callable[["Source", Entries, Fraction, int], "NDArray[Any]"]


class Temper(Enum):
    """What is raised to the power 1/T. Only the likelihood depends on data, so 2Δ/T holds for each."""

    LIKELIHOOD = "likelihood"  # Beta(α + k/T, …): the prior stays
    JOINT = "joint"  # the joint density in θ: Beta((k + α − 1)/T + 1, …)
    NATURAL = "natural"  # the natural parameters over T: Beta((k + α)/T, …), [G20 eq. 4.13] read literally

    def entry(self, alpha: Fraction, temperature: Fraction) -> Fraction:
        """One entry of the tempered prior."""
        match self:
            case Temper.LIKELIHOOD:
                return alpha
            case Temper.JOINT:
                return (alpha - 1) / temperature + 1
            case Temper.NATURAL:
                return alpha / temperature


@final
@dataclass(frozen=True)
class TruncatedPosterior:
    """Dirichlet(entries) on {θ_i ≥ lower}; with two entries of a Beta family, the law of θ₁ alone."""

    entries: Entries
    lower: Fraction
    draw: Draw

    def sample(self, size: int, source: Source | None = None) -> NDArray[Any]:
        return self.draw(source or SYSTEM, self.entries, self.lower, size)


@final
@dataclass(frozen=True)
class SimplexPrior:
    """A Dirichlet (or, with two entries, Beta) prior, how many trials one record holds, and how to draw."""

    entries: Entries
    trials: int
    draw: Draw

    def tempered(self, temper: Temper, temperature: Fraction) -> SimplexPrior:
        return replace(self, entries=tuple(temper.entry(a, temperature) for a in self.entries))


@singledispatch
def simplex_prior(model: Family) -> SimplexPrior:
    raise NotProved(
        f"OnePosteriorSample truncates Beta and Dirichlet posteriors, not that of {type(model).__name__}; "
        "NoisyStatistics covers every family, DiffusedPosterior those with a proved worst pair"
    )


@simplex_prior.register
def _simplex_prior_beta_bernoulli(model: BetaBernoulli) -> SimplexPrior:
    return SimplexPrior((exactly(model.alpha), exactly(model.beta)), 1, _truncated_beta)


@simplex_prior.register
def _simplex_prior_beta_binomial(model: BetaBinomial) -> SimplexPrior:
    return SimplexPrior((exactly(model.alpha), exactly(model.beta)), model.trials, _truncated_beta)


@simplex_prior.register
def _simplex_prior_dirichlet_law(model: DirichletLaw) -> SimplexPrior:
    return SimplexPrior(
        tuple(map(exactly, model.alpha.tolist())), model.total_per_record, _truncated_dirichlet
    )


def _truncated_beta(source: Source, entries: Entries, lower: Fraction, size: int) -> NDArray[Any]:
    from discreet.sampling import exact  # noqa: PLC0415 - loads the exact samplers on first use

    return exact.truncated_beta(source, entries[0], entries[1], lower, 1 - lower, size)


def _truncated_dirichlet(source: Source, entries: Entries, lower: Fraction, size: int) -> NDArray[Any]:
    from discreet.sampling import exact  # noqa: PLC0415 - loads the exact samplers on first use

    return exact.truncated_dirichlet(source, np.array(entries, dtype=object), lower, size)
