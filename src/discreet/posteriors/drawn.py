"""A release of single posterior draws as a posterior: the draws themselves, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np

from discreet.catalogue import expect
from discreet.families.family import Family, Floats
from discreet.models.model import Model
from discreet.posteriors.draws import Draws, OnlyDraws
from discreet.posteriors.labels import family_names, family_variables
from discreet.posteriors.posterior import LEVEL, Diagnostics, Posterior
from discreet.posteriors.variables import Variable
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


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
