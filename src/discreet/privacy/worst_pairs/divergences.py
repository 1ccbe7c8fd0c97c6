"""Rényi and hockey-stick divergences of the pairs behind posterior draws, in closed form, as balls.

Parameters are exact rationals, so that b − (α−1)r carries no cancellation; every result is at the working
precision. One direction each: pairs.py takes both.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from flint import arb, ctx
from scipy import special

from discreet.privacy.arithmetic.ball import Exact, ball, precision
from discreet.privacy.arithmetic.beta_tail import beta_below

INFINITE: arb = arb.pos_inf()
DEEP_TAIL = 1e-15  # below it a complement 1 − F would cancel, and the direct form is taken
PROFILE_BITS = 64  # relative accuracy of a profile before it is compared or returned
PROFILE_LIMIT = 2048  # bits of precision after which a profile falls back to its Chernoff bound


def log_gamma(x: Fraction) -> arb:
    """Return ln Γ(x)."""
    return ball(x).lgamma()


def log_gamma_ratio(x: Fraction, gap: Fraction) -> arb:
    """Return ln Γ(x+gap) − ln Γ(x)."""
    return log_gamma(x + gap) - log_gamma(x)


def beta_renyi(a: Fraction, b: Fraction, r: Fraction, order: Fraction) -> arb:
    """D_α(Beta(a+r, b) ‖ Beta(a, b+r)); ∞ unless b > (α−1)r [GSC17 A.1; G20 §3.3]."""
    rest = b - (order - 1) * r
    if rest <= 0:
        return INFINITE
    first = log_gamma(a + order * r) + log_gamma(rest) - ball(order) * (log_gamma(a + r) + log_gamma(b))
    return first / ball(order - 1) + log_gamma(a) + log_gamma(b + r)


def beta_renyi_bound(a: Fraction, b: Fraction, r: Fraction, order: Fraction) -> arb:
    """D_α ≤ (αr²/2)[ψ₁(a) + ψ₁(b−(α−1)r)], by ψ₁ decreasing in Taylor's remainder."""
    rest = b - (order - 1) * r
    if rest <= 0:
        return INFINITE
    trigamma = ball(2).zeta(ball(a)) + ball(2).zeta(ball(rest))
    return ball(order * r * r / 2) * trigamma


def beta_delta(a: Fraction, b: Fraction, r: Fraction, epsilon: Fraction) -> arb:
    """δ(ε) = I_y(b, a+r) − e^ε I_y(b+r, a), y = 1/(1+e^s), s = (ε − ln[B(a,b+r)/B(a+r,b)])/r.

    The likelihood ratio of Beta(a+r, b) to Beta(a, b+r) is monotone in x, so the best event is a tail.
    """
    return settled(
        lambda: _beta_delta(a, b, r, epsilon), lambda: chernoff(beta_renyi, a, b, r, epsilon=epsilon)
    )


def _beta_delta(a: Fraction, b: Fraction, r: Fraction, epsilon: Fraction) -> arb:
    log_ratio = log_gamma_ratio(b, r) - log_gamma_ratio(a, r)
    odds = ((ball(epsilon) - log_ratio) / ball(r)).exp()  # e^s = x/(1−x) at the threshold
    scale = ball(epsilon).exp()
    y, x = 1 / (1 + odds), odds / (1 + odds)
    near = b > a and float(special.betainc(float(b), float(a + r), float(y.mid()))) > DEEP_TAIL
    if near:  # the smaller parameter first is quicker, but only the direct form keeps a deep tail's digits
        return (1 - beta_below(a + r, b, x, y)) - scale * (1 - beta_below(a, b + r, x, y))
    return beta_below(b, a + r, y, x) - scale * beta_below(b + r, a, y, x)


def gamma_shape_renyi(shape: Fraction, gap: Fraction, order: Fraction) -> arb:
    """D_α(Gamma(s) ‖ Gamma(s+g)) = [lnΓ(s−(α−1)g) − α lnΓ(s)]/(α−1) + lnΓ(s+g); gap may be negative."""
    rest = shape - (order - 1) * gap
    if rest <= 0:
        return INFINITE
    return (log_gamma(rest) - ball(order) * log_gamma(shape)) / ball(order - 1) + log_gamma(shape + gap)


def gamma_shape_delta(shape: Fraction, gap: Fraction, epsilon: Fraction) -> arb:
    """δ(ε) of Gamma(s) against Gamma(s+g): the ratio Γ(s+g)/Γ(s)·x^{−g} is monotone; gap may be negative."""
    return settled(
        lambda: _gamma_shape_delta(shape, gap, epsilon),
        lambda: chernoff(gamma_shape_renyi, shape, gap, epsilon=epsilon),
    )


def _gamma_shape_delta(shape: Fraction, gap: Fraction, epsilon: Fraction) -> arb:
    threshold = ((log_gamma_ratio(shape, gap) - ball(epsilon)) / ball(gap)).exp()
    tail = gamma_below if gap > 0 else gamma_above
    return tail(shape, threshold) - ball(epsilon).exp() * tail(shape + gap, threshold)


def gamma_rate_renyi(rate: Fraction, gap: Fraction, shape: Fraction, order: Fraction) -> arb:
    """D_α(Gamma(k, λ) ‖ Gamma(k, λ+g)) = k{[α ln λ − ln(λ−(α−1)g)]/(α−1) − ln(λ+g)}; gap may be negative."""
    rest = rate - (order - 1) * gap
    if rest <= 0:
        return INFINITE
    inner = (ball(order) * ball(rate).log() - ball(rest).log()) / ball(order - 1)
    return ball(shape) * (inner - ball(rate + gap).log())


