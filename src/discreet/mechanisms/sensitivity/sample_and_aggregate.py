"""Any function at all, privately: run it on disjoint blocks, aggregate the answers privately [NRS07 §4]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import Mechanism, whole
from discreet.mechanisms.noise.clipped_mean import ClippedMean
from discreet.mechanisms.sensitivity.median import Interval
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.mechanisms.user_functions import NUMERIC, made_up, private_answer, rehearse
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.arithmetic.curves import upward
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee
from discreet.privacy.kinds import ApproxDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source


class Aggregator(Protocol):
    """A mechanism on bounded numbers: SmoothSensitivityMedian, ClippedMean, ProposeTestRelease."""

    @property
    def interval(self) -> Interval: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def release(self, value: ArrayLike, source: Source | None = None) -> Any: ...  # noqa: ANN401 - number or None

    @property
    def tail_bound(self) -> Callable[..., float]: ...  # (t, and what else its own bound asks for)


def partition(source: Source, n: int, blocks: int) -> list[NDArray[np.int64]]:
    """Split n records uniformly at random into blocks whose sizes differ by ≤ 1 (Fisher, Yates 1938)."""
    order = np.arange(n)
    for last in range(n - 1, 0, -1):
        other = int(exact.uniform_integers(source, last + 1, 1)[0])
        order[last], order[other] = order[other], order[last]
    return np.array_split(order, blocks)


@final
@dataclass(frozen=True)
class SampleAndAggregate(Mechanism):
    """Aggregate f(block_1), …, f(block_B): one record changes one block, so the aggregator's guarantee holds.

    The split does not look at the data. A block on which f fails or gives no finite number counts as the
    lower bound: an error would be a release that nobody pays for. So f is first tried on made-up rows of the
    same shape and type, or on `example`, and refused if it fails there. What is released is clamped to the
    aggregator's public bounds.
    """

    function: Callable[[Any], float]
    blocks: int
    aggregator: Aggregator
    example: Any = field(default=None, compare=False)  # made-up rows, public
    name: ClassVar[str] = "sample_and_aggregate"
    theorem: ClassVar[str] = "NRS07 Thm 4.2 (sample and aggregate); the aggregator's own"

    def __post_init__(self) -> None:
        whole(self.blocks, "the number of blocks")
        if self.aggregator.guarantee.relation is not SUBSTITUTE:
            raise ValueError(
                "the aggregator must be for SUBSTITUTE: one record changes the answer of one block"
            )

    @classmethod
    def calibrate(
        cls,
        function: Callable[[Any], float],
        *,
        n: int,
        target: Guarantee,
        lower: Exact,
        upper: Exact,
        blocks: int | None = None,
        example: object = None,
    ) -> Self:
        """Meet the target with ⌊√n⌋ blocks unless told: a median where δ > 0, else a clipped mean."""
        count = math.isqrt(whole(n, "the number of records")) if blocks is None else blocks
        aggregator: Aggregator
        if isinstance(target, ApproxDP) and target.slack > 0:
            aggregator = SmoothSensitivityMedian.calibrate(target=target, lower=lower, upper=upper)
        else:
            aggregator = ClippedMean.calibrate(target=target, lower=lower, upper=upper, records=count)
        return cls(function, count, aggregator, example)

    @property
    def guarantee(self) -> Guarantee:
        return self.aggregator.guarantee

    def release(self, value: ArrayLike, source: Source | None = None) -> float | None:
        """Split the rows at random, apply the function to each block, aggregate; None if the test refuses."""
        rows = np.asarray(value)
        if rows.ndim == 0 or len(rows) < self.blocks:
            raise ValueError(f"{self.blocks} blocks need at least as many records; n is public here")
        rehearse(self.function, self._made_up(rows))
        parts = partition(source or SYSTEM, len(rows), self.blocks)
        answers = np.array([self._answer(rows[part]) for part in parts])
        aggregate = self.aggregator.release(answers, source)
        return None if aggregate is None else float(self.aggregator.interval.clamped(np.array(aggregate)))

    def tail_bound(self, probability_above: Exact, *public: Exact) -> float:
        """P(|release − the aggregate of the answers| ≥ bound) ≤ t, never more than the width of the bounds.

        `public` is what the aggregator's own bound asks for: the smooth sensitivity, for a median.
        """
        bounds = self.aggregator.interval
        width = upward(Fraction(bounds.upper) - Fraction(bounds.lower))
        return min(self.aggregator.tail_bound(probability_above, *public), width)

    def _made_up(self, rows: NDArray[Any]) -> object:
        if self.example is not None:
            return self.example
        if rows.dtype.kind not in NUMERIC:
            raise ValueError(
                "rows that are not numbers cannot be made up to try the function on: give example=, made-up "
                "rows like those of one block"
            )
        return made_up((len(rows) // self.blocks, *rows.shape[1:]), rows.dtype)

    def _answer(self, block: NDArray[Any]) -> float:
        return private_answer(self.function, block, float(self.aggregator.interval.lower))
