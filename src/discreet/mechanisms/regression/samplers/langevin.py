"""Sampler A: the last iterate of a Langevin chain on a regression posterior. Fixed running time, no mode.

Step, number of steps, grid and box are public functions of model, size, ρ and m. A step keeps w in the box
(1-Lipschitz), computes its mean in doubles, puts that on the grid of the noise, and adds Gaussian noise on
the same grid: the sum is the rounding of an ideal noisy step. `displacement` pays for all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import final

import numpy as np

from discreet.families.exact_fields import power_of_two_above
from discreet.families.family import root_above
from discreet.mechanisms.noise.laplace import default_grid
from discreet.mechanisms.regression.knobs import Size
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats, Logistic, MarginLoss
from discreet.privacy.amplification.iteration import Langevin
from discreet.privacy.arithmetic.ball import round_down
from discreet.privacy.guarantee import Relation
from discreet.sampling import exact
from discreet.sampling.source import Source
from discreet.shown import bar

BLOCK = 512  # records that the compiled loops hold at once
WIDE = 8192  # the same, for losses that NumPy works out
NOISES = 1 << 18  # variates drawn at once
WORK = 1 << 29  # multiplications between two looks at the clock
FINER = 2**12  # than other noise, since every step pays for its rounding
ROOM = 64  # the box, in units of the radius R, which is a guess of ‖w‖
SLOPE_ERROR = Fraction(1, 2**45)  # relative to the Lipschitz constant: what evaluating φ' may err
UNIT = Fraction(1, 2**53)  # of rounding
Steps = Callable[[Floats, Floats], None]  # (w, noise): chains × d, steps × chains × d; w is moved in place


@final
@dataclass(frozen=True)
class LangevinRun:
    """h = 1/β at the expected size, and never beyond 2/(m + β) at any; K with (1 − hm)^K ≤ remembered.

    Two chains on one data set, with the same noise, have come together to that share of where they started:
    W₂(w_K, stationary law) ≤ remembered·W₂(0, stationary law). In a direction of curvature a > m it is about
    remembered^{a/m}: what the data speak of is forgotten first.
    """

    model: GeneralizedLinear
    size: Size
    weight: Fraction  # ρ
    strength: Fraction  # m
    relation: Relation
    remembered: Fraction

    @cached_property
    def smooth(self) -> Fraction:
        """β = m + ρ·smoothness, over every data set that may come."""
        return self.strength + self.weight * self.model.smoothness(1) * self.size.total

    @cached_property
    def step(self) -> Fraction:
        usual = self.strength + self.weight * self.model.smoothness(1) * self.size.usual
        most = float(min(1 / usual, 2 / (self.strength + self.smooth)))
        return Fraction(round_down(math.nextafter(most, 0.0), 24))

    @cached_property
    def steps(self) -> int:
        """K = ⌈ln(remembered)/ln(1 − hm)⌉: about ln(1/remembered) times the condition number."""
        lost = min(float(self.step * self.strength), 1 - 2.0**-40)
        return max(1, math.ceil(math.log(self.remembered) / math.log1p(-lost)))

    @property
    def box(self) -> Fraction:
        """Each weight is kept within 64R, rounded up to a power of two."""
        return power_of_two_above(ROOM * self.model.radius)

    @property
    def grid(self) -> Fraction:
        """Of noise and state; coarse enough that every sum in the box is exact."""
        spread = Fraction(math.sqrt(2 * self.step))
        reach = self.box + self.step * self.weight * self._pull + 64 * spread
        return max(default_grid(spread) / FINER, power_of_two_above(reach) / 2**50)

    @property
    def _pull(self) -> Fraction:
        """Bound of ‖Σ∇ℓ‖: total·L·c."""
        return self.size.total * self.model.loss.lipschitz * self._norm

    @property
    def _norm(self) -> Fraction:
        return Fraction(root_above(self.model.bound_square))

    @cached_property
    def displacement(self) -> Fraction:
        """How far roundings may part two runs in one step: twice the error of a mean, and 2g√d.

        Margins err by γ_d c‖w‖, slopes by curvature times that and by SLOPE_ERROR, their sum by γ_k Lc a
        record with k additions in a row, scaling by 8 units; γ_k = ku/(1 − ku), for any order of summation
        [Higham 2002 §3.1]. The mean goes to the grid, g√d/2 on either run, and so did the noise before.
        """
        loss, c, d = self.model.loss, self._norm, self.model.dimension
        diagonal = Fraction(root_above(Fraction(d)))
        slope = loss.curvature * _gamma(d + 8) * c * diagonal * self.box + SLOPE_ERROR * loss.lipschitz
        additions = _gamma(WIDE + self.size.read // BLOCK + 8)
        gradient = self.size.total * c * (slope + (additions + 8 * UNIT) * (loss.lipschitz + slope))
        pushed = self.step * self.weight
        scaled = 8 * UNIT * (diagonal * self.box + pushed * self._pull)
        return 2 * (pushed * gradient + scaled) + 2 * self.grid * diagonal

    @cached_property
    def chain(self) -> Langevin:
        """What privacy rests on."""
        square = self.model.gradient_square(self.relation) * (self.weight * self.size.moved) ** 2
        return Langevin(
            step=self.step,
            steps=self.steps,
            strong=self.strength,
            smooth=self.smooth,
            gradient=root_above(square),
            displacement=self.displacement,
        )

    def draw(self, potential: Potential, size: int, source: Source) -> Floats:
        """Run `size` chains of K steps from 0; potential.weight is ρ times what a record counts at this n."""
        d, h = self.model.dimension, self.step
        push, pull = float(h * Fraction(potential.weight)), float(h * self.strength)
        advance = stepper(self.model.loss, potential, (pull, push, float(self.box), float(self.grid)))
        at_once = min(NOISES // (size * d), WORK // (d * size * max(potential.n, 1)))
        last = np.zeros((size, d))
        with bar("Langevin steps", self.steps) as shown:
            for done in range(0, self.steps, max(1, at_once)):
                many = min(max(1, at_once), self.steps - done)
                noise = exact.normal(source, 0, 2 * h, many * size * d, self.grid)
                advance(last, noise.reshape(many, size, d))
                shown(many)
        return last


def _gamma(k: int) -> Fraction:
    return k * UNIT / (1 - k * UNIT)


# ── steps ───────────────────────────────────────────────────────────────────────────────────────────


@singledispatch
def stepper(loss: MarginLoss, potential: Potential, settings: tuple[float, float, float, float]) -> Steps:
    """Return what advances w; NumPy for any loss, compiled where the loss is known."""
    rows, answers = potential.records.rows, potential.records.answers
    pull, push, box, grid = settings
    blocks = [slice(i, i + WIDE) for i in range(0, len(rows), WIDE)]

    def advance(w: Floats, noise: Floats) -> None:
        for one in noise:
            total = np.zeros(w.shape)
            for b in blocks:
                total += loss.slope(rows[b] @ w.T, answers[b, None]).T @ rows[b]
            mean = w - (pull * w + push * total)
            np.clip(np.rint(mean / grid) * grid + one, -box, box, out=w)

    return advance


@stepper.register
def _stepper_logistic(
    loss: Logistic, potential: Potential, settings: tuple[float, float, float, float]
) -> Steps:
    del loss
    from discreet.mechanisms.regression.samplers import kernels as kernel  # noqa: PLC0415 - compiles

    rows, answers = packed(potential.records.rows, potential.records.answers)

    def advance(w: Floats, noise: Floats) -> None:
        kernel.logistic_steps(rows, answers, w, noise, settings, kernel.SERIES)

    return advance


def packed(rows: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Blocks × columns × records, as singles: rows on their grid have 21 bits. The rest of a block is 0."""
    n, d = rows.shape
    block = min(BLOCK, n)
    blocks = -(-n // block) if n else 0
    narrow = rows.astype(np.float32)
    held = np.zeros((blocks * block, d), narrow.dtype if np.array_equal(narrow, rows) else np.float64)
    held[:n] = rows
    labels = np.zeros(blocks * block)
    labels[:n] = answers
    by_column = np.ascontiguousarray(held.reshape(blocks, block, d).transpose(0, 2, 1))
    return by_column, labels.reshape(blocks, block)
