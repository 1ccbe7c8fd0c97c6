"""The picture of one number: prior and posterior densities, or the prior with what was drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Family, Floats
from discreet.posteriors.posterior import FamilyPosterior
from discreet.report.drawn.svg import (
    Axis,
    area,
    bottom_axis,
    curve,
    diamond,
    legend,
    line,
    responsive,
    tick_teller,
)
from discreet.report.markup import Html, joined
from discreet.report.numbers import teller
from discreet.report.subject import LEVEL, Group

ROOM = 1.2  # shown of the prior on either side, in posteriors; more is cut, and the caption says so
POINTS = 240


def density(prior: Family, posterior: FamilyPosterior, group: Group) -> tuple[Html, bool]:
    """Draw both laws, the interval marked; and say whether the prior reaches beyond the picture."""
    low, high, cut = span(prior, posterior)
    x = np.linspace(low, high, POINTS + 2)[1:-1]
    before, after = (np.exp(np.clip(law.log_density(x), -700, 700)) for law in (prior, posterior))
    ends, mean = np.ravel(posterior.interval(LEVEL)), float(np.ravel(posterior.mean())[0])
    top = _height(after, (x >= ends[0]) & (x <= ends[1]))
    say = teller(ends[1] - ends[0], percent=group.percent)

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 250, 34)
        inside = (x >= ends[0]) & (x <= ends[1])
        path = [(across.at(a), up.at(b)) for a, b in zip(x, after, strict=True)]
        parts = [
            bottom_axis(across, 250, 34, tick_teller(across, percent=group.percent), group.axis),
            area([p for p, keep in zip(path, inside, strict=True) if keep] or path, 250, "interval"),
            curve([(across.at(a), up.at(b)) for a, b in zip(x, before, strict=True)], "prior"),
            curve(path, "posterior"),
            line(across.at(mean), 34, across.at(mean), 250, "mean"),
            line(across.at(ends[0]), 250, across.at(ends[1]), 250, "bar"),
            legend(
                [("line", "posterior", "posterior"), ("line", "prior", "prior"), ("box", "interval", "90 %")],
                8,
                16,
            ),
        ]
        return 294, joined(parts)

    story = (
        f"The posterior has its mean at {say(mean)}; 90 % of it lies between {say(ends[0])} and "
        f"{say(ends[1])}. The prior has its mean at {say(float(prior.mean()))}."
    )
    return responsive("density", f"Prior and posterior: {group.axis}", story, draw), cut


def span(prior: Family, posterior: FamilyPosterior) -> tuple[float, float, bool]:
    """Choose what to show: the posterior, and the prior as far as that leaves it readable."""
    inner, outer = (np.ravel(law.interval(p)) for law, p in ((posterior, 0.9995), (prior, 0.98)))
    room = (inner[1] - inner[0]) * ROOM
    low, high = min(inner[0], max(outer[0], inner[0] - room)), max(inner[1], min(outer[1], inner[1] + room))
    pad = 0.04 * (high - low)
    ends = [end for law in (prior, posterior) for end in np.ravel(law.interval(0.999999))]
    cut = bool(outer[0] < low - pad or outer[1] > high + pad)
    return *_apart(max(low - pad, min(ends)), min(high + pad, max(ends))), cut


def drawn_on_prior(prior: Family, draws: Floats, group: Group) -> Html:
    """Draw the prior, and what was released upon it."""
    ends = np.ravel(prior.interval(0.998))
    low, high = _apart(min(ends[0], draws.min()), max(ends[1], draws.max()))
    x = np.linspace(low, high, POINTS + 2)[1:-1]
    before = np.exp(np.clip(prior.log_density(x), -700, 700))
    top = 1.08 * _height(before, np.ones(x.shape, dtype=bool))
    say = teller(ends[1] - ends[0], percent=group.percent)

    def draw(width: int) -> tuple[float, Html]:
        across, up = Axis(low, high, 8, width - 8), Axis(0, top, 210, 34)
        parts = [
            bottom_axis(across, 210, 34, tick_teller(across, percent=group.percent), group.axis),
            curve([(across.at(a), up.at(b)) for a, b in zip(x, before, strict=True)], "prior"),
            *(line(across.at(t), 60, across.at(t), 210, "draw-stem") for t in draws.ravel()),
            *(diamond(across.at(t), 60, 7, "draw") for t in draws.ravel()),
            legend([("diamond", "draw", "released draw"), ("line", "prior", "prior")], 8, 16),
        ]
        return 254, joined(parts)

    said = ", ".join(say(float(t)) for t in draws.ravel()[:20])
    story = f"Released: {said}. The prior has its mean at {say(float(prior.mean()))}."
    return responsive("draws", f"What was drawn, on the prior: {group.axis}", story, draw)


def _apart(low: float, high: float) -> tuple[float, float]:
    """Keep some distance where a law is narrower than doubles can tell."""
    gap = 1e-9 * max(abs(low), abs(high), 1e-9)
    return (float(low), float(high)) if high - low > gap else (float(low) - gap, float(high) + gap)


def _height(heights: Floats, inside: NDArray[np.bool_]) -> float:
    """Fit the hill, but not a pole at the border of the support."""
    usual = float(np.median(heights[inside])) if inside.any() else 0.0
    tallest = float(heights.max())
    return 1.08 * (min(tallest, 6 * usual) if usual > 0 else tallest)
