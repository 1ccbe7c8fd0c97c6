"""The certificate: one dict for a program and, in words, for the people who sign. Numbers are rounded up."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, final

from discreet.catalogue import ROWS
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.grouped import Grouped
from discreet.posteriors.labels import UNKNOWN
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, NotProved
from discreet.privacy.json import to_json
from discreet.privacy.trade_off import advantage_at_most, known_points, power_at_most
from discreet.privacy.words import delta_caution, in_words, loss_bound, sure_after
from discreet.release.certificate_text import certificate_text, share
from discreet.release.json import model_to_json

if TYPE_CHECKING:
    from discreet.models.model import Model
    from discreet.privacy.guarantee import Relation
    from discreet.release.receipt import Receipt


__all__ = ["Certified", "certificate", "certificate_text", "in_words"]

Json = dict[str, Any]


class Certified(Protocol):
    """What a certificate is about: a `Release`, or what an estimator released that no model is behind."""

    @property
    def model(self) -> Model | Declaration: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def parameters(self) -> tuple[tuple[str, Any], ...]: ...
    @property
    def theorem(self) -> str: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def target(self) -> Guarantee: ...
    @property
    def relation(self) -> Relation: ...
    @property
    def n(self) -> int | None: ...
    @property
    def unit(self) -> str | None: ...
    @property
    def rows_per_unit(self) -> int: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def selection(self) -> str | None: ...
    @property
    def schema(self) -> dict[str, Any]: ...
    @property
    def schema_hash(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def created(self) -> str: ...
    @property
    def receipt(self) -> Receipt: ...
    @property
    def seeded(self) -> bool: ...
    @property
    def body(self) -> bytes: ...
    def certificate(self) -> Certificate: ...


@final
@dataclass(frozen=True)
class Declaration:
    """What an estimator without a model was told in public: its name, and what it takes for granted."""

    name: str
    given: tuple[tuple[str, Any], ...]  # JSON values by name
    audited: tuple[str, ...] = ()  # names of the audit cases that attack it


FORMAT = "discreet-certificate/1"
DELTAS = (1e-5, 1e-6, 1e-9)
ORDERS = (2.0, 4.0, 8.0, 32.0)
PRIORS = (0.5, 0.1, 0.01)
FAILURE = 1e-6  # of the plain-language odds, where the promise is not pure

VERIFIED = (
    "every number above is a double rounded up, from ball arithmetic (arb), rationals, or sums of doubles "
    "whose rounding is counted, and the calibration was accepted only after its own guarantee was proved to "
    "imply the target"
)
DRAWN = (
    "draws are exact on a public grid; floating-point rounding is part of the proof, not an exception to it"
)
NOT_COVERED = (
    "how long the computation took, memory, disk and network traffic, and other side channels",
    "whoever can read the table itself, the machine it was computed on, or its core dumps",
    "other releases about the same people: their costs add up in the ledger, which this receipt belongs to",
    (
        "what the result says about people in general: a true statement about a group may be guessed of a "
        "member whether or not that member's data were used"
    ),
    "whether the declared schema, bounds and model describe the data well",
)
# Group A is whatever the columns tell: say, all rows with a certain answer.
ABOUT = {
    "value": ("you are in group A", "a certain row is in group A"),
    "membership": ("you are in the table at all", "a certain row is in the table at all"),
    "profile": (
        "you have one profile and not its neighbour",
        "it came from one profile, not its neighbour",
    ),
    "metric": ("the table is one of two at distance 1", "the table is one of two at distance 1"),
}
ROWS_ARE_NOT_PEOPLE = (
    "people with several rows: no unit was declared, so that all of this is promised for one row. Somebody "
    "with k rows has k times less of it: their loss may be k times as large"
)
COMPOSITION = (
    "other releases about the same people add to this one. What it cost was taken from {scopes} before any "
    "row was read; the ledger refuses what would exceed the budget, and `discreet ledger show` tells the rest"
)
# What NIST SP 800-226 asks of trust, of side channels and of utility
TRUST = (
    (
        "the central model: whoever runs the software sees the rows and must be trusted; whoever sees the "
        "release need not be"
    ),
    "the ledger's file or server must be kept by somebody who is trusted not to restore an older copy",
)
SIDE_CHANNELS = (
    "the release and its files carry one time, the charge's; a failure after it reveals nothing about rows",
    "how long it took, memory, disk and network traffic are outside the promise: see what is not covered",
)
UTILITY = (
    "the posterior allows for the noise that was added, unless it is a released draw or read as naive",
    "whether the model, the bounds and the prior suit the data is not part of the promise",
)
RATES = (
    0.01,
    0.05,
    0.1,
    0.25,
    0.5,
)  # of false alarms, at which a test's hits are told
SEEDED = (
    "NOT PRIVATE: the randomness came from a public seed (tests and demonstrations only); whoever knows the "
    "seed can subtract the noise, so none of the promises here protects anybody"
)


@final
class Certificate(dict[str, Any]):
    """A dict of plain JSON, which a notebook shows in words."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(certificate_text(self))}</pre>"


