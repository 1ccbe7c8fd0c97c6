"""Claims of [G20] chapter 6: amplification by mixing, couplings and iteration."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize_scalar

from discreet.experiments.claims.claim import Finding, Judgement, PublishedClaim, Work
from discreet.privacy.amplification.couplings import GaussianShift, LaplaceShift, two_steps
from discreet.privacy.amplification.iteration import Step, iterate, published_iteration
from discreet.privacy.amplification.mixing import (
    FiniteKernel,
    amplify,
    dobrushin,
    dobrushin_at,
    doeblin,
    local_epsilon,
    ultra_mixing,
)
from discreet.privacy.amplification.noisy_sgd import NoisySGD
from discreet.privacy.kinds import ApproxDP

Array = NDArray[np.float64]
RULES = ("dobrushin", "dobrushin_at", "doeblin", "ultra_mixing")


def kernels(count: int, seed: int = 0) -> list[FiniteKernel]:
    """Draw finite kernels on three states, some with zeros."""
    chance = random.Random(seed)
    made: list[FiniteKernel] = []
    while len(made) < count:
        rows = [[chance.randint(0, 8) for _ in range(3)] for _ in range(3)]
        if all(map(sum, rows)):
            made.append(FiniteKernel.of([[Fraction(x, sum(row)) for x in row] for row in rows]))
    return made


def implications(work: Work) -> Finding:
    """Compare the coefficients of random kernels, and of one that separates the two Dobrushin conditions."""
    chain = reverse = True
    for kernel in kernels(200):
        plain, witness, ultra = dobrushin(kernel), doeblin(kernel)[0], ultra_mixing(kernel)
        chain &= plain <= witness <= ultra
        reverse &= dobrushin_at(kernel, 1.0) <= float(plain) * (1 + 1e-12)
    rows = [["0.5", "0.3", "0.2"], ["0.4", "0.4", "0.2"], ["0.3", "0.3", "0.4"]]
    apart = FiniteKernel.of([[Fraction(x) for x in row] for row in rows])
    at, plain = dobrushin_at(apart, 1.0), dobrushin(apart)
    printed = at >= float(plain)  # (γ, ε)-Dobrushin would imply γ-Dobrushin
    return Finding.that(
        chain and printed,
        f"of 200 random kernels ultra-mixing ⇒ Doeblin ⇒ Dobrushin in {'all' if chain else 'not all'}; a 3 × 3 kernel "
        f"is ({at:g}, 1)-Dobrushin and only {float(plain):g}-Dobrushin, so that the last arrow points the other way "
        f"({'it does in all 200' if reverse else 'not always'})",
    )


def as_local_privacy(work: Work) -> Finding:
    """Compare each coefficient with the local privacy of the kernel, over all events of all pairs of rows."""
    worst = 0.0
    events = [list(e) for size in (1, 2, 3) for e in itertools.combinations(range(3), size)]
    for kernel in kernels(60, seed=1):
        rows = np.array([[float(x) for x in row] for row in kernel.rows])
        for epsilon, coefficient in ((0.0, float(dobrushin(kernel))), (1.0, dobrushin_at(kernel, 1.0))):
            pairs = ((a, b, e) for a in rows for b in rows for e in events)  # equal rows give the 0
            true = max(float(a[e].sum() - math.exp(epsilon) * b[e].sum()) for a, b, e in pairs)
            worst = max(worst, abs(max(true, 0.0) - coefficient))
        gamma = float(ultra_mixing(kernel))
        if gamma < 1:
            worst = max(worst, local_epsilon(kernel) + math.log1p(-gamma))  # at most −ln(1 − γ)
    return Finding.that(
        worst < 1e-9,
        f"60 random kernels: coefficient and local privacy differ by at most {max(worst, 0):.0e}",
    )


def true_delta(kernel: FiniteKernel, epsilon: float, delta: float, out: float) -> float:
    """Return the largest δ at `out` after the kernel, over all (ε, δ)-close pairs of laws: a program per event."""
    matrix = np.array([[float(x) for x in row] for row in kernel.rows])
    k, best = len(matrix), 0.0
    sets = [np.array(e, dtype=float) for e in itertools.product((0, 1), repeat=k)]
    limits = [np.concatenate([e, -math.exp(epsilon) * e]) for e in sets]
    limits += [np.concatenate([-math.exp(epsilon) * e, e]) for e in sets]
    whole = np.zeros((2, 2 * k))
    whole[0, :k] = whole[1, k:] = 1
    for event in itertools.product((0, 1), repeat=matrix.shape[1]):
        hit = matrix @ np.array(event, dtype=float)
        cost = -np.concatenate([hit, -math.exp(out) * hit])
        bounds = np.full(len(limits), delta)
        solved = linprog(cost, A_ub=np.array(limits), b_ub=bounds, A_eq=whole, b_eq=[1, 1])
        best = max(best, -float(solved.fun))
    return best


def _against_truth(
    epsilon: float, delta: float, rules: tuple[str, ...]
) -> dict[str, list[tuple[float, float]]]:
    """Return (bound, truth) for each rule on random kernels."""
    found: dict[str, list[tuple[float, float]]] = {rule: [] for rule in rules}
    for kernel in kernels(8, seed=2):
        after = amplify(ApproxDP(epsilon, delta), kernel)
        for rule in rules:
            if rule in after:
                truth = true_delta(kernel, epsilon, delta, float(after[rule].loss))
                found[rule].append((float(after[rule].slack), truth))
    return found


def dobrushin_rules(work: Work) -> Finding:
    """Judge δ′ = γδ, and the stronger (γ, ε) form, by the worst pair of laws."""
    found = _against_truth(1.0, 0.1, RULES[:2])
    valid = all(bound >= truth - 1e-9 for pairs in found.values() for bound, truth in pairs)
    attained = max(truth / bound for bound, truth in found["dobrushin"] if bound > 0)
    stronger = all(
        second <= first + 1e-12
        for (first, _), (second, _) in zip(found["dobrushin"], found["dobrushin_at"], strict=False)
    )
    return Finding.that(
        valid and stronger,
        f"ε = 1, δ = 0.1, 8 random kernels: neither bound is below the worst pair's δ; γδ is attained up to "
        f"{100 * attained:.0f} %, and the (γ, ε) form is never larger",
    )


def doeblin_rules(work: Work) -> Finding:
    """Judge ε′ = ln(1 + γ(e^ε − 1)) under Doeblin and ultra-mixing."""
    found = _against_truth(1.0, 0.1, RULES[2:])
    valid = all(bound >= truth - 1e-9 for pairs in found.values() for bound, truth in pairs)
    gamma = 0.3
    shrunk = math.log1p(gamma * math.expm1(1.0))
    return Finding.that(
        valid and shrunk < 1.0,
        f"ε = 1, δ = 0.1, 8 random kernels: no bound is below the worst pair's δ; at γ = 0.3 ε falls to {shrunk:.4f}, as "
        "under subsampling at rate 0.3",
    )


def doeblin_threshold(work: Work) -> Finding:
    """Evaluate δ′ = γ(1 − e^{ε′−ε}(1 − δ)) on both sides of the printed threshold."""
    epsilon, delta = 1.0, 0.1

    def after(gamma: float) -> float:
        shrunk = math.log1p(gamma * math.expm1(epsilon))
        return gamma * (1 - math.exp(shrunk - epsilon) * (1 - delta))

    threshold = delta * math.exp(epsilon) / ((1 - delta) * math.expm1(epsilon))
    inside, outside = after(threshold * 0.99), after(threshold * 1.01)
    at_zero = 0.5 * (1 - math.exp(math.log1p(0.5 * math.expm1(epsilon)) - epsilon))
    return Finding.that(
        inside < delta < outside and at_zero > 0,
        f"ε = 1, δ = 0.1: the threshold is γ = {threshold:.4f}; just below it δ′ = {inside:.4f}, just above "
        f"{outside:.4f}; from δ = 0 and γ = ½ it becomes {at_zero:.3f}",
    )


def too_strict(work: Work) -> Finding:
    """Follow the total variation of two Gaussian kernels as their inputs move apart."""
    gammas = {d: 2 * _phi(d / 2) - 1 for d in (1.0, 4.0, 10.0)}
    return Finding.that(
        gammas[10.0] > 0.999999 and gammas[1.0] < 0.5,
        "noise N(x, 1): the Dobrushin coefficient is "
        + ", ".join(f"{gamma:.6f} on a set of diameter {d:g}" for d, gamma in gammas.items())
        + "; on the line it is 1, and nothing is gained",
    )


def _phi(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def gaussian_twice(work: Work) -> Finding:
    """Compare the coupling bound of Gaussian after Gaussian with the exact divergence."""
    worst = 0.0
    for first, second, order in itertools.product((0.5, 1.0, 3.0), (0.5, 2.0), (1.5, 8.0)):
        bound = two_steps(GaussianShift(first), GaussianShift(second), 1).renyi(order)
        worst = max(worst, abs(bound * 2 * (first**2 + second**2) / order - 1))
    return Finding.that(
        worst < 1e-6, f"12 pairs of scales and orders: bound over truth is 1 within {worst:.0e}"
    )


def laplace_density(x: Array, first: float, second: float) -> Array:
    """Log density of the sum of two Laplace variables, eq. (6.3), up to a constant; scales may be equal."""
    y = np.abs(x)
    if first == second:
        return np.log(first + y) - y / first
    a, b = max(first, second), min(first, second)
    return -y / a + np.log(a - b * np.exp(-y * (1 / b - 1 / a)))


def laplace_pure(work: Work) -> Finding:
    """Take the supremum of the log ratio of two such laws a distance of 1 apart."""
    x = np.linspace(-400, 400, 400_001)
    told, right = [], []
    for first, second in ((2.0, 1.0), (1.0, 2.0), (3.0, 3.0)):
        loss = np.abs(laplace_density(x, first, second) - laplace_density(x - 1, first, second))
        right.append(0.98 / max(first, second) < loss.max() <= 1 / max(first, second) + 1e-9)
        told.append(f"scales {first:g} and {second:g}: {loss.max():.4f}, floor {1 / max(first, second):.4f}")
    return Finding.that(all(right), f"pure ε of two Laplace noises, sensitivity 1: {'; '.join(told)}")


def laplace_renyi(work: Work) -> Finding:
    """Compare the best split of the shift with one Laplace step alone, and with the exact divergence."""
    gains = {}
    for order in (1.5, 8.0, 1000.0):
        bound = two_steps(LaplaceShift(1), LaplaceShift(1), 1).renyi(order)
        gains[order] = bound / LaplaceShift(1).renyi(order, 1).mid()
    unequal = two_steps(LaplaceShift(1), LaplaceShift(2), 1).renyi(8.0) / float(
        LaplaceShift(2).renyi(8, 1).mid()
    )
    x = np.linspace(-60, 60, 600_001)
    p, q = laplace_density(x, 1, 1), laplace_density(x - 1, 1, 1)
    p, q = (own - math.log(np.trapezoid(np.exp(own), x)) for own in (p, q))
    exact = math.log(np.trapezoid(np.exp(8 * p - 7 * q), x)) / 7
    bound = two_steps(LaplaceShift(1), LaplaceShift(1), 1).renyi(8.0)
    shares = [float(gain) for gain in gains.values()]
    return Finding.that(
        shares[0] < shares[1] < shares[2] <= 1 + 1e-9 and shares[0] < 0.9 and unequal < 1,
        "equal scales: the bound is "
        + ", ".join(
            f"{share:.3f} of one Laplace at order {order:g}"
            for order, share in zip(gains, shares, strict=True)
        )
        + f"; scales 1 and 2 at order 8: {unequal:.3f} of the wider one; the exact divergence at order 8 is "
        f"{exact:.4f}, the bound {bound:.4f}",
    )


def lipschitz_between(work: Work) -> Finding:
    """Compare σ*² = σ₁² + σ₂²/L² with the exact law of a linear map, for L on both sides of 1."""
    worst, told = 0.0, []
    for lipschitz in (0.5, 1.0, 2.0):
        bound = two_steps(GaussianShift(1), GaussianShift(1), 1, lipschitz=lipschitz).renyi(4.0)
        exact = 4 * lipschitz**2 / (2 * (lipschitz**2 + 1))
        worst = max(worst, abs(bound / exact - 1))
        told.append(f"L = {lipschitz:g}: {bound:.4f}")
    return Finding.that(
        worst < 1e-6,
        f"σ₁ = σ₂ = 1, order 4 (2 without the second step): {', '.join(told)}; exact within {worst:.0e}",
    )


def iteration(work: Work) -> Finding:
    """Compare the printed bound with the exact law of linear contractions."""
    told, valid = [], []
    for lipschitz, r in ((0.5, 10), (0.9, 10), (1.0, 10), (1.0, 100)):
        exact = iterate([Step(lipschitz, 1)] * r, start=1).renyi(2.0)
        printed = published_iteration(r, lipschitz, 1.0, 1.0, 2.0)
        valid.append(printed >= exact * (1 - 1e-9))
        told.append(f"L = {lipschitz:g}, r = {r}: {printed:.3g} printed, {exact:.3g} exact")
    return Finding.that(all(valid), f"order 2. {'; '.join(told)}: valid, and far from tight below L = 1")


def noisy_sgd_places(work: Work) -> Finding:
    """Compare the cost of each place as printed with composition, and with the tight one."""
    run = NoisySGD(n=100, step=1, sigma=2, lipschitz=1, smooth=1, strong=Fraction(1, 2))
    printed = {i: run.published(i, 2) for i in (50, 90, 99)}
    tight = {i: run.at_index(i).renyi(2) for i in (50, 90, 99)}
    flat = NoisySGD(n=100, step=1, sigma=2, lipschitz=1, smooth=1)
    slow = flat.published(50, 2)
    valid = all(printed[i] >= tight[i] * (1 - 1e-9) for i in printed)
    return Finding.that(
        valid and printed[50] < 1e-3 * slow,
        "strong convexity ½, order 2, of 100 places (printed, tight): "
        + "; ".join(f"{i}: {printed[i]:.2g}, {tight[i]:.2g}" for i in printed)
        + f"; without strong convexity place 50 costs {slow:.2g}",
    )


def contraction(work: Work) -> Finding:
    """Compare the printed constant with max(|1 − ηρ|, |1 − ηβ|) over a grid, ρ = 0 among it."""
    over = []
    for beta, rho, share in itertools.product((1.0, 10.0), (0.0, 0.01, 0.5), (0.1, 0.5, 1.0)):
        eta = share * 2 / (beta + rho)
        printed = math.sqrt(max(0.0, 1 - 2 * eta * beta * rho / (beta + rho)))
        tight = max(abs(1 - eta * rho), abs(1 - eta * beta))
        over.append((printed - tight, printed < 1, rho))
    below_one = all(strict for _, strict, _ in over)
    return Finding.that(
        min(gap for gap, *_ in over) >= -1e-12 and below_one,
        f"18 settings: the printed constant is at or above the tight one by up to {max(over)[0]:.3f}; at ρ = 0 it is 1, "
        "not below 1",
    )


def ornstein(work: Work) -> Finding:
    """Compare squared errors at equal Rényi cost for signals within R, and with a shrunk Gaussian."""
    sigma2, told, right = 1.0, [], []
    for radius2 in (0.1, 1.0, 100.0):
        shrunk = minimize_scalar(
            lambda c, s=radius2: (1 - c) ** 2 * s + c**2 * sigma2, bounds=(0, 1), method="bounded"
        )
        diffusion = radius2 * sigma2 / (radius2 + sigma2)  # the mechanism with its best time, R known
        right.append(diffusion < sigma2 and abs(shrunk.fun - diffusion) < 1e-6)
        told.append(f"R² = {radius2:g}: {diffusion:.3f}")
    return Finding.that(
        all(right),
        f"σ² = 1, one coordinate; Gaussian noise has error 1. {', '.join(told)}. A Gaussian answer that is shrunk "
        "afterwards has the same error, so that what helps is knowing R",
    )


HOLDS, FAILS = Judgement.HOLDS, Judgement.FAILS
CLAIMS = (
    PublishedClaim(
        "G20-6.L1",
        "G20 §6.3 Lemma 1, Figure 6.1",
        "Ultra-mixing implies Doeblin, which implies Dobrushin; (γ, ε)-Dobrushin implies γ-Dobrushin.",
        implications,
        FAILS,
        errata=(15,),
    ),
    PublishedClaim(
        "G20-6.F2",
        "G20 Figure 6.2",
        "Dobrushin conditions are (0, γ) and (ε, γ) local privacy, ultra-mixing is pure local privacy.",
        as_local_privacy,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.T15a",
        "G20 Theorems 15(1)–(2), 16 and 17",
        "Under γ-Dobrushin δ becomes γδ; the (γ, ε) form is stronger.",
        dobrushin_rules,
        HOLDS,
        errata=(15,),
    ),
    PublishedClaim(
        "G20-6.T15b",
        "G20 Theorems 15(3)–(4), 18 and 19",
        "Doeblin and ultra-mixing also shrink ε, to ln(1 + γ(e^ε − 1)), as subsampling does.",
        doeblin_rules,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.T15c",
        "G20 remark after Theorem 15",
        "Doeblin lowers δ only if γ ≤ δe^ε/((1 − δ)(e^ε − 1)), and gives δ′ > 0 even from δ = 0.",
        doeblin_threshold,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.3",
        "G20 §6.3, end",
        "Uniform mixing is too strict for mechanisms on ℝᵈ.",
        too_strict,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.E1",
        "G20 Example 1",
        "For Gaussian after Gaussian the coupling bound is αΔ²/(2(σ₁² + σ₂²)), so tight.",
        gaussian_twice,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.E2a",
        "G20 Example 2, Lemma 5, (6.3)",
        "Two Laplace noises have no pure ε below Δ/max(λ₁, λ₂).",
        laplace_pure,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.E2b",
        "G20 Example 2",
        "Rényi privacy of two Laplace noises improves, for unequal scales too, and the gain vanishes as α → ∞.",
        laplace_renyi,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.E3",
        "G20 Example 3",
        "An L-Lipschitz map between Gaussian steps: σ*² = σ₁² + σ₂²/L²; some gain for any L.",
        lipschitz_between,
        HOLDS,
    ),
    PublishedClaim(
        "G20-6.T21",
        "G20 Theorem 21, (6.4) and (6.5)",
        "After r noisy contractions the divergence is at most αΔ²L^{r+1}/(2rσ²), O(1/r) at L = 1.",
        iteration,
        HOLDS,
        figures=("amplification",),
        errata=(16,),
    ),
    PublishedClaim(
        "G20-6.T22",
        "G20 Algorithm 5, Theorem 22",
        "In noisy SGD under strong convexity early records cost exponentially less.",
        noisy_sgd_places,
        HOLDS,
        figures=("amplification",),
        errata=(16,),
    ),
    PublishedClaim(
        "G20-6.L7",
        "G20 Lemma 7",
        "A gradient step contracts by √(1 − 2ηβρ/(β + ρ)), which is below 1.",
        contraction,
        FAILS,
        errata=(16,),
    ),
    PublishedClaim(
        "G20-6.5a",
        "G20 §6.5",
        "The Ornstein–Uhlenbeck mechanism is more accurate than the Gaussian.",
        ornstein,
        HOLDS,
        errata=(17,),
    ),
)
