"""Claims of [G20] chapter 5 ([GSC17] repeats them): posterior draws of exponential families under Rényi DP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy.special import polygamma

from discreet.experiments.claims.claim import Finding, Judgement, PublishedClaim, Row, Work
from discreet.experiments.thesis.curves import corollary_16
from discreet.experiments.thesis.figure import legendre
from discreet.experiments.thesis.kl import MODEL, TRUTH, N, kl, noisy_count
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.family import Family
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior, largest_weight
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.public_data import fold_public, guarantee_after_breach, public_records_needed
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.numerics.search import bisect, doubles
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.kinds import GaussianDP, RenyiDP
from discreet.privacy.worst_pairs.divergences import beta_renyi

PRIORS: tuple[tuple[float, float], ...] = ((6, 12), (1, 1), (0.5, 4), (30, 2))
METHODS = ("diffused", "concentrated", "gaussian")


def _number(row: Row, key: str) -> float:
    return float(row[key])


def closed_forms(work: Work) -> Finding:
    """Compare the closed form of the divergence with quadrature over ln(θ/(1−θ)), where ends are smooth."""
    s = np.linspace(-60, 60, 240_001)
    worst = 0.0
    for (a, b), order in itertools.product(PRIORS, (0.5, 1.01, 1.5, 1.9)):
        # P and Q are one record apart; orders that keep b − (α−1)·¼ > 0
        P, Q = ((float(a) + 0.25, float(b)), (float(a), float(b) + 0.25))
        log_p, log_q = (_log_density(s, *entries) for entries in (P, Q))
        value = math.log(np.trapezoid(np.exp(order * log_p + (1 - order) * log_q), s)) / (order - 1)
        p, q = BetaBernoulli(*P), BetaBernoulli(*Q)
        mixed = order * p.natural + (1 - order) * q.natural
        form = BetaBernoulli(mixed[0], mixed[1] - mixed[0]).log_partition()
        closed = (form - order * p.log_partition()) / (order - 1) + q.log_partition()
        worst = max(worst, abs(closed - value))
    return Finding.that(
        worst < 1e-8,
        f"16 pairs of Beta laws, orders 0.5 to 1.9: closed form and quadrature differ by {worst:.1e}",
    )


def _log_density(s: np.ndarray, a: float, b: float) -> np.ndarray:
    log_sum: np.ndarray = np.logaddexp(0, s)
    return a * s - (a + b) * log_sum - BetaBernoulli(a, b).log_partition()


def direct_limit(work: Work) -> Finding:
    """Look at the curve just below and at order 1 + min(α₀, β₀)."""
    told, right = [], []
    for alpha, beta in PRIORS:
        limit = 1 + float(min(alpha, beta))
        guarantee = DirectPosterior(BetaBernoulli(alpha, beta), n=100).guarantee
        below = guarantee.renyi(1 + (limit - 1) * (1 - 1e-6))
        right.append(guarantee.order_limit == limit and below < guarantee.renyi(limit) == math.inf)
        told.append(f"({float(alpha):g}, {float(beta):g}): {below:.3g} just below order {limit:g}, ∞ at it")
    return Finding.that(all(right), f"n = 100. {'; '.join(told)}")


def _targets() -> Iterator[tuple[BetaBernoulli, float, float]]:
    for (alpha, beta), order, epsilon in itertools.product(PRIORS, (1.5, 2.0, 8.0, 50.0), (0.01, 0.3, 3.0)):
        yield BetaBernoulli(alpha, beta), order, epsilon


def diffusing_suffices(work: Work) -> Finding:
    """Calibrate r exactly for every prior and target, and compare with r* = ε/(Δ²Hλ)."""
    least, gains = 1.0, []
    for model, order, epsilon in _targets():
        r = largest_weight(model, n=N, target=RenyiDP.at(order, epsilon))
        least, small = min(least, r), float(min(model.alpha, model.beta))
        # Δ = 1 for the Bernoulli family; H over the segment at radius r₀ = min/(2λ): trigamma at its ends
        curvature = 2 * float(polygamma(1, small / 2))
        printed = min(1.0, small / (2 * order), epsilon / (curvature * order))
        gains.append(r / printed)
    return Finding.that(
        least > 0 and min(gains) >= 1,
        f"{len(gains)} priors and targets (orders 1.5 to 50, ε 0.01 to 3, n = {N}): every one is met by some r; the "
        f"exact r is {min(gains):.3g} to {max(gains):.3g} times the theorem's (median {np.median(gains):.3g})",
    )


def concentrating_suffices(work: Work) -> Finding:
    """Calibrate m exactly for every prior and target."""
    shares = [
        float(ConcentratedPosterior.calibrate(model, n=N, target=RenyiDP.at(order, epsilon)).m)
        for model, order, epsilon in _targets()
    ]
    return Finding.that(
        min(shares) > 0,
        f"{len(shares)} priors and targets: every one is met, with m from {min(shares):.2g} to {max(shares):.2g}",
    )


def curvature_bound(work: Work) -> Finding:
    """Take Lemma 17's own hypothesis at Beta(1, 999) against Beta(0.001, 999.999), order 1.01."""
    step, order = Fraction(999, 1000), Fraction(101, 100)
    true = float(settle(lambda: beta_renyi(Fraction(1, 1000), Fraction(999), step, order)).mid())
    shift = 0.01 * 0.999
    a, b = polygamma(1, 1 - shift), polygamma(1, 999 + shift)
    hessian = np.array([[a + b, -b], [-b, b - polygamma(1, 1000)]])
    printed = float(order) * float(np.linalg.norm(hessian, 2)) * 0.999**2
    wide = float(order) * float(polygamma(1, 0.001) + polygamma(1, 999)) * 0.999**2 / 2
    return Finding.that(
        true <= printed,
        f"divergence {true:.3f}, bound as printed {printed:.3f}; with a range that contains η_Q half the "
        f"constant is enough: {wide:.3g}",
    )


