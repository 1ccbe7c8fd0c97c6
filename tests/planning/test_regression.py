"""Plans of regressions: what they predict comes true, and they read and spend nothing."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.mechanisms.registry import MECHANISMS, offered_to
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature, GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, DeclaredLoss
from discreet.models.regression_records import Records
from discreet.planning import plan
from discreet.planning.regression import plan as regression
from discreet.planning.regression.prediction import missed, standard_error, worlds

OF_REGRESSIONS = offered_to("regression")

MODEL = BayesianLogisticRegression("ill", ("age", "dose"), norm=1, radius=6)
TARGET = dc.ApproxDP(1, 1e-5)


@pytest.fixture(scope="module")
def usual():
    return plan(MODEL, n=1000, target=TARGET, replicates=6)


def test_every_mechanism_is_tried_or_refused_with_a_reason(usual):
    assert {row.name for row in usual.rows} | {r.name for r in usual.refused} == set(OF_REGRESSIONS)
    assert "objective_perturbation" in {row.name for row in usual.rows}
    assert "direct" in {r.name for r in usual.refused}  # R = 6 is too wide a prior for one plain draw
    errors = [row.error for row in usual.rows]
    assert errors == sorted(errors)
    assert all(row.mechanism.guarantee <= TARGET for row in usual.rows)
    assert usual.exact.error < usual.best.error + 2 * usual.best.error_se
    assert usual.recommended in {row.name for row in usual.close}


def test_intervals_are_of_those_that_are_read_and_draws_have_none(usual):
    for row in usual.rows:
        has = row.name in {"objective_perturbation", "polynomial_statistics"}
        assert (row.width is not None) == has
        assert (row.coverage is not None) == has


def test_what_is_predicted_comes_true():
    """An independent run, from records and the mechanism alone; 4 standard errors: 1 in 8000 by chance."""
    names, replicates = ("objective_perturbation", "tuned"), 20
    found = plan(MODEL, 1000, TARGET, replicates=replicates, seed=3, mechanisms=names)
    predicted = {row.name: row for row in found.rows}
    bound = MODEL.bind([Feature("age"), Feature("dose")])
    rng = np.random.default_rng(77)
    for name in names:
        ready = MECHANISMS[OF_REGRESSIONS[name]].calibrate(bound, n=1000, target=TARGET)
        wrong, covered = [], []
        for i in range(replicates):
            w = 6 / 3**0.5 * rng.standard_normal(3)
            x = 0.5 / 2**0.5 * rng.standard_normal((2000, 2))
            rows = Records.of(bound, x, np.zeros(2000)).rows
            y = np.where(rng.random(2000) < 1 / (1 + np.exp(-rows @ w)), 1, -1)
            drawn = ready.release(Records.of(bound, x[:1000], y[:1000]), dc.SeededSource(i))
            read = regression.posterior(regression.as_released_value(drawn, bound, several=False))
            wrong.append(np.mean((read.probability(x[1000:]) > 0.5) != (y[1000:] > 0)))
            if name == "objective_perturbation":
                low, high = read.encoded_interval(0.9).T
                covered.append(np.mean((low <= w) & (w <= high)))
        row = predicted[name]
        assert abs(np.mean(wrong) - row.error) < 4 * np.hypot(standard_error(wrong), row.error_se)
        if covered:
            spread = np.hypot(standard_error(covered), row.coverage_se)
            assert abs(np.mean(covered) - row.coverage) < 4 * spread
            assert abs(np.mean(covered) - 0.3) > 4 * spread  # the check can fail


def test_a_wrong_world_is_noticed():
    """Negative control of the comparison above: predictions for a tenth of the records differ visibly."""
    only = ("objective_perturbation",)
    few = plan(MODEL, 100, TARGET, replicates=10, mechanisms=only).best
    many = plan(MODEL, 10_000, TARGET, replicates=8, mechanisms=only).best
    assert few.error > many.error + 0.02
    assert few.width > many.width


def test_a_plan_reads_no_table_opens_no_ledger_and_draws_no_secret_bits():
    code = """
import sys
import discreet as dc
dc.SystemSource.words = None  # secret bits would fail
from discreet.models.generalized_linear import BayesianLogisticRegression
model = BayesianLogisticRegression("y", ("a",), norm=1)
dc.plan(model, 200, dc.ApproxDP(1, 1e-5), replicates=1)
private = ("discreet.tables", "discreet.ledger", "discreet.statistics", "discreet.privatise")
touched = {m for m in sys.modules if m.startswith(private)}
assert not touched, touched
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_the_same_seed_gives_the_same_plan():
    one, two, other = (
        plan(MODEL, 200, TARGET, replicates=3, seed=seed, mechanisms=["tuned"]).to_json()
        for seed in (5, 5, 6)
    )
    assert one == two
    assert one != other


