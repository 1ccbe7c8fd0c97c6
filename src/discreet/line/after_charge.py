"""After the charge, for everything that releases: read → draw → record, and what a failure may say.

The draw is recorded in the ledger in the transaction that marks its charge as computed, and what is returned
is what the ledger then holds. A crash before the record leaves a draw that nobody saw, and the next attempt
draws again; after it, the same charge id gives the same bytes. Of two processes with one id the first to
record has drawn for both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, final

from discreet.line.charge import Interrupted
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.posteriors.draws import ReleasedValue, as_released_value
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.release.receipt import LedgerError, Receipt
from discreet.sampling.source import Source
from discreet.statistics import BoundedStatistic, PrivateValue
from discreet.tables.errors import TableError

if TYPE_CHECKING:
    from discreet.ledger import Ledger


S = TypeVar("S")
T = TypeVar("T")
V = TypeVar("V")


class ChargeKept(RuntimeError):  # noqa: N818 - what happened, in the user's words
    """The charge was made and no release came of it; `receipt_id` names it. The cause is not shown: it may
    quote rows.
    """

    def __init__(self, message: str, receipt_id: str) -> None:
        super().__init__(message)
        self.receipt_id = receipt_id


@final
@dataclass(frozen=True)
class Form(Generic[V, T]):
    """How what is drawn is written for the ledger, and read from there; `load` refuses another release."""

    write: Callable[[Receipt, V], Mapping[str, bytes]]
    load: Callable[[Mapping[str, bytes]], T]


def release_once(
    ledger: Ledger, receipt: Receipt, read: Callable[[], S], draw: Callable[[S], V], form: Form[V, T]
) -> T:
    """Return the one release of a charge: as the ledger keeps it, or read, drawn and recorded now."""
    if receipt.computed:
        return form.load(ledger.released(receipt.id))

    def work() -> dict[str, bytes]:
        records = read()
        return ledger.record(receipt.id, blind(lambda: form.write(receipt, draw(records))))

    return form.load(guard_after_charge(receipt, work))


def released_by(
    ready: ModelMechanism, statistic: BoundedStatistic, source: Source | None
) -> Callable[[PrivateValue], ReleasedValue]:
    """Return the draw of a calibrated mechanism: private value ↦ what is released of it."""

    def draw(counted: PrivateValue) -> ReleasedValue:
        count = counted.n if statistic.relation is ADD_REMOVE else None
        drawn = ready.release(counted.values, source, count=count)
        return as_released_value(drawn, statistic.model, several=ready.single is not ready)

    return draw


class Withheld(RuntimeError):  # noqa: N818 - what became of it
    """Something failed that may quote rows; this is all that is said."""


def blind(work: Callable[[], T]) -> T:
    """Run a mechanism, and a user's functions in it: of a failure nothing but that it failed comes out.

    Not its words, nor its class (which of two is raised may depend on one record), whatever was raised,
    SystemExit and an engine's panic too. Raised outside of the handler, so that no context leads to frames
    that hold private values.
    """
    failure: BaseException
    try:
        return work()
    except KeyboardInterrupt:
        failure = KeyboardInterrupt()
    except BaseException:  # noqa: BLE001 - see above
        failure = Withheld("what was raised is withheld, because it may tell of rows")
    raise failure


def guard_after_charge(receipt: Receipt, work: Callable[[], T]) -> T:
    """Run what may touch private data; on failure name the charge, and let nothing of the cause through.

    As `blind`, but for our own errors of the table and the ledger, which hold nothing private.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning tells of records as an error does
            return work()
    except KeyboardInterrupt:
        failure: BaseException = Interrupted(f"interrupted: {_again(receipt)}", receipt.id)
    except (TableError, LedgerError) as error:
        failure = ChargeKept(f"{error}; {_again(receipt)}", receipt.id)
    except BaseException:  # noqa: BLE001 - see blind
        words = "reading or drawing failed, and what was raised is withheld, because it may tell of rows"
        failure = ChargeKept(f"{words}; {_again(receipt)}", receipt.id)
    raise failure


def _again(receipt: Receipt) -> str:
    return (
        f"charge {receipt.id!r} is kept; once the cause is gone, ask again with charge_id={receipt.id!r}, "
        "which pays nothing more and gives its release, drawn now if none was"
    )
