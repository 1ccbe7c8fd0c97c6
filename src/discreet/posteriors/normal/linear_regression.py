"""Bayesian linear regression from a noisy Σzzᵀ, z = (x, y): the law of x is a nuisance, inferred along."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.families.family import Floats
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.posteriors.noise_law import MIXED
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.in_units import in_units
from discreet.posteriors.normal.latent_model import LatentNormal, Observed, SampledPosterior
from discreet.posteriors.normal.linear_regression_moments import (
    base,
    read_moments,
    read_normal,
    read_weighted,
)
from discreet.posteriors.normal.read import run
from discreet.posteriors.posterior import FamilyPosterior, public_source
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


WEIGHTED = (
    "too much noise for weighted draws: leave law out, or take law='normal' (quick) or law='moments' (chains)"
)
MANY = 3  # weights that chains manage in seconds
MOST = 5  # and within a minute


@final
@dataclass(frozen=True, kw_only=True)
class Design:
    """The law of x, public and weak: N(μ, Σ), Σ ~ IW(d+1+degrees, degrees·spread²I), μ|Σ ~ N(0, Σ/strength).

    `intercept` says that the first column is 1 in every record; only then do second moments tell μ from Σ.
    """

    spread: float | None = None  # a column's size, radius/√(4(d+1)) unless known
    degrees: float = 2.0
    strength: float = 1.0
    intercept: bool = False

    def __post_init__(self) -> None:
        for name in ("spread", "degrees", "strength"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise ValueError(
                    f"{name} of the design must be finite and above 0, got {value!r}; it is public"
                )

    def width(self, family: BayesianLinearRegression) -> float:
        """Return a column's size: as given, or a quarter of the ball's square shared among the columns."""
        return self.spread or float(family.radius) / float(np.sqrt(4 * (family.dimension + 1)))


def regression_model(family: BayesianLinearRegression, design: Design) -> LatentNormal:
    """Regress y = xᵀw + N(0, σ²) on x ~ N(μ, Σ), the row clipped to the ball as a whole."""
    m, P, a, b = family._parameters  # noqa: SLF001 - doubles of the public fields
    f = int(design.intercept)
    p = m.size - f
    if p < 1:
        raise ValueError("a regression on the intercept alone has no design: fit NormalInverseGamma instead")
    root = design.width(family) * np.sqrt(design.degrees) * np.eye(p)
    return LatentNormal(
        layout=(f, p, 1),
        prior=(np.zeros(p), float(design.strength), float(p + 1 + design.degrees), root, m, P, a, b),
        grid=np.array([0.0, 1 / float(family.grid)]),
        door=np.array([0.0, 0.0, float(family.ball.largest)]),
        balance=0.0,
        theta=lambda phi: _weights_and_variance(phi, m.size),
    )


def read(
    release: NoisyStatistic,
    prior: BayesianLinearRegression,
    *,
    design: Design | None = None,
    law: str | None = None,
    plan: ChainLengths | None = None,
    source: Source | None = None,
) -> FamilyPosterior:
    """`read_encoded`, in units of the columns where the model names them."""
    return in_units(read_encoded(release, prior, design=design, law=law, plan=plan, source=source))


def read_encoded(
    release: NoisyStatistic,
    prior: BayesianLinearRegression,
    *,
    design: Design | None = None,
    law: str | None = None,
    plan: ChainLengths | None = None,
    source: Source | None = None,
) -> SampledPosterior:
    """(w, σ²) given noisy XᵀX, Xᵀy, yᵀy, each noised once.

    `weighted` is the default where the noise is small beside XᵀX: exact but for clipped rows, which it does
    not model; `moments` is the same law by chains. `limit` and `records` model them, and take x for normal.
    `normal` needs neither chain nor design and is quick: the default for columns by name and above MANY
    weights, where chains take long. It takes any noise for normal and, where XᵀX is a variance, projects it
    to a semidefinite matrix. It and, up to MOST weights, `moments` step in where the other has not met.
    No more rows than weights are read as `records`.
    """
    observed = Observed.of(release, prior)
    bits = source or public_source(release, prior)
    if law in {None, "weighted"} and plan is None and observed.about > prior.dimension:
        quick = read_weighted(prior, observed, design or Design(), bits)
        if quick is not None:
            return quick
    if law == "weighted":
        raise ValueError(WEIGHTED)
    many = prior.dimension > MANY or prior.named is not None
    if law == "normal" or (law is None and many and design is None and plan is None):
        found = read_normal(prior, observed, bits)
        hard = prior.dimension > MOST or observed.about <= prior.dimension
        if law or hard or found.diagnostics.r_hat <= MIXED:
            return found
        other = read_moments(prior, observed, Design(), bits)
        return other if other.diagnostics.r_hat <= MIXED else found
    if law == "moments" or (law is None and observed.about > prior.dimension):
        found = read_moments(prior, observed, design or Design(), bits, plan=plan)
        if law or design or plan or found.diagnostics.r_hat <= MIXED:
            return found
        other = read_normal(prior, observed, bits)
        return other if other.diagnostics.r_hat <= MIXED else found
    chosen, wanted = law or "records", design or Design()
    model = regression_model(prior, wanted)
    return run(
        replace(model, base=base(prior, observed, model, wanted)),
        observed,
        prior,
        law=chosen,
        plan=plan,
        source=bits,
    )


def _weights_and_variance(phi: Floats, d: int) -> Floats:
    return np.concatenate([phi[..., -1 - d : -1], np.exp(phi[..., -1:])], axis=-1)
