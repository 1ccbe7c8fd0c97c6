"""One row of a plan: what to expect of one calibrated mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.catalogue import ROWS, expect
from discreet.families.family import Family, Floats, Integers
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.laws.linear_regression import RegressionLaw
from discreet.families.laws.matrices import unpack
from discreet.families.laws.normal_inverse_gamma import NormalInverseGammaLaw
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.records import ScalarFamily
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.posterior.draw import PosteriorDraw
from discreet.mechanisms.posterior.metric_sample import MetricSample
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.numerics.search import each_bisected
from discreet.planning.marginals import atoms
from discreet.planning.posterior_arrays import coordinates
from discreet.planning.predicted_release import PredictedRelease, noised, predict_release, without_privacy
from discreet.planning.ranked import json_row
from discreet.planning.simulated_data import SimulatedCases, cases, thinned
from discreet.planning.within_bounds import clipping, widened
from discreet.posteriors.normal.latent_model import Observed
from discreet.posteriors.normal.linear_regression_moments import read_normal
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.read import posterior
from discreet.posteriors.scalar.batch import batch
from discreet.posteriors.scalar.likelihood import Likelihood
from discreet.posteriors.scalar.read import PLANNED
from discreet.posteriors.scalar.read import read as read_scalar
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee
from discreet.sampling.source import SeededSource
from discreet.shown import steps

# ── What to expect of the noise-aware reading: one sum is tabulated over Ŝ, all else is read one by one.
Reading = Callable[[SimulatedCases, Floats, NoisyStatistics, float], tuple[Floats, Floats, Floats]]
PLACES = 128  # of Ŝ at which the posterior is computed; it is smooth in between
FEWER = 24  # where they are read one by one
SCALAR, NORMAL, VECTORS = 24, 16, 12  # data sets that are released and read one by one, unless told
CELLS, FEWEST, MOST = 2**10, 16, 64  # of categories: fewer where there are many
SWARM = 400  # draws of a regression's posterior, of which only ends and mean are wanted


def affordable(mechanism: Mechanism | None) -> bool:
    """Whether a plan can read every node: one sum with n public, or a linear regression."""
    if not isinstance(mechanism, NoisyStatistics):
        return False
    public = mechanism.n is not None and not mechanism.joint
    return _reading(mechanism.model) in ({tabulated, one_by_one} if public else {one_by_one})


def _reading(model: Family) -> Reading | None:
    row = ROWS.get(model.name)
    return None if row is None else row.load("plan_reading")


def nodes_read(mechanism: Mechanism | None, nodes: SimulatedCases) -> SimulatedCases:
    """Return the data sets that a plan reads noise-aware: all, or a few where each takes time."""
    if not isinstance(mechanism, NoisyStatistics) or affordable(mechanism):
        return nodes
    return thinned(nodes, nodes.asked or reads(nodes.model))


@singledispatch
def reads(_model: Family) -> int:
    """How many noisy statistics a plan reads one by one: a reading takes up to a second."""
    return VECTORS


@reads.register(ScalarFamily)
def _reads_scalar_family(_model: ScalarFamily) -> int:
    return SCALAR


@reads.register(NormalInverseGammaLaw)
def _reads_normal_inverse_gamma(_model: NormalInverseGammaLaw) -> int:
    return NORMAL


@reads.register(DirichletLaw)
def _reads_dirichlet(model: DirichletLaw) -> int:
    return int(np.clip(CELLS // model.dimension, FEWEST, MOST))


def noise_aware(mechanism: NoisyStatistics, cases: SimulatedCases, level: float) -> PredictedRelease:
    """Point: the posterior mean; interval: the posterior's. KL to the exact one is not computed: NaN."""
    read = _reading(cases.model) if affordable(mechanism) else None
    if read is None:
        return _one_release_each(mechanism, cases, level)
    node, noisy, weights, exact = noised(mechanism, cases)
    low, mean, high = read(cases, noisy, mechanism, level)
    unknown = np.full(len(weights), np.nan)
    return PredictedRelease(atoms(mean), (low, high), unknown, cases.theta[node], weights, exact)


def _one_release_each(mechanism: NoisyStatistics, cases: SimulatedCases, level: float) -> PredictedRelease:
    """Release every imagined statistic with public bits, and read it as a fit would."""
    bits = cases.rng().integers(2**62, size=len(cases.weights)).tolist()
    each = zip(cases.statistics.astype(np.int64), bits, strict=True)
    ends = [
        read_once(mechanism, whole, cases, SeededSource(seed), level)
        for whole, seed in steps(list(each), f"reading {mechanism.noise} noise")
    ]
    low, mean, high = (coordinates(cases.model, part) for part in np.array(ends).swapaxes(0, 1))
    unknown = np.full(len(cases.weights), np.nan)
    return PredictedRelease(atoms(mean), (low, high), unknown, cases.theta, cases.weights, exact=False)


