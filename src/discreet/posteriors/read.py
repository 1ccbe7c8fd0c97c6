"""Release → posterior, in one of its readings. Post-processing: costs nothing, sees nothing private."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING, TypeAlias

from discreet.catalogue import expect, row_of
from discreet.families.family import Family
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.mechanisms.statistics.noisy_statistic import DEFAULT_READING, NoisyStatistic
from discreet.mechanisms.statistics.noisy_tables import NoisyCells
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.model import Model
from discreet.posteriors.counts_read import cell_posterior, drawn_posterior
from discreet.posteriors.draws import Draws
from discreet.posteriors.posterior import Posterior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.families.family import Integers
    from discreet.posteriors.normal.chains import ChainLengths
    from discreet.posteriors.normal.linear_regression import Design

# What a reading may be told: law=, project=, size_prior=, plan=, design=, margins=, …
ReadingOption: TypeAlias = "float | str | Callable[[Integers], ArrayLike] | ChainLengths | Design | None"
DRAWN = "draws"  # the one reading of a release of posterior draws


def reading_of(value: object) -> str:
    """Name the reading that `posterior` gives by default."""
    return DRAWN if isinstance(value, Draws) else DEFAULT_READING


@singledispatch
def posterior(
    value: object,
    *,
    model: Model | None = None,
    reading: str = DEFAULT_READING,
    **options: ReadingOption,
) -> Posterior:
    """Read a released value under a prior; `reading` names one of noisy_statistic.READINGS."""
    del model, reading, options
    raise TypeError(f"no posterior is known for a released {type(value).__name__}")


@posterior.register(NoisyStatistic)
def _posterior_noisy_statistic(
    value: NoisyStatistic,
    *,
    model: Family | None = None,
    reading: str = DEFAULT_READING,
    **options: ReadingOption,
) -> Posterior:
    prior = model
    if isinstance(model, BayesianLinearRegression) and isinstance(value.model, BayesianLinearRegression):
        prior = model.like(value.model)
    return expect(Posterior, value.read(model=prior, reading=reading, **options))


@posterior.register(NoisyCells)
def _posterior_noisy_cells(
    value: NoisyCells,
    *,
    model: CountModel | None = None,
    reading: str = DEFAULT_READING,
    **options: ReadingOption,
) -> Posterior:
    _refuse(options)
    return cell_posterior(value, model=model, reading=reading)


@posterior.register(PerturbedFit)
@posterior.register(NoisyMoments)
def _posterior_perturbed_fit_or_noisy_moments(
    value: PerturbedFit | NoisyMoments,
    *,
    model: GeneralizedLinear | None = None,
    reading: str = DEFAULT_READING,
    **options: ReadingOption,
) -> Posterior:
    """Read a regression, also under another guess of ‖w‖."""
    read: Callable[..., Posterior] = row_of(value.model).load("reader", value.kind)
    asked = value if model is None else replace(value, model=_refitted(model, value.model))
    return read(asked, reading=reading, **options)


def _refitted(model: GeneralizedLinear, released: GeneralizedLinear) -> GeneralizedLinear:
    bound = model if model.design else model.bind(released.design)
    if type(bound) is not type(released) or replace(bound, radius=released.radius) != released:
        raise ValueError(
            f"the release was made for {released!r}: read it under the same model with another radius"
        )
    return bound


@posterior.register(Draws)
def _posterior_draws(
    value: Draws,
    *,
    model: Family | None = None,
    reading: str = DEFAULT_READING,
    **options: ReadingOption,
) -> Posterior:
    _refuse(options)
    if model is not None or reading not in {DEFAULT_READING, DRAWN}:
        raise ValueError(
            "a release of posterior draws was made under its prior and has one reading; only noisy "
            "statistics can be read under another prior or in another way"
        )
    return drawn_posterior(value)


def _refuse(options: Mapping[str, object]) -> None:
    if options:
        raise ValueError(f"the reading of this release takes no options, got {', '.join(sorted(options))}")
