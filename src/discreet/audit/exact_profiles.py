"""δ(ε) and D_α of two given laws in doubles, apart from the library's accounting: that is what is audited.

Every function takes the left law P first and answers for the one direction P against Q. Closed forms are from
scipy.special, the rest from quadrature; where the audits ask, both are good to 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betaln, expit, gammainc, gammaincc, gammaln, log_expit, ndtr

from discreet.audit.case import Profile

Law: TypeAlias = tuple[float, float]  # two parameters of a named law
LogDensity: TypeAlias = Callable[[float], float]


def finite(left: ArrayLike, right: ArrayLike) -> Profile:
    """Σ_y (P(y) − e^ε Q(y))₊"""
    p, q = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    return lambda epsilon: float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def normal(mu: float) -> Profile:
    """N(μ, 1) against N(0, 1): Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)"""
    return lambda epsilon: float(
        ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    )


def shifted_laplace(loss: float) -> Profile:
    """Laplace(d, b) against Laplace(0, b), loss = d/b: (1 − e^{(ε − loss)/2})₊"""
    return lambda epsilon: max(0.0, -math.expm1((epsilon - loss) / 2))


def laplace(left: Law, right: Law) -> Profile:
    """Two Laplace(center, scale): between centers and crossings of the log ratio the sign is constant."""
    (a, b), (c, d) = left, right

    def delta(epsilon: float) -> float:
        cuts = [a, c]
        for i in (-1, 1):  # ln(d/b) − i(x−a)/b + j(x−c)/d = ε on each pair of half-lines
            for j in (-1, 1):
                slope = j / d - i / b
                if slope:
                    cuts.append((epsilon - math.log(d / b) + j * c / d - i * a / b) / slope)
        x = np.sort(cuts)
        p, q = (np.diff(_laplace_below(x, law), prepend=0.0, append=1.0) for law in (left, right))
        return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())

    return delta


def _laplace_below(x: np.ndarray[tuple[int], np.dtype[np.float64]], law: Law) -> ArrayLike:
    z = (x - law[0]) / law[1]
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z < 0, tail, 1 - tail)


def beta_threshold(a: float, b: float, r: float, epsilon: float) -> float:
    """x₀ where ln of Beta(a+r, b) over Beta(a, b+r) is ε: r logit x₀ = ε + ln B(a+r, b) − ln B(a, b+r)"""
    return float(expit((epsilon + betaln(a + r, b) - betaln(a, b + r)) / r))


def beta(a: float, b: float, r: float) -> Profile:
    """Beta(a+r, b) against Beta(a, b+r): P(x > x₀) − e^ε Q(x > x₀), the ratio being monotone"""

    def delta(epsilon: float) -> float:
        x = beta_threshold(a, b, r, epsilon)
        return float(betaincc(a + r, b, x) - math.exp(epsilon) * betaincc(a, b + r, x))

    return delta


def beta_side_threshold(left: Law, right: Law, epsilon: float) -> float:
    """x₀ where ln of Beta(a, b) over Beta(a', b) is ε, at most 1"""
    (a, b), (c, _) = left, right
    return min(math.exp((epsilon + betaln(a, b) - betaln(c, b)) / (a - c)), 1.0)


def beta_side(left: Law, right: Law) -> Profile:
    """Beta(a, b) against Beta(a', b): the ratio is monotone in x, rising if a > a'"""
    tail = betaincc if left[0] > right[0] else betainc

    def delta(epsilon: float) -> float:
        x = beta_side_threshold(left, right, epsilon)
        return float(tail(*left, x) - math.exp(epsilon) * tail(*right, x))

    return delta


def truncated_beta_threshold(left: Law, right: Law, lower: float, epsilon: float) -> float:
    """x₀ where ln of Beta(a+r, b) over Beta(a, b+r), both on [l, 1−l], is ε; kept within [l, 1−l]"""
    edges = np.array([lower, 1 - lower])
    logs = [betaln(*law) + math.log(np.diff(betainc(*law, edges))[0]) for law in (left, right)]
    x = float(expit((epsilon + logs[0] - logs[1]) / (left[0] - right[0])))
    return min(max(x, lower), 1 - lower)


def truncated_beta(left: Law, right: Law, lower: float) -> Profile:
    """Beta(a+r, b) against Beta(a, b+r), both on [l, 1−l]; the ratio rises with logit x"""

    def delta(epsilon: float) -> float:
        x = truncated_beta_threshold(left, right, lower, epsilon)
        edges = np.array([lower, x, 1 - lower])
        (p0, p1), (q0, q1) = (np.diff(betainc(*law, edges)) for law in (left, right))
        return float(p1 / (p0 + p1) - math.exp(epsilon) * q1 / (q0 + q1))

    return delta


def gamma_threshold(left: Law, right: Law, epsilon: float) -> float:
    """x₀ where ln of Gamma(s, t) over Gamma(s', t') is ε, for equal shapes s or equal rates t; at least 0"""
    (s, t), (z, u) = left, right
    constant = s * math.log(t) - gammaln(s) - z * math.log(u) + gammaln(z)
    return max((constant - epsilon) / (t - u), 0.0) if s == z else math.exp((epsilon - constant) / (s - z))


def gamma(left: Law, right: Law) -> Profile:
    """Gamma(shape, rate) against another of equal shape or of equal rate: the ratio is monotone"""
    (s, t), (z, u) = left, right
    tail = gammaincc if s > z or t < u else gammainc

    def delta(epsilon: float) -> float:
        x = gamma_threshold(left, right, epsilon)
        return float(tail(s, t * x) - math.exp(epsilon) * tail(z, u * x))

    return delta


def log_beta(a: float, b: float) -> LogDensity:
    """Log density of logit x, x ~ Beta(a, b)"""
    constant = betaln(a, b)
    return lambda z: float(a * log_expit(z) + b * log_expit(-z) - constant)


def log_gamma(shape: float, rate: float) -> LogDensity:
    """Log density of ln x, x ~ Gamma(shape, rate)"""
    constant = shape * math.log(rate) - gammaln(shape)
    return lambda z: float(shape * z - rate * math.exp(z) + constant)


def renyi(left: LogDensity, right: LogDensity, *, reach: float = 80.0) -> Profile:
    """D_α = ln ∫ p^α q^{1−α} / (α − 1) over [−reach, reach], in a coordinate where the integrand is smooth"""

    def divergence(order: float) -> float:
        from scipy.integrate import quad  # noqa: PLC0415 - heavy, and only audits integrate

        def log_f(z: float) -> float:
            return order * left(z) + (1 - order) * right(z)

        grid = np.linspace(-reach, reach, 3201)
        values = [log_f(z) for z in grid.tolist()]
        top, mode = max(values), float(grid[int(np.argmax(values))])
        halves = ((-reach, mode), (mode, reach))
        mass = sum(
            quad(lambda z: math.exp(log_f(z) - top), x, y, limit=400, epsabs=0, epsrel=1e-10)[0]
            for x, y in halves
        )
        return (math.log(mass) + top) / (order - 1)

    return divergence
