"""Guarantees as JSON and back, exactly: a number is the double it is, a string "p/q" the rational it is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet.privacy.accounting.composition import Composition, Worst
from discreet.privacy.amplification.couplings import GaussianShift, LaplaceShift, TwoSteps
from discreet.privacy.amplification.noisy_sgd import GaussianMixtureCurve, GaussianMixtureProfile
from discreet.privacy.amplification.subsampling import (
    SampledGaussianCurve,
    SampledGaussianProfile,
    SubsampledProfile,
)
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.arithmetic.curves import GroupCurve, GroupProfile, Points, Unbounded
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.kinds import (
    ApproxDP,
    BoundedRange,
    DiscreteGaussianDP,
    GaussianDP,
    MixedRange,
    PureDP,
    RenyiDP,
    ZeroCDP,
)
from discreet.privacy.under_metric.promise import MetricDP
from discreet.privacy.worst_pairs.guarantee_of_pair import PrivacyProfile, RenyiCurve
from discreet.privacy.worst_pairs.pairs import (
    BetaPairs,
    BetaSidePairs,
    DirichletPairs,
    GammaRatePairs,
    GammaShapePairs,
    NormalPair,
)

Json = dict[str, Any]


@final
@dataclass(frozen=True)
class GuaranteeForm:
    """How one kind is written: argument of `build` → attribute that holds it."""

    build: Callable[..., Any]
    arguments: Mapping[str, str]


def _plain(build: Callable[..., Any], *names: str) -> GuaranteeForm:
    return GuaranteeForm(build, {name: name for name in names})


_PROMISES = {
    "PureDP": GuaranteeForm(PureDP, {"epsilon": "loss"}),
    "ApproxDP": GuaranteeForm(ApproxDP, {"epsilon": "loss", "delta": "slack"}),
    "BoundedRange": GuaranteeForm(BoundedRange, {"epsilon": "loss"}),
    "MixedRange": GuaranteeForm(MixedRange, {"epsilon": "loss"}),
    "ZeroCDP": _plain(ZeroCDP, "rho"),
    "GaussianDP": _plain(GaussianDP.from_square, "mu_squared"),
    "DiscreteGaussianDP": _plain(DiscreteGaussianDP, "moves"),
    "RenyiDP": _plain(RenyiDP, "curve", "order_limit", "profile"),
    "MetricDP": GuaranteeForm(MetricDP, {"epsilon": "loss", "delta": "slack"}),
    "Composition": _plain(Composition, "parts"),
    "Worst": _plain(Worst, "parts"),
}
_INSIDE = {
    "Points": _plain(Points, "known"),
    "Unbounded": _plain(Unbounded),
    "GroupCurve": _plain(GroupCurve, "curve", "k"),
    "GroupProfile": _plain(GroupProfile, "profile", "k"),
    "RenyiCurve": _plain(RenyiCurve, "worst"),
    "PrivacyProfile": _plain(PrivacyProfile, "worst"),
    "BetaPairs": _plain(BetaPairs, "alpha", "beta", "step", "others", "unit"),
    "DirichletPairs": _plain(DirichletPairs, "first", "second", "step"),
    "GammaShapePairs": _plain(GammaShapePairs, "shape", "gap"),
    "GammaRatePairs": _plain(GammaRatePairs, "rate", "gap", "shape"),
    "BetaSidePairs": _plain(BetaSidePairs, "fixed", "moving", "gap"),
    "NormalPair": _plain(NormalPair, "mu_squared"),
    "TwoSteps": _plain(TwoSteps, "first", "second", "distance", "lipschitz"),
    "GaussianShift": _plain(GaussianShift, "sigma"),
    "LaplaceShift": _plain(LaplaceShift, "scale"),
    "GaussianMixtureCurve": _plain(GaussianMixtureCurve, "parts"),
    "GaussianMixtureProfile": _plain(GaussianMixtureProfile, "parts"),
    "SubsampledProfile": _plain(SubsampledProfile, "base", "rate"),
    "SampledGaussianCurve": _plain(SampledGaussianCurve, "mu_squared", "rate", "steps", "poisson"),
    "SampledGaussianProfile": _plain(SampledGaussianProfile, "mu_squared", "rate", "steps"),
}
_FORMS = {**_PROMISES, **_INSIDE}


def to_json(guarantee: Guarantee) -> Json:
    """Write a guarantee as plain JSON; from_json gives an equal one back."""
    kind = type(guarantee).__name__
    if kind not in _PROMISES:
        raise TypeError(f"cannot write {kind!r} as JSON; known guarantees: {', '.join(_PROMISES)}")
    return _fields(guarantee, {"relation": guarantee.relation.to_json()})


def from_json(data: Mapping[str, Any]) -> Guarantee:
    """Read a guarantee; only the kinds of this library are ever built, whatever the text says."""
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if kind not in _PROMISES:
        raise ValueError(
            f"unknown kind of guarantee {kind!r}; known: {', '.join(_PROMISES)}; it may come from a later "
            "version of discreet"
        )
    try:
        built: Guarantee = _decoded(data)
    except OverflowError:
        raise ValueError(f"this {kind} holds a number beyond doubles: it is not what was written") from None
    return built


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────────


def number_to_json(x: Exact) -> float | int | str:
    """Write an exact number: as itself where a double or an integer, else as "p/q"; ∞ as "inf"."""
    if isinstance(x, Fraction):
        return str(x)
    return "inf" if x == math.inf else x


def number_from_json(x: float | str) -> Exact:
    if not isinstance(x, str):
        return x
    if x == "inf":
        return math.inf
    if not re.fullmatch(r"-?\d+(\.\d+|/0*[1-9]\d*)?", x, re.ASCII):  # 1e999999999 would take hours
        raise ValueError(f"a number is written as p or p/q, got {x[:40]!r}")
    return Fraction(x)


# ── values ──────────────────────────────────────────────────────────────────────────────────────────


def _encoded(value: object) -> object:
    if value is None:
        return None
    if isinstance(value, int | float | Fraction):
        return number_to_json(value)
    if isinstance(value, tuple):
        return [_encoded(part) for part in value]
    if isinstance(value, Guarantee) and type(value).__name__ in _PROMISES:
        return _fields(value, {"relation": value.relation.to_json()})
    return _fields(value, {})


def _fields(value: object, more: Json) -> Json:
    kind = type(value).__name__
    if kind not in _FORMS or not type(value).__module__.startswith("discreet."):
        raise TypeError(
            f"cannot write a {kind!r} as JSON; a Rényi curve of your own is stored as points: "
            "RenyiDP.points({order: g.renyi(order), …})"
        )
    named = {name: _encoded(getattr(value, attribute)) for name, attribute in _FORMS[kind].arguments.items()}
    return {"kind": kind, **named, **more}


def _decoded(data: Any) -> Any:  # noqa: ANN401
    if isinstance(data, list):
        return tuple(_decoded(part) for part in data)
    if not isinstance(data, Mapping):
        return data if data is None else number_from_json(data)
    kind = data.get("kind")
    if kind not in _FORMS:
        raise ValueError(f"unknown kind {kind!r} inside a guarantee; known: {', '.join(_FORMS)}")
    form = _FORMS[kind]
    expected = set(form.arguments) | ({"relation"} if kind in _PROMISES else set())
    if set(data) - {"kind"} != expected:
        raise ValueError(
            f"a {kind} holds {', '.join(sorted(expected)) or 'nothing'}; "
            f"got {', '.join(sorted(set(data) - {'kind'})) or 'nothing'}"
        )
    arguments = {name: _decoded(data[name]) for name in form.arguments}
    relation = {"relation": Relation.from_json(data["relation"])} if kind in _PROMISES else {}
    try:
        return form.build(**arguments, **relation)
    except (TypeError, AttributeError) as wrong:  # a number where a curve belongs, and the like
        raise ValueError(f"a {kind} cannot be built from what this file holds: {wrong}") from None
