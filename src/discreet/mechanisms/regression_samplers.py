"""How a regression posterior is drawn from, and what each way promises: Langevin, rejection, proximal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from discreet.mechanisms.record_cap import AllRecords, PublicSize, RecordCap, Size
from discreet.mechanisms.regression_langevin import LangevinRun
from discreet.privacy.approximate_sampler import approximate
from discreet.privacy.guarantee import NotProved, Unreachable
from discreet.privacy.guarantees import ApproxDP
from discreet.privacy.langevin import exact_draw

if TYPE_CHECKING:
    from discreet.mechanisms.potential import Potential
    from discreet.mechanisms.regression_draw import RegressionDraw
    from discreet.models.margin_losses import Floats
    from discreet.privacy.certified import Exact
    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source


@dataclass(frozen=True)
class RegressionSampler(ABC):
    """One way to draw w ~ e^{−U}, U = ρΣφ(x_i·w, y_i) + (m/2)‖w‖²."""

    theorem: ClassVar[str]

    @abstractmethod
    def size(self, n: int | None, most: int | None) -> Size:
        """Return how many records count, or refuse what the proof needs and was not given."""

    @abstractmethod
    def promised_at(self, target: Guarantee) -> Exact | None:
        """Return the ε where the promise is made, for samplers that make it at one only."""

    @abstractmethod
    def guarantee(self, asked: RegressionDraw) -> Guarantee:
        """Promise of one draw."""

    @abstractmethod
    def draw(self, asked: RegressionDraw, potential: Potential, size: int, source: Source) -> Floats:
        """Return `size` independent draws, one a row."""


@final
@dataclass(frozen=True)
class LastIterate(RegressionSampler):
    """A: GaussianDP, no total-variation term, a running time that is public."""

    theorem: ClassVar[str] = "BSA24 Thm 3.1, rounding paid for"

    def size(self, n: int | None, most: int | None) -> Size:
        if n is None and most is None:
            raise ValueError(
                "n sets the step size; it must be public or capped by a public bound: give most=… (beyond it "
                "every record counts less, so the promise holds for any n), or use SUBSTITUTE"
            )
        return _counted(n, most)

    def promised_at(self, target: Guarantee) -> None:
        del target

    def guarantee(self, asked: RegressionDraw) -> Guarantee:
        return self.run(asked).chain.guarantee(asked.relation)

    def draw(self, asked: RegressionDraw, potential: Potential, size: int, source: Source) -> Floats:
        return self.run(asked).draw(potential, size, source)

    def run(self, asked: RegressionDraw) -> LangevinRun:
        return LangevinRun(asked.model, asked.size, asked.weight, asked.strength, asked.relation)


@final
@dataclass(frozen=True)
class NearExact(RegressionSampler):
    """B and C: within a proved total variation τ of the exact law, whose μ² is (ρΔ)²/m; δ grows."""

    home: str
    theorem: ClassVar[str] = "GLL22 Thm 4.1; total variation by approximate_sampler"

    def size(self, n: int | None, most: int | None) -> Size:
        return _counted(n, most)

    def promised_at(self, target: Guarantee) -> Exact:
        if not isinstance(target, ApproxDP):
            raise Unreachable(
                f"a sampler that is near exact promises (ε, δ), which never implies {target}: ask for an "
                "ApproxDP target, or leave the sampler to 'langevin'"
            )
        return target.loss

    def guarantee(self, asked: RegressionDraw) -> Guarantee:
        if asked.at is None:
            raise NotProved(
                f"sampler={asked.sampler!r} promises (ε, δ) at one ε: give at=ε, or calibrate to an ApproxDP "
                "target; sampler='langevin' is Gaussian DP"
            )
        square = asked.model.gradient_square(asked.relation) * (asked.weight * asked.size.moved) ** 2
        ideal = exact_draw(square, asked.strength, asked.relation)
        return approximate(ideal, self.total_variation(asked), epsilon=asked.at)

    def total_variation(self, asked: RegressionDraw) -> float:
        bound: float = self._module.total_variation(
            asked.model, asked.size.read, asked.weight, asked.strength
        )
        return bound

    def draw(self, asked: RegressionDraw, potential: Potential, size: int, source: Source) -> Floats:
        del asked
        return np.stack([self._module.draw(potential, source) for _ in range(size)])

    @property
    def _module(self) -> Any:  # noqa: ANN401
        return import_module(f"discreet.mechanisms.{self.home}")


def _counted(n: int | None, most: int | None) -> Size:
    if n is not None:
        if most is not None:
            raise ValueError("n is public, so most says nothing: leave it out")
        return PublicSize(n)
    return AllRecords() if most is None else RecordCap(most)


SAMPLERS: dict[str, RegressionSampler] = {
    "langevin": LastIterate(),
    "rejection": NearExact("regression_rejection"),
    "proximal": NearExact("regression_proximal"),
}
