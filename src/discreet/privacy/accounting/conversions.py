"""From one kind of guarantee to another: formulas as balls, minima over all orders, certified inversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from discreet.privacy.arithmetic.ball import MAX_BITS, Exact, ball, ceiling, precision

FARTHEST = math.nextafter(math.inf, 0.0)
GOLDEN = (math.sqrt(5) - 1) / 2
SURE, FAR_TAIL = 40, 64
TINY = (
    arb(2) ** -1080
)  # below every double: the least positive double is above it, so no more digits are needed


def above(value: Callable[[], arb], *, bits: int = 60) -> float:
    """Least double above a value, evaluated until relatively narrower than 2^-bits or below every double."""
    working, best = 128, math.inf
    while working <= MAX_BITS:
        with precision(working):
            x = value()
            if x.is_finite():
                best = min(best, ceiling(x))
                if x.is_zero() or x.rel_accuracy_bits() >= bits or abs(x) < TINY:
                    return best
        working *= 2
    return best


def chance_above(value: Callable[[], arb]) -> float:
    """Least double above a probability, within [0, 1]: rounding up must not pass the ends."""
    return min(1.0, max(0.0, above(value)))


def near(x: Exact) -> float:
    """Return a double near x to steer by; what is beyond the doubles is the last of them."""
    try:
        return float(x)
    except OverflowError:
        return FARTHEST if x > 0 else -FARTHEST


# ── formulas at the working precision ───────────────────────────────────────────────────────────────


def log_cosh(x: arb) -> arb:
    """Return ln cosh x = x − ln 2 + ln(1 + e^{−2x}), which never overflows."""
    return x - arb.const_log2() + (-2 * x).exp().log1p()


def pure_renyi(epsilon: Exact, order: Exact) -> arb:
    """D_α = [ln cosh((α − ½)ε) − ln cosh(ε/2)]/(α − 1): randomised response, worst of all [KOV15]."""
    e, a = ball(epsilon), ball(order)
    return (log_cosh((a - arb(0.5)) * e) - log_cosh(e / 2)) / (a - 1)


def pure_zcdp(epsilon: Exact) -> arb:
    """ρ = ε tanh(ε/2), the least ρ that ε-DP implies.

    f(α) = (α−1)(D_α − ρα) has f(1) = f'(1) = 0 and f''(α) = ε² sech²((α−½)ε) − 2ε tanh(ε/2), which decreases
    in α and at 1 is ≤ 0 because x ≤ sinh x cosh x; hence f ≤ 0. Tight as α → 1, where D_α tends to ρ.
    """
    e = ball(epsilon)
    return e * (e / 2).tanh()


def pure_gdp(epsilon: Exact) -> arb:
    """μ = 2Φ⁻¹(e^ε/(1+e^ε)), the least μ that ε-DP implies.

    Trade-off functions: G_μ is convex and passes (0,1), (c,c), (1,0) with c = Φ(−μ/2) = 1/(1+e^ε); that of
    ε-DP [DRS22 Prop. 3] is the polygon through the same three points, hence above it.
    Φ⁻¹(p) = √2 erf⁻¹(2p − 1) and 2p − 1 = tanh(ε/2).
    """
    return 2 * arb(2).sqrt() * _erfinv_tanh(ball(epsilon) / 2)


def _erfinv_tanh(x: arb) -> arb:
    """erf⁻¹(tanh x), through erfc where tanh x is close to 1."""
    if x < 1:
        return x.tanh().erfinv()
    return (2 / ((2 * x).exp() + 1)).erfcinv()


def pure_delta(loss: Exact, epsilon: Exact) -> arb:
    """δ(ε') = (e^ε − e^ε')₊/(1 + e^ε): randomised response dominates every ε-DP mechanism [KOV15 Thm 3.3]."""
    if epsilon >= loss:
        return arb(0)
    e, x = ball(loss), ball(epsilon)
    return -(x - e).expm1() / (1 + (-e).exp())


def pure_epsilon(loss: Exact, delta: arb) -> arb:
    """ε' = ε + ln(1 − δ(1 + e^{−ε})), the inverse of pure_delta; negative or not a number where δ(0) ≤ δ."""
    e = ball(loss)
    return e + (-delta * (1 + (-e).exp())).log1p()


def range_renyi(epsilon: Exact, order: Exact) -> arb:
    """D_α = −ln s + ln(A/α)/(α−1) with the A and s below.

    A = (1 − e^{−αε})/(1 − e^{−ε}), s = α(e^{−ε} − e^{−αε})/((α−1)(1 − e^{−αε})).
    ε-bounded range puts the loss L in some [t − ε, t] with E_Q e^L = 1; E_Q e^{αL} is convex in e^L, so the
    two end points carry all mass: Bern(qe^t) against Bern(q), q = (e^{−t} − e^{−ε})/(1 − e^{−ε}) [DDR20].
    With s = e^{−t}, (α−1)D_α = ln(As + B) − α ln s, A + B = 1, B < 0: it vanishes at both ends and has one
    stationary point, the s above, hence the supremum over t is there, in closed form.
    """
    e, a = ball(epsilon), ball(order)
    far = (-a * e).expm1()  # −(1 − e^{−αε})
    near = (-e).expm1()
    log_s = -e + (a * (-(a - 1) * e).expm1() / ((a - 1) * far)).log()
    return -log_s + (far / near / a).log() / (a - 1)