def test_a_plan_as_text_json_and_picture(usual, tmp_path):
    pytest.importorskip("matplotlib")
    text = usual.table()
    for words in (
        "test error",
        "log loss",
        "covers",
        "none: one draw",
        "posterior, not private",
        "recommended",
    ):
        assert words in text
    assert all(len(line) < 160 for line in text.splitlines())
    said = json.loads(json.dumps(usual.to_json(), allow_nan=False))
    assert said["rows"][0]["replicates"] == 6
    assert said["error_is"] == "test error"
    assert usual.picture(tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_low_coverage_and_a_capped_n_are_said_aloud(monkeypatch):
    monkeypatch.setattr(regression, "LARGEST_N", 100)
    found = plan(MODEL, 5000, TARGET, replicates=2, mechanisms=["polynomial_statistics"])
    assert found.simulated_n == 100
    assert any("simulated with n = 100" in words for words in found.cautions)
    assert "CAUTION" in found.table()
    low = [
        r.__class__(**{**r.__dict__, "coverage": 0.8, "coverage_se": 0.02}) if r.coverage else r
        for r in found.rows
    ]
    worse = found.__class__(**{**found.__dict__, "rows": tuple(low)})
    assert any("cover 80% of the weights" in words for words in worse.cautions)


def indicators(rng, p):
    return (rng.random((300, p)) < 0.5) * 1.0


def skewed(rng, p):
    return rng.exponential(size=(300, p)) / p**0.5


DESIGNS = [
    (2, 1000, 0.1, indicators),
    (8, 1000, 0.3, skewed),
    (1, 500, 1, None),
    (2, 3000, 0.3, None),
]


@pytest.mark.parametrize(("p", "n", "epsilon", "design"), DESIGNS)
def test_where_a_plan_warns_so_does_the_result(p, n, epsilon, design):
    """And where neither does, intervals hold: 3 standard errors below 85 % are 1 in 700 by chance."""
    names = tuple(f"x{i}" for i in range(p))
    model = BayesianLogisticRegression("y", names, norm=1)
    target, rng = dc.ApproxDP(epsilon, 1e-5), np.random.default_rng(p)
    sample = None if design is None else design(rng, p)
    only = {"mechanisms": ["objective_perturbation"], "public_sample": sample}
    found = plan(model, n, target, replicates=24, **only)
    records = Records.of(found.model, rng.normal(size=(n, p)) / 2, rng.choice([-1, 1], n))
    release = found.best.mechanism.release(records, dc.SeededSource(1))
    caution = regression.posterior(regression.as_released_value(release, found.model, several=False)).caution
    assert bool(found.cautions) == (caution is not None)
    assert found.best.coverage > 0.85 - 3 * found.best.coverage_se


def test_a_caution_of_a_result_is_a_caution_of_its_plan():
    few = plan(MODEL, 3000, dc.ApproxDP(0.3, 1e-5), replicates=2, mechanisms=["objective_perturbation"])
    assert "expected to hold the weight" in few.best.caution
    assert any("its result would say" in words for words in few.cautions)
    told = few.to_json()
    assert told["rows"][0]["caution"] == few.best.caution
    naive = plan(MODEL, 300, TARGET, replicates=2, mechanisms=["objective_perturbation"], reading="naive")
    assert any("left out of this reading" in words for words in naive.cautions)


def test_worlds_may_be_told_the_weights_and_the_rows():
    sample = np.array([[1.0, 0.0], [0.0, 1.0]])
    told = worlds(MODEL, 50, truth=[1, 2, 3], public_sample=sample, replicates=1, seed=0)
    world = told.world(0)
    assert world.weights.tolist() == [1, 2, 3]
    assert {tuple(row) for row in world.features} == {(1, 0), (0, 1)}
    assert "as given" in told.assumed
    assert "public sample" in told.assumed
    found = plan(
        MODEL, 200, TARGET, truth=[1, 2, 3], public_sample=sample, replicates=2, mechanisms=["tuned"]
    )
    assert found.rows


def test_a_design_with_levels_has_a_weight_for_each():
    bound = MODEL.bind([Feature("age"), Feature("dose", level="low"), Feature("dose", level="high")])
    assert plan(bound, 100, TARGET, replicates=2, mechanisms=["tuned"]).model.dimension == 4


def test_counts_are_planned_and_a_declared_loss_says_why_not():
    counts = GeneralizedLinear("visits", ("age",), norm=1, radius=1, loss=ClippedPoisson(20))
    found = plan(counts, 500, dc.ApproxDP(2, 1e-5), replicates=3)
    assert "rms error of rate" in found.table()
    assert {"polynomial_statistics"} <= {r.name for r in found.refused}
    declared = DeclaredLoss(*[lambda s, y: s * y] * 3, 1, 1)
    with pytest.raises(ValueError, match="names none"):
        plan(GeneralizedLinear("y", ("a",), norm=1, loss=declared), 100, TARGET)


def test_judging_a_prediction_is_expected_loss():
    p, truth = np.array([0.9, 0.2]), np.array([0.8, 0.4])
    error, log_loss = missed(MODEL.loss, p, truth)
    assert error == pytest.approx((0.2 + 0.4) / 2)
    by_hand = -(0.8 * np.log(0.9) + 0.2 * np.log(0.1) + 0.4 * np.log(0.2) + 0.6 * np.log(0.8)) / 2
    assert log_loss == pytest.approx(by_hand)


def test_with_n_private_no_mechanism_is_told_it():
    found = plan(MODEL, 300, dc.ApproxDP(1, 1e-5, relation=dc.ADD_REMOVE), replicates=1)
    assert found.rows
    assert all(row.mechanism.n is None for row in found.rows)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rank_by": "kl"}, "ranked by error, log_loss"),
        ({"mechanisms": ["magic"]}, "mechanisms of BayesianLogisticRegression are"),
        ({"level": 1.0}, "strictly between"),
        ({"replicates": 0}, "at least 1"),
        ({"truth": [1.0]}, "3 finite weights"),
        ({"public_sample": [[1.0]]}, "rows of 2 finite"),
    ],
)
def test_nonsense_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        plan(MODEL, 100, TARGET, **given)


