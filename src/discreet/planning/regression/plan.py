"""Which mechanism for a regression: each is tried on imagined data sets. Reads no data, spends nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from discreet.catalogue import REGRESSION, expect
from discreet.families.family import public_size
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.registry import offered_to
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import VALUES, Records
from discreet.planning.offers import Asked, Offer, offers
from discreet.planning.ranked import Refusal, rank, tried
from discreet.planning.regression.prediction import (
    RegressionPlan,
    RegressionPrediction,
    World,
    Worlds,
    missed,
    standard_error,
    worlds,
)
from discreet.posteriors.read import OnlyDraws, as_released_value, posterior
from discreet.posteriors.regression.coefficients import Coefficients, NormalCoefficients
from discreet.privacy.arithmetic.ball import PrecisionError
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee
from discreet.shown import steps

CRITERIA = ("error", "log_loss", "rms", "width")
SECONDS, EACH, WORK = 6.0, 0.15, 6e-8  # of a plan; of a replicate, and of its n·d·(d + 20), about
FEWEST, MOST = 4, 40  # replicates
LARGEST_N, LARGEST_WORK = 200_000, 3e8  # beyond, fewer records are simulated
SLOW, SLOW_D, SLOW_ND = "one_posterior_sample", 25, 200_000  # an exact draw that then takes minutes
Ready = tuple[Offer, ModelMechanism]
KNOBS = ("rho", "m", "temperature", "strength", "mu_squared", "first_scale", "second_scale")


def plan_regression(
    model: GeneralizedLinear,
    n: int,
    target: Guarantee,
    *,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    mechanisms: Sequence[str] | None = None,
    level: float = 0.9,
    rank_by: str = "error",
    replicates: int | None = None,
    seed: int = 0,
    reading: str = "noise_aware",
    rows_per_unit: int = 1,
    draws: int = 1,
    mechanism: str | None = None,
    **options: Any,  # noqa: ANN401 - of that mechanism, or of all that take them
) -> RegressionPlan:
    """Try every mechanism at the target, on weights from the prior (or `truth`) and a public design.

    Without `public_sample` (encoded rows) x is spherical Gaussian of half the norm. Under ADD_REMOVE n is
    only what to expect: draws are told most=2n, a public cap of the records that count. What follows
    `reading` are the words of a job: `privatise(…, **row.ask)` fits what a row predicts.
    """
    _check(level, rank_by, replicates)
    size = int(public_size(SUBSTITUTE, n) or 0)
    imagined = worlds(model, size, truth=truth, public_sample=public_sample, replicates=0, seed=seed)
    used, d = _simulated(size, imagined.model.dimension), imagined.model.dimension
    if mechanisms is None and mechanism is not None:
        mechanisms = [mechanism]
    count = _replicates(used, d) if replicates is None else replicates
    imagined = replace(imagined, n=used, replicates=count)
    quick = _quick(used, d) if mechanisms is None else mechanisms
    asked = Asked(rows_per_unit, draws, mechanism, options)
    offered = [
        (offer.name, lambda offer=offer: (offer, offer.calibrate()))
        for offer in offers(imagined.model, used, target, asked, quick)
    ]  # ValueError: also not for such a loss
    ready, refused = tried(offered, "calibrating", (ValueError, PrecisionError))
    if mechanisms is None and SLOW not in quick:
        reason = f"was not tried: its exact draw is slow at this n and d; mechanisms=[{SLOW!r}] does"
        refused += (Refusal(SLOW, reason),)
    exact, *rows = predicted([None, *ready], imagined, level, reading)
    ranked = tuple(sorted(rows, key=lambda row: rank(row, rank_by)))
    return RegressionPlan(
        imagined.model, size, target, ranked, refused, level, imagined.assumed, rank_by, exact, used
    )


def _check(level: float, rank_by: str, replicates: int | None) -> None:
    if rank_by not in CRITERIA:
        raise ValueError(f"plans of a regression are ranked by {', '.join(CRITERIA)}; got {rank_by!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    if replicates is not None and not replicates >= 1:
        raise ValueError(f"replicates must be at least 1, got {replicates!r}")


def _simulated(n: int, d: int) -> int:
    """Return n, or as many records as a plan has time for."""
    return min(n, LARGEST_N, max(1000, int(LARGEST_WORK / (d * (d + 20)))))


def _replicates(n: int, d: int) -> int:
    """As many as a few seconds allow."""
    return int(np.clip(SECONDS / (EACH + WORK * n * d * (d + 20)), FEWEST, MOST))


def _quick(n: int, d: int) -> list[str]:
    slow = d > SLOW_D or n * d > SLOW_ND
    return [name for name in offered_to(REGRESSION) if name != SLOW or not slow]


# ── mechanisms, tried ───────────────────────────────────────────────────────────────────────────────────
def predicted(
    tried: Sequence[Ready | None], imagined: Worlds, level: float, reading: str
) -> list[RegressionPrediction]:
    """Release, read and judge each in the same worlds; None is the posterior without privacy."""
    scores, cautions = [], []
    for world in map(imagined.world, steps(range(imagined.replicates), "imagining")):
        reads = [_read(named, imagined.model, world, reading) for named in tried]
        scores.append([score(read, world, level) for read in reads])
        cautions.append([read.caution for read in reads])
    each = zip(tried, np.array(scores).swapaxes(0, 1), zip(*cautions, strict=True), strict=True)
    return [_averaged(named, found, _usual(said)) for named, found, said in each]


def _usual(cautions: Sequence[str | None]) -> str | None:
    """Return a caution that half of the results or more would carry: the first of them."""
    said = [caution for caution in cautions if caution]
    return said[0] if 2 * len(said) >= len(cautions) and said else None


def _read(named: Ready | None, model: GeneralizedLinear, world: World, reading: str) -> Coefficients:
    return exact_posterior(model, world) if named is None else trial(named[1].single, world, reading)


def predicted_width(
    model: GeneralizedLinear,
    n: int,
    mechanism: ModelMechanism,
    *,
    level: float,
    truth: ArrayLike | None,
    public_sample: ArrayLike | None,
    replicates: int | None,
    seed: int,
) -> float | None:
    """Average width of the weights' intervals that are read; None where one draw is all there is."""
    imagined = worlds(model, n, truth=truth, public_sample=public_sample, replicates=0, seed=seed)
    count = replicates or _replicates(n, imagined.model.dimension)
    each = map(imagined.world, steps(range(count), "imagining"))
    widths = [score(trial(mechanism, world, "noise_aware"), world, level)[3] for world in each]
    found = float(np.mean(widths))
    return None if math.isnan(found) else found


