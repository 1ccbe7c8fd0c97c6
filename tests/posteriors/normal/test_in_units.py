"""Linear regression by name: from a table to coefficients in units of its columns, and predictions."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dc
from discreet.posteriors.normal.in_units import LinearPosterior
from discreet.release.release import Release
from discreet.sampling.source import SeededSource

WARDS = ["A", "B", "C"]


def world(rng, n=4000):
    """Columns in units of their own, far from 0, with public bounds; y = 40 + … + N(0, 3²)."""
    age = rng.uniform(20, 80, n)
    dose = np.clip(rng.gamma(3, 4, n), 0, 40)
    ward = rng.choice(WARDS, n, p=[0.5, 0.3, 0.2])
    smokes = rng.random(n) < 0.3
    y = 40 - 0.25 * age + 0.8 * dose + 6 * (ward == "B") - 4 * (ward == "C") + 5 * smokes
    y = y + rng.normal(0, 3, n)
    return pd.DataFrame({"age": age, "dose": dose, "ward": ward, "smokes": smokes, "y": np.clip(y, -10, 90)})


SCHEMA = {
    "age": dc.Bounded(18, 90),
    "dose": dc.Bounded(0, 40),
    "ward": dc.Categories(WARDS, unknown="A"),
    "smokes": dc.Binary(),
    "y": dc.Bounded(-10, 90),
}
FEATURES = ("age", "dose", "ward", "smokes")
NAMES = ("age", "dose", "ward = B", "ward = C", "smokes", "(intercept)", "variance")
TRUTH = np.array([-0.25, 0.8, 6, -4, 5, 40])


def released(frame, target, seed, tmp_path, *, relation=None, **given):
    table = dc.Table.open(frame, schema={name: SCHEMA[name] for name in frame.columns})
    model = dc.BayesianLinearRegression(target="y", features=FEATURES, **given)
    where = f"{tmp_path}/{seed}-{len(frame)}.db"
    ledger = dc.Ledger.open(where, budget=dc.ApproxDP(10**9, 1e-3, relation=relation or dc.SUBSTITUTE))
    return dc.privatise(table, model, target=target, ledger=ledger, source=SeededSource(seed))


def least_squares(frame):
    x = [frame.age, frame.dose, frame.ward == "B", frame.ward == "C", frame.smokes, np.ones(len(frame))]
    x = np.column_stack(x).astype(float)
    beta, rest, _, _ = np.linalg.lstsq(x, frame.y.to_numpy(), rcond=None)
    return beta, rest[0] / (len(x) - x.shape[1]), x


def encoded(frame):
    """Encode by hand, as the page says: [−1, 1] by the bounds, 0 or 1, a constant of ½."""
    columns = [(frame.age - 54) / 36, (frame.dose - 20) / 20, frame.ward == "B", frame.ward == "C"]
    return np.column_stack([*columns, frame.smokes, np.full(len(frame), 0.5)]).astype(float)


def conjugate(frame, spread, shape, scale):
    """N(m, σ²P⁻¹), P = (E σ²/spread²)(I, c² for the constant); returns E[y|x] as a function, and E σ²."""
    x, y = encoded(frame), (frame.y.to_numpy() - 40) / 50
    prior = scale / (shape - 1) / spread**2 * np.diag([1, 1, 1, 1, 1, 0.25])
    precision = prior + x.T @ x
    w = np.linalg.solve(precision, x.T @ y)
    b = scale + (y @ y - w @ precision @ w) / 2
    return lambda rows: 40 + 50 * encoded(rows) @ w, 50**2 * b / (shape + len(y) / 2 - 1)


@pytest.mark.parametrize("seed", range(4))
def test_without_noise_it_is_the_bayesian_posterior_in_original_units(seed, tmp_path):
    """Random n, prior and radius that clips none: slopes by differences of the oracle's predictions."""
    rng = np.random.default_rng(seed)
    frame, spread, shape = world(rng, int(rng.integers(60, 3000))), float(rng.uniform(0.3, 4)), 2.5
    release = released(
        frame, dc.ApproxDP(10**7, 1e-6), seed, tmp_path, spread=spread, shape=shape, scale=0.1, radius=3
    )
    expect, variance = conjugate(frame, spread, shape, 0.1)
    middle = pd.DataFrame({"age": [54.0], "dose": [20.0], "ward": ["A"], "smokes": [False]})
    base = expect(middle)[0]
    moved = [{"age": 55.0}, {"dose": 21.0}, {"ward": "B"}, {"ward": "C"}, {"smokes": True}]
    slopes = [expect(middle.assign(**each))[0] - base for each in moved]
    wanted = np.array([*slopes, base - 54 * slopes[0] - 20 * slopes[1], variance])
    posterior = release.posterior
    assert posterior.names == NAMES
    # 4000 draws: means within 5 of their standard errors, 1e-4 for the grid of the records
    error = 5 * np.sqrt(posterior.flat_variance() / 4000) + 1e-4 * np.abs(wanted)
    np.testing.assert_array_less(np.abs(posterior.flat_mean() - wanted), error)
    control = np.abs(posterior.flat_mean() - wanted * 1.05) < error
    assert not control.all()
    people = frame.iloc[:5]
    np.testing.assert_allclose(
        posterior.expected_of({name: people[name].to_numpy() for name in FEATURES}),
        expect(people),
        atol=float(np.max(error[:2] * 100)),
    )


