"""Figure 4.2 of [G20]: E|θ − p| of one draw θ, against the number of records. Exact, with simulated dots."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.special import betainc, gammaln, xlog1py, xlogy

from discreet.experiments.thesis.figure import (
    COLOURS,
    absolute_error,
    finish,
    legend_beside,
    legendre,
    new_figure,
    write_numbers,
)
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.family import Floats
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.statistics.noisy_statistic import naive_law
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

MODEL, P, TRUNCATION, TARGET = BetaBernoulli(1, 1), Fraction(1, 10), Fraction(1, 20), PureDP(Fraction(1, 10))
SIZES = (1, 3, 10, 30, 100, 300, 1000, 3000)
QUICK_SIZES = (1, 3, 10, 30, 100)
LEFT_OUT = 1e-13  # data sets less likely than this add nothing that the figure or its numbers show
TITLES = ("n", "exact_posterior", "ops_joint", "ops_natural", "noise_both_counts", "noise_success_count")


def figure_4_2(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001
    """Draw the exact expectations as lines; dots are the mechanisms themselves, run on simulated data."""
    sizes = QUICK_SIZES if quick else SIZES
    rows = [(n, *errors(n)) for n in sizes]
    numbers = write_numbers(out / "figure-4.2.csv", TITLES, rows)
    runs = 100 if quick else 400
    dots = [(n, *simulated(n, runs, SeededSource(seed + n))) for n in sizes if n <= 1000]
    simulation = write_numbers(
        out / "figure-4.2-simulated.csv", ("n", "ops_joint", "noise_both_counts"), dots
    )
    figure = new_figure(8.8, 4.8)
    axes = figure.subplots()
    sample, noisy = COLOURS["one posterior sample"], COLOURS["noisy statistics"]
    for column, colour, style, label in (
        (1, COLOURS["exact posterior"], "-", "exact posterior\n(not private)"),
        (2, sample, "-", "one posterior sample,\ndensity^(1/T)"),
        (3, sample, "--", "the same,\neq. (4.13) as printed"),
        (4, noisy, "--", "noisy statistics,\nboth counts (paper)"),
        (5, noisy, "-", "noisy statistics,\nsuccess count"),
    ):
        axes.plot(sizes, [row[column] for row in rows], style, color=colour, lw=1.8, label=label)
    axes.plot([d[0] for d in dots], [d[1] for d in dots], "o", color=sample, ms=5, mfc="white")
    axes.plot([d[0] for d in dots], [d[2] for d in dots], "s", color=noisy, ms=5, mfc="white")
    axes.plot([], [], "o", color="#555555", mfc="white", label=f"mean of {runs} runs")
    axes.set(xscale="log", yscale="log", xlabel="records n", ylabel="E|θ − p|")
    axes.set_title("p = 0.1, pure ε = 0.1, prior Beta(1, 1); truncated to [0.05, 0.95]", fontsize=11)
    legend_beside(figure, axes)
    return finish(figure, out / "figure-4.2.png"), numbers, simulation


def errors(n: int) -> tuple[float, ...]:
    """E|θ − p| over data, mechanism and draw: exact posterior, OPS twice, noise on both counts and on one."""
    cold = OnePosteriorSample(MODEL, n=n, truncation=TRUNCATION, temperature=1)
    T = float(Fraction(cold.bounded_range.loss) / Fraction(TARGET.loss))
    tempered = (
        OnePosteriorSample(MODEL, n=n, truncation=TRUNCATION, temperature=T, temper=temper)
        for temper in ("joint", "natural")
    )
    ops = (
        over_data(n, lambda k, m=m: absolute_error(m._private_posterior([k]), P))  # type: ignore[misc]  # noqa: SLF001
        for m in tempered
    )
    exact = over_data(n, lambda k: float(beta_error(np.array(1.0 + k), np.array(1.0 + n - k))))
    return exact, *ops, both_counts(n), success_count(n)


def over_data(n: int, value: Callable[[int], float]) -> float:
    """Σ_k Binomial(n, p)(k)·value(k)."""
    k = np.arange(n + 1)
    log = (
        gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, float(P)) + xlog1py(n - k, -float(P))
    )
    mass = np.exp(log)
    return float(sum(mass[j] * value(int(j)) for j in k[mass > LEFT_OUT]))


def beta_error(a: Floats, b: Floats) -> Floats:
    """E|θ − p| for θ ~ Beta(a, b)."""
    p, mean = float(P), a / (a + b)
    error: Floats = 2 * (p * betainc(a, b, p) - mean * betainc(a + 1, b, p)) + mean - p
    return error


def noisy_counts(count: int, scale: float, top: float | None) -> tuple[Floats, Floats]:
    """Nodes and masses of count + Laplace(scale) clipped to [0, top], by Gauss–Legendre on graded panels."""
    end = count + 38 * scale if top is None else top
    near, far = np.array([1, 4, 16, 64]), scale * np.array([1, 3, 9, 27])
    grades = [0.0, *near, *(count - far), count, *(count + far), *(end - near), end]
    edges = sorted({float(g) for g in grades if 0 <= g <= end})
    x, w = legendre(8)
    pieces = list(itertools.pairwise(edges))
    v = np.concatenate([low + (high - low) * (x + 1) / 2 for low, high in pieces])
    weights = np.concatenate([(high - low) / 2 * w for low, high in pieces])
    mass = weights * np.exp(-np.abs(v - count) / scale) / (2 * scale)
    ends = np.exp(-count / scale) / 2, np.exp(-(end - count) / scale) / 2
    return np.array([0.0, *v, end]), np.array([ends[0], *mass, ends[1]])


def both_counts(n: int) -> float:
    """Noise on either count, each clipped at 0, then a draw from the naive posterior: as the paper does."""
    mechanism = NoisyStatistics.calibrate(MODEL, n=n, target=TARGET, noise="laplace", noise_both_counts=True)
    scale = float(mechanism.scale)

    def value(k: int) -> float:
        (s, mass_s), (f, mass_f) = noisy_counts(k, scale, None), noisy_counts(n - k, scale, None)
        return float(mass_s @ beta_error(1 + s[:, None], 1 + f[None, :]) @ mass_f)

    return over_data(n, value)


def success_count(n: int) -> float:
    """Noise on the success count alone, clipped to [0, n]: all that is needed when n is public."""
    scale = float(NoisyStatistics.calibrate(MODEL, n=n, target=TARGET, noise="laplace").scale)

    def value(k: int) -> float:
        s, mass = noisy_counts(k, scale, n)
        return float(mass @ beta_error(1 + s, 1 + n - s))

    return over_data(n, value)


def simulated(n: int, runs: int, source: SeededSource) -> tuple[float, float]:
    """Mean error of `runs` data sets, one release each, by the mechanisms as they are used."""
    counts = np.random.default_rng(source.seed).binomial(n, float(P), runs)
    cold = OnePosteriorSample(MODEL, n=n, truncation=TRUNCATION, temperature=1)
    T = float(Fraction(cold.bounded_range.loss) / Fraction(TARGET.loss))
    ops = OnePosteriorSample(MODEL, n=n, truncation=TRUNCATION, temperature=T, temper="joint")
    noisy = NoisyStatistics.calibrate(MODEL, n=n, target=TARGET, noise="laplace", noise_both_counts=True)
    drawn = [abs(ops.release([k], source) - float(P)) for k in counts]
    read = [naive_law(noisy.release([k], source), noisy.model).sample(1, source)[0] for k in counts]
    return float(np.mean(drawn)), float(np.mean(np.abs(np.array(read) - float(P))))
