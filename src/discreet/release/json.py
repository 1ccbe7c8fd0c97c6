"""A release as JSON and back, exactly: models, released values, knobs. Nothing is unpickled or run."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.catalogue import COUNTS, FAMILY, GROUPS, NUMBERS, ROWS
from discreet.families.exact_fields import Rational, rational
from discreet.families.family import Family
from discreet.families.named_columns import Feature, NamedColumns
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.mechanisms.statistics.noisy_groups import NoisyGroups
from discreet.mechanisms.statistics.noisy_plain import NoisyPlain
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells, NoisyStatistic
from discreet.models.margin_losses import LOSSES, MarginLoss, named_loss
from discreet.models.model import Model
from discreet.posteriors.read import Draws, ReleasedValue
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Relation
from discreet.privacy.json import from_json, number_from_json, number_to_json, to_json
from discreet.release.receipt import Receipt

if TYPE_CHECKING:
    from discreet.release.release import Release


Json = dict[str, Any]
Plain: TypeAlias = "int | float | str | list[Plain] | Mapping[str, Plain] | None"
Numbers: TypeAlias = "float | str | list[Numbers] | None"
Exacts: TypeAlias = "Exact | tuple[Exacts, ...] | None"
WHOLE = 2**53  # integers below it are the same number in every JSON reader


def canonical(value: object) -> str:
    """One text for one value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: object) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


# ── parameters: numbers, vectors, matrices, names ───────────────────────────────────────────────────


def parameter_to_json(value: object) -> Plain:
    """Write a public parameter as JSON: exact numbers, lists of them, names, flags."""
    match value:
        case None | int() | str():
            return value
        case float():
            return number_to_json(float(value))
        case Fraction():
            return _plainest(value)
        case tuple() | list():
            return [parameter_to_json(part) for part in value]
        case np.ndarray() | np.generic():
            return parameter_to_json(value.tolist())
    return _public_to_json(value)


def _public_to_json(value: object) -> Plain:
    match value:
        case Relation():
            return value.to_json()
        case Enum():
            return parameter_to_json(value.value)
        case type():
            return value.__name__
        case Feature():  # one without a reference level is written as before there were any
            left = {"reference"} if value.reference is None else set()
            return {
                f.name: parameter_to_json(getattr(value, f.name)) for f in fields(value) if f.name not in left
            }
        case NamedColumns():
            return {f.name: parameter_to_json(getattr(value, f.name)) for f in fields(value)}
        case Family():
            return model_to_json(value)
        case MarginLoss():  # functions that were declared with it are code and stay out
            given = {f.name: getattr(value, f.name) for f in fields(value)}
            public = {name: parameter_to_json(part) for name, part in given.items() if not callable(part)}
            return {"loss": value.name, **public}
    raise TypeError(f"cannot write a parameter of type {type(value).__name__} as JSON")


def _plainest(value: Fraction) -> int | float | str:
    """Take an integer or a double where that is the same number, for people to read; else "p/q"."""
    if value.denominator == 1 and abs(value) < WHOLE:
        return value.numerator
    try:
        near = float(value)
    except OverflowError:
        return str(value)
    return near if Fraction(near) == value else str(value)


def _exact(data: Numbers) -> Exacts:
    """Read numbers and nested lists of numbers back, exactly; nothing stays nothing."""
    if isinstance(data, list):
        return tuple(_exact(part) for part in data)
    return None if data is None else number_from_json(data)


# ── models ──────────────────────────────────────────────────────────────────────────────────────────


def model_to_json(model: Model) -> Json:
    """Write the name of the family or model and its constructor's arguments."""
    spelled: dict[str, str] = getattr(model, "spelled", {})
    names = {f.name: spelled.get(f.name, f.name) for f in fields(model)}
    return {
        "family": model.name,
        **{
            names[f.name]: parameter_to_json(getattr(model, f.name))
            for f in fields(model)
            if not (f.metadata.get("json") and getattr(model, f.name) is None)
        },
    }


def model_from_json(data: Mapping[str, Any]) -> Model:
    name, given = str(data.get("family")), {key: value for key, value in data.items() if key != "family"}
    if name not in ROWS:
        raise ValueError(f"unknown family {name!r}; known: {', '.join(ROWS)}")
    row = ROWS[name]
    kind: Callable[..., Model] = row.load("model")
    if row.kind == FAMILY:
        named = {"named": _named(given.pop("named"))} if "named" in given else {}
        return kind(**named, **{key: _exact(value) for key, value in given.items()})
    if row.kind == GROUPS:
        given["model"] = model_from_json(given["model"])
        return kind(**{key: _tuples(value) for key, value in given.items()})
    if row.kind == NUMBERS:
        return kind(**{key: _tuples(value) for key, value in given.items()})
    special = (
        {}
        if row.kind == COUNTS
        else {"loss": _loss(given.pop("loss")), "design": _design(given.pop("design"))}
    )
    return kind(**special, **{key: _argument(kind, key, value) for key, value in given.items()})


