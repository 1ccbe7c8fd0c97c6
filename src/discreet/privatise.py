"""The straight line: bounded statistic → calibrated mechanism → CHARGE → read → draw → record → release."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.line.after_charge import ChargeKept, one_release, release_once, released_by
from discreet.line.calibrate import calibrate, charge_facts, promise_for_unit, release_facts
from discreet.line.charge import Book, Interrupted, opened, pay
from discreet.line.choose import default_mechanism, mechanism_class
from discreet.mechanisms.mechanism import Option
from discreet.models.model import Model
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.asked import promise
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.release.release import Release
from discreet.sampling.source import Source
from discreet.statistics.bounded_statistic import bounded
from discreet.tables.table import Table

__all__ = ["ChargeKept", "Interrupted", "pay", "privatise"]


def privatise(
    table: Table,
    model: Model,
    *,
    mechanism: str | None = None,
    target: Guarantee | None = None,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    relation: Relation | str | None = None,
    ledger: Book,
    scope: str | Sequence[str] | None = None,
    source: Source | None = None,
    charge_id: str | None = None,
    note: str = "",
    actor: str | None = None,
    draws: int = 1,
    **options: Option,
) -> Release:
    """Release what the table says about the model, so that the target holds for each unit, and pay for it.

    The target is given as such or as epsilon=, delta=; the ledger as such or by its path or URL. The charge
    is durable before a private value is read, and stays. The same `charge_id` with the same question, promise
    and scope pays nothing and gives the same release, byte for byte. Without a mechanism: the model's first.
    """
    wanted = promise(target, epsilon, delta, relation)
    kind = mechanism_class(mechanism or default_mechanism(model, wanted.relation), model)
    statistic = bounded(table, model, wanted.relation, reads=kind.reads)
    ready = calibrate(kind, statistic, wanted, draws=draws, **options)
    own = promise_for_unit(ready, statistic.rows_per_unit, wanted)
    form = one_release(release_facts(statistic, ready, own, wanted, source))
    about = charge_facts(statistic.table, model, kind.name, actor)
    with opened(ledger) as book:
        receipt = pay(book, own, wanted, scope=scope, charge_id=charge_id, note=note, about=about)
        return release_once(book, receipt, statistic.read, released_by(ready, statistic, source), form)
