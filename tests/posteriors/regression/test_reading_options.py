"""Release.read passes the reading's own options on, and refuses those that no reading takes."""

import numpy as np
import pandas as pd
import pytest

from discreet.families import BayesianLinearRegression, BetaBernoulli
from discreet.ledger import Ledger
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.linear_regression import Design
from discreet.privacy.kinds import ApproxDP
from discreet.privatise import privatise
from discreet.sampling.source import SeededSource
from discreet.tables.schema import Binary, Bounded
from discreet.tables.table import Table

SHORT = ChainLengths(chains=2, draws=50, thin=2, burn=200)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 400)
    rows = pd.DataFrame({"one": 1.0, "x": x, "y": 0.5 * x + 0.2 * rng.normal(size=400), "z": x > 0})
    table = Table.open(
        rows, schema={"one": Bounded(0, 1), "x": Bounded(-1, 1), "y": Bounded(-2, 2), "z": Binary()}
    )
    line = BayesianLinearRegression([0, 0], np.eye(2).tolist(), shape=3, scale=2, radius=2)
    with Ledger.open(tmp_path_factory.mktemp("ledger") / "b.db", budget=ApproxDP(40, 1e-3)) as ledger:

        def made(columns, model, **ask):
            return privatise(
                table[columns], model, target=ApproxDP(4, 1e-6), ledger=ledger, source=SeededSource(2), **ask
            )

        yield {
            "line": made(("one", "x", "y"), line),
            "share": made("z", BetaBernoulli(1, 1)),
            "draw": made("z", BetaBernoulli(1, 1), mechanism="diffused"),
        }


def test_plan_and_design_reach_the_reading(release):
    short = release["line"].read(plan=SHORT)
    assert (short.diagnostics.chains, short.diagnostics.draws) == (2, 50)
    known = release["line"].read(plan=SHORT, design=Design(intercept=True))
    assert not np.array_equal(known.mean(), short.mean())


def test_options_that_no_reading_takes_are_refused(release):
    with pytest.raises(ValueError, match="takes no options, got plan"):
        release["draw"].read(plan=SHORT)
    with pytest.raises(ValueError, match="takes the options size_prior, clips, detail; got design"):
        release["share"].read(design=Design())
