"""What a Mechanism is: a calibrated randomised map with its guarantee. No data access, no budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.models.model import Model

# What `privatise`, plans and the command hand on to a mechanism's own calibration: noise=, truncation=, …
Option: TypeAlias = Exact | str | Enum | Sequence[Exact] | None


@dataclass(frozen=True)
class Mechanism(ABC):
    """value ↦ release. The guarantee holds for every pair of neighbouring inputs of the declared kind."""

    name: ClassVar[str]
    theorem: ClassVar[str]  # what proves the guarantee, cited

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What ONE call of release promises; q calls cost q-fold composition."""

    @property
    def knob(self) -> tuple[str, float]:
        """The letter of what calibration turns and its setting; weight 1 where there is nothing to turn."""
        return "r", 1.0

    @abstractmethod
    def release(self, value: Any, source: Source | None = None) -> Any:  # noqa: ANN401 - each mechanism's own
        """Draw one release; the system source by default."""


class ModelMechanism(Mechanism):
    """A mechanism for the statistic of a model: what `privatise` and the estimators may be asked for."""

    reads: ClassVar[str] = "statistic"  # the model's own; "records" or "moments" of a regression
    knows_units: ClassVar[bool] = False  # calibrate takes rows_per_unit, and does better than the group rule
    repeats: ClassVar[bool] = False  # one charge may buy several draws
    calibrate: ClassVar[Callable[..., ModelMechanism]]  # (model, *, target, n=None, further options)

    if TYPE_CHECKING:  # fields of every kind

        @property
        def model(self) -> Model: ...

        @property
        def n(self) -> int | None:
            """The public number of records; None where it is private."""

        @property
        def relation(self) -> Relation: ...

    @property
    def single(self) -> ModelMechanism:
        """The mechanism of one draw: this one, unless it makes several."""
        return self

    @property
    def draw_count(self) -> int:
        return 1

    def draws(self, q: int) -> ModelMechanism:
        """Return the mechanism that releases q draws and pays for all of them."""
        raise NotImplementedError(f"{self.name} makes one release, not {q}: it is read freely")

    @abstractmethod
    def release(self, value: Any, source: Source | None = None, *, count: int | None = None) -> Any:  # noqa: ANN401
        """Draw one release; `count` is the private number of records, given where that is private."""
