"""Forest and additive models: scikit-learn's checks, what one record moves, what stays, what is learned."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as dc
from discreet.learn import AdditiveClassifier, AdditiveRegressor, RandomForestClassifier
from discreet.learn.trees.boosting import BoostedShapes, LogisticResiduals
from discreet.learn.trees.columns import Columns
from discreet.learn.trees.forest import counted
from discreet.learn.trees.partitions import drawn
from discreet.learn.trees.residuals import Histograms
from discreet.learn.trees.shares import leaf_shares
from discreet.mechanisms.learners.tree_counts import class_totals, histograms, leaf_counts
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE

LOWER, UPPER, CODES = (0.0, -1.0, 0.0), (10.0, 1.0, 4.0), (2,)
DECLARED = {"bounds": (LOWER, UPPER), "categorical_features": CODES, "random_state": 0}
CLASSIFIERS = (RandomForestClassifier, AdditiveClassifier)


def made(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.uniform(0, 10, n), rng.uniform(-1, 1, n), rng.integers(0, 5, n)])
    score = np.sin(x[:, 0]) * 3 + 2 * (x[:, 2] > 2) - 1
    return x, score, (rng.random(n) < 1 / (1 + np.exp(-2 * score))).astype(int)


# ── scikit-learn's own checks ───────────────────────────────────────────────────────────────────────────
SHARED = {
    "check_dtype_object": "columns of objects are refused by their type: converting them would quote a value",
    "check_supervised_y_no_nan": "an error about one answer would tell of one record",
}
DECLARED_CLASSES = {
    "check_classifiers_classes": "classes are declared, not learned from y",
    "check_classifiers_train": "classes are declared: one estimator is not for 2 and for 3 classes",
    "check_classifiers_regression_target": "a label that is not declared counts for nothing, without error",
}
CHECKED = [
    RandomForestClassifier(epsilon=8, delta=1e-3, classes=[0, 1], bounds=(-9, 9), random_state=0, depth=3),
    AdditiveClassifier(
        epsilon=8, delta=1e-3, classes=[0, 1], bounds=(-9, 9), random_state=0, bins=4, rounds=2
    ),
    AdditiveRegressor(
        epsilon=64, delta=1e-3, answers=(-3, 3), bounds=(-3, 3), random_state=0, bins=8, rounds=4
    ),
]


@parametrize_with_checks(
    CHECKED,
    expected_failed_checks=lambda e: (
        SHARED if isinstance(e, AdditiveRegressor) else SHARED | DECLARED_CLASSES
    ),
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ── what must be public ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bounds": None}, "bounds must be declared.*public knowledge"),
        ({"bounds": (0, 0)}, "lower < upper.*public"),
        ({"bounds": ([0, 0], 1)}, "3 numbers, one per column"),
        ({"classes": None}, "classes must be declared.*public knowledge"),
        ({"categorical_features": [0], "bounds": (0, 0.5)}, "codes, whose bounds must be whole numbers"),
        ({"categorical_features": [3]}, "counts columns from 0 to 2"),
        ({"categorical_features": ["ward"]}, "no column is called so"),
    ],
)
def test_what_is_missing_or_wrong_is_said_before_anything_is_read(kind, given, words):
    x, _, y = made(20)
    with pytest.raises(ValueError, match=words):
        kind(**{"epsilon": 1, "classes": [0, 1], **DECLARED, **given}).fit(x, y)


@pytest.mark.parametrize(
    "given", [{"answers": None}, {"answers": (1, 0)}, {"clip": 0}, {"clip": 2}, {"bins": 1}]
)
def test_a_regressors_range_must_be_said(given):
    x, y, _ = made(20)
    with pytest.raises(ValueError, match=r"answers|clip|bins"):
        AdditiveRegressor(**{"epsilon": 1, "answers": (-4, 4), **DECLARED, **given}).fit(x, y)


# ── what one record moves ───────────────────────────────────────────────────────────────────────────────
HOSTILE = np.array(
    [
        (np.inf, -np.inf, np.nan),
        (1e308, -1e308, 1e308),
        (5e-324, -5e-324, -0.0),
        (np.nan, np.nan, np.inf),
        (10.0, 1.0, 4.0),
        (0.0, -1.0, 0.0),
    ]
)


def asked(kind, x, y, relation):
    """What each block counts of these records, given the same noisy answers to all blocks before it."""
    columns = Columns.of((LOWER, UPPER), CODES, ["a", "b", "c"])
    if kind == "forest":
        parts = drawn(columns, 7, 4, 0)
        return (leaf_counts(7, 16, 3, relation),), [counted(parts, columns(x), y, 3)]
    sizes = columns.sizes(6)
    blocks = histograms(class_totals(3, relation), sizes, 3, 2, relation)
    known = y >= 0
    one_hot = np.eye(3)[y[known]]

    def residuals(scores):
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return one_hot - weights / weights.sum(axis=1, keepdims=True)

    ask = Histograms(
        lambda: (one_hot.sum(axis=0).astype(np.int64), columns.bins(x[known], 6), residuals),
        BoostedShapes(sizes, columns.categorical, 3, LogisticResiduals(), [0.5] * len(blocks)),
    )
    rng, released, found = np.random.default_rng(1), (), []
    for i, block in enumerate(blocks):
        found.append(ask(i, released))
        released = (*released, rng.normal(0, 2e4, block.size))  # long steps: scores that leave no doubt
    return blocks, found


@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE])
@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_no_record_moves_what_is_counted_further_than_declared(kind, relation):
    """Hostile neighbours, and every block's measured change against its declared L1 and L2²."""
    rng, worst = np.random.default_rng(0), 0.0
    x, _, y = made(30)
    blocks, before = asked(kind, x, y, relation)
    for row in HOSTILE:
        for label in (-1, 0, 1, 2):
            i = int(rng.integers(30))
            near, answers = x.copy(), y.copy()
            near[i], answers[i] = row, label
            if relation is ADD_REMOVE:
                near, answers = np.vstack([x, row]), np.append(y, label)
            _, after = asked(kind, near, answers, relation)
            for block, a, b in zip(blocks, before, after, strict=True):
                change = (a - b).astype(float)
                assert np.abs(change).sum() <= block.l1
                assert change @ change <= block.square
                worst = max(worst, float(change @ change / block.square))
    assert worst > 0.3  # the bound is one that records come near


