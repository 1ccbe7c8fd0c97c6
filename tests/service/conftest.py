"""One service for the fast tests: small tables in a temporary folder, one computing process."""

import contextlib
import itertools
import socket
import sys
import threading
import time
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
import uvicorn
from pyarrow import parquet as pq
from pyarrow import table as arrow

from discreet.service.api.app import build
from discreet.service.budgets import BudgetName
from discreet.service.compute.owned import add_budget
from discreet.service.settings import load, write
from discreet.service.state.people import ANALYST, OWNER, add_person, issue
from discreet.service.state.registered import Registered, register
from discreet.service.state.store import StateStore

SCHEMA = {
    "columns": {
        "smoker": {"kind": "binary"},
        "ward": {"kind": "categories", "levels": ["A", "B"]},
        "age": {"kind": "bounded", "lower": 0, "upper": 100},
    }
}
N = 200
ROWS = {
    "smoker": [True, False] * (N // 2),
    "ward": ["A", "A", "B", "A"] * (N // 4),
    "age": [float(20 + i % 60) for i in range(N)],
}
BUDGETS = (
    ("table", "visits", "20"),
    ("analyst", "ada", "20"),
    ("analyst", "blaise", "0.05"),
    ("analyst", "grace", "5"),
    ("group", "ward", "18"),
)
KEYS = itertools.count()


SETTINGS = "wait = 0.0\napprove_above = 1.0\nrate = 100000\nburst = 100000\n"


def filled(folder, settings_text=SETTINGS, rows=ROWS, budgets=BUDGETS, database=""):
    """Set up a service in a folder; return its settings and everybody's token."""
    folder.mkdir(exist_ok=True)
    pq.write_table(arrow(rows), folder / "visits.parquet")
    home = write(folder / "kept")
    (home / "service.toml").write_text(settings_text + (f'database = "{database}"\n' if database else ""))
    settings = load(home)
    state = StateStore(settings.state)
    state.upgrade()
    tokens = {}
    for name, role, groups in (
        ("grace", OWNER, ()),
        ("mary", OWNER, ()),
        ("ada", ANALYST, ("ward",)),
        ("blaise", ANALYST, ()),
        ("poor", ANALYST, ()),
    ):
        add_person(state, name, role, groups)
        tokens[name] = issue(state, name)[1]
    for kind, owner, epsilon in budgets:
        add_budget(settings, BudgetName.checked(kind, owner), f"approx:{epsilon},1e-5")
    said = Registered("visits", str(folder / "visits.parquet"), SCHEMA, n=len(rows["smoker"]))
    register(state, said)
    state.close()
    return settings, tokens


@contextlib.contextmanager
def serving(app, port=0):
    """Serve an application on this machine, at a port that is free."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, server_header=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(60)


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """A service for the whole session: (client, settings, tokens)."""
    settings, tokens = filled(tmp_path_factory.mktemp("service"))
    with serving(build(settings)) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client, settings, tokens


@pytest.fixture
def spare(tmp_path):
    """A service that a test may leave in any state."""
    settings, tokens = filled(tmp_path)
    with serving(build(settings)) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client, settings, tokens


@pytest.fixture
def call(served):
    """Ask as somebody: call("ada", "POST", "/v1/plans", json=…)."""
    client, _, tokens = served

    def ask(who, method, path, **options):
        headers = options.pop("headers", {})
        token = tokens.get(who, who)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        client.cookies.clear()
        return client.request(method, path, headers=headers, **options)

    return ask


ASKED = {
    "table": "visits",
    "columns": ["smoker"],
    "model": "beta_bernoulli",
    "prior": {"alpha": 1, "beta": 1},
    "epsilon": 0.01,
}


@pytest.fixture
def pay(call):
    """Ask for a release under a key of its own: pay("ada", epsilon=0.1)."""

    def ask(who, key=None, **said):
        name = key or f"key-{next(KEYS)}"
        return call(who, "POST", "/v1/releases", json={**ASKED, **said}, headers={"Idempotency-Key": name})

    return ask


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def launched(settings, workers=2):
    """Run `discreet serve` for real: (its address, the process)."""
    port = free_port()
    command = [sys.executable, "-m", "discreet", "serve", settings.folder, "--port", str(port)]
    log = Path(settings.folder) / "log"
    with log.open("w") as out:
        process = psutil.Popen([*command, "--workers", str(workers)], stdout=out, stderr=out)
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until_well(url, process, log)
            yield url, process
            process.terminate()
            assert process.wait(60) == 0, log.read_text()[-4000:]
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in [*process.children(recursive=True), process]:
                    each.kill()
            process.wait(60)


def wait_until_well(url, process, log):
    for _ in range(1200):
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{url}/health", timeout=60).status_code == 200:
                return
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-4000:])


@pytest.fixture(scope="session")
def port():
    """A port that is free now."""
    return free_port()


@pytest.fixture(scope="session")
def launch():
    return launched


@pytest.fixture(scope="session")
def serve():
    return serving


@pytest.fixture(scope="session")
def fill():
    return filled


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    """An address of a new database, "" for files: once on each engine."""
    if request.param == "sqlite":
        yield ""
        return
    url, name = request.getfixturevalue("postgres_url"), f"service_{next(KEYS)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield url.replace("/postgres?", f"/{name}?")
