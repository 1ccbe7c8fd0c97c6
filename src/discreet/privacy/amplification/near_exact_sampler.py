"""What a promise becomes when the draws are only nearly from the law that it speaks of."""

from __future__ import annotations

import math

from discreet.privacy.accounting.conversions import above
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.guarantee import Guarantee, NotProved, positive, probability
from discreet.privacy.kinds import ApproxDP


def approximate(guarantee: Guarantee, total_variation: Exact, *, epsilon: Exact | None = None) -> ApproxDP:
    """(ε, δ + (1 + e^ε)τ) for a sampler within total variation τ of the exact one on EVERY data set.

    P̃(S) ≤ P(S) + τ ≤ e^ε Q(S) + δ + τ ≤ e^ε (Q̃(S) + τ) + δ + τ [G20 Prop. 3, with the bracket that its
    print lost]. τ is half the L1 distance. It must be a proved bound for all data sets at once: one that a
    run's own diagnostics suggest is no proof. ε is the guarantee's pure part unless given.
    """
    tau = probability("total_variation", total_variation)
    loss = guarantee.disclosure()[1].epsilon(0) if epsilon is None else positive("epsilon", epsilon)
    if loss == math.inf:
        raise NotProved(
            f"{type(guarantee).__name__} has no pure part: say at which epsilon=… its δ is to be taken"
        )
    delta = above(lambda: ball(guarantee.delta(loss)) + (1 + ball(loss).exp()) * ball(tau))
    if not delta < 1:
        raise NotProved(
            f"δ + (1 + e^ε)τ reaches 1 at ε = {loss} and nothing is promised; a smaller τ or ε is needed"
        )
    return ApproxDP(loss, delta, relation=guarantee.relation)
