"""Plans that take long: under way with public progress, asked for again, of one person no more than two."""

import asyncio

from discreet.client import Client
from discreet.service.api import plans as route
from discreet.service.compute.pool import Pool, tell
from discreet.shown import heard, steps

ASKED = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "epsilon": 0.3}


def begin(given):
    """Prepare nothing."""


def told(count):
    with heard(tell):
        return sum(1 for _ in steps(range(count), "trying"))


def test_steps_are_heard_of_the_outermost_work_alone():
    said = []
    with heard(lambda *step: said.append(step)):
        for _ in steps(range(2), "outer"):
            list(steps(range(3), "inner"))
    list(steps(range(5), "later"))
    assert said == [("outer", 0.0, 2), ("outer", 1.0, 2), ("outer", 2.0, 2)]


def test_a_process_says_how_far_it_is_before_it_answers():
    async def ask():
        pool, seen = Pool(1, begin, None), []
        try:
            first = await pool.run(told, 3, timeout=60, seen=seen.append)
            return first, await pool.run(told, 2, timeout=60), seen
        finally:
            pool.close()

    first, second, seen = asyncio.run(ask())
    assert (first, second) == (3, 2)  # a step is never taken for an answer
    assert seen[0].to_json() == {"words": "trying", "done": 0.0, "of": 3}


def test_a_long_plan_is_asked_for_until_it_is_there(served, call, monkeypatch):
    client, _, tokens = served
    monkeypatch.setattr(route, "SOON", 0.001)
    first = call("ada", "POST", "/v1/plans", json=ASKED)
    assert first.status_code == 202
    assert set(first.json()["plan"]["progress"]) == {"words", "done", "of"}
    with Client(str(client.base_url), tokens["ada"]) as service:
        found = service.plan("visits", "smoker", "beta_bernoulli", epsilon=0.3)
    assert found["rows"]
    again = call("ada", "POST", "/v1/plans", json=ASKED)
    assert (again.status_code, again.json()) == (200, found)  # kept, and not computed again


def test_a_third_plan_of_one_person_ends_the_oldest():
    class Worker:
        free, settings = None, type("Settings", (), {"planning": 60})

        async def compute(self, *_, **__):
            await asyncio.Event().wait()

    async def ask():
        mine = {}
        begun = [route._begun(Worker(), mine, (str(i),), None, ()) for i in range(3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ended = [one.task.cancelled() for one in begun]
        for one in mine.values():
            one.task.cancel()
        return ended

    assert asyncio.run(ask()) == [True, False, False]
