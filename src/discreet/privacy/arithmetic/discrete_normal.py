"""The normal law on the integers, P(Z = z) ∝ e^{−z²/2v}: its tails and its privacy profile, as balls."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from discreet.privacy.arithmetic.ball import Exact, ball

WIDE = 64  # variances from here on are summed by Euler and Maclaurin
TERMS = 16  # of that formula: what is left is below 2^-100 of a tail of 1e-12
REACH = 24  # deviations, beyond which a narrow law's tail is only enclosed: below e^{−288}


def shifted_delta(variance: Fraction, shift: int, epsilon: Exact) -> arb:
    """P(Z ≥ s) − e^ε P(Z ≥ s + d), s the least integer above εv/d − d/2: of Z + d against Z [CKS20 Thm 7]."""
    start = (Fraction(epsilon) * variance / shift - Fraction(shift, 2)).__floor__() + 1
    first, second = tail(variance, start), tail(variance, start + shift)
    return (first - ball(epsilon).exp() * second) / whole(variance)


def several_delta(variance: Fraction, shift: int, times: int, epsilon: Exact) -> arb:
    """Bound δ(ε) of `times` independent such pairs: that of one, of shift kd and variance kv [theory §14].

    The sum of k laws is that of variance kv but for a factor between 1 − η and 1 + η; ∞ where η is above ½.
    """
    one = shifted_delta(times * variance, times * shift, epsilon)
    if times == 1:
        return one
    apart = ((-(arb.pi() ** 2) * ball(variance)).exp() * 2 * arb(1.001)).log1p() * times
    eta = apart.expm1()
    return one * (1 + eta) / (1 - eta) if eta < arb(0.5) else arb("inf")


def whole(variance: Fraction) -> arb:
    """Σ e^{−z²/2v}: √(2πv)(1 + 2Σ_j e^{−2π²vj²}) by Poisson's formula where v is large, else summed."""
    if variance < WIDE:
        return 1 + 2 * tail(variance, 1)
    v = ball(variance)
    return (2 * arb.pi() * v).sqrt() * (1 + 2 * (-2 * arb.pi() ** 2 * v).exp() * arb(1, 0.5))


def tail(variance: Fraction, start: int) -> arb:
    """Σ e^{−z²/2v} over z ≥ start."""
    if start <= 0:
        return whole(variance) - tail(variance, 1 - start)
    return _narrow(variance, start) if variance < WIDE else _wide(variance, start)


def _narrow(variance: Fraction, start: int) -> arb:
    """Term by term."""
    known = _tails(variance, int(ctx.prec))
    return known[start - 1] if start <= len(known) else _rest(ball(2 * variance), start)


@lru_cache(maxsize=64)
def _tails(variance: Fraction, bits: int) -> list[arb]:
    """From 1, 2, … on."""
    del bits  # at the precision of the caller
    v, end = ball(2 * variance), int(REACH * float(variance) ** 0.5) + 2
    tails = [_rest(v, end)]
    for z in range(end - 1, 0, -1):
        tails.append(tails[-1] + (-arb(z * z) / v).exp())
    return tails[::-1]


def _rest(v: arb, start: int) -> arb:
    """Enclose Σ e^{−z²/v}, z ≥ R, between its first term and that over 1 − e^{−2R/v}."""
    first = (-(arb(start) ** 2) / v).exp()
    last = first / (1 - (-2 * arb(start) / v).exp())
    return (first + last) / 2 + (last - first) / 2 * arb(0, 1)


def _wide(variance: Fraction, start: int) -> arb:
    """∫f + f(s)/2 − Σ B_2j f^(2j−1)(s)/(2j)! + R, |R| ≤ |B_2m|/(2m)!·∫|f^(2m)| [DLMF 2.10.1].

    f^(j) = (−1)^j v^{−j/2} He_j(x/√v) f; |B_2m|/(2m)! ≤ 4/(2π)^2m; and by Cauchy and Schwarz ∫|f^(2m)| from s
    on is at most v^{−m}·√((2m)!·√(2πv)·∫f), ∫He_j² e^{−u²/2} = j!√2π over the line.
    """
    v, root = ball(variance), ball(variance).sqrt()
    u = start / root
    at = (-u * u / 2).exp()
    area = (arb.pi() * v / 2).sqrt() * (u / arb(2).sqrt()).erfc()
    total, before, now, power = area + at / 2, arb(1), u, 1 / root  # He_0, He_1, v^{−1/2}
    for j in range(1, TERMS + 1):
        total += _bernoulli(j, int(ctx.prec)) * power * now * at  # −B·f^(2j−1), whose sign is −He's
        for k in (2 * j - 1, 2 * j):
            before, now, power = now, u * now - k * before, power / root
    scale = arb(2 * TERMS).fac() * (2 * arb.pi() * v).sqrt() * area
    rest = 4 / (2 * arb.pi()) ** (2 * TERMS) / v**TERMS * scale.sqrt()
    return total + rest * arb(0, 1)


@lru_cache(maxsize=256)
def _bernoulli(j: int, bits: int) -> arb:
    """B_2j/(2j)!"""
    del bits  # at the precision of the caller
    return arb.bernoulli(2 * j) / arb(2 * j).fac()
