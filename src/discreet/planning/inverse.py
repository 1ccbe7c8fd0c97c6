"""From a wanted interval back to the ε, the n or the public records it takes, by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, singledispatch
from typing import Any, final

from numpy.typing import ArrayLike
from scipy.optimize import brentq

from discreet.catalogue import FAMILY, row_of
from discreet.families.family import Family
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.public_data import even_batch, public_records_needed
from discreet.models.count_model import CountModel
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.numerics.search import bisect, bracket, integers, least_count
from discreet.planning.counts.plan import Replication, predict_counts, usual_replicates
from discreet.planning.offers import Asked, offers
from discreet.planning.predicted_release import without_privacy
from discreet.planning.prediction import (
    Prediction,
    checked_level,
    chosen_coordinates,
    honest_width,
    predicted,
)
from discreet.planning.regression.plan import predicted_width
from discreet.planning.simulated_data import SimulatedCases, cases
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation, Unreachable
from discreet.privacy.kinds import ApproxDP, PureDP

LEAST_EPSILON, MOST_EPSILON = 2.0**-20, 2.0**6
MOST_RECORDS = 2**40  # public ones, which are only counted
MOST_READ, MOST_SIMULATED = 2**24, 2**20  # where doubles still resolve a sum's law, and one by one
FINENESS, COARSE = 1.002, 1.01  # answers are within 0.2 %, of simulated models 1 %, on the side that holds
FAR = 50.0  # a gap beyond all widths
WORSE = 3  # steps of public records that made the interval wider, after which more of them are not tried


@final
@dataclass(frozen=True)
class Wanted:
    """An interval no wider than `width` at `coverage`, and what data to expect.

    The interval is the one that a fit reads; of one draw, the draw ± h that covers θ (see honest_width).
    """

    width: float
    coverage: float
    truth: ArrayLike | None = None
    public_sample: ArrayLike | None = None
    coordinates: Sequence[int] | None = None
    simulations: int | None = None
    seed: int = 0
    mechanism: str | None = None  # the model's default
    rows_per_unit: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    clips: bool = False

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ValueError(f"width must be a number above 0, got {self.width}")
        object.__setattr__(self, "width", float(self.width))  # an exact fraction too
        checked_level(self.coverage)

    def name(self, model: object) -> str:
        return self.mechanism or next(iter(row_of(model).mechanisms))

    def calibrated(self, model: object, n: int, target: Guarantee) -> Mechanism:
        """Find the knob as a fit does, of several kinds of noise with the first."""
        name = self.name(model)
        asked = Asked(self.rows_per_unit, 1, name, self.options)
        return offers(model, n, target, asked, [name])[0].calibrate()

    def gap(self, model: object, n: int, calibrate: Callable[[], Mechanism]) -> float:
        """ln(width/wanted): above 0 where it is too wide, `FAR` where the target cannot be met."""
        try:
            mechanism = calibrate()
        except Unreachable:
            return FAR
        if self.width == math.inf:
            return -FAR
        return math.log(max(read_width(model, n, mechanism, self), 1e-300) / self.width)


@singledispatch
def read_width(model: object, n: int, mechanism: Mechanism, wanted: Wanted) -> float:
    """Predict the width of the interval that is read, averaged over the parameters."""
    del n, mechanism, wanted
    raise TypeError(f"no width can be planned for {type(model).__name__}")


@read_width.register(Family)
def _read_width_family(model: Family, n: int, mechanism: Mechanism, wanted: Wanted) -> float:
    return _width(predicted(mechanism, _nodes(model, n, wanted), wanted.coverage, wanted.coordinates))


def _width(row: Prediction) -> float:
    return row.honest_width if row.width is None else row.width


@read_width.register(CountModel)
def _read_width_counts(model: CountModel, n: int, mechanism: Any, wanted: Wanted) -> float:  # noqa: ANN401
    _refuse_further(model, wanted)
    count = wanted.simulations or usual_replicates(model)
    row = predict_counts(
        wanted.name(model), mechanism, Replication(n, count, wanted.seed, "noise_aware", wanted.coverage)
    )
    return _of_interval(row.width, wanted, model)


@read_width.register(GeneralizedLinear)
def _read_width_regression(model: GeneralizedLinear, n: int, mechanism: Any, wanted: Wanted) -> float:  # noqa: ANN401
    _refuse_further(model, wanted, truth=True, sample=True)
    found = predicted_width(
        model,
        n,
        mechanism,
        level=wanted.coverage,
        truth=wanted.truth,
        public_sample=wanted.public_sample,
        replicates=wanted.simulations,
        seed=wanted.seed,
    )
    return _of_interval(found, wanted, model)


def _of_interval(width: float | None, wanted: Wanted, model: object) -> float:
    if width is None:
        raise ValueError(
            f"{wanted.name(model)} releases one draw, which has no interval: ask for a mechanism "
            f"that is read freely, such as {next(iter(row_of(model).mechanisms))}"
        )
    return width


def _refuse_further(model: object, wanted: Wanted, *, truth: bool = False, sample: bool = False) -> None:
    """Refuse what only families can be told."""
    told = {
        "truth": wanted.truth is not None and not truth,
        "public_sample": wanted.public_sample is not None and not sample,
        "coordinates": wanted.coordinates is not None,
    }
    strange = [name for name, given in told.items() if given]
    if strange:
        raise ValueError(f"plans of {type(model).__name__} are not told {', '.join(strange)}; leave it out")


def _nodes(model: Family, n: int, wanted: Wanted) -> SimulatedCases:
    return cases(
        model,
        n,
        truth=wanted.truth,
        public_sample=wanted.public_sample,
        simulations=wanted.simulations,
        seed=wanted.seed,
        clips=wanted.clips,
    )


def _by_formula(model: object) -> bool:
    return row_of(model).kind == FAMILY


def epsilon_for(
    model: Family | CountModel | GeneralizedLinear,
    n: int,
    width: float,
    coverage: float = 0.9,
    *,
    mechanism: str | None = None,
    delta: Exact = 0,
    relation: Relation = SUBSTITUTE,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    coordinates: Sequence[int] | None = None,
    simulations: int | None = None,
    seed: int = 0,
    rows_per_unit: int = 1,
    clips: bool = False,
    **options: Any,  # noqa: ANN401 - the mechanism's own: noise=, truncation=
) -> float:
    """Least ε, to 0.2 % of bisection, at which the interval that is read is narrow enough on average.

    Pure DP for δ = 0. Without a mechanism it is the model's default. What is simulated adds its own error, a
    percent or more; more `simulations` lower it. Of one draw the interval is the draw ± h that covers θ.
    """
    wanted = Wanted(
        width,
        coverage,
        truth,
        public_sample,
        coordinates,
        simulations,
        seed,
        mechanism,
        rows_per_unit,
        options,
        clips,
    )
    name = wanted.name(model)
    if isinstance(model, Family):
        refuse_what_data_cannot(wanted, model, n)

    def calibrate(epsilon: float) -> Mechanism:
        pure = PureDP(epsilon, relation=relation)
        target = pure if delta == 0 else ApproxDP(epsilon, delta, relation=relation)
        return wanted.calibrated(model, n, target)

    @cache
    def gap(epsilon: float) -> float:
        return wanted.gap(model, n, lambda: calibrate(epsilon))

    if gap(MOST_EPSILON) > 0:
        calibrate(MOST_EPSILON)  # says why, where the target itself is out of reach
        raise Unreachable(
            f"{name} does not reach a {coverage:.0%} interval of width {wanted.width:g} with n = {n} "
            f"even at ε = {MOST_EPSILON:g}; ask for a wider one, more records or another mechanism"
        )
    # from above: wide noise takes longest to read
    ends = bracket(
        lambda e: gap(e) > 0, MOST_EPSILON, MOST_EPSILON / 4, lambda e: e / 4, lambda e: e <= LEAST_EPSILON
    )
    if ends is None:
        return LEAST_EPSILON
    held, failed = ends
    return crossing(gap, failed, held, FINENESS if _by_formula(model) else COARSE)


def crossing(gap: Callable[[float], float], failed: float, held: float, fineness: float) -> float:
    """Return a number that holds, a ratio of `fineness` at most beyond where the gap closes [Brent 1973]."""
    step = math.log(fineness) / 2
    root = brentq(lambda log: gap(math.exp(log)), math.log(failed), math.log(held), xtol=step / 2)
    found = math.exp(root)
    while found < held and gap(found) > 0:
        found *= math.exp(step)
    return min(found, held)


def n_for(
    model: Family | CountModel | GeneralizedLinear,
    target: Guarantee,
    width: float,
    coverage: float = 0.9,
    *,
    mechanism: str | None = None,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    coordinates: Sequence[int] | None = None,
    simulations: int | None = None,
    seed: int = 0,
    rows_per_unit: int = 1,
    clips: bool = False,
    **options: Any,  # noqa: ANN401
) -> int:
    """Least number of records, to 0.2 % of bisection, with which the interval is narrow enough on average."""
    wanted = Wanted(
        width,
        coverage,
        truth,
        public_sample,
        coordinates,
        simulations,
        seed,
        mechanism,
        rows_per_unit,
        options,
        clips,
    )
    most, fineness = (MOST_READ, FINENESS) if _by_formula(model) else (MOST_SIMULATED, COARSE)

    def calibrate(n: int) -> Mechanism:
        return wanted.calibrated(model, n, target)

    @cache
    def gap(n: int) -> float:
        return wanted.gap(model, n, lambda: calibrate(n))

    ends = bracket(lambda n: gap(n) <= 0, 0, 1, lambda n: 16 * n, lambda n: n >= most)
    found = None if ends is None else _fewest(gap, *ends, fineness)
    if found is None:
        calibrate(most)
        raise Unreachable(
            f"{wanted.name(model)} does not reach a {coverage:.0%} interval of width {wanted.width:g} at "
            f"{target} with up to {most:,} records: clipping or the knob sets a floor; ask for less width or "
            "privacy"
        )
    return found


def _fewest(gap: Callable[[int], float], failed: int, held: int, fineness: float) -> int:
    """Return the least number of records that holds, up to the ratio; one by one while they are few."""
    if held > 1 / (fineness - 1) and failed:
        found = crossing(lambda n: gap(math.ceil(n)), failed, held, fineness)
        return math.ceil(found)
    return bisect(lambda n: gap(n) <= 0, failed, held, integers)


def public_records_for(
    model: Family,
    n: int,
    target: Guarantee,
    *,
    width: float | None = None,
    coverage: float = 0.9,
    mechanism: str = "direct",
    batch: tuple[ArrayLike, int] | None = None,
    truth: ArrayLike | None = None,
    simulations: int | None = None,
    seed: int = 0,
    rows_per_unit: int = 1,
    clips: bool = False,
    **options: Any,  # noqa: ANN401
) -> int:
    """Least number of public records, in copies of `batch`, that meet the target, and the width if given.

    A batch is (statistic, records) of public data; None spreads evenly over the bounds [G20 §5.3.1]. The
    records are folded into the prior, for Direct exactly as `public_records_needed` says. The private data
    are imagined from the model as it was given, or from `truth`: public records that were made up say nothing
    of θ, and where they pull the posterior away, the interval is as wide as it then must be to cover.
    """
    if width is None and mechanism == "direct" and not options and rows_per_unit == 1:
        return public_records_needed(model, n=n, target=target, batch=batch)
    wanted = Wanted(
        math.inf if width is None else width, coverage, truth,
        simulations=simulations, seed=seed, mechanism=mechanism, rows_per_unit=rows_per_unit,
        options=options, clips=clips,
    )  # fmt: skip
    statistic, size = even_batch(model) if batch is None else (model.check(*batch), batch[1])

    def enlarged(copies: int) -> Family:
        return model if copies == 0 else model.update(copies * statistic, copies * size)

    def meets(copies: int) -> bool:
        return replace(wanted, width=math.inf).gap(model, n, lambda: calibrate(copies)) < 0

    def calibrate(copies: int) -> Mechanism:
        return wanted.calibrated(enlarged(copies), n, target)

    fewest = 0 if meets(0) else least_count(meets, MOST_RECORDS)
    if fewest is not None and wanted.width < math.inf:
        nodes = _nodes(model, n, wanted)

        def covering(copies: int) -> float:
            shifted = replace(nodes, model=enlarged(copies))
            row = predicted(calibrate(copies), shifted, coverage, honest=without_privacy(nodes, coverage))
            return row.honest_width

        fewest = _narrow_enough(covering, fewest, wanted.width)
    if fewest is None:
        raise Unreachable(
            f"{mechanism} does not meet {target} at the width asked for with any number of such public "
            "records: too few do not make it private, and too many outweigh the private data"
        )
    return fewest * size


def _narrow_enough(width_at: Callable[[int], float], fewest: int, width: float) -> int | None:
    """Least number from `fewest` on that is narrow enough; more narrow the interval, then widen it."""
    low, last, wider = fewest, math.inf, 0
    copies = fewest
    while wider < WORSE and copies <= MOST_RECORDS:
        found = width_at(copies)
        if found <= width:
            if copies == fewest:
                return copies
            return bisect(lambda k: width_at(k) <= width, low, copies, integers)
        wider = wider + 1 if found >= last else 0
        low, last, copies = copies, found, max(copies + 1, math.ceil(1.25 * copies))
    return None


def refuse_what_data_cannot(wanted: Wanted, model: Family, n: int) -> None:
    """Refuse a width that even the exact posterior does not have."""
    nodes = _nodes(model, n, wanted)
    plain = without_privacy(nodes, wanted.coverage)
    if wanted.name(model) == next(iter(row_of(model).mechanisms)):
        exact = _width(predicted(None, nodes, wanted.coverage, wanted.coordinates))
    else:
        widths = honest_width(plain, plain, wanted.coverage)
        exact = float(widths[chosen_coordinates(nodes, wanted.coordinates)].mean())
    if exact > wanted.width:
        raise Unreachable(
            f"even the exact posterior of n = {n} records needs a width of {exact:.4g} to cover "
            f"{wanted.coverage:.0%}, more than {wanted.width:g}: no ε is enough; see n_for"
        )
