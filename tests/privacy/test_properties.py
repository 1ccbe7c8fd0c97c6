"""Laws that hold for every guarantee, over drawn parameters."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.privacy.accounting.composition import Composition, compose, parallel, repeat
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP

small = st.floats(1e-3, 3)
orders = st.floats(1.01, 200)
deltas = st.floats(1e-12, 0.5)

KNOBS = [PureDP, BoundedRange, ZeroCDP, GaussianDP]
guarantees = st.one_of(
    st.builds(PureDP, small),
    st.builds(BoundedRange, small),
    st.builds(ZeroCDP, st.floats(1e-4, 2)),
    st.builds(GaussianDP, small),
    st.builds(ApproxDP, small, st.sampled_from([0.0, 1e-9, 1e-6])),
    st.builds(RenyiDP.at, st.floats(1.5, 100), small),
    st.builds(
        lambda a, b, e, f: RenyiDP.points({a: e, a + b: e + f}),
        st.floats(1.5, 50),
        st.floats(0.1, 50),
        small,
        small,
    ),
)


def laws(examples):
    return settings(deadline=None, max_examples=examples)


@laws(40)
@given(st.sampled_from(KNOBS), small, small, st.floats(0, 3), deltas, orders)
def test_monotone_in_the_knob(kind, a, b, eps, delta, order):  # noqa: PLR0917
    strong, weak = kind(min(a, b)), kind(max(a, b))
    assert strong.delta(eps) <= weak.delta(eps)
    assert strong.epsilon(delta) <= weak.epsilon(delta) * (1 + 1e-12)
    assert strong.renyi(order) <= weak.renyi(order)
    assert strong <= weak


@laws(60)
@given(guarantees, st.floats(0, 3), st.floats(0, 3), orders, orders)
def test_profile_falls_and_curve_rises(g, e1, e2, a1, a2):
    assert g.delta(max(e1, e2)) <= g.delta(min(e1, e2)) * (
        1 + 1e-7
    )  # the minimiser is a search: 1e-8 in the order
    assert g.renyi(min(a1, a2)) <= g.renyi(max(a1, a2))


@laws(60)
@given(guarantees, deltas)
def test_epsilon_then_delta_stays_on_the_private_side(g, delta):
    eps = g.epsilon(delta)
    assume(eps < math.inf)
    assert g.delta(eps) <= delta * (1 + 1e-7)
    assert g.epsilon(min(0.999, delta * 2)) <= eps * (1 + 1e-9)


@laws(40)
@given(guarantees, guarantees, orders, st.floats(0, 3))
def test_implication_agrees_with_the_numbers(a, b, order, eps):
    if a <= b:
        assert a.renyi(order) <= b.renyi(order) * (1 + 1e-12)
        assert a.delta(eps) <= b.delta(eps) * (1 + 1e-7) + 1e-300
    assert a <= a  # noqa: PLR0124


@laws(30)
@given(st.lists(guarantees, min_size=2, max_size=4), deltas, st.randoms(use_true_random=False))
def test_composition_commutes_and_associates(parts, delta, random):
    whole = compose(*parts)
    shuffled = list(parts)
    random.shuffle(shuffled)
    cut = random.randrange(1, len(parts))
    other = compose(compose(*shuffled[:cut]), compose(*shuffled[cut:]))
    assert whole == other  # exactly, closed kinds too: ρ and μ² add as rationals
    assert whole.epsilon(delta) == other.epsilon(delta)


@laws(25)
@given(st.lists(guarantees, min_size=2, max_size=3), deltas, orders)
def test_composition_lies_between_its_worst_part_and_the_basic_sum(parts, delta, order):
    whole = compose(*parts)
    eps = whole.epsilon(delta)
    for part in parts:
        assert eps >= part.epsilon(delta) * (1 - 1e-7)
        assert whole.renyi(order) >= part.renyi(order) * (1 - 1e-12)
    share = delta / len(parts)
    basic = sum(part.epsilon(share) for part in parts)
    if all(part.epsilon(0) < math.inf for part in parts):
        assert eps <= sum(part.epsilon(0) for part in parts) * (1 + 1e-12)
    if isinstance(whole, Composition) and whole.order_limit <= 1:
        assert eps <= basic * (1 + 1e-9) or whole.bounds(delta)["basic"] == math.inf
    assert math.isclose(whole.renyi(order), sum(p.renyi(order) for p in parts), rel_tol=1e-12)


@laws(20)
@given(st.lists(st.tuples(small, st.integers(1, 30)), min_size=1, max_size=4), deltas)
def test_optimal_composition_of_pure_parts_is_below_every_other_bound(counted, delta):
    whole = compose(*(repeat(PureDP(e), n) for e, n in counted))
    assume(isinstance(whole, Composition))
    bounds = whole.bounds(delta)
    for name in ("basic", "advanced", "renyi", "zcdp"):
        assert bounds["optimal"] <= bounds[name] * (1 + 1e-3), name


@laws(25)
@given(guarantees, guarantees, deltas, st.floats(0, 3), orders)
def test_parallel_is_the_pointwise_worst(a, b, delta, eps, order):
    worst = parallel(a, b)
    assert worst == parallel(b, a)
    assert worst.epsilon(delta) >= max(a.epsilon(delta), b.epsilon(delta)) * (1 - 1e-7)
    assert worst.delta(eps) >= max(a.delta(eps), b.delta(eps)) * (1 - 1e-7)
    assert worst.renyi(order) >= max(a.renyi(order), b.renyi(order)) * (1 - 1e-12)


@laws(30)
@given(st.sampled_from(KNOBS), small, st.integers(1, 5), orders)
def test_groups_grow(kind, value, k, order):
    g = kind(value)
    assert g.group(1) == g
    assert g.group(k) <= g.group(k + 1)
    assert g.group(k).renyi(order) <= g.group(k + 1).renyi(order)
