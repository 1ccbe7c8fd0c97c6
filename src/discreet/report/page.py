"""The page: sections in reading order, one style, no script, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from discreet.report import findings, promises
from discreet.report.markup import Html, element, facts, joined
from discreet.report.numbers import certified, share_upward
from discreet.report.subject import subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from discreet.release import Release
    from discreet.report.ledger_view import LedgerView

LOUD = "Not private"


def report(release: Release, ledger_view: LedgerView | None = None) -> str:
    """Write everything about a release as one self-contained HTML page; `ledger_view` tells what remains."""
    said, asked = release.certificate(), subject(release)
    sections = (
        ("result", "What was learned", findings.picture(release, asked)),
        ("intervals", "Intervals", findings.intervals(release, asked)),
        ("next", "The next record", findings.next_record(release, asked)),
        ("privacy", "What is promised", promises.curve(release, said)),
        ("budget", "What was spent and what remains", promises.budget(said, ledger_view)),
        ("certificate", "The certificate in words", promises.certificate(said)),
        ("limits", "What is not covered", promises.not_covered(said)),
        ("provenance", "Where it came from", promises.provenance(release, said)),
    )
    head = _header(asked.title, findings.headline(release, asked), said, release)
    body = element("main", _alarm(said), head, *_sections(sections), _alarm(said))
    return _document(f"{LOUD}: {asked.title}" if said["warnings"] else asked.title, body)


def _sections(sections: Iterable[tuple[str, str, Html | None]]) -> Iterable[Html]:
    for name, title, body in sections:
        if body is not None:
            yield element("section", element("h2", title, id=name), body, aria_labelledby=name)


def _alarm(said: Mapping[str, Any]) -> Html:
    """A seeded release protects nobody; nobody shall overlook that."""
    return joined(
        element(
            "aside",
            element("strong", LOUD),
            element("p", warning),
            class_="alarm",
            role="note",
            aria_label=LOUD,
        )
        for warning in said["warnings"]
    )


def _header(title: str, headline: str, said: Mapping[str, Any], release: Release) -> Html:
    first = said["promised"]["odds"][0]
    count = said["protected"]["number_of_records"]
    cards = facts(
        [
            *_epsilon(said["promised"]),
            (
                f"sure of you, from {100 * first['before']:g} % to at most",
                share_upward(first["after_at_most"]),
            ),
            ("records", f"{count:,}".replace(",", " ") if count is not None else "private"),
            ("mechanism", release.mechanism.replace("_", " ")),
        ],
        class_="cards",
    )
    chosen = [element("p", f"Selection: {release.selection}.", class_="quiet")] if release.selection else []
    meaning = LOUD + "." if said["warnings"] else promises.sentence(first["words"])
    return element(
        "header",
        element("p", "A result under differential privacy", class_="kicker"),
        element("h1", title),
        element("p", headline, class_="lead"),
        *chosen,
        element("p", meaning),
        cards,
    )


def _epsilon(promised: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """ε at the smallest δ for which one is promised, of those up to 10⁻⁶; pure where it is pure."""
    if promised["pure_epsilon"] is not None:
        yield "ε, pure", certified(promised["pure_epsilon"])
        return
    rows = [row for row in promised["epsilon_at_delta"] if row["epsilon"] is not None]
    chosen = [row for row in rows if row["delta"] == promised["target"].get("delta")] or rows[-1:]
    for row in chosen:
        yield f"ε at δ = {row['delta']:g}", certified(row["epsilon"])


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
    foot = element(
        "footer", element("p", "Reading this page costs nothing: it is made from what was released.")
    )
    page = element("html", head, element("body", body, foot), lang="en")
    return f"<!doctype html>\n{page}\n"


@cache
def _style() -> tuple[Html, str]:
    """The style sheet, and its hash: the page's policy lets the browser apply this one and load nothing."""
    text = files("discreet.report").joinpath("style.css").read_text(encoding="utf-8")
    return Html(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