def test_against_least_squares_at_large_epsilon(tmp_path):
    frame = world(np.random.default_rng(7), 20_000)
    beta, variance, x = least_squares(frame)
    posterior = released(frame, dc.ApproxDP(10**6, 1e-6), 1, tmp_path, radius=3).posterior
    deviation = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * variance)
    assert (np.abs(posterior.flat_mean()[:-1] - beta) < 0.2 * deviation).all()
    np.testing.assert_allclose(np.sqrt(posterior.flat_variance())[:-1], deviation, rtol=0.1)
    assert posterior.flat_mean()[-1] == pytest.approx(variance, rel=0.02)
    assert posterior.cautions == ()
    naive = released(frame, dc.ApproxDP(10**6, 1e-6), 2, tmp_path, radius=3).read(reading="naive")
    np.testing.assert_allclose(naive.flat_mean()[:-1], beta, atol=0.2 * deviation.max())
    np.testing.assert_allclose(naive.flat_interval(0.9)[:-1], posterior.flat_interval(0.9)[:-1], atol=0.3)


def test_signs_and_cover_at_moderate_epsilon(tmp_path):
    """90 % intervals of 6 weights in 25 worlds: below 120 of 150 has probability 1e-4 if they cover as said.

    Confident wrong signs: at most 5 % each, so that more than 18 of 150 have probability 1e-4.
    """
    inside, wrong = 0, 0
    for seed in range(25):
        frame = world(np.random.default_rng(100 + seed), 3000)
        low, high = released(frame, dc.ApproxDP(2, 1e-6), seed, tmp_path).posterior.flat_interval(0.9)[:-1].T
        inside += int(((low <= TRUTH) & (high >= TRUTH)).sum())
        wrong += int(((low * high > 0) & (np.sign(low) != np.sign(TRUTH))).sum())
    assert inside >= 120
    assert wrong <= 18


