"""sup over data sets of a Beta pair's privacy profile, by branch and bound on certified bounds."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from flint import arb

from discreet.privacy.arithmetic.ball import Exact, ball, precision
from discreet.privacy.worst_pairs.divergences import beta_delta, beta_renyi, chernoff_at

SLACK = 1 + Fraction(1, 10**9)  # blocks of data sets within this factor of the best are not split further
SPLITS = 256  # after so many the bound found so far is the (valid, looser) answer
BITS = 128

Pair = tuple[Fraction, Fraction]
Block = tuple[float, Pair, arb]  # −ln of the bound (the heap's key), [w₁, w₂], the bound


class Search(NamedTuple):
    """The pairs (α₀+w, β₀+others−w), w ∈ {0, unit, …, others} or real, of step r, and the ε that is asked."""

    prior: Pair
    step: Fraction
    others: Fraction
    unit: Fraction
    epsilon: Fraction


def sup_beta_delta(search: Search) -> arb:
    """Return a bound on sup over w of δ(ε), both directions: at most 1e-9 above if `SPLITS` suffice."""
    *_, (_, upper) = _brackets(search)
    return upper


def beta_delta_at_most(search: Search, delta: Exact) -> bool:
    """Whether sup over w of δ(ε) ≤ δ, proved; far from the threshold the first bounds settle it."""
    limit = ball(delta)
    for best, upper in _brackets(search):
        if upper <= limit:
            return True
        if best > limit:
            return False
    return False


def _brackets(search: Search) -> Iterator[tuple[arb, arb]]:
    """Yield ever tighter (value attained, bound on all), both as upper end points.

    One Markov kernel (add an independent Gamma) carries both laws to a larger a or b, so δ falls in each, and
    a block [w₁, w₂] is bounded by the pair (α₀+w₁, β₀+others−w₂); a block of one point is attained.
    """
    blocks: list[Block] = []
    with precision(BITS):
        best = arb(0)
        for w in sorted({Fraction(0), search.others}, key=lambda w: min(_corner(search, (w, w)))):
            best = best.max(_both(search, (w, w), best))
        low, high = search.unit, search.others - search.unit
        best = _consider(search, [(low, high)] if search.others > 0 and low <= high else [], blocks, best)
    yield best, _top(blocks, best)
    for _ in range(SPLITS):
        if not (blocks and blocks[0][2] > best * ball(SLACK)):
            return
        with precision(BITS):
            _, block, _ = heapq.heappop(blocks)
            best = _consider(search, _split(*block, search.unit), blocks, best)
        yield best, _top(blocks, best)


def _consider(search: Search, new: list[Pair], blocks: list[Block], best: arb) -> arb:
    """Bound each new block; keep those that may hold more than the best, which single points raise."""
    for block in new:
        bound = _both(search, block, best)
        if block[0] == block[1]:
            best = best.max(bound)
        elif bound > best:
            heapq.heappush(blocks, (-float(bound.log()), block, bound))
    return best


def _top(blocks: list[Block], best: arb) -> arb:
    return reduce(arb.max, (bound for _, _, bound in blocks), best)


def _corner(search: Search, block: Pair) -> Pair:
    return search.prior[0] + block[0], search.prior[1] + search.others - block[1]


def _split(low: Fraction, high: Fraction, unit: Fraction) -> list[Pair]:
    """Halve a block on the grid of units; at unit 0 the halves share their border."""
    middle = (low + high) / 2
    if unit:
        middle = low + (middle - low) // unit * unit
    return [(low, middle), (middle + unit, high)]


def _both(search: Search, block: Pair, best: arb) -> arb:
    """δ(ε) at the block's corner, both directions, rounded up; 0 stands for what is surely below the best."""
    found, (a, b) = arb(0), _corner(search, block)
    for pair in sorted({(a, b), (b, a)}, key=lambda entries: entries[1]):  # the likely larger first
        if not _surely_below(search, pair, best.max(found)):
            found = found.max(beta_delta(*pair, search.step, search.epsilon).upper())
    return found


def _surely_below(search: Search, pair: Pair, best: arb) -> bool:
    """Whether a Chernoff bound, a few log-gammas cheap, proves this direction of the pair below the best."""
    (a, b), r, epsilon = pair, search.step, search.epsilon
    spread = r * r * (1 / a + 1 / b)
    excess = max(Fraction(1, 100), min(epsilon / spread - Fraction(1, 2), b / r * Fraction(9, 10)))
    order = 1 + Fraction(float(excess))  # a short rational: any order is valid
    return bool(chernoff_at(beta_renyi, a, b, r, epsilon=epsilon, order=order) < best)
