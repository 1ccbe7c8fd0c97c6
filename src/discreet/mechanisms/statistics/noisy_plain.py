"""What NoisyNumbers releases: plain numbers with noise on them, and the law of that noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

from numpy.typing import NDArray

from discreet.mechanisms.released import ReleasedArrays
from discreet.models.plain import PlainNumbers
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee


@final
@dataclass(frozen=True, eq=False)
class NoisyPlain(ReleasedArrays):
    """Ŝ = S + noise of one law on every number; unbiased, and so perhaps below zero."""

    kind: ClassVar[str] = "noisy_numbers"  # what files and the catalogue call it

    model: PlainNumbers  # bound
    noisy: NDArray[Any]  # flat, read-only; integers when the noise is
    n: int | None  # public; None when it is private
    noise: str
    scale: Exact  # of the noise; σ for the Gaussian kinds
    guarantee: Guarantee  # of one row
    seeded: bool  # drawn from a public seed, hence not private

    def __post_init__(self) -> None:
        self._hold("noisy", self.noisy)
