"""The charge: durable before the first private value is read, and made once under an id."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.privacy.guarantee import Guarantee
from discreet.release.receipt import Receipt

if TYPE_CHECKING:
    from discreet.ledger import Ledger


Book: TypeAlias = "Ledger | str | Path"  # a ledger, or where one is


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after the charge; `receipt_id` names it."""

    def __init__(self, message: str, receipt_id: str) -> None:
        super().__init__(message)
        self.receipt_id = receipt_id


@contextmanager
def opened(ledger: Book) -> Iterator[Ledger]:
    """Give the ledger, or open the one at a path or URL, which must exist, for as long as it is needed."""
    if not isinstance(ledger, str | Path):
        yield ledger
        return
    from discreet.ledger import Ledger  # noqa: PLC0415 - loads the database's toolkit

    with Ledger.open(ledger) as found:
        yield found


def pay(
    ledger: Ledger,
    guarantee: Guarantee,
    target: Guarantee | None = None,
    *,
    scope: str | Sequence[str] | None = None,
    charge_id: str | None = None,
    note: str = "",
    about: Mapping[str, Any] | None = None,
) -> Receipt:
    """Charge a release that keeps the target too, if given; under an id used before, find its charge."""
    name = uuid.uuid4().hex if charge_id is None else charge_id
    try:
        return ledger.charge(guarantee, target=target, charge_id=name, note=note, scopes=scope, about=about)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted while charging {name!r}: nothing was read or released; ledger.history() says "
            "whether the charge was made, and the same charge_id pays only once",
            name,
        ) from None
