"""After the charge, for everything that releases: read → draw → record, and what a failure may say.

The draw is recorded in the ledger in the transaction that marks its charge as computed, and what is returned
is what the ledger then holds. A crash before the record leaves a draw that nobody saw, and the next attempt
draws again; after it, the same charge id gives the same bytes. Of two processes with one id the first to
record has drawn for both.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.line.charge import Interrupted
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.models.model import Model
from discreet.posteriors.read import ReleasedValue, as_released_value
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.release.json import canonical, facts_to_json, paid_and_drawn, value_from_json, value_to_json
from discreet.release.receipt import LedgerError, Receipt
from discreet.release.release import Release
from discreet.sampling.source import Source
from discreet.statistics import BoundedStatistic, PrivateValue
from discreet.tables.table import TableError

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


def drawn_for(
    receipt: Receipt, read: Callable[[], S], draw: Callable[[S], V], form: Form[V, T]
) -> Mapping[str, bytes]:
    """Read and draw what a charge paid for: bytes that nobody may see before the ledger has recorded them."""

    def work() -> Mapping[str, bytes]:
        records = read()
        return blind(lambda: form.write(receipt, draw(records)))

    return guard_after_charge(receipt, work)


def walk_once(ledger: Ledger, receipt: Receipt, run: str, read: Callable[[], S], walk: Callable[[S], T]) -> T:
    """Claim the charge for one run, read, and let the run write its states to a file of its own as it goes.

    The one other order, and only for runs that can be resumed: claim → read → walk. What `release_once` does
    rests on this, that nothing has left before the ledger holds it, so that a draw that was cut off may be
    made again. A run is resumed from states that lie in its file before the last of them is made: they have
    left, one by one, and drawing them again would be a second release for one price. So the charge is bound
    to the run, for good, before its file holds a state; the file, and not the ledger, is the record. Pieces
    recorded in the ledger instead would make every step a write of the ledger that all others wait for.
    """

    def work() -> T:
        ledger.claim(receipt.id, run)
        records = read()
        return blind(lambda: walk(records))

    return guard_after_charge(receipt, work)


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


# ── How releases are written for the ledger: as the JSON that is saved, or as numbers under a public header.
Array = NDArray[Any]
Facts = Mapping[str, Any]


ONLY = ""  # the name of a charge's only release
# What may differ between two asks for one release: when and by which version it was made
INCIDENTAL = {"receipt", "created", "version", "theorem", "value", "schema"}  # schema_hash stands for schema
SALT = "salt"  # a parameter that no reader of a digest in the ledger could guess


def one_release(facts: Facts) -> Form[Any, Release]:
    """Write a value with the facts about it as a saved release is written; facts without a JSON fail here."""
    known = facts_to_json(facts)
    return Form(
        lambda receipt, value: {ONLY: _written(known, receipt, value)},
        lambda bodies: _loaded(known, facts["model"], bodies.get(ONLY)),
    )


def several_releases(facts: Mapping[str, Facts]) -> Form[Mapping[str, Any], dict[str, Release]]:
    """Do so for each audience by name."""
    known = {name: facts_to_json(each) for name, each in facts.items()}
    return Form(
        lambda receipt, drawn: {name: _written(known[name], receipt, v) for name, v in drawn.items()},
        lambda bodies: {
            name: _loaded(each, facts[name]["model"], bodies.get(name)) for name, each in known.items()
        },
    )


def values(asked: Facts, models: Sequence[Any]) -> Form[Sequence[Any], list[Any]]:
    """Write released values, one per model, under a header that says what was asked for."""

    def write(receipt: Receipt, drawn: Sequence[Any]) -> dict[str, bytes]:
        del receipt
        return {ONLY: canonical({"asked": asked, "values": [value_to_json(v) for v in drawn]}).encode()}

    def load(bodies: Mapping[str, bytes]) -> list[Any]:
        data = json.loads(bodies.get(ONLY, b"{}"))
        refuse_another(asked, data.get("asked", {}))
        return [value_from_json(value, model) for value, model in zip(data["values"], models, strict=True)]

    return Form(write, load)


def numbers(asked: Facts) -> Form[Array, Array]:
    """Write an array of numbers under a header."""
    return Form(partial(_numbers_written, asked), partial(_numbers_loaded, asked))


def _written(known: dict[str, Any], receipt: Receipt, value: ReleasedValue) -> bytes:
    """Write a release, whose one time is the charge's, from before anything was read."""
    paid = replace(receipt, computed=True, replay=False)
    return canonical(paid_and_drawn(known, paid, receipt.at, value)).encode()


def _loaded(known: Facts, model: Model, body: bytes | None) -> Release:
    stored = body or b"{}"
    refuse_another(_public(known), _public(json.loads(stored)))
    return Release.from_body(stored, model)


def _public(data: Facts) -> dict[str, Any]:
    """Take what makes two asks the same one."""
    knobs = {name: value for name, value in data.get("parameters", {}).items() if name != SALT}
    return {**{name: part for name, part in data.items() if name not in INCIDENTAL}, "parameters": knobs}


def _numbers_written(asked: Facts, receipt: Receipt, array: Array) -> dict[str, bytes]:
    del receipt
    return {ONLY: numbers_kept(asked, array)}


def numbers_kept(asked: Facts, array: Array) -> bytes:
    """Return what a ledger keeps of an array: a line that says what was asked for, then the numbers."""
    kind = array.dtype.newbyteorder("<").str
    header = {"asked": asked, "shape": list(array.shape), "dtype": kind}
    little = np.ascontiguousarray(array, dtype=kind)
    return canonical(header).encode() + b"\n" + little.tobytes()


def _numbers_loaded(asked: Facts, bodies: Mapping[str, bytes]) -> Array:
    head, _, raw = bodies.get(ONLY, b"{}").partition(b"\n")
    header = json.loads(head)
    refuse_another(asked, header.get("asked", {}))
    return np.frombuffer(raw, dtype=header["dtype"]).reshape(header["shape"]).copy()


def refuse_another(asked: Facts, stored: Facts) -> None:
    """Refuse to hand out a release under an id that is now asked for another one."""
    differ = sorted(k for k in {*asked, *stored} if canonical(asked.get(k)) != canonical(stored.get(k)))
    if differ:
        which = f"{' and '.join(differ)} {'is' if len(differ) == 1 else 'are'}"
        raise LedgerError(
            f"this charge id already gave another release (its {which} not what is asked for now): ask for "
            "the same, or choose another charge_id and pay again"
        )
