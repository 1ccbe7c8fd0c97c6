"""Calibration time as ratios measured side by side: to one certified divergence, to one pass over the prior.

Run: python benchmarks/calibration.py
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from sizes import sized

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.privacy.arithmetic.ball import settle
from discreet.privacy.kinds import ApproxDP, RenyiDP
from discreet.privacy.worst_pairs import guarantee_of_pair as worst
from discreet.privacy.worst_pairs.divergences import beta_renyi

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = {"RDP (2, 0.1)": RenyiDP.at(2, 0.1), "(1, 1e-6)": ApproxDP(1, 1e-6)}
MECHANISMS = {"diffused": DiffusedPosterior, "concentrated": ConcentratedPosterior}


def seconds(call: Callable[[], object], repeats: int = sized(5, 1)) -> float:
    """Best of a few runs, every memo emptied before each."""
    times = []
    for _ in range(repeats):
        worst._renyi.cache_clear()  # noqa: SLF001
        worst._delta.cache_clear()  # noqa: SLF001
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def one_divergence() -> object:
    return settle(lambda: beta_renyi(Fraction(105), Fraction(6), Fraction(1, 2), Fraction(2)))


def beta_rows() -> None:
    unit = seconds(one_divergence, sized(50, 1))
    print(f"\nBeta(6, 12); unit: one certified divergence, {1e6 * unit:.0f} µs")
    print(f"{'mechanism':14}{'target':16}{'n':>12}{'ms':>10}{'divergences':>14}")
    for n in sized((100, 10**4, 10**6, 10**9), (100,)):
        for name, kind in MECHANISMS.items():
            for label, target in TARGETS.items():
                took = seconds(lambda k=kind, t=target, n=n: k.calibrate(BetaBernoulli(6, 12), n=n, target=t))
                print(f"{name:14}{label:16}{n:12}{1e3 * took:10.1f}{took / unit:14.0f}")


def dirichlet_rows() -> None:
    print("\nDirichlet, model and calibration in total; ratio to one pass for two entries (np.partition)")
    print(f"{'mechanism':14}{'target':16}{'d':>12}{'ms':>10}{'passes':>14}{'µs / category':>16}")
    for d in sized((10**3, 10**4, 10**5, 10**6), (10,)):
        prior = np.random.default_rng(d).uniform(0.5, 3.0, d)
        scan = seconds(lambda p=prior: np.partition(p, 1)[:2])
        for name, kind in MECHANISMS.items():
            for label, target in TARGETS.items():
                took = seconds(
                    lambda k=kind, t=target, p=prior: k.calibrate(DirichletCategorical(p), n=1000, target=t)
                )
                print(f"{name:14}{label:16}{d:12}{1e3 * took:10.1f}{took / scan:14.1f}{1e6 * took / d:16.3f}")
                assert d < 10**6 or took < 1, "goal: a million categories within a second"


if __name__ == "__main__":
    beta_rows()
    dirichlet_rows()
