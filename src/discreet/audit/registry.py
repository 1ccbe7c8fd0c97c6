"""Every case by name, built when asked for, and run. A name is its mechanism's, then a variant."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.audit.case import RUNS, Case, Verdict, empirical
from discreet.audit.cases import (
    counts,
    grouped,
    hmm,
    learners,
    local,
    mcmc,
    median,
    metric,
    noise,
    objective,
    plain,
    posterior,
    regression,
    statistics,
    trees,
)
from discreet.audit.twins.registry import TWINS
from discreet.sampling.source import Source

# ── Every case by name, built when asked for. A name is its mechanism's, then a variant: `diffused/beta`.
_TABLES = (
    *(noise.case, median.case, posterior.case, regression.case, statistics.case, counts.case),
    *(metric.case, mcmc.case, hmm.case, objective.case, local.case),
    *(learners.case, trees.case),
    grouped.case,
    plain.case,
)
CASES = {name: build for table in _TABLES for name, build in table.items()}


# ── Run audits by name and print what they saw.
_TITLES = ("audit", "ε", "δ claimed", "δ at least", "ε at least", "verdict")


def find(name: str) -> Case:
    """Return the case, or the broken twin's, of that name."""
    if name in CASES:
        return CASES[name]()
    if name in TWINS:
        return TWINS[name].case()
    raise ValueError(f"no audit is called {name!r}; there are {', '.join([*CASES, *TWINS])}")


def run(names: Iterable[str], source: Source, *, runs: int = RUNS) -> list[Verdict]:
    """Tier 2 of every named case."""
    return [empirical(find(name), source, runs=runs) for name in names]


def format_table(verdicts: Iterable[Verdict]) -> str:
    """Return a plain-text table, one verdict a line."""
    rows = [_TITLES, *(_row(verdict) for verdict in verdicts)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_TITLES))]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(v: Verdict) -> tuple[str, ...]:
    numbers = (f"{x:.4g}" for x in (v.epsilon, v.claimed_delta, v.least_delta, v.least_epsilon))
    return (v.name, *numbers, "REFUTED" if v.refuted else "holds")
