"""What learners read from noisy sums share: one charge for all blocks, and all that is said of them after."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from discreet import __version__
from discreet.learn.declared import Scale, ends_of, names_of, target_of
from discreet.learn.estimates import Estimates
from discreet.learn.private import NOTE, PrivateEstimator, array
from discreet.learn.said import unpaid
from discreet.line.after_charge import numbers, numbers_kept
from discreet.mechanisms.learners.noisy_blocks import Ask, NoisyBlocks
from discreet.mechanisms.mechanism import Mechanism
from discreet.models.margin_losses import Floats
from discreet.posteriors.posterior import LEVEL
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, Relation
from discreet.privacy.json import to_json
from discreet.release.certificate import Certificate, Declaration, certificate
from discreet.release.json import canonical, digest, parameter_to_json
from discreet.release.receipt import Receipt
from discreet.report.page import page
from discreet.sampling.source import Source

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, kw_only=True)
class LearnedRelease:
    """A frozen record of what an estimator released, as `Release` is of what `privatise` did."""

    model: Declaration
    mechanism: str
    parameters: tuple[tuple[str, Any], ...]
    theorem: str
    guarantee: Guarantee
    target: Guarantee
    n: int | None  # public, or None where it is private
    columns: tuple[str, ...]
    schema: dict[str, Any]
    receipt: Receipt
    seeded: bool
    released: tuple[tuple[float, ...], ...]  # the noisy integers, block by block

    unit: ClassVar[str | None] = None
    rows_per_unit: ClassVar[int] = 1
    selection: ClassVar[str | None] = None
    version: ClassVar[str] = __version__

    @property
    def relation(self) -> Relation:
        return self.guarantee.relation

    @property
    def schema_hash(self) -> str:
        return digest(self.schema)

    @property
    def created(self) -> str:
        return self.receipt.at

    @property
    def body(self) -> bytes:
        """Return what the ledger keeps of the charge, byte for byte, as `ledger.verify` compares it."""
        asked = {
            "estimator": NOTE + self.model.name,
            "mechanism": dict(self.parameters),
            "n": self.n,
            "given": dict(self.model.given),
            "schema": self.schema["columns"],
            "seeded": self.seeded,
        }
        return numbers_kept(asked, np.concatenate([np.array(part) for part in self.released]))

    def __post_init__(self) -> None:
        if canonical(to_json(self.guarantee)) != canonical(self.receipt.guarantee):
            raise ValueError("the receipt is for another promise than that of the release")

    def certificate(self) -> Certificate:
        """Say what is protected, promised, assumed, proved and not covered, as plain JSON."""
        return Certificate(certificate(self))


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyLearner(PrivateEstimator):
    """All that a fitted one holds follows from `released_`, the noisy integers, and what is public."""

    audited: ClassVar[tuple[str, ...]] = ()  # names of the audit cases that attack it

    bounds: tuple[ArrayLike, ArrayLike] | None = None

    @abstractmethod
    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None: ...

    @abstractmethod
    def _estimates(self) -> Estimates:
        """Say what the released numbers mean, in units of the columns."""

    def _noised(
        self,
        ready: NoisyBlocks,
        ask: Ask,
        n: int,
        target: Guarantee,
        source: Source,
        **given: Any,  # noqa: ANN401 - what the sums mean something by, as JSON
    ) -> tuple[Floats, ...]:
        """Charge once for all blocks, ask for them in turn, and record what was drawn.

        `ask` alone looks at the records; the numbers that come back are all that may stay.
        """

        def draw() -> Floats:
            return np.concatenate(ready.release(ask, source))

        sizes = tuple(block.size for block in ready.blocks)
        return self._kept(ready, ready.guarantee, knobs_of(ready), sizes, draw, n, target, source, **given)

    def _kept(  # noqa: PLR0917 - what a release is made of
        self,
        ready: Mechanism,
        own: Guarantee,
        knobs: tuple[tuple[str, Any], ...],
        sizes: tuple[int, ...],
        draw: Callable[[], Floats],
        n: int,
        target: Guarantee,
        source: Source,
        **given: Any,  # noqa: ANN401 - as above
    ) -> tuple[Floats, ...]:
        """Charge, draw once and record; numbers come in parts of `sizes`. `draw` alone looks at records."""
        public = None if target.relation is ADD_REMOVE else n
        settings = {name: parameter_to_json(value) for name, value in given.items()}
        name = type(self).__name__
        flat = self._paid(
            (own, target),
            {"model": name, "mechanism": ready.name},
            {"mechanism": dict(knobs), "n": public, "given": settings, "schema": self._schema()},
            numbers,
            lambda: None,
            lambda _: draw(),
        )
        self.released_ = tuple(array(part) for part in np.split(flat, np.cumsum(sizes)[:-1]))
        self.mechanism_: Any = ready  # NoisyBlocks, or what another one perturbs
        self.guarantee_, self.target_, self._knobs = own, target, knobs
        self.seeded_, self._n, self._given = source.seeded, public, tuple(sorted(settings.items()))
        return self.released_

    def _schema(self) -> dict[str, Any]:
        """Return what was declared of the columns, as a schema says it."""
        names = names_of(self)
        scale = Scale.of(self.bounds, len(names))
        answer = {target_of(names): {"kind": "answer"}} if self.supervised else {}
        return {name: ends_of(scale, i) for i, name in enumerate(names)} | answer

    # ── what is said of it ──
    @property
    def summary_(self) -> pd.DataFrame:
        """Mean, deviation and 90 % interval of every number, in units of the columns."""
        check_is_fitted(self)
        return self._estimates().summary()

    def interval(self, level: float = LEVEL) -> Floats:
        """Intervals of the rows of `summary_` at another level."""
        check_is_fitted(self)
        return self._estimates().interval(level)

    @property
    def release_(self) -> LearnedRelease:
        """What was released, with what was promised for it."""
        check_is_fitted(self)
        columns = self._schema()
        return LearnedRelease(
            model=Declaration(type(self).__name__, self._given, self.audited),
            mechanism=self.mechanism_.name,
            parameters=self._knobs,
            theorem=self.mechanism_.theorem,
            guarantee=self.guarantee_,
            target=self.target_,
            n=self._n,
            columns=tuple(columns),
            schema={"columns": columns},
            receipt=self._receipt(),
            seeded=self.seeded_,
            released=tuple(tuple(part.tolist()) for part in self.released_),
        )

    @property
    def certificate_(self) -> Certificate:
        """What was promised, and why."""
        return self.release_.certificate()

    def report(self, path: str | Path) -> Path:
        """Write one page about the fit."""
        place, found = Path(path).expanduser(), self._estimates()
        place.write_text(page(self.release_, found, found.title), encoding="utf-8")
        return place

    def _receipt(self) -> Receipt:
        return unpaid(self.guarantee_) if self.receipt_ is None else self.receipt_


def knobs_of(ready: NoisyBlocks) -> tuple[tuple[str, Any], ...]:
    """Name the settings of the noise, as JSON values."""
    blocks = [
        [block.name, block.size, block.l1, parameter_to_json(block.square), parameter_to_json(block.share)]
        for block in ready.blocks
    ]
    return (("blocks", blocks), ("noise", ready.noise), ("scale", ready.scale))
