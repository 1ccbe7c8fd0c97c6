"""Exact draws beside numpy's unsafe ones and OpenDP's noise, in one run; only the ratios mean anything.

Best of three after a warm-up. "Same law" means the same probability mass function on the integers.
Run: python benchmarks/sampling.py [--quick]
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from sizes import sized

from discreet.sampling import exact
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[int], object]

Row = tuple[str, int, "Draw", "Draw", int]  # name, draws, ours, theirs, coordinates per draw


def seconds(draw: Draw, size: int, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        draw(size)
        best = min(best, time.perf_counter() - start)
    return best


def against_numpy(size: int) -> list[Row]:
    rng = np.random.default_rng()
    rows: list[Row] = [
        (f"gamma({shape:g})", size, lambda n, a=shape: exact.gamma(SYSTEM, a, n),
         lambda n, a=shape: rng.standard_gamma(a, n), 1)
        for shape in (0.01, 0.5, 2.5, 500.0, 1e9)
    ]  # fmt: skip
    for a, b in ((0.5, 0.5), (6.0, 12.0), (5e3, 7e3)):
        rows.append((f"beta({a:g}, {b:g})", size, lambda n, a=a, b=b: exact.beta(SYSTEM, a, b, n),
                     lambda n, a=a, b=b: rng.beta(a, b, n), 1))  # fmt: skip
    for d, shape in ((3, 2.0), (32, 0.5), (1000, 1.5), (sized(10**6, 2000), 0.5)):
        alpha, count = np.full(d, shape), max(1, size // d)
        rows.append((f"dirichlet({shape:g}·1_{d})", count, lambda n, a=alpha: exact.dirichlet(SYSTEM, a, n),
                     lambda n, a=alpha: rng.dirichlet(a, n), d))  # fmt: skip
    rows.append(("normal, grid 2^-20", size, lambda n: exact.normal(SYSTEM, 0, 1, n, 2.0**-20),
                 lambda n: rng.normal(0, 1, n), 1))  # fmt: skip
    return rows


def against_opendp(sizes: tuple[int, ...]) -> list[Row]:
    import opendp.prelude as dp  # noqa: PLC0415

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    laplace = dp.m.make_laplace(space, dp.l1_distance(T="i64"), scale=10.0)
    gaussian = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=10.0)
    rows: list[Row] = []
    for size in sizes:
        rows.append((f"discrete Laplace × {size:g}", size, lambda n: exact.discrete_laplace(SYSTEM, 10, n),
                     lambda n: laplace([0] * n), 1))  # fmt: skip
        rows.append((f"discrete Gaussian × {size:g}", size, lambda n: exact.discrete_gaussian(SYSTEM, 100, n),
                     lambda n: gaussian([0] * n), 1))  # fmt: skip
    return rows


def alone(size: int) -> list[tuple[str, int, Draw]]:
    return [
        ("truncated beta(6, 12) on [.1, .9]", size,
         lambda n: exact.truncated_beta(SYSTEM, 6, 12, 0.1, 0.9, n)),
        ("truncated beta(1, 101) on [.1, .9]", size,
         lambda n: exact.truncated_beta(SYSTEM, 1, 101, 0.1, 0.9, n)),
        ("truncated dirichlet(1, 3, 100), .05", size,
         lambda n: exact.truncated_dirichlet(SYSTEM, [1, 3, 100], 0.05, n)),
        ("normal–inverse-gamma", size,
         lambda n: exact.normal_inverse_gamma(SYSTEM, 0, 1, 3, 2, n, 2.0**-20)),
        ("inverse-Wishart 5 × 5", -(-size // 1000),
         lambda n: exact.inverse_wishart(SYSTEM, 8, np.eye(5), n)),
        ("categorical of 1000", size, lambda n: exact.categorical(SYSTEM, np.linspace(0, 5, 1000), n)),
        ("bernoulli_exp(1/3)", size, lambda n: exact.bernoulli_exp(SYSTEM, 1 / 3, n)),
    ]  # fmt: skip


def compare(title: str, goal: str, rows: list[Row], repeats: int) -> None:
    print(f"\n{title:38} {'ours /s':>10} {'theirs /s':>10} {'ratio':>8}   goal: {goal}")
    for name, size, ours, theirs, width in rows:
        ours(min(size, 1000))
        mine, other = (
            seconds(ours, size, repeats),
            seconds(theirs, size, 1 if "discrete" in name else repeats),
        )
        print(f"{name:38} {size * width / mine:10.3g} {size * width / other:10.3g} {other / mine:8.2f}")


def main() -> None:
    quick = "--quick" in sys.argv
    size = sized(10**5 if quick else 10**6, 1000)
    compare("numpy (unsafe)", "ratio ≥ 0.2", against_numpy(size), 3)
    compare(
        "OpenDP (same law)",
        "ratio ≥ 10",
        against_opendp(sized((10**4,) if quick else (10**5, 10**6), (10,))),
        3,
    )
    print(f"\n{'ours alone':38} {'ours /s':>10}")
    for name, count, draw in alone(size // 5):
        draw(min(count, 300))
        print(f"{name:38} {count / seconds(draw, count, 2):10.3g}")


if __name__ == "__main__":
    main()
