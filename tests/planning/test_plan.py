"""plan(): every family, both relations, ranking, refusals, text, picture and JSON; it reads no data."""

import ast
import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_mean import NormalMean
from discreet.families.registry import EXAMPLES
from discreet.mechanisms.noise.laplace import Laplace
from discreet.mechanisms.registry import single_draws
from discreet.mechanisms.statistics.noised_vector import NOISES
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning import Plan, plan, predict
from discreet.planning.prediction import predicted
from discreet.planning.simulated_data import cases
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP

SRC = Path(discreet.__file__).parent
MODEL = BetaBernoulli(6, 12)
NAMES = {*single_draws(), "one_posterior_sample"} | {f"noisy_statistics ({n})" for n in NOISES}


@pytest.fixture(scope="module")
def small() -> Plan:
    return plan(MODEL, 500, ApproxDP(0.5, 1e-6), truth=0.3)


@pytest.mark.parametrize(
    ("model", "data"), [pytest.param(m, d, id=f"{type(m).__name__}{i}") for i, (m, d) in enumerate(EXAMPLES)]
)
@pytest.mark.parametrize("target", [ApproxDP(1, 1e-5), PureDP(1, relation=ADD_REMOVE)], ids=["sub", "add"])
def test_every_family_is_planned(model, data, target):
    found = plan(model, 100, target, simulations=16)
    assert {row.name for row in found.rows} | {r.name for r in found.refused} == NAMES
    assert any(row.name.startswith("noisy_statistics") for row in found.rows)
    for row in (*found.rows, found.exact):
        assert row.error > 0
        assert 0 < row.absolute <= row.error * (1 + 1e-9) or len(model.units) > 1
        assert row.honest_width >= 0
        assert row.kl >= 0 or (math.isnan(row.kl) and row.reading == "noise_aware")
        assert row.coverage is None or 0 <= row.coverage <= 1
        assert row.mechanism is None or row.mechanism.guarantee <= target
    json.dumps(found.to_json(), allow_nan=False)
    assert found.table()


@pytest.mark.parametrize(
    ("model", "data"), [pytest.param(m, d, id=f"{type(m).__name__}{i}") for i, (m, d) in enumerate(EXAMPLES)]
)
def test_a_public_sample_stands_in_for_the_prior(model, data):
    rows = np.asarray(data, dtype=float)
    noisy = NoisyStatistics.calibrate(model, n=60, target=PureDP(2))
    found = predict(noisy, public_sample=np.concatenate([rows] * 5), simulations=16)
    assert math.isfinite(found.absolute)
    assert found.by == "simulation, 16 nodes"


def test_rows_are_ranked_best_first(small):
    errors = [row.error for row in small.rows]
    assert errors == sorted(errors)
    assert small.best is small.rows[0]
    by_kl = plan(MODEL, 500, ApproxDP(0.5, 1e-6), truth=0.3, rank_by="kl")
    divergences = [row.kl for row in by_kl.rows]
    assert divergences == sorted(divergences)
    assert by_kl.rows[-1].name == "one_posterior_sample"  # a truncated law misses a part: ∞
    assert by_kl.rows[-1].kl == math.inf


def test_nothing_beats_the_exact_posterior(small):
    assert all(row.error >= small.exact.error * (1 - 1e-9) for row in small.rows)
    assert all(row.efficiency >= 1 - 1e-9 for row in small.rows)
    assert small.exact.kl == 0


def test_one_draw_has_no_naive_interval(small):
    for row in small.rows:
        one_draw = not row.name.startswith("noisy_statistics")
        assert (row.width is None) == (row.coverage is None) == one_draw


def test_refusals_carry_the_mechanism_s_own_reason():
    found = plan(MODEL, 100, PureDP(0.5), truth=0.3)
    reasons = {r.name: r.reason for r in found.refused}
    assert set(reasons) == {
        *single_draws(),
        "noisy_statistics (gaussian)",
        "noisy_statistics (discrete_gaussian)",
    }
    assert "never pure DP" in reasons["direct"]


def test_a_plan_without_rows_says_why():
    found = plan(MODEL, 100, PureDP(0.5), truth=0.3)
    empty = Plan(found.model, 100, found.target, (), found.refused, 0.9, "", "error", found.exact)
    with pytest.raises(Unreachable, match="never pure DP"):
        _ = empty.best
    assert "cannot meet" in empty.table()


@pytest.mark.parametrize("target", [ZeroCDP(0.1), GaussianDP(0.5), RenyiDP.at(2, 0.5)], ids=repr)
def test_every_kind_of_target(target):
    found = plan(NormalMean(0, 2, 1, -3, 3), 200, target, simulations=100)
    assert any(row.name == "direct" for row in found.rows)  # a Gaussian draw, exactly GDP
    assert all(row.mechanism.guarantee <= target for row in found.rows)


def test_more_privacy_means_more_error():
    errors = [plan(MODEL, 300, ApproxDP(e, 1e-6), truth=0.3) for e in (0.1, 0.5, 2.0)]
    for name in ("diffused", "one_posterior_sample", "noisy_statistics (discrete_laplace)"):
        along = [next(r.error for r in p.rows if r.name == name) for p in errors]
        assert along == sorted(along, reverse=True)
        assert along[0] > along[-1]


def test_more_records_mean_less_error():
    target = ApproxDP(0.5, 1e-6)
    plans = [plan(MODEL, n, target, truth=0.3) for n in (50, 500, 5000)]
    for name in ("diffused", "one_posterior_sample", "noisy_statistics (discrete_gaussian)"):
        along = [next(r.error for r in p.rows if r.name == name) for p in plans]
        assert along == sorted(along, reverse=True)