def convexity(work: Work) -> Finding:
    """Take second differences of the divergence along data sets, in either argument."""
    model, order = MODEL, 3.0
    curve = [_renyi(model.update([k + 1], 20), model.update([k], 20), order) for k in range(20)]
    second = np.diff(curve, 2)
    return Finding.that(
        bool((second > 0).all()),
        f"prior Beta(6, 12), n = 20, order 3: D_α of neighbours along all counts has second differences of at "
        f"least {second.min():.2e}; its largest value is at an end, {max(curve):.4f}",
    )


def _renyi(p: Family, q: Family, order: float) -> float:
    mixed = p.from_natural(order * p.natural + (1 - order) * q.natural)
    return float((mixed.log_partition() - order * p.log_partition()) / (order - 1) + q.log_partition())


def corollary(work: Work) -> Finding:
    """Compare the corollary as printed with the worst of all neighbouring pairs."""
    short = []
    for r, order in itertools.product(("0.1", "0.3", "0.5"), (2.0, 8.0, 12.0)):
        mechanism = DiffusedPosterior(MODEL, n=N, r=Fraction(r))
        exact, printed = (
            mechanism.guarantee.renyi(order),
            corollary_16(MODEL, mechanism.weight, order),
        )
        short.append((printed / exact, r, order, printed, exact))
    ratio, r, order, printed, exact = min(short)
    return Finding.that(
        ratio >= 1,
        f"prior (6, 12), n = 100, r = {r}, order {order:g}: {printed:.4f} as printed, {exact:.4f} of real "
        f"neighbours ({100 * (1 - ratio):.0f} % too little)",
    )


def pairs_do_not_grow(work: Work) -> Finding:
    """Compare all neighbouring pairs with the two end pairs, for growing n; and count bisection steps."""
    worst = 0.0
    for n in (1, 2, 5, 20):
        every = max(
            max(_renyi(P, Q, 3.0), _renyi(Q, P, 3.0))
            for k in range(n)
            for P, Q in [(MODEL.update([k + 1], n), MODEL.update([k], n))]
        )
        worst = max(worst, abs(every - DirectPosterior(MODEL, n=n).guarantee.renyi(3.0)))
    tried: list[float] = []

    def at_least(x: float) -> bool:
        tried.append(x)
        return x >= 0.3

    bisect(at_least, 0.0, 1.0, doubles)
    steps = len(tried)
    return Finding.that(
        worst < 1e-9 and steps <= 500,
        f"n = 1, 2, 5, 20: two pairs reach the worst of all pairs within {worst:.0e}; after {steps} bisection steps "
        "a double cannot be halved, so that 500 are more than enough",
    )


