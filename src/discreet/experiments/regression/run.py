"""The run of the regression experiment: every law once, written as it comes, resumed after a cut."""

from __future__ import annotations

import csv
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.experiments.thesis.figure import write_numbers
from discreet.progress import steps

if TYPE_CHECKING:
    from discreet.experiments.regression.figures import Point
    from discreet.experiments.regression.methods import Score


TITLES = ("task", "n", "d", "method", "order", "epsilon", "seed", "error", "negative_log_likelihood")
KINDS = (str, int, int, str, float, float, int, float, float)
Row = tuple[str, int, int, str, float, float, int, float, float]
Key = tuple[str, int, int, str, float, float, int]  # all of a row but its scores


def worked(points: list[Point], seeds: range, path: Path, workers: int) -> list[Row]:
    """Return every point's rows, in order; rows of this run that the file has already are kept."""
    wanted = {(*point.about, seed): None for point in points for seed in seeds}
    known = {key: score for key, score in _read(path).items() if key in wanted}
    if known:
        _say(f"{path.name}: {len(known)} rows are kept; delete it to begin anew")
    write_numbers(path, TITLES, _in_order(wanted, known))
    for group, found in _shown(list(_groups(points, seeds, known)), seeds, workers):
        rows = [
            (*point.about, seed, *score) for point in group for seed, score in zip(seeds, found, strict=False)
        ]
        with path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        known |= {row[:7]: row[7:] for row in rows}
    ordered = list(_in_order(wanted, known))
    write_numbers(path, TITLES, ordered)
    return ordered


def _read(path: Path) -> dict[Key, Score]:
    """Rows by what they are about; a line that a cut left half written is no row."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.reader(file) if len(line) == len(TITLES) and line[0] != TITLES[0]]
    rows: Any = [tuple(kind(x) for kind, x in zip(KINDS, line, strict=True)) for line in lines]
    return {row[:7]: row[7:] for row in rows}


def _in_order(wanted: dict[Key, None], known: dict[Key, Score]) -> Iterator[Row]:
    return ((*key, *known[key]) for key in wanted if key in known)


def _groups(points: list[Point], seeds: range, known: dict[Key, Score]) -> Iterator[list[Point]]:
    """Points of one law, where some row of theirs is missing."""
    laws: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        laws.setdefault(point.law, []).append(point)
    for group in laws.values():
        if any((*point.about, seed) not in known for point in group for seed in seeds):
            yield group


def _shown(
    groups: list[list[Point]], seeds: range, workers: int
) -> Iterator[tuple[list[Point], list[Score]]]:
    """Show a bar on a terminal, elsewhere a line a law."""
    started = time.monotonic()
    found = _found(groups, seeds, workers)
    for done, (group, scores) in enumerate(steps(found, "regressions", len(groups)), 1):
        if scores and not sys.stderr.isatty():
            point, error = group[0], np.mean([score[0] for score in scores])
            where = f"order {point.order:g}" if point.order else "(ε, δ)"
            said = f"{point.task}, {point.method}, {where}, ε = {point.epsilon:g}: error {error:.3f}"
            _say(f"{done}/{len(groups)} {time.monotonic() - started:.0f} s  {said}")
        yield group, scores


def _found(
    groups: list[list[Point]], seeds: range, workers: int
) -> Iterator[tuple[list[Point], list[Score]]]:
    """Work the groups out here, or in so many processes as they are ready."""
    if workers == 1:
        yield from ((group, group[0].scores(seeds)) for group in groups)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        futures = {pool.submit(group[0].scores, seeds): group for group in groups}
        yield from ((futures[future], future.result()) for future in as_completed(futures))
    finally:
        pool.shutdown(cancel_futures=True)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
