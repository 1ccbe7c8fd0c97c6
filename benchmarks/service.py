"""Plans, free answers and charged answers a second, with p50 and p99, as ratios measured in one run.

The floors are a FastAPI endpoint that does nothing, served by the same uvicorn, and a bare durable charge of
the same price to the same three budgets, by one process. The service runs for real with one worker and
wait = 0, so that the schedule on which answers leave is not what is measured. Goals: free answers at least
1/3 of the empty endpoint, charged ones at least 1/2 of the bare charge; a charged answer commits twice, the
charge before anything is read and the release before it leaves, and those that wait together share both
commits. Run: python benchmarks/service.py
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
from sizes import sized

from discreet.ledger import Ledger
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.service.example import fill
from discreet.service.settings import load, write
from discreet.service.state.store import StateStore

CLIENTS, SECONDS, ROUNDS = sized(16, 2), sized(3.0, 0.3), sized(3, 1)
EMPTY = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/")
async def nothing() -> dict:
    return {}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_config=None, access_log=False)
"""
ASKED = {"table": "census", "columns": ["income"], "model": "beta_bernoulli", "epsilon": 1e-7}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def request(path, token="", body=None, key=None):
    """The bytes of a request; a key is drawn for each where it is True."""
    text = json.dumps(body or {})
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
    head += f"\r\nContent-Length: {len(text)}"
    head += f"\r\nAuthorization: Bearer {token}" if token else ""

    def made():
        own = f"\r\nIdempotency-Key: {uuid.uuid4().hex}" if key else ""
        return f"{head}{own}\r\n\r\n{text}".encode()

    return made


async def ask(reader, writer, made):
    """One request on a connection that stays open: its status and body."""
    writer.write(made())
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:] if ": " in line)
    body = await reader.readexactly(int(fields["content-length"]))
    return int(head.split()[1]), body


async def load_on(port, made, status):
    """Requests a second of so many clients at once, and their times in ms."""
    times, ends = [], time.perf_counter() + SECONDS

    async def client():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (begun := time.perf_counter()) < ends:
            found, body = await ask(reader, writer, made)
            assert found == status, body
            times.append(1000 * (time.perf_counter() - begun))
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return len(times) / (time.perf_counter() - begun), np.percentile(times, (50, 99))


async def once(port, made):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = await ask(reader, writer, made)
    writer.close()
    return found


def until_up(port, process):
    for _ in range(3000):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            assert process.poll() is None
            time.sleep(0.1)
    raise AssertionError("it did not start")


def bare_charges(folder):
    """Durable charges a second of one process: the price of a release, to three budgets at once."""
    book = Ledger.open(
        folder / f"bare-{uuid.uuid4().hex}.db", budget=ApproxDP(10, Fraction(1, 10**5)), scope="a"
    )
    for name in ("b", "c"):
        book.add_scope(name, ApproxDP(10, Fraction(1, 10**5)))
    price, count, begun = PureDP(Fraction(1, 10**7)), 0, time.perf_counter()
    about = {"data": "census", "columns": ["income"], "model": "beta_bernoulli", "actor": "ada"}
    while time.perf_counter() - begun < SECONDS:
        book.charge(price, charge_id=uuid.uuid4().hex, scopes=("a", "b", "c"), about=about)
        count += 1
    rate = count / (time.perf_counter() - begun)
    book.close()
    return rate


def show(name, rate, percentiles, floor, goal=""):
    p50, p99 = percentiles
    print(f"{name:<34}{rate:10.1f}/s  {rate / floor:8.3f}  p50 {p50:8.1f} ms  p99 {p99:8.1f} ms  {goal}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        home = write(Path(folder) / "kept")
        (home / "service.toml").write_text("wait = 0.0\nrate = 1e8\nburst = 100000000\n")
        settings = load(home)
        state = StateStore(settings.state)
        token = fill(settings, state)["ada"]
        state.close()
        ports = free_port(), free_port()
        serve = [sys.executable, "-m", "discreet", "serve", str(home), "--port", str(ports[0])]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = {**os.environ, "DISCREET_LOG": "WARNING"}
        running = [
            subprocess.Popen(serve, env=environment, **quiet),  # noqa: S603
            subprocess.Popen([sys.executable, "-c", EMPTY, str(ports[1])], **quiet),  # noqa: S603
        ]
        try:
            for port, process in zip(ports, running, strict=True):
                until_up(port, process)
            measure(Path(folder), ports, token)
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)
                process.wait(60)


def measure(folder, ports, token):
    service, empty = ports
    status, body = asyncio.run(once(service, request("/v1/releases", token, ASKED, key=True)))
    assert status == 201, body
    release = json.loads(body)["release"]["id"]
    kinds = {
        "empty endpoint": (empty, request("/"), 200),
        "plan, asked before": (service, request("/v1/plans", token, {**ASKED, "epsilon": 0.5}), 200),
        "free answer": (
            service,
            request("/v1/queries", token, {"query": "p > 0.2", "release": release}),
            200,
        ),
        "charged answer": (service, request("/v1/releases", token, ASKED, key=True), 201),
    }
    for port, made, _ in kinds.values():
        asyncio.run(once(port, made))
    rates = {name: [] for name in (*kinds, "bare charge")}
    for _ in range(ROUNDS):  # in turn, so that a busy machine is busy for all
        for name, (port, made, wanted) in kinds.items():
            rates[name].append(asyncio.run(load_on(port, made, wanted)))
        rates["bare charge"].append((bare_charges(folder), (0.0, 0.0)))
    found = {
        name: (np.median([r for r, _ in each]), np.median([p for _, p in each], axis=0))
        for name, each in rates.items()
    }
    floor, charge = found["empty endpoint"][0], found["bare charge"][0]
    print(f"{CLIENTS} clients, one worker, one computing process; ratios to the empty endpoint:")
    for name in kinds:
        goal = "goal 0.333" if name == "free answer" else ""
        show(name, *found[name], floor, goal)
    rate = found["charged answer"][0]
    print(f"bare durable charge {charge:.1f}/s; charged answers are {rate / charge:.3f} of it (goal 0.5)")


if __name__ == "__main__":
    main()
