"""Before the charge: find the knob that meets the target, and say what is promised to a unit."""

from __future__ import annotations

from discreet.line.choose import refuse_several, refuse_strangers, typed_name
from discreet.mechanisms.calibration import shared
from discreet.mechanisms.mechanism import Mechanism, ModelMechanism, Option
from discreet.privacy.group_privacy import per_row
from discreet.privacy.guarantee import Guarantee, NotProved
from discreet.statistics import BoundedStatistic


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
    refuse_strangers(typed_name(kind, model), kind, options)
    given = {"n": statistic.n, **options}
    if kind.knows_units:
        return kind.calibrate(model, target=target, rows_per_unit=k, **given)
    if draws == 1:
        return kind.calibrate(model, target=per_row(target, k), **given)
    return shared(lambda each: kind.calibrate(model, target=per_row(each, k), **given), target, draws)


def promise_for_unit(ready: Mechanism, rows_per_unit: int, target: Guarantee) -> Guarantee:
    """Return the mechanism's own promise for all rows of a unit; the target where no group rule reaches."""
    try:
        return ready.guarantee.group(rows_per_unit)
    except NotProved:
        return target
