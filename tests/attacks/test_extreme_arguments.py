"""Every promise at arguments from 1e-400 to 1e400: in range, monotone, on the private side, no crash."""

import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import discreet as dc
from discreet.ledger.amounts import FULL, Tariff
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate
from discreet.privacy.accounting.composition import compose, parallel, repeat
from discreet.privacy.accounting.filters import filter_for
from discreet.privacy.amplification.mixing import secret_scan
from discreet.privacy.amplification.subsampling import subsampled
from discreet.privacy.group_privacy import per_draw, per_row
from discreet.privacy.guarantee import NotProved
from discreet.privacy.json import from_json, to_json
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.words import in_words, loss_bound, sure_after
from discreet.sampling.source import SeededSource

DIGITS = 900  # of the oracle: enough for 1 − 10^-400 and for e^ε(…) − … at ε near 1000


class Draws:
    """Numbers of all sizes: doubles, subnormal ones too, rationals and integers beyond them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def number(self, low=-400, high=400):
        near = self.rng.choice(
            [self.rng.uniform(low, high), self.rng.uniform(-20, 20), self.rng.uniform(-3, 3)]
        )
        exact = Fraction(self.rng.randrange(1, 10**6), 10**5) * Fraction(10) ** int(min(max(near, low), high))
        kind = self.rng.randrange(3)
        if kind == 0 or exact > 10**300:
            return exact
        return max(float(exact), 5e-324) if kind == 1 else int(exact) + 1

    def chance(self):
        small = Fraction(self.number(-400, -1)) % 1 or Fraction(1, 3)
        return self.rng.choice([0, small, 1 - small, float(small) if float(small) < 1 else small])

    def promise(self):
        build = self.rng.choice(
            [PureDP, BoundedRange, ZeroCDP, GaussianDP, GaussianDP.from_square, ApproxDP, RenyiDP.at]
        )
        while True:
            first = (self.number() + 1,) if build == RenyiDP.at else ()
            more = (self.chance(),) if build is ApproxDP else ()
            try:
                return build(*first, self.number(), *more)
            except ValueError:  # order 1, or a bound beyond the doubles: refused in words
                continue

    def any(self):
        shape = self.rng.randrange(6)
        if shape == 0:
            return compose(self.promise(), self.promise())
        if shape == 1:
            return repeat(self.promise(), self.rng.choice([2, 100]))
        if shape == 2:
            return parallel(self.promise(), self.promise())
        return self.promise()


def answer(ask):
    """Give what was answered; NotProved is an answer, too."""
    try:
        return ask()
    except NotProved:
        return None


@pytest.mark.parametrize("seed", range(8))
def test_answers_are_in_range_and_monotone(seed):
    draws = Draws(seed)
    for _ in range(12):
        promise = draws.any()
        low, high = sorted((draws.number(), draws.number()))
        first, second = promise.delta(low), promise.delta(high)
        assert 0 <= second <= first <= 1, promise
        assert 0 <= promise.delta(0) <= 1, promise
        low, high = sorted((draws.chance(), draws.chance()))
        first, second = promise.epsilon(low), promise.epsilon(high)
        assert 0 <= second <= first * (1 + 2.0**-40), promise
        if first < math.inf and low > 1e-290:  # below, doubles are rounded up to more than δ
            assert promise.delta(first) <= low * (1 + Fraction(1, 10**9)), promise
        low, high = sorted((1 + Fraction(draws.number()), 1 + Fraction(draws.number())))
        assert 0 <= promise.renyi(low) <= promise.renyi(high) * (1 + 2.0**-40), promise
        for bound in (promise.zcdp_bound, promise.gdp_bound, promise.range_bound):
            assert bound >= 0
        assert promise.order_limit >= 1


@pytest.mark.parametrize("seed", range(100, 104))
def test_conversions_answer_or_say_what_is_not_proved(seed):
    draws = Draws(seed)
    for _ in range(8):
        promise, other = draws.any(), draws.promise()
        assert from_json(to_json(promise)) == promise
        assert in_words(promise)
        assert repr(promise)
        assert promise <= promise  # noqa: PLR0124
        assert answer(lambda p=promise, o=other: p <= o) in {True, False, None}
        assert loss_bound(promise, 1e-6) >= 0
        assert 0.5 <= sure_after(0.5, loss_bound(promise, 0)) <= 1
        for change in (
            lambda p=promise: p.group(3),
            lambda p=promise: p.as_substitute(),
            lambda o=other: per_row(o, 3),
            lambda o=other: per_draw(o, 5),
            lambda p=promise: subsampled(p, draws.chance() or 1),
            lambda o=other: secret_scan(o, 3, 1000),
        ):
            after = answer(change)
            assert after is None or 0 <= after.delta(draws.number()) <= 1
        price = answer(lambda p=promise, o=other: Tariff(filter_for(o)).price(p))
        assert price is None or all(0 <= units <= FULL + 1 for units in price)


# ── the private side, against formulas restated in 900 digits ──


def oracle_delta(promise, epsilon):
    e = mp.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
    if isinstance(promise, GaussianDP):
        square = Fraction(promise.mu_squared)
        mu = mp.sqrt(mp.mpf(square.numerator) / square.denominator)
        if e / mu - mu / 2 > 10**4:
            return mp.mpf(0)  # Φ(−10⁴) is 0 for every double, and mpmath cannot go on
        return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)
    loss = mp.mpf(Fraction(promise.loss).numerator) / Fraction(promise.loss).denominator
    if e >= loss:
        return getattr(promise, "slack", 0)
    if isinstance(promise, BoundedRange):
        return (1 - mp.exp((e - loss) / 2)) ** 2 / (1 - mp.exp(-loss))
    slack = Fraction(getattr(promise, "slack", 0))
    kept = mp.mpf(slack.numerator) / slack.denominator
    return kept + (1 - kept) * (mp.exp(loss) - mp.exp(e)) / (1 + mp.exp(loss))


@pytest.mark.parametrize("seed", range(200, 204))
def test_profiles_are_rounded_up_from_the_truth(seed):
    draws = Draws(seed)
    for _ in range(12):
        size = draws.number(-290, 3)
        promise = draws.rng.choice(
            [PureDP(size), ApproxDP(size, draws.chance()), BoundedRange(size), GaussianDP(min(size, 30))]
        )
        asked = draws.number(-290, 3)
        with mp.workdps(DIGITS):
            truth = oracle_delta(promise, asked)
            claimed = mp.mpf(promise.delta(asked))
            assert truth <= claimed <= truth * (1 + mp.mpf(2) ** -50) + mp.mpf(2) ** -1073, (promise, asked)
            slack = draws.chance()
            epsilon = promise.epsilon(slack)
            if epsilon < math.inf:
                assert (
                    oracle_delta(promise, epsilon)
                    <= mp.mpf(Fraction(slack).numerator) / Fraction(slack).denominator
                )


@pytest.mark.parametrize("seed", range(300, 302))
def test_concentrated_promises_keep_their_delta(seed):
    """ε(δ) of ρ-zCDP is no less than that of the Gaussian mechanism with the same ρ = μ²/2, in 900 digits."""
    draws = Draws(seed)
    for _ in range(8):
        rho = draws.number(-200, 2)
        slack = draws.chance() or Fraction(1, 10**400)
        epsilon = ZeroCDP(rho).epsilon(slack)
        if 0 < epsilon < math.inf:
            with mp.workdps(DIGITS):
                gauss = oracle_delta(GaussianDP.from_square(2 * Fraction(rho)), epsilon)
                assert gauss <= mp.mpf(Fraction(slack).numerator) / Fraction(slack).denominator


def test_the_cases_that_were_found():
    assert PureDP(2400).delta(10) == 1
    assert BoundedRange(2400).delta(10) == 1
    assert ApproxDP(2400, 0.25).delta(10) == 1
    assert parallel(PureDP(2400), GaussianDP(1)).delta(10) == 1
    assert GaussianDP(1e200).delta(1) == 1
    assert GaussianDP(2412.75).delta(10**300) == 5e-324
    tiny = Fraction(1, 10**400)
    for promise in (PureDP(1), ApproxDP(1, 0), BoundedRange(1)):
        assert 1 - 1e-9 <= promise.epsilon(tiny) <= 1
    # ½ + √(2 ln(½·10^400)) = 43.40; Φ(−z) = 10^-400 at z = 42.77
    assert 42.9 <= GaussianDP(1).epsilon(tiny) <= 43.5
    assert 43 <= ZeroCDP(0.5).epsilon(tiny) <= 43.5
    assert 40 <= RenyiDP.at(10, 1).epsilon(tiny) <= 110


# ── bounds that no pair of laws has ──

FALSE = [
    ((2, -1.0),),
    ((2, math.nan),),
    ((2, math.inf),),
    ((2, 1.0), (4, 0.5)),
    ((4, 1.0), (2, 0.5)),
    ((1, 0.5),),
    ((0.5, 0.5),),
    ((2, 0.5), (2, 0.6)),
    ((2, "many"),),
]


@pytest.mark.parametrize("known", FALSE, ids=repr)
def test_false_renyi_values_are_refused_from_json_too(known):
    told = {
        "kind": "RenyiDP",
        "curve": {"kind": "Points", "known": [list(pair) for pair in known]},
        "order_limit": known[-1][0],
        "profile": None,
        "relation": "substitute",
    }
    with pytest.raises(ValueError, match=r"Rényi|number|order"):
        from_json(told)
    if len(dict(known)) == len(known) and list(known) == sorted(known):
        with pytest.raises((ValueError, TypeError), match=r"Rényi|epsilon|order"):
            RenyiDP.points(dict(known))


@pytest.mark.parametrize(
    "curve",
    [lambda a: -1.0, lambda a: math.nan, lambda a: 1 / a, lambda a: a - 3],  # noqa: ARG005
    ids=["negative", "nan", "decreasing", "negative at first"],
)
def test_foreign_curves_are_looked_at(curve):
    with pytest.raises(ValueError, match="Rényi"):
        RenyiDP(curve)
    assert RenyiDP(lambda a: a / 2).renyi(4) == 2


def test_a_curve_that_turns_negative_later_is_refused_when_asked_and_costs_a_ledger_all():
    promise = RenyiDP(lambda a: -1.0 if a == 3.25 else 0.5)
    with pytest.raises(ValueError, match="at least 0"):
        promise.renyi(3.25)
    with pytest.raises(ValueError, match="at least 0"):
        RenyiDP(lambda a: a, profile=lambda e: -0.1).delta(1)  # noqa: ARG005


@pytest.mark.parametrize(
    "inside",
    [
        {"kind": "GroupCurve", "curve": {"kind": "Points", "known": [[2, 0.5]]}, "k": 0},
        {"kind": "GroupCurve", "curve": {"kind": "Points", "known": [[2, 0.5]]}, "k": -2},
        {"kind": "GaussianMixtureCurve", "parts": [[3, -1.0]]},
        {"kind": "GaussianMixtureCurve", "parts": [[-3, 1.0]]},
        {"kind": "GaussianMixtureCurve", "parts": []},
        {"kind": "SampledGaussianCurve", "mu_squared": 1.0, "rate": 0.5, "steps": -3, "poisson": True},
        {"kind": "SampledGaussianCurve", "mu_squared": -1.0, "rate": 0.5, "steps": 3, "poisson": True},
        {"kind": "SampledGaussianCurve", "mu_squared": 1.0, "rate": 1.5, "steps": 3, "poisson": True},
        {"kind": "RenyiCurve", "worst": {"kind": "NormalPair", "mu_squared": -1.0}},
        {"kind": "RenyiCurve", "worst": 3},
        {"kind": "Points", "known": 3},
        3,
        None,
    ],
    ids=repr,
)
def test_curves_from_json_are_built_as_checked_as_by_hand(inside):
    told = {"kind": "RenyiDP", "curve": inside, "order_limit": 2, "profile": None, "relation": "substitute"}
    with pytest.raises(ValueError, match=r"\w"):
        from_json(told).renyi(1.5)


@pytest.mark.parametrize("number", ["1/0", "1e999999999", "nan", "-inf", "1/-3", "one", "", "1/3/5"])
def test_numbers_that_are_none_are_refused_at_once(number):
    with pytest.raises(ValueError, match=r"\w"):
        from_json({"kind": "PureDP", "epsilon": number, "relation": "substitute"})


# ── numbers beyond doubles among the records and the bounds ─────────────────────────────────────────


@pytest.mark.parametrize(
    ("family", "far", "near"),
    [
        (dc.GammaPoisson(1, 1, 20), [10**400, 3, -(10**400)], [20, 3, 0]),
        (dc.NormalMean(0, 1, 1, -4, 6), [Fraction(10**400), None], [6, -4]),
        (dc.NormalMean(0, 1, 1, -4, 6), np.ma.masked_array([10**400, 1], [False, True], object), [6, -4]),
        (dc.NormalInverseWishart([0, 0], 1, 3, [[1, 0], [0, 1]], radius=5), [[10**400, 0]], [[5, 0]]),
    ],
)
def test_records_beyond_doubles_are_clipped_like_others(family, far, near):
    """They were refused as if they were texts, which told that one was there."""
    assert family.statistic(far).tolist() == family.statistic(near).tolist()


@pytest.mark.parametrize("family", [dc.GammaPoisson(1, 1, 20), dc.BetaBinomial(1, 1, 7)])
def test_fractions_among_counts_are_called_so(family):
    with pytest.raises(ValueError, match="takes whole numbers, and some record has a fraction: round"):
        family.statistic([2.5])
    with pytest.raises(ValueError, match="some record has a fraction or is missing: encode"):
        dc.DirichletCategorical([1, 1, 1, 1]).statistic([2.5])


WIDE = [(-(10**400), 10**400), (0, 10**400), (-1.7e308, 1.7e308), (0, 5e-324)]


@pytest.mark.parametrize(("lower", "upper"), WIDE)
@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, 1e-6)])
def test_bounds_that_doubles_cannot_hold_are_refused_when_they_are_declared(lower, upper, target):
    """The release, and not its calibration, ended in an OverflowError."""
    with pytest.raises(ValueError, match=r"within ±2\^900 and at least 2\^-900 apart"):
        SampleAndAggregate.calibrate(np.mean, n=100, target=target, lower=lower, upper=upper)


@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, 1e-6)])
@pytest.mark.parametrize(("lower", "upper"), [(-(2**900), 2**900), (0, Fraction(1, 2**900))])
def test_bounds_that_they_can_hold_are_released_within(lower, upper, target):
    made = SampleAndAggregate.calibrate(np.mean, n=100, target=target, lower=lower, upper=upper)
    released = made.release([1e300, *range(99)], SeededSource(1))
    assert float(lower) <= released <= float(upper)


@pytest.mark.parametrize("name", ["alpha", "beta", "step"])
def test_a_promise_from_json_with_a_number_beyond_doubles_is_refused_in_words(name):
    drawn = dc.DiffusedPosterior.calibrate(dc.BetaBernoulli(6, 12), n=100, target=ApproxDP(0.5, 1e-6))
    written = to_json(drawn.guarantee)
    written["profile"]["worst"][name] = 10**400
    with pytest.raises(ValueError, match="beyond doubles"):
        from_json(written)
