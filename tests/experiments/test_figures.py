"""Every reproduced figure: the numbers beside it equal the references to the digits they print.

References A1, A3, A4 (mpmath, 40 digits) and C1–C3 (mpmath, quadrature) are copied under tests/reference.
Where a publication printed a wrong curve, the wrong curve is checked too: it is drawn beside the right one.
"""

import csv
import json
import math
from pathlib import Path

import pytest

from discreet.experiments.registry import EXPERIMENTS, find
from discreet.experiments.thesis.error import errors, simulated
from discreet.sampling.source import SeededSource

REFERENCE = Path(__file__).parents[1] / "reference"
CLOSED, QUADRATURE = 1e-10, 1e-7  # relative accuracy of closed forms, and of the integrals over noise


def reference(name):
    return json.loads((REFERENCE / f"{name}.json").read_text())


def number(x):
    return math.inf if x == "inf" else float(x)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Run each experiment once, quickly, and read its first CSV back."""
    out, seen = tmp_path_factory.mktemp("figures"), {}

    def read(name):
        if name not in seen:
            written = EXPERIMENTS[name](out, 0, quick=True)
            picture, numbers = written[0], written[1]
            assert picture.read_bytes().startswith(b"\x89PNG")
            assert picture.stat().st_size > 10_000
            with numbers.open(encoding="utf-8") as file:
                seen[name] = list(csv.DictReader(file))
        return seen[name]

    return read


@pytest.mark.parametrize(("figure", "kind"), [("figure-5.1", "diffused"), ("figure-5.2", "concentrated")])
def test_renyi_curves_are_reference_A1(rows, figure, kind):
    A1 = reference("A1_beta_rdp_curves")
    found = {(row["knob"], float(row["order"])): row for row in rows(figure)}
    for knob, curve in A1["eta0=(6,18)"][kind].items():
        for i, order in enumerate(A1["lambda"]):
            row = found[knob, float(order)]
            assert float(row["epsilon"]) == pytest.approx(number(curve["eps_exact"][i]), rel=CLOSED)
            printed = number(curve["eps_cor16_literal_N=n"][i])
            assert float(row["epsilon_corollary_16_as_printed"]) == pytest.approx(printed, rel=CLOSED)


def test_the_printed_corollary_is_visibly_below_the_exact_curve(rows):
    weak = [row for row in rows("figure-5.1") if row["knob"] == "0.1"]
    ratios = [float(row["epsilon_corollary_16_as_printed"]) / float(row["epsilon"]) for row in weak]
    assert max(ratios) < 0.9


@pytest.mark.parametrize(("figure", "order"), [("figure-5.3", 2), ("figure-5.4", 15)])
def test_kl_is_reference_A3(rows, figure, order):
    A3 = reference("A3_kl_figs_5_3_5_4")
    expected = A3[f"lambda={order}"]
    assert [float(row["epsilon"]) for row in rows(figure)] == [float(e) for e in A3["eps"]]
    for i, row in enumerate(rows(figure)):
        assert float(row["r"]) == pytest.approx(expected["r"][i], rel=1e-14)
        assert float(row["sigma"]) == pytest.approx(expected["sigma_correct"][i], rel=1e-14)
        # a difference of log-partitions near 2000, in doubles: 1e-11 absolute
        for ours, theirs in (("diffused", "KL_diffused"), ("concentrated", "KL_concentrated")):
            assert float(row[ours]) == pytest.approx(expected[theirs][i], rel=CLOSED, abs=1e-11)
        for ours, theirs in (("gaussian", "correct"), ("gaussian_as_printed", "thesis_text")):
            assert float(row[ours]) == pytest.approx(
                expected[f"KL_gaussian_{theirs}"][i], rel=1e-8, abs=1e-12
            )


@pytest.mark.parametrize("figure", ["figure-5.5", "figure-5.6", "figure-5.7", "figure-5.8"])
def test_held_out_likelihood_is_reference_A4(rows, figure):
    A4 = reference("A4_nll_figs_5_5_to_5_8")
    for row in rows(figure):
        expected = A4[f"fig{row['panel']}"][f"eps={float(row['epsilon']):g}"]
        for name, theirs, digits in (
            ("diffused", "diffused", 1e-9),
            ("concentrated", "concentrated", 1e-9),
            ("gaussian", "gaussian_correct", QUADRATURE),
            ("gaussian_as_printed", "gaussian_thesis_text", QUADRATURE),
        ):
            ours = float(row[f"{name}_mean"]), float(row[f"{name}_sd"])
            assert ours == pytest.approx(expected[theirs], rel=digits), (name, row["panel"])


def test_tempered_moments_are_reference_C1(rows):
    C1 = reference("C1_ops_sensitivity_temperature_moments")["truncated_beta_moments_a0=0.2_eps=1_N=20"]
    found = {(int(row["successes"]), row["law"]): row for row in rows("figure-4.1")}
    names = {
        "truncated": "nonprivate_truncated",
        "tempered joint": "A_lebesgue_p",
        "tempered natural": "B_eq4.13_logit_measure",
    }
    for expected in C1:
        for ours, theirs in names.items():
            row, wanted = found[expected["n_plus"], ours], expected[theirs]
            assert float(row["mean"]) == pytest.approx(wanted["mean"], rel=1e-12)
            assert float(row["variance"]) == pytest.approx(wanted["var"], rel=1e-12)
    # reference C2: the least temperature for ε = 1 at n = 20
    assert float(found[6, "least temperature"]["temperature"]) == pytest.approx(2.3480062095810004, rel=1e-10)
    assert float(found[6, "tempered joint"]["temperature"]) == pytest.approx(2.772588722239781, rel=1e-14)


COLUMNS = {
    "exact_posterior": ("nonprivate", CLOSED),
    "ops_joint": ("ops_A", CLOSED),
    "ops_natural": ("ops_B", CLOSED),
    "noise_both_counts": ("laplace_sens2", QUADRATURE),
    "noise_success_count": ("laplace_sens1_clipN", QUADRATURE),
}


def test_error_against_n_is_reference_C3(rows):
    C3 = reference("C3_fig4_2_L1_error")["results"]
    for row in rows("figure-4.2"):
        for ours, (theirs, digits) in COLUMNS.items():
            assert float(row[ours]) == pytest.approx(C3[row["n"]][theirs], rel=digits), (ours, row["n"])


def test_error_at_300_records_is_reference_C3():
    C3 = reference("C3_fig4_2_L1_error")["results"]["300"]
    for found, (theirs, digits) in zip(errors(300), COLUMNS.values(), strict=True):
        assert found == pytest.approx(C3[theirs], rel=digits)


def test_adversarial_data_is_reference_C2(rows):
    C2 = reference("C2_adversarial_local_eps")
    local = {row["N"]: row["eps"] for row in C2["variant1_local_eps_over_all_substitutions_of_dataset"]}
    worst = C2["exact_worst_case_eps_over_all_datasets_of_size_N_T=1"]
    found = {int(row["n"]): row for row in rows("adversarial-data")}
    for n, row in found.items():
        assert float(row["adversarial"]) == pytest.approx(local[n], rel=1e-14)
        assert float(row["bound"]) == pytest.approx(C2["worst_case_2Delta"], rel=1e-14)
        assert float(row["balanced"]) <= float(row["worst_case"]) < float(row["bound"])
        assert float(row["temperature"]) < float(row["temperature_bound"])
        if str(n) in worst:
            assert float(row["worst_case"]) == pytest.approx(worst[str(n)], rel=1e-14)


def test_a_seed_repeats_a_simulation_and_another_does_not():
    first = simulated(10, 40, SeededSource(3))
    assert first == simulated(10, 40, SeededSource(3))
    assert first != simulated(10, 40, SeededSource(4))


def test_an_unknown_experiment_names_those_there_are():
    with pytest.raises(ValueError, match=r"figure-4\.1"):
        find("figure-9.9")


def test_every_experiment_says_where_it_was_published():
    assert set(EXPERIMENTS) >= {
        "figure-4.1", "figure-4.2", "adversarial-data", *(f"figure-5.{i}" for i in range(1, 9)),
        "profiles", "amplification",
    }  # fmt: skip
    assert all(e.published and e.title for e in EXPERIMENTS.values())
