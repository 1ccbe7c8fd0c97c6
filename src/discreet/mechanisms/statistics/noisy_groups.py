"""What GroupedStatistics releases: a noisy statistic of every group. Reading it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from numpy.typing import NDArray

from discreet.mechanisms.released import ReleasedArrays
from discreet.mechanisms.statistics.noisy_statistic import IF_SET, NoisyStatistic
from discreet.models.grouped import Grouped
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee


@final
@dataclass(frozen=True, eq=False)
class NoisyGroups(ReleasedArrays):
    """Ŝ_g = S_g + noise for every group g, a row for each, with the one law of all noise."""

    kind: ClassVar[str] = "noisy_groups"  # what files and the catalogue call it

    model: Grouped  # bound
    noisy: NDArray[Any]  # (groups, numbers), read-only; integers when the noise is; may be negative
    n: int | None  # public; None when it is private
    noise: str
    scale: Exact  # of the noise, in integer units
    guarantee: Guarantee  # of one row, for all groups together
    seeded: bool  # drawn from a public seed, hence not private
    halved: bool = field(default=False, metadata=IF_SET)  # half the variance off a matrix's diagonal

    def __post_init__(self) -> None:
        self._hold("noisy", self.noisy)
        if self.noisy.ndim != 2 or len(self.noisy) != self.model.count:
            raise ValueError(f"the model has {self.model.count} groups, got {self.noisy.shape}")

    def part(self, group: int) -> NoisyStatistic:
        """Return one group's noisy statistic, as if it had been released alone."""
        return NoisyStatistic(
            model=self.model.model,
            noisy=tuple(self.noisy[group].tolist()),
            n=None,
            joint=True,
            noise=self.noise,
            scale=self.scale,
            guarantee=self.guarantee,
            seeded=self.seeded,
            halved=self.halved,
        )
