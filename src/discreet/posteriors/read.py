"""Release → posterior, in one of its readings. Post-processing: costs nothing, sees nothing private."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.catalogue import ROWS, expect, row_of
from discreet.families.family import Family, Floats
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.mechanisms.statistics.noisy_groups import NoisyGroups
from discreet.mechanisms.statistics.noisy_plain import NoisyPlain
from discreet.mechanisms.statistics.noisy_statistic import DEFAULT_READING, NoisyCells, NoisyStatistic, known
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.grouped import Grouped
from discreet.models.model import Model
from discreet.models.plain import PlainNumbers
from discreet.posteriors.labels import family_names, family_variables
from discreet.posteriors.posterior import LEVEL, Diagnostics, Posterior
from discreet.posteriors.tables import TablePosterior
from discreet.posteriors.variables import Variable
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from discreet.families.family import Integers
    from discreet.posteriors.normal.chains import ChainLengths
    from discreet.posteriors.normal.linear_regression import Design


# ── What a release of single posterior draws says: the draws themselves, and no more.
Nested = float | tuple["Nested", ...]


class OnlyDraws(ValueError):  # noqa: N818 - a fact about the release, said in the user's words
    """A summary was asked of a release that holds only draws; the message says which mechanism gives it."""


@final
@dataclass(frozen=True)
class Draws:
    """θ₁, …, θ_q, each paid for. They are drawn from the mechanism's posterior, which stays private."""

    kind: ClassVar[str] = "draws"  # what files and the catalogue call it

    model: Model  # the prior as it was given
    values: tuple[Nested, ...]

    @classmethod
    def of(cls, model: Model, theta: object, *, several: bool) -> Draws:
        array = np.asarray(theta, dtype=np.float64)
        return cls(model, _nested((array if several else array[None]).tolist()))

    @property
    def size(self) -> int:
        return len(self.values)

    def sample(self) -> Floats:
        """Return the released draws; a further one would be a further release."""
        return np.asarray(self.values, dtype=np.float64)


ReleasedValue = NoisyStatistic | NoisyCells | NoisyGroups | NoisyPlain | NoisyMoments | PerturbedFit | Draws


@singledispatch
def as_released_value(drawn: ArrayLike | ReleasedValue, model: Model, *, several: bool) -> ReleasedValue:
    """Turn what a mechanism drew into what is released: θ (one, or several in a row) as Draws."""
    return Draws.of(model, drawn, several=several)


@as_released_value.register(NoisyStatistic)
@as_released_value.register(NoisyCells)
@as_released_value.register(NoisyGroups)
@as_released_value.register(NoisyPlain)
@as_released_value.register(NoisyMoments)
@as_released_value.register(PerturbedFit)
def _released_noisy(drawn: ReleasedValue, model: Model, *, several: bool) -> ReleasedValue:
    """Noisy statistics carry their model and their noise, and are released as they are."""
    del model, several
    return drawn


def _nested(values: list[Any]) -> tuple[Nested, ...]:
    return tuple(_nested(value) if isinstance(value, list) else float(value) for value in values)


# ── A release of single posterior draws as a posterior: the draws themselves, and no more.
@dataclass(frozen=True, eq=False, repr=False)
class DrawnPosterior(Posterior):
    """θ₁, …, θ_q, each paid for; intervals and further draws were not released."""

    draws: Draws

    REFUSED: ClassVar[str] = (
        "{what} of the posterior was not released, only {held} of it: the posterior itself is as private as "
        "the data, and a further draw costs again. Intervals need mechanism='noisy_statistics', which pays "
        "once and is then read freely"
    )

    @property
    def model(self) -> Model:
        return self.draws.model

    @property
    def reading(self) -> str:
        return "draws"

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics("released draws", draws=self.size, ess=float(self.size))

    @property
    def size(self) -> int:
        return self.draws.size

    @property
    def held(self) -> Floats:
        """What was released, (draws, parameters)."""
        return self.draws.sample().reshape(self.size, -1)

    @property
    def _family(self) -> Family:
        return expect(Family, self.model)

    def own_names(self) -> tuple[str, ...]:
        return family_names(self._family, self.held.shape[1], self.labels)

    def arrangement(self) -> tuple[Variable, ...]:
        return family_variables(self._family, self.held.shape[1], self.labels)

    def every_chain(self) -> Floats:
        """Return the draws that were released, as one chain."""
        return self.held[None]

    def prior_sample(self, size: int, source: Source) -> Floats | None:
        return np.asarray(self._family.sample(size, source), dtype=np.float64).reshape(size, -1)

    def flat_mean(self) -> Floats:
        """Average of what was released; an estimate of the posterior mean, exact for no data set."""
        return np.asarray(self.held.mean(axis=0))

    def flat_variance(self) -> NoReturn:
        self._refuse("the variance")

    def flat_interval(self, level: float) -> NoReturn:
        self._refuse(f"the {level:g} interval")

    def sample(self, size: int | None = None, source: Source | None = None) -> xr.DataArray:
        """Return the first `size` released draws, or all; a further draw would be a further release."""
        return super().sample(self.size if size is None else size, source)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        del source
        if not 0 <= size <= self.size:
            self._refuse(f"a sample of {size}")
        return self.held[:size]

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """One row for each parameter: its name, the mean of the draws, and every draw."""
        import pandas as pd  # noqa: PLC0415 - heavy

        del level
        each = {f"draw {i + 1}": row for i, row in enumerate(self.held)}
        return pd.DataFrame({"name": self.names, "mean": self.flat_mean(), **each})

    def _refuse(self, what: str) -> NoReturn:
        held = "one draw" if self.size == 1 else f"{self.size} draws"
        raise OnlyDraws(self.REFUSED.format(what=what, held=held))


