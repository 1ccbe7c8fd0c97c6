"""−ln of the posterior that regression draws come from, in the weights. Private: never released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, final

import numpy as np

from discreet.models.margin_losses import Floats, MarginLoss
from discreet.models.regression_records import Records
from discreet.privacy.arithmetic.ball import Exact


@final
@dataclass(frozen=True, eq=False, repr=False)
class Potential:
    """U(w) = ρΣφ(x_i·w, y_i) + (m/2)‖w‖²: m-strongly convex and (m + ρ·smoothness(n))-smooth."""

    records: Records
    loss: MarginLoss
    weight: Exact  # ρ
    strength: Exact  # m

    def __post_init__(self) -> None:
        if not (self.weight >= 0 and self.strength > 0):
            raise ValueError("a potential needs a weight of at least 0 and a strength above 0")

    @property
    def dimension(self) -> int:
        return int(self.records.rows.shape[1])

    @property
    def n(self) -> int:
        return self.records.n

    def margins(self, w: Floats) -> Floats:
        """x_i·w"""
        return np.asarray(self.records.rows @ w)

    def value(self, w: Floats) -> float:
        losses = self.loss.value(self.margins(w), self.records.answers)
        return float(self.weight) * float(losses.sum()) + float(self.strength) / 2 * float(w @ w)

    def gradient(self, w: Floats) -> Floats:
        slopes = self.loss.slope(self.margins(w), self.records.answers)
        return np.asarray(float(self.weight) * (slopes @ self.records.rows) + float(self.strength) * w)

    def hessian(self, w: Floats) -> Floats:
        rows, bends = self.records.rows, self.loss.bend(self.margins(w), self.records.answers)
        curved = float(self.weight) * ((rows * bends[:, None]).T @ rows)
        return np.asarray(curved + float(self.strength) * np.eye(self.dimension))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a potential holds private rows and is not copied or pickled")
