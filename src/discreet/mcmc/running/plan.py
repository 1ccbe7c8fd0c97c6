"""How long a run will be and what that costs, before anything is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from discreet.mcmc.kernel import Kernel
from discreet.numerics.search import bisect, bracket, integers
from discreet.privacy.accounting.composition import compose_counted
from discreet.privacy.arithmetic.ball import round_down
from discreet.privacy.guarantee import Guarantee, NotProved, Unreachable

HOTTEST = 2.0**60
BITS = 40  # significant bits of a temperature found by calibration


@final
@dataclass(frozen=True)
class ChainPlan:
    """`chains` chains of `steps` steps; every state of every chain is released."""

    kernel: Kernel
    steps: int
    chains: int = 4

    def __post_init__(self) -> None:
        for what, value in (("steps", self.steps), ("chains", self.chains)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{what} must be a whole number of at least 1, got {value!r}")
        if self.kernel.length not in {None, self.steps}:
            raise ValueError(
                f"a run of {self.kernel.name} has {self.kernel.length} steps, which its settings fix; "
                f"got steps={self.steps}"
            )

    @property
    def guarantee(self) -> Guarantee:
        """Chains look at the same records, so they compose."""
        return self.after(self.steps)

    def after(self, steps: int) -> Guarantee:
        """Return what the first steps of every chain promise together."""
        return compose_counted([(self.kernel.spent(steps), self.chains)])

    def longest(self, fits: Callable[[Guarantee], bool]) -> int:
        """Most steps, up to the planned ones, whose promise fits; 0 when not even one does."""
        return bisect(lambda steps: fits(self.after(steps)), self.steps + 1, 0, integers)


def calibrate(kernel: Kernel, *, steps: int, target: Guarantee, chains: int = 4) -> Kernel:
    """Coldest temperature (40 significant bits, rounded up) at which the whole plan meets the target."""

    def meets(temperature: float) -> bool:
        try:
            return ChainPlan(kernel.at(temperature), steps, chains).guarantee <= target
        except NotProved:  # a kernel that promises nothing when so cold
            return False

    found = bracket(meets, 0.0, 1.0, lambda x: 4 * x, lambda x: x >= HOTTEST)
    if found is None:
        raise Unreachable(f"no temperature up to 2⁶⁰ brings {steps} steps of {chains} chains to {target}")
    return kernel.at(bisect(meets, *found, _between))


def _between(low: float, high: float) -> float | None:
    """Round the middle up to few significant bits, so that parameters stay short."""
    middle = (low + high) / 2
    down = round_down(middle, BITS)
    up = down if down == middle else down + math.ldexp(1.0, math.frexp(down)[1] - BITS)
    return up if high - low > high * 2.0 ** -(BITS - 1) and low < up < high else None
