"""Groups of orders whose process is killed on the way; asked again, each gets what it paid for.

python dying.py SERVICE OUT STRIDE right|early: one process after another is killed with SIGKILL at its next
message to the database, commit or draw, STRIDE of them later each time. "early" lets draws leave before they
are recorded: what the test must be able to catch.
"""

import os
import signal
import sys
from pathlib import Path

from sqlalchemy import Engine, event

from discreet.service.compute import desk, releasing
from discreet.service.compute.orders import Inquiry, Order, Problem
from discreet.service.settings import load
from discreet.service.state.registered import all_tables
from discreet.service.state.store import StateStore

ORDERS = (("ada", "0.001"), ("ada", "0.002"), ("blaise", "1"), ("ada", "0.003"))  # blaise has 0.05
EVENTS = ("before_cursor_execute", "commit", "rollback", "savepoint", "release_savepoint")


def orders(table, run):
    def order(place, person, epsilon):
        asked = Inquiry(table, ("smoker",), "beta_bernoulli", mechanism="noisy_statistics", epsilon=epsilon)
        return Order(f"{run}-{place}", asked, person, ("table:visits", f"analyst:{person}"))

    return [order(place, *each) for place, each in enumerate(ORDERS)]


def dying(count):
    """Kill this process at the count-th of what matters to a crash."""
    left = [count]

    def step(*_):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in EVENTS:
        event.listen(Engine, name, step)
    draw = releasing.drawn_for

    def drawn(*given):
        step()
        return draw(*given)

    releasing.drawn_for = drawn
    return step


def leaving_early(out):
    draw = releasing.drawn_for

    def drawn(receipt, *given):
        bodies = draw(receipt, *given)
        (out / f"{receipt.id}.first").write_bytes(bodies[""])
        return bodies

    releasing.drawn_for = drawn


def given(asked, out, ending, count=0, *, early=False):
    """Release a group and let the bytes leave."""
    if early and count:
        leaving_early(out)
    step = dying(count) if count else int
    for order, found in zip(asked, releasing.release_all(asked), strict=True):
        step()
        words = f"refused {found.status}".encode() if isinstance(found, Problem) else found.body
        (out / f"{order.id}.{ending}").write_bytes(words)


def in_a_child(*work, **how):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            given(*work, **how)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    where, out, stride, how = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    settings = load(where)
    state = StateStore(settings.state)
    (table,) = all_tables(state)
    state.close()
    desk.begin(settings)
    given(orders(table, "warm"), out, "first")  # calibrated and read once
    desk.desk().ledger.close()
    for count in range(1, 10_000, stride):
        asked = orders(table, f"kill-{count}")
        code = in_a_child(asked, out, "first", count, early=how == "early")
        again = in_a_child(asked, out, "again")
        if code not in {0, -signal.SIGKILL} or again != 0:
            sys.exit(f"kill {count} ended with {code}, and then with {again}")
        if code == 0:
            return


if __name__ == "__main__":
    main()
