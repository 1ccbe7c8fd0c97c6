"""What somebody can tell of two data sets from n answers [D14, §4.3 and Appendix A], both ways round.

Two kinds of statement: what [D14]'s adversary, who compares frequencies, needs (`told_by_frequencies`); and
what no test at all can beat (`errors_at_least`, `guess_at_least`). Theorem 3 prints "can … if"; what is
derived is "only if".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from discreet.privacy.accounting.composition import repeat
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import positive
from discreet.privacy.under_metric.distances import distance as checked_distance
from discreet.privacy.under_metric.promise import MetricDP

MOST_DRAWS = 10**6


def told_by_frequencies(constant: float, draws: int, failure: float) -> float:
    """Return ρ below which frequencies cannot tell x from y with 1 − t: (3/(4Ln)) ln(1/t) [D14, Thm 3].

    The adversary is Lemma 2's: below it ‖ξ_x − ξ_y‖₁ ≤ 2√(Lρ) is within his error. Above it he may fail too.
    """
    return 3 * _log_inverse(failure) / (4 * float(positive("L", constant)) * _draws(draws))


def draws_to_tell(constant: float, far: float, failure: float) -> int:
    """Fewest answers with which frequencies can tell two data sets at distance ρ: 3 ln(1/t)/(4Lρ)."""
    return math.ceil(
        3 * _log_inverse(failure) / (4 * float(positive("L", constant)) * float(positive("ρ", far)))
    )


def empirical_error(draws: int, failure: float) -> float:
    """‖P_n − P‖₁ < √((3/n) ln(1/t)) with probability 1 − t, on few enough cells [D14, Lemma 2]."""
    return math.sqrt(3 * _log_inverse(failure) / _draws(draws))


def finest_partition(failure: float) -> int:
    """Most cells m ≤ log₂ √(1/t) for which `empirical_error` holds."""
    return math.floor(_log_inverse(failure) / (2 * math.log(2)))


def error_exceeded(cells: int, draws: int, error: float) -> float:
    """P(‖P_n − P‖₁ ≥ e) ≤ (2^m − 2) e^{−ne²/2}, what Lemma 2 rests on [Weissman et al. 2003]."""
    return min(1.0, (2.0 ** min(cells, 1000) - 2) * math.exp(-_draws(draws) * error**2 / 2))


def total_variation_at_most(promise: MetricDP, far: Exact, draws: int) -> float:
    """Bound the total variation of n answers, for any test: by composition, and by Pinsker's inequality.

    TV ≤ δ(0) of n-fold composition [KOV15 Thm 3.3]; TV ≤ √(n KL/2), KL ≤ εr tanh(εr/2). The smaller holds.
    """
    if checked_distance(far) == 0:
        return 0.0
    times = _draws(draws)
    pinsker = math.sqrt(times * promise.kl(far) / 2) if promise.kl(far) < math.inf else 1.0
    one = promise.as_substitute(far)
    return min(1.0, pinsker * (1 + 1e-12), repeat(one, times).delta(0))


def errors_at_least(promise: MetricDP, far: Exact, draws: int) -> float:
    """Least probability of error of any test that guesses which of two data sets it is: (1 − TV)/2."""
    return (1 - total_variation_at_most(promise, far, draws)) / 2


def guess_at_least(far: float, total_variation: float) -> float:
    """Le Cam's two points: any guess x̂ has max over {x, y} of E ρ(x̂, ·) ≥ (ρ(x, y)/2)(1 − TV) [D14, Lemma 8].

    The two risks add up to at least ∫ (p ∧ q)(ρ(x̂, x) + ρ(x̂, y)) ≥ ρ(x, y)(1 − TV).
    """
    if not 0 <= total_variation <= 1:
        raise ValueError(f"a total variation lies in [0, 1], got {total_variation}")
    return float(checked_distance(far)) / 2 * (1 - total_variation)


@final
@dataclass(frozen=True)
class Told:
    """After n answers: from which distance on frequencies may tell, and what no test can beat."""

    draws: int
    frequencies: float  # distance
    error: float  # of any test, at the distance that was asked for
    guess: float  # of any guess: its expected distance, at least


def told_after(constant: float, promise: MetricDP, far: float, draws: int, failure: float) -> Told:
    """Put the answers together, for a table or a picture."""
    variation = total_variation_at_most(promise, far, draws)
    return Told(
        draws,
        told_by_frequencies(constant, draws, failure),
        (1 - variation) / 2,
        guess_at_least(far, variation),
    )


def _draws(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_DRAWS:
        raise ValueError(f"the number of answers is a whole number from 1 to {MOST_DRAWS}, got {count}")
    return count


def _log_inverse(failure: float) -> float:
    if not 0 < failure < 1:
        raise ValueError(f"a probability of failure lies strictly between 0 and 1, got {failure}")
    return -math.log(failure)
