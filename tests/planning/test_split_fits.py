"""A budget split in k is spent in k releases, whichever mechanisms make them, and the next is refused."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.cli.typed.arguments import promise, typed
from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.ledger import Ledger, Overspent
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning import split
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP

MODEL = BetaBernoulli(6, 12)
LAPLACE = ("discrete_laplace", "laplace")
GAUSSIAN = ("discrete_gaussian", "gaussian")
# which noise meets a target of a kind; posterior draws meet (ε, δ) and Rényi targets
MAKERS = {
    PureDP: LAPLACE,
    ApproxDP: (*LAPLACE, *GAUSSIAN, "diffused"),
    ZeroCDP: (*LAPLACE, *GAUSSIAN),
    GaussianDP: (*LAPLACE, "gaussian"),
    RenyiDP: (*LAPLACE, *GAUSSIAN, "diffused"),
}


def guarantee_of(made, target):
    """The own promise of a mechanism that was really calibrated to the target."""
    if made == "diffused":
        return DiffusedPosterior.calibrate(MODEL, n=200, target=target).guarantee
    return NoisyStatistics.calibrate(MODEL, n=200, target=target, noise=made).guarantee


def some_budget(rng, kind):
    """Doubles that nobody chose, or decimals that a person would type."""
    epsilon, delta = rng.uniform(0.2, 4), 10.0 ** -rng.uniform(4, 9)
    if rng.integers(2):
        epsilon, delta = (
            Fraction(round(epsilon, 2)).limit_denominator(100),
            Fraction(1, 10 ** int(rng.integers(4, 9))),
        )
    if kind is ApproxDP:
        return ApproxDP(epsilon, delta)
    return RenyiDP.at(rng.integers(2, 6).item(), float(epsilon)) if kind is RenyiDP else kind(epsilon)


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_k_parts_fit_k_times_and_then_nothing(kind, seed, tmp_path):
    rng = np.random.default_rng(1000 * seed + list(MAKERS).index(kind))
    budget, k = some_budget(rng, kind), int(rng.choice([1, 2, 3, 4, 7, 10, 11, 13, 23, 29, 37]))
    parts = list(split(budget, k).values())
    own = {made: guarantee_of(made, parts[0]) for made in MAKERS[kind]}
    with Ledger.open(tmp_path / "budget.db", budget) as ledger:
        for i, part in enumerate(parts):
            assert part == parts[0]
            made = MAKERS[kind][rng.integers(len(MAKERS[kind]))]
            receipt = ledger.charge(own[made], target=part, note=made)
            assert kind is not ApproxDP or receipt.rules == {"default": "sums"}, i
        with pytest.raises(Overspent, match="does not fit"):
            ledger.charge(parts[0])
        ledger.verify()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 10, 13, 23, 29, 40, 60])
def test_laplace_targets_use_the_budget_up_exactly(k, tmp_path):
    """Charged are exact rationals: nothing is left over, and nothing is over the top."""
    budget = ApproxDP(Fraction("0.9"), Fraction("1e-6"))
    part = split(budget, k)["1"]
    gaussian = NoisyStatistics.calibrate(MODEL, n=200, target=part, noise="discrete_gaussian").guarantee
    with Ledger.open(tmp_path / "budget.db", budget) as ledger:
        for _ in range(k):
            ledger.charge(gaussian, target=part)
        spent = ledger.spent()
        assert spent.sums == (Fraction("0.9"),)
        assert spent.disclosed == Fraction("1e-6")
        assert ledger.remaining().share == 0
        with pytest.raises(Overspent, match="nothing; the budget is spent"):
            ledger.charge(PureDP(1e-9))


@pytest.mark.parametrize(
    "words", ["approx:1,1e-6", "pure:1", "pure:0.3", "zcdp:0.1", "gdp:1", "approx:0.7,3e-8"]
)
@pytest.mark.parametrize("k", [1, 3, 7, 11, 29])
def test_what_the_command_prints_can_be_typed_k_times(words, k, tmp_path):
    parts = [promise(typed(part)) for part in split(promise(words), k).values()]
    with Ledger.open(tmp_path / "budget.db", promise(words)) as ledger:
        for part in parts:
            ledger.charge(part)
        with pytest.raises(Overspent):
            ledger.charge(parts[0])
