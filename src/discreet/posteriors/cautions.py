"""What a reading says against itself: one place for every posterior that chains or swarms computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.families.family import Floats
from discreet.posteriors.noise_law import NoiseLaw
from discreet.sampling.agreement import effective_size, r_hat

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_tables import NoisyCells
    from discreet.posteriors.posterior import Diagnostics


MIXED = 1.05  # R-hat above which chains have not met [Vehtari et al. 2021 ask for 1.01 of long chains]
FEWEST = 100  # effective draws below which ends of intervals are rough
FAR = 6.0  # deviations of a sum of squares, or of absolute values, beyond which data and model disagree
TAIL = 2.5  # by which squares of Laplace noise may stray farther than those of normal noise


def judged(watched: Floats) -> tuple[float, float]:
    """Worst R-hat and least ESS of quantities (chains, draws, quantities); ∞ and 0 where one is not a number.

    Watch what has no labels and what intervals do not show: the log joint, fitted statistics, norms.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        worst, least = float(np.max(r_hat(watched))), float(np.min(effective_size(watched)))
    return (worst, least) if np.isfinite(watched).all() else (float("inf"), 0.0)


def misfit(noise: Floats, power: float) -> float:
    """How far the noise that a posterior leaves is from its law, in deviations of Σ|e|/b or of Σe²/σ².

    `noise` (draws, numbers) is in units of b (power 1) or of σ (power 2); its sum is averaged over the draws.
    """
    return strayed(np.sum(abs(noise) ** power, axis=-1), noise.shape[-1], power)


def strayed(sums: Floats, size: int, power: float) -> float:
    """Return the same, of such sums over `size` numbers, one for each draw."""
    return float((np.mean(sums) - size) / np.sqrt(power * size))


def cautions(
    found: Diagnostics, *, apart: float = 0.0, finite: bool = True, more: tuple[str | None, ...] = ()
) -> tuple[str, ...]:
    """Say in sentences what chains, agreement with the release and overflow give reason for, then `more`.

    `apart` is what `misfit` says; empty where there is nothing to say.
    """
    said: list[str | None] = []
    if not finite:
        said.append(
            "the computation left the range of doubles, and its numbers are not to be used: scale the "
            "columns to the order of 1, or choose a prior that is less vague"
        )
    if found.chains and np.isnan(found.r_hat):
        said.append(
            "the chains are too short to be judged: read with longer ones before you lean on the intervals"
        )
    elif found.chains and not found.r_hat <= MIXED:
        said.append(
            f"chains have not met (R-hat {found.r_hat:.2f}): do not lean on these intervals; read the "
            "release again with longer chains, which costs nothing, or under a prior that is less vague"
        )
    elif found.chains and not found.ess >= FEWEST:
        said.append(
            f"the draws are worth only {found.ess:.0f} independent ones: ends of intervals are rough; read "
            "the release again with longer chains, which costs nothing"
        )
    said.append(unexplained(apart))
    if found.chains and apart > FAR:
        said.append(
            "chains that agree may then have missed the posterior together, and these numbers may be wrong "
            "by several of its deviations: do not lean on them before the prior and the bounds fit the data"
        )
    return tuple(words for words in (*said, *more) if words)


def unexplained(apart: float) -> str | None:
    """Say that released numbers are farther from the posterior than noise goes, where they are."""
    if apart <= FAR:
        return None
    return (
        f"the released numbers are {apart:.3g} deviations from what this posterior and the noise "
        "explain: the prior, the number of records or the law of the rows does not fit the data"
    )


def rows_near_empty(cells: NoisyCells) -> tuple[str, ...]:
    """Say how many rows of the tables show their prior; all of it is read off the release."""
    empty, rows = 0, 0
    for table, scale in zip(cells.tables().values(), cells.scales, strict=True):
        spread = (NoiseLaw(cells.noise, float(scale)).variance * table.shape[-1]) ** 0.5
        empty += int((table.sum(axis=-1) < 2 * spread).sum())
        rows += table.size // table.shape[-1]
    if not empty:
        return ()
    return (f"{empty} of {rows} rows cannot be distinguished from empty ones (two deviations of noise)",)
