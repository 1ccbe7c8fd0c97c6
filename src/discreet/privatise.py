"""The straight line: bounded statistic → calibrated mechanism → CHARGE → read → release."""

from __future__ import annotations

import inspect
import uuid
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import singledispatch
from typing import TYPE_CHECKING, Any, TypeVar

from discreet import __version__
from discreet.inference.draws import released
from discreet.mechanisms.calibration import shared
from discreet.mechanisms.registry import MECHANISMS, OF_COUNTS, OF_FAMILIES, OF_REGRESSIONS
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.privacy.filters import Overspent
from discreet.privacy.grouping import per_row
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved
from discreet.privacy.serial import to_json
from discreet.receipts import LedgerError
from discreet.release import Release
from discreet.release_json import canonical, plain
from discreet.statistics import bounded
from discreet.tables.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from discreet.families.family import Family
    from discreet.ledger import Ledger, Receipt
    from discreet.sampling.source import Source
    from discreet.statistics import BoundedStatistic
    from discreet.tables.table import Table

T = TypeVar("T")


class ChargeKept(RuntimeError):  # noqa: N818 - what happened, in the user's words
    """The charge was made and no release came of it; `receipt_id` names it. The cause is not shown: it may
    quote rows.
    """

    def __init__(self, message: str, receipt_id: str) -> None:
        super().__init__(message)
        self.receipt_id = receipt_id


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after the charge; `receipt_id` names it."""

    def __init__(self, message: str, receipt_id: str) -> None:
        super().__init__(message)
        self.receipt_id = receipt_id


def privatise(
    table: Table,
    model: Family | CountModel | GeneralizedLinear,
    *,
    mechanism: str | None = None,
    target: Guarantee,
    ledger: Ledger,
    scope: str | Sequence[str] | None = None,
    source: Source | None = None,
    charge_id: str | None = None,
    note: str = "",
    draws: int = 1,
    **options: Any,  # noqa: ANN401 - the mechanism's own
) -> Release:
    """Release what the table says about the model, so that the target holds for each unit, and pay for it.

    Schema, model, mechanism and target are checked, and the knob is found, before anything is charged. The
    charge is durable before the first private value is read, and is kept whatever happens later. What is
    charged is the mechanism's own guarantee or, where the budget does not admit that, the target. Without a
    mechanism it is the first of `offered(model)`: noise on the statistic, which pays once and is read freely.

    The same `charge_id` again, with the same promise and scope, pays nothing: if no draw was ever made under
    it (a crash, Ctrl-C, a failed read) the release is computed now; if one was, it is refused, since a second
    draw is a second release, even if the first was lost. The ledger decides this in one transaction, just
    before the draw, so of two processes with one id only one gets a release.
    """
    kind = named(mechanism or offered(model)[0], model)
    statistic = bounded(table, model, target.relation, reads=kind.reads)
    ready = calibrated(kind, statistic, target, draws=draws, **options)
    own = promised(ready, statistic.rows_per_unit, target)
    receipt = pay(ledger, (own, target), scope=scope, charge_id=charge_id, note=note)
    value = kept(receipt, lambda: computed(statistic, ready, ledger, receipt, source))
    return Release(
        value=value,
        model=statistic.model,
        mechanism=getattr(ready, "one", ready).name,
        parameters=parameters(ready),
        theorem=ready.theorem,
        guarantee=own,
        target=target,
        n=statistic.n,
        rows_per_unit=statistic.rows_per_unit,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        receipt=replace(receipt, computed=True),
        seeded=source is not None and source.seeded,
        **provenance(statistic.table),
    )


# ── before the charge ───────────────────────────────────────────────────────────────────────────────

POSTERIORS = OF_FAMILIES
UNITS = "rows_per_unit"  # what calibrate is called with where it knows groups better than the group rule


@singledispatch
def homes(model: object) -> Mapping[str, str]:
    """Say what users call the mechanisms for such a model, and what the registry does; the default first."""
    del model
    return {name: name for name in OF_FAMILIES}


@homes.register(CountModel)
def _(model: CountModel) -> Mapping[str, str]:
    del model
    return {name: name for name in OF_COUNTS}


@homes.register(GeneralizedLinear)
def _(model: GeneralizedLinear) -> Mapping[str, str]:
    del model
    return OF_REGRESSIONS


def offered(model: object) -> tuple[str, ...]:
    """Name the mechanisms for such a model, the default first."""
    return tuple(homes(model))


def named(mechanism: str, model: object) -> Any:  # noqa: ANN401 - a class of MECHANISMS
    """Find the mechanism that a user named for a model."""
    known = homes(model)
    if mechanism not in known:
        raise ValueError(
            f"no posterior mechanism for {type(model).__name__} is called {mechanism!r}; there "
            f"{'is' if len(known) == 1 else 'are'} {', '.join(known)}"
        )
    return MECHANISMS[known[mechanism]]


def calibrated(
    kind: Any,  # noqa: ANN401 - a class of MECHANISMS
    statistic: BoundedStatistic,
    target: Guarantee,
    *,
    draws: int = 1,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - a mechanism
    """Find the knob for one row and one draw, so that a unit and all draws together get the target."""
    known = homes(statistic.model)
    called = next((name for name, home in known.items() if home == kind.name), kind.name)
    if draws != 1 and not hasattr(kind, "draws"):
        several = (name for name, home in known.items() if hasattr(MECHANISMS[home], "draws"))
        raise ValueError(
            f"{called} makes one release a charge: leave draws out; noisy statistics are then sampled "
            f"freely, and several draws at once come from {', '.join(several) or 'none for this model'}"
        )
    refuse_strangers(called, kind.calibrate, options)
    k, given = statistic.rows_per_unit, {"n": statistic.n, **options}
    if UNITS in inspect.signature(kind.calibrate).parameters:
        return kind.calibrate(statistic.model, target=target, rows_per_unit=k, **given)
    if draws == 1:
        return kind.calibrate(statistic.model, target=per_row(target, k), **given)
    return shared(
        lambda each: kind.calibrate(statistic.model, target=per_row(each, k), **given), target, draws
    )


def refuse_strangers(mechanism: str, calibrate: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Say which options a mechanism takes and needs, before Python says it less clearly."""
    known = {
        name: p.default is inspect.Parameter.empty
        for name, p in inspect.signature(calibrate).parameters.items()
        if name not in {"model", "n", "target", UNITS}
    }
    missing = [name for name, needed in known.items() if needed and name not in options]
    if not set(options) <= set(known) or missing:
        takes = ", ".join(f"{name} (needed)" if needed else name for name, needed in known.items())
        raise ValueError(
            f"{mechanism} takes the options: {takes or 'none'}; got {', '.join(sorted(options)) or 'none'}"
        )


