"""Attack a claim: compare it with the exact profile (tier 1) and with what 1e5 runs a side show (tier 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from discreet.mechanisms.mechanism import Mechanism
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import Source

RUNS = 100_000
LEVEL = 1e-4  # probability that tier 2 refutes a true claim

Run: TypeAlias = Callable[[Any, int, Source], NDArray[Any]]  # (input, how many, source) → outputs
Profile: TypeAlias = Callable[[float], float]
Build = TypeVar("Build", bound="Callable[[], Case]")


@dataclass(frozen=True)
class Case:
    """A claim about one pair of neighbouring inputs, with the event that tells them apart best.

    The event is fixed before any draw: where the likelihood ratio of the pair exceeds e^ε (Neyman–Pearson).
    """

    claim: Guarantee
    run: Run  # many independent outputs on one input
    pair: tuple[Any, Any]  # neighbouring inputs, first the one on which the event is likelier
    event: Callable[[NDArray[Any]], NDArray[np.bool_]]
    exact_delta: Profile  # δ(ε) of this pair, computed apart from the library's accounting
    epsilon: float = 1.0  # the point of the privacy profile that is put to the test
    exact_renyi: Profile | None = None  # D_α(left‖right) by quadrature, where the claim is a Rényi curve
    name: str = ""  # given where the case is declared

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        pair: tuple[Any, Any],
        event: Callable[[NDArray[Any]], NDArray[np.bool_]],
        exact_delta: Profile,
        epsilon: float = 1.0,
        *,
        run: Callable[..., NDArray[Any]] | None = None,
    ) -> Case:
        """Attack what a mechanism itself promises, in its own draws unless `run` makes many of them."""
        drawn: Run = mechanism.releases if run is None else partial(run, mechanism)  # type: ignore[attr-defined]  # basic ones
        return cls(mechanism.guarantee, drawn, pair, event, exact_delta, epsilon)


class Cases(dict[str, Callable[[], Case]]):
    """Cases by name, each built when asked for; @case("laplace/vector") declares one."""

    def __call__(self, name: str) -> Callable[[Build], Build]:
        def declare(build: Build) -> Build:
            self[name] = lambda: replace(build(), name=name)
            return build

        return declare


@dataclass(frozen=True)
class Verdict:
    """What an audit saw: the least δ(ε) (or ε at δ = 0) that the runs allow, and if the claim survives."""

    name: str
    epsilon: float
    claimed_delta: float
    least_delta: float  # with confidence 1 − LEVEL
    least_epsilon: float

    @property
    def refuted(self) -> bool:
        return self.least_delta > self.claimed_delta


def lower_probability(hits: int, runs: int, level: float) -> float:
    """Clopper–Pearson: the least p with P(Binomial(runs, p) ≥ hits) ≥ level."""
    return float(betaincinv(hits, runs - hits + 1, level)) if hits else 0.0


def upper_probability(hits: int, runs: int, level: float) -> float:
    """Clopper–Pearson: the greatest p with P(Binomial(runs, p) ≤ hits) ≥ level."""
    return 1.0 - lower_probability(runs - hits, runs, level)


def profile_excess(case: Case, epsilons: Iterable[float]) -> float:
    """Tier 1: max over ε of exact δ(ε) − claimed δ(ε); a sound claim is never above 0 [theory §6]."""
    return max(case.exact_delta(e) - case.claim.delta(e) for e in epsilons)


def renyi_excess(case: Case, orders: Iterable[float]) -> float:
    """Tier 1 for a Rényi curve: max over α of D_α(left‖right) − claimed D_α, −∞ where nothing is claimed."""
    exact = case.exact_renyi
    if exact is None:
        return -math.inf
    bounds = ((a, case.claim.renyi(a)) for a in orders)
    return max((exact(a) - bound for a, bound in bounds if bound < math.inf), default=-math.inf)


def empirical(case: Case, source: Source, *, runs: int = RUNS, level: float = LEVEL) -> Verdict:
    """Tier 2: P(E) − e^ε Q(E) > δ(ε) beyond chance, each side bounded at level/2 [Clopper, Pearson 1934]."""
    hits, misses = (int(case.event(case.run(x, runs, source)).sum()) for x in case.pair)
    low = lower_probability(hits, runs, level / 2)
    high = upper_probability(misses, runs, level / 2)
    return Verdict(
        case.name,
        case.epsilon,
        case.claim.delta(case.epsilon),
        max(0.0, low - math.exp(case.epsilon) * high),
        math.log(low / high) if low > high else 0.0,
    )
