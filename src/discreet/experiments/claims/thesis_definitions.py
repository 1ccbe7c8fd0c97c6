"""Claims of [G20] chapter 3 and §5.2.1: what differential privacy and its relaxations promise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.special import logsumexp

from discreet.experiments.claims.claim import Finding, Judgement, PublishedClaim, Work
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.privacy.accounting.composition import compose
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import GaussianDP, PureDP

DELTA = 1e-5
STEPS = (1, 10, 100, 1000)
ORDERS = np.concatenate([1 + np.geomspace(1e-3, 1, 40), np.geomspace(2, 1e5, 200)])
BETA = BetaBernoulli(6, 12)


def by_orders(guarantee: Guarantee, orders: np.ndarray, delta: float = DELTA) -> float:
    """ε = min over these orders of D_α + ln((α−1)/α) − (ln δ + ln α)/(α−1) [CKS20 Prop. 12]."""
    values = [
        guarantee.renyi(a) + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)
        for a in orders
        if a < guarantee.order_limit
    ]
    return max(0.0, min(values, default=math.inf))


def composition(work: Work) -> Finding:
    """Add k Gaussian steps of μ = 0.1: (ε, δ) by (ε, δ), then along the Rényi curve, then exactly."""
    told, better = [], []
    for k in STEPS:
        plain = k * GaussianDP(0.1).epsilon(DELTA / k)
        curve = by_orders(compose(*[GaussianDP(0.1)] * k), ORDERS)
        exact = GaussianDP(0.1 * math.sqrt(k)).epsilon(DELTA)
        better.append(exact <= curve <= plain)
        told.append(f"k = {k}: {plain:.3g}, {curve:.3g}, {exact:.3g}")
    said = f"ε at δ = 1e-5 by plain sums, along the Rényi curve, and exactly: {'; '.join(told)}"
    return Finding.that(all(better[1:]), said)


def odds(work: Work) -> Finding:
    """Compute every output's change of the adversary's odds: randomised response and Laplace at ε = 1."""
    e = 1.0
    keep = math.exp(e) / (1 + math.exp(e))
    response = max(keep / (1 - keep), (1 - keep) / keep)
    outputs = np.linspace(-5, 6, 2001)
    laplace = float(np.exp(np.abs(outputs - 1) * e - np.abs(outputs) * e).max())
    largest = max(response, laplace)
    return Finding.that(
        largest <= math.exp(e) * (1 + 1e-12),
        f"largest factor on the odds, ε = 1: randomised response {response:.6f}, Laplace {laplace:.6f}, "
        f"e^ε = {math.e:.6f}",
    )


def one_record_published(work: Work) -> Finding:
    """Publish one of n records at random: δ(ε) is exactly 1/n at every ε, for the record alone is new."""
    n = 1000
    # a table and its neighbour: n − 1 of the n outputs are shared, each with probability 1/n
    supports = [*[(1 / n, 1 / n)] * (n - 1), (1 / n, 0.0), (0.0, 1 / n)]
    profile = [sum(max(0.0, p - math.exp(e) * q) for p, q in supports) for e in (0.0, 1.0, 10.0)]
    unharmed = 1 - 1 / n
    return Finding.that(
        all(math.isclose(delta, 1 / n, rel_tol=1e-9) for delta in profile),
        f"n = {n}: δ is {profile[0]:.4g} at ε = 0 and {profile[-1]:.4g} at ε = 10, so that (0, 1/n) holds while "
        f"somebody's whole record is out; of one person the loss is 0 with probability {unharmed:g}",
    )


def ends_of_the_curve(work: Work) -> Finding:
    """Follow the curve of Beta(7, 12) against Beta(6, 13) towards order 1, and of randomised response to ∞."""
    p, q = BETA.update([1], 1), BETA.update([0], 1)
    kl = float((p.natural - q.natural) @ p.mean_sufficient() - p.log_partition() + q.log_partition())
    step = 1e-4
    near = p.natural * (1 + step) - step * q.natural
    lifted = BetaBernoulli(near[0], near[1] - near[0]).log_partition()
    renyi = (lifted - (1 + step) * p.log_partition()) / step + q.log_partition()
    keep = np.log(np.array([0.75, 0.25]))
    high = float(logsumexp(1e5 * keep - (1e5 - 1) * keep[::-1]) / (1e5 - 1))
    good = math.isclose(renyi, kl, rel_tol=1e-3) and math.isclose(high, math.log(3), rel_tol=1e-4)
    return Finding.that(
        good,
        f"Beta(7, 12) against Beta(6, 13): order 1.0001 gives {renyi:.6f}, KL is {kl:.6f}; randomised response "
        f"at 3/4: order 1e5 gives {high:.6f}, the largest log ratio is {math.log(3):.6f}",
    )


def few_orders(work: Work) -> Finding:
    """Convert to (ε, δ) from m orders, and from all of them."""
    told, close = [], []
    for name, guarantee in (
        ("direct", DirectPosterior(BETA, n=100).guarantee),
        ("diffused r = 0.1", DiffusedPosterior(BETA, n=100, r=Fraction(1, 10)).guarantee),
        ("Gaussian μ = 1", GaussianDP(1.0)),
        ("pure ε = 0.5", PureDP(0.5)),
    ):
        limit = min(guarantee.order_limit, 100.0)
        grid = {m: 1 + (limit - 1) * np.geomspace(1e-2, 0.999, m) for m in (5, 20, 1000)}
        values = {m: by_orders(guarantee, orders) for m, orders in grid.items()}
        exact = guarantee.epsilon(DELTA)
        close.append(values[20] <= 1.1 * values[1000])
        told.append(
            f"{name}: {values[5]:.3f} from 5 orders, {values[20]:.3f} from 20, {values[1000]:.3f} from 1000, "
            f"{exact:.3f} exactly"
        )
    return Finding.that(
        all(close),
        f"ε at δ = 1e-5. {'; '.join(told)}. Twenty orders come within 10 % of a thousand; the exact profile is "
        "what the curve cannot reach",
    )


CLAIMS = (
    PublishedClaim(
        "G20-3.1a",
        "G20 §3.1–3.2, Observations 2 and 4",
        "Under composition (ε, δ) add; Rényi curves add too and end much tighter.",
        composition,
        Judgement.HOLDS,
        errata=(6,),
        also=("N19 Claim 2.31",),
    ),
    PublishedClaim(
        "G20-3.1b",
        "G20 (3.2)–(3.5)",
        "An output changes an adversary's odds by a factor of at most e^ε.",
        odds,
        Judgement.HOLDS,
    ),
    PublishedClaim(
        "G20-3.1c",
        "G20 §3.1 and §5.2.1",
        "A mechanism that publishes one person's record is (ε, 1/n)-private: δ must be far below 1/n.",
        one_record_published,
        Judgement.HOLDS,
        errata=(6,),
    ),
    PublishedClaim(
        "G20-3.2a",
        "G20 §3.2 and §5.2.1",
        "Rényi divergence tends to KL at order 1 and to the largest log ratio at order ∞.",
        ends_of_the_curve,
        Judgement.HOLDS,
    ),
    PublishedClaim(
        "G20-3.2b",
        "G20 §3.2 and §5.2.1",
        "The curve at finitely many orders gives almost the same guarantee as the whole curve.",
        few_orders,
        Judgement.HOLDS,
    ),
)
