"""Time of composing and converting, as a ratio to dp-accounting, measured side by side in one run.

Ours is certified (ball arithmetic, rounded to the private side); theirs is in floats on a fixed set of orders
or a discretised loss law. Run: python benchmarks/accounting.py
"""

import statistics
import time

from dp_accounting import GaussianDpEvent
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from sizes import sized

from discreet.privacy.accounting import optimal_composition as optimal
from discreet.privacy.accounting.composition import compose, repeat
from discreet.privacy.kinds import BoundedRange, GaussianDP, PureDP, ZeroCDP

DELTA = 1e-6


def seconds(work, rounds=sized(7, 1)):
    """Median of several rounds, caches emptied before each."""
    times = []
    for _ in range(rounds):
        optimal._law.cache_clear()  # noqa: SLF001
        optimal._tails.cache_clear()  # noqa: SLF001
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def pure_pld(epsilon, count):
    parameters = common.DifferentialPrivacyParameters(epsilon, 0)
    return pld.from_privacy_parameters(parameters, value_discretization_interval=1e-4).self_compose(count)


CASES = {
    "zCDP to (ε, δ), 100 releases": (
        lambda: repeat(ZeroCDP(0.001), 100).epsilon(DELTA),
        lambda: RdpAccountant().compose(GaussianDpEvent(22.36), 100).get_epsilon(DELTA),
    ),
    "GDP to (ε, δ), 100 releases": (
        lambda: repeat(GaussianDP(0.05), 100).epsilon(DELTA),
        lambda: pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4).get_epsilon_for_delta(
            DELTA
        ),
    ),
    "100 × pure 0.1, optimal": (
        lambda: repeat(PureDP(0.1), 100).bounds(DELTA)["optimal"],
        lambda: pure_pld(0.1, 100).get_epsilon_for_delta(DELTA),
    ),
    "10⁴ × pure 0.01, optimal": (
        lambda: repeat(PureDP(0.01), 10_000).bounds(DELTA)["optimal"],
        lambda: pure_pld(0.01, 10_000).get_epsilon_for_delta(DELTA),
    ),
    "unequal pure parts (60 + 200 + 5)": (
        lambda: compose(repeat(PureDP(0.1), 60), repeat(PureDP(0.03), 200), repeat(PureDP(0.4), 5)).epsilon(
            DELTA
        ),
        lambda: (
            pure_pld(0.1, 60)
            .compose(pure_pld(0.03, 200))
            .compose(pure_pld(0.4, 5))
            .get_epsilon_for_delta(DELTA)
        ),
    ),
    "50 × pure 0.1 and a Gaussian": (
        lambda: compose(repeat(PureDP(0.1), 50), GaussianDP(0.5)).epsilon(DELTA),
        lambda: (
            pure_pld(0.1, 50)
            .compose(pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4))
            .get_epsilon_for_delta(DELTA)
        ),
    ),
}


def main():
    print(f"{'case':36} {'ours ms':>9} {'theirs ms':>10} {'ratio':>7} {'our ε':>10} {'their ε':>10}")
    for name, (ours, theirs) in CASES.items():
        a, b = seconds(ours), seconds(theirs)
        print(f"{name:36} {a * 1e3:9.2f} {b * 1e3:10.2f} {a / b:7.2f} {ours():10.5f} {theirs():10.5f}")
    many = seconds(lambda: repeat(BoundedRange(0.05), 10_000).epsilon(DELTA))
    print(f"{'10⁴ × bounded range 0.05 (ours only)':36} {many * 1e3:9.2f}")


if __name__ == "__main__":
    main()
