"""The sections about privacy: the certificate in words, the curve, the budget, where all of it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.json import from_json
from discreet.privacy.words import in_words, knob
from discreet.release.certificate_text import GROUP_A, attack_words, losses, meaning_for, of_metric
from discreet.report.drawn.curve import privacy_curve
from discreet.report.drawn.svg import box, responsive
from discreet.report.drawn.trade_off import trade_off_curve
from discreet.report.markup import Html, cautions, element, facts, joined, listed, paragraphs, table
from discreet.report.numbers import certified, powers, share_upward

if TYPE_CHECKING:
    from discreet.release.certificate import Certified


# ── What a ledger says of its budgets, as words: all that a report may know of it.
class WhatIsLeft(Protocol):
    """What `Ledger.remaining(scope)` returns; named here because a report cannot import the ledger."""

    @property
    def scope(self) -> str: ...
    @property
    def budget(self) -> Guarantee: ...
    @property
    def share(self) -> float: ...
    @property
    def words(self) -> str: ...


@final
@dataclass(frozen=True)
class ScopeView:
    """One budget: how large, how much of it is used, what would still fit."""

    scope: str
    budget: str
    remaining: str
    share_left: float  # 0 to 1

    def __post_init__(self) -> None:
        if not 0 <= self.share_left <= 1:
            raise ValueError(f"the share left of a budget lies in [0, 1], got {self.share_left!r}")


@final
@dataclass(frozen=True)
class LedgerView:
    """Every budget that the release was charged to, as it stood when the report was written."""

    scopes: tuple[ScopeView, ...]

    @classmethod
    def of(cls, *left: WhatIsLeft) -> LedgerView:
        """Take `ledger.remaining(scope)` of each scope."""
        return cls(tuple(ScopeView(x.scope, in_words(x.budget), x.words, x.share) for x in left))


# ── promises
LONGEST = 160  # of a parameter's value
ROWS = "whether the table holds one row or another"
ATTACK = (
    "Somebody tests whether the table holds one row or another. The curve is the most hits that any test can "
    "have at each rate of false alarms; the dashed line is the toss of a coin."
)
QUESTIONS = {  # of people, where a unit was declared, else of rows
    "value": ("whether you are in group A", "whether a row is in group A"),
    "membership": ("whether you are in the table at all", "whether a row is in the table at all"),
    "profile": (
        "which of two neighbouring profiles you have",
        "which of two neighbouring profiles it came from",
    ),
    "metric": ("which of two tables at distance 1 it is", "which of two tables at distance 1 it is"),
}


def sentence(text: str) -> str:
    """Start with a capital and end with a full stop."""
    return powers(text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else "."))


# --- what is promised ------------
def curve_section(release: Certified, said: Mapping[str, Any]) -> Html:
    promised = said["promised"]
    figure = element(
        "figure",
        privacy_curve(release, promised),
        element("figcaption", "For each ε, the certified δ: lower is more private, and so is further left."),
    )
    words = ATTACK.replace(ROWS, "which of two tables at distance 1 it is") if of_metric(promised) else ATTACK
    attack = element("figure", trade_off_curve(release), element("figcaption", words))
    return joined([figure, attack, _promises(promised)])


def _promises(promised: Mapping[str, Any]) -> Html:
    return table(
        "Everything that is promised; numbers are rounded up", ("notion", "value"), _notions(promised)
    )


def _notions(promised: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    far = " of two tables at distance 1" if of_metric(promised) else ""
    for loss in losses(promised):
        pure = "" if loss.delta else " (pure)"
        yield powers(f"ε at δ = {loss.delta:g}") + (far or pure), certified(loss.epsilon, loss.words)
    for row in promised["renyi"]:
        if row["epsilon"] is not None:
            yield f"Rényi divergence of order {row['order']:g}", certified(row["epsilon"])
    if promised["zcdp_rho"] is not None:
        yield "ρ (zero-concentrated)", certified(promised["zcdp_rho"])
    if promised["gdp_mu"] is not None:
        yield "μ (Gaussian)", certified(promised["gdp_mu"])


def odds_table(said: Mapping[str, Any]) -> Html:
    rows = [
        (
            QUESTIONS[row["question"]][0 if said["protected"]["unit"] else 1],
            f"{100 * row['before']:g} %",
            share_upward(row["after_at_most"]),
            powers(f"{row['except_with_probability']:g}") if row["except_with_probability"] else "never",
        )
        for row in said["promised"]["odds"]
    ]
    heads = ("somebody guesses", "sure before", "after, at most", "except in")
    caption = f"How sure somebody who knows every other row can become; {GROUP_A}"
    return table(caption, heads, rows)


# --- what was spent ------------
def budget(said: Mapping[str, Any], view: LedgerView | None) -> Html:
    receipt, promised = said["receipt"], said["promised"]
    charged, about = _charged(receipt, promised), receipt.get("about", {})
    paid = facts(
        [
            ("charged", charged),
            ("to", ", ".join(receipt["scopes"])),
            ("at", receipt["at"]),
            ("receipt", element("code", receipt["id"])),
            *([("note", receipt["note"])] if receipt["note"] else []),
            *[
                (name, about[key])
                for name, key in (("data set", "data"), ("asked by", "actor"))
                if key in about
            ],
        ]
    )
    if view is None:
        hint = "What remains is in the ledger, and changes with every charge: "
        return joined([paid, element("p", hint, element("code", "discreet ledger show"), " tells.")])
    lead = "As the budget stood when this page was written:"
    return joined([paid, element("p", lead), *(_scope(i, scope) for i, scope in enumerate(view.scopes))])


def _charged(receipt: Mapping[str, Any], promised: Mapping[str, Any]) -> str:
    """Name the promise that was paid for: the mechanism's own, or the target."""
    if receipt.get("by_target") == receipt["scopes"]:
        return str(promised["target_words"])
    known = ((promised[name], promised[f"{name}_words"]) for name in ("guarantee", "target"))
    found = next((words for promise, words in known if promise == receipt["guarantee"]), None)
    return found or in_words(from_json(receipt["guarantee"]))


