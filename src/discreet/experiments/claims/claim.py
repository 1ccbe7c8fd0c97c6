"""A claim of the literature: where it stands, what it says, and the computation that judges it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import final

from discreet.experiments.registry import find

Row = Mapping[str, str]


@final
class Judgement(Enum):
    """What came of judging a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    BASELINE = "holds for the paper's baseline, not for ours"
    OPEN = "cannot be told"


@final
@dataclass(frozen=True)
class Finding:
    """A verdict with what was computed: numbers, the counterexample of what fails, the reason of what is open."""

    verdict: Judgement
    found: str

    @classmethod
    def that(cls, holds: bool, found: str) -> Finding:  # noqa: FBT001 - the comparison that decides
        """Return `holds` or `fails`, as the comparison of the numbers in `found` came out."""
        return cls(Judgement.HOLDS if holds else Judgement.FAILS, found)

    @classmethod
    def for_baseline(cls, baseline: bool, ours: bool, found: str) -> Finding:  # noqa: FBT001
        """Judge a claim about methods: of the paper's own methods first, then with ours among them."""
        if baseline and not ours:
            return cls(Judgement.BASELINE, found)
        return cls.that(baseline, found)


@final
@dataclass(frozen=True)
class Work:
    """How much work a judge may do, and where figures that it needs are drawn: each once in a run."""

    out: Path
    quick: bool = True
    seed: int = 0
    drawn: dict[str, tuple[Path, ...]] = field(default_factory=dict)

    def files(self, experiment: str) -> tuple[Path, ...]:
        """Return what the experiment wrote, drawing it first where that has not been done."""
        if experiment not in self.drawn:
            self.drawn[experiment] = find(experiment)(self.out, self.seed, self.quick)
        return self.drawn[experiment]

    def rows(self, experiment: str, file: str | None = None) -> list[Row]:
        """Return the numbers beside a figure: those of the CSV file of that name, or of the only one."""
        name = f"{file or experiment}.csv"
        path = next((path for path in self.files(experiment) if path.name == name), None)
        if path is None:
            raise ValueError(f"the experiment {experiment!r} writes no file {name!r}")
        with path.open(encoding="utf-8") as opened:
            return list(csv.DictReader(opened))


@final
@dataclass(frozen=True)
class PublishedClaim:
    """One claim; `recorded` is the verdict that docs/claims.md states, and a run that finds another one fails."""

    name: str  # document, section and what it is there: G20-5.T7
    where: str  # theorem, figure or page, in the document's own numbering
    says: str
    judge: Callable[[Work], Finding]
    recorded: Judgement
    figures: tuple[str, ...] = ()  # experiments that show it
    errata: tuple[int, ...] = ()  # as docs/errata.md numbers them
    also: tuple[str, ...] = ()  # where other documents say the same

    @property
    def document(self) -> str:
        """The key of the document: G20, GSC17, N19, F16 or D14."""
        return self.name.partition("-")[0]
