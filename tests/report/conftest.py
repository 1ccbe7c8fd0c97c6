"""Releases without tables or ledgers: what a report needs, from any family and mechanism."""

import pytest

from discreet.line.calibrate import parameters
from discreet.mechanisms.registry import MECHANISMS
from discreet.posteriors.read import Draws
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.json import to_json
from discreet.privacy.kinds import ApproxDP
from discreet.release.json import canonical
from discreet.release.receipt import Receipt
from discreet.release.release import Release
from discreet.sampling.source import SeededSource

OPTIONS = {"one_posterior_sample": {"truncation": 0.05}}


def made(model, data, mechanism="noisy_statistics", *, target=None, draws=1, seed=1, **facts):
    """Calibrate, draw from a fixed seed, and write down what privatise would."""
    target = target or ApproxDP(1, 1e-6)
    public = target.relation is SUBSTITUTE
    options = {**OPTIONS.get(mechanism, {}), **facts.pop("options", {})}
    n = len(data) if public else None
    ready = MECHANISMS[mechanism].calibrate(model, n=n, target=target, **options)
    ready = ready if draws == 1 else ready.draws(draws)
    count = {} if target.relation is not ADD_REMOVE else {"count": len(data)}
    value = ready.release(model.statistic(data), SeededSource(seed), **count)
    if mechanism != "noisy_statistics":
        value = Draws.of(model, value, several=draws > 1)
    columns = facts.pop("columns", ("smoker",))
    schema = facts.pop("schema", {"columns": {name: {"kind": "binary"} for name in columns}})
    at = "2025-01-01T00:00:00+00:00"
    charge = to_json(ready.guarantee)
    receipt = Receipt("charge-17", ("default",), charge, facts.pop("note", ""), at, 3, "0" * 64, "1" * 64)
    return Release(
        value=value,
        model=model,
        mechanism=mechanism,
        parameters=parameters(ready),
        theorem=ready.theorem,
        guarantee=ready.guarantee,
        target=target,
        columns=columns,
        schema_hash="ab" * 32,
        schema_text=canonical(schema),
        version="0.1.0",
        created=at,
        receipt=receipt,
        **{"n": n, "unit": None, "rows_per_unit": 1, "selection": None, "seeded": False, **facts},
    )


@pytest.fixture
def release_of():
    return made
