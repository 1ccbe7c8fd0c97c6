"""The certificate in plain words, from its dict alone: what a saved file says, whoever wrote it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, final

from discreet.privacy.json import from_json
from discreet.privacy.kinds import PureDP
from discreet.privacy.words import knob, number, upward
from discreet.shown import visible

KNOWN = "discreet-certificate/1"
WIDTH = 96
GROUP_A = "group A is any group that can be read off the columns, such as everybody who gave a certain answer"
TOLD_AT = 0.05  # the rate of false alarms that is put in words


def certificate_text(certificate: Mapping[str, Any]) -> str:
    """Say the certificate in sentences, in the order in which people ask."""
    if certificate.get("format") != KNOWN:
        raise ValueError(f"this is not a certificate of format {KNOWN}: got {certificate.get('format')!r}")
    promised, made = certificate["promised"], certificate["mechanism"]
    receipt, schema, software = certificate["receipt"], certificate["schema"], certificate["software"]
    checked = certificate["verification"]
    sections = {
        "What is protected": [certificate["protected"]["meaning"]],
        "What is promised": [
            f"asked for: {promised['target_words']}",
            *_promises(promised),
            f"what the mechanism keeps by itself: {promised['guarantee_words']}",
            *(f"caution: {words}" for words in certificate.get("cautions", ())),
        ],
        meaning_for(certificate): [
            *(row["words"] for row in promised["odds"]),
            *([GROUP_A] if any(row["question"] == "value" for row in promised["odds"]) else []),
            *attack_words(promised),
        ],
        "What was assumed to be public": certificate["assumed_public"],
        "How it was made": [
            (
                f"{made['name']} of {made['model']['family']} on {', '.join(schema['columns'])}; "
                f"{_listed(made['parameters'])}"
            ),
            f"proof: {made['theorem']}",
        ],
        "How it was verified": [
            checked["arithmetic"],
            checked["sampling"],
            f"attacked by the audits: {', '.join(checked['audit']) or 'none of this pairing'}",
        ],
        "How it adds up with other releases": list(filter(None, [certificate.get("composition")])),
        "Who has to be trusted": certificate.get("trust_model", []),
        "Side channels": certificate.get("side_channels", []),
        "How useful it is": certificate.get("utility", []),
        "What is not covered": certificate["not_covered"],
        "What was paid": [
            f"charge {receipt['id']} in {', '.join(receipt['scopes'])} at {receipt['at']}",
            f"ledger entry {receipt['position']}, hash {receipt['hash']}",
            *about_words(receipt),
        ],
        "Provenance": [
            f"{software['name']} {software['version']}, {certificate['created']}",
            f"schema {schema['sha256']}",
            f"release {certificate['release']['sha256']}",
        ],
    }
    head = ["PRIVACY CERTIFICATE", *(textwrap.fill(w, WIDTH) for w in certificate["warnings"]), ""]
    return "\n".join([*head, *(_section(title, lines) for title, lines in sections.items() if lines)])


def meaning_for(certificate: Mapping[str, Any]) -> str:
    """Head the section of odds: "you" are protected only where a unit was declared."""
    return f"What that means for {'you' if certificate['protected']['unit'] else 'one row'}"


def attack_words(promised: Mapping[str, Any]) -> Iterable[str]:
    """Say how well any test can tell two neighbours apart; certificates of older versions do not know it."""
    if "trade_off" in promised:
        row = next(one for one in promised["trade_off"] if one["false_positive"] == TOLD_AT)
        yield (
            f"a test that falsely accuses {TOLD_AT:.0%} of the innocent finds at most "
            f"{share(row['true_positive_at_most'])} of the guilty; no test's hits exceed its false alarms by "
            f"more than {share(promised['advantage'])} (its advantage)"
        )
        curve = ", ".join(
            f"{share(one['true_positive_at_most'])} at {one['false_positive']:.0%}"
            for one in promised["trade_off"]
        )
        yield f"the trade-off curve: true positives of any test, at most, at its false positives: {curve}"


def share(p: float) -> str:
    """Round up at two decimals of a percentage."""
    return f"{math.ceil(Fraction(p) * 10_000) / 100:g} %"


def about_words(receipt: Mapping[str, Any]) -> Iterable[str]:
    """Say by whom, on which data and by which rule of the ledger a release was paid for."""
    about = receipt.get("about", {})
    if "data" in about:
        yield f"data set {about['data']}"
    if "fingerprint" in about:
        yield f"fingerprint of the data set's schema and place {about['fingerprint']}"
    if "actor" in about:
        yield f"asked for by {about['actor']}, as declared"
    for scope, rule in sorted(receipt.get("rules", {}).items()):
        kept = "plain sums of ε and δ" if rule == "sums" else "Rényi orders"
        yield f"scope {scope} is kept by {kept}"


@final
class PromisedLoss(NamedTuple):
    """One ε that is promised, and how it is written: as it was asked for, if it is that; else rounded up."""

    delta: float
    epsilon: float
    words: str


def losses(promised: Mapping[str, Any]) -> list[PromisedLoss]:
    """Return every ε that is promised: at the δ that was asked for first, then pure, then the others.

    ε at δ = 0 may be a hair above the ε of a target with δ > 0, and read first it would look like a breach.
    """
    rows = [(row["delta"], row["epsilon"]) for row in promised["epsilon_at_delta"]]
    found = [(delta, loss) for delta, loss in [(0.0, promised["pure_epsilon"]), *rows] if loss is not None]
    asked, exact = asked_delta(promised), _exact_losses(promised)
    said = [PromisedLoss(delta, loss, _written(loss, exact.get(delta, []))) for delta, loss in found]
    return sorted(said, key=lambda row: row.delta != asked)


def _exact_losses(promised: Mapping[str, Any]) -> dict[float, list[Fraction]]:
    """Read the ε of both promises exactly, by δ: the certified double of 0.7 is the next one above 7/10."""
    found: dict[float, list[Fraction]] = {}
    for promise in (from_json(promised["target"]), from_json(promised["guarantee"])):
        slack, rest = promise.disclosure()
        if isinstance(rest, PureDP):
            found.setdefault(float(slack), []).append(Fraction(rest.loss))
    return found


def _written(loss: float, exact: Iterable[Fraction]) -> str:
    below = Fraction(math.nextafter(loss, 0.0))
    return next((number(e).removesuffix(".0") for e in exact if below < e <= Fraction(loss)), upward(loss))


def of_metric(promised: Mapping[str, Any]) -> bool:
    """Whether the promise is about two tables at a distance; its numbers are for distance 1."""
    return bool(promised["guarantee"].get("kind") == "MetricDP")


def asked_delta(promised: Mapping[str, Any]) -> float:
    """Return the δ of the target."""
    return float(from_json(promised["target"]).disclosure()[0])


def loss_words(loss: PromisedLoss, *, far: bool = False) -> str:
    """Say one point of the promise; `far` where it is about two tables at distance 1."""
    pure = " (pure differential privacy)" if not loss.delta else ""
    about = " of two tables at distance 1" if far else pure
    return f"ε = {loss.words} at δ = {loss.delta:g}{about}"


def _promises(promised: Mapping[str, Any]) -> Iterable[str]:
    yield from (loss_words(loss, far=of_metric(promised)) for loss in losses(promised))
    for row in promised["renyi"]:
        if row["epsilon"] is not None:
            yield f"Rényi divergence of order {row['order']:g} at most {upward(row['epsilon'])}"
    if promised["zcdp_rho"] is not None:
        yield f"zero-concentrated with ρ = {upward(promised['zcdp_rho'])}"
    if promised["gdp_mu"] is not None:
        yield f"Gaussian with μ = {upward(promised['gdp_mu'])}"


def _listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {knob(value)}" for name, value in parameters.items()) or "no knob"


def _section(title: str, lines: Iterable[str]) -> str:
    shown = map(visible, lines)  # columns and levels are words of others
    body = (textwrap.fill(line, WIDTH, initial_indent="  - ", subsequent_indent="    ") for line in shown)
    return "\n".join([title, *body, ""])