def _argument(kind: object, name: str, value: Plain) -> Plain | Exact | tuple[object, ...]:
    """Read an argument of a model: a rational where the field is one; names stay names."""
    field = inspect.getattr_static(kind, name, None)
    return _number(value) if isinstance(field, Rational) else _tuples(value)


def _loss(data: Mapping[str, Any]) -> MarginLoss:
    kind = LOSSES[data["loss"]]
    given: dict[str, Any] = {name: _argument(kind, name, value) for name, value in data.items()}
    return named_loss(**given)


def _design(data: list[Mapping[str, Any]]) -> tuple[Feature, ...]:
    return tuple(Feature(**feature) for feature in data)


def _named(data: Mapping[str, Any]) -> NamedColumns:
    said = {**data, "design": _design(data["design"]), "answer": Feature(**data["answer"])}
    norm = None if data["norm"] is None else rational(_number(data["norm"]), what="norm")
    return NamedColumns(**{**said, "norm": norm, "spread": rational(_number(data["spread"]), what="spread")})


def _number(data: Plain) -> Exact:
    if not isinstance(data, int | float | str):
        raise TypeError(f"a number was expected, got a {type(data).__name__}")
    return number_from_json(data)


def _tuples(data: Plain) -> Plain | tuple[object, ...]:
    return tuple(_tuples(part) for part in data) if isinstance(data, list) else data


# ── released values ─────────────────────────────────────────────────────────────────────────────────


def value_to_json(value: ReleasedValue) -> Json:
    """Write every field but the model, which the release has."""
    parts = {
        f.name: getattr(value, f.name)
        for f in fields(value)
        if f.name != "model" and not (f.metadata.get("json") and getattr(value, f.name) == f.default)
    }
    promised = {"guarantee": to_json(parts.pop("guarantee"))} if "guarantee" in parts else {}
    return {"kind": value.kind, **{name: parameter_to_json(part) for name, part in parts.items()}, **promised}


RELEASED: dict[str, type[ReleasedValue]] = {
    kind.kind: kind
    for kind in (NoisyStatistic, NoisyCells, NoisyGroups, NoisyPlain, Draws, PerturbedFit, NoisyMoments)
}


def value_from_json(data: Mapping[str, Any], model: Model) -> ReleasedValue:
    """Read a released value of a model back."""
    kind: Callable[..., ReleasedValue] | None = RELEASED.get(str(data.get("kind")))
    if kind is None:
        raise ValueError(f"unknown kind of released value {data.get('kind')!r}; known: {', '.join(RELEASED)}")
    if kind is Draws:
        return Draws.of(model, data["values"], several=True)
    parts = {
        f.name: data[f.name] if f.type == "str" else _exact(data[f.name])
        for f in fields(RELEASED[data["kind"]])
        if f.name not in {"model", "guarantee"} and (f.name in data or f.default is MISSING)
    }
    return kind(model=model, guarantee=from_json(data["guarantee"]), **parts)


# ── the release ─────────────────────────────────────────────────────────────────────────────────────


PLAINLY = ("mechanism", "theorem", "n", "unit", "rows_per_unit", "schema_hash", "version", "seeded")


def release_to_json(release: Release) -> Json:
    return paid_and_drawn(facts_to_json(vars(release)), release.receipt, release.created, release.value)


def paid_and_drawn(facts: Json, receipt: Receipt, created: str, value: ReleasedValue) -> Json:
    """Add to what was known before the charge what came of it."""
    return {**facts, "created": created, "receipt": receipt.to_json(), "value": value_to_json(value)}


def facts_to_json(facts: Mapping[str, Any]) -> Json:
    """Write what is known of a release before it is paid for and read."""
    return {
        **{name: facts[name] for name in PLAINLY},
        "model": model_to_json(facts["model"]),
        "parameters": dict(facts["parameters"]),
        "guarantee": to_json(facts["guarantee"]),
        "target": to_json(facts["target"]),
        "columns": list(facts["columns"]),
        "selection": facts["selection"],
        "schema": json.loads(facts["schema_text"]),
    }


def release_arguments(data: Mapping[str, Any], model: Model | None = None) -> Json:
    """Turn the JSON of a release into the arguments that build it; a model at hand need not be built."""
    known = model_from_json(data["model"]) if model is None else model
    rebuilt = {
        "value": value_from_json(data["value"], known),
        "model": known,
        "parameters": tuple(sorted(data["parameters"].items())),
        "guarantee": from_json(data["guarantee"]),
        "target": from_json(data["target"]),
        "columns": tuple(data["columns"]),
        "schema_text": canonical(data["schema"]),
        "receipt": Receipt.from_json(data["receipt"]),
    }
    return {**{name: data[name] for name in data if name not in {*rebuilt, "schema"}}, **rebuilt}
