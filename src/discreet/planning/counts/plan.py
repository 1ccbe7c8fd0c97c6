"""What each mechanism would say of a model of counts: noise, errors, intervals. Reads and spends nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, singledispatch
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.catalogue import expect
from discreet.families.family import Floats, public_size
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.count_model import CountModel
from discreet.models.mixture import Mixture
from discreet.models.naive_bayes import NaiveBayes
from discreet.planning.counts.worlds import Codes, counted, world
from discreet.planning.marginals import deviation
from discreet.planning.offers import Asked, Offer, ask_to_json, offers, price_to_json
from discreet.planning.ranked import Ranked, tried
from discreet.planning.table import LINE, aligned, estimate, refusals, to_fit
from discreet.posteriors.counts.naive_bayes import NaiveBayesPosterior, exact
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.read import Draws, OnlyDraws, as_released_value, posterior
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee
from discreet.sampling.source import SeededSource
from discreet.shown import steps

TESTED = 1000  # records that naive Bayes predicts in each imagined data set
QUICK, CHAINS, LONG = 16, 6, 3  # data sets: of tables read at once, of a mixture's chains, of hidden states'


@final
@dataclass(frozen=True)
class Accuracy:
    """How often the likeliest class is right, over imagined data sets; `error` is the standard error."""

    private: float
    exact: float
    error: float
    replicates: int


@final
@dataclass(frozen=True)
class CountPrediction:
    """What to expect of one mechanism over imagined data sets; `_se` are standard errors of that.

    `error` is the root mean square error of a probability's posterior mean (of a released draw), `width` and
    `coverage` are of its credible interval as a fit reads it, None where one draw is all there is.
    `deviations` are those of the noise of each table's cells, `relative` over the mean count of a cell,
    n/cells. `ask` is what `privatise` would be told for this row, `price` what its ledger would charge.
    """

    mechanism: ModelMechanism
    name: str
    deviations: tuple[float, ...]  # one for each table; none of a draw
    relative: tuple[float, ...]
    accuracy: Accuracy | None  # of naive Bayes
    error: float
    error_se: float
    width: float | None
    width_se: float | None
    coverage: float | None
    coverage_se: float | None
    replicates: int
    ask: Mapping[str, Any] = field(default_factory=dict)
    price: Guarantee | None = None

    @property
    def noise(self) -> float:
        """Root mean square over the tables; without end for a draw, so that it comes last."""
        return float(np.sqrt(np.mean(np.square(self.deviations)))) if self.deviations else float("inf")

    @property
    def worst(self) -> float:
        """Relative noise of the worst table."""
        return max(self.relative, default=float("nan"))

    def to_json(self) -> dict[str, Any]:
        known = {
            name: value
            for name, value in vars(self).items()
            if name not in {"mechanism", "accuracy", "ask", "price"}
        }
        plain = {name: None if value != value else value for name, value in known.items()}  # noqa: PLR0124 - NaN
        scales = [float(scale) for scale in getattr(self.mechanism, "scales", ())]
        found = None if self.accuracy is None else vars(self.accuracy)
        told = {"ask": ask_to_json(self.ask), "price": price_to_json(self.price)}
        return {**plain, "scales": scales, "accuracy": found, **told}


@final
@dataclass(frozen=True)
class CountPlan(Ranked[CountModel, CountPrediction]):
    """Every mechanism that meets the target, the least noise first."""

    offered: ClassVar[str] = "mechanism"
    level: float = 0.9

    def table(self, *, command: bool = False) -> str:
        """Aligned text; `command` spells what to ask for as options of the command."""
        head = ("mechanism", "noise per cell (deviation)", "of a mean cell, worst table")
        read = ("rms error", "width", "covers")
        judged = any(row.accuracy for row in self.rows)
        cells = [self._cells(row, judged=judged) for row in self.rows]
        body = aligned(
            [(*head, *read, *(("accuracy", "without privacy") if judged else ())), *cells], apart=False
        )
        title = f"{self.model!r}, {self.model.size} cells, n = {self.n}, target {self.target}"
        lines = [*textwrap.wrap(title, LINE), *self._expected(), "", *body, *refusals(self.refused)]
        lines += to_fit(self.rows[0], command=command) if self.rows else []
        return "\n".join(line.rstrip() for line in lines)

    def _expected(self) -> list[str]:
        count = max((row.replicates for row in self.rows), default=0)
        said = f"{count} imagined data sets from the prior; {self.level:.0%} intervals of a probability"
        return [f"expected over {said}"] if count else []

    def _cells(self, row: CountPrediction, *, judged: bool) -> tuple[str, ...]:
        plain = (
            row.name,
            _spread(row),
            "—" if not row.relative else f"{row.worst:.1%}",
            estimate(row.error, row.error_se),
            "none: one draw" if row.width is None else estimate(row.width, row.width_se),
            "—" if row.coverage is None else estimate(row.coverage, row.coverage_se, percent=True),
        )
        if not judged or row.accuracy is None:
            return plain
        found = row.accuracy
        return (*plain, f"{found.private:.4g} ± {found.error:.1g}", f"{found.exact:.4g}")


def _spread(row: CountPrediction) -> str:
    if not row.deviations:
        return "—"
    least, most = min(row.deviations), max(row.deviations)
    return f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"


def plan_counts(
    model: CountModel,
    n: int,
    target: Guarantee,
    *,
    level: float = 0.9,
    replicates: int | None = None,
    seed: int = 0,
    reading: str = "noise_aware",
    mechanisms: Sequence[str] | None = None,
    rows_per_unit: int = 1,
    draws: int = 1,
    mechanism: str | None = None,
    **options: Any,  # noqa: ANN401 - of that mechanism, or of all that take them
) -> CountPlan:
    """Calibrate every mechanism, and try it on data sets from the prior, read as a fit is read.

    The model must know its columns' numbers of codes: model.bind({'column': codes, …}). `replicates` data
    sets are imagined: few where a reading runs chains, unless told. Further words are those of a job.
    """
    size = int(public_size(SUBSTITUTE, n) or 0)
    count = usual_replicates(model) if replicates is None else replicates
    _ = model.size_of  # refuses a model that is not bound
    asked = Asked(rows_per_unit, draws, mechanism, options)
    trial = Replication(size, count, seed, reading, level)
    offered = [
        (offer.name, partial(_predicted, offer, trial))
        for offer in offers(model, size, target, asked, mechanisms)
    ]
    rows, refused = tried(offered, "planning")
    ranked = tuple(sorted(rows, key=lambda row: row.noise))
    return CountPlan(model, size, target, ranked, refused, level)


@singledispatch
def usual_replicates(_model: CountModel) -> int:
    """How many data sets to imagine: a reading takes seconds where it runs chains."""
    return LONG


@usual_replicates.register(NaiveBayes)
@usual_replicates.register(BayesianNetwork)
def _replicates_of_tables(_model: CountModel) -> int:
    return QUICK


@usual_replicates.register(Mixture)
def _replicates_of_a_mixture(_model: Mixture) -> int:
    return CHAINS


@final
@dataclass(frozen=True)
class Replication:
    """How mechanisms are tried: on so many data sets of n records, the same for each."""

    n: int
    replicates: int
    seed: int
    reading: str
    level: float


@final
@dataclass(frozen=True)
class Score:
    """What one imagined data set gave."""

    square: float
    width: float
    coverage: float
    right: float = float("nan")
    right_exact: float = float("nan")


def _predicted(offer: Offer, trial: Replication) -> CountPrediction:
    ready = offer.calibrate()
    return predict_counts(offer.name, ready, trial, ask=offer.ask, price=offer.price(ready))


def predict_counts(
    name: str,
    ready: ModelMechanism,
    trial: Replication,
    **told: Any,  # noqa: ANN401 - ask, price
) -> CountPrediction:
    """Predict one mechanism, however its knob was set."""
    counted_noise = (
        [
            (deviation(ready.noise, float(scale)), cells.size)
            for scale, cells in zip(ready.scales, ready.model.cells, strict=True)
        ]
        if isinstance(ready, NoisyCounts)
        else []
    )
    scores = [_scored(ready, trial, i) for i in steps(range(trial.replicates), f"imagining {name}")]
    table = np.array([list(vars(score).values()) for score in scores])
    (square, width, coverage, right, right_exact), errors = table.mean(axis=0), _errors(table)
    drawn = bool(np.isnan(width))
    judged = not np.isnan(right)
    return CountPrediction(
        ready,
        name,
        tuple(noise for noise, _ in counted_noise),
        tuple(noise * size / trial.n for noise, size in counted_noise),
        Accuracy(float(right), float(right_exact), errors[3], trial.replicates) if judged else None,
        error=float(square**0.5),
        error_se=errors[0] / (2 * float(square) ** 0.5),
        width=None if drawn else float(width),
        width_se=None if drawn else errors[1],
        coverage=None if drawn else float(coverage),
        coverage_se=None if drawn else errors[2],
        replicates=trial.replicates,
        **told,
    )


def _errors(table: Floats) -> list[float]:
    """Return the standard error of each column's mean; unknown from one data set."""
    if len(table) < 2:
        return [float("nan")] * table.shape[1]
    return [float(error) for error in table.std(axis=0, ddof=1) / len(table) ** 0.5]


