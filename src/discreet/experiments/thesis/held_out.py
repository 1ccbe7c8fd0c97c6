"""Figures 5.5–5.8 of [G20]: −log p(X_H | θ) of held-out records under one private draw θ, exactly.

Mean and standard deviation over the data, the held-out data and the mechanism: a finite sum over counts,
closed-form moments of ln θ, and Gauss–Legendre over the Gaussian baseline's noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.special import digamma, gammaln, ndtr, polygamma, xlog1py, xlogy

from discreet.experiments.thesis.figure import (
    COLOURS,
    finish,
    legend_beside,
    legendre,
    new_figure,
    write_numbers,
)
from discreet.experiments.thesis.kl import REFERENCE_EPSILONS, epsilons
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.family import Floats
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior, largest_share
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.posterior.draw import PosteriorDraw
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.kinds import RenyiDP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Moments = tuple[float, float]


N = 100
COUNTS = np.arange(N + 1)
MECHANISMS = ("diffused", "concentrated", "gaussian", "gaussian_as_printed")
TITLES = ("panel", "epsilon", *(f"{name}_{what}" for name in MECHANISMS for what in ("mean", "sd")))


@final
@dataclass(frozen=True)
class Setting:
    """One panel: prior, truth ρ, and the Rényi order at which targets are set."""

    panel: str
    alpha: int
    beta: int
    order: int
    rho: float

    @property
    def model(self) -> BetaBernoulli:
        return BetaBernoulli(self.alpha, self.beta)


FIGURES = {
    "figure-5.5": (Setting("5.5", 6, 12, 2, 1 / 2),),
    "figure-5.6": (Setting("5.6", 6, 12, 15, 1 / 2),),
    "figure-5.7": (
        Setting("5.7a", 6, 12, 15, 1 / 3),
        Setting("5.7b", 6, 12, 15, 1 / 2),
        Setting("5.7c", 6, 12, 15, 2 / 3),
    ),
    "figure-5.8": (Setting("5.8", 1, 1, 15, 0.2),),
}


def figure_5_5(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001 - no randomness here
    """Prior Beta(6, 12), order 2."""
    return _figure(out, "figure-5.5", quick)


def figure_5_6(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Prior Beta(6, 12), order 15."""
    return _figure(out, "figure-5.6", quick)