# ── models of counts ────────────────────────────────────────────────────────────────────────────────────
def test_models_of_counts_are_planned_too():
    bayes = dc.NaiveBayes("y", ("a", "b")).bind({"y": 2, "a": 3, "b": 2})
    found = plan(bayes, 1000, dc.ApproxDP(0.5, 1e-6), replicates=3, reading="naive")
    assert [row.noise for row in found.rows] == sorted(row.noise for row in found.rows)
    assert found.best.mechanism.guarantee <= dc.ApproxDP(0.5, 1e-6)
    assert found.best.accuracy.private <= found.best.accuracy.exact + 0.1
    assert "accuracy" in found.table()
    network = dc.BayesianNetwork((("a", "b"),)).bind({"a": 2, "b": 3})
    pure = plan(network, 1000, dc.PureDP(0.1))
    assert {r.name for r in pure.refused} == {"noisy_counts (gaussian)", "noisy_counts (discrete_gaussian)"}
    # 2 tables at ε = .05 each, moved by 2 on substitution: Laplace of scale 40, deviation 40√2, over 1000/6
    assert pure.best.deviations == pytest.approx([40 * 2**0.5] * 2, rel=1e-3)
    assert pure.best.worst == pytest.approx(40 * 2**0.5 * 6 / 1000, rel=1e-3)
    with pytest.raises(ValueError, match="bind"):
        plan(dc.NaiveBayes("y", ("a",)), 100, dc.PureDP(1))
    with pytest.raises(TypeError, match="str has no row in the catalogue"):
        plan("model", 100, dc.PureDP(1))


# ── on the command line ─────────────────────────────────────────────────────────────────────────────────
SCHEMA = """
[columns.ill]
kind = "binary"
[columns.age]
kind = "bounded"
lower = 0
upper = 100
[columns.ward]
kind = "categories"
levels = ["A", "B"]
"""


def command(*words):
    done = CliRunner().invoke(app, ["plan", *words, "--target", "approx:1,1e-5", "--n", "200"])
    assert done.exit_code == 0, done.output
    return done.output


def test_plan_on_the_command_line(tmp_path):
    where = tmp_path / "schema.toml"
    where.write_text(SCHEMA)
    prior = 'target="ill", features=["age", "ward"], norm=1'
    regression_of = ("--model", "bayesian-logistic-regression", "--prior", prior, "--replicates", "1")
    said = json.loads(command(*regression_of, "--schema", str(where), "--json"))
    assert {row["replicates"] for row in said["rows"]} == {1}
    assert {row["error_se"] for row in said["rows"]} == {None}  # nothing is known of it from one data set
    counts = ("--model", "naive_bayes", "--prior", 'label="ill", features=["ward"]', "--replicates", "2")
    assert "noisy_counts" in command(*counts, "--schema", str(where))
