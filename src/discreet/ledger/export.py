"""The ledger as text that leaves the building: nothing in it is private."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence

from discreet.ledger.amounts import FULL
from discreet.ledger.proof import State
from discreet.release.receipt import Entry, Head, canonical, written
from discreet.shown import cell, json_text

ABOUT = (
    "data",
    "fingerprint",
    "actor",
    "columns",
    "model",
    "mechanism",
)  # who, what, on which data: as declared
FIELDS = (
    *("position", "kind", "id", "at", "scopes", "guarantee", "amounts"),
    *ABOUT,
    *("note", "previous", "hash"),
)


def as_json(
    entries: Sequence[Entry],
    head: Head,
    scopes: Mapping[str, State],
    required: Mapping[str, Sequence[str]],
) -> str:
    """Everything; a hash is the SHA-256 of the previous hash, the position and the body."""
    budgets = {
        name: {
            "budget": state.terms.get("budget", json.loads(state.opened)),
            "opened_with": json.loads(state.opened),
            "closed": state.terms.get("closed"),
            "spent_units": written(state.lanes),
            "full": FULL,
            "rule": state.terms["rule"],
        }
        for name, state in scopes.items()
    }
    document = {
        "head": {"entries": head.entries, "hash": head.hash},
        "scopes": budgets,
        "required": {data: list(names) for data, names in required.items()},
        "entries": [{**entry.flat(), "body": entry.body} for entry in entries],
    }
    return json_text(document, indent=1, sort_keys=True) + "\n"


def as_csv(entries: Sequence[Entry]) -> str:
    """One line an entry; a scope shows its budget as its guarantee. No cell is a formula; JSON is exact."""
    out = io.StringIO()
    table = csv.DictWriter(out, FIELDS, lineterminator="\n")
    table.writeheader()
    for entry in entries:
        flat = entry.flat()
        promise, about = flat.get("guarantee", flat.get("budget")), flat.get("about", {})
        told = {**about, "columns": ", ".join(about.get("columns", ()))}
        table.writerow(
            {
                **{name: cell(str(flat.get(name, ""))) for name in FIELDS},
                **{name: cell(str(told.get(name, ""))) for name in ABOUT},
                "scopes": cell(" ".join(flat["scopes"])),
                "guarantee": cell(canonical(promise)) if promise else "",
                "amounts": cell(canonical(flat["amounts"])) if "amounts" in flat else "",
            }
        )
    return out.getvalue()