def test_a_wrong_declaration_would_be_seen():
    """The measure has power: trees taken as disjoint would be exceeded."""
    x, _, y = made(30)
    (block,), (before,) = asked("forest", x, y, SUBSTITUTE)
    near = x.copy()
    near[0] = (10.0, 1.0, 4.0) if x[0, 0] < 5 else (0.0, -1.0, 0.0)
    _, (after,) = asked("forest", near, 2 - y, SUBSTITUTE)
    assert ((before - after) ** 2).sum() > block.square / 7


# ── what stays, and what is paid ────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", [*CLASSIFIERS, AdditiveRegressor])
def test_nothing_of_the_records_stays_but_the_noisy_numbers(kind):
    """No value of a record and no array of as many entries as there are records is in the fitted object."""
    x, score, y = made(60)
    secret = 7.39204163
    x[0, 0] = secret
    given = {"answers": (-4, 4)} if kind is AdditiveRegressor else {"classes": [0, 1]}
    model = kind(epsilon=1, delta=1e-5, **DECLARED, **given).fit(x, score if kind is AdditiveRegressor else y)
    kept = pickle.dumps(model)
    assert np.float64(secret).tobytes() not in kept
    assert not [a for a in arrays(model) if a.ndim and a.shape[0] == 60]
    again = pickle.loads(kept)  # noqa: S301 - our own
    assert (again.predict(x) == model.predict(x)).all()


def arrays(value, seen=None):
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            yield from arrays(part, seen)
    elif isinstance(value, dict):
        yield from arrays(list(value.values()), seen)
    elif hasattr(value, "__dict__"):
        yield from arrays(vars(value), seen)


def test_the_same_charge_gives_the_same_forest_whatever_the_records(tmp_path):
    x, _, y = made(80)
    ledger = dc.Ledger.open(tmp_path / "b.db", budget=dc.ApproxDP(1, 1e-5))
    kw = {"bounds": (LOWER, UPPER), "classes": [0, 1], "epsilon": 1, "delta": 1e-5, "depth": 3}
    first = RandomForestClassifier(ledger=ledger, **kw).fit(x, y, charge_id="forest")
    again = RandomForestClassifier(ledger=ledger, **kw).fit(x, 1 - y, charge_id="forest")
    assert (first.predict_proba(x) == again.predict_proba(x)).all()
    assert first.certificate_["mechanism"]["name"] == "noisy_blocks"
    with pytest.raises(Exception, match=r"budget|exceed"):
        RandomForestClassifier(ledger=ledger, **kw).fit(x, y)


