"""Claims on one page: as HTML with their pictures, and as the Markdown of docs/claims.md."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from discreet.experiments.claims.claim import Finding, Judgement, PublishedClaim
from discreet.experiments.claims.registry import DOCUMENTS
from discreet.report.markup import Html, element, joined
from discreet.report.page import style_sheet

Judged = Sequence[tuple[PublishedClaim, Finding]]
POLICY = "default-src 'none'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'"
EXTRA = "img { max-width: 100%; background: #fff; border-radius: 6px; } .changed { color: var(--alarm); }"
TITLE = "The literature, re-run"
ABOUT = (
    "Every quantitative claim of the five documents that this library grew from, computed and judged. "
    "`discreet reproduce all` computes them again, writes `reproduce.html` with the pictures, and exits with 1 where "
    "a verdict differs from the one recorded here."
)


def changed(claim: PublishedClaim, finding: Finding) -> bool:
    """Return whether the verdict is another one than docs/claims.md records."""
    return finding.verdict is not claim.recorded


def html_page(judged: Judged, pictures: Mapping[str, Iterable[Path]]) -> str:
    """Write one self-contained page: published claim, our number, picture, verdict and erratum."""
    style = style_sheet() + EXTRA
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY.format(digest)),
        element("meta", name="color-scheme", content="light dark"),
        element("title", TITLE),
        element("style", Html(style)),
    )
    shown: set[str] = set()
    sections = [
        element("section", element("h2", title), *(_claim(*one, pictures, shown) for one in own))
        for title, own in _by_document(judged)
    ]
    header = element("header", element("h1", TITLE), element("p", counted(judged), class_="lead"))
    body = element("body", element("main", header, *sections))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _claim(
    claim: PublishedClaim, finding: Finding, pictures: Mapping[str, Iterable[Path]], shown: set[str]
) -> Html:
    new = [name for name in claim.figures if name in pictures and name not in shown]
    shown.update(new)
    drawn = (
        element("img", src=_data(path), alt=f"{name}: {path.stem}") for name in new for path in pictures[name]
    )
    erratum = f" · erratum {', '.join(map(str, claim.errata))}" if claim.errata else ""
    verdict = finding.verdict.value
    if changed(claim, finding):
        verdict = f"{verdict} (changed: {claim.recorded.value} is recorded)"
    return element(
        "article",
        element("h3", f"{claim.name}: {verdict}", id=claim.name, class_=_class(claim, finding)),
        element("p", claim.says),
        element("p", sentence(finding.found)),
        element("p", f"{_places(claim)}{erratum}", class_="quiet"),
        joined(drawn),
    )


def sentence(words: str) -> str:
    """Begin with a capital where a word begins, not a symbol, and end with a full stop."""
    word = words.split(" ", 1)[0]
    start = words[0].upper() if word.isascii() and word.isalpha() and len(word) > 1 else words[0]
    return f"{start}{words[1:].rstrip('.')}."


def _class(claim: PublishedClaim, finding: Finding) -> str | None:
    return "changed" if changed(claim, finding) else None


def _data(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _places(claim: PublishedClaim) -> str:
    return "; ".join((claim.where, *claim.also))


def counted(judged: Judged) -> str:
    """Say how many claims came out how."""
    count = {verdict: sum(found.verdict is verdict for _, found in judged) for verdict in Judgement}
    told = ", ".join(f"{number} {verdict.value}" for verdict, number in count.items() if number)
    return f"{len(judged)} claims: {told}."


def _by_document(judged: Judged) -> list[tuple[str, Judged]]:
    own = {key: [one for one in judged if one[0].document == key] for key in DOCUMENTS}
    return [(DOCUMENTS[key], ones) for key, ones in own.items() if ones]


def markdown_page(judged: Judged) -> str:
    """Write docs/claims.md: a table per document."""
    parts = [
        "# Claims of the literature",
        f"{ABOUT} {counted(judged)}",
        "This page is written by `python -m discreet.experiments.claims.page`, from the quick forms.",
    ]
    for title, own in _by_document(judged):
        rows = [
            f"| {claim.name} | {_cell(_places(claim))} | {_cell(claim.says)} | {_cell(sentence(found.found))} "
            f"| {found.verdict.value}{_errata(claim)} |"
            for claim, found in own
        ]
        parts += [f"## {title}", "\n".join((HEADS, RULE, *rows))]
    return "\n\n".join(parts) + "\n"


HEADS = "| claim | where | what it says | what we computed | verdict |"
RULE = "|---|---|---|---|---|"


def _cell(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "|*_<>[]`~" else sign for sign in text)


def _errata(claim: PublishedClaim) -> str:
    return "".join(f", [erratum {number}](errata.md)" for number in claim.errata)


def main() -> None:
    """Judge every claim in its quick form, and write docs/claims.md."""
    import tempfile  # noqa: PLC0415 - only when run as a program

    from discreet.experiments.claims.claim import Work  # noqa: PLC0415
    from discreet.experiments.claims.registry import claims  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder))
        found = [(claim, claim.judge(work)) for claim in claims().values()]
    Path("docs/claims.md").write_text(markdown_page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
