"""The straight line: bounded statistic → calibrated mechanism → CHARGE → read → draw → record → release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.line.after_charge import ChargeKept, release_once, released_by
from discreet.line.calibrate import calibrate, promise_for_unit
from discreet.line.charge import Interrupted, pay
from discreet.line.choose import mechanism_class, mechanism_names
from discreet.line.facts import release_facts
from discreet.line.forms import one_release
from discreet.privacy.guarantee import Guarantee
from discreet.release.release import Release
from discreet.sampling.source import Source
from discreet.statistics import bounded
from discreet.statistics.bounded_statistic import Model
from discreet.tables.table import Table

if TYPE_CHECKING:
    from discreet.ledger import Ledger


__all__ = ["ChargeKept", "Interrupted", "pay", "privatise"]


def privatise(
    table: Table,
    model: Model,
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

    Everything is checked, and the knob is found, before anything is charged. What is charged is the
    mechanism's own guarantee or, where the budget does not admit that, the target. The charge is durable
    before the first private value is read, and is kept whatever happens later. The same `charge_id` with the
    same question, promise and scope pays nothing and gives the same release, byte for byte; if none was
    recorded under it, it is drawn now. Two processes with one id get one release. Without a mechanism it is
    the first of `mechanism_names(model)`: noise on the statistic, which pays once and is read freely.
    """
    kind = mechanism_class(mechanism or mechanism_names(model)[0], model)
    statistic = bounded(table, model, target.relation, reads=kind.reads)
    ready = calibrate(kind, statistic, target, draws=draws, **options)
    own = promise_for_unit(ready, statistic.rows_per_unit, target)
    form = one_release(release_facts(statistic, ready, own, target, source))
    receipt = pay(ledger, (own, target), scope=scope, charge_id=charge_id, note=note)
    return release_once(ledger, receipt, statistic.read, released_by(ready, statistic, source), form)
