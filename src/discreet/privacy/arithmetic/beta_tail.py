"""The regularised incomplete beta function as a ball, quick also where both parameters are large."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from discreet.privacy.arithmetic.ball import ball

ENOUGH_LEVELS = 64  # below this second parameter arb's own function is quick
MOST_LEVELS = 4096


def beta_below(a: Fraction, b: Fraction, x: arb, y: arb) -> arb:
    """I_x(a, b), y = 1 − x: the chance that Beta(a, b) is at most x; relative accuracy in the lower tail."""
    below = ball(a) - ball(a + b) * x
    if below > 0 and b > ENOUGH_LEVELS:
        found = _fraction(ball(a), ball(b), x, y)
    elif below < 0 and a > ENOUGH_LEVELS:
        upper = _fraction(ball(b), ball(a), y, x)
        found = None if upper is None else 1 - upper
    else:
        found = None
    return x.beta_lower(ball(a), ball(b), 1) if found is None else found


def _fraction(a: arb, b: arb, x: arb, y: arb) -> arb | None:
    """I_x(a, b) = x^a y^b/B(a, b) · α₁/(β₁ + α₂/(β₂ + …)) [Didonato, Morris 1992, BFRAC], λ = a−(a+b)x ≥ 0,

    α_{n+1} = (a+n−1)(a+b+n−1)n(b−n)x²/(a+2n−1)², β_{n+1} = n + n(b−n)x/(a+2n−1) + (a+n)(λ+1+n+ny)/(a+2n+1).
    Two convergents bracket the value as long as n < b, if a+b ≥ 1. Proof: with p_n = n(a+n−1)/(a+2n−1), which
    rises, β_{n+1} ≥ p_n + p_{n+1} for every n, and |α_{n+1}| ≤ p_n²x² for n ≥ b; so by backward induction
    from any truncation every tail T_n = α_{n+1}/(β_{n+1}+T_{n+1}) is ≥ −p_n and every denominator ≥ p_n,
    hence T_n ≥ 0 where α_{n+1} > 0: the value lies between the convergents with T_n = 0 and T_n = ∞.
    """
    lam, scale = a - (a + b) * x, x * x
    before, here = (arb(1), arb(0)), (arb(0), arb(1))
    for n in range(MOST_LEVELS):
        if not b > n + 1:
            return None
        odd = a + (2 * n - 1)
        alpha, beta = arb(1), (a + n) * (lam + 1 + n * (1 + y)) / (odd + 2)
        if n:  # the terms with a factor n would be 0/0 at n = 0, a = 1
            alpha = (a + (n - 1)) * (a + b + (n - 1)) * n * (b - n) * scale / (odd * odd)
            beta += n + n * (b - n) * x / odd
        bottom = beta * here[1] + alpha * before[1]
        value = (beta * here[0] + alpha * before[0]) / bottom
        bracket = value.union(here[0])
        if n and (bracket.rel_accuracy_bits() >= ctx.prec - 40 or value.overlaps(here[0])):
            return bracket * _factor(a, b, x, y)
        before, here = (here[0] / bottom, here[1] / bottom), (value, arb(1))
    return None


def _factor(a: arb, b: arb, x: arb, y: arb) -> arb:
    """x^a y^b / B(a, b)."""
    return (a * x.log() + b * y.log() + (a + b).lgamma() - a.lgamma() - b.lgamma()).exp()
