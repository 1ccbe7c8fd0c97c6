"""Crowds, kills and lost databases: nothing leaves without a durable charge; retries get the same bytes.

A small storm runs always; DISCREET_SERVICE_FULL=1 runs 32 clients with 10 000 requests and 100 kills.
"""

import collections
import contextlib
import json
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from discreet.ledger import Ledger
from discreet.privacy.kinds import ApproxDP
from discreet.release.release import Release

FULL = os.environ.get("DISCREET_SERVICE_FULL") == "1"
CLIENTS, REQUESTS, KILLS = (32, 10_000, 100) if FULL else (8, 160, 1)
SETTINGS = "wait = 0.05\nrate = 1e6\nburst = 1000000\ntimeout = 120\n"
PRICES = ("0.001", "0.002", "0.0035")
EACH = Fraction(REQUESTS, 1000)  # of ε: about half of what will be asked of one table
BUDGETS = (
    ("table", "visits", str(float(EACH))),
    ("analyst", "ada", str(float(EACH * 3 / 4))),
    ("analyst", "grace", str(float(EACH * 3 / 4))),
    ("group", "ward", "1000"),
    ("analyst", "blaise", "1"),
)


def asked(epsilon):
    prior = {"alpha": 1, "beta": 1}
    said = {"table": "visits", "columns": ["smoker"], "model": "beta_bernoulli", "prior": prior}
    return {**said, "epsilon": epsilon, "mechanism": "noisy_statistics"}


def patient(client, token, key, epsilon, path="/v1/releases"):
    """Ask until there is an answer or a refusal, as a client does that may be cut off at any time."""
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    ends = time.monotonic() + 600
    while time.monotonic() < ends:
        with contextlib.suppress(httpx.TransportError):
            found = client.post(path, json=asked(epsilon), headers=headers)
            if found.status_code in {201, 402}:
                return found
            assert found.status_code in {202, 503}, found.text
        time.sleep(0.05)
    raise AssertionError("no answer in ten minutes")


def sums(granted):
    """What the receipts say was charged to each budget; a receipt names its price and its budgets."""
    total = collections.Counter()
    for receipt in granted.values():
        for scope in receipt["scopes"]:
            promise = receipt["target"] if scope in receipt.get("by_target", ()) else receipt["guarantee"]
            total[scope] += Fraction(promise["epsilon"])
    return total


def receipt_of(answer):
    return json.loads(answer.content)["record"]["receipt"]


