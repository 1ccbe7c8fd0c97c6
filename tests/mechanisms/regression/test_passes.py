"""A regression by passes over rows that stay in the engine: what it is in memory, however many records."""

import math

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.mechanisms.regression.objective_perturbation import ObjectivePerturbation
from discreet.mechanisms.regression.samplers.certified_minimum import TiltedSum, added, minimum
from discreet.models.regression_records import Passes, Records
from discreet.statistics import records
from discreet.statistics.bounded_statistic import bounded

MODEL = dc.BayesianLogisticRegression("y", ["a", "b", "ward"], norm=1.8)
SCHEMA = {
    "y": dc.Binary(),
    "a": dc.Bounded(-1, 1),
    "b": dc.Bounded(0, 10),
    "ward": dc.Categories(["A", "B"], unknown="A"),
}
N = 5000


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(4)
    a, b, ward = rng.uniform(-1, 1, N), rng.uniform(0, 10, N), rng.choice(["A", "B"], N)
    y = rng.random(N) < 1 / (1 + np.exp(-(2 * a - 0.2 * b + (ward == "B"))))
    frame = pd.DataFrame({"y": y, "a": a, "b": b, "ward": ward})
    found = tmp_path_factory.mktemp("passes") / "rows.parquet"
    frame.to_parquet(found, row_group_size=700)
    return found


@pytest.fixture
def read(path, monkeypatch):
    """The same table read into memory, and left where it is, in parts of 400 rows."""

    def both(relation=dc.SUBSTITUTE):
        found = []
        for most, batch in ((2**24, 2**15), (1000, 400)):
            monkeypatch.setattr(records, "MOST", most)
            monkeypatch.setattr(records, "BATCH", batch)
            table = dc.Table.open(path, schema=SCHEMA)
            statistic = bounded(table, MODEL, relation, reads=ObjectivePerturbation.reads)
            found.append(statistic.read().values)
        return statistic.model, *found

    return both


@pytest.mark.parametrize("relation", [dc.SUBSTITUTE, dc.ADD_REMOVE])
def test_passes_give_what_memory_gives_to_the_tolerance_that_is_paid_for(read, relation):
    model, held, left = read(relation)
    n = N if relation.replaces else None
    made = ObjectivePerturbation.calibrate(model, n=n, target=dc.ApproxDP(1, 1e-6, relation=relation))
    assert isinstance(held, Records)
    assert isinstance(left, Passes)
    assert left.n == N
    assert sum(1 for _ in left.chunks()) > 5
    count = None if n else N
    one, other = (made.release(value, dc.SeededSource(3), count=count) for value in (held, left))
    # each is within r of the minimum and then put on a grid of r/16 at most; the noise is the same
    assert np.linalg.norm(one.estimate - other.estimate) <= 2.25 * made.tolerance
    assert one.hessian == pytest.approx(other.hessian, abs=1e-9 * N)


def test_the_minimum_is_certified_in_parts_as_it_is_at_once(read):
    model, held, left = read()
    made = ObjectivePerturbation.calibrate(model, n=N, target=dc.ApproxDP(1, 1e-6))
    r, grid = made.tolerance, made._grids()[1]
    tilt = np.arange(model.dimension) - 1.5

    def found(value, tolerance):
        at = minimum(TiltedSum(model, value, made.strength, tilt), tolerance, grid)
        return np.array([float(k * grid) for k in at])

    nearest = found(held, r / 64)
    assert all(np.linalg.norm(found(value, r) - nearest) <= 1.2 * r for value in (held, left))
    slopes = model.loss.slope(held.rows @ nearest, held.answers)[:, None] * held.rows
    exact = np.array([math.fsum(x) for x in slopes.T]) + made.strength * nearest + tilt
    problem = TiltedSum(model, left, made.strength, tilt)
    assert np.linalg.norm(problem.gradient(nearest) - exact) <= problem.slack(nearest)


def test_sums_of_parts_lose_two_roundings_and_no_more():
    """Neumaier's sum of what cancels; plain addition, the negative control, loses all of it."""
    parts = [np.array([x]) for x in (1e16, 1.0, -1e16, 1.0, 2.0**-60)]
    true = math.fsum(float(p[0]) for p in parts)
    assert added(iter(parts), np.zeros(1))[0] == true
    assert sum(parts)[0] != true
    rng = np.random.default_rng(0)
    wild = [rng.standard_normal(3) * 10.0 ** rng.integers(-200, 200) for _ in range(3000)]
    exact = np.array([math.fsum(x) for x in np.transpose(wild)])
    assert np.all(np.abs(added(iter(wild), np.zeros(3)) - exact) <= 2.0**-52 * np.sum(np.abs(wild), axis=0))
    alone = rng.standard_normal(4)
    assert np.array_equal(added(iter([alone]), np.zeros(4)), alone)


def test_a_table_that_changes_between_passes_is_refused(read):
    model, held, _ = read()
    changed = Passes(model, 2 * held.n, lambda: iter([held]))
    with pytest.raises(ValueError, match="changed while it was read"):
        list(changed.chunks())
    broken = Passes(model, held.n, lambda: iter([Records(2 * held.rows, held.answers)]))
    with pytest.raises(ValueError, match="build them by Records"):
        list(broken.chunks())
    with pytest.raises(TypeError, match="not copied or pickled"):
        changed.__reduce__()
