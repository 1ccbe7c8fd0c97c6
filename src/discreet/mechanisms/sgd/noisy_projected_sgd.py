"""NoisyProjSGD as a trainer: a noisy, projected gradient step for each record; only the last iterate leaves.

Doubles round: the mean of a computed step may differ from the ideal one by `run.rounding`, on each of two
neighbouring runs, and the promise pays for that. Noise cannot hide what is rounded after it is added, so the
mean is first put on the grid of the noise: their sum is then a function of the ideal noisy step alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.mechanism import Mechanism, least_noise
from discreet.mechanisms.noise.gaussian import Gaussian
from discreet.mechanisms.noise.laplace import default_grid
from discreet.mechanisms.sgd.losses import Floats, Gradient, Loss, clipped, compiled
from discreet.mechanisms.user_functions import private_gradient
from discreet.privacy.amplification.noisy_sgd import NoisySGD
from discreet.privacy.guarantee import Guarantee
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source

Records = tuple[ArrayLike, ArrayLike]


BLOCK = 1 << 18  # noise variates drawn at once
FINER = 2**12  # than other noise, since every step pays for its rounding


@final
@dataclass(frozen=True, kw_only=True)
class NoisyProjectedSGD(Mechanism):
    """w ← Π_R(w − η(∇ℓ + penalty·w + N(0, σ²I))), record after record in a public order [FMTT18 Alg. 1]."""

    loss: Loss
    radius: float  # R
    dimension: int
    run: NoisySGD
    name: ClassVar[str] = "noisy_projected_sgd"
    theorem: ClassVar[str] = "FMTT18 Alg. 1; BSA24 with the best split; rounding paid for"

    def __post_init__(self) -> None:
        if not 0 < self.radius < math.inf or self.dimension < 1:
            raise ValueError(
                f"need a radius above 0 and a dimension of at least 1, got {self.radius} and {self.dimension}"
            )
        check_radius(self.loss, self.radius)
        if self.run.rounding < rounding(self.loss, self.run, self.radius, self.dimension):
            raise ValueError("the run must pay for its rounding; build it by NoisyProjectedSGD.calibrate")

    @classmethod
    def calibrate(
        cls,
        loss: Loss,
        *,
        n: int,
        dimension: int,
        target: Guarantee,
        radius: float,
        step: float | None = None,
        passes: int = 1,
        public_steps: int = 0,
        secret_order: bool = False,
    ) -> Self:
        """Return the least σ whose worst index meets the target; the step by a public rule unless given."""
        if not 0 < radius < math.inf:
            raise ValueError(f"the radius must be positive and finite, got {radius}")
        check_radius(loss, radius)
        smooth = loss.smooth + loss.penalty
        eta = usual_step(loss, n * passes, dimension, target, radius) if step is None else step

        def at(sigma: float) -> Self:
            ideal = NoisySGD(
                n=n,
                step=eta,
                sigma=sigma,
                lipschitz=loss.lipschitz,
                smooth=smooth,
                strong=loss.penalty,
                passes=passes,
                public_steps=public_steps,
                secret_order=secret_order,
            )
            paid = ideal.rounded(rounding(loss, ideal, radius, dimension))
            return cls(loss=loss, radius=radius, dimension=dimension, run=paid)

        return at(least_noise(lambda sigma: at(sigma).guarantee, target))

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the worst index is promised, or any index of a secret order; see `run.at_index` for each."""
        return self.run.guarantee

    def release(
        self, value: Records, source: Source | None = None, *, public: Records | None = None
    ) -> Floats:
        """Train on (rows, answers) in their order, then on the promised public records; return the last w."""
        rows, answers = clipped(value, self.loss)
        if rows.shape != (self.run.n, self.dimension):
            raise ValueError(f"the promise is for {self.run.n} records of {self.dimension} columns")
        w, bits = np.zeros(self.dimension), source or SYSTEM
        if self.run.secret_order:
            order = permutation(bits, self.run.n)
            rows, answers = rows[order], answers[order]
        for _ in range(self.run.passes):
            w = self._trained(w, rows, answers, bits)
        return self._trained(w, *self._appended(public), bits)

    def releases(self, value: Records, size: int, source: Source | None = None) -> Floats:
        """`size` independent results for one data set in a public order, at `size` times the price."""
        rows, answers = clipped(value, self.loss)
        walk, settings = _walk(self.loss), self._settings
        shape = (size, self.run.passes, *rows.shape)
        noise = self._noise(math.prod(shape), source or SYSTEM).reshape(shape)
        drawn = np.zeros((size, self.dimension))
        for i, each in enumerate(noise):
            for one in each:
                drawn[i] = walk(self.loss.gradient, drawn[i], rows, answers, one, settings)
        return drawn

    @property
    def _settings(self) -> tuple[float, float, float, float]:
        return float(self.run.step), self.loss.penalty, self.radius, float(_grid(self.run))

    def _noise(self, size: int, source: Source) -> Floats:
        """η·N(0, σ²), on its grid."""
        return exact.normal(source, 0, _spread(self.run) ** 2, size, _grid(self.run))

    def _appended(self, public: Records | None) -> tuple[Floats, Floats]:
        rows, answers = clipped(public or (np.zeros((0, self.dimension)), np.zeros(0)), self.loss)
        if rows.shape != (self.run.public_steps, self.dimension):
            raise ValueError(
                f"the promise counts on {self.run.public_steps} steps on public records; give as many, with "
                f"{self.dimension} columns"
            )
        return rows, answers

    def _trained(self, w: Floats, rows: Floats, answers: Floats, source: Source) -> Floats:
        walk, settings = _walk(self.loss), self._settings
        block = max(1, BLOCK // self.dimension)
        for start in range(0, len(rows), block):
            x, y = rows[start : start + block], answers[start : start + block]
            noise = self._noise(x.size, source).reshape(x.shape)
            w = walk(self.loss.gradient, w, x, y, noise, settings)
        return w


def check_radius(loss: Loss, radius: float) -> None:
    """Refuse a walk beyond the ‖w‖ for which the constants of the loss hold."""
    if not radius <= loss.radius:
        raise ValueError(
            f"the constants of this loss hold for ‖w‖ ≤ {loss.radius:g}, and a radius of {radius:g} lets w "
            f"go farther: declare the loss for radius={radius:g}, or train within {loss.radius:g}"
        )


def usual_step(loss: Loss, steps: int, dimension: int, target: Guarantee, radius: float) -> float:
    """η = R/√(T(C² + dσ²)), the best for convex losses, at most 1/β; σ as if nothing were amplified."""
    sigma = float(Gaussian.calibrate(target=target, sensitivity=2 * loss.lipschitz).sigma)
    best = radius / math.sqrt(steps * (loss.lipschitz**2 + dimension * sigma**2))
    return min(best, 1 / (loss.smooth + loss.penalty))


def _spread(run: NoisySGD) -> Fraction:
    """ησ: of the noise that is added to w."""
    return Fraction(run.step) * Fraction(run.sigma)


def _grid(run: NoisySGD) -> Fraction:
    return default_grid(_spread(run)) / FINER


def rounding(loss: Loss, run: NoisySGD, radius: float, dimension: int) -> float:
    """Bound how far the mean of a computed step, on the grid, is from the ideal step's.

    Each of at most 4d + 64 roundings, those of the projection before included, errs by half an ulp of at most
    R + η(C + (β + penalty)R); then the mean goes to the grid of the noise, g√d/2, as the noise before did.
    """
    eta = float(run.step)
    reach = radius + eta * (loss.lipschitz + (loss.smooth + loss.penalty) * radius)
    arithmetic = (4 * dimension + 64) * 2.0**-53 * reach
    return 1.001 * (arithmetic + float(_grid(run)) * math.sqrt(dimension))


def permutation(source: Source, n: int) -> NDArray[np.int64]:
    """Sort by 128 random bits: uniform, given that no two are alike, which is checked."""
    high, low = source.words(n), source.words(n)
    order = np.lexsort((low, high))
    alike = (np.diff(high[order]) == 0) & (np.diff(low[order]) == 0)
    return permutation(source, n) if alike.any() else order


def _walk(loss: Loss) -> Callable[..., Floats]:
    return _compiled_walk() if compiled(loss.gradient) else _interpreted_steps


def _interpreted_steps(gradient: Gradient, *rest: Any) -> Floats:  # noqa: ANN401 - as _steps
    return _steps(lambda w, x, y: private_gradient(gradient, w, x, y), *rest)


def _steps(gradient: Any, w: Floats, rows: Floats, answers: Floats, noise: Floats, settings: Any) -> Floats:  # noqa: ANN401, PLR0917
    step, penalty, radius, grid = settings
    for i in range(rows.shape[0]):
        try:  # a gradient that fails on a record would tell of it: it counts as 0
            pull = gradient(w.copy(), rows[i].copy(), answers[i])  # it may write into what it is given
        except Exception:  # noqa: BLE001 - what numba can catch
            pull = np.zeros(w.size)
        if not np.isfinite(pull).all():
            pull = np.zeros(w.size)
        mean = w - step * (pull + penalty * w)
        w = np.rint(mean / grid) * grid + noise[i]
        length = np.sqrt(np.dot(w, w))
        if length > radius:
            w = w * (radius / length)
    return w


@cache
def _compiled_walk() -> Any:  # noqa: ANN401 - a numba dispatcher
    import numba  # noqa: PLC0415 - compiles on first use

    return numba.njit(_steps)