def read_once(
    mechanism: NoisyStatistics, whole: Integers, cases: SimulatedCases, source: SeededSource, level: float
) -> tuple[Floats, Floats, Floats]:
    """Release one imagined statistic with public bits, and read it as a fit would: lower end, mean, upper."""
    count = {"count": cases.n} if mechanism.relation is ADD_REMOVE else {}
    said: dict[str, Any] = {"clips": cases.clips} if clipping(cases.model) else {}
    release, model = mechanism.release(whole, source, **count), cases.model
    read: Posterior = (
        read_scalar(release, model, detail=PLANNED, **said)
        if isinstance(model, ScalarFamily)
        else posterior(release, **said)
    )
    low, high = read.flat_interval(level).T
    return low, read.flat_mean(), high


def tabulated(
    cases: SimulatedCases, noisy: Floats, mechanism: NoisyStatistics, level: float
) -> tuple[Floats, Floats, Floats]:
    """Lower end, mean and upper end of the posterior of every noisy row."""
    seen, release = np.unique(noisy[:, 0]), mechanism.as_release((), seeded=True)
    model = expect(ScalarFamily, cases.model if cases.clips else widened(cases.model))
    places = thinned_evenly(seen, PLACES)
    try:
        read = batch(Likelihood.of(release, model, clips=True), places[:, None])
        table = [read.quantile((1 - level) / 2), read.mean(), read.quantile((1 + level) / 2)]
    except ArithmeticError:  # laws of sums that one transform does not hold
        places = thinned_evenly(seen, FEWER)
        table = each_read(release, places, level, clips=cases.clips)
    low, mean, high = (np.interp(noisy[:, 0], places, part)[:, None] for part in table)
    return low, mean, high


def each_read(release: NoisyStatistic, places: Floats, level: float, *, clips: bool) -> list[Floats]:
    """Lower ends, means and upper ends, read as a fit would."""
    said: dict[str, Any] = {"clips": clips} if clipping(release.model) else {}
    read = [posterior(replace(release, noisy=(place,)), **said) for place in places.tolist()]
    ends = np.array([one.flat_interval(level)[0] for one in read])
    return [ends[:, 0], np.array([one.flat_mean()[0] for one in read]), ends[:, 1]]


def thinned_evenly(seen: Floats, most: int) -> Floats:
    """Return at most so many of them, evenly by rank."""
    return np.asarray(seen[np.unique(np.linspace(0, seen.size - 1, most).astype(np.int64))])


def one_by_one(
    cases: SimulatedCases, noisy: Floats, mechanism: NoisyStatistics, level: float
) -> tuple[Floats, Floats, Floats]:
    """By the reading of many weights, also for few: chains take too long for a plan."""
    release, found = mechanism.as_release((), seeded=True), []
    model = expect(BayesianLinearRegression, cases.model)
    for i, row in steps(list(enumerate(noisy.tolist())), f"reading {mechanism.noise} noise"):
        observed = Observed.of(replace(release, noisy=tuple(row)), model)
        read = read_normal(model, observed, SeededSource(i), swarms=1, size=SWARM)
        low, high = read.flat_interval(level).T
        found.append((low, read.flat_mean(), high))
    low, mean, high = np.array(found).swapaxes(0, 1)
    return low, mean, high


# ── prediction
ONE_DRAW = "none: one draw"
NAIVE, NOISE_AWARE = "naive", "noise_aware"


