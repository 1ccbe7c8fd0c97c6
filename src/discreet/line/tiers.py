"""One reading of the table for several audiences: everybody gets a release, and one charge pays for all."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, cast

from discreet.families.family import Family
from discreet.line.after_charge import SALT, release_once, several_releases
from discreet.line.calibrate import charge_facts, parameters, promise_for_unit, release_facts
from discreet.line.charge import Book, opened, pay
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.mechanisms.statistics.tiered_statistics import TieredStatistics
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.asked import promises
from discreet.privacy.group_privacy import per_row
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, Relation
from discreet.privacy.words import in_words
from discreet.release.json import parameter_to_json
from discreet.release.release import Release
from discreet.sampling.source import Source
from discreet.statistics import bounded
from discreet.statistics.bounded_statistic import PrivateValue
from discreet.tables.table import Table


def privatise_tiers(
    table: Table,
    model: Family,
    *,
    targets: Mapping[str, Guarantee] | None = None,
    epsilon: Mapping[str, Exact] | None = None,
    delta: Exact | None = None,
    relation: Relation | str | None = None,
    ledger: Book,
    scope: str | Sequence[str] | None = None,
    source: Source | None = None,
    charge_id: str | None = None,
    note: str = "",
    actor: str | None = None,
) -> dict[str, Release]:
    """Release the model's statistic once for each audience, noisier from tier to tier, and pay once.

    Everything that all audiences hold together is the innermost tier and further noise that knows nothing of
    the data [BBGG19 §5], so the charge is the innermost one's, and each release carries its own promise.
    Audiences with one target get one and the same value. An audience's target is given as such, or as its ε
    with a common δ; ledger, refusals and `charge_id` are those of `privatise`.
    """
    wanted = promises(targets, epsilon, delta, relation)
    statistic = bounded(table, model, _one_relation(model, wanted))
    each = {name: per_row(target, statistic.rows_per_unit) for name, target in wanted.items()}
    ready = TieredStatistics.calibrate(
        cast("Family", statistic.model), n=statistic.n, targets=list(each.values())
    )
    tier = {name: ready.tier_of(target) for name, target in each.items()}
    own = {
        name: promise_for_unit(ready.tiers[k], statistic.rows_per_unit, wanted[name])
        for name, k in tier.items()
    }
    innermost = min(tier, key=tier.__getitem__)
    paid = _paid_for(innermost, own[innermost])
    form = several_releases(
        {
            name: {
                **release_facts(statistic, ready.tiers[k], own[name], wanted[name], source),
                "parameters": _parameters(ready, tier, name),
                "theorem": f"{ready.tiers[k].theorem}; {ready.theorem}; {paid}",
            }
            for name, k in tier.items()
        }
    )

    def draw(counted: PrivateValue) -> dict[str, NoisyStatistic]:
        count = counted.n if statistic.relation is ADD_REMOVE else None
        values = ready.release(counted.values, source, count=count)
        return {name: values[k] for name, k in tier.items()}

    promised, asked = own[innermost], wanted[innermost]
    about = charge_facts(statistic.table, model, "tiered_statistics", actor)
    with opened(ledger) as book:
        receipt = pay(book, promised, asked, scope=scope, charge_id=charge_id, note=note, about=about)
        return release_once(book, receipt, statistic.read, draw, form)


def _one_relation(model: Family, targets: Mapping[str, Guarantee]) -> Relation:
    relations = {target.relation for target in targets.values()}
    if len(relations) != 1:
        raise ValueError(
            f"name at least one audience, and give all the same relation between neighbours; got "
            f"{', '.join(sorted(r.value for r in relations)) or 'none'}"
        )
    if not isinstance(model, Family):
        raise TypeError(f"tiers are made of a family's statistic, not of {type(model).__name__}")
    return relations.pop()


def _parameters(ready: TieredStatistics, tier: Mapping[str, int], name: str) -> tuple[tuple[str, Any], ...]:
    """Name this audience's knobs, and every tier of the chain, innermost first.

    The ledger shows the digest of every tier: salted, lest an outer audience try values of an inner one.
    """
    order = sorted(tier, key=tier.__getitem__)
    chain: dict[str, Any] = {"audience": name, SALT: secrets.token_hex(16)}
    chain["tiers"] = [[who, parameter_to_json(ready.sigmas[tier[who]])] for who in order]
    return tuple(sorted({**dict(parameters(ready.tiers[tier[name]])), **chain}.items()))


def _paid_for(innermost: str, promise: Guarantee) -> str:
    return (
        f"the receipt paid for the innermost tier, {innermost!r} ({in_words(promise)}), and thereby for all "
        "of them together"
    )
