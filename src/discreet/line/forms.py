"""How releases are written for the ledger: as the JSON that is saved, or as numbers under a public header."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.line.after_charge import Form
from discreet.models.model import Model
from discreet.posteriors.draws import ReleasedValue
from discreet.release.json import (
    canonical,
    facts_to_json,
    paid_and_drawn,
    value_from_json,
    value_to_json,
)
from discreet.release.receipt import LedgerError, Receipt
from discreet.release.release import Release

Array = NDArray[Any]
Facts = Mapping[str, Any]


ONLY = ""  # the name of a charge's only release
# What may differ between two asks for one release: when and by which version it was made
INCIDENTAL = {"receipt", "created", "version", "theorem", "value", "schema"}  # schema_hash stands for schema
SALT = "salt"  # a parameter that no reader of a digest in the ledger could guess


def one_release(facts: Facts) -> Form[Any, Release]:
    """Write a value with the facts about it as a saved release is written; facts without a JSON fail here."""
    known = facts_to_json(facts)
    return Form(
        lambda receipt, value: {ONLY: _written(known, receipt, value)},
        lambda bodies: _loaded(known, facts["model"], bodies.get(ONLY)),
    )


def several_releases(facts: Mapping[str, Facts]) -> Form[Mapping[str, Any], dict[str, Release]]:
    """Do so for each audience by name."""
    known = {name: facts_to_json(each) for name, each in facts.items()}
    return Form(
        lambda receipt, drawn: {name: _written(known[name], receipt, v) for name, v in drawn.items()},
        lambda bodies: {
            name: _loaded(each, facts[name]["model"], bodies.get(name)) for name, each in known.items()
        },
    )


def values(asked: Facts, models: Sequence[Any]) -> Form[Sequence[Any], list[Any]]:
    """Write released values, one per model, under a header that says what was asked for."""

    def write(receipt: Receipt, drawn: Sequence[Any]) -> dict[str, bytes]:
        del receipt
        return {ONLY: canonical({"asked": asked, "values": [value_to_json(v) for v in drawn]}).encode()}

    def load(bodies: Mapping[str, bytes]) -> list[Any]:
        data = json.loads(bodies.get(ONLY, b"{}"))
        refuse_another(asked, data.get("asked", {}))
        return [value_from_json(value, model) for value, model in zip(data["values"], models, strict=True)]

    return Form(write, load)


def numbers(asked: Facts) -> Form[Array, Array]:
    """Write an array of numbers under a header."""
    return Form(partial(_numbers_written, asked), partial(_numbers_loaded, asked))


def _written(known: dict[str, Any], receipt: Receipt, value: ReleasedValue) -> bytes:
    """Write a release, whose one time is the charge's, from before anything was read."""
    paid = replace(receipt, computed=True, replay=False)
    return canonical(paid_and_drawn(known, paid, receipt.at, value)).encode()


def _loaded(known: Facts, model: Model, body: bytes | None) -> Release:
    stored = body or b"{}"
    refuse_another(_public(known), _public(json.loads(stored)))
    return Release.from_body(stored, model)


def _public(data: Facts) -> dict[str, Any]:
    """Take what makes two asks the same one."""
    knobs = {name: value for name, value in data.get("parameters", {}).items() if name != SALT}
    return {**{name: part for name, part in data.items() if name not in INCIDENTAL}, "parameters": knobs}


def _numbers_written(asked: Facts, receipt: Receipt, array: Array) -> dict[str, bytes]:
    del receipt
    kind = array.dtype.newbyteorder("<").str
    header = {"asked": asked, "shape": list(array.shape), "dtype": kind}
    little = np.ascontiguousarray(array, dtype=kind)
    return {ONLY: canonical(header).encode() + b"\n" + little.tobytes()}


def _numbers_loaded(asked: Facts, bodies: Mapping[str, bytes]) -> Array:
    head, _, raw = bodies.get(ONLY, b"{}").partition(b"\n")
    header = json.loads(head)
    refuse_another(asked, header.get("asked", {}))
    return np.frombuffer(raw, dtype=header["dtype"]).reshape(header["shape"]).copy()


def refuse_another(asked: Facts, stored: Facts) -> None:
    """Refuse to hand out a release under an id that is now asked for another one."""
    differ = sorted(k for k in {*asked, *stored} if canonical(asked.get(k)) != canonical(stored.get(k)))
    if differ:
        raise LedgerError(
            f"this charge id already gave another release (its {', '.join(differ)} is not what is asked for "
            "now): ask for the same, or choose another charge_id and pay again"
        )
