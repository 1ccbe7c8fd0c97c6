"""Which mechanism, at what price: predictions before anything is spent. Reads no data, charges no budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final, overload

from numpy.typing import ArrayLike

from discreet.catalogue import row_of
from discreet.families.family import Family
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.planning.inverse import epsilon_for, n_for, public_records_for
from discreet.planning.offers import Asked, Offer, offers
from discreet.planning.prediction import Prediction, checked_reading, predict, predicted
from discreet.planning.ranked import TRUSTED, Compared, Refusal, rank, tried
from discreet.planning.simulated_data import cases
from discreet.planning.split import Question, optimal_weights, split, zcdp_within
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.asked import promise
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.words import delta_caution

if TYPE_CHECKING:
    from discreet.planning.counts.plan import CountPlan
    from discreet.planning.regression.prediction import RegressionPlan


__all__ = [
    "Plan",
    "Prediction",
    "Question",
    "Refusal",
    "epsilon_for",
    "n_for",
    "optimal_weights",
    "plan",
    "plan_family",
    "predict",
    "public_records_for",
    "split",
    "zcdp_within",
]

CRITERIA = ("error", "absolute", "honest_width", "width", "kl", "test_error")  # to rank by, least first
READ = {
    None: "",
    "naive": ", read naively, as if nothing were noised; a result is read noise-aware where it can be",
    "noise_aware": ", read with the noise in mind: do not rely on them at this n and target",
}


@final
@dataclass(frozen=True)
class Plan(Compared[Family, Prediction]):
    """Predictions for every mechanism that meets the target, best first; the others with their reasons."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """Say which intervals cover too rarely, and how they were read."""
        low = [row for row in self.rows if self._too_seldom(row)]
        said = [
            f"{row.name}: {self.level:.0%} intervals are predicted to cover {row.coverage:.0%}"
            f"{READ[row.reading]}"
            for row in low
        ]
        if said and self._too_seldom(self.exact):
            said.append(
                f"without privacy they would cover {self.exact.coverage:.0%}: the public bounds clip much of "
                "what the prior imagines; widen them, or say with truth= or public_sample= what to expect"
            )
        made = (row.mechanism for row in self.rows if row.mechanism is not None)
        told = [delta_caution(one.guarantee, self.target, self.n) for one in made]
        return (*said, *{words: None for words in told if words})

    def _too_seldom(self, row: Prediction) -> bool:
        """Whether an interval covers 5 points less than its level, and that is no chance of a simulation."""
        if row.coverage is None:
            return False
        short, chance = self.level - row.coverage, 2 * (row.coverage_se or 0.0)
        return short > max(TRUSTED, chance)

    def table(self, *, command: bool = False) -> str:
        """Aligned text; `command` spells what to ask for as options of the command."""
        from discreet.planning.table import table  # noqa: PLC0415 - the picture's side, on use

        return table(self, command=command)

    def picture(self, path: str | Path) -> Path:
        """Draw errors and intervals beside those of the exact posterior; needs matplotlib ([plots])."""
        from discreet.planning.picture import draw  # noqa: PLC0415 - loads matplotlib on use

        return draw(self, path)


@overload
def plan(model: Family, n: int, target: Guarantee | None = None, **options: Any) -> Plan: ...  # noqa: ANN401
@overload
def plan(
    model: GeneralizedLinear,
    n: int,
    target: Guarantee | None = None,
    **options: Any,  # noqa: ANN401
) -> RegressionPlan: ...
@overload
def plan(model: CountModel, n: int, target: Guarantee | None = None, **options: Any) -> CountPlan: ...  # noqa: ANN401
def plan(
    model: Any,
    n: int,
    target: Guarantee | None = None,
    *,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    relation: Relation | str | None = None,
    **options: Any,
) -> Any:
    """Predict every mechanism at the target, over imagined data; reads nothing and spends nothing.

    The target is given as such, or as epsilon=, delta=. Options are those of `plan_family`; of a regression
    those of regression.plan_regression, and of a model of counts those of counts.plan_counts.
    """
    return row_of(model).load("planner")(model, n, promise(target, epsilon, delta, relation), **options)


def plan_family(
    model: Family,
    n: int,
    target: Guarantee,
    *,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    level: float = 0.9,
    coordinates: Sequence[int] | None = None,
    rank_by: str = "error",
    simulations: int | None = None,
    seed: int = 0,
    reading: str = "noise_aware",
    mechanisms: Sequence[str] | None = None,
    rows_per_unit: int = 1,
    draws: int = 1,
    clips: bool = False,
    mechanism: str | None = None,
    **options: Any,  # noqa: ANN401 - of that mechanism, or of all that take them: noise=, truncation=
) -> Plan:
    """Predict every mechanism at the target, over data from the prior, from `truth` or like a public sample.

    Under ADD_REMOVE n is only what to expect; no mechanism is told it. `reading` is how noisy statistics
    would be read. What follows it are the words of a job: `privatise(…, **row.ask)` fits what a row
    predicts. A draw that needs a truncation gets a tenth of an even share, unless told. `clips` is what the
    schema says: values beyond the bounds are clipped. Unless it does, no data with such values are imagined.
    """
    if rank_by not in CRITERIA:
        raise ValueError(f"rank_by must be one of {', '.join(CRITERIA)}; got {rank_by!r}")
    nodes = cases(
        model,
        n,
        truth=truth,
        public_sample=public_sample,
        simulations=simulations,
        seed=seed,
        clips=clips,
    )
    exact = predicted(None, nodes, level, coordinates)
    found = offers(model, nodes.n, target, Asked(rows_per_unit, draws, mechanism, options), mechanisms)

    def one(offer: Offer) -> Prediction:
        ready = offer.calibrate()
        row = predicted(ready.single, nodes, level, coordinates, checked_reading(reading))
        return replace(row, name=offer.name, ask=offer.ask, price=offer.price(ready))

    rows, refused = tried([(offer.name, partial(one, offer)) for offer in found], "planning")
    ranked = tuple(sorted(rows, key=lambda row: rank(row, rank_by)))
    return Plan(model, nodes.n, target, ranked, refused, level, nodes.assumed, rank_by, exact)
