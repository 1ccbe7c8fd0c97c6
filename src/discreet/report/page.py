"""The page: sections in reading order, one style, no script, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from discreet.catalogue import row_of
from discreet.release.certificate_text import losses, of_metric
from discreet.report import promises
from discreet.report.markup import Html, element, facts, joined
from discreet.report.numbers import certified, powers, share_upward, whole
from discreet.report.promises import LedgerView

if TYPE_CHECKING:
    from discreet.release.certificate import Certified
    from discreet.release.release import Release


class Found(Protocol):
    """What the page says of a result; None leaves a section out."""

    def headline(self) -> str: ...
    def picture(self) -> Html | None: ...
    def intervals(self) -> Html | None: ...
    def next_record(self) -> Html | None: ...


LOUD = "Not private"
UNKEPT = (
    "What is promised below holds for this mechanism with secret randomness; this release does not keep it."
)


def report(release: Release, ledger_view: LedgerView | None = None) -> str:
    """Write everything about a release as one self-contained HTML page; `ledger_view` tells what remains."""
    found = row_of(release.model).load("report", "findings").of(release)
    return page(release, found, found.subject.title, ledger_view)


def page(release: Certified, found: Found, title: str, ledger_view: LedgerView | None = None) -> str:
    """Write the page about what was found, whoever found it."""
    said = release.certificate()
    sections = (
        ("result", "What was learned", found.picture()),
        ("intervals", "Intervals", found.intervals()),
        ("next", "The next record", found.next_record()),
        ("privacy", "What is promised", promises.curve_section(release, said)),
        ("budget", "What was spent and what remains", promises.budget(said, ledger_view)),
        ("certificate", "The certificate in words", promises.certificate(said)),
        ("limits", "What is not covered", promises.not_covered(said)),
        ("provenance", "Where it came from", promises.provenance(release, said)),
    )
    head = _header(title, found.headline(), said, release)
    body = element("main", _alarm(said), head, *_sections(sections), _alarm(said))
    return _document(f"{LOUD}: {title}" if said["warnings"] else title, body)


def _sections(sections: Iterable[tuple[str, str, Html | None]]) -> Iterable[Html]:
    for name, title, body in sections:
        if body is not None:
            yield element("section", element("h2", title, id=name), body, aria_labelledby=name)


def _alarm(said: Mapping[str, Any]) -> Html:
    """Say loudly that a seeded release protects nobody."""
    return joined(
        element(
            "aside",
            element("strong", LOUD),
            element("p", promises.sentence(warning.removeprefix("NOT PRIVATE: "))),
            class_="alarm",
            role="note",
            aria_label=LOUD,
        )
        for warning in said["warnings"]
    )


def _header(title: str, headline: str, said: Mapping[str, Any], release: Certified) -> Html:
    first = said["promised"]["odds"][0]
    count = said["protected"]["number_of_records"]
    cards = facts(
        [
            *_epsilon(said["promised"]),
            (
                f"sure of {_whom(release)}, from {100 * first['before']:g} % to at most",
                share_upward(first["after_at_most"]),
            ),
            ("records", whole(count) if count is not None else "private"),
            ("mechanism", release.mechanism.replace("_", " ")),
        ],
        class_="cards",
    )
    chosen = [element("p", f"Selection: {release.selection}.", class_="quiet")] if release.selection else []
    meaning = UNKEPT if said["warnings"] else promises.sentence(first["words"])
    return element(
        "header",
        element("p", "A result under differential privacy", class_="kicker"),
        element("h1", title),
        element("p", headline, class_="lead"),
        *chosen,
        element("p", meaning),
        cards,
    )


def _whom(release: Certified) -> str:
    """Name what an attacker guesses."""
    if release.relation.is_distance:
        return "the table, or another at distance 1"
    return "you" if release.unit else "a row"


def _epsilon(promised: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """ε at the δ that was asked for, else the first that is promised."""
    for loss in losses(promised)[:1]:
        pure = "ε at distance 1" if of_metric(promised) else "ε, pure"
        yield (
            (powers(f"ε at δ = {loss.delta:g}") if loss.delta else pure),
            certified(loss.epsilon, loss.words),
        )


def _document(title: str, body: Html) -> str:
    style, digest = _style()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )
    kept = Html(body.replace(" %", "\u00a0%"))  # so that no line starts with a percent sign
    foot = element(
        "footer", element("p", "Reading this page costs nothing: it is made from what was released.")
    )
    page = element("html", head, element("body", kept, foot), lang="en")
    return f"<!doctype html>\n{page}\n"


def style_sheet() -> str:
    """Return the palette, which the service's page has too, and after it the style that uses it."""
    home = files("discreet.report")
    return "".join(home.joinpath(name).read_text(encoding="utf-8") for name in ("palette.css", "style.css"))


@cache
def _style() -> tuple[Html, str]:
    """Read the style sheet and its hash: the page's policy admits this one, and loads nothing."""
    text = style_sheet()
    return Html(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