def held(settings):
    with Ledger.open(settings.ledger) as ledger:
        ledger.verify()
        scopes = [left.scope for left in ledger.scopes()]
        return {scope: ledger.spent(scope).sums[0] for scope in scopes}, {
            entry.id for entry in ledger.history() if entry.kind == "computed"
        }


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def storm(request, tmp_path_factory, fill, launch):
    """A service of two workers on each engine, for all tests of this file but the killed ones."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    if url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE storm")
    place = url.replace("/postgres?", "/storm?")
    settings, tokens = fill(
        tmp_path_factory.mktemp("storm") / "service", SETTINGS, budgets=BUDGETS, database=place
    )
    with launch(settings) as (address, _):
        yield Storm(settings, tokens, address, url)


@dataclass(frozen=True)
class Storm:
    settings: object
    tokens: dict
    url: str
    server: str  # PostgreSQL's; "" for files


def test_a_crowd_spends_what_its_receipts_say_to_the_last_digit(storm):
    """On both engines: two workers share the budgets; keys are asked twice, and by two at once."""
    clients, requests = (CLIENTS, REQUESTS) if FULL or not storm.server else (4, REQUESTS)
    outcomes, granted, lock = collections.Counter(), {}, threading.Lock()

    def client(number):
        rng, who = random.Random(number), ("ada", "grace")[number % 2]
        with httpx.Client(base_url=storm.url, timeout=300) as own:
            for _ in range(requests // clients):
                key = f"{rng.randrange(requests)}"  # some are asked twice, and by two at once
                epsilon = PRICES[int(key) % len(PRICES)]
                found = patient(own, storm.tokens[who], key, epsilon)
                with lock:
                    outcomes[found.status_code] += 1
                    if found.status_code == 201:
                        receipt = receipt_of(found)
                        assert granted.setdefault(receipt["id"], receipt) == receipt

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    spent, computed = held(storm.settings)
    assert sums(granted) == {scope: amount for scope, amount in spent.items() if amount}
    assert set(granted) == computed
    assert outcomes[201] > requests // 10
    assert outcomes[402] > 0  # the budgets were too small for all, so that refusals were part of it


def victims(server, *, computing):
    """List the workers of a server, or the processes that compute for them; not what Python starts beside."""
    found = [p for p in server.children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
    spawned = [p for p in found if "spawn_main" in " ".join(p.cmdline())]
    return [p for p in spawned if (p.ppid() != server.pid) == computing]


def until_answered(answers):
    """Wait for one more answer, so that each kill hits a service that works, however busy the machine."""
    before, ends = len(answers), time.monotonic() + 300
    while len(answers) == before:
        assert time.monotonic() < ends, "no answer in five minutes"
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_workers_release_nothing_unpaid_and_retries_get_the_same_bytes(
    tmp_path, fill, launch, database
):
    """On PostgreSQL only with DISCREET_SERVICE_FULL=1; test_groups kills at its every message always."""
    if database and not FULL:
        pytest.skip("asked for by DISCREET_SERVICE_FULL=1")
    budgets = (("table", "visits", "900"), ("analyst", "ada", "900"))
    said = SETTINGS.replace("0.05", "0.0") if database else SETTINGS  # so that on SQLite many become jobs
    settings, tokens = fill(tmp_path / "service", said, budgets=budgets, database=database)
    over, answers = threading.Event(), {}

    def client(number):
        with httpx.Client(base_url=url, timeout=300) as own:
            i = 0
            while not over.is_set() or i < 3:
                key = f"{number}-{i}"
                answers[key] = patient(own, tokens["ada"], key, "0.001").content
                i += 1

    with launch(settings) as (url, process), ThreadPoolExecutor(4) as pool:
        work = [pool.submit(client, number) for number in range(4)]
        try:
            for kill in range(KILLS):
                until_answered(answers)
                time.sleep(random.Random(kill).uniform(0, 0.3))
                with contextlib.suppress(psutil.NoSuchProcess, IndexError):
                    found = victims(process, computing=kill % 2 == 1)
                    random.Random(kill).choice(found).send_signal(signal.SIGKILL)
        finally:
            over.set()
        for each in work:
            each.result()
        with httpx.Client(base_url=url, timeout=300) as own:
            for key, content in list(answers.items())[:: max(1, len(answers) // 50)]:
                assert patient(own, tokens["ada"], key, "0.001").content == content
    spent, computed = held(settings)
    receipts = {}
    for content in answers.values():
        record = json.loads(content)["record"]
        receipts[record["receipt"]["id"]] = record["receipt"]
    assert set(receipts) == computed  # an answer for each charge that was computed, and the other way round
    assert sums(receipts)["table:visits"] == spent["table:visits"]
    with Ledger.open(settings.ledger) as ledger:
        for name in list(receipts)[:20]:
            ledger.verify(Release.from_body(ledger.released(name)[""]))


def test_while_the_database_is_gone_nothing_is_released(storm):
    """After the crowd, on its service, once its table has some budget again."""
    with Ledger.open(storm.settings.ledger) as ledger:
        ledger.raise_scope(
            "table:visits", ApproxDP(1000, Fraction(1, 10**5)), "for what comes after the crowd"
        )
    away = Path(storm.settings.folder) / "away"

    def take_away():
        if not storm.server:
            Path(storm.settings.ledger).rename(away)
            return
        with psycopg.connect(storm.server, autocommit=True) as connection:
            connection.execute("ALTER DATABASE storm ALLOW_CONNECTIONS false")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'storm'"
            )

    def bring_back():
        if not storm.server:
            away.rename(storm.settings.ledger)
            return
        with psycopg.connect(storm.server, autocommit=True) as connection:
            connection.execute("ALTER DATABASE storm ALLOW_CONNECTIONS true")

    token, price, before = storm.tokens["blaise"], "0.000001", len(held(storm.settings)[1])
    with httpx.Client(base_url=storm.url, timeout=120) as client:
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "during"}
        first = patient(client, token, "before", price)
        assert first.status_code == 201, first.text
        take_away()
        time.sleep(1.2)  # longer than anything is believed
        for _ in range(2):
            refused = client.post("/v1/releases", json=asked(price), headers=headers)
            assert refused.status_code == 503, refused.text
            assert refused.headers["content-type"] == "application/problem+json"
            assert "record" not in refused.text
        assert client.get("/health").status_code == 503
        bring_back()
        assert patient(client, token, "during", price).status_code == 201
        assert patient(client, token, "before", price).content == first.content
    assert len(held(storm.settings)[1]) == before + 2