# ── Noisy counts → posterior of the model: each model has its reader. Post-processing: costs nothing.
READINGS = ("noise_aware", "naive")

M = TypeVar("M", bound="CountModel")


def cell_posterior(
    cells: NoisyCells, *, model: CountModel | None = None, reading: str = "noise_aware"
) -> TablePosterior:
    """Read noisy counts, also under another prior over the same tables; the same each time."""
    prior = cells.model if model is None else refitted(model, cells)
    return _read(cells, prior, known_reading(reading))


def drawn_posterior(draws: Draws) -> DrawnPosterior:
    """Read posterior draws as what the model makes of them."""
    row = ROWS.get(draws.model.name)
    read = None if row is None else row.load("reader", draws.kind)
    found: DrawnPosterior = DrawnPosterior(draws) if read is None else read(draws, draws.model)
    return found


def known_reading(reading: str) -> str:
    """Return the name of a reading, or refuse it: every reader of counts has these and no other."""
    if reading not in READINGS:
        raise ValueError(f"unknown reading {reading!r}; known: {', '.join(READINGS)}")
    return reading


def refitted(model: M, cells: NoisyCells) -> M:
    """Return the model, bound, if the release holds its very tables: of other columns counts say nothing."""
    released = cells.model
    bound = model if model.sizes or model.columns != released.columns else model.bind(released.size_of)
    if type(bound) is not type(released) or bound.sizes == () or bound.cells != released.cells:
        raise ValueError(
            f"the release holds the tables of {released!r}: read it under a prior of that kind, over the "
            "same columns"
        )
    return bound


@lru_cache(maxsize=8)
def _read(cells: NoisyCells, model: CountModel, reading: str) -> TablePosterior:
    found: TablePosterior = row_of(model).load("reader", cells.kind)(cells, model, reading)
    return found


# ── read
# What a reading may be told: law=, project=, size_prior=, plan=, design=, margins=, …
ReadingOption: TypeAlias = "float | str | Callable[[Integers], ArrayLike] | ChainLengths | Design | None"
DRAWN = "draws"  # the one reading of a release of posterior draws


def reading_of(value: object) -> str:
    """Name the reading that `posterior` gives by default."""
    return DRAWN if isinstance(value, Draws) else DEFAULT_READING


def clips_matter(value: object, reading: str) -> bool:
    """Whether a reading asks if records were clipped at their bounds."""
    if not isinstance(value, NoisyStatistic | NoisyGroups) or reading != DEFAULT_READING:
        return False
    family = value.model.model if isinstance(value, NoisyGroups) else value.model
    return row_of(family).clips


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


@posterior.register(NoisyGroups)
def _posterior_noisy_groups(
    value: NoisyGroups,
    *,
    model: Family | Grouped | None = None,
    reading: str = DEFAULT_READING,
    **options: ReadingOption,
) -> Posterior:
    """Read every group, also under another prior: of the family, or of the same groups."""
    prior = model.model if isinstance(model, Grouped) else model
    asked = value.model if prior is None else replace(value.model, model=prior)
    read: Callable[..., Posterior] = row_of(value.model).load("reader", value.kind)
    return read(value, asked, reading, **options)


@posterior.register(NoisyPlain)
def _posterior_noisy_plain(
    value: NoisyPlain,
    *,
    model: PlainNumbers | None = None,
    reading: str = DEFAULT_READING,
    **options: ReadingOption,
) -> Posterior:
    _refuse(options)
    read: Callable[..., Posterior] = row_of(value.model).load("reader", value.kind)
    return read(value, value.model if model is None else model, reading)


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
    return read(asked, reading=reading, **known(options, read))


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