def figure_5_7(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Prior Beta(6, 12) against truths at, near and far from its mean."""
    return _figure(out, "figure-5.7", quick)


def figure_5_8(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Uniform prior: η₀ = (1, 2)."""
    return _figure(out, "figure-5.8", quick)


def binomial(rho: float) -> Floats:
    log = gammaln(N + 1) - gammaln(COUNTS + 1) - gammaln(N - COUNTS + 1)
    mass: Floats = np.exp(log + xlogy(COUNTS, rho) + xlog1py(N - COUNTS, -rho))
    return mass


def loss_moments(a: Floats, b: Floats, weight: Floats, rho: float) -> Moments:
    """Mean and sd of −(k ln θ + (n−k) ln(1−θ)), θ ~ Σ weight·Beta(a, b), k ~ Binomial(n, ρ)."""
    s = a + b
    x, y = digamma(a) - digamma(s), digamma(b) - digamma(s)
    xx, yy = polygamma(1, a) - polygamma(1, s) + x * x, polygamma(1, b) - polygamma(1, s) + y * y
    xy = -polygamma(1, s) + x * y
    m, v = N * rho, N * rho * (1 - rho)
    first = float(weight @ -(m * x + (N - m) * y))
    square = (v + m * m) * xx + 2 * (N * m - v - m * m) * xy + (v + (N - m) ** 2) * yy
    return first, math.sqrt(float(weight @ square) - first**2)


def draw_moments(mechanism: PosteriorDraw, rho: float) -> Moments:
    laws: Any = [mechanism._private_posterior([k]) for k in COUNTS]  # noqa: SLF001 - simulated data
    a, b = (np.array([float(getattr(law, name)) for law in laws]) for name in ("alpha", "beta"))
    return loss_moments(a, b, binomial(rho), rho)


def gaussian_moments(setting: Setting, sigma: float, nodes: int = 300) -> Moments:
    """One draw from the naive posterior of clip(k + N(0, σ²), 0, n)."""
    x, w = legendre(nodes)
    k, chance = COUNTS[:, None].astype(float), binomial(setting.rho)[:, None]
    low, high = np.maximum(0.0, k - 9 * sigma), np.minimum(float(N), k + 9 * sigma)
    t = low + (high - low) * (x + 1) / 2
    density = np.exp(-((t - k) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    inside = chance * w * (high - low) / 2 * density
    ends = [float(np.sum(chance * ndtr(z / sigma))) for z in (-k, k - N)]
    points, mass = np.array([*t.ravel(), 0.0, float(N)]), np.array([*inside.ravel(), *ends])
    return loss_moments(setting.alpha + points, setting.beta + N - points, mass, setting.rho)


def row(setting: Setting, epsilon: float) -> tuple[object, ...]:
    model, target = setting.model, RenyiDP.at(setting.order, epsilon)
    r = largest_weight(model, n=N, target=target, bits=53)
    m = largest_share(model, n=N, target=target, bits=53)
    sigma = float(NoisyStatistics.calibrate(model, n=N, target=target, noise="gaussian").scale)
    return (
        setting.panel,
        epsilon,
        *draw_moments(DiffusedPosterior(model, n=N, r=r), setting.rho),
        *draw_moments(ConcentratedPosterior(model, n=N, m=m), setting.rho),
        *gaussian_moments(setting, sigma),
        *gaussian_moments(setting, sigma * math.sqrt(2)),
    )


def _figure(out: Path, name: str, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001
    settings = FIGURES[name]
    rows = {s.panel: [row(s, epsilon) for epsilon in epsilons(quick)] for s in settings}
    numbers = write_numbers(out / f"{name}.csv", TITLES, [r for panel in rows.values() for r in panel])
    figure = new_figure(2.4 + (6 if len(settings) == 1 else 3.6 * len(settings)), 4.6)
    every = np.atleast_1d(figure.subplots(1, len(settings)))
    for axes, setting in zip(every, settings, strict=True):
        _panel(axes, setting, rows[setting.panel])
    every[0].set_ylabel("held-out −log likelihood, mean (band: ± sd)")
    legend_beside(figure, every[0])
    return finish(figure, out / f"{name}.png"), numbers


def _panel(axes: Axes, setting: Setting, rows: list[tuple[Any, ...]]) -> None:
    x = [r[1] for r in rows]
    marks = [i for i, e in enumerate(x) if e in REFERENCE_EPSILONS]
    noisy = COLOURS["noisy statistics"]
    for i, (colour, style, label) in enumerate(
        (
            (COLOURS["diffused"], "-o", "diffused"),
            (COLOURS["concentrated"], "-s", "concentrated"),
            (noisy, "-^", "noisy statistics,\nGaussian"),
            (noisy, "--", "the same with σ\nas printed (√2 σ)"),
        )
    ):
        mean, sd = (np.array([r[2 + 2 * i + j] for r in rows]) for j in (0, 1))
        axes.plot(x, mean, style, color=colour, ms=4, lw=1.6, markevery=marks, label=label, zorder=3)
        if i < 3:
            axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.10, lw=0)
    direct = draw_moments(DirectPosterior(setting.model, n=N), setting.rho)[0]
    floor = -N * (setting.rho * math.log(setting.rho) + (1 - setting.rho) * math.log1p(-setting.rho))
    axes.axhline(direct, color=COLOURS["exact posterior"], lw=1, ls="-.", label="direct draw,\nnot private")
    axes.axhline(floor, color=COLOURS["bound"], lw=1, ls=":", label="entropy of the truth")
    top = max(r[2 + 2 * i] for r in rows for i in range(4))
    axes.set(xscale="log", xlabel=f"target: Rényi ε at order {setting.order}")
    axes.set_ylim(floor - 0.35 * (top - floor), floor + 1.15 * (top - floor))
    axes.set_title(f"prior Beta({setting.alpha}, {setting.beta}), truth ρ = {setting.rho:.3g}", fontsize=10)