def _scored(ready: ModelMechanism, trial: Replication, i: int) -> Score:
    """Release the counts of one imagined data set with public bits, read them, and hold them to the truth."""
    rng, model = np.random.default_rng([trial.seed, i]), expect(CountModel, ready.model)
    made = world(model, trial.n + TESTED, rng)
    counts = counted(model, {name: codes[: trial.n] for name, codes in made.records.items()})
    private = {"count": trial.n} if ready.guarantee.relation is ADD_REMOVE else {}
    drawn = ready.release(counts, SeededSource(int(rng.integers(2**62))), **private)
    value = as_released_value(drawn, model, several=False)
    read = posterior(value) if isinstance(value, Draws) else posterior(value, reading=trial.reading)
    mean = read.flat_mean()
    truth = made.truth(mean)
    width, coverage = _interval(read, truth, trial.level)
    tested = {name: codes[trial.n :] for name, codes in made.records.items()}
    right = _right(read, counts, tested)
    return Score(float(np.mean((mean - truth) ** 2)), width, coverage, *right)


def _interval(read: Posterior, truth: Floats, level: float) -> tuple[float, float]:
    try:
        low, high = read.flat_interval(level).T
    except OnlyDraws:
        return float("nan"), float("nan")
    return float(np.mean(high - low)), float(np.mean((low <= truth) & (truth <= high)))


@singledispatch
def _right(read: Posterior, counts: NDArray[Any], tested: Codes) -> tuple[float, ...]:
    """How often the likeliest label is right, and with exact counts; nothing where nothing is predicted."""
    del read, counts, tested
    return ()


@_right.register
def _right_naive_bayes(read: NaiveBayesPosterior, counts: NDArray[Any], tested: Codes) -> tuple[float, ...]:
    features = np.column_stack([tested[name] for name in read.model.features])
    labels = tested[read.model.label]
    both = (read, exact(read.model, counts))
    return tuple(float((each.predict(features, codes=True) == labels).mean()) for each in both)
