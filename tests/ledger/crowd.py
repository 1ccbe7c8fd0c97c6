"""Charge one ledger from many processes, forked from one that has imported all, and write what was paid.

python crowd.py WHERE OUT PROCESSES CHARGES KIND, KIND one of "pure" and "approximate".
"""

import os
import sys
from fractions import Fraction
from pathlib import Path

from discreet.ledger import Ledger, Overspent
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP

BUDGETS = {"pure": PureDP(1), "approximate": ApproxDP(1, 1e-6)}


def promise(kind, total):
    """About nine tenths of the charges fit: 0.9·total for the pure budget."""
    if kind == "pure":
        return PureDP(Fraction(10, 9 * total))
    return ZeroCDP(Fraction(20, 1000 * total))  # about 0.017 fits in the whole budget


def work(where, out, charges, kind, price):
    """Open while the others do, charge, and note every receipt."""
    paid = refused = 0
    with Ledger.open(where, BUDGETS[kind]) as ledger, out.open("w") as notes:
        for _ in range(charges):
            try:
                receipt = ledger.charge(price)
                paid += 1
                notes.write(f"{receipt.id} {receipt.hash}\n")
            except Overspent:
                refused += 1
    return paid + refused == charges


def main():
    where, out, processes, charges, kind = sys.argv[1:]
    price = promise(kind, int(processes) * int(charges))
    children = []
    for index in range(int(processes)):
        child = os.fork()
        if not child:
            done = False
            try:
                done = work(where, Path(out) / str(index), int(charges), kind, price)
            except Exception as error:  # noqa: BLE001 - said, since a forked child ends without a trace
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                sys.stderr.flush()
            finally:
                os._exit(0 if done else 1)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
