"""Clients that charge and release until they are killed with SIGKILL at a random moment, many times over.

python mortal.py WHERE OUT KILLS ORDER SEED. ORDER "right": charge, mark, then write the release;
"wrong": write the release, then charge — what the test must be able to catch.
"""

import os
import random
import signal
import sys
import time
import uuid
from fractions import Fraction
from pathlib import Path

from discreet.ledger import Ledger
from discreet.privacy.kinds import PureDP

CROWD = 3  # clients alive at once, so that a death also happens while others wait for the lock


def write(file, name):
    """One unbuffered write: a release that is here has left the building."""
    os.write(file, f"{name}\n".encode())


def right(ledger, file):
    receipt = ledger.charge(PureDP(Fraction(1, 10**6)))
    ledger.mark_computed(receipt.id)
    write(file, receipt.id)


def wrong(ledger, file):
    name = uuid.uuid4().hex
    write(file, name)
    ledger.charge(PureDP(Fraction(1, 10**6)), charge_id=name)


def live(where, out, step):
    file = os.open(out, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    ledger = Ledger.open(where)
    while True:
        step(ledger, file)


def born(where, out, step):
    child = os.fork()
    if child:
        return child
    try:
        live(where, out, step)
    finally:
        os._exit(1)  # reached only by an error


def main():
    where, out, kills, order, seed = sys.argv[1:]
    step = {"right": right, "wrong": wrong}[order]
    chance = random.Random(int(seed))
    Ledger.open(where, PureDP(1)).close()
    alive = [born(where, Path(out) / str(i), step) for i in range(CROWD)]
    for index in range(int(kills)):
        time.sleep(chance.uniform(0.01, 0.08))
        victim = alive.pop(chance.randrange(len(alive)))
        os.kill(victim, signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(victim, 0)[1]) != -signal.SIGKILL:
            sys.exit(f"client {victim} ended by itself")
        if index + len(alive) + 1 < int(kills):
            alive.append(born(where, Path(out) / str(CROWD + index), step))
    sys.exit(0 if not alive else f"{len(alive)} left alive")


if __name__ == "__main__":
    main()
