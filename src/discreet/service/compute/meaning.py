"""What a promise means: how sure anybody can become, and how often a test can be right."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.privacy.trade_off import known_points
from discreet.privacy.under_metric.distinguishing import told_by_frequencies
from discreet.privacy.words import in_words, loss_bound, sure_after
from discreet.service.compute.orders import Problem, Reply
from discreet.service.compute.plans import to_json
from discreet.service.compute.reading import profile, trade_off
from discreet.service.compute.refusals import before_charge

DRAWS = tuple(sorted({round(10 ** (i / 8)) for i in range(33)}))
PRIORS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9)


def distinguishability(lipschitz: float, failure: float) -> Reply | Problem:
    """Say below which distance so many answers, each a fresh draw, cannot tell two data sets apart."""

    def said() -> Reply:
        distances = [told_by_frequencies(lipschitz, draws, failure) for draws in DRAWS]
        words = [
            f"with {draws} answers, somebody who compares frequencies cannot tell data sets nearer than "
            f"{far:.4g} apart and be right with probability {1 - failure:g}"
            for draws, far in list(zip(DRAWS, distances, strict=True))[::6]
        ]
        return Reply(to_json({"queries": list(DRAWS), "distance": distances, "words": words}))

    return before_charge(said)


def meaning(epsilon: str, delta: str) -> Reply | Problem:
    return before_charge(lambda: Reply(to_json(_meaning(Fraction(epsilon), Fraction(delta)))))


def _meaning(epsilon: Fraction, delta: Fraction) -> dict[str, object]:
    promise: Guarantee = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    failure = float(min(4 * delta, Fraction(1, 2)))
    loss = loss_bound(promise, failure)
    odds = [{"prior": prior, "after": sure_after(prior, loss)} for prior in PRIORS]
    half = odds[PRIORS.index(0.5)]["after"]
    words = [
        f"{in_words(promise)}: somebody who is 50 % sure of something about you before a release can be "
        f"at most {ceil(1000 * half) / 10:g} % sure after it, even knowing every other row"
        + (f", except with probability {failure:g} over the noise" if delta else ""),
        "several releases add up: two of them at this price mean twice this ε",
    ]
    points = known_points(promise, more=[(PureDP(epsilon).epsilon(0), float(delta))])
    return {"odds": odds, "trade_off": trade_off(points), "profile": profile(promise), "words": words}
