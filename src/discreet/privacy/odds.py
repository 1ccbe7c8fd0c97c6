"""What a promise means to somebody who guesses: how sure they can become. Rounded up, in ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.accounting.conversions import above
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.guarantee import Guarantee, positive, probability
from discreet.privacy.words import number

# Shares of the failure probability at which ε(δ) is asked; each gives a valid bound, the least is taken.
SHARES = (
    Fraction(0),
    Fraction(1, 2**14),
    Fraction(1, 2**10),
    Fraction(1, 2**7),
    Fraction(1, 2**5),
    Fraction(1, 2**3),
    Fraction(1, 2),
)


def loss_bound(guarantee: Guarantee, failure: Exact) -> float:
    """Certified ℓ with Pr[L > ℓ] ≤ failure, L the privacy loss; not ε(δ), whose tail may weigh more than δ.

    δ(ε) = E(1 − e^{ε−L})₊ [Balle, Wang 2018 Thm 5] ≥ Pr[L > ℓ](1 − e^{ε−ℓ}), hence ℓ = ε − ln(1 − s) where
    δ(ε) ≤ s·failure.
    """
    beta = Fraction(probability("failure", failure))
    if beta == 0:
        return guarantee.epsilon(0)
    found = ((guarantee.epsilon(share * beta), share) for share in SHARES)
    return min((_raised(epsilon, share) for epsilon, share in found), default=math.inf)


def _raised(epsilon: float, share: Fraction) -> float:
    if epsilon == math.inf or share == 0:
        return epsilon
    return above(lambda: ball(epsilon) - ball(1 - share).log())


def sure_after(prior: Exact, loss: float) -> float:
    """p/(p + (1−p)e^{−ℓ}): prior odds times e^ℓ, as a probability; all else about the table is known."""
    p = Fraction(positive("prior", prior))
    if not p < 1:
        raise ValueError(f"a prior must lie strictly between 0 and 1, got {prior}; at 1 nothing is to learn")
    return (
        1.0
        if loss == math.inf
        else min(1.0, above(lambda: ball(p) / (ball(p) + ball(1 - p) / ball(loss).exp())))
    )


def delta_caution(promised: Guarantee, target: Guarantee, n: int | None) -> str | None:
    """Say where δ is so large that publishing a record chosen at random would keep the promise too.

    δ is what the target allows and the promise uses; n is public. At δ = 1/n one whole record of n leaves.
    """
    delta = target.disclosure()[0]
    if not n or not delta or promised.epsilon(0) < math.inf or 10 * n * Fraction(delta) <= 1:
        return None
    if n * Fraction(delta) >= 1:
        return (
            f"δ = {number(delta)} is not below 1/n = {1 / n:.3g}: publishing one whole record, chosen at "
            "random, would keep such a promise; ask for a δ far below 1/n"
        )
    return (
        f"δ = {number(delta)} is above 1/(10 n) = {0.1 / n:.3g}: publishing a whole record chosen at random, "
        "more than one time in ten, would keep such a promise; ask for a δ far below 1/n"
    )
