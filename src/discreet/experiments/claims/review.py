"""Claims of [N19] sections 1 to 4: definitions, composition, and the basic mechanisms."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import erfinv

from discreet.experiments.claims.claim import Finding, Judgement, PublishedClaim, Work
from discreet.numerics.search import bisect, ratios
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.kinds import GaussianDP, PureDP

Array = NDArray[np.float64]
DELTA = 1e-5


def classic(epsilon: float, delta: float) -> float:
    """σ = √(2 ln(5/(4δ)))/ε for sensitivity 1, as printed."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def analytic(epsilon: float, delta: float) -> float:
    """Return the least σ whose exact profile is at most δ at ε, by bisection in doubles."""
    return bisect(lambda s: GaussianDP(1 / s).delta(epsilon) <= delta, 1e-3, 1e3, ratios(1 + 1e-14))


def laws(count: int, seed: int) -> list[tuple[Array, Array]]:
    """Draw pairs of laws on four points."""
    generator = np.random.default_rng(seed)
    return [tuple(generator.dirichlet(np.full(4, 0.7), 2)) for _ in range(count)]


def max_divergence(p: Array, q: Array, delta: float) -> float:
    """D^δ_∞ = max over events of ln((P − δ)/Q), by going through all of them."""
    best = -math.inf
    for event in itertools.product((False, True), repeat=len(p)):
        mass, other = p[list(event)].sum(), q[list(event)].sum()
        if mass > delta:
            best = max(best, math.log((mass - delta) / other) if other > 0 else math.inf)
    return best


def reconstruction(work: Work) -> Finding:
    """Reconstruct 48 bits from 192 noisy subset counts, by least squares."""
    generator = np.random.default_rng(work.seed)
    n, queries = 48, 192
    bits = generator.integers(0, 2, n)
    asked = generator.integers(0, 2, (queries, n))
    truth = asked @ bits

    def recovered(noise: Array) -> float:
        guess = np.linalg.lstsq(asked, truth + noise, rcond=None)[0] > 0.5
        return float((guess == bits).mean())

    small = recovered(generator.uniform(-1, 1, queries))
    private = recovered(generator.laplace(0, queries / 1.0, queries))  # ε = 1 for all answers together
    return Finding.that(
        small > 0.99 and private < 0.8,
        f"{n} private bits, {queries} random subset counts: with errors up to 1, {100 * small:.0f} % of all bits come out; "
        f"with Laplace noise at ε = 1 in all, {100 * private:.0f} % (half is guessing)",
    )


def lipschitz(work: Work) -> Finding:
    """Enumerate the pointwise constants of 0, 1, 2, 3 ↦ 0, 1, 2, 5."""
    values = {0: 0, 1: 1, 2: 2, 3: 5}
    at = {x: max(abs(values[x] - values[y]) / abs(x - y) for y in values if y != x) for x in values}
    right = [math.isclose(at[x], c) for x, c in ((0, 5 / 3), (1, 2), (2, 3), (3, 3))]
    return Finding.that(
        all(right), f"κ(0..3) = {', '.join(f'{at[x]:.4g}' for x in values)}; κ = {max(at.values()):g}"
    )


def counting(work: Work) -> Finding:
    """Enumerate data sets of up to three of three kinds of records: L1 change over distance."""
    tables = [t for t in itertools.product(range(4), repeat=3) if sum(t) <= 3]
    count = histogram = 0.0
    for a, b in itertools.combinations(tables, 2):
        distance = sum(abs(x - y) for x, y in zip(a, b, strict=True))
        count = max(count, abs((a[0] + a[1]) - (b[0] + b[1])) / distance)
        histogram = max(histogram, sum(abs(x - y) for x, y in zip(a, b, strict=True)) / distance)
    return Finding.that(
        count == histogram == 1,
        f"κ = {count:g} for a count and {histogram:g} for a histogram, per record added or removed; one record "
        "replaced is a distance of 2 and moves a histogram by 2",
    )


def any_distance(work: Work) -> Finding:
    """Follow δ at kε for k records, where the definition keeps δ as it is."""
    told, broken = [], []
    for name, sigma in (("analytic", analytic(0.5, DELTA)), ("classic", classic(0.5, DELTA))):
        first = next(
            k for k in range(1, 100) if GaussianDP(1 / sigma).group(k).delta(0.5 * k) > DELTA * (1 + 1e-9)
        )
        at = GaussianDP(1 / sigma).group(first).delta(0.5 * first)
        broken.append(first)
        told.append(f"{name} σ from {first} records on (δ {at:.2e})")
    return Finding.that(
        not broken,
        f"Gaussian noise for (0.5, 1e-5): the definition at all distances is violated with {', '.join(told)}",
    )