def public_records(work: Work) -> Finding:
    """Fold k public records into the prior, for priors and truths all over, and compare ε at order 2."""
    better, worse, example = 0, 0, ""
    for (alpha, beta), k, rho in itertools.product(PRIORS, (1, 10, 60), (0.0, 0.2, 0.5, 1.0)):
        model = BetaBernoulli(alpha, beta)
        before = DirectPosterior(model, n=N).guarantee.renyi(1.4)
        improved = DirectPosterior(fold_public(model, [round(k * rho)], k), n=N).guarantee.renyi(1.4) < before
        better, worse = better + improved, worse + (not improved)
        if not improved and not example:
            example = f" (as at prior ({float(alpha):g}, {float(beta):g}), {k} records of rate {rho:g})"
    return Finding.that(
        better > worse,
        f"of {better + worse} priors, numbers and rates the direct draw's ε at order 1.4 falls in {better} and does "
        f"not in {worse}{example}",
    )


def breach(work: Work) -> Finding:
    """Compute every breach of a small table, all sizes and contents."""
    model, n = BetaBernoulli(2, 2), 12
    before = DirectPosterior(model, n=n).guarantee.renyi(2.0)
    after = [
        guarantee_after_breach(DirectPosterior(model, n=n), [k], size).renyi(2.0)
        for size in range(1, n)
        for k in range(size + 1)
    ]
    improved = sum(value < before for value in after)
    return Finding.that(
        improved > 0,
        f"prior Beta(2, 2), n = {n}, order 2: {before:.3f} before; {improved} of {len(after)} breaches lower it for "
        f"those who are left, at best to {min(after):.3f}, and none raises it above {max(after):.3f}",
    )


