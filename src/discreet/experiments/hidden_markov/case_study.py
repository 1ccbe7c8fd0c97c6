"""The hidden Markov case study of [F16 §5]: states of regions by month, and prediction against ε.

The full run takes about a quarter of an hour of one core, the quick one about twenty seconds. The log is the
conflict events where the environment variable DISCREET_DATA names a folder with them, else the synthetic log;
every picture and hmm.txt say which.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from discreet.datasets.event_log import FILE, VARIABLE, EventLog, available
from discreet.experiments.hidden_markov import held_out as hmm_held_out
from discreet.experiments.hidden_markov import pictures as hmm_pictures
from discreet.experiments.hidden_markov import states as hmm_states
from discreet.experiments.hidden_markov.states import FittedStates
from discreet.experiments.thesis.figure import write_numbers
from discreet.shown import steps

Item = TypeVar("Item")


def case_study(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001 - the contract of every experiment
    """`quick` fits one split at one ε with short chains: it shows that all parts work, and no result."""
    log, begun = available(), time.process_time()
    held, few = (hmm_held_out.QUICK, hmm_states.QUICK) if quick else (hmm_held_out.FULL, hmm_states.FULL)
    fits = len(hmm_states.STATES) * len(hmm_states.SHOWN)
    found = list(steps(hmm_states.fits(log, seed, few), "two and three states", fits))
    points = hmm_held_out.points(held)
    rows = list(steps(hmm_held_out.rows(log, seed, held), f"{held.states} states, held out", len(points)))
    return (
        hmm_pictures.held_out(log, rows, out / "hmm-held-out.png"),
        write_numbers(out / "hmm-held-out.csv", hmm_held_out.TITLES, rows),
        hmm_pictures.strips(log, found, out / "hmm-states.png"),
        write_numbers(out / "hmm-states.csv", hmm_states.ASSIGNMENT_TITLES, _all_assignments(log, found)),
        hmm_pictures.tables(log, found, out / "hmm-emissions.png"),
        write_numbers(out / "hmm-emissions.csv", hmm_states.EMISSION_TITLES, _all_emissions(log, found)),
        _report(log, found, out / "hmm.txt", time.process_time() - begun),
    )


def _all_assignments(log: EventLog, found: Sequence[FittedStates]) -> Iterator[tuple[object, ...]]:
    for one in found:
        yield from hmm_states.assignment_rows(log, one)


def _all_emissions(log: EventLog, found: Sequence[FittedStates]) -> Iterator[tuple[object, ...]]:
    for one in found:
        yield from hmm_states.emission_rows(log, one)


def _report(log: EventLog, found: Sequence[FittedStates], path: Path, seconds: float) -> Path:
    """Say in words which log was read and how far each fit's chains agree."""
    real = "It was read from the folder that " + VARIABLE + " names and must stay there."
    made = f"No {FILE} was found in a folder named by {VARIABLE}; this log is made up."
    lines = [f"log: {log.origin}, {len(log)} records. {real if log.real else made}"]
    lines += [f"processor time: {seconds:.0f} s", ""]
    lines += [f"{one.states} states, {one.title}" for one in found]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
