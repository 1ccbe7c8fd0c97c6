"""What to expect before anything is spent: plans, priors, a simulated posterior. Reads no table."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.families.family import Family
from discreet.planning import plan as compare
from discreet.planning.ranked import Compared
from discreet.planning.simulated_data import cases
from discreet.posteriors.posterior import FamilyPosterior
from discreet.posteriors.read import posterior
from discreet.privacy.words import in_words
from discreet.release.json import model_to_json
from discreet.report.drawn.density import span
from discreet.sampling.source import SeededSource
from discreet.service.compute.desk import exactly, imagined, target
from discreet.service.compute.orders import Inquiry, Problem, Reply
from discreet.service.compute.pool import tell
from discreet.service.compute.refusals import before_charge, epsilon_delta
from discreet.shown import heard
from discreet.statistics.bounded_statistic import bounded

POINTS = 121


def plan(question: Inquiry, mechanisms: tuple[str, ...]) -> Reply | Problem:
    """Compare the mechanisms that meet the promise, best first."""
    with heard(tell):  # no table is read, so that how far it is is public
        return before_charge(lambda: Reply(to_json(_planned(question, mechanisms))))


def _planned(question: Inquiry, mechanisms: tuple[str, ...]) -> dict[str, Any]:
    if question.table.n is None:
        raise ValueError("this table has no public number of records to plan with: ask its owner for one")
    table, asked_for = imagined(question)
    wanted = target(question)
    ready = bounded(table, asked_for, wanted.relation)
    given: dict[str, Any] = {"mechanisms": list(mechanisms)} if mechanisms else {}
    asked = {"rows_per_unit": ready.rows_per_unit, "mechanism": question.mechanism}
    model: Any = ready.model
    found: Any = compare(model, question.table.n, wanted, **given, **asked, **exactly(question.options))
    rows = [_row(row) for row in found.rows]
    refused = [{"mechanism": each.name, "reason": each.reason} for each in found.refused]
    pictures = (
        _simulated(found)
        if isinstance(ready.model, Family) and np.size(ready.model.mean()) == 1
        else (None, None)
    )
    return {
        "rows": rows,
        "refused": refused,
        "exact": _row(found.exact) if isinstance(found, Compared) else None,
        "cautions": list(found.cautions) if isinstance(found, Compared) else [],
        "prior": pictures[0],
        "posterior": pictures[1],
    }


def _row(row: Any) -> dict[str, Any]:  # noqa: ANN401 - of whichever kind of plan
    said = row.to_json()
    price = row.price
    return {
        "mechanism": said.get("ask", {}).get("mechanism", row.name),
        "name": row.name,
        "width": said.get("width"),
        "error": said.get("error"),
        "coverage": said.get("coverage"),
        "price": None if price is None else epsilon_delta(price) or {"words": in_words(price)},
        "price_words": None if price is None else in_words(price),
        "ask": said.get("ask", {}),
        "cautions": [row.caution] if getattr(row, "caution", None) else [],
    }


def _simulated(found: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:  # noqa: ANN401 - a family's plan
    """Draw the prior, and the posterior of one imagined table released by the first row, from public bits."""
    made = found.rows[0].mechanism if found.rows else None
    after = _imagined_posterior(made, found) if made is not None else None
    if after is None:
        ends = np.ravel(found.model.interval(0.998))
        x = np.linspace(float(ends[0]), float(ends[1]), POINTS + 2)[1:-1]
        return _curve(x, found.model), None
    low, high, _ = span(found.model, after)
    x = np.linspace(low, high, POINTS + 2)[1:-1]
    return _curve(x, found.model), _curve(x, after)


def _imagined_posterior(made: Any, found: Any) -> FamilyPosterior | None:  # noqa: ANN401
    nodes = cases(found.model, found.n, simulations=None, seed=0)
    middle = int(np.argmin(np.abs(nodes.theta[:, 0] - float(np.ravel(found.model.mean())[0]))))
    count = {"count": nodes.n} if not found.target.relation.replaces else {}
    value = made.release(nodes.statistics[middle].astype(np.int64), SeededSource(0), **count)
    if not hasattr(value, "noisy"):
        return None
    read = posterior(value)
    return read if isinstance(read, FamilyPosterior) else None


def _curve(x: Any, law: Any) -> dict[str, list[float]]:  # noqa: ANN401
    heights = np.exp(np.clip(law.log_density(x), -700, 700))
    return {"x": x.tolist(), "y": np.where(np.isfinite(heights), heights, 0.0).ravel().tolist()}


# ── what is public of a table ───────────────────────────────────────────────────────────────────────
def prior(question: Inquiry) -> Reply | Problem:
    """Say the prior that is used where none is given: bounds and categories from the schema, a weak rule."""

    def said() -> Reply:
        table, model = imagined(question)
        ready = bounded(table, model, target(replace(question, epsilon="1", delta="0")).relation)
        return Reply(to_json(model_to_json(ready.model)))

    return before_charge(said)


def to_json(value: object) -> bytes:
    return json.dumps(finite(value), sort_keys=True, ensure_ascii=False, default=str).encode()


def finite(value: object) -> object:
    """Write ∞ and NaN as null: JSON has neither."""
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return int(value) if isinstance(value, np.integer) else value