def range_delta(loss: Exact, epsilon: Exact) -> arb:
    """δ(ε') = (1 − e^{−(ε−ε')/2})²/(1 − e^{−ε}): the sup over t of q(e^t − e^ε') is at (ε + ε')/2 [DDR20]."""
    if epsilon >= loss:
        return arb(0)
    e, x = ball(loss), ball(epsilon)
    return ((x - e) / 2).expm1() ** 2 / -(-e).expm1()


def range_epsilon(loss: Exact, delta: arb) -> arb:
    """ε' = ε + 2 ln(1 − √(δ(1 − e^{−ε}))), the inverse of range_delta."""
    e = ball(loss)
    return e + 2 * (-(delta * -(-e).expm1()).sqrt()).log1p()


def gaussian_delta(mu: arb, epsilon: arb) -> arb:
    """δ(ε) = Φ(−z) − e^ε Φ(−z − μ), z = ε/μ − μ/2, for any real ε [BW18 Thm 5; DRS22 Cor. 1].

    0 ≤ δ ≤ Φ(−z), which beyond z = 40 is below every double. e^ε Φ(−z − μ) = e^{−z²/2} T(x) with the scaled
    tail T(x) = e^{x²/2}Φ(−x) at x = z + μ, at most ½ for x ≥ 0: so for z < −40 δ is 1 to within e^{−800}.
    """
    z, root = epsilon / mu - mu / 2, arb(2).sqrt()
    x = z + mu
    if z > SURE:
        return _between(arb(0), TINY)
    if z < -SURE and x > 0:
        return _between(1 - TINY, arb(1))
    if x > FAR_TAIL:  # e^ε would be huge
        return (z / root).erfc() / 2 - (-z * z / 2).exp() * scaled_tail(x)
    return ((z / root).erfc() - epsilon.exp() * (x / root).erfc()) / 2


def scaled_tail(x: arb) -> arb:
    """T(x) = e^{x²/2}Φ(−x) for large x: Σ_k (−1)^k (2k−1)!!/x^{2k} over x√2π; partial sums enclose it.

    Twelve terms leave 23!!/x^{24}, below 2^-105 from x = 64 on [Mills' ratio; Small 2010 §2.4].
    """
    term, total = arb(1), arb(0)
    for k in range(12):
        total += term
        term *= -(2 * k + 1) / (x * x)
    return _between(total, total + term) / (x * (2 * arb.pi()).sqrt())


def _between(low: arb, high: arb) -> arb:
    return low.union(high)


def gaussian_epsilon_bound(mu_squared: Exact, delta: Exact) -> arb:
    """ε = μ²/2 + μ√(2 ln(1/(2δ))₊) has δ(ε) ≤ Φ(−z) ≤ e^{−z²/2}/2 = δ, z = ε/μ − μ/2 ≥ 0 [Chernoff]."""
    mu, odds = ball(Fraction(mu_squared)).sqrt(), -(2 * ball(delta)).log()
    return mu * mu / 2 + mu * (2 * odds.max(arb(0))).sqrt()


def group_delta(epsilon: arb, delta: arb, k: int) -> arb:
    """δ_k = δ(e^{kε} − 1)/(e^ε − 1), and kδ at ε = 0 [Vadhan 2017 Lemma 2.2]."""
    return k * delta if epsilon.is_zero() else delta * (k * epsilon).expm1() / epsilon.expm1()


# ── Rényi to (ε, δ): any order gives a valid bound, so only the last evaluation is certified ────────


def renyi_epsilon(curve: Callable[[float], float], limit: float, delta: Exact) -> float:
    """ε = min over all α in (1, α*] of R(α) + ln((α−1)/α) − (ln δ + ln α)/(α−1) [CKS20 Prop. 12 v4]."""
    if delta == 0:
        return math.inf
    log_delta = float(ball(delta).log())

    def rough(order: float) -> float:
        gap = order - 1
        return curve(order) + math.log(gap / order) - (log_delta + math.log(order)) / gap

    def proved(order: float) -> float:
        bound, a = curve(order), arb(order)
        if not bound < math.inf:
            return math.inf
        return above(lambda: arb(bound) + (-1 / a).log1p() - (ball(delta).log() + a.log()) / (a - 1))

    return max(0.0, proved(best_order(rough, limit)))


