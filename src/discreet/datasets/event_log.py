"""Event logs for the hidden Markov case study: the conflict events where they are, a synthetic log elsewhere.

The synthetic log has the conflict events' shape (14 regions, 120 months, five features with the same levels,
about 65 000 records, most cells thin and a few very full) and nothing else of theirs: its phases, tables and
sizes were made up by hand. Its seed is public, and so is the whole log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

VARIABLE = "DISCREET_DATA"
FILE = "ged21_syria_hmm.parquet"
SEED = 20161  # public; another seed is another log
MONTHS = 120
CHAIN, STEP = "region", "t"

# Documented levels of the events' features (public).
FEATURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "type": ("state", "nonstate", "onesided"),
        "deaths_bin": ("0", "1", "2-4", "5-9", "10+"),
        "estimate": ("exact", "range"),
        "side_a": ("gov_syria", "gov_other", "IS", "group"),
        "side_b": ("insurgents", "IS", "kurdish_led", "civilians", "group"),
    }
)
GOVERNORATES = (
    "Al Hasakah",
    "Aleppo",
    "Ar Raqqah",
    "As Suwayda",
    "Damascus",
    "Daraa",
    "Deir ez Zor",
    "Hamah",
    "Homs",
    "Idlib",
    "Latakia",
    "Quneitra",
    "Rif Dimashq",
    "Tartus",
)
INVENTED = tuple(f"region {letter}" for letter in "ABCDEFGHIJKLMN")

# The invented phases: how a region gets from one to another, how busy each is, and what its events are like.
NEXT = (
    (0.92, 0.06, 0.00, 0.02),
    (0.02, 0.94, 0.03, 0.01),
    (0.01, 0.04, 0.92, 0.03),
    (0.04, 0.00, 0.01, 0.95),
)
BUSY = (0.25, 1.9, 1.3, 0.2)  # events a month, in units of the region's size
EVENTS = {
    "type": ((0.35, 0.05, 0.60), (0.95, 0.02, 0.03), (0.55, 0.38, 0.07), (0.88, 0.10, 0.02)),
    "deaths_bin": (
        (0.20, 0.55, 0.20, 0.04, 0.01),
        (0.05, 0.37, 0.38, 0.12, 0.08),
        (0.04, 0.22, 0.34, 0.22, 0.18),
        (0.16, 0.48, 0.28, 0.06, 0.02),
    ),
    "estimate": ((0.93, 0.07), (0.86, 0.14), (0.68, 0.32), (0.95, 0.05)),
    "side_a": (
        (0.90, 0.01, 0.02, 0.07),
        (0.97, 0.01, 0.01, 0.01),
        (0.40, 0.05, 0.45, 0.10),
        (0.62, 0.22, 0.04, 0.12),
    ),
    "side_b": (
        (0.30, 0.01, 0.01, 0.62, 0.06),
        (0.92, 0.02, 0.01, 0.03, 0.02),
        (0.18, 0.45, 0.25, 0.08, 0.04),
        (0.45, 0.30, 0.10, 0.03, 0.12),
    ),
}
SIZES = tuple(176.0 * 0.72**i for i in range(14))  # a few large regions, several very small ones
CLUMPING = 1.5  # shape of a month's Gamma factor: counts spread more than Poisson's


@final
@dataclass(frozen=True, eq=False)
class EventLog:
    """Codes of one record a row in each column, the levels they stand for, and where the log is from."""

    origin: str
    real: bool  # rows of people's lives: not to be copied, shown or shipped
    codes: Mapping[str, NDArray[np.int64]]
    levels: Mapping[str, tuple[str, ...]]
    phases: NDArray[np.int64] | None = None  # (region, month) → the phase that made it; synthetic logs only

    def __len__(self) -> int:
        return len(self.codes[CHAIN])

    def __repr__(self) -> str:
        return f"EventLog({self.origin}, {len(self)} records)"

    @property
    def sizes(self) -> dict[str, int]:
        """Column → number of codes, as a model binds them."""
        return {name: len(levels) for name, levels in self.levels.items()}

    def counts(self, keep: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Count all tables (region, month, feature) of the kept rows, flat, one after the other."""
        some = slice(None) if keep is None else keep
        cell = self.codes[CHAIN][some] * MONTHS + self.codes[STEP][some]
        cells = self.sizes[CHAIN] * MONTHS
        tables = [
            np.bincount(cell * len(levels) + self.codes[name][some], minlength=cells * len(levels))
            for name, levels in FEATURES.items()
        ]
        return np.concatenate(tables)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the rows as a table's columns: words for categories, numbers for months."""
        words = {name: np.array(self.levels[name])[self.codes[name]] for name in (CHAIN, *FEATURES)}
        return {STEP: self.codes[STEP], **words}


def available() -> EventLog:
    """Return the conflict events if DISCREET_DATA names a folder that has them, else the synthetic log."""
    folder = os.environ.get(VARIABLE)
    path = Path(folder) / FILE if folder else None
    return conflict(path) if path is not None and path.is_file() else synthetic()


def conflict(path: Path) -> EventLog:
    """Read UCDP GED 21.1, Syria 2011–2020 (CC BY 4.0; Sundberg, Melander 2013): not part of this package."""
    from pyarrow import parquet  # noqa: PLC0415 - heavy

    levels = _levels(GOVERNORATES)
    table = parquet.read_table(path, columns=list(levels))
    codes = {name: _coded(table[name].to_pylist(), levels[name]) for name in (CHAIN, *FEATURES)}
    codes[STEP] = np.asarray(table[STEP].to_numpy(), dtype=np.int64)
    return EventLog("UCDP GED 21.1, Syria 2011–2020", real=True, codes=codes, levels=levels)


def _coded(words: list[str], levels: tuple[str, ...]) -> NDArray[np.int64]:
    place = {word: i for i, word in enumerate(levels)}
    return np.array([place[word] for word in words], dtype=np.int64)


def _levels(regions: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {CHAIN: regions, STEP: tuple(map(str, range(MONTHS))), **FEATURES}


def synthetic(seed: int = SEED, share: float = 1.0) -> EventLog:
    """Make a log up: phases by a Markov chain in each region, Gamma–Poisson many events, then their features.

    `share` scales how many events there are (about 65 000 for 1) and nothing else.
    """
    rng = np.random.default_rng(seed)
    phases = _phases(rng)
    rate = np.array(SIZES)[:, None] * np.array(BUSY)[phases] * rng.gamma(CLUMPING, 1 / CLUMPING, phases.shape)
    many = rng.poisson(share * rate).reshape(-1)
    cell, phase = np.repeat(np.arange(many.size), many), np.repeat(phases.reshape(-1), many)
    codes = {CHAIN: cell // MONTHS, STEP: cell % MONTHS}
    for name, tables in EVENTS.items():
        below = np.cumsum(np.array(tables), axis=1)[phase, :-1]
        codes[name] = (rng.random(cell.size)[:, None] > below).sum(axis=1)
    return EventLog(
        f"synthetic, seed {seed}", real=False, codes=codes, levels=_levels(INVENTED), phases=phases
    )


def _phases(rng: np.random.Generator) -> NDArray[np.int64]:
    phases = np.zeros((len(SIZES), MONTHS), dtype=np.int64)  # all begin in the first phase
    below = np.cumsum(np.array(NEXT), axis=1)
    for t in range(1, MONTHS):
        phases[:, t] = (rng.random(len(SIZES))[:, None] > below[phases[:, t - 1]]).sum(axis=1)
    return np.minimum(phases, len(NEXT) - 1)