def _scope(i: int, scope: ScopeView) -> Html:
    used = 1 - scope.share_left
    said = f"{100 * used:.1f} % used, {100 * scope.share_left:.1f} % left"

    def draw(width: int) -> tuple[float, Html]:
        return 18, joined(
            [
                box(0, 3, width, 12, "trough", corner=6),
                box(0, 3, max(12 * (used > 0), width * used), 12, "spent", corner=6),
            ]
        )

    meter = responsive(f"budget{i}", f"Budget of {scope.scope}", said, draw)
    inside = facts([("budget", scope.budget), ("used", said), ("what still fits", scope.remaining)])
    return element("figure", element("figcaption", f"Scope {scope.scope}"), meter, inside)


# --- the certificate ------------
def certificate(said: Mapping[str, Any]) -> Html:
    """In the order in which people ask, as certificate_text does."""
    promised, made, checked = said["promised"], said["mechanism"], said["verification"]
    promises = dict.fromkeys(
        (
            f"asked for: {promised['target_words']}",
            f"what the mechanism keeps by itself: {promised['guarantee_words']}",
        )
    )
    attacks = f"attacked by the audits: {', '.join(checked['audit']) or 'none of this pairing'}"
    parts = {
        "What is protected": paragraphs(sentence(said["protected"]["meaning"])),
        "What is promised": joined([listed(map(sentence, promises)), cautions(*said.get("cautions", ()))]),
        meaning_for(said): joined(
            [
                paragraphs(*_once(promised["odds"])),
                odds_table(said),
                *map(paragraphs, map(sentence, attack_words(promised))),
            ]
        ),
        "What was assumed to be public": listed(map(sentence, said["assumed_public"])),
        "How it was made": facts([("mechanism", made["name"]), ("proof", made["theorem"]), *_knobs(made)]),
        "How it was verified": listed(
            [sentence(checked["arithmetic"]), sentence(checked["sampling"]), sentence(attacks)]
        ),
        "How it adds up with other releases": paragraphs(sentence(said["composition"])),
        "Who has to be trusted": listed(map(sentence, said["trust_model"])),
        "Side channels": listed(map(sentence, said["side_channels"])),
        "How useful it is": listed(map(sentence, said["utility"])),
    }
    return joined(joined([element("h3", title), body]) for title, body in parts.items())


def _once(odds: list[Mapping[str, Any]]) -> list[str]:
    """Give the first row of each question in full; the table holds the rest."""
    first = {row["question"]: row["words"] for row in reversed(odds)}
    return [sentence(words) for words in reversed(first.values())]


def _knobs(made: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    model = {f"prior: {name}": value for name, value in made["model"].items() if name != "family"}
    for name, value in {"model": made["model"]["family"], **model, **made["parameters"]}.items():
        text = knob(value)
        yield (
            name.replace("_", " "),
            text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(value)} entries)",
        )


def not_covered(said: Mapping[str, Any]) -> Html:
    return listed(map(sentence, said["not_covered"]))


def provenance(release: Certified, said: Mapping[str, Any]) -> Html:
    receipt, software, schema = said["receipt"], said["software"], said["schema"]
    chosen = [("selection", release.selection)] if release.selection else []
    return facts(
        [
            ("software", f"{software['name']} {software['version']}"),
            ("made", said["created"]),
            ("columns", ", ".join(schema["columns"])),
            *chosen,
            ("schema, SHA-256", element("code", schema["sha256"])),
            ("release, SHA-256", element("code", said["release"]["sha256"])),
            ("ledger entry", f"{receipt['position']}"),
            ("ledger hash", element("code", receipt["hash"])),
        ]
    )