def promised(ready: Any, rows_per_unit: int, target: Guarantee) -> Guarantee:  # noqa: ANN401
    """Return the mechanism's own promise for all rows of a unit; the target where no group rule reaches."""
    own: Guarantee = ready.guarantee
    try:
        return own.group(rows_per_unit)
    except NotProved:
        return target


def parameters(ready: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401
    """Name the knobs, as JSON values: enough, with model, n and relation, to build the mechanism again."""
    one = getattr(ready, "one", ready)
    named = {
        f.name: plain(getattr(one, f.name)) for f in fields(one) if f.name not in {"model", "n", "relation"}
    }
    several = {} if one is ready else {"draws": ready.q}
    return tuple(sorted({**named, **several}.items()))


# ── the charge ──────────────────────────────────────────────────────────────────────────────────────


def pay(
    ledger: Ledger,
    promises: tuple[Guarantee, ...],
    *,
    scope: str | Sequence[str] | None = None,
    charge_id: str | None = None,
    note: str = "",
) -> Receipt:
    """Charge the first promise that fits; under an id used before, find the charge that was made."""
    name = uuid.uuid4().hex if charge_id is None else charge_id
    try:
        receipt = _charged(ledger, _due(ledger, promises, charge_id), name, note, scope)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted while charging {name!r}: nothing was read or released; ledger.history() says "
            "whether the charge was made, and the same charge_id pays only once",
            name,
        ) from None
    if receipt.computed:
        raise LedgerError(
            f"the release of charge {name!r} was computed before, and a second draw is a second release: "
            "load the saved one, or choose another charge_id and pay again"
        )
    return receipt


