"""Time of a plan relative to the calibrations it cannot do without, measured side by side in one run.

A plan calibrates eight mechanisms and predicts each that meets the target; the ratio is to those eight
calibrations alone, and to one of them. Run: python benchmarks/planning.py
"""

import statistics
import time
from contextlib import suppress

from sizes import sized

from discreet.families.registry import EXAMPLES
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning import epsilon_for, plan
from discreet.planning.offers import Asked, offers
from discreet.privacy.guarantee import NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP

TARGET, N = ApproxDP(0.5, 1e-6), 1000


def seconds(work, rounds=sized(3, 1)):
    sized(work, int)()  # imports and compilation
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def all_calibrations(model):
    for offer in offers(model, N, TARGET, Asked()):
        with suppress(Unreachable, NotProved):
            offer.calibrate()


def main():
    print(f"{'family':28} {'plan ms':>9} {'/ all calibrations':>19} {'/ one calibration':>18}")
    for model, _ in EXAMPLES[: sized(None, 1)]:
        whole = seconds(lambda model=model: plan(model, N, TARGET))
        every = seconds(lambda model=model: all_calibrations(model))
        one = seconds(
            lambda model=model: NoisyStatistics.calibrate(model, n=N, target=TARGET, noise="gaussian")
        )
        print(f"{type(model).__name__:28} {whole * 1e3:9.0f} {whole / every:19.2f} {whole / one:18.1f}")
    model = EXAMPLES[0][0]
    search = seconds(lambda: epsilon_for(model, 2000, 0.05))
    one = seconds(lambda: plan(model, 2000, TARGET))
    print(f"epsilon_for / plan, {type(model).__name__}: {search / one:.2f}")


if __name__ == "__main__":
    main()
