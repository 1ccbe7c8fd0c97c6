"""What leaves when, and with which words, is the same whatever the rows hold."""

import httpx
import pytest

from discreet.service.api import releases
from discreet.service.api.app import build
from discreet.service.api.schedule import next_tick

N = 200
WAIT = 2.0
SETTINGS = f"wait = {WAIT}\nrate = 1e6\nburst = 1000000\n"
ASKED = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 0.5}
REFUSED = (
    {**ASKED, "epsilon": 900},
    {**ASKED, "columns": ["age"]},
    {**ASKED, "mechanism": "direct"},
    {**ASKED, "where": ["age > 50"]},
    {**ASKED, "table": "other"},
)


def test_an_end_is_seen_at_one_two_four_times_the_wait():
    assert [next_tick(10, now, 0.5) for now in (10.0, 10.4, 10.6, 11.2, 12.1)] == [10.5, 10.5, 11, 12, 14]
    assert next_tick(10, 11.3, 0) == 11.3


@pytest.mark.slow
def test_answers_and_refusals_tell_nothing_of_two_data_sets(tmp_path, fill, serve, monkeypatch):
    moments = []

    async def noted(moment):
        moments.append(moment)
        await original(moment)

    original = releases.until
    monkeypatch.setattr(releases, "until", noted)
    said = []
    for name, smokers in (("none", [False] * N), ("all", [True] * N)):
        rows = {"smoker": smokers, "ward": ["A"] * N, "age": [50.0] * N}
        settings, tokens = fill(tmp_path / name, SETTINGS, rows=rows)
        with serve(build(settings)) as url, httpx.Client(base_url=url, timeout=120) as client:
            client.headers["Authorization"] = f"Bearer {tokens['ada']}"
            plan = client.post("/v1/plans", json=ASKED).content  # which warms up
            refusals = [
                client.post("/v1/releases", json=each, headers={"Idempotency-Key": str(i)})
                for i, each in enumerate(REFUSED)
            ]
            assert not moments  # refusals are made of public things alone, and need no schedule
            paid = [
                client.post(
                    "/v1/releases", json=ASKED, headers={"Idempotency-Key": f"paid {i}".replace(" ", "-")}
                )
                for i in range(3)
            ]
        late = [a.elapsed.total_seconds() for a in paid if a.status_code == 201]
        assert late  # a schedule without answers on it would show nothing
        assert min(late) >= WAIT  # none leaves before its time, however early it was ready
        assert len(moments) == len(late)
        moments.clear()
        said.append(
            (
                [(a.status_code, a.content) for a in refusals],
                plan,
                {a.status_code for a in paid} <= {201, 202},
            )
        )
    assert said[0] == said[1]