# ── what is learned ─────────────────────────────────────────────────────────────────────────────────────
def test_without_noise_shares_are_those_of_the_dirichlet_posterior():
    """One split: (c + s·π)/(N + s) in each leaf, for counts that are exact."""
    counts = np.array([[[30.0, 10.0], [5.0, 15.0]]])
    whole = np.array([35, 25]) / 60
    shares = leaf_shares(counts, whole, 0.0, 4.0)
    assert shares[0] == pytest.approx((counts[0] + 4 * whole) / (counts[0].sum(axis=1, keepdims=True) + 4))


def test_the_best_linear_reading_errs_least():
    """Simulated: shares read with the right noise err less than with a quarter or four times of it."""
    rng, errors = np.random.default_rng(0), {0.25: 0.0, 1.0: 0.0, 4.0: 0.0}
    for _ in range(300):
        whole = np.array([0.5, 0.5])
        truth = rng.dirichlet(4 * whole, size=2)
        n = np.array([40, 40])
        counts = np.array([rng.multinomial(k, p) for k, p in zip(n, truth, strict=True)])
        noisy = counts + rng.normal(0, 6, counts.shape)
        for times in errors:
            errors[times] += float(
                ((leaf_shares(noisy[None], whole, 36 * times**2, 4.0)[0] - truth) ** 2).sum()
            )
    assert errors[1.0] < min(errors[0.25], errors[4.0])


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_generous_budget_learns_what_is_there_and_a_poor_one_says_little(kind):
    x, _, y = made(3000)
    test, truth, labels = made(1000, seed=1)
    rich = kind(epsilon=1e4, delta=1e-5, classes=[0, 1], **DECLARED).fit(x, y)
    best = np.mean((truth > 0) == labels)
    assert rich.score(test, labels) > best - 0.06  # 16 bins are coarse
    poor = kind(epsilon=1e-3, delta=1e-7, classes=[0, 1], **DECLARED).fit(x, y)
    assert abs(poor.predict_proba(test) - 0.5).mean() < abs(rich.predict_proba(test) - 0.5).mean()


def test_the_number_of_trees_follows_from_what_is_public():
    x, _, y = made(300)
    common = {"classes": [0, 1], "depth": 3, **DECLARED}
    sizes = {}
    for epsilon in (0.1, 1, 10):
        fit = RandomForestClassifier(epsilon=epsilon, delta=1e-5, **common).fit(x, y)
        sizes[epsilon] = fit.mechanism_.blocks[1].size // 16
    assert sizes[0.1] == 4
    assert sizes[0.1] < sizes[1] < sizes[10] == 50
    unknown = RandomForestClassifier(epsilon=0.1, delta=1e-5, relation="add_remove", **common).fit(x, y)
    assert unknown.mechanism_.blocks[1].size // 16 == 50


def test_shapes_are_in_units_of_the_answers_and_can_be_drawn():
    pytest.importorskip("matplotlib")
    x, score, _ = made(3000)
    model = AdditiveRegressor(epsilon=1e4, delta=1e-5, answers=(-4, 4), rounds=20, **DECLARED).fit(x, score)
    assert model.score(*made(500, seed=1)[:2]) > 0.97
    codes = model.shapes_[2][:, 0]
    assert codes[3:].mean() - codes[:3].mean() == pytest.approx(2.0, abs=0.1)
    assert len(model.plot([0, 2]).axes) == 3
    assert list(model.summary_.columns) == ["name", "mean", "sd", "lower", "upper"]


def test_a_pipeline_fits_and_several_classes_are_distinguished(tmp_path):
    x, score, _ = made(3000)
    y = np.digitize(score, [-1, 1])
    for kind in CLASSIFIERS:
        one = kind(epsilon=50, delta=1e-5, classes=[0, 1, 2], **DECLARED)
        fitted = make_pipeline(FunctionTransformer(), one).fit(x, y)
        assert fitted.score(x, y) > 0.8
    assert "<html" in fitted[-1].report(tmp_path / "r.html").read_text(encoding="utf-8").lower()
