"""The privacy curve δ(ε) of a release, with what was promised marked on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.privacy.words import number
from discreet.release.certificate_text import losses
from discreet.report.drawn.svg import (
    Axis,
    area,
    bottom_axis,
    curve,
    dot,
    legend,
    line,
    responsive,
    tick_teller,
    words,
)
from discreet.report.markup import Html, joined
from discreet.report.numbers import powers

if TYPE_CHECKING:
    from discreet.release.certificate import Certified


POINTS = 28
DEEPEST = -12.0  # δ below 10⁻¹² is drawn at the bottom
FAR = 40.0  # no ε beyond it is worth a picture


def promised_points(promised: Mapping[str, Any]) -> list[tuple[float, float]]:
    """(ε, δ) as the certificate lists them; δ = 0 where the promise is pure."""
    rows = [
        (row["epsilon"], row["delta"]) for row in promised["epsilon_at_delta"] if row["epsilon"] is not None
    ]
    pure = promised["pure_epsilon"]
    return rows + ([(pure, 0.0)] if pure is not None else [])


def target_point(promised: Mapping[str, Any]) -> tuple[float, float] | None:
    """(ε, δ) of a target of that kind; None for a target of another kind."""
    target = promised["target"]
    if target["kind"] not in {"ApproxDP", "PureDP"}:
        return None
    return _number(target["epsilon"]), _number(target.get("delta", 0.0))


def _number(written: float | str) -> float:
    """Read a number as certificates write it: a double, or p/q where no double is exact."""
    return float(Fraction(written))


def delta_at(release: Certified, epsilon: float) -> float:
    """Both promises hold, so the smaller δ does."""
    return min(release.guarantee.delta(epsilon), release.target.delta(epsilon))


def privacy_curve(release: Certified, promised: Mapping[str, Any]) -> Html:
    known = promised_points(promised)
    target = target_point(promised)
    seen = [epsilon for epsilon, _ in [*known, *([target] if target else [])]]
    last = min(max(seen, default=8.0), FAR)
    end = 1.1 * last
    at = sorted(
        {*np.linspace(0, end, POINTS).tolist(), *np.linspace(0.85 * last, last, POINTS // 2).tolist()}
    )
    points = [(e, delta_at(release, e)) for e in at]
    marks = [target] if target else known[1:2]

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(0, end, 48, width - 10), Axis(DEEPEST, 0, 270, 34)
        path = [(across.at(e), up.at(_log(d))) for e, d in points]
        keys = [("line", "posterior", "δ(ε)"), ("dot", "promise", "what was promised")]
        parts = [
            bottom_axis(across, 270, 34, tick_teller(across), "ε"),
            _powers(up, 48, width - 10),
            area(path, 270, "interval"),
            curve(path, "posterior"),
            *(_mark(across, up, mark, width) for mark in marks),
            legend(keys, 48, 16),
        ]
        return 314, joined(parts)

    story = "; ".join(powers(f"at δ = {loss.delta:g}, ε = {loss.words}") for loss in losses(promised))
    return responsive("privacy", "How δ falls as ε grows", f"Certified: {story}.", draw)


def _log(delta: float) -> float:
    return max(DEEPEST, math.log10(delta)) if delta > 0 else DEEPEST


def _powers(up: Axis, left: float, right: float) -> Html:
    parts: list[Html] = [words(left - 40, 24, "δ", "name")]
    for power in range(int(DEEPEST), 1, 3):
        y = up.at(power)
        said = "1" if power == 0 else powers(f"1e{power}")
        parts += [line(left, y, right, y, "grid"), words(left - 6, y + 4, said, "tick", "end")]
    return joined(parts)


def _mark(across: Axis, up: Axis, mark: tuple[float, float], width: int) -> Html:
    """Mark the promised point, its words on the side that has room."""
    x, y = across.at(mark[0]), up.at(_log(mark[1]))
    said = powers(f"ε = {number(mark[0])}, δ = {mark[1]:g}")
    left = x > width / 2
    above = y > 200
    place = (x - 10 if left else x + 10, y - 10 if above else y + 20)
    return joined([dot(x, y, 5.5, "promise"), words(*place, said, "marked", "end" if left else "start")])