def certificate(release: Certified) -> Json:
    """Say what is protected, promised, assumed public, proved and not covered."""
    return {
        "format": FORMAT,
        "private": not release.seeded,
        "warnings": [SEEDED] if release.seeded else [],
        "cautions": cautions(release),
        "protected": _protected(release),
        "promised": _promised(release),
        "assumed_public": _assumed(release),
        "mechanism": {
            "name": release.mechanism,
            "parameters": dict(release.parameters),
            "model": _described(release.model),
            "theorem": release.theorem,
        },
        "verification": {
            "arithmetic": VERIFIED,
            "sampling": DRAWN,
            "audit": audits(release),
            "audit_command": f"discreet audit {release.mechanism}",
        },
        "composition": COMPOSITION.format(scopes=", ".join(release.receipt.scopes)),
        "trust_model": list(TRUST),
        "side_channels": list(SIDE_CHANNELS),
        "utility": list(UTILITY),
        "not_covered": [
            *([] if release.unit else [ROWS_ARE_NOT_PEOPLE]),
            *NOT_COVERED,
            *([SEEDED] if release.seeded else []),
        ],
        "receipt": release.receipt.to_json(),
        "schema": {
            "sha256": release.schema_hash,
            "columns": list(release.columns),
            "declared": release.schema,
        },
        "software": {"name": "discreet", "version": release.version},
        "created": release.created,
        "release": {"sha256": hashlib.sha256(release.body).hexdigest()},
    }


def cautions(release: Certified) -> list[str]:
    """Say what is promised and may still be less than it seems."""
    said = delta_caution(release.guarantee, release.target, release.n)
    return [] if said is None else [said]


# ── parts ───────────────────────────────────────────────────────────────────────────────────────────


def _protected(release: Certified) -> Json:
    k, relation = release.rows_per_unit, release.relation
    bound = f", with at most {k} rows" if k > 1 else ""
    who = f"each value of {release.unit!r}{bound}: its rows" if release.unit else "one row, not a person: it"
    if relation.value == "profile":
        meaning = (
            f"each observation may come from a neighbour's profile, {relation.name}; nothing else is hidden"
        )
    elif relation.is_distance:
        meaning = (
            f"any two tables of as many rows, the less the farther they are apart in {relation.name}: at "
            "distance r the loss is r times that at distance 1, for which all numbers here are. The number "
            "of rows is public"
        )
    elif relation.replaces:
        meaning = f"{who} may be replaced by any other; the number of rows is public"
    else:
        meaning = f"{who} may be added or removed; the number of rows is private"
    return {
        "unit": release.unit,
        "relation": release.relation.to_json(),
        "rows_per_unit": k,
        "number_of_records": release.n,
        "meaning": meaning,
    }


def _promised(release: Certified) -> Json:
    own, target = release.guarantee, release.target
    points = certified_points(release)
    deltas: dict[float, Exact] = {**{d: d for d in DELTAS}, **_own_delta(target)}
    return {
        "guarantee": to_json(own),
        "guarantee_words": in_words(own),
        "target": to_json(target),
        "target_words": in_words(target),
        "pure_epsilon": _least(release, lambda g: g.epsilon(0)),
        "epsilon_at_delta": [
            {"delta": d, "epsilon": _least(release, lambda g, d=d: g.epsilon(deltas[d]))}  # type: ignore[misc]
            for d in sorted(deltas, reverse=True)
        ],
        "renyi": [
            {"order": a, "epsilon": _least(release, lambda g, a=a: g.renyi(a))}  # type: ignore[misc]
            for a in ORDERS
        ],
        "renyi_order_limit": _number(max(own.order_limit, target.order_limit)),
        "zcdp_rho": _least(release, lambda g: g.zcdp_bound),
        "gdp_mu": _least(release, lambda g: g.gdp_bound),
        "odds": odds(release),
        "advantage": advantage_at_most(points),
        "trade_off": [
            {"false_positive": rate, "true_positive_at_most": power_at_most(points, rate)} for rate in RATES
        ],
    }


def certified_points(release: Certified) -> list[tuple[float, float]]:
    """(ε, δ) that are promised: of the target, and of what the mechanism keeps."""
    slack, rest = release.target.disclosure()
    asked = [(rest.epsilon(0), float(slack))] if Fraction(float(slack)) >= slack else []
    return known_points(release.guarantee, release.target, more=asked)


