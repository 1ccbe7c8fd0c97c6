"""Figures 5.3 and 5.4 of [G20]: KL(P ‖ A), P the true posterior and A what each mechanism draws from."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy.special import betaln, logsumexp, ndtr, xlog1py, xlogy

from discreet.experiments.thesis.figure import (
    COLOURS,
    finish,
    legend_beside,
    legendre,
    new_figure,
    write_numbers,
)
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.family import Family, Floats
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior, largest_share
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.kinds import RenyiDP

MODEL, N, K = BetaBernoulli(6, 12), 100, 38
TRUTH = MODEL.update([K], N)  # Beta(44, 74); an example, so it may be looked at
REFERENCE_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
TITLES = ("epsilon", "r", "m", "sigma", "diffused", "concentrated", "gaussian", "gaussian_as_printed")
NODES = 400


def figure_5_3(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001 - no randomness here
    """Targets are points of the Rényi curve at order 2."""
    return _figure(out, "figure-5.3", 2, quick)


def figure_5_4(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Targets are points of the Rényi curve at order 15."""
    return _figure(out, "figure-5.4", 15, quick)


def epsilons(quick: bool) -> list[float]:  # noqa: FBT001
    """Return the reference's targets, and some more between them unless quick."""
    if quick:
        return list(REFERENCE_EPSILONS)
    between = np.exp(np.linspace(math.log(0.01), math.log(10), 13))[1:-1]
    return sorted({*REFERENCE_EPSILONS, 0.15, 0.19, *between.tolist()})


def kl(p: Family, q: Family) -> float:
    """KL(P ‖ Q) = (η_P − η_Q)·∇C(η_P) − C(η_P) + C(η_Q), the order-1 limit of [G20 §3.3]."""
    inner = (p.natural - q.natural) @ p.mean_sufficient()
    return max(0.0, float(inner) - p.log_partition() + q.log_partition())


def gaussian_kl(sigma: float) -> float:
    """KL(P ‖ E_t p(·|η₀ + (t, n))), t = clip(k + N(0, σ²), 0, n): the naive reading of a noisy count."""
    x, w = legendre(NODES)
    t, mass = noisy_count(sigma, x, w)
    p, v = 0.05 + 0.75 * (x + 1) / 2, w * 0.75 / 2  # P has 1e-16 of its mass outside [0.05, 0.8]
    a, b = 6 + t[:, None], 12 + N - t[:, None]  # MODEL.update([t], N)
    log_a = xlogy(a - 1, p) + xlog1py(b - 1, -p) - betaln(a, b)
    log_p = TRUTH.log_density(p)
    log_mixture = logsumexp(log_a, b=mass[:, None], axis=0)
    return float(np.sum(v * np.exp(log_p) * (log_p - log_mixture)))


def noisy_count(sigma: float, x: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Nodes and masses of clip(k + N(0, σ²), 0, n)."""
    low, high = max(0.0, K - 9 * sigma), min(float(N), K + 9 * sigma)
    t = low + (high - low) * (x + 1) / 2
    mass = w * (high - low) / 2 * np.exp(-((t - K) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    ends = ndtr(-K / sigma), ndtr((K - N) / sigma)
    return np.array([0.0, *t, float(N)]), np.array([ends[0], *mass, ends[1]])


def _row(order: int, epsilon: float) -> tuple[float, ...]:
    target = RenyiDP.at(order, epsilon)
    r = largest_weight(MODEL, n=N, target=target, bits=53)
    m = largest_share(MODEL, n=N, target=target, bits=53)
    sigma = float(NoisyStatistics.calibrate(MODEL, n=N, target=target, noise="gaussian").scale)
    laws = (DiffusedPosterior(MODEL, n=N, r=r), ConcentratedPosterior(MODEL, n=N, m=m))
    drawn = [kl(TRUTH, law._private_posterior([K])) for law in laws]  # noqa: SLF001 - the data are made up
    return epsilon, r, m, sigma, *drawn, gaussian_kl(sigma), gaussian_kl(sigma * math.sqrt(2))


def _figure(out: Path, name: str, order: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001
    rows = [_row(order, epsilon) for epsilon in epsilons(quick)]
    numbers = write_numbers(out / f"{name}.csv", TITLES, rows)
    figure = new_figure(8.6, 4.8)
    axes = figure.subplots()
    columns = {title: [row[i] for row in rows] for i, title in enumerate(TITLES)}
    for title, colour, style, label in (
        ("diffused", COLOURS["diffused"], "-o", "diffused"),
        ("concentrated", COLOURS["concentrated"], "-s", "concentrated"),
        ("gaussian", COLOURS["noisy statistics"], "-^", "noisy statistics,\nGaussian"),
        ("gaussian_as_printed", COLOURS["noisy statistics"], "--", "the same with σ\nas printed (√2 σ)"),
    ):
        shown = [y or math.nan for y in columns[title]]  # 0 has no place on this axis
        axes.plot(
            columns["epsilon"], shown, style, color=colour, label=label, ms=4, lw=1.6, markevery=_marks(rows)
        )
    axes.set(xscale="log", yscale="log", ylim=(1e-6, 60), xlabel=f"target: Rényi ε at order {order}")
    axes.set(ylabel="KL(true posterior ‖ private law)", title="Prior Beta(6, 12), 38 successes in 100")
    direct = DirectPosterior(MODEL, n=N).guarantee.renyi(order)
    if direct < math.inf:
        axes.text(direct, 3, "  from here a direct draw\n  meets the target: KL = 0", fontsize=9, va="center")
        axes.axvline(direct, color=COLOURS["exact posterior"], lw=0.8, ls=":")
    legend_beside(figure, axes)
    return finish(figure, out / f"{name}.png"), numbers


def _marks(rows: list[tuple[float, ...]]) -> list[int]:
    return [i for i, row in enumerate(rows) if row[0] in REFERENCE_EPSILONS]