def trial(mechanism: Any, world: World, reading: str) -> Coefficients:  # noqa: ANN401
    """Release one imagined data set with public bits, and read it."""
    model = mechanism.model
    value = VALUES[mechanism.reads](model, world.features, world.answers)
    count = {"count": len(world.answers)} if mechanism.relation is ADD_REMOVE else {}
    drawn = as_released_value(mechanism.release(value, world.source, **count), model, several=False)
    one = hasattr(drawn, "values")  # draws have one reading
    return expect(Coefficients, posterior(drawn) if one else posterior(drawn, reading=reading))


def exact_posterior(model: GeneralizedLinear, world: World) -> NormalCoefficients:
    """N(ŵ, (∇²U)⁻¹) at the mode [Laplace]: what the data would say without privacy."""
    potential = Potential(Records.of(model, world.features, world.answers), model.loss, 1, model.strength)
    start = np.zeros(model.dimension)
    found = minimize(
        potential.value, start, jac=potential.gradient, hess=potential.hessian, method="trust-exact"
    )
    covariance = np.asarray(np.linalg.inv(potential.hessian(found.x)), dtype=np.float64)
    return NormalCoefficients(model, found.x, covariance)


def score(read: Coefficients, world: World, level: float) -> tuple[float, ...]:
    """(error, log loss, squared error of a weight, width, coverage); the last two NaN where there is none."""
    error, log_loss = missed(read.model.loss, read.probability(world.tested), world.truth)
    square = float(np.mean((read.encoded_mean() - world.weights) ** 2))
    try:
        low, high = read.encoded_interval(level).T
    except OnlyDraws:
        return error, log_loss, square, math.nan, math.nan
    inside = (low <= world.weights) & (world.weights <= high)
    return error, log_loss, square, float(np.mean(high - low)), float(inside.mean())


def _averaged(named: Ready | None, scores: Floats, caution: str | None) -> RegressionPrediction:
    """Average over worlds; the errors of each are kept, to compare mechanisms world by world."""
    offer, mechanism = (None, None) if named is None else named
    error, log_loss, square, width, coverage = scores.mean(axis=0).tolist()
    drawn = math.isnan(width)
    return RegressionPrediction(
        None if mechanism is None else mechanism.single,
        "posterior, not private" if offer is None else offer.name,
        knobs=knobs(None if mechanism is None else mechanism.single),
        error=error,
        error_se=standard_error(scores[:, 0]),
        log_loss=log_loss,
        rms=square**0.5,
        width=None if drawn else width,
        coverage=None if drawn else coverage,
        coverage_se=None if drawn else standard_error(scores[:, 4]),
        errors=tuple(scores[:, 0].tolist()),
        caution=caution,
        rms_se=standard_error(scores[:, 2]) / (2 * square**0.5) if square > 0 else 0.0,
        width_se=None if drawn else standard_error(scores[:, 3]),
        ask={} if offer is None else offer.ask,
        price=None if offer is None or mechanism is None else offer.price(mechanism),
    )


def knobs(mechanism: ModelMechanism | None) -> str:
    """Show the public settings that the calibration found."""
    known = () if mechanism is None else (f.name for f in fields(mechanism) if f.name in KNOBS)
    return ", ".join(f"{name} = {float(getattr(mechanism, name)):.3g}" for name in known)