@final
@dataclass(frozen=True)
class Prediction:
    """Expected over the imagined data sets, averaged over the coordinates of θ that were asked for.

    `error` is √E(point − θ)², `absolute` E|point − θ|, where the point is the draw itself, or the mean of the
    posterior read. `width` and `coverage` are those of its credible interval; None where one draw is
    all there is. `honest_width` is that of point ± h where h is the quantile of |point − θ| at the level: it
    covers at that level over the imagined data sets, whatever the mechanism (see honest_width). `kl` is
    KL(true posterior ‖ law drawn from, or posterior read). `efficiency` is the mean squared error over that
    of the exact posterior mean, `limit` what it tends to as n grows at this knob [F16 Thm 4–5].

    With `reading` "noise_aware" point, width and coverage are those of the posterior that a fit reads, and
    `kl` is not computed (NaN): one bounded sum with n public is tabulated, all else is released and read data
    set by data set. `test_error` is that of a linear regression: √E(y − x·w)² over new rows of its design,
    w the point. `_se` are standard errors of what was simulated, 0 of an exact sum. `ask` is what
    `privatise` would be told for this row, `price` what its ledger would be charged.
    """

    mechanism: Mechanism | None  # None: no privacy, for comparison
    name: str
    knob: str
    value: float
    error: float
    absolute: float
    width: float | None
    coverage: float | None
    honest_width: float
    kl: float
    efficiency: float
    limit: float
    by: str
    reading: str | None = None  # of noisy statistics
    test_error: float | None = None  # of a linear regression
    error_se: float = 0.0
    width_se: float | None = None
    coverage_se: float | None = None
    ask: Mapping[str, Any] = field(default_factory=dict)
    price: Guarantee | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-able: ∞ as the string "inf"."""
        return json_row(self)


def predict(
    mechanism: Mechanism,
    n: int | None = None,
    *,
    truth: ArrayLike | None = None,
    public_sample: ArrayLike | None = None,
    level: float = 0.9,
    coordinates: Sequence[int] | None = None,
    simulations: int | None = None,
    seed: int = 0,
    reading: str = NOISE_AWARE,
    clips: bool = False,
) -> Prediction:
    """Predict one mechanism, however its knob was set; `n` is needed only where it is private.

    `reading` says how noisy statistics would be read: see Prediction.reading. `clips`: as in `plan_family`.
    """
    model, size = getattr(mechanism, "model", None), getattr(mechanism, "n", None) or n
    if model is None or size is None:
        raise ValueError(
            "a prediction needs a posterior mechanism, and n where the mechanism keeps it private"
        )
    nodes = cases(
        model,
        size,
        truth=truth,
        public_sample=public_sample,
        simulations=simulations,
        seed=seed,
        clips=clips,
    )
    return predicted(mechanism, nodes, level, coordinates, checked_reading(reading))


def predicted(
    mechanism: Mechanism | None,
    nodes: SimulatedCases,
    level: float,
    coordinates: Sequence[int] | None = None,
    reading: str = NOISE_AWARE,
    *,
    honest: PredictedRelease | None = None,
) -> Prediction:
    """Predict from given nodes; None asks for the exact posterior.

    `honest` is the posterior whose width no honest interval undercuts, if not that of the nodes' own model.
    """
    aware = reading == NOISE_AWARE and isinstance(mechanism, NoisyStatistics)
    used = nodes_read(mechanism, nodes) if aware else nodes
    plain = without_privacy(used, checked_level(level))
    out = plain if mechanism is None else (noise_aware if aware else predict_release)(mechanism, used, level)  # type: ignore[arg-type]
    chosen = chosen_coordinates(nodes, coordinates)
    each = out.point.square(out.theta)[:, chosen].mean(axis=1)
    square, error_of_square = _mean_and_error(out, each)
    best, _ = _mean_and_error(plain, plain.point.square(plain.theta)[:, chosen].mean(axis=1))
    (width, width_se), (coverage, coverage_se) = _interval(out, chosen)
    if coverage_se == 0 and not out.exact:  # all or none of few covered: as uncertain as the level would be
        coverage_se = math.sqrt(level * (1 - level) / len(out.weights))
    return Prediction(
        mechanism,
        label(mechanism),
        *(("r", 1.0) if mechanism is None else mechanism.knob),
        error=float(np.sqrt(square)),
        absolute=float(_mean(out, out.point.absolute(out.theta))[chosen].mean()),
        width=width,
        coverage=coverage,
        honest_width=float(honest_width(out, honest or plain, level)[chosen].mean()),
        kl=float(out.weights @ out.divergence),
        efficiency=square / best if best > 0 else math.inf,
        limit=limit(mechanism),
        by="exact sum" if out.exact else f"simulation, {len(out.weights)} nodes",
        reading=(NOISE_AWARE if aware else NAIVE) if out.interval and mechanism else None,
        test_error=test_error(out, nodes),
        error_se=error_of_square / (2 * math.sqrt(square)) if square > 0 else 0.0,
        width_se=width_se,
        coverage_se=coverage_se,
    )


def test_error(out: PredictedRelease, nodes: SimulatedCases) -> float | None:
    """√E[σ² + (w − θ)ᵀE[xxᵀ](w − θ)], xxᵀ as in the imagined data; None where nothing is regressed."""
    if not isinstance(nodes.model, RegressionLaw):
        return None
    unit = float(nodes.model.units[0])
    design = unpack(nodes.weights @ nodes.statistics)[:-1, :-1] * unit / nodes.n
    gap = (out.point.mean - out.theta)[:, :-1]
    return float(np.sqrt(out.weights @ (out.theta[:, -1] + np.sum(gap @ design * gap, axis=1))))


def checked_reading(reading: str) -> str:
    if reading not in {NAIVE, NOISE_AWARE}:
        raise ValueError(f"unknown reading {reading!r}; known: {NOISE_AWARE}, {NAIVE}")
    return reading


def checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    return level


def chosen_coordinates(nodes: SimulatedCases, coordinates: Sequence[int] | None) -> list[int]:
    """All of θ unless asked for; of a regression the weights."""
    count = nodes.theta.shape[1]
    usual = range(count - isinstance(nodes.model, RegressionLaw))
    chosen = list(usual) if coordinates is None else list(coordinates)
    if not chosen or not all(c in range(count) for c in chosen):
        raise ValueError(f"coordinates must be among 0 to {count - 1} for this model, got {coordinates!r}")
    return chosen


def _mean(out: PredictedRelease, values: Floats) -> Floats:
    mean: Floats = out.weights @ values
    return mean


def _mean_and_error(out: PredictedRelease, values: Floats) -> tuple[float, float]:
    """Mean over the nodes, and its standard error; an exact sum has none."""
    mean = float(out.weights @ values)
    if out.exact:
        return mean, 0.0
    spread = float(out.weights @ (values - mean) ** 2) if math.isfinite(mean) else math.nan
    return mean, math.sqrt(spread * float(out.weights @ out.weights))


def _interval(
    out: PredictedRelease, chosen: list[int]
) -> tuple[tuple[float | None, float | None], tuple[float | None, float | None]]:
    """Width and coverage of the interval that is read, each with its standard error."""
    if out.interval is None:
        return (None, None), (None, None)
    low, high = (end[:, chosen] for end in out.interval)
    theta = out.theta[:, chosen]
    inside = ((low <= theta) & (theta <= high)).mean(axis=1)
    return _mean_and_error(out, (high - low).mean(axis=1)), _mean_and_error(out, inside)


# ── the interval point ± half of the honest width ───────────────────────────────────────────────────────
def honest_width(out: PredictedRelease, exact: PredictedRelease, level: float) -> Floats:
    """2h with P(|point − θ| ≤ h) = level, for every coordinate; never below the exact posterior's own width.

    The floor matters for one assumed θ: a point that stays at the prior mean is near it for no good reason.
    """
    reach = _reach if out.point.variance.any() else _atom_reach
    own = 0.0 if exact.interval is None else _mean(exact, exact.interval[1] - exact.interval[0])
    return np.asarray(np.maximum(2 * reach(out, level), own))


def _atom_reach(out: PredictedRelease, level: float) -> Floats:
    gaps = np.abs(out.point.mean - out.theta)
    order = np.argsort(gaps, axis=0)
    reached = np.cumsum(out.weights[order], axis=0) < level * (1 - 1e-12)
    index = np.minimum(reached.sum(axis=0), len(gaps) - 1)
    chosen = np.take_along_axis(np.take_along_axis(gaps, order, axis=0), index[None], axis=0)
    return np.asarray(chosen[0])


def _reach(out: PredictedRelease, level: float) -> Floats:
    """Bisect Σ w·P(|X − θ| ≤ h) = level in h, below Chebyshev's bound."""

    def inside(h: Floats) -> Floats:
        return _mean(out, out.point.cdf(out.theta + h) - out.point.cdf(out.theta - h))

    widest = np.sqrt(_mean(out, out.point.square(out.theta)) / (1 - level))
    return each_bisected(lambda h: inside(h) < level, np.zeros(out.theta.shape[1]), widest, 26)


# ── names, knobs and limits ─────────────────────────────────────────────────────────────────────────────
def label(mechanism: Mechanism | None) -> str:
    if mechanism is None:
        return "posterior, not private"
    noise = getattr(mechanism, "noise", None)
    return mechanism.name if noise is None else f"{mechanism.name} ({noise})"


@singledispatch
def limit(_mechanism: object) -> float:
    """Return 1: the posterior mean, also of a noisy statistic, is asymptotically efficient [F16 Thm 4]."""
    return 1.0


@limit.register(PosteriorDraw)
def _limit_posterior_draw(mechanism: PosteriorDraw) -> float:
    """1 + 1/r: a record that counts r is tempered with T = 1/r; 2 for a draw at full weight [F16 Thm 4–5]."""
    return float(1 + 1 / mechanism.weight)


@limit.register(OnePosteriorSample)
@limit.register(MetricSample)
def _limit_one_posterior_sample(mechanism: OnePosteriorSample | MetricSample) -> float:
    """1 + T, for a parameter inside the truncation [F16 Thm 5]."""
    return 1 + float(mechanism.temperature)
