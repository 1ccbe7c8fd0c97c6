"""The adversarial-data figure: what one draw of a truncated posterior at temperature 1 costs [F16 §3.1]."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from discreet.experiments.thesis.figure import COLOURS, finish, legend_beside, new_figure, write_numbers
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.kinds import PureDP
from discreet.privacy.worst_pairs.tempered_posterior import beta_pair_epsilon

MODEL, TRUNCATION, LARGEST = BetaBernoulli(1, 1), Fraction(1, 10), 100
TITLES = ("n", "adversarial", "balanced", "worst_case", "bound", "temperature", "temperature_bound")


def local_epsilon(successes: int, failures: int) -> float:
    """Return sup |ln p/q| of the posteriors that one more success and one more failure give."""
    one = Fraction(1)
    pair = settle(lambda: beta_pair_epsilon(one + successes, one + failures, one, TRUNCATION))
    return float(pair.mid())


def _row(n: int) -> tuple[float, ...]:
    """All records alike (the adversary's choice), evenly split, the certified worst case, and 2Δ."""
    cold = OnePosteriorSample(MODEL, n=n, truncation=TRUNCATION, temperature=1)
    warm = OnePosteriorSample.calibrate(MODEL, n=n, target=PureDP(1), truncation=TRUNCATION)
    bound = float(cold.bounded_range.loss)
    balanced = local_epsilon((n - 1) // 2, n - 1 - (n - 1) // 2)
    return (
        n,
        local_epsilon(n - 1, 0),
        balanced,
        float(cold.pure.loss),
        bound,
        float(warm.temperature),
        bound,  # 2Δ/ε at ε = 1
    )


def figure(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001, ARG001 - no randomness here
    """Draw ε against n at T = 1, and the temperature that one draw at ε = 1 needs."""
    rows = [_row(n) for n in (sorted({1, *range(5, LARGEST + 1, 5)}) if quick else range(1, LARGEST + 1))]
    numbers = write_numbers(out / "adversarial-data.csv", TITLES, rows)
    column = {title: [row[i] for row in rows] for i, title in enumerate(TITLES)}
    picture = new_figure(10.4, 4.4)
    left, right = picture.subplots(1, 2)
    sample, bound = COLOURS["one posterior sample"], COLOURS["bound"]
    left.plot(
        column["n"], column["bound"], color=bound, ls="--", label="bound for every n:\n2Δ, and T = 2Δ/ε"
    )
    left.plot(column["n"], column["worst_case"], color=sample, lw=2.2, label="exact worst case")
    left.plot(
        column["n"][::4], column["adversarial"][::4], "x", color="#333333", ms=5, label="all records alike"
    )
    left.plot(
        column["n"], column["balanced"], ".", color=COLOURS["diffused"], ms=4, label="evenly split records"
    )
    left.set(title="One draw at temperature 1", xlabel="records n", ylabel="ε of one draw", ylim=(0, 4.8))
    right.plot(column["n"], column["temperature_bound"], color=bound, ls="--")
    right.plot(column["n"], column["temperature"], color=sample, lw=2.2)
    right.set(title="Temperature that ε = 1 needs", xlabel="records n", ylabel="T", ylim=(0, 4.8))
    picture.suptitle("Beta(1, 1) prior truncated to [0.1, 0.9]", fontsize=11)
    legend_beside(picture, left)
    return finish(picture, out / "adversarial-data.png"), numbers
