"""Who spent what on which data: live charges as rows, as sums and as bars. Nothing in it is private."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape
from typing import Any, final

from discreet.ledger.amounts import FULL, promise_words
from discreet.ledger.proof import LiveCharges
from discreet.ledger.reads import ScopeRow
from discreet.release.receipt import Entry, exact
from discreet.shown import visible

UNSAID = "not said"
WIDE, ROW, LEFT = 720, 26, 300  # pixels of a picture: all of it, one line, and the words beside a bar
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
    lanes = {row.name: _telling(row) for row in scopes}
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
    return [
        _row(entry, scope, exact(live.amounts[entry.id][scope])[lanes[scope]], released)
        for entry in charges.values()
        for scope in entry.content["scopes"]
    ]


def _telling(row: ScopeRow) -> int:
    """Return the meter that says how full a scope is: the fullest if all must hold, else the emptiest."""
    sums = row.lanes[1:]
    all_hold = row.scope.tariff.filter.needed == len(sums)
    return 1 + sums.index(max(sums) if all_hold else min(sums))


def _row(entry: Entry, scope: str, cost: Fraction, released: set[str]) -> Spent:
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
        share=float(cost / FULL),
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


def picture(found: Sequence[Total], left: Mapping[str, float]) -> str:
    """Draw a bar for each scope, parted by who spent on what, with what is left in words; one SVG."""
    drawn: list[str] = []
    y = ROW
    for scope in sorted(left):
        parts = [total for total in found if total.scope == scope]
        drawn += _scope(y, f"{scope}: {left[scope]:.1%} left", parts)
        y += ROW * (1 + len(parts))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {y}" role="img"'
    label = 'aria-label="Who spent what on which data" font-family="sans-serif" font-size="13"'
    return "\n".join([f"{head} {label}>", *drawn, "</svg>", ""])


def _scope(y: int, title: str, parts: Sequence[Total]) -> list[str]:
    drawn = [_words(8, y, title, weight="bold"), _bar(y, 0.0, 1.0, "#dddddd")]
    start = 0.0
    for place, total in enumerate(parts):
        colour, below = COLOURS[place % len(COLOURS)], y + ROW * (place + 1)
        drawn.append(_bar(y, start, total.share, colour))
        drawn.append(f'<rect x="24" y="{below - 10}" width="10" height="10" fill="{colour}"/>')
        drawn.append(_words(40, below, f"{total.actor}, on {total.data}: {total.share:.1%}"))
        start += total.share
    return drawn


def _words(x: int, y: int, text: str, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}">{escape(visible(text))}</text>'


def _bar(y: int, start: float, share: float, colour: str) -> str:
    room, begun = WIDE - LEFT - 8, min(start, 1.0)
    width = room * min(share, 1.0 - begun)
    return (
        f'<rect x="{LEFT + room * begun:.1f}" y="{y - 13}" width="{width:.1f}" height="16" fill="{colour}"/>'
    )


def html(found: Sequence[Total], left: Mapping[str, float]) -> str:
    """Show the picture and a table of the same sums."""
    heads = "".join(f"<th>{name}</th>" for name in ("scope", "data", "who", "charges", "of the budget"))
    cells = ((t.scope, t.data, t.actor, str(t.charges), f"{t.share:.2%}") for t in found)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(visible(cell))}</td>' for cell in row)}</tr>" for row in cells
    )
    return f"<div>{picture(found, left)}<table><tr>{heads}</tr>{body}</table></div>"
