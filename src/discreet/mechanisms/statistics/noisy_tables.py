"""What NoisyCounts releases. Reading it is post-processing: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

from numpy.typing import NDArray

from discreet.mechanisms.released import ReleasedArrays
from discreet.models.count_model import CountModel
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee


@final
@dataclass(frozen=True, eq=False)
class NoisyCells(ReleasedArrays):
    """Ĉ = C + noise for every table, with the noise law: enough to read it any honest way."""

    kind: ClassVar[str] = "noisy_counts"  # what files and the catalogue call it

    model: CountModel  # bound
    noisy: NDArray[Any]  # flat, read-only; integers when the noise is; may be negative
    n: int | None  # public; None when it is private
    noise: str
    scales: tuple[Exact, ...]  # one for each table; σ for the Gaussian kinds
    guarantee: Guarantee  # of one row
    seeded: bool  # drawn from a public seed, hence not private

    def __post_init__(self) -> None:
        self._hold("noisy", self.noisy)
        _ = self.model.split(self.noisy)

    def tables(self) -> dict[str, NDArray[Any]]:
        """Noisy counts by the table's name, in its shape."""
        return self.model.split(self.noisy)

    def scale_of(self) -> dict[str, float]:
        """Table → noise scale."""
        return {cells.name: float(scale) for cells, scale in zip(self.model.cells, self.scales, strict=True)}
