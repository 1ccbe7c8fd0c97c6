"""From a wanted interval back to the ε, the n or the public records it takes, by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from numpy.typing import ArrayLike

from discreet.catalogue import FAMILY
from discreet.families.family import Family
from discreet.mechanisms.mechanism import Mechanism, Option
from discreet.mechanisms.public_data import even_batch, public_records_needed
from discreet.mechanisms.registry import MECHANISMS, offered_to
from discreet.numerics.search import bisect, integers, least_count, ratios
from discreet.planning.predicted_release import predict_release, without_privacy
from discreet.planning.prediction import checked_level, chosen_coordinates, honest_width
from discreet.planning.simulated_data import cases
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation, Unreachable
from discreet.privacy.kinds import ApproxDP, PureDP

LEAST_EPSILON, MOST_EPSILON = 2.0**-20, 2.0**6
MOST_RECORDS = 2**40
FINENESS = 1.002  # answers are within 0.2 %, on the side that holds


@final
@dataclass(frozen=True)
class Wanted:
    """An honest interval (see Prediction) no wider than `width` at `coverage`, and what data to expect."""

    width: float
    coverage: float
    truth: ArrayLike | None
    public_sample: ArrayLike | None
    coordinates: Sequence[int] | None
    simulations: int | None
    seed: int

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ValueError(f"width must be a number above 0, got {self.width}")
        object.__setattr__(self, "width", float(self.width))  # an exact fraction too
        checked_level(self.coverage)

    def met(self, model: Family, n: int, calibrate: Callable[[], Mechanism]) -> bool:
        """Whether the target can be met and the interval is narrow enough; a family not proved is refused."""
        try:
            mechanism = calibrate()
        except Unreachable:
            return False
        return self.width == math.inf or self.predicted(model, n, mechanism) <= self.width

    def predicted(self, model: Family, n: int, mechanism: Mechanism | None) -> float:
        """Predicted width, averaged over the chosen coordinates; None asks for the exact posterior."""
        nodes = cases(
            model,
            n,
            truth=self.truth,
            public_sample=self.public_sample,
            simulations=self.simulations,
            seed=self.seed,
        )
        exact = without_privacy(nodes, self.coverage)
        out = exact if mechanism is None else predict_release(mechanism, nodes, self.coverage)
        widths = honest_width(out, exact, self.coverage)
        return float(widths[chosen_coordinates(nodes, self.coordinates)].mean())


def epsilon_for(
    model: Family,
    n: int,
    width: float,
    coverage: float = 0.9,
    *,
    mechanism: str = "noisy_statistics",
    delta: Exact = 0,
    relation: Relation = SUBSTITUTE,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    coordinates: Sequence[int] | None = None,
    simulations: int | None = None,
    seed: int = 0,
    **options: Option,  # the mechanism's own: noise=, truncation=
) -> float:
    """Least ε, to 0.2 % of bisection, at which the mechanism's honest interval is narrow enough.

    Pure DP for δ = 0. Simulated nodes add their own error, a percent or two; more `simulations` lower it.
    """
    wanted = Wanted(width, coverage, truth, public_sample, coordinates, simulations, seed)
    refuse_what_data_cannot(wanted, model, n)
    size = None if relation is ADD_REMOVE else n

    def calibrate(epsilon: float) -> Mechanism:
        pure = PureDP(epsilon, relation=relation)
        target = pure if delta == 0 else ApproxDP(epsilon, delta, relation=relation)
        return _calibrated(mechanism, model, size, target, options)

    def holds(epsilon: float) -> bool:
        return wanted.met(model, n, lambda: calibrate(epsilon))

    if not holds(MOST_EPSILON):
        calibrate(MOST_EPSILON)  # says why, where the target itself is out of reach
        raise Unreachable(
            f"{mechanism} does not reach a {coverage:.0%} interval of width {wanted.width:g} with n = {n} "
            f"even at ε = {MOST_EPSILON:g}; ask for a wider one, more records or another mechanism"
        )
    if holds(LEAST_EPSILON):
        return LEAST_EPSILON
    return bisect(holds, LEAST_EPSILON, MOST_EPSILON, ratios(FINENESS))


def n_for(
    model: Family,
    target: Guarantee,
    width: float,
    coverage: float = 0.9,
    *,
    mechanism: str = "noisy_statistics",
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    coordinates: Sequence[int] | None = None,
    simulations: int | None = None,
    seed: int = 0,
    **options: Option,
) -> int:
    """Least number of records, to 0.2 % of bisection, with which the honest interval is narrow enough."""
    wanted = Wanted(width, coverage, truth, public_sample, coordinates, simulations, seed)

    def calibrate(n: int) -> Mechanism:
        size = None if target.relation is ADD_REMOVE else n
        return _calibrated(mechanism, model, size, target, options)

    def holds(n: int) -> bool:
        return wanted.met(model, n, lambda: calibrate(n))

    found = least_count(holds, MOST_RECORDS, 4, lambda a, b: integers(a, b) if b - a > b // 500 else None)
    if found is None:
        calibrate(MOST_RECORDS)
        raise Unreachable(
            f"{mechanism} does not reach a {coverage:.0%} interval of width {wanted.width:g} at {target} "
            "with up to 2^40 records: clipping or the knob sets a floor; ask for less width or privacy"
        )
    return found


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
    **options: Option,
) -> int:
    """Least number of public records, in copies of `batch`, that meet the target, and the width if given.

    A batch is (statistic, records) of public data like those to come; None spreads evenly over the bounds
    [G20 §5.3.1]. The records are folded into the prior, for Direct exactly as `public_records_needed` says.
    """
    if width is None and mechanism == "direct" and not options:
        return public_records_needed(model, n=n, target=target, batch=batch)
    wanted = Wanted(math.inf if width is None else width, coverage, truth, None, None, simulations, seed)
    statistic, size = even_batch(model) if batch is None else (model.check(*batch), batch[1])
    private = None if target.relation is ADD_REMOVE else n

    def holds(copies: int) -> bool:
        prior = model if copies == 0 else model.update(copies * statistic, copies * size)
        return wanted.met(prior, n, lambda: _calibrated(mechanism, prior, private, target, options))

    copies = 0 if holds(0) else least_count(holds, MOST_RECORDS)
    if copies is None:
        raise Unreachable(
            f"{mechanism} does not meet {target} at the width asked for with any number of such public "
            "records"
        )
    return copies * size


def refuse_what_data_cannot(wanted: Wanted, model: Family, n: int) -> None:
    """Refuse a width that even the exact posterior does not have."""
    exact = wanted.predicted(model, n, None)
    if exact > wanted.width:
        raise Unreachable(
            f"even the exact posterior of n = {n} records needs a width of {exact:.4g} to cover "
            f"{wanted.coverage:.0%}, more than {wanted.width:g}: no ε is enough; see n_for"
        )


def _calibrated(
    name: str, model: Family, n: int | None, target: Guarantee, options: dict[str, Option]
) -> Mechanism:
    calibrate: Callable[..., Mechanism] | None = getattr(MECHANISMS[name], "calibrate", None)
    known = offered_to(FAMILY)
    if calibrate is None or name not in known:
        raise ValueError(f"{name!r} releases no posterior; plan with one of {', '.join(known)}")
    return calibrate(model, n=n, target=target, **options)
