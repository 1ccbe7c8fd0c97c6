"""How a regression posterior is drawn from, and what each way promises: Langevin, rejection, proximal."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.mechanisms.regression.samplers.langevin import LangevinRun
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.models.margin_losses import Floats
from discreet.privacy.amplification.iteration import exact_draw
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.mechanisms.regression.draws import RegressionDraw


@dataclass(frozen=True)
class RegressionSampler(ABC):
    """One way to draw w ~ e^{−U}, U = ρΣφ(x_i·w, y_i) + (m/2)‖w‖²."""

    theorem: ClassVar[str]

    @abstractmethod
    def promised_at(self, target: Guarantee) -> Exact | None:
        """Return the ε where the promise is made, for samplers that make it at one only."""

    @abstractmethod
    def guarantee(self, asked: RegressionDraw) -> Guarantee:
        """Promise of one draw."""

    @abstractmethod
    def draw(self, asked: RegressionDraw, potential: Potential, size: int, source: Source) -> Floats:
        """Return `size` independent draws, one per row."""

    def refuse_endless(self, asked: RegressionDraw) -> None:  # noqa: B027 - most samplers end
        """Refuse, by public numbers and so before any charge, a draw that would not end in useful time."""


@final
@dataclass(frozen=True)
class LastIterate(RegressionSampler):
    """A: GaussianDP, no total-variation term, a running time that is public."""

    theorem: ClassVar[str] = "BSA24, shifted interpolation; rounding paid for"

    def promised_at(self, target: Guarantee) -> None:
        if target.epsilon(0) < math.inf:
            raise Unreachable(
                "Langevin's last iterate is never pure DP (its privacy loss is unbounded): ask for an "
                "ApproxDP, GaussianDP, ZeroCDP or RenyiDP.at target"
            )

    def guarantee(self, asked: RegressionDraw) -> Guarantee:
        return self.run(asked).chain.guarantee(asked.relation)

    def draw(self, asked: RegressionDraw, potential: Potential, size: int, source: Source) -> Floats:
        return self.run(asked).draw(potential, size, source)

    def run(self, asked: RegressionDraw) -> LangevinRun:
        return LangevinRun(
            asked.model,
            asked.size,
            asked.weight,
            asked.strength,
            asked.relation,
            Fraction(asked.remembered),
        )


@dataclass(frozen=True)
class NearExact(RegressionSampler):
    """Near the exact law, whose μ² is (ρΔ)²/m, by a number that holds for every data set: (ε, δ) at one ε."""

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
        from discreet.mechanisms.regression.samplers.rejection import nearly  # noqa: PLC0415 - only when asked for

        return nearly(exact_draw(square, asked.strength, asked.relation), self.closeness(asked), asked.at)

    @abstractmethod
    def closeness(self, asked: RegressionDraw) -> tuple[float, float]:
        """(ε₀, δ₀), how near the exact law the draws are on every data set."""


@final
@dataclass(frozen=True)
class Rejection(NearExact):
    """B: exact but for rounding. Its running time depends on the data."""

    theorem: ClassVar[str] = (
        "GLL22, Gaussian DP of a strongly log-concave draw; rounding as (ε₀, δ₀)-closeness"
    )

    def closeness(self, asked: RegressionDraw) -> tuple[float, float]:
        from discreet.mechanisms.regression.samplers import rejection as home  # noqa: PLC0415

        return home.closeness(asked.model, asked.size.read, asked.weight, asked.strength)

    def refuse_endless(self, asked: RegressionDraw) -> None:
        from discreet.mechanisms.regression.samplers import rejection as home  # noqa: PLC0415

        home.refuse_endless(asked.model, asked.size.usual, asked.weight, asked.strength)

    def draw(self, asked: RegressionDraw, potential: Potential, size: int, source: Source) -> Floats:
        del asked
        from discreet.mechanisms.regression.samplers import rejection as home  # noqa: PLC0415

        return home.draws(potential, size, source)


@final
@dataclass(frozen=True)
class Proximal(NearExact):
    """C: a chain that has come near the exact law by a number proved for every data set."""

    theorem: ClassVar[str] = (
        "GLL22; CCSW22 under a log-Sobolev inequality, and rounding, as (ε₀, δ₀)-closeness"
    )

    def closeness(self, asked: RegressionDraw) -> tuple[float, float]:
        from discreet.mechanisms.regression.samplers import proximal as home  # noqa: PLC0415

        return home.closeness(asked.model, asked.size.read, asked.weight, asked.strength)

    def draw(self, asked: RegressionDraw, potential: Potential, size: int, source: Source) -> Floats:
        del asked
        from discreet.mechanisms.regression.samplers import proximal as home  # noqa: PLC0415

        return np.stack([home.draw(potential, source) for _ in range(size)])


SAMPLERS: dict[str, RegressionSampler] = {
    "langevin": LastIterate(),
    "rejection": Rejection(),
    "proximal": Proximal(),
}
