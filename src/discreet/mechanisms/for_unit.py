"""A mechanism calibrated for a unit of several rows and for several draws: one way, for fits and plans."""

from __future__ import annotations

from typing import Any

from discreet.mechanisms.mechanism import Mechanism, ModelMechanism, shared
from discreet.mechanisms.registry import model_mechanism, under_distance
from discreet.privacy.group_privacy import per_row
from discreet.privacy.guarantee import Guarantee, NotProved


def calibrated_for_unit(
    kind: type[ModelMechanism],
    model: object,
    target: Guarantee,
    *,
    n: int | None,
    rows_per_unit: int = 1,
    draws: int = 1,
    **options: Any,  # noqa: ANN401 - the mechanism's own
) -> ModelMechanism:
    """Find the knob for one row and one draw, so that a unit and all draws together get the target."""
    kind = for_target(kind, target)
    k, given = rows_per_unit, {"n": n, **options}
    if kind.knows_units:
        return kind.calibrate(model, target=target, rows_per_unit=k, **given)
    if draws == 1:
        return kind.calibrate(model, target=per_row(target, k), **given)
    return shared(lambda each: kind.calibrate(model, target=per_row(each, k), **given), target, draws, k)


def for_target(kind: type[ModelMechanism], target: Guarantee) -> type[ModelMechanism]:
    """Return the mechanism that makes this draw with a promise of neighbours, or of a distance, as asked."""
    other = under_distance(kind.name) if target.relation.is_distance else ""
    return model_mechanism(other) if other else kind


def promise_for_unit(ready: Mechanism, rows_per_unit: int, target: Guarantee) -> Guarantee:
    """Return the mechanism's own promise for all rows of a unit; the target where no group rule reaches."""
    try:
        return ready.guarantee.group(rows_per_unit)
    except NotProved:
        return target