def renyi_delta(curve: Callable[[float], float], limit: float, epsilon: Exact) -> float:
    """δ = min over all α in (1, α*] of exp((α−1)(R(α) − ε + ln(1 − 1/α)))/α [CKS20 Prop. 12 v4]."""
    asked = near(epsilon)

    def rough(order: float) -> float:
        gap = order - 1
        return gap * (curve(order) - asked + math.log(gap / order)) - math.log(order)

    def proved(order: float) -> float:
        bound, a = curve(order), arb(order)
        if not bound < math.inf:
            return math.inf
        return above(lambda: ((a - 1) * (arb(bound) - ball(epsilon) + (-1 / a).log1p())).exp() / a)

    return min(1.0, proved(best_order(rough, limit)))


def best_order(objective: Callable[[float], float], limit: float) -> float:
    """Order in (1, limit] near the minimum of a quasi-convex objective: golden section on ln(α − 1).

    Quasi-convex because (α−1)D_α is convex, and so is (α−1)ln(α−1) − α ln α; a wrong guess costs tightness,
    never truth.
    """
    if not limit > 1:
        return 2.0
    top = math.log(limit - 1) if limit < math.inf else 600.0

    def value(u: float) -> float:
        order = limit if u >= top else min(limit, 1 + math.exp(u))
        try:
            result = objective(order) if order > 1 else math.inf
        except OverflowError:
            return math.inf
        return math.inf if math.isnan(result) else result

    u = _descend(value, min(0.0, top), top)
    return limit if u >= top else min(limit, max(1 + math.exp(u), math.nextafter(1.0, 2.0)))


def _descend(value: Callable[[float], float], start: float, top: float) -> float:
    """Walk downhill in steps of ln 4 until the value rises, then golden section within the bracket."""
    step, bottom = math.log(4), -36.0
    middle, here = start, value(start)
    right = min(top, middle + step)
    if right > middle and value(right) <= here < math.inf:
        while right < top and (there := value(right)) <= here:
            middle, here, right = right, there, min(top, right + step)
        left = middle - step
    else:
        left = middle - step
        while left > bottom and ((there := value(left)) <= here or here == math.inf):
            right, middle, here, left = middle, left, there, left - step
    return _golden(value, left, right)


def _golden(value: Callable[[float], float], left: float, right: float, width: float = 1e-8) -> float:
    seen: dict[float, float] = {}
    for end in (left, right):  # the least may be at an end: a curve known up to one order
        seen[end] = value(end)
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    seen[inner], seen[outer] = value(inner), value(outer)
    while right - left > width:
        if seen[inner] <= seen[outer] or seen[outer] == math.inf:
            right, outer, inner = outer, inner, outer - GOLDEN * (outer - left)
            seen[inner] = value(inner)
        else:
            left, inner, outer = inner, outer, inner + GOLDEN * (right - inner)
            seen[outer] = value(outer)
    return min(seen, key=lambda u: seen[u])


# ── inversion of a decreasing certified profile ─────────────────────────────────────────────────────


def least_epsilon(profile: Callable[[float], float], delta: Exact, high: float) -> float:
    """Least ε (to 2^-44 relative) whose certified δ(ε) is at most δ; `high` is a first guess from above.

    Regula falsi (Illinois) on ln δ(ε) between a point that fails and one that is proved; returns the latter.
    """
    bar = near(delta) if near(delta) <= delta else math.nextafter(near(delta), 0.0)
    low, at_low = 0.0, profile(0.0)
    if at_low <= bar:
        return 0.0
    high = high if 0 < high < math.inf else 1.0
    start = high
    while (at_high := profile(high)) > bar:
        low, at_low, high = high, at_high, 2 * high
        if high > 2.0**60 * start:
            return math.inf
    return _illinois(profile, bar, (low, _log_ratio(at_low, bar)), (high, _log_ratio(at_high, bar)))


def _illinois(
    profile: Callable[[float], float], bar: float, failing: tuple[float, float], proved: tuple[float, float]
) -> float:
    (low, f_low), (high, f_high), kept = failing, proved, 0
    for turn in range(200):
        if high - low <= high * 2.0**-44:
            break
        middle = high - f_high * (high - low) / (f_high - f_low)
        if turn % 4 == 3 or not low < middle < high:  # a bisection now and then bounds the number of turns
            middle = low + (high - low) / 2
        bound = profile(middle)
        value = _log_ratio(bound, bar)
        if bound <= bar:  # as doubles: this comparison is the proof, the logarithm only steers
            high, f_high, f_low, kept = middle, value, f_low / (2 if kept < 0 else 1), -1
        else:
            low, f_low, f_high, kept = middle, value, f_high / (2 if kept > 0 else 1), 1
    return high


def _log_ratio(value: float, bar: float) -> float:
    """ln(value/bar), held within ±800 so that a zero on either side does not stop the search."""
    if value <= 0:
        return -800.0
    return 800.0 if bar <= 0 else math.log(value) - math.log(bar)
