"""One reading of the table for several audiences: everybody gets a release, and one charge pays for all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from discreet import __version__
from discreet.families.family import Family
from discreet.mechanisms.tiered_statistics import TieredStatistics
from discreet.privacy.grouping import per_row
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.words import in_words
from discreet.privatise import kept, parameters, pay, promised, provenance
from discreet.release import Release
from discreet.release_json import plain
from discreet.statistics import bounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.ledger import Ledger, Receipt
    from discreet.mechanisms.noisy_release import NoisyRelease
    from discreet.privacy.guarantee import Guarantee
    from discreet.sampling.source import Source
    from discreet.statistics import BoundedStatistic
    from discreet.tables.table import Table


def privatise_tiers(
    table: Table,
    model: Family,
    *,
    targets: Mapping[str, Guarantee],
    ledger: Ledger,
    scope: str | Sequence[str] | None = None,
    source: Source | None = None,
    charge_id: str | None = None,
    note: str = "",
) -> dict[str, Release]:
    """Release the model's statistic once for each audience, noisier from tier to tier, and pay once.

    Everything that all audiences hold together is the innermost tier and further noise that knows nothing of
    the data [BBGG19 §5], so the charge is the innermost one's, and each release carries its own promise.
    Audiences with one target get one and the same value. Refusals and `charge_id` are those of `privatise`.
    """
    relation = _one_relation(model, targets)
    statistic = bounded(table, model, relation)
    each = {name: per_row(target, statistic.rows_per_unit) for name, target in targets.items()}
    ready = TieredStatistics.calibrate(
        cast("Family", statistic.model), n=statistic.n, targets=list(each.values())
    )
    tier = {name: ready.tier_of(target) for name, target in each.items()}
    own = {name: promised(ready.tiers[k], statistic.rows_per_unit, targets[name]) for name, k in tier.items()}
    innermost = min(tier, key=tier.__getitem__)
    promises = (own[innermost], targets[innermost])
    receipt = pay(ledger, promises, scope=scope, charge_id=charge_id, note=note)
    values = kept(receipt, lambda: _computed(statistic, ready, ledger, receipt, source))
    shared: dict[str, Any] = {
        "model": statistic.model,
        "mechanism": "noisy_statistics",
        "n": statistic.n,
        "rows_per_unit": statistic.rows_per_unit,
        "version": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "receipt": replace(receipt, computed=True),
        "seeded": source is not None and source.seeded,
        **provenance(statistic.table),
    }
    paid = _paid_for(innermost, own[innermost])
    return {
        name: Release(
            value=values[k],
            parameters=_parameters(ready, tier, name),
            theorem=f"{ready.tiers[k].theorem}; {ready.theorem}; {paid}",
            guarantee=own[name],
            target=targets[name],
            **shared,
        )
        for name, k in tier.items()
    }


def _one_relation(model: Family, targets: Mapping[str, Guarantee]) -> Any:  # noqa: ANN401 - a Relation
    relations = {target.relation for target in targets.values()}
    if len(relations) != 1:
        raise ValueError(
            f"name at least one audience, and give all the same relation between neighbours; got "
            f"{', '.join(sorted(r.value for r in relations)) or 'none'}"
        )
    if not isinstance(model, Family):
        raise TypeError(f"tiers are made of a family's statistic, not of {type(model).__name__}")
    return relations.pop()


def _computed(
    statistic: BoundedStatistic,
    ready: TieredStatistics,
    ledger: Ledger,
    receipt: Receipt,
    source: Source | None,
) -> tuple[NoisyRelease, ...]:
    """Read, claim the charge for good, draw all tiers: as privatise does for one."""
    counted = statistic.read()
    ledger.mark_computed(receipt.id)
    count = {"count": counted.n} if statistic.relation is ADD_REMOVE else {}
    return ready.release(counted.values, source, **count)


def _parameters(ready: TieredStatistics, tier: Mapping[str, int], name: str) -> tuple[tuple[str, Any], ...]:
    """Name this audience's knobs, and every tier of the chain, innermost first."""
    order = sorted(tier, key=tier.__getitem__)
    chain = {"audience": name, "tiers": [[who, plain(ready.sigmas[tier[who]])] for who in order]}
    return tuple(sorted({**dict(parameters(ready.tiers[tier[name]])), **chain}.items()))


def _paid_for(innermost: str, promise: Guarantee) -> str:
    return (
        f"the receipt paid for the innermost tier, {innermost!r} ({in_words(promise)}), and thereby for all "
        "of them together"
    )
