"""Any function at all, privately: run it on disjoint blocks, aggregate the answers privately [NRS07 §4]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, final

import numpy as np

from discreet.mechanisms.checks import non_empty, whole
from discreet.mechanisms.mechanism import Mechanism
from discreet.privacy.guarantee import SUBSTITUTE
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.mechanisms.median import Interval
    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source


class Aggregator(Protocol):
    """A mechanism on bounded numbers: SmoothSensitivityMedian, ClippedMean, ProposeTestRelease."""

    @property
    def interval(self) -> Interval: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def release(self, value: ArrayLike, source: Source | None = None) -> Any: ...  # noqa: ANN401 - number or None


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
    lower bound: an error would be a release that nobody pays for.
    """

    function: Callable[[Any], float]
    blocks: int
    aggregator: Aggregator
    name: ClassVar[str] = "sample_and_aggregate"
    theorem: ClassVar[str] = "NRS07 Thm 4.2 (sample and aggregate); the aggregator's own"

    def __post_init__(self) -> None:
        whole(self.blocks, "the number of blocks")
        if self.aggregator.guarantee.relation is not SUBSTITUTE:
            raise ValueError(
                "the aggregator must be for SUBSTITUTE: one record changes the answer of one block"
            )

    @property
    def guarantee(self) -> Guarantee:
        return self.aggregator.guarantee

    def release(self, value: ArrayLike, source: Source | None = None) -> Any:  # noqa: ANN401 - array or scalar
        """Split the rows of the data at random, apply the function to each block, aggregate."""
        rows = non_empty(np.asarray(value), "the data")
        if rows.ndim == 0 or len(rows) < self.blocks:
            raise ValueError(f"{self.blocks} blocks need at least as many records; n is public here")
        parts = partition(source or SYSTEM, len(rows), self.blocks)
        answers = np.array([self._answer(rows[part]) for part in parts])
        return self.aggregator.release(answers, source)

    def _answer(self, block: NDArray[Any]) -> float:
        missing = float(self.aggregator.interval.lower)
        try:
            answer = float(self.function(block))
        except Exception:  # noqa: BLE001 - whatever went wrong depends on private rows and must not be seen
            return missing
        return answer if math.isfinite(answer) else missing
