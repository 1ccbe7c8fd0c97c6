"""Figure 4.1 of [G20]: the posterior of a proportion, truncated, then tempered until one draw is private."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.experiments.thesis.figure import COLOURS, density, finish, moments, new_figure, write_numbers
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.family import Floats
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.statistics.noisy_statistic import naive_law
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MODEL, N, SUCCESSES = BetaBernoulli(1, 1), 20, 6
TRUNCATION, TARGET = Fraction(1, 5), PureDP(1)
COUNTS = (0, 3, 6, 10, 20)


def laws() -> dict[str, OnePosteriorSample]:
    """Truncate; temper at T = 2Δ/ε, read in two ways; and at the least temperature for this n."""
    cold = OnePosteriorSample(MODEL, n=N, truncation=TRUNCATION, temperature=1)
    simple = float(cold.bounded_range.loss) / float(TARGET.loss)  # T = 2Δ/ε [F16 §3.1]
    return {
        "truncated": cold,
        "tempered joint": OnePosteriorSample(
            MODEL, n=N, truncation=TRUNCATION, temperature=simple, temper="joint"
        ),
        "tempered natural": OnePosteriorSample(
            MODEL, n=N, truncation=TRUNCATION, temperature=simple, temper="natural"
        ),
        "least temperature": OnePosteriorSample.calibrate(MODEL, n=N, target=TARGET, truncation=TRUNCATION),
    }


def figure_4_1(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001
    """Draw densities and exact draws of one posterior sample on the left, noisy statistics on the right."""
    found = laws()
    rows = []
    for count in COUNTS:
        for name, mechanism in found.items():
            law = mechanism._private_posterior([count])  # noqa: SLF001 - the data are made up
            rows.append((count, name, float(mechanism.temperature), *map(float, law.entries), *moments(law)))
    titles = ("successes", "law", "temperature", "a", "b", "mean", "variance")
    numbers = write_numbers(out / "figure-4.1.csv", titles, rows)
    figure = new_figure(11, 4.6)
    left, right = figure.subplots(1, 2, sharey=True)
    theta = np.linspace(0, 1, 801)
    _tempered(left, found, theta, SeededSource(seed), 2_000 if quick else 20_000)
    _noisy(right, theta, SeededSource(seed + 1), 12)
    figure.suptitle(f"{SUCCESSES} successes in {N}, prior Beta(1, 1), pure ε = 1", fontsize=11)
    return finish(figure, out / "figure-4.1.png"), numbers


def _exact(axes: Axes, theta: Floats) -> None:
    truth = np.exp(MODEL.update([SUCCESSES], N).log_density(theta))
    axes.fill_between(
        theta, truth, color=COLOURS["exact posterior"], alpha=0.15, lw=0, label="exact posterior"
    )
    axes.set(xlabel="θ", xlim=(0, 1), ylim=(0, 7.4))


def _tempered(
    axes: Axes,
    found: dict[str, OnePosteriorSample],
    theta: Floats,
    source: SeededSource,
    draws: int,
) -> None:
    _exact(axes, theta)
    colour = COLOURS["one posterior sample"]
    looks = {
        "truncated": ("#333333", ":", "truncated to [0.2, 0.8]"),
        "tempered joint": (colour, "-", "tempered, T = 2.7726: density^(1/T)"),
        "tempered natural": (COLOURS["diffused"], "--", "the same T: eq. (4.13) as printed"),
        "least temperature": (COLOURS["concentrated"], "-.", "least T at n = 20: 2.3480"),
    }
    for name, (shade, style, label) in looks.items():
        law = found[name]._private_posterior([SUCCESSES])  # noqa: SLF001 - made-up data
        axes.plot(theta, density(law, theta), color=shade, ls=style, lw=1.8, label=label)
    sample = found["tempered joint"]._private_posterior([SUCCESSES]).sample(draws, source)  # noqa: SLF001
    axes.hist(sample, bins=48, range=(0.2, 0.8), density=True, color=colour, alpha=0.25, label="exact draws")
    axes.set(title="one posterior sample", ylabel="density")
    axes.legend(frameon=False, fontsize=8.5, loc="upper right")


def _noisy(axes: Axes, theta: Floats, source: SeededSource, releases: int) -> None:
    _exact(axes, theta)
    mechanism = NoisyStatistics.calibrate(MODEL, n=N, target=TARGET)
    colour = COLOURS["noisy statistics"]
    found = Counter(mechanism.release([SUCCESSES], source) for _ in range(releases))
    for release, times in found.items():
        shape = np.exp(naive_law(release, MODEL).log_density(theta))
        axes.plot(theta, shape, color=colour, lw=0.7 + 0.6 * times, alpha=0.7)
    axes.plot(
        [], [], color=colour, label=f"posteriors of {releases} releases\n(thicker: released more often)"
    )
    axes.set(title="noisy statistics, discrete Laplace noise")
    axes.legend(frameon=False, fontsize=8.5, loc="upper right")