def gamma_rate_delta(rate: Fraction, gap: Fraction, shape: Fraction, epsilon: Fraction) -> arb:
    """δ(ε) of Gamma(k, λ) against Gamma(k, λ+g): (λ/(λ+g))^k e^{gx} is monotone, either sign of g."""
    return settled(
        lambda: _gamma_rate_delta(rate, gap, shape, epsilon),
        lambda: chernoff(gamma_rate_renyi, rate, gap, shape, epsilon=epsilon),
    )


def _gamma_rate_delta(rate: Fraction, gap: Fraction, shape: Fraction, epsilon: Fraction) -> arb:
    threshold = (ball(epsilon) + ball(shape) * ball((rate + gap) / rate).log()) / ball(gap)
    if threshold <= 0 and gap < 0:  # the ratio never reaches e^ε
        return arb(0)
    tail = gamma_above if gap > 0 else gamma_below
    return tail(shape, ball(rate) * threshold) - ball(epsilon).exp() * tail(
        shape, ball(rate + gap) * threshold
    )


def beta_side_renyi(fixed: Fraction, moving: Fraction, gap: Fraction, order: Fraction) -> arb:
    """D_α(Beta(f, m) ‖ Beta(f, m+g)) through C(m) = lnΓ(m) − lnΓ(f+m); gap may be negative."""
    rest = moving - (order - 1) * gap
    if rest <= 0:
        return INFINITE

    def partition(m: Fraction) -> arb:
        return -log_gamma_ratio(m, fixed)

    return (partition(rest) - ball(order) * partition(moving)) / ball(order - 1) + partition(moving + gap)


def normal_delta(mu_squared: Fraction, epsilon: Fraction) -> arb:
    """δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) [DRS22 Cor. 2.13; BW18 Thm 8]."""

    def profile() -> arb:
        mu, eps = ball(mu_squared).sqrt(), ball(epsilon)
        return _normal_below(mu / 2 - eps / mu) - eps.exp() * _normal_below(-mu / 2 - eps / mu)

    return settled(profile, lambda: chernoff(_normal_renyi, mu_squared, epsilon=epsilon))


def _normal_renyi(mu_squared: Fraction, order: Fraction) -> arb:
    return ball(order * mu_squared / 2)


def _normal_below(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gamma_above(shape: Fraction, x: arb) -> arb:
    """P(Gamma(shape) > x)."""
    result: arb = x.gamma_upper(ball(shape), 1)
    return result


def gamma_below(shape: Fraction, x: arb) -> arb:
    """P(Gamma(shape) ≤ x) = x^s e^{−x}/Γ(s+1) · Σ x^k/(s+1)_k in the deep tail, 1 − P(> x) elsewhere."""
    point = float(x.mid())
    if not x > 0 or float(special.gammainc(float(shape), point)) > DEEP_TAIL:
        return 1 - gamma_above(shape, x)
    term = total = arb(1)
    tiny, k = arb(2) ** (-ctx.prec), 0
    while not term < tiny * total:
        k += 1
        term = term * x / ball(shape + k)
        total = total + term
    ratio = x / ball(shape + k + 1)  # ratios fall with k, so a geometric series bounds what is left
    total += (term * ratio / (1 - ratio)).union(arb(0))
    return ((ball(shape) * x.log()) - x - log_gamma(shape + 1)).exp() * total


def chernoff(renyi: Callable[..., arb], *pair: Fraction, epsilon: Fraction) -> arb:
    """Return the best Chernoff bound on δ(ε) over all orders."""
    return chernoff_at(renyi, *pair, epsilon=epsilon, order=_chernoff_order(renyi, pair, epsilon))


def chernoff_at(renyi: Callable[..., arb], *pair: Fraction, epsilon: Fraction, order: Fraction) -> arb:
    """δ(ε) ≤ e^{(α−1)(D_α−ε)} (1−1/α)^α/(α−1), for every α [CKS20 Prop. 12 v4]."""
    alpha = ball(order)
    exponent = (alpha - 1) * (renyi(*pair, order) - ball(epsilon))
    bound = (exponent + alpha * (1 - 1 / alpha).log() - (alpha - 1).log()).exp()
    return bound.min(arb(1)) if bound.is_finite() else arb(1)


def _chernoff_order(renyi: Callable[..., arb], pair: tuple[Fraction, ...], epsilon: Fraction) -> Fraction:
    """Golden-section search in ln(α−1) on (α−1)(D_α − ε); the objective is convex in α, ∞ beyond α*."""

    def objective(log_excess: float) -> float:
        order = 1 + Fraction(math.exp(log_excess))
        with precision(128):
            value = renyi(*pair, order)
            return float(ball(order - 1) * (value - ball(epsilon))) if value.is_finite() else math.inf

    low, high, golden = -12.0, 24.0, (math.sqrt(5) - 1) / 2
    for _ in range(32):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if objective(left) <= objective(right) else (left, high)
    return 1 + Fraction(math.exp(low))


def settled(exact: Callable[[], arb], bound: Callable[[], arb]) -> arb:
    """Refine a profile until its digits count; hand over a certified upper bound where arb cannot."""
    working, wanted = ctx.prec, max(PROFILE_BITS, ctx.prec // 2)
    while working <= max(PROFILE_LIMIT, ctx.prec):
        with precision(working):
            value = exact()
            if value.is_zero() or (value.is_finite() and value.rel_accuracy_bits() >= wanted):
                return value
        working *= 2
    return bound()


# ── sup over data sets of a Beta pair's privacy profile, by branch and bound on certified bounds.
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
