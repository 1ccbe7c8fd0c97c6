"""One draw from a tempered posterior of regression weights on a ball: the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import ClassVar, Self, final

import numpy as np

from discreet.families.family import public_size
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.posterior.draw import fraction_of_one, verified
from discreet.mechanisms.regression.draws import private_potential
from discreet.mechanisms.regression.knobs import Size, counted, largest_knob
from discreet.mechanisms.regression.samplers.sampler import SAMPLERS
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats, Logistic, MarginLoss
from discreet.models.regression_records import Records
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.privacy.kinds import BoundedRange
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True)
class OneRegressionSample(ModelMechanism):
    """w ~ e^{−ρΣφ(x_i·w, y_i) − (m/2)‖w‖²} on ‖w‖ ≤ R, m = d/R² [Wang, Fienberg, Smola 2015].

    The log-ratio of neighbours is ρ(φ(x'·w, y') − φ(x·w, y)) and a constant, and |x·w| ≤ cR in the ball: the
    privacy loss lies in an interval of length ρ·range for one record more, and twice that for one in another
    one's place (BoundedRange). A baseline. Drawn by sampler B, whose rounding makes it (ε, δ).
    """

    name: ClassVar[str] = "one_regression_sample"
    theorem: ClassVar[str] = (
        "Wang–Fienberg–Smola 2015, one posterior sample, as a bounded range; rounding as closeness"
    )
    reads: ClassVar[str] = "records"

    model: GeneralizedLinear
    n: int | None = field(default=None, kw_only=True)
    relation: Relation = field(default=SUBSTITUTE, kw_only=True)
    most: int | None = field(default=None, kw_only=True)  # public cap of a private n
    at: Exact | None = field(default=None, kw_only=True)  # ε where δ is promised; None takes the whole range
    rho: Exact = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        object.__setattr__(self, "rho", fraction_of_one(self.rho, "rho"))
        _ = self.model.dimension, self.size

    @classmethod
    def calibrate(
        cls, model: GeneralizedLinear, *, target: Guarantee, n: int | None = None, most: int | None = None
    ) -> Self:
        """Largest ρ of 24 significant bits that is proved to meet the target."""
        at = SAMPLERS["rejection"].promised_at(target)
        full = cls(model, n=n, most=most, at=at, rho=1, relation=target.relation)
        found = verified(replace(full, rho=largest_knob(lambda r: replace(full, rho=r), target)), target)
        from discreet.mechanisms.regression.samplers.rejection import refuse_endless  # noqa: PLC0415 - loads numba

        refuse_endless(model, found.size.usual, found.rho, model.strength)
        return found

    @property
    def size(self) -> Size:
        return counted(self.n, self.most)

    @property
    def ideal(self) -> BoundedRange:
        """What an exact draw promises."""
        with precision(128):
            margin = ceiling(ball(self.model.bound_square).sqrt() * ball(self.model.radius))
        once = Fraction(self.rho) * self.size.moved * loss_range(self.model.loss, Fraction(margin))
        return BoundedRange(once * (2 if self.relation is SUBSTITUTE else 1), relation=self.relation)

    @cached_property
    def guarantee(self) -> Guarantee:
        from discreet.mechanisms.regression.samplers import rejection as home  # noqa: PLC0415 - only when asked for

        ideal, model = self.ideal, self.model
        near = home.closeness(model, self.size.read, self.rho, model.strength, radius=model.radius)
        return home.nearly(ideal, near, float(ideal.loss) if self.at is None else self.at)

    def release(self, value: Records, source: Source | None = None, *, count: int | None = None) -> Floats:
        """Draw w once. Under ADD_REMOVE the private number of records is that of the rows."""
        del count
        return np.asarray(self._drawn(value, 1, source or SYSTEM)[0])

    def _drawn(self, records: Records, size: int, source: Source) -> Floats:
        from discreet.mechanisms.regression.samplers import rejection as home  # noqa: PLC0415

        model = self.model
        potential = private_potential(model, self.size, Fraction(self.rho), model.strength, records)
        return home.draws_within(potential, model.radius, size, source)


def simulate(mechanism: OneRegressionSample, records: Records, size: int, source: Source) -> Floats:
    """`size` independent outputs, for audits on simulated data. NOT a release: nothing pays for it."""
    return mechanism._drawn(records, size, source)  # noqa: SLF001


@singledispatch
def loss_range(loss: MarginLoss, margin: Fraction) -> Fraction:
    """Sup φ − inf φ over |s| ≤ a: at most L·2a."""
    return 2 * loss.lipschitz * margin


@loss_range.register
def _loss_range_logistic(loss: Logistic, margin: Fraction) -> Fraction:
    """ln(1 + e^a) − ln(1 + e^{−a}) = a, exactly."""
    del loss
    return margin
