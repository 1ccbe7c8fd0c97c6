"""Worst neighbours of one draw from a truncated, tempered Beta or Dirichlet posterior.

[F16 §3.1; Wang, Fienberg, Smola 2015] Truncate to θ_i ≥ a₀ and weigh each record by s = 1/T. Replacing a
record of m trials multiplies the density by exp(s Σ(x'_i − x_i) ln θ_i), up to a constant; with
Δ = sup ln(θ_i/θ_j) the log density ratio ranges over an interval no wider than 2mΔ/T. That is bounded range,
hence pure DP, at 2mΔ/T. At finite n the normalisers keep the ratio further inside; these functions say by how
much, as balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from discreet.privacy.arithmetic.ball import Exact, PrecisionError, ball, ceiling, settle


def log_odds_range(lower: Fraction, categories: int) -> arb:
    """Δ = ln((1 − (d−1)a₀)/a₀) = sup |log p(x|θ) − log p(x'|θ)| over all θ_i ≥ a₀ [F16 §3.1]."""
    return ball((1 - (categories - 1) * lower) / lower).log()


def bounded_pmf_cost(floor: Exact) -> float:
    """2B: the pure cost of one posterior draw when e^−B ≤ p(x|θ) ≤ 1, for |log p(x'|θ) − log p(x|θ)| ≤ B.

    [G20 Thm 3] prints 4B, from |log p| ≤ B alone; a mass function has log p ≤ 0 as well.
    """
    bound = Fraction(floor)
    if not bound > 0:
        raise ValueError(f"B must be above 0 so that e^−B bounds the mass function below, got {floor!r}")
    return ceiling(ball(2 * bound))


def log_normaliser(a: Fraction, b: Fraction, lower: Fraction, upper: Fraction) -> arb:
    """Logarithm of ∫ θ^(a−1) (1−θ)^(b−1) dθ over [lower, upper]."""
    if a < b:  # Z(a, b; l, h) = Z(b, a; 1−h, 1−l), and the tail that is subtracted should be the light one
        a, b, lower, upper = b, a, 1 - upper, 1 - lower
    first, second = ball(a), ball(b)
    return (ball(upper).beta_lower(first, second) - ball(lower).beta_lower(first, second)).log()


def beta_pair_epsilon(a: Fraction, b: Fraction, step: Fraction, lower: Fraction) -> arb:
    """sup_θ |ln p/q| of p = Beta(a+step, b) and q = Beta(a, b+step) on [a₀, 1−a₀].

    ln p/q = step·logit θ − ln Z(a+step, b)/Z(a, b+step), and logit θ is ±Δ at the ends.
    """
    upper = 1 - lower
    tilt = log_normaliser(a + step, b, lower, upper) - log_normaliser(a, b + step, lower, upper)
    return ball(step) * log_odds_range(lower, 2) + abs(tilt)


def beta_epsilon(a: Fraction, b: Fraction, step: Fraction, others: Fraction, lower: Fraction) -> arb:
    """Exact supremum over the other records, of total weight `others`: the worst has them all alike.

    Beta(a+w, b+others−w) is an exponential family in w with statistic logit θ, so ln Z is convex in w and
    ln Z(a+w+step, ·)/Z(a+w, ·) increases in w: its modulus is largest at w = 0 or w = others. A record that
    moves by less than `step` is dominated, because |d ln Z/dw| ≤ Δ.
    """
    return beta_pair_epsilon(a, b + others, step, lower).max(beta_pair_epsilon(a + others, b, step, lower))


def dirichlet_epsilon(prior: Sequence[Fraction], weight: Fraction, total: Fraction, lower: Fraction) -> arb:
    """Upper bound for d ≥ 3 and one record of weight s among `total`: sΔ + ln Z(A+N, B)/Z(A+N−s, B+s) < 2sΔ.

    Moving the record from i to j: sup dQ/dP = e^(sΔ)/E_P[(θ_j/θ_i)^s]. Given the other coordinates, with
    w = θ_i + θ_j, φ = θ_i/w is Beta(A_i + N_i, A_j + N_j) truncated to [a₀/w, 1−a₀/w]. In the likelihood-
    ratio order it lies below Beta(max A + N, min A) truncated to [½, h], h = 1 − a₀/(1−(d−2)a₀), on which Z
    is taken, and ((1−φ)/φ)^s decreases in φ.
    """
    half = Fraction(1, 2)
    upper = 1 - lower / (1 - (len(prior) - 2) * lower)
    a, b = max(prior) + total, min(prior)
    mean = log_normaliser(a - weight, b + weight, half, upper) - log_normaliser(a, b, half, upper)
    return ball(weight) * log_odds_range(lower, len(prior)) - mean


def substitution_range(weight: Fraction, lower: Fraction, categories: int) -> arb:
    """2sΔ: the width of the log density ratio when one record is replaced."""
    return 2 * record_range(weight, lower, categories)


def record_range(weight: Fraction, lower: Fraction, categories: int) -> arb:
    """sΔ: the width of ln p(x|θ)^s, hence of the log density ratio when one record is added or removed.

    The ratio is p(x|θ)^s/E p(x|θ)^s, whose logarithm has both signs, so its modulus is at most the width; it
    comes as close as one likes when n grows with all records but x alike. So sΔ is exact for n private.
    """
    return ball(weight) * log_odds_range(lower, categories)


def substitution_epsilon(
    prior: Sequence[Fraction], weight: Fraction, *, n: int, trials: int, lower: Fraction
) -> float:
    """Certified ε of one draw from Dirichlet(prior + weight·counts) on θ_i ≥ a₀, n records of `trials` each.

    Exact for two categories; beyond, a record of m trials is m moves, each below `dirichlet_epsilon`.
    """
    step = weight * trials

    def finite_n() -> arb:
        if len(prior) == 2:
            return beta_epsilon(prior[0], prior[1], step, (n - 1) * step, lower)
        return trials * dirichlet_epsilon(prior, weight, n * step, lower)

    simple = ceiling(settle(lambda: substitution_range(step, lower, len(prior))))
    try:
        return min(ceiling(settle(finite_n)), simple)
    except PrecisionError:  # parameters beyond what arb can integrate: the bound holds all the same
        return simple
