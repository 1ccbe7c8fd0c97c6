"""What a release of a family in groups would say of a group of usual size. Reads and spends nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from discreet.catalogue import expect
from discreet.mechanisms.statistics.grouped_statistics import GroupedStatistics
from discreet.models.grouped import Grouped
from discreet.planning import Plan, Prediction
from discreet.planning.offers import Asked, Offer, offers
from discreet.planning.prediction import checked_reading, predicted
from discreet.planning.ranked import rank, tried
from discreet.planning.simulated_data import cases
from discreet.privacy.guarantee import Guarantee


def plan_groups(
    model: Grouped,
    n: int,
    target: Guarantee,
    *,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    level: float = 0.9,
    rank_by: str = "error",
    simulations: int | None = None,
    seed: int = 0,
    reading: str = "noise_aware",
    mechanisms: Sequence[str] | None = None,
    rows_per_unit: int = 1,
    draws: int = 1,
    mechanism: str | None = None,
    clips: bool = False,
    **options: Any,  # noqa: ANN401 - of the mechanism: noise=
) -> Plan:
    """Predict every noise at the target for one group, of n over the number of groups: errors are of θ there.

    The model must know its groups: model.bind(columns, levels of each key). Words are those of `plan_family`.
    """
    size = max(1, n // model.count)
    nodes = cases(
        model.model,
        size,
        truth=truth,
        public_sample=public_sample,
        simulations=simulations,
        seed=seed,
        clips=clips,
    )
    asked = Asked(rows_per_unit, draws, mechanism, options)

    def one(offer: Offer) -> Prediction:
        ready = expect(GroupedStatistics, offer.calibrate())
        row = predicted(ready.of_one_group(), nodes, level, None, checked_reading(reading))
        return replace(row, name=offer.name, ask=offer.ask, price=offer.price(ready))

    offered = [(offer.name, partial(one, offer)) for offer in offers(model, n, target, asked, mechanisms)]
    rows, refused = tried(offered, "planning")
    ranked = tuple(sorted(rows, key=lambda row: rank(row, rank_by)))
    assumed = f"{nodes.assumed}, in one of {model.count} groups, of {size} records"
    exact = predicted(None, nodes, level)
    return Plan(model.model, size, target, ranked, refused, level, assumed, rank_by, exact)
