"""One budget over several questions: exact parts that the budget's own filter admits one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import final

from discreet.families.family import Family
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning.predicted_release import mean_moved
from discreet.planning.simulated_data import cases
from discreet.privacy.accounting.filters import BY_ORDERS, OrderMeter, filter_for
from discreet.privacy.arithmetic.ball import Exact, round_down
from discreet.privacy.arithmetic.curves import Points, downward
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.under_metric.promise import MetricDP

Weights = Mapping[str, "Exact"] | Sequence["Exact"]


@final
@dataclass(frozen=True)
class Question:
    """One posterior to be released with NoisyStatistics: a model, the expected n, and how much it matters."""

    model: Family
    n: int
    importance: Exact = 1


Questions = int | Sequence[str] | Mapping[str, Question]


def split(budget: Guarantee, questions: Questions, weights: Weights | None = None) -> dict[str, Guarantee]:
    """Parts of the budget's own kind, evenly or in proportion to the weights; exact, and verified to fit.

    Shares are of Σε and Σδ, Σρ, Σμ² or ΣD_α; those of an ApproxDP budget are for a scope that is kept by sums
    (the default). `zcdp_within` is for one that is kept by Rényi orders.
    """
    names = _names(questions)
    shares = _shares(names, weights)
    parts = {name: part(budget, share) for name, share in shares.items()}
    if not filter_for(budget).admits(*parts.values()):
        raise Unreachable(f"the parts could not be verified to fit {budget}")
    return parts


def _names(questions: Questions) -> list[str]:
    if isinstance(questions, bool | str):
        raise ValueError(f"questions must be a number of them, their names or a mapping, got {questions!r}")  # noqa: TRY004
    names = [str(i + 1) for i in range(questions)] if isinstance(questions, int) else list(questions)
    if not names or len(set(names)) != len(names):
        raise ValueError(f"questions need at least one name, each different; got {questions!r}")
    return names


def _shares(names: list[str], weights: Weights | None) -> dict[str, Fraction]:
    """Weights as exact fractions of their sum."""
    if weights is None:
        return dict.fromkeys(names, Fraction(1, len(names)))
    given = dict(weights) if isinstance(weights, Mapping) else dict(zip(names, weights, strict=False))
    if set(given) != set(names) or len(weights) != len(names):
        raise ValueError(
            f"weights must name every question once: {', '.join(names)}; got {', '.join(map(str, weights))}"
        )
    if not all(0 < w < float("inf") for w in given.values()):
        raise ValueError(f"weights must be finite and above 0, got {', '.join(map(str, given.values()))}")
    exact = {name: Fraction(given[name]) for name in names}
    total = sum(exact.values())
    return {name: w / total for name, w in exact.items()}


@singledispatch
def part(budget: Guarantee, share: Fraction) -> Guarantee:
    """Return a share of the budget, of its own kind."""
    del share
    raise NotProved(
        f"a {type(budget).__name__} budget has no filter to split by; use PureDP, ApproxDP, ZeroCDP, "
        "GaussianDP, MetricDP or RenyiDP.points"
    )


@part.register(MetricDP)
def _part_metric_dp(budget: MetricDP, share: Fraction) -> Guarantee:
    loss, slack = Fraction(budget.loss) * share, Fraction(budget.slack) * share
    return MetricDP(loss, slack, relation=budget.relation)


@part.register(PureDP)
def _part_pure_dp(budget: PureDP, share: Fraction) -> Guarantee:
    return PureDP(Fraction(budget.loss) * share, relation=budget.relation)


@part.register(ApproxDP)
def _part_approx_dp(budget: ApproxDP, share: Fraction) -> Guarantee:
    loss, slack = Fraction(budget.loss) * share, Fraction(budget.slack) * share
    return ApproxDP(loss, slack, relation=budget.relation)


@part.register(ZeroCDP)
def _part_zero_cdp(budget: ZeroCDP, share: Fraction) -> Guarantee:
    return ZeroCDP(Fraction(budget.rho) * share, relation=budget.relation)


@part.register(GaussianDP)
def _part_gaussian_dp(budget: GaussianDP, share: Fraction) -> Guarantee:
    return GaussianDP.from_square(Fraction(budget.mu_squared) * share, relation=budget.relation)


@part.register(RenyiDP)
def _part_renyi_dp(budget: RenyiDP, share: Fraction) -> Guarantee:
    if budget.profile is not None or not isinstance(budget.curve, Points):
        raise NotProved(
            "give a Rényi budget as RenyiDP.at or RenyiDP.points: its filter holds finitely many orders"
        )
    known = {order: downward(Fraction(bound) * share) for order, bound in budget.curve.known}
    return RenyiDP.points(known, relation=budget.relation)


def zcdp_within(budget: ApproxDP) -> ZeroCDP:
    """Largest ρ-zCDP that an (ε, δ) budget kept by orders admits at one of them: max over α of capacity(α)/α.

    Worth more than Σε when Gaussian noise answers many questions: split(zcdp_within(budget), …) fits it.
    """
    held = filter_for(budget, BY_ORDERS)
    orders = [m for m in held.meters if isinstance(m, OrderMeter)]
    rho = max((downward(m.capacity / Fraction(m.order)) for m in orders), default=0.0)
    for bits in (50, 40, 30):  # the meter rounds ρα up: leave it room
        found = round_down(rho, bits)
        if found > 0 and held.admits(ZeroCDP(found, relation=budget.relation)):
            return ZeroCDP(found, relation=budget.relation)
    raise Unreachable(f"no zCDP promise fits {budget}; a larger δ would leave room for one")


# ── weights that make the total added variance least ────────────────────────────────────────────────────
def optimal_weights(
    budget: Guarantee, questions: Mapping[str, Question], *, simulations: int | None = None, seed: int = 0
) -> dict[str, Fraction]:
    """Weights for `split` that minimise Σ importance·E(mean of the noisy posterior − posterior mean)².

    Noise variance is c/s^p in the share s: p = 2 for Laplace noise and shares of ε, p = 1 for Gaussian noise
    and shares of ρ or μ². By Lagrange s ∝ c^{1/(p+1)}; c is predicted at the even split.
    """
    power, noise = _power(budget)
    even = split(budget, questions)
    added = {name: _added(q, even[name], noise, simulations, seed) for name, q in questions.items()}
    if not all(v > 0 for v in added.values()):
        raise Unreachable("the noise of some question does not move its posterior mean; split evenly instead")
    scale = max(added.values())
    return {
        name: Fraction((v / scale) ** (1 / (power + 1))).limit_denominator(10**6) for name, v in added.items()
    }


@singledispatch
def _power(_budget: Guarantee) -> tuple[int, str]:
    """Return the exponent p, and the noise that suits the kind of budget."""
    return 2, "discrete_laplace"


@_power.register(ZeroCDP)
def _power_zero_cdp(_budget: ZeroCDP) -> tuple[int, str]:
    return 1, "discrete_gaussian"


@_power.register(GaussianDP)
def _power_gaussian_dp(_budget: GaussianDP) -> tuple[int, str]:
    return 1, "gaussian"


def _added(question: Question, target: Guarantee, noise: str, simulations: int | None, seed: int) -> float:
    n = None if target.relation is ADD_REMOVE else question.n
    mechanism = NoisyStatistics.calibrate(question.model, n=n, target=target, noise=noise)
    nodes = cases(question.model, question.n, simulations=simulations, seed=seed)
    return float(question.importance) * mean_moved(mechanism, nodes)