def equivalence(work: Work) -> Finding:
    """Compare hockey-stick δ(ε) with the divergences D^δ on random pairs of laws."""
    agree = falls = True
    for p, q in laws(40, 1):
        for epsilon in (0.3, 1.0):
            delta = max(0.0, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
            agree &= max_divergence(p, q, delta + 1e-12) <= epsilon + 1e-6
            agree &= delta < 1e-9 or max_divergence(p, q, delta * 0.999) > epsilon
        falls &= max_divergence(p, q, 0.1) <= max_divergence(p, q, 0.05) + 1e-12
    return Finding.that(
        agree and falls, "40 random pairs on four points: D^δ ≤ ε exactly where δ(ε) ≤ δ; D^δ falls in δ"
    )


def joint_divergence(work: Work) -> Finding:
    """Take two randomised responses at p = 0.75 and δ = 0.1."""
    one = np.array([0.75, 0.25])
    single = max_divergence(one, one[::-1], 0.1)
    joint = max_divergence(np.outer(one, one).ravel(), np.outer(one[::-1], one[::-1]).ravel(), 0.1)
    return Finding.that(
        math.isclose(joint, 2 * single, rel_tol=1e-6),
        f"joint divergence {joint:.4f}, sum of the two {2 * single:.4f}: more than the sum",
    )


def preprocessing(work: Work) -> Finding:
    """Copy every record twice (κ = 2) before Gaussian noise that is exactly (0.5, 1e-5)."""
    sigma = analytic(0.5, DELTA)
    after = GaussianDP(2 / sigma).delta(1.0)
    pure = PureDP(0.5).group(2).epsilon(0)
    return Finding.that(
        after <= DELTA * (1 + 1e-9),
        f"κ = 2: δ at 2ε is {after:.2e}, not 1e-5 (it grows as groups do); for δ = 0 the statement is right: ε = {pure:g}",
    )


def sums(work: Work) -> Finding:
    """Compare exact profiles of k independent mechanisms with (Σε, Σδ)."""
    told, right = [], []
    for k in (2, 8, 32):
        exact = repeat(PureDP(0.2), k).epsilon(0)
        gaussian = GaussianDP(math.sqrt(k) / analytic(0.5, DELTA)).delta(0.5 * k)
        right.append(exact <= 0.2 * k + 1e-9 and gaussian <= DELTA * k)
        told.append(
            f"k = {k}: pure ε {exact:.3g} of {0.2 * k:.3g}, Gaussian δ {gaussian:.1e} of {DELTA * k:.0e}"
        )
    return Finding.that(all(right), "; ".join(told))


def root_k(work: Work) -> Finding:
    """Look at 100 randomised responses at ε = 2 where √k·ε·ln(1/δ′) is claimed at δ′ = 0.01."""
    claimed = math.sqrt(100) * 2 * math.log(100)
    true = repeat(PureDP(2.0), 100).delta(claimed)
    return Finding.that(
        true <= 0.01, f"k = 100, ε = 2: at the claimed ε = {claimed:.1f} δ is {true:.5f}, claimed 0.01"
    )


def advanced(work: Work) -> Finding:
    """Compare plain sums, the advanced theorem and the exact composition."""
    told, right = [], []
    for epsilon, k in ((0.1, 10), (0.1, 100), (0.1, 1000), (1.0, 100)):
        printed = epsilon * math.sqrt(2 * k * math.log(1 / DELTA)) + k * epsilon * math.expm1(epsilon)
        exact = repeat(PureDP(epsilon), k).epsilon(DELTA)
        right.append(exact <= printed)
        told.append(
            f"ε = {epsilon:g}, k = {k}: sum {k * epsilon:.4g}, printed {printed:.4g}, exact {exact:.4g}"
        )
    return Finding.that(all(right), f"δ = 1e-5. {'; '.join(told)}: right, above the plain sum for few steps")


def parallel(work: Work) -> Finding:
    """Look at disjoint parts at distance 1, and at distance 2 with both records in one part."""
    sigma = analytic(0.5, DELTA)
    near = GaussianDP(1 / sigma).delta(0.5)
    far = GaussianDP(2 / sigma).delta(1.0)
    return Finding.that(
        far <= DELTA * (1 + 1e-9) and near <= DELTA * (1 + 1e-9),
        f"one record more or less: δ = {near:.1e}, as said; at distance 2 in one part δ(2ε) is {far:.1e}, above 1e-5, "
        "since the definition keeps δ at every distance",
    )


def responses(work: Work) -> Finding:
    """Compare the largest of the four ratios with all outputs of up to four bits."""
    worst = 0.0
    for p, q, k in ((0.25, 0.25, 4), (0.3, 0.2, 4), (0.1, 0.4, 3)):
        claimed = max((1 - p) / q, p / (1 - q), q / (1 - p), (1 - q) / p)
        law = {0: (1 - p, p), 1: (q, 1 - q)}
        ratio = max(
            math.prod(law[b][y] / law[c][y] for b, c, y in zip(one, other, out, strict=True))
            ** (1 / sum(b != c for b, c in zip(one, other, strict=True)))
            for one, other, out in itertools.product(itertools.product((0, 1), repeat=k), repeat=3)
            if one != other
        )
        worst = max(worst, abs(ratio / claimed - 1))
    return Finding.that(
        worst < 1e-9, f"3 settings of up to 4 bits: claimed and largest ratio differ by {worst:.0e}: tight"
    )


def flips(work: Work) -> Finding:
    """Compare the law of the number of flips with the printed bound."""
    over, slack = 0, 0.0
    for k0, p, q in ((5, 0.25, 0.25), (6, 0.3, 0.2), (3, 0.1, 0.4)):
        zeros, ones = stats.binom.pmf(np.arange(11), k0, p), stats.binom.pmf(np.arange(11), 10 - k0, q)
        exact = np.convolve(zeros, ones)[:11]
        j = np.arange(11)
        bound = np.array([math.comb(10, i) for i in j]) * max(p, q) ** j * max(1 - p, 1 - q) ** (10 - j)
        over += int((exact > bound * (1 + 1e-12)).sum())
        slack = max(slack, float(bound.sum()))
    return Finding.that(
        over == 0,
        f"10 bits, 3 settings: never exceeded; equal where p = q, else the bound sums to {slack:.2f}",
    )


def laplace(work: Work) -> Finding:
    """Compare the tail with its bound: exactly 1 − (1 − δ/k)^k."""
    told, right = [], []
    for k in (1, 10, 1000):
        exact = 1 - (1 - 0.1 / k) ** k
        right.append(exact <= 0.1 * (1 + 1e-12))
        told.append(f"k = {k}: {exact:.4f}")
    return Finding.that(
        all(right), f"δ = 0.1, P(error beyond (κ/ε)ln(k/δ)): {', '.join(told)}; the log ratio is ε exactly"
    )


def exponential(work: Work) -> Finding:
    """Take the worst pair of scores for two and for many answers."""
    told, right = [], []
    for size in (2, 10, 1000):
        # one answer's score up by κ, all others' down: λ = ε/(2κ), ε = 1
        up, down = 0.5, -0.5
        ratio = up + math.log((1 + (size - 1)) / (math.exp(up) + (size - 1) * math.exp(down)))
        right.append(ratio <= 1.0)
        told.append(f"{size} answers: {ratio:.4f}")
    return Finding.that(
        all(right), f"ε = 1, largest log ratio: {', '.join(told)}; the 2 is needed only with many answers"
    )


def choice(work: Work) -> Finding:
    """Compare the tail of the loss with e^−t for flat, graded and spiked scores."""
    worst = 0.0
    for scores in (np.zeros(50), np.arange(50.0), np.r_[10.0, np.zeros(49)]):
        law = np.exp(0.5 * (scores - scores.max()))
        law /= law.sum()
        for t in (0.5, 1.0, 3.0):
            tail = law[scores.max() - scores >= 2 * (math.log(50) + t)].sum()
            worst = max(worst, float(tail) * math.exp(t))
    return Finding.that(worst <= 1, f"ε = κ = 1, 50 answers: the tail is at most {worst:.2f} of its bound")


def gaussian(work: Work) -> Finding:
    """Look for the first ε at which the classic σ is not enough."""
    grid = np.arange(0.5, 12, 0.01)
    first = next(e for e in grid if GaussianDP(1 / classic(float(e), DELTA)).delta(float(e)) > DELTA)
    return Finding.that(
        math.isinf(first),
        f"δ = 1e-5: the printed σ, which has no condition on ε, is not private from ε = {first:.2f}; at ε = 0.5 it is "
        f"{classic(0.5, DELTA):.3f} where {analytic(0.5, DELTA):.3f} is enough",
    )


def gaussian_tail(work: Work) -> Finding:
    """Compute the quantile that the proposition leaves out."""
    told, right = [], []
    for k in (1, 10, 1000):
        exact = math.sqrt(2) * float(erfinv((1 - 0.05) ** (1 / k)))
        bound = math.sqrt(2 * math.log(k / 0.05))
        right.append(exact <= bound)
        told.append(f"k = {k}: {exact:.3f}, bound {bound:.3f}")
    good = "is right" if all(right) else "is exceeded"
    return Finding(
        Judgement.OPEN,
        f"the proposition says “something”; σ√(2 ln(k/δ)) {good}: exact quantiles over σ at δ = 0.05 are {'; '.join(told)}",
    )


def local_scale(work: Work) -> Finding:
    """Scale noise by the local constant of a step from 0 to 1 at 10, and compare neighbouring tables."""
    epsilon = 0.1
    sigma = [classic(epsilon, DELTA) / max(1, abs(10 - x) if x < 10 else x - 9) for x in range(20)]
    z = np.linspace(-500, 501, 400_001)
    worst = (0.0, 0)
    for x in range(8, 12):
        here, there = (
            np.exp(-((z - (y >= 10)) ** 2) / (2 * (s := sigma[y]) ** 2)) / (s * math.sqrt(2 * math.pi))
            for y in (x, x + 1)
        )
        for p, q in ((here, there), (there, here)):
            delta = float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), z))
            worst = max(worst, (delta, x))
    return Finding.that(
        worst[0] <= DELTA,
        f"a step from 0 to 1 at the tenth record, ε = {epsilon:g}, δ = 1e-5 claimed: between {worst[1]} and {worst[1] + 1} "
        f"records, where the scale halves, δ is {worst[0]:.2f}",
    )


