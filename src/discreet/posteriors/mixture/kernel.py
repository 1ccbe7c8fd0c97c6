# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917, NPY002 (numba: arrays and numbers, not objects, and its own generator)
"""Gibbs of a mixture over counts, their classes and θ, given noisy joint counts; n does not slow it down.

Given θ a record falls into cell x with probability p_x = Σ_k π_k ∏_d θ_{k,d,x_d}, so that the counts are
multinomial times noise, n!/∏c_x! ∏ p_x^c_x η(ŷ_x − c_x): their classes are summed out while they move, and
drawn anew, all of a cell's at once, before θ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from discreet.compiled import njit
from discreet.posteriors.network.exchange_kernel import shuffle
from discreet.posteriors.network.kernel import Floats, Integers, accepts, log_gain, redraw_row

ROUNDS = 2  # times that all cells are paired in a sweep
TINY = 1e-300


class Shape(NamedTuple):
    """θ_{k,d,x_d} lies at place[x, d] + k·size[d]; π_k at k. Rows of θ begin at 0 and at `rows`."""

    classes: int
    place: Integers
    size: Integers
    rows: Integers
    length: Integers


class NoisyInput(NamedTuple):
    """Noisy counts; ln η(r) = −sharpness·|r| or −sharpness·r²; how many records a move takes at most."""

    noisy: Floats
    sharpness: float
    squared: bool
    reach: int
    most: int  # that n may be, where it is private
    fixed: bool  # n is public
    frozen: bool  # the counts are exact


@njit
def weigh(theta: Floats, shape: Shape, weight: Floats, total: Floats) -> None:
    """π_k ∏_d θ_{k,d,x_d} of every cell and class, and its sum over classes."""
    for x in range(total.size):
        total[x] = 0.0
        for k in range(shape.classes):
            product = theta[k]
            for d in range(shape.size.size):
                product *= theta[shape.place[x, d] + k * shape.size[d]]
            weight[x, k] = product
            total[x] += product


@njit(inline="always")
def log_noise(said: NoisyInput, cell: int, count: int, step: int) -> float:
    """Return what `step` more records in a cell do to ln η."""
    return log_gain(said.noisy[cell] - count, float(step), said.sharpness, said.squared)


@njit(inline="always")
def stride(most: int) -> int:
    """Log-uniform on 1 … most, about."""
    return min(int(math.exp(np.random.random() * math.log(most + 1.0))), most)


@njit
def exchange(joint: Integers, total: Floats, said: NoisyInput, order: Integers) -> None:
    """Pair all cells at random; share a pair's records out anew by their odds, then move some of them.

    The first proposal is the law without noise, so that only noise is left in the ratio; the second is right
    where noise is narrower than that.
    """
    shuffle(order, 0, order.size, order.size - 1)
    for pair in range(order.size // 2):
        i, j = order[2 * pair], order[2 * pair + 1]
        both, odds = joint[i] + joint[j], total[i] + total[j]
        if both == 0 or odds <= TINY:
            continue
        step = np.random.binomial(both, min(total[i] / odds, 1.0)) - joint[i]
        if accepts(log_noise(said, i, joint[i], step) + log_noise(said, j, joint[j], -step)):
            joint[i] += step
            joint[j] -= step
        step = stride(min(said.reach, both))
        step = step if np.random.random() < 0.5 else -step
        if -joint[i] <= step <= joint[j]:
            gain = log_noise(said, i, joint[i], step) + log_noise(said, j, joint[j], -step)
            gain += step * (math.log(max(total[i], TINY)) - math.log(max(total[j], TINY)))
            gain += math.lgamma(joint[i] + 1.0) - math.lgamma(joint[i] + step + 1.0)
            gain += math.lgamma(joint[j] + 1.0) - math.lgamma(joint[j] - step + 1.0)
            if accepts(gain):
                joint[i] += step
                joint[j] -= step


@njit
def resize(joint: Integers, n: int, total: Floats, said: NoisyInput) -> int:
    """Let records come to a cell or leave it, under a flat prior on n; return n."""
    for _ in range(joint.size):
        cell, step = np.random.randint(joint.size), stride(said.reach)
        step = step if np.random.random() < 0.5 else -step
        if joint[cell] + step < 0 or n + step > said.most:
            continue
        gain = log_noise(said, cell, joint[cell], step) + step * math.log(max(total[cell], TINY))
        gain += math.lgamma(n + step + 1.0) - math.lgamma(n + 1.0)
        gain += math.lgamma(joint[cell] + 1.0) - math.lgamma(joint[cell] + step + 1.0)
        if accepts(gain):
            joint[cell] += step
            n += step
    return n


@njit
def tally(joint: Integers, weight: Floats, total: Floats, shape: Shape, counts: Floats) -> None:
    """Share every cell's records out over the classes; count them where θ is drawn from."""
    counts[:] = 0.0
    for x in range(joint.size):
        left, rest = joint[x], total[x]
        for k in range(shape.classes):
            if left == 0:
                break
            chance = 1.0 if k == shape.classes - 1 or rest <= weight[x, k] else weight[x, k] / rest
            mine = left if chance >= 1.0 else np.random.binomial(left, chance)
            rest -= weight[x, k]
            left -= mine
            counts[k] += mine
            for d in range(shape.size.size):
                counts[shape.place[x, d] + k * shape.size[d]] += mine


@njit
def log_joint(
    theta: Floats, prior: Floats, joint: Integers, n: int, total: Floats, said: NoisyInput
) -> float:
    """Ln p(π, θ) + ln p(counts | π, θ) + ln η, up to a constant."""
    level = math.lgamma(n + 1.0)
    for i in range(theta.size):
        level += (prior[i] - 1.0) * math.log(max(theta[i], TINY))
    for x in range(joint.size):
        level += joint[x] * math.log(max(total[x], TINY)) - math.lgamma(joint[x] + 1.0)
        if not said.frozen:
            level += log_noise(said, x, 0, joint[x])
    return level


@njit
def sweep(
    joint: Integers, n: int, theta: Floats, prior: Floats, shape: Shape, said: NoisyInput, times: int
) -> tuple[int, float]:
    """Draw counts, their classes and θ, `times` over; return n and the log joint before the last θ."""
    weight, total = np.empty((joint.size, shape.classes)), np.empty(joint.size)
    counts, nothing = np.empty(theta.size), np.zeros(theta.size)
    order, level = np.arange(joint.size), 0.0
    for s in range(times):
        weigh(theta, shape, weight, total)
        if not said.frozen:
            for _ in range(ROUNDS):
                exchange(joint, total, said, order)
                if not said.fixed:
                    n = resize(joint, n, total, said)
        if s == times - 1:
            level = log_joint(theta, prior, joint, n, total, said)
        tally(joint, weight, total, shape, counts)
        for r in range(shape.rows.size):
            redraw_row(theta, prior, counts, nothing, shape.rows[r], shape.length[r])
    return n, level
