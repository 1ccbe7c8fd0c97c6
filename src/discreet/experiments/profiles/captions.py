"""Figures 7.2 to 7.8 of [G20] as their captions say: costs and outputs of each profile, baseline and ours.

Table 7.1, the categorical profiles, has no entries in the text at hand. `RECONSTRUCTED` are profiles under
which the caption of Figure 7.3, "all 4 curves overlap", holds to 1e-16; they are labelled so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.experiments.profiles.figures import epsilons, warner
from discreet.experiments.thesis.figure import LADDER, finish, legend_beside, new_figure, write_numbers
from discreet.mechanisms.local.profile_bits import SmoothOneBit, TwoProfileBit
from discreet.mechanisms.local.profile_categorical import LARGEST_ERROR, SmoothCategorical
from discreet.privacy.profile_graph import ProfileGraph

Array = NDArray[np.float64]
RECONSTRUCTED = ((0.2, 0.3, 0.4, 0.1), (0.3, 0.3, 0.3, 0.1), (0.4, 0.4, 0.1, 0.1))
CATEGORIES = ("1", "2", "3", "4")
SHOWN = 0.2  # the ε at which the thesis draws a vertical line
LEVELS = (0.1, 0.5, 1.0, 2.0)  # of Figure 7.2: ε is not stated there
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def figure_7_2(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001 - no randomness here
    """Draw the flip probability of two Bernoulli profiles against the difference of their p, around ½."""
    gaps = np.linspace(0, 1, 11 if quick else 101)
    rows = [
        (e, g, TwoProfileBit.solve(ProfileGraph.chain([(1 - g) / 2, (1 + g) / 2]), e).flip[0], warner(e))
        for e in LEVELS
        for g in gaps.tolist()
    ]
    figure = new_figure(7.4, 4.4)
    axes = figure.subplots()
    for colour, e in zip(COLOURS, LEVELS, strict=True):
        mine = [row for row in rows if row[0] == e]
        axes.plot([r[1] for r in mine], [r[2] for r in mine], color=colour, label=f"ours, ε = {e:g}")
        axes.axhline(warner(e), color=colour, ls="--", lw=1)
    axes.plot([], [], "--", color="#555555", lw=1, label="randomised response\nat the same ε")
    axes.set(xlabel="difference of p, centred at ½", ylabel="flip probability", ylim=(0, 0.52))
    axes.set_title("Figure 7.2: Bernoulli-Couplet")
    legend_beside(figure, axes)
    titles = ("epsilon", "difference", "flip", "randomised_response")
    return finish(figure, out / "figure-7.2.png"), write_numbers(out / "figure-7.2.csv", titles, rows)


def costs(profiles: Sequence[Sequence[float]] | Array, outputs: Array) -> Array:
    """cost_j = max_i |P^i_j − (P^i A^i)_j|, (7.9)."""
    found: Array = np.abs(np.asarray(profiles) - outputs).max(axis=0)
    return found


def kary_outputs(epsilon: float, profiles: Sequence[Sequence[float]] | Array = RECONSTRUCTED) -> Array:
    """Return what k-ary randomised response makes of each profile."""
    law: Array = np.asarray(profiles, dtype=np.float64)
    other = 1 / (math.exp(epsilon) + law.shape[1] - 1)
    released: Array = law * (math.exp(epsilon) - 1) * other + other
    return released


def smooth_outputs(epsilon: float) -> Array:
    """Return what the Smooth Categorical mechanism, eq. (7.7), makes of each profile."""
    graph = ProfileGraph.chain(RECONSTRUCTED)
    return np.array(SmoothCategorical.solve(graph, epsilon, objective=LARGEST_ERROR).outputs, dtype=float)


def figure_7_3(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Draw the four costs of the baseline."""
    rows = [(e, *costs(RECONSTRUCTED, kary_outputs(e)).tolist()) for e in epsilons(quick)]
    return _costs(out, "figure-7.3", "Figure 7.3: Categorical-Chain, k-ary randomised response", rows)


