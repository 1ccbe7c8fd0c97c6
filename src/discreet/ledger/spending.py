"""Who spent what on which data: live charges as rows, as sums and as bars. Nothing in it is private."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from html import escape
from typing import Any, final

from discreet.ledger.amounts import FULL, Remaining, promise_words
from discreet.ledger.proof import LiveCharges
from discreet.ledger.reads import ScopeRow, remaining_of
from discreet.privacy.words import in_words
from discreet.release.receipt import Entry, exact
from discreet.shown import visible

UNSAID = "not said"
WIDE, ROW, GAP = 720, 24, 8  # pixels of a picture: its width, one line, and the room between two scopes
LONGEST = 92  # characters of a line
COLOURS = ("#3b6ea5", "#c0693a", "#5b8f4a", "#8a5a9e", "#9a8633", "#4a8f8f")


@final
@dataclass(frozen=True)
class Spent:
    """One charge in one scope."""

    scope: str
    data: str
    actor: str
    columns: str
    model: str
    mechanism: str
    promise: str
    share: float  # of the scope's budget
    at: str
    charge: str
    released: bool


def spent(entries: Iterable[Entry], scopes: Sequence[ScopeRow]) -> list[Spent]:
    """List what is charged and was not given back, oldest first."""
    charges: dict[str, Entry] = {}
    released: set[str] = set()
    live = LiveCharges()
    for entry in entries:
        live.step(entry)
        if entry.kind == "charge":
            charges[entry.id] = entry
        elif entry.kind == "refund":
            charges.pop(entry.id, None)
        elif entry.kind == "computed":
            released.add(entry.id)
    shares = {row.name: _shares(row, live) for row in scopes}
    return [
        _row(entry, scope, shares[scope][entry.id], released)
        for entry in charges.values()
        for scope in entry.content["scopes"]
    ]


def _shares(row: ScopeRow, live: LiveCharges) -> dict[str, float]:
    """Part what no longer fits of a scope among its charges, by their costs: with what is left it makes one.

    By sums that is each one's part of ε. Among Rényi orders the emptiest tells the costs.
    """
    prices = {charge: exact(said[row.name]) for charge, said in live.amounts.items() if row.name in said}
    lane = _telling(row)
    costs = {charge: price[lane] for charge, price in prices.items()}
    whole = sum(costs.values(), Fraction(0))
    if not whole:
        return dict.fromkeys(costs, 0.0)
    all_hold = row.scope.tariff.filter.needed == len(row.lanes) - 1
    used = whole / FULL if all_hold else 1 - Fraction(_open(remaining_of(row)).share)
    return {charge: float(cost / whole * used) for charge, cost in costs.items()}


def _telling(row: ScopeRow) -> int:
    """Return the meter that says how full a scope is: the fullest if all must hold, else the emptiest."""
    sums = row.lanes[1:]
    all_hold = row.scope.tariff.filter.needed == len(sums)
    return 1 + sums.index(max(sums) if all_hold else min(sums))


def _row(entry: Entry, scope: str, share: float, released: set[str]) -> Spent:
    said = entry.content
    about: Mapping[str, Any] = said.get("about", {})
    paid = said["target"] if scope in said.get("by_target", ()) else said["guarantee"]
    return Spent(
        scope=scope,
        data=about.get("data", UNSAID),
        actor=about.get("actor", UNSAID),
        columns=", ".join(about.get("columns", ())),
        model=about.get("model", ""),
        mechanism=about.get("mechanism", ""),
        promise=promise_words(paid),
        share=share,
        at=said["at"],
        charge=entry.id,
        released=entry.id in released,
    )


@final
@dataclass(frozen=True)
class Total:
    """What one actor spent of one scope on one data set."""

    scope: str
    data: str
    actor: str
    charges: int
    share: float


def totals(rows: Iterable[Spent]) -> list[Total]:
    """Add up by scope, data set and actor; the largest first within a scope."""
    shares: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        shares[row.scope, row.data, row.actor].append(row.share)
    found = [Total(*key, len(each), sum(each)) for key, each in shares.items()]
    return sorted(found, key=lambda total: (total.scope, -total.share, total.data, total.actor))


def to_json(rows: Iterable[Spent]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


def picture(found: Sequence[Total], scopes: Sequence[Remaining]) -> str:
    """Draw a bar for each scope, parted by who spent on what, with what is left in words; one SVG."""
    drawn: list[str] = []
    y = ROW
    for scope in scopes:
        parts = [total for total in found if total.scope == scope.scope]
        drawn += _scope(y, scope, parts)
        y += ROW * (2 + len(parts)) + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {y}" role="img"'
    label = 'aria-label="Who spent what on which data" font-family="sans-serif" font-size="13"'
    paper = f'<rect width="{WIDE}" height="{y}" fill="#ffffff"/>'
    return "\n".join([f"{head} {label}>", paper, *drawn, "</svg>", ""])


def _scope(y: int, scope: Remaining, parts: Sequence[Total]) -> list[str]:
    said = f"closed; {_open(scope).share:.1%} was left" if scope.closed else f"{scope.share:.1%} left"
    budget = in_words(scope.budget)
    drawn = [_words(8, y, f"{scope.scope}: {said}, of {budget}", "bold"), _bar(y + ROW, 0.0, 1.0, "#dddddd")]
    start = 0.0
    for place, total in enumerate(parts):
        colour, below = COLOURS[place % len(COLOURS)], y + ROW * (place + 2)
        drawn.append(_bar(y + ROW, start, total.share, colour))
        drawn.append(f'<rect x="24" y="{below - 10}" width="10" height="10" fill="{colour}"/>')
        who = "somebody not named" if total.actor == UNSAID else total.actor
        what = "data not named" if total.data == UNSAID else total.data
        drawn.append(_words(40, below, f"{total.share:.1%} by {who}, on {what}"))
        start += total.share
    return drawn


def _words(x: int, y: int, text: str, weight: str = "normal") -> str:
    """Write a line, cut where it would leave the picture; all of it shows under the pointer."""
    whole = visible(text)
    cut = whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…"
    told = f"<title>{escape(whole)}</title>" if cut != whole else ""
    return f'<text x="{x}" y="{y}" font-weight="{weight}" fill="#222222">{told}{escape(cut)}</text>'


def _bar(y: int, start: float, share: float, colour: str) -> str:
    room, begun = WIDE - 16, min(start, 1.0)
    width = room * min(share, 1.0 - begun)
    return f'<rect x="{8 + room * begun:.1f}" y="{y - 15}" width="{width:.1f}" height="16" fill="{colour}"/>'


def html(found: Sequence[Total], scopes: Sequence[Remaining]) -> str:
    """Show the picture and a table of the same sums."""
    heads = "".join(f"<th>{name}</th>" for name in ("scope", "data", "who", "charges", "of the budget"))
    cells = ((t.scope, t.data, t.actor, str(t.charges), f"{t.share:.2%}") for t in found)
    body = "".join(f"<tr>{''.join(map(_cell, range(5), row))}</tr>" for row in cells)
    return f"<div>{picture(found, scopes)}<table><tr>{heads}</tr>{body}</table></div>"


def _cell(place: int, text: str) -> str:
    side = ' style="text-align: right"' if place > 2 else ""
    return f"<td{side}>{escape(visible(text))}</td>"


def _open(scope: Remaining) -> Remaining:
    return replace(scope, closed="")