def slack(work: Work) -> Finding:
    """Divide what is exact by its bound, for each statement of section 3."""
    shares = {
        "Laplace ε": PureDP(1).epsilon(0),
        "Laplace tail of one number": float(stats.laplace.sf(math.log(10)) * 2) / 0.1,
        "Laplace tail of 1000": (1 - (1 - 1e-4) ** 1000) / 0.1,
        "exponential ε with 10 answers": 0.5 + math.log(10 / (math.exp(0.5) + 9 * math.exp(-0.5))),
        "exponential's loss with 50 answers": 49 / 50 * math.exp(-0.5 * 10) / (1 / 50),
        "Gaussian σ at ε = 0.5": analytic(0.5, DELTA) / classic(0.5, DELTA),
    }
    loose = [name for name, share in shares.items() if share < 0.99]
    return Finding.that(
        2 * len(loose) > len(shares),
        "exact over bound: " + ", ".join(f"{k} {v:.3f}" for k, v in shares.items()),
    )


def one_bit(work: Work) -> Finding:
    """Tabulate randomised response of one bit at p = ½ and ¼."""
    (cost, right), (quarter, kept) = ((math.log((1 - p) / p), 1 - p) for p in (0.5, 0.25))
    return Finding.that(
        cost == 0 and right == 0 and math.isclose(quarter, math.log(3)),
        f"p = ½: ε = {cost:g}, and the bit comes out right with probability {right:g}, not 0; p = ¼: ε = {quarter:.4f}, "
        f"which is ln 3, flipped with probability {1 - kept:g}",
    )


