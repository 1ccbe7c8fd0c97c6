"""A release as JSON and back, exactly: models, released values, knobs. Nothing is unpickled or run."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.catalogue import COUNTS, FAMILY, ROWS
from discreet.families.exact_fields import Rational
from discreet.families.family import Family
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.mechanisms.statistics.noisy_tables import NoisyCells
from discreet.models.design import Feature
from discreet.models.margin_losses import LOSSES, MarginLoss, named_loss
from discreet.models.model import Model
from discreet.posteriors.draws import Draws, ReleasedValue
from discreet.privacy.json import from_json, number_from_json, number_to_json, to_json
from discreet.privacy.relation import Relation
from discreet.release.receipt import Receipt

if TYPE_CHECKING:
    from discreet.release.release import Release


Json = dict[str, Any]
WHOLE = 2**53  # integers below it are the same number in every JSON reader


def canonical(value: object) -> str:
    """One text for one value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: object) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


# ── parameters: numbers, vectors, matrices, names ───────────────────────────────────────────────────


@singledispatch
def parameter_to_json(value: Any) -> Any:  # noqa: ANN401
    """Write a public parameter as JSON: exact numbers, lists of them, names, flags."""
    raise TypeError(f"cannot write a parameter of type {type(value).__name__} as JSON")


@parameter_to_json.register(int)
@parameter_to_json.register(float)
@parameter_to_json.register(str)
@parameter_to_json.register(type(None))
def _plain_int_or_float(value: Any) -> Any:  # noqa: ANN401
    return number_to_json(value) if isinstance(value, float) else value


@parameter_to_json.register
def _plain_fraction(value: Fraction) -> int | float | str:
    """Take an integer or a double where that is the same number, for people to read; else "p/q"."""
    if value.denominator == 1 and abs(value) < WHOLE:
        return value.numerator
    try:
        near = float(value)
    except OverflowError:
        return str(value)
    return near if Fraction(near) == value else str(value)


@parameter_to_json.register(tuple)
@parameter_to_json.register(list)
def _plain_tuple_or_list(value: Any) -> list[Any]:  # noqa: ANN401
    return [parameter_to_json(part) for part in value]


@parameter_to_json.register
def _plain_ndarray(value: np.ndarray) -> list[Any]:
    return [parameter_to_json(part) for part in value.tolist()]


@parameter_to_json.register
def _plain_generic(value: np.generic) -> Any:  # noqa: ANN401
    return parameter_to_json(value.item())


@parameter_to_json.register
def _plain_relation(value: Relation) -> Any:  # noqa: ANN401
    return value.to_json()


@parameter_to_json.register
def _plain_enum(value: Enum) -> Any:  # noqa: ANN401
    return value.value


@parameter_to_json.register
def _plain_type(value: type) -> str:
    return value.__name__


@parameter_to_json.register
def _plain_feature(value: Feature) -> dict[str, Any]:
    return {f.name: parameter_to_json(getattr(value, f.name)) for f in fields(value)}


@parameter_to_json.register
def _plain_margin_loss(value: MarginLoss) -> dict[str, Any]:
    """Write the loss and its public constants; functions that were declared with it are code and stay out."""
    given = {f.name: getattr(value, f.name) for f in fields(value)}
    return {
        "loss": value.name,
        **{name: parameter_to_json(part) for name, part in given.items() if not callable(part)},
    }


def _rich(data: Any) -> Any:  # noqa: ANN401
    """Read numbers and nested lists of numbers back, exactly."""
    return [_rich(part) for part in data] if isinstance(data, list) else number_from_json(data)


# ── models ──────────────────────────────────────────────────────────────────────────────────────────


def model_to_json(model: Model) -> Json:
    """Write the name of the family or model and its constructor's arguments."""
    spelled: dict[str, str] = getattr(model, "spelled", {})
    names = {f.name: spelled.get(f.name, f.name) for f in fields(model)}
    return {
        "family": model.name,
        **{names[f.name]: parameter_to_json(getattr(model, f.name)) for f in fields(model)},
    }


def model_from_json(data: Mapping[str, Any]) -> Model:
    name, given = str(data.get("family")), {key: value for key, value in data.items() if key != "family"}
    if name not in ROWS:
        raise ValueError(f"unknown family {name!r}; known: {', '.join(ROWS)}")
    row = ROWS[name]
    kind: Callable[..., Model] = row.load("model")
    if row.kind == FAMILY:
        return kind(**{key: _rich(value) for key, value in given.items()})
    special = (
        {}
        if row.kind == COUNTS
        else {"loss": _loss(given.pop("loss")), "design": _design(given.pop("design"))}
    )
    return kind(**special, **{key: _argument(kind, key, value) for key, value in given.items()})