def _due(ledger: Ledger, promises: tuple[Guarantee, ...], charge_id: str | None) -> tuple[Guarantee, ...]:
    """Only what was charged before, where the id is known and it was one of these; else all of them."""
    if charge_id is None:
        return promises
    try:
        before = canonical(ledger.receipt(charge_id).guarantee)
    except LedgerError:  # no such charge; if the ledger is out of reach, charging says so
        return promises
    same = tuple(promise for promise in promises if canonical(to_json(promise)) == before)
    return same[:1] or promises[-1:]  # the ledger refuses an id that paid for something else


def _charged(
    ledger: Ledger, due: tuple[Guarantee, ...], name: str, note: str, scope: str | Sequence[str] | None
) -> Receipt:
    for promise in due[:-1]:
        try:
            return ledger.charge(promise, charge_id=name, note=note, scopes=scope)
        except Overspent:
            continue
    return ledger.charge(due[-1], charge_id=name, note=note, scopes=scope)


# ── after the charge ────────────────────────────────────────────────────────────────────────────────


def kept(receipt: Receipt, work: Callable[[], T]) -> T:
    """Run what may touch private data; on failure name the charge, and let nothing of the cause through.

    The new error is raised outside of the handlers, so that neither its context nor its traceback leads to
    frames that hold private values.
    """
    try:
        return work()
    except KeyboardInterrupt:
        failure: BaseException = Interrupted(f"interrupted: {_kept(receipt)}", receipt.id)
    except TableError as error:  # holds nothing private
        failure = ChargeKept(f"{error}; {_kept(receipt)}", receipt.id)
    except LedgerError as error:  # refunded or claimed by another meanwhile, or out of reach
        failure = ChargeKept(f"{error}; nothing was drawn here under charge {receipt.id!r}", receipt.id)
    except Exception as error:  # noqa: BLE001 - whatever an engine raises may quote rows
        kind = type(error).__name__
        failure = ChargeKept(
            f"reading failed with {kind}, whose own words are withheld because they may quote rows; "
            f"{_kept(receipt)}",
            receipt.id,
        )
    raise failure


def _kept(receipt: Receipt) -> str:
    return (
        f"charge {receipt.id!r} is kept; once the cause is gone, privatise again with "
        f"charge_id={receipt.id!r}, which pays nothing more if no release was computed"
    )


def computed(
    statistic: BoundedStatistic,
    ready: Any,  # noqa: ANN401
    ledger: Ledger,
    receipt: Receipt,
    source: Source | None,
) -> Any:  # noqa: ANN401 - NoisyRelease, NoisyCells or Draws
    """Read, claim the charge for good, draw: whoever comes second under one charge id draws nothing."""
    counted = statistic.read()
    ledger.mark_computed(receipt.id)
    count = {"count": counted.n} if statistic.relation is ADD_REMOVE else {}
    return released(
        ready.release(counted.values, source, **count), statistic.model, several=hasattr(ready, "q")
    )


def provenance(table: Table) -> dict[str, Any]:
    """Copy what is public about the table: filters and derivations too, chosen without looking."""
    named = [f"{name} = {expression!r}" for name, expression in table.derived.items()]
    selection = [*named, *(f"where {predicate!r}" for predicate in table.filters)]
    return {
        "unit": table.unit,
        "columns": tuple(table.columns),
        "selection": "; ".join(selection) or None,
        "schema_hash": table.schema.hash,
        "schema_text": canonical(table.schema.to_dict()),
    }
