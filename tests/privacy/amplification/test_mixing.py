"""Finite kernels: reference D1 (exact rationals), implications, and the truth by linear programs."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.experiments.claims.thesis_mixing import true_delta
from discreet.privacy.amplification.mixing import (
    Dobrushin,
    DobrushinAt,
    Doeblin,
    FiniteKernel,
    UltraMixing,
    amplify,
    dobrushin,
    dobrushin_at,
    doeblin,
    hockey_stick,
    local_epsilon,
    push,
    ultra_mixing,
)
from discreet.privacy.kinds import ApproxDP

D1 = json.loads((Path(__file__).parents[2] / "reference" / "D1_mixing_amplification.json").read_text())
KERNELS = {
    name: FiniteKernel.of([[Fraction(x) for x in row] for row in given["K"]])
    for name, given in D1["kernels"].items()
}
CASES = [(name, case) for name, given in D1["kernels"].items() for case in given["cases"]]
RULES = {
    "1_dobrushin": "dobrushin",
    "2_eps_dobrushin": "dobrushin_at",
    "3_doeblin": "doeblin",
    "4_ultra": "ultra_mixing",
}


@pytest.mark.parametrize("name", KERNELS)
def test_coefficients_are_the_exact_fractions(name):
    given, kernel = D1["kernels"][name], KERNELS[name]
    assert dobrushin(kernel) == Fraction(given["gamma_dobrushin"])
    assert doeblin(kernel)[0] == Fraction(given["gamma_doeblin"])
    assert ultra_mixing(kernel) == Fraction(given["gamma_ultra_mixing"])


@pytest.mark.parametrize(("name", "case"), CASES)
def test_the_four_rules_give_the_reference_rounded_up(name, case):
    found = amplify(ApproxDP(case["eps"], case["delta"]), KERNELS[name])
    for theirs, ours in RULES.items():
        if theirs in case:  # the reference leaves out a rule that says nothing
            assert float(found[ours].loss) == pytest.approx(case[theirs]["eps_out"], rel=1e-13, abs=1e-15)
            assert float(found[ours].slack) == pytest.approx(
                case[theirs]["delta_bound"], rel=1e-12, abs=1e-15
            )
            assert float(found[ours].slack) >= case[theirs]["delta_true_max"] - 1e-12


def test_the_reference_s_rational_examples():
    for row in D1["exact_examples"]:
        kernel, ratio = KERNELS[row["K"]], Fraction(row["alpha=e^eps"])
        mu, nu = ([Fraction(x) for x in row[side]] for side in ("mu", "nu"))
        assert [str(x) for x in push(mu, kernel)] == row["muK"]
        assert [str(x) for x in push(nu, kernel)] == row["nuK"]
        assert str(hockey_stick(mu, nu, ratio)) == row["D_before_mu_nu"]
        assert str(hockey_stick(push(nu, kernel), push(mu, kernel), ratio)) == row["D_after_nu_mu"]


def kernels(states=3):
    row = st.lists(st.integers(0, 8), min_size=states, max_size=states).filter(any)
    return st.lists(row, min_size=states, max_size=states).map(
        lambda rows: FiniteKernel.of([[Fraction(x, sum(r)) for x in r] for r in rows])
    )


@settings(max_examples=60, deadline=None)
@given(kernels(), st.floats(0.05, 3))
def test_erratum_15_what_implies_what(kernel, epsilon):
    """γ-Dobrushin ⇒ (γ, ε)-Dobrushin, and not the converse as printed; ultra-mixing ⇒ Doeblin ⇒ Dobrushin."""
    gamma = dobrushin(kernel)
    assert dobrushin_at(kernel, epsilon) <= float(gamma) * (1 + 1e-15)
    assert gamma <= doeblin(kernel)[0] <= ultra_mixing(kernel)


def test_erratum_15_the_printed_direction_fails():
    kernel = KERNELS["K1"]
    assert dobrushin_at(kernel, 1.0) == 0
    assert dobrushin(kernel) == Fraction(3, 10)  # but not 0-Dobrushin


@settings(max_examples=40, deadline=None)
@given(kernels())
def test_the_doeblin_witness_is_a_law_below_every_row(kernel):
    gamma, witness = doeblin(kernel)
    if witness is None:
        assert gamma == 1
        return
    assert sum(witness) == 1
    assert all(k >= (1 - gamma) * w for row in kernel.rows for k, w in zip(row, witness, strict=True))


@settings(max_examples=40, deadline=None)
@given(kernels(), st.floats(0.05, 3))
def test_mixing_is_local_privacy(kernel, epsilon):
    """(γ, ε)-Dobrushin is (ε, γ)-local DP, ultra-mixing is pure local DP; both by all events of all pairs."""
    events = [e for r in range(1, 4) for e in itertools.combinations(range(3), r)]
    worst = max(
        sum(float(a[y]) for y in e) - math.exp(epsilon) * sum(float(b[y]) for y in e)
        for a in kernel.rows
        for b in kernel.rows
        for e in events
    )
    assert dobrushin_at(kernel, epsilon) == pytest.approx(max(worst, 0), abs=1e-12)
    ratios = [
        a / b if b else math.inf
        for r in kernel.rows
        for s in kernel.rows
        for a, b in zip(r, s, strict=True)
        if a
    ]
    assert local_epsilon(kernel) == pytest.approx(
        math.log(max(ratios)) if max(ratios) < math.inf else math.inf, abs=1e-12
    )


@settings(max_examples=12, deadline=None, derandomize=True)
@given(kernels(), st.floats(0.1, 2), st.sampled_from([0.0, 0.01, 0.1]))
def test_no_bound_is_below_the_truth(kernel, epsilon, delta):
    for after in amplify(ApproxDP(epsilon, delta), kernel).values():
        truth = true_delta(kernel, epsilon, delta, float(after.loss))
        assert float(after.slack) >= truth - 1e-9


def test_dobrushin_is_attained_and_a_smaller_claim_is_caught():
    """K2, ε = 1, δ = .1: the bound .05 is the truth, so any smaller γ would be false."""
    kernel = KERNELS["K2"]
    truth = true_delta(kernel, 1.0, 0.1, 1.0)
    assert float(Dobrushin(dobrushin(kernel)).amplify(ApproxDP(1.0, 0.1)).slack) == pytest.approx(
        truth, abs=1e-9
    )
    assert (
        float(Dobrushin(dobrushin(kernel) * Fraction(9, 10)).amplify(ApproxDP(1.0, 0.1)).slack) < truth - 1e-4
    )


def test_composition_of_kernels_forgets_at_least_as_much():
    twice = KERNELS["K1"].then(KERNELS["K2"])
    assert dobrushin(twice) <= dobrushin(KERNELS["K1"]) * dobrushin(KERNELS["K2"])


def test_pure_privacy_gains_only_through_doeblin_and_ultra_mixing():
    before = ApproxDP(1.0, 0)
    after = amplify(before, KERNELS["K1"])
    assert float(after["dobrushin"].loss) == 1.0
    assert float(after["dobrushin"].slack) == 0
    assert float(after["ultra_mixing"].loss) < 1.0
    assert float(after["ultra_mixing"].slack) == 0


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], "sums to 1.1"),
        ([[1.5, -0.5], [0.5, 0.5]], "negative"),
        ([[1.0], [0.5, 0.5]], "one length"),
        ([], "at least one row"),
        ([[math.nan, 1.0], [0.5, 0.5]], "transition probability"),
    ],
)
def test_bad_kernels_are_refused(matrix, words):
    with pytest.raises(ValueError, match=words):
        FiniteKernel.of(matrix)


def test_bad_coefficients_and_kernels_that_do_not_fit_are_refused():
    for rule in (Dobrushin, Doeblin, UltraMixing):
        with pytest.raises(ValueError, match="gamma"):
            rule(1.5)
    with pytest.raises(ValueError, match="measured at an epsilon of at most"):
        DobrushinAt(0.1, 50).amplify(ApproxDP(1, 0.1))
    with pytest.raises(ValueError, match="3 states lead into"):
        KERNELS["K1"].then(FiniteKernel.of([[0.5, 0.5], [0.5, 0.5]]))
