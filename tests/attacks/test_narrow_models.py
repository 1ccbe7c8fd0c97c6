"""A model that takes less than a column may hold refuses before the charge, and says how to scale."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.families.registry import EXAMPLES
from discreet.models.margin_losses import DeclaredLoss
from discreet.statistics.bounded_statistic import refuse_narrow

N = 50
RNG = np.random.default_rng(4)
ROWS = pa.table(
    {
        "score": RNG.uniform(0, 100, N),
        "other": RNG.uniform(-30, 30, N),
        "visits": RNG.integers(0, 21, N),
        "more": RNG.integers(0, 21, N),
        "flag": RNG.integers(0, 2, N),
    }
)
SCHEMA = {
    "score": dc.Bounded(0, 100),
    "other": dc.Bounded(-30, 30),
    "visits": dc.Count(20),
    "more": dc.Count(20),
    "flag": dc.Binary(),
}
EYE = np.eye(2).tolist()
LOSS = DeclaredLoss(np.subtract, np.subtract, np.multiply, 4, 1, lower=-2, upper=2)  # never comes to be used
NARROW = [  # the column or columns, and a model that takes less
    ("score", dc.BetaBernoulli(1, 1, grid=2**-20)),
    ("visits", dc.BetaBernoulli(1, 1)),
    ("visits", dc.BetaBinomial(1, 1, trials=19)),
    ("visits", dc.BetaGeometric(1, 1, upper=10)),
    ("visits", dc.GammaPoisson(1, 1, upper=10)),
    ("score", dc.GammaExponential(1, 1, upper=99)),
    ("other", dc.GammaExponential(1, 1, upper=99)),  # below 0
    ("score", dc.NormalMean(0, 1, 1, 10, 100)),
    ("score", dc.NormalMean(0, 1, 1, 0, 90)),
    ("score", dc.NormalInverseGamma(0, 1, 1, 1, 1, 100)),
    (("visits", "more"), dc.DirichletMultinomial([1, 1], trials=12)),
    (("flag", "score"), dc.NormalInverseWishart([0, 0], 1, 3, EYE, radius=60)),
    (("other", "flag"), dc.BayesianLinearRegression([0], [[1]], 1, 1, radius=29)),
    (("flag", "other"), dc.BayesianLinearRegression([0], [[1]], 1, 1, radius=29)),  # the answer too
    (("flag", "other"), dc.BayesianLinearRegression([0], [[1]], 1, 1, radius=0.5)),  # 1 is beyond it
    (None, dc.GeneralizedLinear("visits", ("flag",), norm=1, loss=dc.ClippedPoisson(6))),
    (None, dc.GeneralizedLinear("score", ("flag",), norm=1, loss=LOSS)),
]


@pytest.fixture
def ledger(tmp_path):
    with dc.Ledger.open(tmp_path / "budget.db", budget=dc.ApproxDP(5, 1e-4)) as book:
        yield book


@pytest.mark.parametrize(("columns", "model"), NARROW, ids=lambda x: getattr(x, "name", None))
def test_refused_before_the_charge(columns, model, ledger):
    table = dc.Table.open(ROWS, schema=SCHEMA, n=N)
    with pytest.raises(ValueError, match="cut off silently"):
        dc.privatise(
            table if columns is None else table[columns], model, target=dc.ApproxDP(1, 1e-6), ledger=ledger
        )
    assert [entry.kind for entry in ledger.history()] == ["scope"]


@pytest.mark.parametrize(("columns", "model"), NARROW, ids=lambda x: getattr(x, "name", None))
def test_refused_by_hand_too(columns, model):
    """A statistic is prepared by hand on the same terms; who wants the cut says so."""
    table = dc.Table.open(ROWS, schema=SCHEMA, n=N)
    chosen = table if columns is None else table[columns]
    with pytest.raises(ValueError, match="cut off silently"):
        chosen.bounded(model)
    with pytest.raises(ValueError, match="cut off silently"):
        dc.statistics.bounded(chosen, model)
    assert chosen.bounded(model, clip=True).n == N


def test_every_family_that_cuts_is_tried():
    cutting = {type(family) for family, _ in EXAMPLES if family.limits is not None}
    assert cutting == {type(model) for _, model in NARROW if isinstance(model, dc.families.Family)}
    assert {type(family).__name__ for family, _ in EXAMPLES} - {kind.__name__ for kind in cutting} == {
        "DirichletCategorical"
    }


@pytest.mark.parametrize(
    ("columns", "model"),
    [(c, m) for c, m in NARROW if c is not None and "visits" not in c and m is not NARROW[14][1]],
    ids=lambda x: getattr(x, "name", None),
)
def test_the_advice_works(columns, model, ledger):
    """The expression of the message, run as it is, makes a column that the model takes whole."""
    table = dc.Table.open(ROWS, schema=SCHEMA, n=N)
    names = (columns,) if isinstance(columns, str) else columns
    with pytest.raises(ValueError, match="cut off silently") as refused:
        refuse_narrow(table[names], model)
    said = str(refused.value)
    expression = said.partition("derive(scaled=")[2].partition("), and read")[0]
    scaled = table.derive(scaled=eval(expression, {"dc": dc}))  # noqa: S307 - our own words
    narrow = said.partition("column '")[2].partition("'")[0]
    chosen = tuple("scaled" if name == narrow else name for name in names)
    refuse_narrow(scaled[chosen], model)
    kind = scaled.schema["scaled"]
    low, high = map(float, model.limits)
    assert kind.upper - kind.lower > 0.49 * (high - low)  # the range is used, not only kept to


def test_the_advice_gives_the_mean_of_the_column():
    """[0, 100] to [0, 1]: what was a mean of .999 for whatever data is the data's own."""
    table = dc.Table.open(ROWS, schema=SCHEMA, n=N).derive(scaled=dc.col("score") / 100)
    total = dc.statistics.bounded(table["scaled"], dc.BetaBernoulli(1, 1, grid=2**-20)).read()
    mean = float(total.values[0]) * 2**-20 / N
    assert abs(100 * mean - np.mean(ROWS["score"].to_numpy())) < 1e-3


def test_what_fits_is_taken():
    table = dc.Table.open(ROWS, schema=SCHEMA, n=N)
    fits = [
        ("flag", dc.BetaBernoulli(1, 1)),
        ("visits", dc.GammaPoisson(1, 1, upper=20)),
        ("score", dc.NormalMean(0, 1, 1, -5, 100)),
        (("flag", "score"), dc.BayesianLinearRegression([0], [[1]], 1, 1, radius=100)),
        (("visits", "more"), dc.DirichletMultinomial([1, 1], trials=20)),
    ]
    for columns, model in fits:
        refuse_narrow(table[columns], model)
        assert dc.statistics.bounded(table[columns], model).read().n == N


def test_multinomial_records_that_cannot_add_up(ledger):
    """Columns of at most 20 each never hold 41 items: every record would have counted for the last."""
    table = dc.Table.open(ROWS, schema=SCHEMA, n=N)
    with pytest.raises(ValueError, match="add up to at most 40"):
        dc.privatise(
            table["visits", "more"],
            dc.DirichletMultinomial([1, 1], trials=41),
            target=dc.ApproxDP(1, 1e-6),
            ledger=ledger,
        )
    assert [entry.kind for entry in ledger.history()] == ["scope"]
