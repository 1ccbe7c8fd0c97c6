"""Figures 5.1 and 5.2 of [G20]: the exact Rényi curve of one posterior draw, for every r or m."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

from discreet.experiments.thesis.figure import LADDER, finish, legend_beside, new_figure, write_numbers
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.draw import PosteriorDraw
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.worst_pairs.divergences import beta_renyi

Row = tuple[str, float, float, float]


MODEL, N = BetaBernoulli(6, 12), 100  # η₀ = (6, 18)
KNOBS = ("0.1", "0.3", "0.5", "0.7", "0.9", "1.0")
REFERENCE_ORDERS = (1.5, 2.0, 3.0, 5.0, 8.0, 15.0, 30.0)
TITLES = ("knob", "order", "epsilon", "epsilon_corollary_16_as_printed")


def figure_5_1(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001 - no randomness here
    """Draw the diffused curves, r from 0.1 to 1."""
    return _figure(out, "figure-5.1", "r", quick, lambda knob: DiffusedPosterior(MODEL, n=N, r=knob))


def figure_5_2(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Draw the concentrated curves, m from 0.1 to 1."""
    return _figure(out, "figure-5.2", "m", quick, lambda knob: ConcentratedPosterior(MODEL, n=N, m=knob))


def orders(quick: bool, limit: float) -> list[float]:  # noqa: FBT001
    """Return the reference's orders; unless quick also a geometric grid, and points that close in on α*."""
    if quick:
        return list(REFERENCE_ORDERS)
    fine = [1 + math.exp(-3.2 + 0.08 * i) for i in range(83)]
    close = [1 + (limit - 1) * (1 - 10 ** (-i / 4)) for i in range(2, 20)]
    return sorted({*REFERENCE_ORDERS, *(order for order in [*fine, *close] if order <= REFERENCE_ORDERS[-1])})


def corollary_16(model: BetaBernoulli, step: Fraction, order: float) -> float:
    """Largest D_α(P‖P ± (r, 0)) over P ∈ η₀ + {(0, n), (n, n)}: [G20 Cor. 16] as printed, WRONG for r < 1.

    The set must be pset(η₀, rn), not pset(η₀, n); and half of these pairs are no neighbours (erratum 1).
    """
    a, b, alpha = Fraction(model.alpha), Fraction(model.beta), Fraction(order)
    pairs = ((b + N - step, a), (a - step, b + N), (a + N - step, b), (b - step, a + N))
    if min(a, b) <= step or any(second <= (alpha - 1) * step for _, second in pairs):
        return math.inf
    return max(_divergence(*pair, step, alpha) for pair in pairs)


def _divergence(a: Fraction, b: Fraction, step: Fraction, order: Fraction) -> float:
    return float(settle(lambda: beta_renyi(a, b, step, order)).mid())


def _rows(quick: bool, build: Callable[[Fraction], PosteriorDraw]) -> Iterator[Row]:  # noqa: FBT001
    for name in KNOBS:
        mechanism = build(Fraction(name))
        guarantee, prior = mechanism.guarantee, mechanism.prior
        for order in orders(quick, guarantee.order_limit):
            printed = corollary_16(prior, mechanism.weight, order)  # type: ignore[arg-type]  # a Beta prior
            yield name, order, guarantee.renyi(order), printed


def _figure(
    out: Path,
    name: str,
    knob: str,
    quick: bool,  # noqa: FBT001
    build: Callable[[Fraction], PosteriorDraw],
) -> tuple[Path, ...]:
    rows = list(_rows(quick, build))
    numbers = write_numbers(out / f"{name}.csv", TITLES, rows)
    figure = new_figure(8.6, 5)
    axes = figure.subplots()
    for value, colour in zip(KNOBS, LADDER, strict=True):
        own = [row for row in rows if row[0] == value and row[2] < math.inf]
        axes.plot([r[1] for r in own], [r[2] for r in own], color=colour, lw=2, label=f"{knob} = {value}")
        axes.plot([r[1] for r in own], [r[3] for r in own], color=colour, lw=1.1, ls="--")
        limit = 1 + 6 / float(value)
        if limit < 31:
            axes.axvline(limit, color=colour, lw=0.7, ls=":")
    axes.plot([], [], color="#555555", lw=1.1, ls="--", label="Corollary 16\nas printed")
    axes.plot([], [], color="#555555", lw=0.7, ls=":", label="order limit α*")
    low = min(row[2] for row in rows)
    axes.set(xscale="log", yscale="log", xlim=(1.04, 32), ylim=(low / 1.5, 4))
    axes.set_xticks([1.5, 2, 3, 5, 8, 15, 30], ["1.5", "2", "3", "5", "8", "15", "30"])
    axes.minorticks_off()
    axes.set(
        xlabel="Rényi order α",
        ylabel="ε(α) of one draw",
        title=f"Prior Beta(6, 12), n = {N}: exact worst case",
    )
    legend_beside(figure, axes)
    return finish(figure, out / f"{name}.png"), numbers
