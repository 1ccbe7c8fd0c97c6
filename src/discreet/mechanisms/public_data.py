"""Public records strengthen the prior, and so do breached ones for those that remain [G20 §5.3.1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Family, Integers
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.draw import PosteriorDraw, meets, refuse_hopeless
from discreet.numerics.search import least_count
from discreet.privacy.guarantee import Guarantee, Unreachable

MOST_BATCHES = 2**40


def fold_public(model: Family, statistic: ArrayLike, n: int) -> Family:
    """η₀ + Σ over public records of (S, 1): the prior that everybody can compute."""
    return model.update(model.check(statistic, n), n)


def even_batch(model: Family) -> tuple[Integers, int]:
    """Return the smallest even public data set: one record a category, or one at each public bound."""
    spread = np.full(len(model.natural), model.joint_sensitivity().linf)
    statistic, n = model.split(spread)
    return np.rint(statistic).astype(np.int64), round(n)


def public_records_needed(
    model: Family, *, n: int, target: Guarantee, batch: tuple[ArrayLike, int] | None = None
) -> int:
    """Least number of public records, in copies of `batch`, so that a direct draw of n more meets the target.

    A batch is (statistic, records) of public data of the kind to come; None spreads evenly (`even_batch`).
    The guarantee tightens as the prior grows (data processing), so bisection is right.
    """
    refuse_hopeless(model.worst_case(n, relation=target.relation), target)
    statistic, size = even_batch(model) if batch is None else (model.check(*batch), batch[1])

    def enough(copies: int) -> bool:
        prior = model if copies == 0 else model.update(copies * statistic, copies * size)
        return meets(target, prior.worst_case(n, relation=target.relation))

    if enough(0):
        return 0
    copies = least_count(enough, MOST_BATCHES)
    if copies is None:
        raise Unreachable(
            f"no number of such public records makes one direct draw meet {target}: the batch leaves a "
            "category without any; choose a batch that reaches every category, or use DiffusedPosterior"
        )
    return copies * size


def guarantee_after_breach(mechanism: PosteriorDraw, statistic: ArrayLike, k: int) -> Guarantee:
    """Return what one draw promises to the n − k other records once k, with this statistic, are known.

    The known records are part of the prior, at the weight they had: the same computation as public data.
    """
    n = mechanism.n
    if n is None:
        raise ValueError("a breach is accounted with n public; under ADD_REMOVE the promise stays as it is")
    if not 0 <= k < n:
        raise ValueError(
            f"a breach needs 0 ≤ k < n = {n} known records, got {k}: somebody must be left to protect"
        )
    prior = mechanism.prior
    known = prior if k == 0 else prior.update(prior.check(statistic, k), k, weight=mechanism.weight)
    return DiffusedPosterior(known, n=n - k, r=mechanism.weight).guarantee
