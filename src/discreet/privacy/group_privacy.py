"""What a row must promise so that a unit with k rows is promised the target. Rounded to the private side."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch

from discreet.privacy.arithmetic.ball import Exact, ball, floor, precision
from discreet.privacy.arithmetic.curves import Points, downward
from discreet.privacy.guarantee import Guarantee, NotProved, group_size
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP

BITS = 256
STEPS = 64  # each one double to the private side; a handful is ever needed


def per_row(target: Guarantee, k: int) -> Guarantee:
    """Promise for one row whose .group(k) implies the target, verified."""
    if group_size(k) == 1:
        return target
    row = _row(target, k)
    if not row.group(k) <= target:
        raise NotProved(f"the promise for one of {k} rows could not be proved to give {target}")
    return row


@singledispatch
def _row(target: Guarantee, k: int) -> Guarantee:
    raise NotProved(
        f"no rule turns a {type(target).__name__} target for a unit with {k} rows into one for a row: "
        "ask for a PureDP, ApproxDP, ZeroCDP or GaussianDP target, or bound each unit to one row"
    )


# A target that is no double is first lowered to one, so that answers rounded up to doubles still prove it.


def _lower(x: Exact) -> Fraction:
    """Return the double below, or x itself below every double."""
    return Fraction(downward(x) or x)


@_row.register
def _row_pure_dp(target: PureDP, k: int) -> PureDP:
    """ε/k: the ratio bound taken k times."""
    return PureDP(_lower(target.loss) / k, relation=target.relation)


@_row.register
def _row_bounded_range(target: BoundedRange, k: int) -> BoundedRange:
    """ε/k: lengths of the intervals add."""
    return BoundedRange(_lower(target.loss) / k, relation=target.relation)


@_row.register
def _row_zero_cdp(target: ZeroCDP, k: int) -> ZeroCDP:
    """ρ/k² [Bun, Steinke 2016 Prop. 1.9]."""
    return ZeroCDP(_lower(target.rho) / k**2, relation=target.relation)


@_row.register
def _row_gaussian_dp(target: GaussianDP, k: int) -> GaussianDP:
    """μ/k [DRS22 Thm 2.14]."""
    mu = target.mu  # rounded up where μ is no double
    above = mu == math.inf or Fraction(mu) ** 2 > Fraction(target.mu_squared)
    lower = math.nextafter(mu, 0.0) if above and mu < math.inf else mu
    if not 0 < lower < math.inf:  # no double is near μ
        return GaussianDP.from_square(Fraction(target.mu_squared) / k**2, relation=target.relation)
    return GaussianDP(Fraction(lower) / k, relation=target.relation)


@_row.register
def _row_approx_dp(target: ApproxDP, k: int) -> ApproxDP:
    """(ε/k, δ(e^{ε/k} − 1)/(e^ε − 1)) [Vadhan 2017 Lemma 2.2], rounded down until the rule gives ≤ δ back."""
    share, delta = _lower(Fraction(target.loss) / k), _share_of_delta(target.loss, target.slack, k)
    for _step in range(STEPS):
        row = ApproxDP(share, delta, relation=target.relation)
        if row.group(k) <= target:
            return row
        delta = math.nextafter(delta, 0.0)
    raise NotProved(f"δ = {target.slack} for a unit of {k} rows leaves nothing for a row; ask for a larger δ")


def _share_of_delta(epsilon: Exact, delta: Exact, k: int) -> float:
    with precision(BITS):
        loss = ball(Fraction(epsilon))
        return max(0.0, floor(ball(Fraction(delta)) * (loss / k).expm1() / loss.expm1()))


# ── several draws ───────────────────────────────────────────────────────────────────────────────────


def per_draw(target: Guarantee, q: int) -> Guarantee:
    """Promise for one of q releases that together give the target, by basic composition of its kind."""
    return target if group_size(q) == 1 else _share(target, q)


@singledispatch
def _share(target: Guarantee, q: int) -> Guarantee:
    raise NotProved(
        f"no rule shares a {type(target).__name__} target among {q} draws: ask for a PureDP, ApproxDP, "
        "ZeroCDP, GaussianDP or RenyiDP.points target, or for one draw"
    )


@_share.register
def _share_pure_dp(target: PureDP, q: int) -> PureDP:
    """ε/q [DMNS06]."""
    return PureDP(Fraction(target.loss) / q, relation=target.relation)


@_share.register
def _share_approx_dp(target: ApproxDP, q: int) -> ApproxDP:
    """(ε/q, δ/q) [DR14 Thm 3.16]; the composition that is charged may be much less than the target."""
    return ApproxDP(Fraction(target.loss) / q, Fraction(target.slack) / q, relation=target.relation)


@_share.register
def _share_zero_cdp(target: ZeroCDP, q: int) -> ZeroCDP:
    """ρ/q [Bun, Steinke 2016 Lemma 2.3]."""
    return ZeroCDP(Fraction(target.rho) / q, relation=target.relation)


@_share.register
def _share_gaussian_dp(target: GaussianDP, q: int) -> GaussianDP:
    """μ/√q [DRS22 Cor. 3.3]."""
    return GaussianDP.from_square(Fraction(target.mu_squared) / q, relation=target.relation)


@_share.register
def _share_renyi_dp(target: RenyiDP, q: int) -> RenyiDP:
    """D_α/q at every known order [M17 Prop. 1]."""
    if target.profile is not None or not isinstance(target.curve, Points):
        raise NotProved(
            "a Rényi target is shared among draws at known orders: use RenyiDP.at or RenyiDP.points"
        )
    shares = {order: downward(Fraction(bound) / q) for order, bound in target.curve.known}
    if not min(shares.values()) > 0:
        raise NotProved(f"a {q}th of this Rényi target is below every double: ask for a larger bound")
    return RenyiDP.points(shares, relation=target.relation)
