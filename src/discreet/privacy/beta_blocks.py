"""sup over data sets of a Beta pair's privacy profile, by branch and bound on certified balls."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from discreet.privacy.certified import ball, precision
from discreet.privacy.divergences import beta_delta, beta_renyi, chernoff_at

SLACK = 1 + Fraction(1, 10**9)  # blocks of data sets within this factor of the best are not split further
MAX_BLOCKS = 4096  # after so many the bounds found so far are the (valid, looser) answer

Pair = tuple[Fraction, Fraction]


def sup_beta_delta(prior: Pair, step: Fraction, data: Pair, epsilon: Fraction) -> arb:
    """Return sup over w of δ(ε) at (a, b) = (α₀+w, β₀+others−w), both directions; data = (others, unit).

    One Markov kernel (add an independent Gamma) carries both laws to a larger a or b, so δ falls in each, and
    a block [w₁, w₂] is bounded by the pair (α₀+w₁, β₀+others−w₂). Exact at unit > 0 up to a relative 1e-9.
    """
    (alpha, beta), (others, unit) = prior, data
    best = arb(0)
    for end in sorted([(alpha, beta + others), (alpha + others, beta)], key=min):
        best = best.max(_both(end, step, epsilon, best))
    upper, seen = best, 0
    blocks = [(unit, others - unit)] if others > 0 and others - unit >= unit else []
    while blocks:
        (low, high), seen = blocks.pop(), seen + 1
        bound = _both((alpha + low, beta + others - high), step, epsilon, best)
        if low == high:
            best = best.max(bound)
        elif bound <= best * ball(SLACK) or seen > MAX_BLOCKS:
            upper = upper.max(bound)
        else:
            blocks += _split(low, high, unit)
    return upper.max(best)


def _split(low: Fraction, high: Fraction, unit: Fraction) -> list[Pair]:
    """Halve a block on the grid of units; at unit 0 the halves share their border."""
    middle = (low + high) / 2
    if unit:
        middle = low + (middle - low) // unit * unit
    return [(low, middle), (middle + unit, high)]


def _both(pair: Pair, step: Fraction, epsilon: Fraction, best: arb) -> arb:
    """δ(ε) of the pair, both directions, the likely larger first; 0 stands for what is surely below best."""
    found = arb(0)
    for a, b in sorted({pair, pair[::-1]}, key=lambda entries: entries[1]):
        if not _surely_below((a, b), step, epsilon, best.max(found)):
            found = found.max(beta_delta(a, b, step, epsilon))
    return found


def _surely_below(pair: Pair, step: Fraction, epsilon: Fraction, best: arb) -> bool:
    """Whether a Chernoff bound, a few log-gammas cheap, proves this direction of the pair below the best."""
    a, b = pair
    spread = step * step * (1 / a + 1 / b)
    excess = max(Fraction(1, 100), min(epsilon / spread - Fraction(1, 2), b / step * Fraction(9, 10)))
    order = 1 + Fraction(float(excess))  # a short rational: any order is valid
    with precision(128):
        return bool(chernoff_at(beta_renyi, a, b, step, epsilon=epsilon, order=order) < best)