def _own_delta(target: Guarantee) -> dict[float, Exact]:
    """δ of an (ε, δ) target by its double, to ask at exactly it: a double below it costs more ε."""
    slack = target.disclosure()[0]
    return {float(slack): slack} if 0 < slack < 1 else {}


def _least(release: Certified, ask: Callable[[Guarantee], float]) -> float | None:
    """Both the mechanism's own promise and the target hold; the better answer counts."""
    return _number(min(ask(release.guarantee), ask(release.target)))


def _number(x: float) -> float | None:
    return None if x == math.inf else x


def odds(release: Certified) -> list[Json]:
    """How sure somebody who knows everything else can become, by prior; see privacy.odds."""
    named = {"substitute": "value", "add_remove": "membership"}
    question = named.get(release.relation.value, release.relation.value)
    asked = [(question, release.guarantee, release.target)]
    if question == "membership":
        try:
            both = ("value", release.guarantee.as_substitute(), release.target.as_substitute())
        except NotProved:  # a group of two is beyond what the guarantee reaches
            pass
        else:
            asked.append(both)
    people = release.unit is not None
    return [row for question, own, target in asked for row in _rows(question, own, target, people=people)]


def _rows(question: str, own: Guarantee, target: Guarantee, *, people: bool) -> list[Json]:
    loss, failure = _surest(own, target)
    about = ABOUT[question][0 if people else 1]
    return [
        {
            "question": question,
            "before": prior,
            "after_at_most": sure_after(prior, loss),
            "except_with_probability": failure,
            "loss": _number(loss),
            "words": _odds_words(about, prior, sure_after(prior, loss), failure),
        }
        for prior in PRIORS
    ]


def _surest(own: Guarantee, target: Guarantee) -> tuple[float, float]:
    """Bound the loss, and say how likely the bound fails: never, where possible; else FAILURE; else 4δ."""
    slack = max(float(g.disclosure()[0]) for g in (own, target))
    failures = (0.0, FAILURE, min(4 * slack, 0.5))
    bounds = ((min(loss_bound(own, f), loss_bound(target, f)), f) for f in failures)
    return next((pair for pair in bounds if pair[0] < math.inf), (math.inf, 0.0))


def _odds_words(about: str, before: float, after: float, failure: float) -> str:
    rider = f", except with probability {failure:g} over the noise" if failure else ""
    return (
        f"an adversary who is {before * 100:g} % sure that {about} before can be at most "
        f"{share(after)} sure after seeing this release, even knowing every other row{rider}"
    )


def _assumed(release: Certified) -> list[str]:
    size = f"the number of records, {release.n}" if release.n is not None else None
    bound = f"the bound of {release.rows_per_unit} rows for each {release.unit!r}" if release.unit else None
    chosen = f"the selection: {release.selection}" if release.selection else None
    return [
        said
        for said in (
            "the schema: columns, categories, bounds and grids, declared and never read from the data",
            _elsewhere(release),
            _model(release.model),
            "the mechanism, its parameters and the target, chosen without looking at the data",
            size,
            bound,
            chosen,
            "that this release was made, when, and what was charged for it",
        )
        if said is not None
    ]


def _elsewhere(release: Certified) -> str | None:
    """Say as what the values count that the levels of a column leave out."""
    declared = release.schema["columns"]
    levelled = [name for name in release.columns if "levels" in declared.get(name, {})]
    places = ", ".join(f"{name} as {declared[name].get('unknown', UNKNOWN)}" for name in levelled)
    return f"missing and undeclared values count: {places}" if places else None


@singledispatch
def _model(model: object) -> str:
    del model
    return "the model and its prior"


@_model.register
def _model_generalized_linear(model: GeneralizedLinear) -> str:
    return (
        f"the model and its prior: the norm {float(model.norm):g}, to which longer rows are scaled down, and "
        f"the guess {float(model.radius):g} of the length of the weights, neither read from the data"
    )


def _described(model: Model | Declaration) -> Json:
    if isinstance(model, Declaration):
        return {"family": model.name, **dict(model.given)}
    return model_to_json(model)


@_model.register
def _model_grouped(model: Grouped) -> str:
    by = ", ".join(model.by)
    return f"the model and its prior, in each of {model.count} groups by {by}; a row is in one group alone"


def audits(release: Certified) -> list[str]:
    """Name the audit cases that attack this mechanism; `discreet audit` runs them."""
    if isinstance(release.model, Declaration):
        return list(release.model.audited)
    row, noise = ROWS.get(release.model.name), dict(release.parameters).get("noise")
    return [] if row is None else row.audits(release.mechanism, release.relation.value, noise)
