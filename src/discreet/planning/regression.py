"""Which mechanism for a regression: each is tried on imagined data sets. Reads no data, spends nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy.optimize import minimize

from discreet.families.family import public_size
from discreet.inference.coefficients import Coefficients, NormalCoefficients
from discreet.inference.conjugate import posterior
from discreet.inference.draws import OnlyDraws, released
from discreet.mechanisms.potential import Potential
from discreet.mechanisms.registry import MECHANISMS, OF_REGRESSIONS
from discreet.models.regression_records import Records
from discreet.models.regression_values import VALUES
from discreet.planning.progress import steps
from discreet.planning.refusal import Refusal
from discreet.planning.regression_worlds import error_name, missed, worlds
from discreet.privacy.certified import PrecisionError
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, NotProved, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import ArrayLike

    from discreet.mechanisms.mechanism import Mechanism
    from discreet.models.generalized_linear import GeneralizedLinear
    from discreet.planning.regression_worlds import World, Worlds
    from discreet.privacy.guarantee import Guarantee

CRITERIA = ("error", "log_loss", "rms", "width")
TRUSTED = 0.85  # predicted coverage of 90 % intervals below which a plan warns
WORK = 4e8  # multiplications of the whole plan, about
FEWEST, MOST = 4, 40  # replicates
LARGEST_N = 200_000
KNOBS = ("rho", "m", "temperature", "strength", "noise", "second_scale")


@final
@dataclass(frozen=True)
class RegressionPrediction:
    """What to expect of one mechanism, averaged over imagined data sets; `_se` are standard errors of that.

    `error` is how often the likelier label is wrong (of a count: the root mean square error of its rate),
    `log_loss` −E ln P(answer), `rms` the root mean square error of a weight. `width` and `coverage` are of
    credible intervals of the weights, None where one draw is all there is.
    """

    mechanism: Mechanism | None  # None: no privacy, for comparison
    name: str
    knobs: str
    error: float
    error_se: float
    log_loss: float
    rms: float
    width: float | None
    coverage: float | None
    coverage_se: float | None
    replicates: int

    def to_json(self) -> dict[str, Any]:
        plain = {k: v for k, v in self.__dict__.items() if k != "mechanism"}
        return {k: "inf" if v == math.inf else v for k, v in plain.items()}


@final
@dataclass(frozen=True)
class RegressionPlan:
    """Predictions for every mechanism that meets the target, best first; the others with their reasons."""

    model: GeneralizedLinear
    n: int
    target: Guarantee
    level: float
    assumed: str
    ranked_by: str
    simulated_n: int
    rows: tuple[RegressionPrediction, ...]
    refused: tuple[Refusal, ...]
    exact: RegressionPrediction  # a Laplace approximation of the posterior without privacy

    @property
    def best(self) -> RegressionPrediction:
        """First row; raises Unreachable when no mechanism meets the target."""
        if not self.rows:
            reasons = "; ".join(f"{r.name}: {r.reason}" for r in self.refused)
            raise Unreachable(f"no mechanism meets {self.target!r}: {reasons}")
        return self.rows[0]

    @property
    def recommended(self) -> str:
        """Name what to ask `privatise` for."""
        return self.best.name

    @property
    def cautions(self) -> tuple[str, ...]:
        """Say what not to trust: intervals that cover too rarely, a smaller n than asked for."""
        low = [
            f"{row.name}: {self.level:.0%} intervals are predicted to cover {row.coverage:.0%} of the weights: "
            "do not rely on them at this n and target"
            for row in self.rows
            if row.coverage is not None and row.coverage < self.level - (0.9 - TRUSTED)
        ]
        if self.simulated_n < self.n:
            low.append(
                f"simulated with n = {self.simulated_n:,}, to be quick: at n = {self.n:,} errors and widths "
                "are smaller than shown"
            )
        return tuple(low)

    def table(self) -> str:
        """Aligned text."""
        from discreet.planning.regression_table import table  # noqa: PLC0415 - the picture's side, on use

        return table(self)

    def picture(self, path: str | Path) -> Path:
        """Draw errors and interval widths beside those without privacy; needs matplotlib ([plots])."""
        from discreet.planning.regression_picture import draw  # noqa: PLC0415 - loads matplotlib on use

        return draw(self, path)

    def to_json(self) -> dict[str, Any]:
        return {
            "model": repr(self.model),
            "n": self.n,
            "target": repr(self.target),
            "relation": self.target.relation.value,
            "level": self.level,
            "assumed": self.assumed,
            "ranked_by": self.ranked_by,
            "simulated_n": self.simulated_n,
            "error_is": error_name(self.model),
            "rows": [row.to_json() for row in self.rows],
            "exact": self.exact.to_json(),
            "refused": [{"name": r.name, "reason": r.reason} for r in self.refused],
            "cautions": list(self.cautions),
        }


def plan_regression(
    model: GeneralizedLinear,
    n: int,
    target: Guarantee,
    *,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    level: float = 0.9,
    rank_by: str = "error",
    replicates: int | None = None,
    seed: int = 0,
    reading: str = "noise_aware",
) -> RegressionPlan:
    """Try every mechanism at the target, over weights from the prior (or `truth`) and rows of a public design.

    Without `public_sample` (encoded rows) x is spherical Gaussian of half the norm. Under ADD_REMOVE n is
    only what to expect: draws are told that at most 2n records count.
    """
    _check(level, rank_by, replicates)
    size = int(public_size(SUBSTITUTE, n) or 0)
    used = min(size, LARGEST_N)
    imagined = worlds(model, used, truth=truth, public_sample=public_sample, replicates=0, seed=seed)
    imagined = replace(imagined, replicates=replicates or _replicates(used, imagined.model.dimension))
    exact = predicted(None, imagined, level)
    rows, refused = [], []
    for name, calibrate in steps(candidates(imagined.model, used, target), "planning"):
        try:
            rows.append(predicted((name, calibrate()), imagined, level, reading))
        except (Unreachable, NotProved, PrecisionError) as error:
            refused.append(Refusal(name, str(error)))
    ranked = tuple(sorted(rows, key=partial(_rank, rank_by)))
    return RegressionPlan(
        imagined.model, size, target, level, imagined.assumed, rank_by, used, ranked, tuple(refused), exact
    )


def _check(level: float, rank_by: str, replicates: int | None) -> None:
    if rank_by not in CRITERIA:
        raise ValueError(f"plans of a regression are ranked by {', '.join(CRITERIA)}; got {rank_by!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level!r}")
    if replicates is not None and not replicates >= 1:
        raise ValueError(f"replicates must be at least 1, got {replicates!r}")


def _replicates(n: int, d: int) -> int:
    """As many as a few seconds allow."""
    return int(np.clip(WORK / (n * d * (d + 20)), FEWEST, MOST))


def _rank(criterion: str, row: RegressionPrediction) -> tuple[float, str]:
    value = getattr(row, criterion)
    return (math.inf if value is None or math.isnan(value) else value), row.name


def candidates(
    model: GeneralizedLinear, n: int, target: Guarantee
) -> list[tuple[str, Callable[[], Mechanism]]]:
    """Every mechanism for a regression, by the name that `privatise` takes, its calibration still to be run."""
    size = None if target.relation is ADD_REMOVE else n

    def of(kind: Any) -> Callable[[], Mechanism]:  # noqa: ANN401
        capped = {"most": 2 * n} if size is None and "most" in kind.__dataclass_fields__ else {}
        found: Callable[[], Mechanism] = partial(kind.calibrate, model, n=size, target=target, **capped)
        return found

    return [(name, of(MECHANISMS[home])) for name, home in OF_REGRESSIONS.items()]


# ── one mechanism, tried ────────────────────────────────────────────────────────────────────────────────
def predicted(
    named: tuple[str, Mechanism] | None, imagined: Worlds, level: float, reading: str = "noise_aware"
) -> RegressionPrediction:
    """Release, read and judge in every world; None asks for the posterior without privacy."""
    tried: Iterable[World] = imagined
    if named is None:
        scores = [score(exact_posterior(imagined.model, world), world, level) for world in tried]
        return _averaged(None, "posterior, not private", "", scores)
    name, mechanism = named
    scores = [score(trial(mechanism, world, reading), world, level) for world in tried]
    return _averaged(mechanism, name, knobs(mechanism), scores)


def trial(mechanism: Any, world: World, reading: str) -> Coefficients:  # noqa: ANN401
    """Release one imagined data set with public bits, and read it."""
    model = mechanism.model
    value = VALUES[mechanism.reads](model, world.features, world.answers)
    count = {"count": len(world.answers)} if mechanism.relation is ADD_REMOVE else {}
    drawn = released(mechanism.release(value, world.source, **count), model, several=False)
    how = {} if hasattr(drawn, "values") else {"reading": reading}  # draws have one reading
    read: Coefficients = posterior(drawn, **how)
    return read


def exact_posterior(model: GeneralizedLinear, world: World) -> NormalCoefficients:
    """N(ŵ, (∇²U)⁻¹) at the mode [Laplace]: what the data would say without privacy."""
    potential = Potential(Records.of(model, world.features, world.answers), model.loss, 1, model.strength)
    start = np.zeros(model.dimension)
    found = minimize(
        potential.value, start, jac=potential.gradient, hess=potential.hessian, method="trust-exact"
    )
    return NormalCoefficients(model, found.x, np.linalg.inv(potential.hessian(found.x)))


def score(read: Coefficients, world: World, level: float) -> tuple[float, ...]:
    """(error, log loss, squared error of a weight, width, coverage); the last two NaN where there is none."""
    error, log_loss = missed(read.model.loss, read.probability(world.tested), world.truth)
    square = float(np.mean((read.mean() - world.weights) ** 2))
    try:
        low, high = read.interval(level).T
    except OnlyDraws:
        return error, log_loss, square, math.nan, math.nan
    inside = (low <= world.weights) & (world.weights <= high)
    return error, log_loss, square, float(np.mean(high - low)), float(inside.mean())


def _averaged(
    mechanism: Mechanism | None, name: str, knobs: str, scores: list[tuple[float, ...]]
) -> RegressionPrediction:
    table = np.array(scores)
    mean, spread = table.mean(axis=0), table.std(axis=0, ddof=min(1, len(table) - 1))
    se = [float(s) if len(table) > 1 else math.nan for s in spread / len(table) ** 0.5]
    width, coverage, coverage_se = (
        (None, None, None) if math.isnan(mean[4]) else (float(mean[3]), float(mean[4]), se[4])
    )
    return RegressionPrediction(
        mechanism,
        name,
        knobs,
        float(mean[0]),
        se[0],
        float(mean[1]),
        float(mean[2]) ** 0.5,
        width,
        coverage,
        coverage_se,
        len(table),
    )


def knobs(mechanism: Any) -> str:  # noqa: ANN401
    """Show the public settings that the calibration found."""
    found = [(name, getattr(mechanism, name, None)) for name in KNOBS]
    shown = [
        f"{name} = {float(value):.3g}"
        for name, value in found
        if isinstance(value, int | float) or hasattr(value, "numerator")
    ]
    return ", ".join(shown[:2])