def test_coordinates_choose_what_is_reported():
    model = NormalInverseGamma(0, 2, 5, 4, -4, 4)
    noisy = NoisyStatistics.calibrate(model, n=200, target=PureDP(1))
    both, mean, variance = (predict(noisy, simulations=16, coordinates=c) for c in (None, [0], [1]))
    assert both.absolute == pytest.approx((mean.absolute + variance.absolute) / 2)
    assert mean.absolute != variance.absolute


def test_truncation_is_an_option_and_biases():
    """θ = 0.1 cannot be released from [0.2, 0.8]."""
    loose, tight = (
        next(r for r in plan(MODEL, 500, PureDP(1), truth=0.1, truncation=a).rows if r.knob == "T")
        for a in (0.01, 0.2)
    )
    assert tight.absolute >= 0.1
    assert loose.absolute < 0.1
    assert tight.value < loose.value  # less to protect, less heat


def test_the_same_seed_gives_the_same_plan():
    one, two, other = (plan(MODEL, 100, PureDP(1), simulations=200, seed=s).to_json() for s in (1, 1, 2))
    assert one == two
    assert one != other


def test_dirichlet_truncation_default_fits_many_categories():
    found = plan(DirichletCategorical([1] * 30), 400, PureDP(2), simulations=32)
    assert any(row.name == "one_posterior_sample" for row in found.rows)


def test_regression_with_a_design_of_its_own():
    model = BayesianLinearRegression([0, 0], [[1, 0], [0, 1]], 3, 2, radius=3)
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 200)
    public = np.column_stack([np.ones(200), x, 0.5 * x + 0.3 * rng.standard_normal(200)])
    noisy = NoisyStatistics.calibrate(model, n=2000, target=ZeroCDP(0.5), noise="gaussian")
    found = predict(noisy, public_sample=public, simulations=40, coordinates=[1])
    assert found.error < 0.5


# --- text, picture, JSON -----------------------------------------------------------------------------------
def test_table_is_aligned_and_complete(small):
    lines = small.table().splitlines()
    head = next(line for line in lines if line.startswith("mechanism"))
    for row in small.rows:
        line = next(line for line in lines if line.startswith(f"{row.name} "))
        assert f"{row.error:.4g}" in line
        assert line.index(f"{row.knob} = ") == head.index("knob")
    assert "none: one draw" in small.table()
    assert "posterior, not private" in small.table()
    assert all(line == line.rstrip() for line in lines)


def test_picture_is_written(small, tmp_path):
    path = small.picture(tmp_path / "plan.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert small.picture(str(tmp_path / "plan.svg")).read_text().lstrip().startswith("<?xml")


def test_json_holds_every_number(small):
    found = json.loads(json.dumps(small.to_json(), allow_nan=False))
    assert [row["name"] for row in found["rows"]] == [row.name for row in small.rows]
    assert found["rows"][0]["error"] == small.rows[0].error
    assert found["relation"] == "substitute"
    assert "inf" in {row["kl"] for row in found["rows"]}


# --- bad input ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n": 0}, "positive number of records"),
        ({"n": 2.5}, "positive number of records"),
        ({"truth": 1.5}, "inside its range"),
        ({"truth": math.nan}, "inside its range"),
        ({"truth": [0.3, 0.7]}, "inside its range"),
        ({"truth": "high"}, "inside its range"),
        ({"truth": 0.3, "public_sample": [0, 1]}, "not both"),
        ({"public_sample": []}, "no records"),
        ({"level": 1.0}, "level"),
        ({"level": math.nan}, "level"),
        ({"rank_by": "beauty"}, "rank_by"),
        ({"simulations": 3}, "at least 16"),
        ({"coordinates": [1]}, "coordinates"),
        ({"coordinates": []}, "coordinates"),
        ({"truncation": 0.7}, "truncation"),
    ],
)
def test_bad_input(changes, said):
    arguments = {"n": 100, "target": PureDP(1), "simulations": 16} | changes
    with pytest.raises(ValueError, match=said):
        plan(MODEL, **arguments)


def test_predict_needs_n_where_it_is_private():
    noisy = NoisyStatistics(MODEL, scale=2, relation=ADD_REMOVE)
    with pytest.raises(ValueError, match="needs"):
        predict(noisy)
    assert predict(noisy, 100, simulations=32).error > 0


def test_other_mechanisms_are_not_planned():
    with pytest.raises(NotProved, match="laplace"):
        predicted(Laplace(1, 1), cases(MODEL, 10, truth=0.3), 0.9)
    with pytest.raises(ValueError, match="posterior mechanism"):
        predict(Laplace(1, 1), 10)


# --- layers ------------------------------------------------------------------------------------------------
def test_planning_reads_no_data_and_spends_nothing():
    forbidden = {"tables", "statistics", "ledger", "privatise", "release"}
    files = [*(SRC / "planning").rglob("*.py")]
    assert len(files) > 5
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            second = {name.split(".")[1].partition("_")[0] for name in names if name.startswith("discreet.")}
            assert not second & forbidden, path.name


def test_the_mechanism_of_a_job_is_the_only_one_planned():
    made = plan(MODEL, 200, PureDP(1), mechanism="direct")
    assert {row.name for row in made.rows} | {r.name for r in made.refused} == {"direct"}