def bought_records(work: Work) -> Finding:
    """Buy public records until a direct draw meets the target."""
    needed = {
        order: public_records_needed(MODEL, n=N, target=RenyiDP.at(order, 0.05)) for order in (2.0, 8.0)
    }
    met = [
        DirectPosterior(fold_public(MODEL, [k // 2], k), n=N).guarantee.renyi(order) <= 0.05
        for order, k in needed.items()
    ]
    return Finding.that(
        all(met),
        f"prior (6, 12), n = {N}, ε = 0.05: {needed[2.0]} evenly spread records at order 2, {needed[8.0]} at order 8; "
        "with them the direct draw meets the target, and with two fewer it does not",
    )


def gaussian_cost(work: Work) -> Finding:
    """Compare the printed Rényi cost of Gaussian noise with the exact one."""
    sigma, order = 2.0, 5.0
    exact = GaussianDP(1 / sigma).renyi(order)
    printed = order / sigma**2
    return Finding.that(
        math.isclose(exact, printed, rel_tol=1e-9),
        f"Δ = 1, σ = 2, order 5: {printed:g} printed, {exact:g} exact: the printed one is twice too much, and its "
        "baseline is √2 too noisy",
    )


def asymptotes(work: Work) -> Finding:
    """Look where the drawn curves end, and whether smaller knobs lie lower."""
    ends = []
    for figure in ("figure-5.1", "figure-5.2"):
        found: dict[str, dict[float, float]] = {}
        for row in work.rows(figure):
            found.setdefault(row["knob"], {})[_number(row, "order")] = _number(row, "epsilon")
        for knob, curve in found.items():
            limit = 1 + 6 / float(knob)
            ends.append(all((value < math.inf) == (order < limit) for order, value in curve.items()))
        at_two = [found[knob][2.0] for knob in ("0.1", "0.3", "0.5", "0.7", "0.9", "1.0")]
        ends.append(at_two == sorted(at_two))
    return Finding.that(
        all(ends),
        "every curve is finite below 1 + 6/r (or 1 + 6/m) and ∞ from there; smaller knobs lie lower",
    )


def _kl_rows(work: Work, figure: str) -> list[dict[str, float]]:
    return [{key: float(value) for key, value in row.items()} for row in work.rows(figure)]


def kl_order_2(work: Work) -> Finding:
    """Look at the largest ε of Figure 5.3: is a direct draw allowed, and is each KL 0?"""
    last = _kl_rows(work, "figure-5.3")[-1]
    direct = DirectPosterior(MODEL, n=N).guarantee.renyi(2.0)
    reach = last["diffused"] < 1e-9 and last["concentrated"] < 1e-9
    return Finding.that(
        reach and last["gaussian"] > 1e-6,
        f"a direct draw costs {direct:.3f} at order 2; at ε = {last['epsilon']:g} KL is {last['diffused']:.1e} "
        f"(diffused), {last['concentrated']:.1e} (concentrated), {last['gaussian']:.1e} (Gaussian noise)",
    )


def high_privacy(work: Work) -> Finding:
    """Let ε tend to 0: variance of the concentrated draw, and modes of the noisy statistic's draw."""
    target = RenyiDP.at(2, 1e-4)
    concentrated = ConcentratedPosterior.calibrate(MODEL, n=N, target=target)
    law = concentrated._private_posterior([38])  # noqa: SLF001 - the figure's own example
    a, b = float(law.alpha), float(law.beta)  # type: ignore[attr-defined]  # a Beta law
    sd = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
    sigma = float(NoisyStatistics.calibrate(MODEL, n=N, target=target, noise="gaussian").scale)
    x, w = legendre(200)
    points, mass = noisy_count(sigma, x, w)
    theta = np.linspace(0.005, 0.995, 400)
    density = sum(
        weight * np.exp(MODEL.update([t], N).log_density(theta))
        for t, weight in zip(points, mass, strict=True)
    )
    peak = (density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])
    modes = sorted(zip(density[1:-1][peak], theta[1:-1][peak], strict=True), reverse=True)
    ends, rest = modes[:2], [height for height, _ in modes[2:]]
    bump = max(rest, default=0.0)
    far = kl(TRUTH, law)
    return Finding.that(
        far > 10 and sd < 0.01 and len(ends) == 2 and bump < 0.2 * ends[1][0],
        f"ε = 1e-4 at order 2: the concentrated draw has an s.d. of {sd:.1e} and KL {far:.3g}; the Gaussian draw's "
        f"density has its two modes at {ends[0][1]:.2f} and {ends[1][1]:.2f}, where clipped counts end (their share: "
        f"{mass[0] + mass[-1]:.2f}), {ends[1][0] / max(bump, 1e-300):.3g} times as high as what lies between",
    )


def kl_order_15(work: Work) -> Finding:
    """Look at the limits of Figure 5.4, and where Gaussian noise overtakes."""
    rows = _kl_rows(work, "figure-5.4")
    last, knob = rows[-1], Fraction(6, 14)  # r or m at which order 15 is the limit, 1 + 6/knob
    limits = [
        kl(TRUTH, mechanism._private_posterior([38]))  # noqa: SLF001 - the figure's own example
        for mechanism in (DiffusedPosterior(MODEL, n=N, r=knob), ConcentratedPosterior(MODEL, n=N, m=knob))
    ]
    overtaken = next((row["epsilon"] for row in rows if row["gaussian"] < min(_draws(row))), math.inf)
    return Finding.that(
        all(limit > 50 * last["gaussian"] for limit in limits) and last["gaussian"] < rows[-2]["gaussian"],
        f"as ε grows KL tends to {limits[0]:.3f} (diffused) and {limits[1]:.3f} (concentrated); Gaussian noise has "
        f"{last['gaussian']:.1e} at ε = {last['epsilon']:g}, falling, and is closer than both from about {overtaken:g}",
    )


def _draws(row: dict[str, float]) -> tuple[float, float]:
    return row["diffused"], row["concentrated"]


def held_out(work: Work) -> Finding:
    """Follow the held-out losses of Figures 5.5 and 5.6 to the largest ε: same limits as the KL test?"""
    told, right = [], []
    for figure, bounded in (("figure-5.5", False), ("figure-5.6", True)):
        row = work.rows(figure)[-1]
        loss = {name: _number(row, f"{name}_mean") for name in METHODS}
        gap = loss["diffused"] - loss["gaussian"]
        right.append((gap > 0.02) == bounded)
        told.append(f"{figure}: {', '.join(f'{name} {value:.2f}' for name, value in loss.items())}")
    return Finding.that(all(right), f"mean −log likelihood of 100 records at ε = 10. {'; '.join(told)}")


def favours_concentrating(work: Work) -> Finding:
    """Rank the methods at the smallest ε under KL and under held-out likelihood."""
    far = _kl_rows(work, "figure-5.4")[0]
    row = work.rows("figure-5.6")[0]
    by_kl = sorted(METHODS, key=lambda name: far[name])
    by_loss = sorted(METHODS, key=lambda name: _number(row, f"{name}_mean"))
    floor = -50 * (math.log(1 / 3) + math.log(2 / 3))  # of a truth of ½ under the prior's mean
    loss = _number(row, "concentrated_mean")
    return Finding.that(
        by_loss.index("concentrated") < by_kl.index("concentrated") and loss < floor + 1,
        f"order 15, ε = {far['epsilon']:g}, best first: by KL {', '.join(by_kl)}; by likelihood "
        f"{', '.join(by_loss)}. Concentrating loses {loss:.2f}, a point mass at the prior's mean {floor:.2f}",
    )


def match_of_the_prior(work: Work) -> Finding:
    """Compare the panels of Figure 5.7 at the smallest ε with what a direct draw loses there."""
    losses = {
        row["panel"]: {name: _number(row, f"{name}_mean") for name in METHODS}
        for row in work.rows("figure-5.7")
        if _number(row, "epsilon") == 0.01
    }
    entropy = {"5.7a": -100 * _entropy(1 / 3), "5.7b": -100 * _entropy(1 / 2), "5.7c": -100 * _entropy(2 / 3)}
    over = {panel: {k: v - entropy[panel] for k, v in own.items()} for panel, own in losses.items()}
    good = over["5.7a"]["concentrated"] < over["5.7a"]["gaussian"]
    misled = over["5.7c"]["concentrated"] > over["5.7b"]["concentrated"] > over["5.7a"]["concentrated"]
    return Finding.that(
        good and misled,
        "order 15, ε = 0.01, loss above the truth's entropy (diffused, concentrated, Gaussian): "
        + "; ".join(f"{k}: {', '.join(f'{v:.2f}' for v in own.values())}" for k, own in over.items()),
    )


def _entropy(p: float) -> float:
    return p * math.log(p) + (1 - p) * math.log1p(-p)


def uniform_prior(work: Work) -> Finding:
    """Look at the flat prior's limit: the concentrated law's mean at the smallest ε."""
    row = work.rows("figure-5.8")[0]
    mechanism = ConcentratedPosterior.calibrate(BetaBernoulli(1, 1), n=N, target=RenyiDP.at(15, 0.01))
    law = mechanism._private_posterior([20])  # noqa: SLF001 - simulated data
    mean = float(law.mean())
    return Finding.that(
        abs(mean - 0.2) < 0.01,
        f"prior (1, 2) with rate 0.2, ε = 0.01 at order 15: the concentrated draw's mean is {mean:.3f}, not 0.2; loss "
        f"{_number(row, 'concentrated_mean'):.1f} against {_number(row, 'gaussian_mean'):.1f} of Gaussian noise",
    )


def situations(work: Work) -> Finding:
    """Count in which of the drawn settings a posterior draw beats noise on the count, calibrated right."""
    wins, settings = 0, 0
    for figure in ("figure-5.5", "figure-5.6", "figure-5.7", "figure-5.8"):
        for row in work.rows(figure):
            settings += 1
            wins += min(_number(row, f"{m}_mean") for m in METHODS[:2]) < _number(row, "gaussian_mean")
    return Finding.that(
        0 < wins < settings,
        f"by held-out likelihood a draw beats the rightly calibrated Gaussian noise in {wins} of {settings} settings",
    )


HOLDS, FAILS = Judgement.HOLDS, Judgement.FAILS
CLAIMS = (
    PublishedClaim(
        "G20-5.O5",
        "G20 §3.3, Observation 5, (5.15)",
        "The Rényi divergence of two members of an exponential family is a difference of log-partitions.",
        closed_forms,
        HOLDS,
        errata=(2,),
        also=("GSC17 Observation A.3",),
    ),
    PublishedClaim(
        "G20-5.T7",
        "G20 Theorem 7, Corollary 15",
        "A direct Beta–Bernoulli draw has a Rényi bound exactly below order 1 + min(α₀, β₀); it is never pure.",
        direct_limit,
        HOLDS,
        also=("GSC17 Theorem A.10",),
    ),
    PublishedClaim(
        "G20-5.T8",
        "G20 Theorem 8, (5.32)",
        "Some weight r in (0, 1] reaches any Rényi target; r* = ε/(Δ²Hλ) is enough.",
        diffusing_suffices,
        HOLDS,
        errata=(4,),
        also=("GSC17 Theorem A.11",),
    ),
    PublishedClaim(
        "G20-5.T9",
        "G20 Theorem 9",
        "Some share m in (0, 1] reaches any Rényi target with the concentrated prior.",
        concentrating_suffices,
        HOLDS,
        also=("GSC17 Theorem A.13",),
    ),
    PublishedClaim(
        "G20-5.L17",
        "G20 Lemma 17",
        "Where the Hessian stays below H on the stated segment, the divergence is at most λH‖η_P − η_Q‖².",
        curvature_bound,
        FAILS,
        errata=(4,),
        also=("GSC17 Lemma 1 of A.4",),
    ),
    PublishedClaim(
        "G20-5.T10",
        "G20 Theorem 10",
        "The divergence of neighbours is convex along the data, so that the worst pair is at an end.",
        convexity,
        HOLDS,
        also=("GSC17 Theorem A.14",),
    ),
    PublishedClaim(
        "G20-5.C16",
        "G20 Corollary 16",
        "For Beta–Bernoulli the worst case is the largest of four pairs with all n records at one end.",
        corollary,
        FAILS,
        errata=(1,),
    ),
    PublishedClaim(
        "G20-5.3n",
        "G20 §5.3 and §5.4.1",
        "How many pairs must be checked depends on the model and not on n; 500 bisection steps find r or m.",
        pairs_do_not_grow,
        HOLDS,
        errata=(7,),
    ),
    PublishedClaim(
        "G20-5.31a",
        "G20 §5.3.1",
        "Public records improve the direct draw's privacy in most cases.",
        public_records,
        HOLDS,
        also=("GSC17 A.2",),
    ),
    PublishedClaim(
        "G20-5.31b",
        "G20 §5.3.1",
        "A partial breach can improve the guarantee of those who were not exposed.",
        breach,
        HOLDS,
        also=("GSC17 A.2",),
    ),
    PublishedClaim(
        "GSC17-A2",
        "GSC17 A.2",
        "The method tells how many bought public records allow a direct draw at the target.",
        bought_records,
        HOLDS,
        also=("G20 §5.3.1",),
    ),
    PublishedClaim(
        "G20-5.4",
        "G20 §5.4.1",
        "Gaussian noise costs λΔ²/σ² at order λ.",
        gaussian_cost,
        FAILS,
        errata=(3,),
    ),
    PublishedClaim(
        "G20-5.F1",
        "G20 Figures 5.1 and 5.2",
        "Curves of r and m end at a vertical asymptote; smaller knobs lie lower and move it right.",
        asymptotes,
        HOLDS,
        figures=("figure-5.1", "figure-5.2"),
        errata=(1,),
    ),
    PublishedClaim(
        "G20-5.F3",
        "G20 Figure 5.3",
        "At order 2 diffused and concentrated draws reach the true posterior once a direct draw is allowed; Gaussian "
        "noise never does.",
        kl_order_2,
        HOLDS,
        figures=("figure-5.3",),
        errata=(3,),
    ),
    PublishedClaim(
        "G20-5.F3b",
        "G20 §5.4.1",
        "As ε falls the concentrated draw becomes a point mass with a large KL, and Gaussian noise becomes bimodal "
        "by projection.",
        high_privacy,
        HOLDS,
        figures=("figure-5.3",),
    ),
    PublishedClaim(
        "G20-5.F4",
        "G20 Figure 5.4",
        "At order 15 neither draw reaches the true posterior; Gaussian noise tends to it.",
        kl_order_15,
        HOLDS,
        figures=("figure-5.4",),
        errata=(3,),
    ),
    PublishedClaim(
        "G20-5.F5",
        "G20 Figures 5.5 and 5.6",
        "Held-out likelihood has the same limits as KL: reached at order 2, bounded away at order 15.",
        held_out,
        HOLDS,
        figures=("figure-5.5", "figure-5.6"),
        errata=(3,),
    ),
    PublishedClaim(
        "G20-5.F5b",
        "G20 §5.4.1",
        "Held-out likelihood favours concentrating, which degrades only to the prior's mode.",
        favours_concentrating,
        HOLDS,
        figures=("figure-5.4", "figure-5.6"),
    ),
    PublishedClaim(
        "G20-5.F7",
        "G20 Figure 5.7, §5.6",
        "A prior that matches the truth keeps utility at high privacy; one that does not misleads.",
        match_of_the_prior,
        HOLDS,
        figures=("figure-5.7",),
        errata=(3,),
        also=("GSC17 Figure 1",),
    ),
    PublishedClaim(
        "G20-5.F8",
        "G20 Figure 5.8",
        "With the uniform prior (1, 2) the concentrated draw concentrates at 0.2.",
        uniform_prior,
        FAILS,
        figures=("figure-5.8",),
        errata=(5,),
        also=("GSC17 Figure 2",),
    ),
    PublishedClaim(
        "G20-5.7",
        "G20 §5.7",
        "The proposed draws beat existing mechanisms in specific situations.",
        situations,
        HOLDS,
        figures=("figure-5.5", "figure-5.6", "figure-5.7", "figure-5.8"),
    ),
)