def figure_7_4(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Draw the four costs of the Smooth Categorical mechanism."""
    rows = [(e, *costs(RECONSTRUCTED, smooth_outputs(e)).tolist()) for e in epsilons(quick)]
    return _costs(out, "figure-7.4", "Figure 7.4: Categorical-Chain, Smooth Categorical", rows)


def _costs(out: Path, name: str, title: str, rows: list[tuple[float, ...]]) -> tuple[Path, ...]:
    figure = new_figure(7.4, 4.4)
    axes = figure.subplots()
    for j, (colour, width) in enumerate(zip(COLOURS, (6.5, 4.5, 2.5, 1), strict=True)):  # all are seen
        column = [row[j + 1] for row in rows]
        axes.plot([row[0] for row in rows], column, color=colour, lw=width, label=f"category {CATEGORIES[j]}")
    axes.set(xlabel="ε", ylabel="cost, eq. (7.9)", xscale="log", ylim=(0, 0.165))
    axes.set_title(f"{title}\n(profiles of Table 7.1 reconstructed)", fontsize=11)
    legend_beside(figure, axes)
    titles = ("epsilon", *(f"cost_{j}" for j in CATEGORIES))
    return finish(figure, out / f"{name}.png"), write_numbers(out / f"{name}.csv", titles, rows)


def chain(k: int) -> list[Fraction]:
    """Return k values of p, evenly spaced on [0, 1]."""
    return [Fraction(i, k - 1) for i in range(k)]


def warner_outputs(k: int, epsilon: float) -> list[float]:
    """P(output = 1) of each profile under randomised response."""
    return [float(p) + warner(epsilon) * (1 - 2 * float(p)) for p in chain(k)]


def one_bit_outputs(k: int, epsilon: float) -> list[float]:
    """P(output = 1) of each profile under the Smooth One Bit mechanism, eq. (7.6)."""
    return [float(q[1]) for q in SmoothOneBit.solve(ProfileGraph.chain(chain(k)), epsilon).outputs]


def figure_7_5(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Draw P(output = 1) against ε for the chain of 6, baseline."""
    rows = [(e, *warner_outputs(6, e)) for e in _with_line(quick)]
    return _outputs(out, "figure-7.5", "Figure 7.5: Bernoulli-Chain-6, randomised response", rows)


def figure_7_6(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Draw P(output = 1) against ε for the chain of 21, baseline."""
    rows = [(e, *warner_outputs(21, e)) for e in _with_line(quick)]
    return _outputs(out, "figure-7.6", "Figure 7.6: Bernoulli-Chain-21, randomised response", rows)


def figure_7_7(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Draw P(output = 1) against ε for the chain of 6, ours."""
    rows = [(e, *one_bit_outputs(6, e)) for e in _with_line(quick)]
    return _outputs(out, "figure-7.7", "Figure 7.7: Bernoulli-Chain-6, Smooth One Bit", rows)


def figure_7_8(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001
    """Draw P(output = 1) against ε for the chain of 21, ours."""
    rows = [(e, *one_bit_outputs(21, e)) for e in _with_line(quick)]
    return _outputs(out, "figure-7.8", "Figure 7.8: Bernoulli-Chain-21, Smooth One Bit", rows)


def _with_line(quick: bool) -> list[float]:  # noqa: FBT001
    return sorted({SHOWN, *epsilons(quick)})


def _outputs(out: Path, name: str, title: str, rows: list[tuple[float, ...]]) -> tuple[Path, ...]:
    k = len(rows[0]) - 1
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots()
    shades = LADDER if k == len(LADDER) else ["#0072B2"] * k
    for j, shade in enumerate(shades):
        axes.plot([row[0] for row in rows], [row[j + 1] for row in rows], color=shade, lw=1.3)
    axes.axvline(SHOWN, color="#333333", lw=0.8)
    at = next(row for row in rows if row[0] == SHOWN)
    axes.text(SHOWN * 1.05, 0.02, f"spread {at[-1] - at[1]:.3f}", fontsize=9)
    axes.set(xlabel="ε", ylabel="P(output = 1), a line per profile", xscale="log", ylim=(0, 1))
    axes.set_title(title, fontsize=11)
    titles = ("epsilon", *(f"profile_{j}" for j in range(k)))
    return finish(figure, out / f"{name}.png"), write_numbers(out / f"{name}.csv", titles, rows)