def one_column(seed):
    """y = 9 − x/2 + N(0, .3²), x far from 0."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(4, 6, 2000)
    frame = pd.DataFrame({"x": x, "y": 9 - 0.5 * x + rng.normal(0, 0.3, 2000)})
    return dc.Table.open(frame, schema={"x": dc.Bounded(0, 10), "y": dc.Bounded(0, 10)})


def test_plain_columns_without_an_intercept_mislead_and_say_so_and_named_ones_cover(tmp_path):
    """As they are: a slope of the wrong sign, confidently, and cautions. By name 90 % intervals cover −½.

    Fewer than 12 of 20 has probability 6e-5 if they cover as said, and is likely where they cover a half.
    """
    ledger = dc.Ledger.open(f"{tmp_path}/b.db", budget=dc.ApproxDP(100, 1e-3))
    ask = {"target": dc.ApproxDP(3, 1e-6), "ledger": ledger}
    as_they_are = dc.BayesianLinearRegression([0], [[1]], 2, 1, radius=10)
    plain = dc.privatise(one_column(3), as_they_are, source=SeededSource(3), **ask).posterior
    assert plain.flat_interval(0.9)[0, 0] > 0.5
    assert any("goes through 0" in words for words in plain.cautions)
    assert any("allow rows as long as 14.1" in words for words in plain.cautions)
    named = dc.BayesianLinearRegression(target="y", features=["x"])
    drawn = [
        dc.privatise(one_column(seed), named, source=SeededSource(seed), **ask).posterior
        for seed in range(20)
    ]
    ends = np.array([posterior.flat_interval(0.9)[0] for posterior in drawn])
    assert ((ends[:, 0] < -0.5) & (ends[:, 1] > -0.5)).sum() >= 12
    assert (ends.mean(axis=1) < 0).all()


def test_many_clipped_rows_are_said_and_a_radius_for_all_is_not(tmp_path):
    frame = world(np.random.default_rng(1), 3000)
    tight = released(frame, dc.ApproxDP(10, 1e-6), 1, tmp_path, radius=1).posterior
    assert any("seem to be longer than the radius 1 " in words for words in tight.cautions)
    wide = released(frame, dc.ApproxDP(10, 1e-6), 2, tmp_path, radius=2.3).posterior
    assert wide.cautions == ()  # √(4 + 1 + ¼) = 2.29


def test_a_saved_release_is_the_same_and_takes_another_prior(tmp_path):
    frame = world(np.random.default_rng(2), 500)
    release = released(frame, dc.ApproxDP(1, 1e-6), 5, tmp_path)
    again = Release.from_body(release.body)
    assert again == release
    assert again.body == release.body
    assert repr(release.model).startswith("BayesianLinearRegression(target='y', features=('age', ")
    assert release.posterior.references == {"ward": "A"}
    other = dc.BayesianLinearRegression(target="y", features=FEATURES, spread=0.01)
    narrow = again.read(model=other)
    assert isinstance(narrow, LinearPosterior)
    assert narrow.flat_variance()[0] < 0.01 * release.posterior.flat_variance()[0]
    assert release.model.in_units().mean()[5] == pytest.approx(40)  # the middle of the answer's bounds
    release.save(tmp_path / "saved", draws=50)
    page = (tmp_path / "saved" / "report.html").read_text()
    assert "ward = B" in page
    assert "(intercept)" in page


def test_private_numbers_of_rows_and_no_intercept(tmp_path):
    frame = world(np.random.default_rng(4), 5000)
    add = dc.ADD_REMOVE
    private = released(
        frame, dc.ApproxDP(100, 1e-6, relation=add), 1, tmp_path, relation=add, radius=3
    ).posterior
    beta = least_squares(frame)[0]
    np.testing.assert_allclose(private.flat_mean()[:5], beta[:5], atol=0.5)
    bare = released(frame, dc.ApproxDP(100, 1e-6), 2, tmp_path, intercept=False).posterior
    assert bare.names == (*NAMES[:5], "variance")


def test_what_is_wrong_is_said():
    with pytest.raises(TypeError, match="missing mean, precision, shape, scale, radius: give target="):
        dc.BayesianLinearRegression()
    with pytest.raises(ValueError, match="features were given and no target"):
        dc.BayesianLinearRegression(features=["x"])
    with pytest.raises(ValueError, match="is among the features"):
        dc.BayesianLinearRegression(target="x", features=["x"])
    with pytest.raises(ValueError, match="give spread=, not mean and precision"):
        dc.BayesianLinearRegression([0], [[1]], target="y", features=["x"])
    table = dc.Table.open({"x": [1.0], "y": ["a"]}, schema={"x": dc.Bounded(0, 1), "y": dc.Categories(["a"])})
    with pytest.raises(TypeError, match="declare it Bounded, Count or Binary"):
        dc.statistics.bounded(table, dc.BayesianLinearRegression(target="y", features=["x"]))


def test_the_radius_rule_is_public_arithmetic():
    """Numbers: half of the square's most and ½ more; indicators their most, 1; the constant ¼."""
    two = dc.BayesianLinearRegression(target="y", features=["a", "b"])
    assert float(two.radius) == pytest.approx(math.sqrt(2 + 0.25))
    table = dc.Table.open(world(np.random.default_rng(0), 10), schema=SCHEMA)
    bound = dc.statistics.bounded(table, dc.BayesianLinearRegression(target="y", features=FEATURES))
    assert float(bound.model.radius) == pytest.approx(math.sqrt(1.5 + 0.5 + 2 + 0.25))


def test_labelled_answers_have_the_density_of_the_line_they_follow(tmp_path):
    """ε = 1000: N(line, σ²) per unit of y, which sums to one over y; rows keep their index."""
    frame = world(np.random.default_rng(8), 3000)
    posterior = released(frame, dc.ApproxDP(1000, 1e-6), 1, tmp_path).posterior
    few = frame.head(4).set_index(pd.Index(["a", "b", "c", "d"]))
    said = posterior.log_predictive(few)
    deviation = posterior.flat_mean()[-1] ** 0.5
    assert said["row"].to_numpy().tolist() == ["a", "b", "c", "d"]
    middle, answers = posterior.predict(few), few["y"].to_numpy()
    assert said.to_numpy() == pytest.approx(stats.norm.logpdf(answers, middle, deviation), abs=0.05)
    low, high = -10, 90  # the bounds of y, beyond which labelled rows are clipped
    over = pd.concat([few.head(1)] * 400).assign(y=np.linspace(low, high, 400))
    assert np.exp(posterior.log_predictive(over)).sum().item() * (high - low) / 399 == pytest.approx(
        1, abs=0.01
    )
