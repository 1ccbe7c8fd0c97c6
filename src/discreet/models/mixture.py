"""Finite mixtures of products of categorical columns (latent classes), counted as one joint table."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar, final

from discreet.families.exact_fields import Rational
from discreet.models.bayes_net import MOST_CONFIGURATIONS
from discreet.models.count_model import CountModel


@final
@dataclass(frozen=True, repr=False)
class Mixture(CountModel):
    """p(x) = Σ_k π_k ∏_d θ_{k,d,x_d}; π Dirichlet with `weight` in each entry, every θ_{k,d} with `prior`.

    The classes are latent, so the statistic is the joint table of all features: one table, paid once.
    """

    name: ClassVar[str] = "mixture"

    components: int = 0  # no default would be honest: it must be said
    features: tuple[str, ...] = ()
    weight: Rational = Rational(default=1)  # noqa: RUF009 - a descriptor
    prior: Rational = Rational(default=1)  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        if isinstance(self.components, bool) or not (
            isinstance(self.components, int) and self.components >= 1
        ):
            raise ValueError(
                f"a mixture needs components=K, how many classes to look for, at least 1; "
                f"got {self.components!r}"
            )
        given = self.features
        features = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "features", features)
        if not features or len(set(features)) != len(features):
            raise ValueError(f"features must be at least one column, each once, got {list(features)}")
        super().__post_init__()
        if self.sizes and (cells := prod(self.sizes)) > MOST_CONFIGURATIONS:
            raise ValueError(
                f"{', '.join(features)} have {cells} joint values, more than {MOST_CONFIGURATIONS}: noise "
                "would drown their counts; take fewer or coarser features, or private Gibbs on the records "
                "(discreet.mcmc.mixture_gibbs), which pays for every sweep"
            )

    @property
    def layout(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (("joint", self.features),)
