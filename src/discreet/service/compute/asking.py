"""Queries on θ: free from a release that was paid for, or a fresh draw that is charged."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from discreet.catalogue import expect
from discreet.families.family import Family, Floats
from discreet.mechanisms.registry import drawing
from discreet.planning.offers import Asked, ask_to_json, offers
from discreet.posteriors.inference_data import PUBLIC_SEED
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import generator
from discreet.posteriors.read import DRAWN
from discreet.privacy.guarantee import NotProved, Unreachable
from discreet.privacy.words import in_words
from discreet.query import Vocabulary, parse, quoted
from discreet.query.expression import FUNCTIONS
from discreet.release.release import Release
from discreet.sampling.source import SeededSource
from discreet.service.compute.desk import exactly, imagined, target
from discreet.service.compute.orders import Inquiry, Problem, Reply
from discreet.service.compute.plans import to_json
from discreet.service.compute.reading import losses, opened
from discreet.service.compute.refusals import before_charge
from discreet.statistics.bounded_statistic import BoundedStatistic, bounded


def answer(body: bytes, query: str) -> Reply | Problem:
    """Answer from a release: post-processing, which costs nothing."""
    return before_charge(lambda: Reply(to_json(_answered(opened(body), query))))


def _answered(release: Release, query: str) -> dict[str, Any]:
    posterior = release.posterior
    found = parse(query, Vocabulary.of(posterior)).of(posterior)
    return {"answer": asdict(found), "words": found.words, "price": 0, "release": release.receipt.id}


def paid_answer(body: bytes, query: str) -> Reply | Problem:
    """Answer from the draw that this query paid for."""

    def said() -> Reply:
        release = opened(body)
        receipt = release.receipt.to_json()
        price = {**losses(receipt.get("target", receipt["guarantee"])), "words": in_words(release.target)}
        return Reply(to_json({**_answered(release, query), "price": price, "receipt": receipt}))

    return before_charge(said)


def draw_for(inquiry: Inquiry, query: str) -> Reply | Problem:
    """Choose the draw that will answer, before anything is paid: the query is read, the draw calibrated."""

    def chosen() -> Reply:
        table, model = imagined(inquiry)
        ready = bounded(table, model, target(inquiry).relation)
        parse(query, _vocabulary(ready))
        return Reply(to_json(_reachable(inquiry, ready)))

    return before_charge(chosen)


def _reachable(inquiry: Inquiry, ready: BoundedStatistic) -> dict[str, Any]:
    """Return the first draw that meets the promise, with its options: of the mechanism named, or of any."""
    asked = Asked(ready.rows_per_unit, 1, inquiry.mechanism, exactly(inquiry.options))
    only = None if inquiry.mechanism is None else [inquiry.mechanism]
    found = offers(ready.model, inquiry.table.n or 1, target(inquiry), asked, only)
    reasons = []
    for offer in (each for each in found if each.ask["mechanism"] in drawing()):
        try:
            offer.calibrate()
        except (Unreachable, NotProved, ValueError) as error:
            reasons.append(f"{offer.name}: {error}")
        else:
            options = {name: value for name, value in ask_to_json(offer.ask).items() if name != "mechanism"}
            return {"mechanism": offer.ask["mechanism"], "options": options}
    why = "; ".join(reasons) or "it has none"
    raise ValueError(f"no single draw of this model meets the promise: {why}")


def _vocabulary(ready: BoundedStatistic) -> Vocabulary:
    return Vocabulary.of_model(ready.model, Labels(ready.table.columns, ready.table.schema.to_dict()))


# ── what a query may name ───────────────────────────────────────────────────────────────────────────
def names_of_release(body: bytes) -> Reply | Problem:
    return before_charge(lambda: Reply(to_json(_names(Vocabulary.of(opened(body).posterior)))))


def names_of_model(inquiry: Inquiry) -> Reply | Problem:
    def said() -> Reply:
        table, model = imagined(inquiry)
        ready = bounded(table, model, target(inquiry).relation)
        return Reply(to_json(_names(_vocabulary(ready))))

    return before_charge(said)


def _names(vocabulary: Vocabulary) -> dict[str, Any]:
    """Name parameters as a query has them, functions, and columns with their levels for E and P."""
    return {
        "names": [quoted(name) for name in vocabulary.parameters[:2000]],
        "functions": [*FUNCTIONS],
        "levels": {name: list(levels) for name, levels in vocabulary.levels.items()},
    }


# ── synthetic rows ──────────────────────────────────────────────────────────────────────────────────
def synthetic(body: bytes, rows: int) -> Reply | Problem:
    """Draw rows that the posterior expects, one for each draw of θ, as CSV; the same for one release."""
    return before_charge(lambda: Reply(_drawn(opened(body), rows).encode(), "text/csv; charset=utf-8"))


def _drawn(release: Release, rows: int) -> str:
    if release.reading == DRAWN:
        raise ValueError("a released draw is no posterior to draw rows from: release noisy statistics")
    bits = SeededSource(PUBLIC_SEED)
    theta = release.posterior.flat_sample(rows, bits)
    records = expect(Family, release.model).draw_records(theta, generator(bits))
    if records is None:
        raise ValueError("rows of this model cannot be drawn here: its records are no whole numbers")
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    wide = records.shape[1] == len(release.columns)
    table.writerow(release.columns if wide else [f"record {i}" for i in range(records.shape[1])])
    table.writerows(zip(*(_column(release, i, records[:, i]) for i in range(records.shape[1])), strict=True))
    return out.getvalue()


def _column(release: Release, place: int, values: Floats) -> list[Any]:
    declared = json.loads(release.schema_text)["columns"]
    name = release.columns[place] if place < len(release.columns) else ""
    kind = declared.get(name, {}).get("kind")
    if kind in {"categories", "label"}:
        return [str(label) for label in release.encoder.decode(name, values.astype(np.int64))]
    drawn: list[Any] = (values.astype(np.int64) if kind in {"binary", "count"} else values).tolist()
    return drawn
