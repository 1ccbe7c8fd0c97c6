"""What estimators of generalised linear models share: fits to the same rows, by name, paid for once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.catalogue import REGRESSION
from discreet.learn.classes import Labels, equal
from discreet.learn.declared import Scale, names_of, norm_of, target_of
from discreet.learn.modelled import ModelledEstimator
from discreet.line.choose import refuse_strangers
from discreet.mechanisms.mechanism import ModelMechanism, gaussian_share
from discreet.mechanisms.registry import model_mechanism, offered_to
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import VALUES
from discreet.posteriors.read import as_released_value, posterior
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.group_privacy import per_draw
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import Source

# ── K classes, each against the rest: K fits to the same records, whose promises compose.

FEW = 5  # fits up to which objective perturbation does better with (ε/K, δ/K), whose λ is smaller


def shares(target: Guarantee, fits: int, mechanism: str = "") -> list[Guarantee]:
    """Promises for one of K fits, any of which suffices: K of them give the target.

    Of an (ε, δ) target: (ε/K, δ/K) [DR14 Thm 3.16], and μ/√K with the largest μ whose exact profile meets
    (ε, δ) [DRS22 Cor. 3.3]. Of other kinds: their own composition. Both are proved; their order is a choice
    for utility, by public numbers alone.
    """
    if fits == 1:
        return [target]
    plain = per_draw(target, fits)
    if not isinstance(target, ApproxDP):
        return [plain]
    gaussian = gaussian_share(target, fits)
    shrinks = mechanism == "objective_perturbation" and fits <= FEW
    return [plain, gaussian] if shrinks else [gaussian, plain]


def composed(own: Guarantee, fits: int, target: Guarantee) -> Guarantee:
    """Return what K fits promise together: their composition, or the target where that says more."""
    together = repeat(own, fits)
    return min(together, target)


def answers(y: Labels, classes: Labels) -> list[Floats]:
    """±1 for each fit: this class, or another declared one; 0 for a label that was not declared."""
    is_class = np.array([equal(y, label) for label in classes], dtype=np.float64)
    declared = is_class.sum(axis=0)
    chosen = is_class[1:] if len(classes) == 2 else is_class
    return [2 * one - declared for one in chosen]


def probabilities(each: list[Floats]) -> Floats:
    """Of two classes (1 − p, p); of more, each fit's probability over their sum."""
    if len(each) == 1:
        return np.column_stack([1 - each[0], each[0]])
    stacked = np.maximum(np.column_stack(each), np.finfo(np.float64).tiny)
    return np.asarray(stacked / stacked.sum(axis=1, keepdims=True))


# ── regression
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRegression(ModelledEstimator):
    """Weights of one or several regressions on the same rows, released together."""

    radius: Exact = 10
    mechanism: str = "objective_perturbation"
    options: Mapping[str, Any] | None = None

    def _declared(self, scale: Scale) -> dict[str, Any]:
        """Return what every model here is told: its columns, their length, the prior."""
        names = names_of(self)
        return {
            "target": target_of(names),
            "features": names,
            "norm": norm_of(self.norm, scale),
            "radius": self.radius,
            "intercept": bool(self.intercept),
            "design": scale.design(names),
        }

    def _posteriors(  # noqa: PLR0917 - what a fit is made of
        self,
        models: list[Any],
        scale: Scale,
        x: Floats,
        answers: Callable[[], list[Floats]],
        target: Guarantee,
        source: Source,
    ) -> tuple[Any, ...]:
        """Calibrate for the first model, pay for all at once, then look and draw for each."""
        private = target.relation is ADD_REMOVE
        ready = self._calibrated(models[0], None if private else len(x), target, len(models))
        own, count = composed(ready.guarantee, len(models), target), {"count": len(x)} if private else {}
        each = [replace(ready, model=model) for model in models]  # type: ignore[call-arg]  # a field of each

        def encode() -> list[Any]:
            scaled, value = scale(x), VALUES[ready.reads]
            return [value(m, scaled, a) for m, a in zip(models, answers(), strict=True)]

        def draw(values: list[Any]) -> list[Any]:
            drawn = [m.release(v, source, **count) for m, v in zip(each, values, strict=True)]
            return [as_released_value(d, m, several=False) for d, m in zip(drawn, models, strict=True)]

        self.released_: tuple[Any, ...] = tuple(self._released((own, target), ready, models, encode, draw))
        self.guarantee_, self.mechanism_, self.target_ = own, ready, target
        self.seeded_, self._scale = source.seeded, scale
        return tuple(posterior(value) for value in self.released_)

    def _calibrated(
        self, model: GeneralizedLinear, n: int | None, target: Guarantee, fits: int
    ) -> ModelMechanism:
        """Find the knob for the first of the shares that can be met."""
        known = offered_to(REGRESSION)
        if self.mechanism not in known:
            raise ValueError(
                f"no mechanism for a regression is called {self.mechanism!r}; there are {', '.join(known)}"
            )
        kind = model_mechanism(known[self.mechanism])
        refuse_strangers(self.mechanism, kind, self.options or {})
        refusals = []
        for share in shares(target, fits, self.mechanism):
            try:
                return kind.calibrate(model, n=n, target=share, **(self.options or {}))
            except (Unreachable, NotProved) as error:
                refusals.append(error)
        raise refusals[-1]

    def _weights(self, posteriors: tuple[Any, ...]) -> tuple[Floats, Floats]:
        """Rewrite E w in units of the columns as given; rows longer than norm are scaled down first."""
        means, d = np.array([p.flat_mean() for p in posteriors]), self.n_features_in_
        if self.intercept:
            return means[:, :d], means[:, d]
        return means, -means @ np.array(self._scale.centre)  # the line goes through the middle of the bounds