def _argument(kind: object, name: str, value: Any) -> Any:  # noqa: ANN401
    """Read an argument of a model: a rational where the field is one; names stay names."""
    field = inspect.getattr_static(kind, name, None)
    return number_from_json(value) if isinstance(field, Rational) else _tuples(value)


def _loss(data: Mapping[str, Any]) -> MarginLoss:
    kind = LOSSES[data["loss"]]
    return named_loss(**{name: _argument(kind, name, value) for name, value in data.items()})


def _design(data: list[Mapping[str, Any]]) -> tuple[Feature, ...]:
    return tuple(Feature(**feature) for feature in data)


def _tuples(data: Any) -> Any:  # noqa: ANN401
    return tuple(_tuples(part) for part in data) if isinstance(data, list) else data


# ── released values ─────────────────────────────────────────────────────────────────────────────────


@singledispatch
def value_to_json(value: Any) -> Json:  # noqa: ANN401
    raise TypeError(f"no file format is known for a released {type(value).__name__}")


@value_to_json.register(NoisyStatistic)
def _value_to_json_noisy_statistic(value: NoisyStatistic) -> Json:
    return {
        "kind": value.kind,
        "noisy": list(value.noisy),
        "n": value.n,
        "joint": value.joint,
        "noise": value.noise,
        "scale": parameter_to_json(value.scale),
        "guarantee": to_json(value.guarantee),
        "seeded": value.seeded,
    }


@value_to_json.register(Draws)
def _value_to_json_draws(value: Draws) -> Json:
    return {"kind": value.kind, "values": parameter_to_json(value.values)}


@value_to_json.register(NoisyCells)
def _value_to_json_noisy_cells(value: NoisyCells) -> Json:
    return {
        "kind": value.kind,
        "noisy": value.noisy.tolist(),
        "n": value.n,
        "noise": value.noise,
        "scales": parameter_to_json(value.scales),
        "guarantee": to_json(value.guarantee),
        "seeded": value.seeded,
    }


@value_to_json.register(PerturbedFit)
@value_to_json.register(NoisyMoments)
def _value_to_json_perturbed_fit_or_noisy_moments(value: Any) -> Json:  # noqa: ANN401
    """Write every field but the model, which the release has."""
    written = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in {"model", "guarantee"}}
    numbers = {name: parameter_to_json(part) for name, part in written.items()}
    return {"kind": value.kind, **numbers, "guarantee": to_json(value.guarantee)}


def _regression(kind: type) -> Callable[[Mapping[str, Any], Any], Any]:
    def read(data: Mapping[str, Any], model: Any) -> Any:  # noqa: ANN401
        given = {name: part for name, part in data.items() if name not in {"kind", "guarantee"}}
        numbers = {name: None if part is None else _tuples(_rich(part)) for name, part in given.items()}
        return kind(model=model, guarantee=from_json(data["guarantee"]), **numbers)

    return read


def _cells(data: Mapping[str, Any], model: Any) -> NoisyCells:  # noqa: ANN401 - a CountModel
    return NoisyCells(
        model=model,
        noisy=np.array(data["noisy"]),
        n=data["n"],
        noise=data["noise"],
        scales=tuple(number_from_json(scale) for scale in data["scales"]),
        guarantee=from_json(data["guarantee"]),
        seeded=data["seeded"],
    )


def _noisy(data: Mapping[str, Any], model: Family) -> NoisyStatistic:
    return NoisyStatistic(
        model=model,
        noisy=tuple(data["noisy"]),
        n=data["n"],
        joint=data["joint"],
        noise=data["noise"],
        scale=number_from_json(data["scale"]),
        guarantee=from_json(data["guarantee"]),
        seeded=data["seeded"],
    )


def _draws(data: Mapping[str, Any], model: Family) -> Draws:
    return Draws.of(model, data["values"], several=True)


_VALUES: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {
    NoisyStatistic.kind: _noisy,
    NoisyCells.kind: _cells,
    Draws.kind: _draws,
    PerturbedFit.kind: _regression(PerturbedFit),
    NoisyMoments.kind: _regression(NoisyMoments),
}


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


def value_from_json(data: Mapping[str, Any], model: Any) -> Any:  # noqa: ANN401
    """Read a released value of a model back."""
    kind = data.get("kind")
    if kind not in _VALUES:
        raise ValueError(f"unknown kind of released value {kind!r}; known: {', '.join(_VALUES)}")
    return _VALUES[kind](data, model)


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