def count_tail(work: Work) -> Finding:
    """Compute the tails of Examples 5.1a and 5.1b."""
    first, second = (2 * float(stats.laplace.sf(x)) for x in (math.log(10), 1.0))
    return Finding.that(
        first <= 0.1 * (1 + 1e-12) and second <= math.exp(-1) * (1 + 1e-12),
        f"P(|Laplace(1)| ≥ ln 10) = {first:.6f}, P(|Laplace(1)| ≥ 1) = {second:.6f}: equalities",
    )


def gaussian_histogram(work: Work) -> Finding:
    """Compute δ(1) of Gaussian noise with σ = 1 and sensitivity 1."""
    delta = GaussianDP(1.0).delta(1.0)
    return Finding.that(
        delta <= 0.1,
        f"δ(1) = {delta:.4f} at σ = 1, above 0.1; the classic formula asks for σ = {classic(1.0, 0.1):.3f}, the exact "
        f"profile for {analytic(1.0, 0.1):.3f}",
    )


HOLDS, FAILS, OPEN = Judgement.HOLDS, Judgement.FAILS, Judgement.OPEN
CLAIMS = tuple(
    PublishedClaim(f"N19-{name}", f"N19 {where}", says, judge, recorded, errata=errata)
    for name, where, says, judge, recorded, errata in (
        (
            "1",
            "§1",
            "Far fewer answers than thought reveal every record (after Dinur and Nissim).",
            reconstruction,
            HOLDS,
            (),
        ),
        ("2.11", "Examples 2.10 and 2.11", "κ(0..3) = 5/3, 2, 3, 3 and κ = 3.", lipschitz, HOLDS, ()),
        ("2.12", "Examples 2.12 and 2.13", "Counting and histograms have κ = 1.", counting, HOLDS, (23,)),
        (
            "2.15",
            "Definition 2.15",
            "A definition at all distances removes the need for group privacy.",
            any_distance,
            FAILS,
            (23,),
        ),
        (
            "2.18",
            "Definition 2.18, Lemma 2.25",
            "(ε, δ) privacy is D^δ ≤ ε both ways, and D^δ falls in δ.",
            equivalence,
            HOLDS,
            (),
        ),
        (
            "2.24",
            "Lemma 2.24",
            "Approximate max divergences of independent parts add.",
            joint_divergence,
            FAILS,
            (24,),
        ),
        (
            "2.26",
            "Proposition 2.26",
            "Preprocessing with constant κ gives (κε, δ).",
            preprocessing,
            FAILS,
            (23,),
        ),
        (
            "2.28",
            "Proposition 2.28, Corollary 2.29",
            "Of independent mechanisms ε and δ add.",
            sums,
            HOLDS,
            (24,),
        ),
        ("2.30", "Claim 2.30", "k mechanisms cost √k·ε·ln(1/δ′).", root_k, FAILS, (24,)),
        (
            "2.31",
            "Claim 2.31",
            "k adaptive mechanisms cost ε√(2k ln(1/δ′)) + kε(e^ε − 1).",
            advanced,
            HOLDS,
            (),
        ),
        (
            "2.32",
            "Proposition 2.32",
            "Disjoint parts cost the largest ε and the largest δ, at every distance.",
            parallel,
            FAILS,
            (23,),
        ),
        (
            "3.2",
            "Proposition 3.2",
            "Randomised response is private where all four ratios are at most e^ε.",
            responses,
            HOLDS,
            (),
        ),
        (
            "3.3",
            "Proposition 3.3, Corollary 3.4",
            "P(j flips) ≤ C(k, j)·max(p, q)^j·max(1 − p, 1 − q)^{k−j}.",
            flips,
            HOLDS,
            (),
        ),
        (
            "3.6",
            "Propositions 3.6 and 3.7, Corollary 3.8",
            "Laplace noise κ/ε is private; its error exceeds (κ/ε)ln(k/δ) with probability at most δ.",
            laplace,
            HOLDS,
            (),
        ),
        (
            "3.11",
            "Proposition 3.11",
            "The exponential mechanism at λ = ε/(2κ) is ε-private.",
            exponential,
            HOLDS,
            (),
        ),
        (
            "3.12",
            "Proposition 3.12, Corollary 3.13",
            "Its loss exceeds (2κ/ε)(ln|Y| + t) with probability at most e^−t.",
            choice,
            HOLDS,
            (),
        ),
        (
            "3.15",
            "Proposition 3.15",
            "Gaussian noise σ = √(2 ln(5/(4δ)))·κ/ε is (ε, δ)-private.",
            gaussian,
            FAILS,
            (25,),
        ),
        (
            "3.16",
            "Propositions 3.16 and 3.20",
            "Gaussian noise exceeds “something” with probability at most δ.",
            gaussian_tail,
            OPEN,
            (25,),
        ),
        (
            "3.19",
            "§3.5, Proposition 3.19",
            "Noise scaled to the local constant is equally private and more accurate.",
            local_scale,
            FAILS,
            (26,),
        ),
        (
            "3.e",
            "§3, end",
            "The bounds are upper bounds, so that practice is usually better.",
            slack,
            HOLDS,
            (),
        ),
        (
            "4.1",
            "§4.1, Examples 2.20–2.23 and 4.1",
            "p = ½ has perfect privacy and zero accuracy; p = ¼ costs ln 3 and flips a quarter.",
            one_bit,
            FAILS,
            (26,),
        ),
        (
            "5.2",
            "§5.2 and §5.4, Example 5.1",
            "A count's error exceeds (1/ε)ln(1/δ) with probability at most δ: ln 10 at 0.1, 1 at 1/e.",
            count_tail,
            HOLDS,
            (),
        ),
        (
            "Ex5.2",
            "Example 5.2a",
            "A histogram with Gaussian noise σ = 1 at ε = 1 and δ = 0.1.",
            gaussian_histogram,
            FAILS,
            (),
        ),
    )
)
