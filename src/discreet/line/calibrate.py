"""Before the charge: find the knob that meets the target, and say what is promised to a unit."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from discreet import __version__
from discreet.line.choose import refuse_several, refuse_strangers, typed_name
from discreet.mechanisms.for_unit import calibrated_for_unit, for_target, promise_for_unit
from discreet.mechanisms.mechanism import ModelMechanism, Option
from discreet.privacy.guarantee import Guarantee
from discreet.release.json import canonical, parameter_to_json
from discreet.sampling.source import Source
from discreet.shown import visible
from discreet.statistics import BoundedStatistic
from discreet.tables.table import Table

LONGEST = 200  # characters of a name in the ledger


def calibrate(
    kind: type[ModelMechanism],
    statistic: BoundedStatistic,
    target: Guarantee,
    *,
    draws: int = 1,
    **options: Option,
) -> ModelMechanism:
    """Find the knob for one row and one draw, so that a unit and all draws together get the target."""
    model, k = statistic.model, statistic.rows_per_unit
    if draws != 1:
        refuse_several(kind, model)
    refuse_strangers(typed_name(kind, model), for_target(kind, target), options)
    given: dict[str, Any] = {"n": statistic.n, **options}
    return calibrated_for_unit(kind, model, target, rows_per_unit=k, draws=draws, **given)


# ── Before the charge: what is public of a release whatever the rows hold, by the names of `Release`.
def release_facts(
    statistic: BoundedStatistic,
    ready: ModelMechanism,
    promise: Guarantee,
    target: Guarantee,
    source: Source | None,
) -> dict[str, Any]:
    """Return everything that is public of one release, apart from its value and its receipt."""
    return {
        "mechanism": ready.single.name,
        "parameters": parameters(ready),
        "theorem": ready.theorem,
        "guarantee": promise,
        "target": target,
        "model": statistic.model,
        "n": statistic.n,
        "rows_per_unit": statistic.rows_per_unit,
        "version": __version__,
        "seeded": source is not None and source.seeded,
        **provenance(statistic.table),
    }


def charge_facts(table: Table, model: object, mechanism: str, actor: str | None) -> dict[str, Any]:
    """Say for the ledger who asks what of which data; the actor is as declared, and nobody if left out."""
    said = {
        "data": table.label,
        "fingerprint": table.fingerprint,
        "place": table.place,
        "columns": [visible(name)[:LONGEST] for name in table.columns],
        "model": str(getattr(model, "name", type(model).__name__)),
        "mechanism": mechanism,
        "actor": actor,
    }
    return {name: value for name, value in said.items() if value}


def parameters(ready: ModelMechanism) -> tuple[tuple[str, Any], ...]:
    """Name the knobs, as JSON values: enough, with model, n and relation, to build the mechanism again."""
    one = ready.single
    knobs = {
        f.name: parameter_to_json(getattr(one, f.name))
        for f in fields(one)
        if f.name not in {"model", "n", "relation"}
    }
    several = {} if one is ready else {"draws": ready.draw_count}
    return tuple(sorted({**knobs, **several}.items()))


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


__all__ = ["calibrate", "promise_for_unit"]
