"""What a Mechanism is: a calibrated randomised map with its guarantee. No data access, no budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source


@dataclass(frozen=True)
class Mechanism(ABC):
    """value ↦ release. The guarantee holds for every pair of neighbouring inputs of the declared kind."""

    name: ClassVar[str]
    theorem: ClassVar[str]  # what proves the guarantee, cited
    reads: ClassVar[str] = "statistic"  # the model's own; "records" or "moments" of a regression

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What ONE call of release promises; q calls cost q-fold composition."""

    @abstractmethod
    def release(self, value: Any, source: Source | None = None) -> Any:  # noqa: ANN401 - each mechanism's own
        """Draw one release; the system source by default."""
