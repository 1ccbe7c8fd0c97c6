"""What the regressions share: models of the catalogue, fitted to scaled rows, each read as a posterior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from numpy.typing import ArrayLike, NDArray

from discreet.learn.declared import Scale, ends_of, names_of, target_of
from discreet.learn.private import PrivateEstimator
from discreet.learn.said import Said, SaidOfLine
from discreet.line.after_charge import values
from discreet.line.calibrate import parameters
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.models.margin_losses import Floats
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee
from discreet.release.json import model_to_json
from discreet.sampling.source import Source

S = TypeVar("S")


@dataclass(kw_only=True, eq=False, repr=False)
class ModelEstimator(Said, PrivateEstimator):
    """What is released is the own value of a model of the catalogue, or of several."""

    @abstractmethod
    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None: ...

    def _released(
        self,
        promises: tuple[Guarantee, Guarantee],  # the mechanism's own, and the target
        ready: ModelMechanism,
        models: Sequence[Any],
        encode: Callable[[], S],
        draw: Callable[[S], list[Any]],
        **declared: Any,  # noqa: ANN401 - JSON
    ) -> list[Any]:
        """Charge durably, then encode the records, draw one value for each model, and record them.

        `declared` is what else the released numbers mean something by.
        """
        asked = {"mechanism": dict(parameters(ready)), "n": ready.n, **declared}
        asked["models"] = [model_to_json(model) for model in models]
        about = {"model": models[0].name, "mechanism": ready.name}
        return self._paid(promises, about, asked, partial(values, models=models), encode, draw)

    def _values(self) -> tuple[Any, ...]:
        held = self.released_  # set by fit
        return held if isinstance(held, tuple) else (held,)


@dataclass(kw_only=True, eq=False, repr=False)
class ModelledEstimator(SaidOfLine, ModelEstimator):
    """Rows scaled by public bounds and cut to a public norm, and weights of their columns."""

    norm: Exact | None = None
    bounds: tuple[ArrayLike, ArrayLike] | None = None
    intercept: bool = True

    @abstractmethod
    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None: ...

    def _schema(self) -> dict[str, Any]:
        """Return what was declared of the columns, as a schema says it."""
        names = names_of(self)
        bounds = Scale.of(self.bounds, len(names))
        return {name: ends_of(bounds, i) for i, name in enumerate(names)} | {
            target_of(names): {"kind": "answer"}
        }
