"""The straight line: bounded statistic → calibrated mechanism → CHARGE → read → draw → record → release."""

from __future__ import annotations

import inspect
import uuid
from dataclasses import fields
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.line.after_charge import ChargeKept, Interrupted, release_once
from discreet.line.forms import one_release
from discreet.mechanisms.calibration import shared
from discreet.mechanisms.registry import MECHANISMS, OF_COUNTS, OF_FAMILIES, OF_REGRESSIONS
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.posteriors.draws import released
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.group_privacy import per_row
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved
from discreet.privacy.json import to_json
from discreet.release.json import canonical, plain
from discreet.release.receipt import LedgerError
from discreet.statistics import bounded
from discreet.statistics.ranges import refuse_narrow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from discreet.families.family import Family
    from discreet.ledger import Ledger, Receipt
    from discreet.release.release import Release
    from discreet.sampling.source import Source
    from discreet.statistics import BoundedStatistic
    from discreet.statistics.exact_value import Counted
    from discreet.tables.table import Table

__all__ = ["ChargeKept", "Interrupted", "pay", "privatise"]


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

    The same `charge_id` again, with the same question, promise and scope, pays nothing and gives the same
    release, byte for byte: the ledger keeps it from the moment that it is drawn. If none was recorded under
    it (a crash, Ctrl-C, a failed read) it is drawn now. Two processes with one id get one release.
    """
    kind = named(mechanism or offered(model)[0], model)
    statistic = bounded(table, model, target.relation, reads=kind.reads)
    refuse_narrow(statistic.table, statistic.model)
    ready = calibrated(kind, statistic, target, draws=draws, **options)
    own = promised(ready, statistic.rows_per_unit, target)
    facts = {
        "mechanism": getattr(ready, "one", ready).name,
        "parameters": parameters(ready),
        "theorem": ready.theorem,
        "guarantee": own,
        "target": target,
        **shared_facts(statistic, source),
    }
    form = one_release(facts)
    receipt = pay(ledger, (own, target), scope=scope, charge_id=charge_id, note=note)
    return release_once(
        ledger, receipt, statistic.read, lambda counted: drawn(statistic, ready, counted, source), form
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
def _homes_count_model(model: CountModel) -> Mapping[str, str]:
    del model
    return {name: name for name in OF_COUNTS}


@homes.register(GeneralizedLinear)
def _homes_generalized_linear(model: GeneralizedLinear) -> Mapping[str, str]:
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


def shared_facts(statistic: BoundedStatistic, source: Source | None) -> dict[str, Any]:
    """Say what is public of any release of a table, before anything is paid or read."""
    return {
        "model": statistic.model,
        "n": statistic.n,
        "rows_per_unit": statistic.rows_per_unit,
        "version": __version__,
        "seeded": source is not None and source.seeded,
        **provenance(statistic.table),
    }


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


def drawn(statistic: BoundedStatistic, ready: Any, counted: Counted, source: Source | None) -> Any:  # noqa: ANN401
    """Draw what is released: NoisyRelease, NoisyCells, a fit, moments or Draws."""
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
