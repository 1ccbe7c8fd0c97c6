"""Noisy SGD in steps a second beside a plain NumPy loop of the same steps; what bounds and tiers cost.

python benchmarks/amplification.py [--steps 20000]
Processor seconds, in turn in one run. The loop draws its noise with NumPy's Generator, all at once: it is
fast, and promises nothing. Ours draws exactly, from the system's bits.
"""

import argparse
import time

import numpy as np
from sizes import sized

from discreet.mechanisms.noise.gaussian import Gaussian
from discreet.mechanisms.noise.ornstein_uhlenbeck import TieredGaussian
from discreet.mechanisms.sgd.losses import logistic_loss
from discreet.mechanisms.sgd.noisy_projected_sgd import NoisyProjectedSGD
from discreet.privacy.amplification.iteration import Step, iterate
from discreet.privacy.kinds import ApproxDP, GaussianDP

TARGET = ApproxDP(1, 1e-5)


def loop(rows, answers, made, rng):
    """Take the steps of the trainer, as people write them."""
    step, sigma, radius = float(made.run.step), float(made.run.sigma), made.radius
    noise, w = rng.normal(scale=sigma, size=rows.shape), np.zeros(rows.shape[1])
    for x, y, z in zip(rows, answers, noise, strict=True):
        w = w - step * (-y * x / (1 + np.exp(y * (x @ w))) + z)
        length = np.sqrt(w @ w)
        if length > radius:
            w *= radius / length
    return w


def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def best(calls, times=sized(3, 1)):
    """Return the least of each, taken in turn."""
    return np.min([[seconds(call) for call in calls] for _ in range(times)], axis=0)


def training(steps):
    rng = np.random.default_rng(0)
    print(f"{'1000 steps a second':34s} {'ours':>8s} {'NumPy loop':>11s} {'ratio':>6s}")
    for d in sized((3, 20, 100), (3,)):
        rows, answers = rng.normal(size=(steps, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], steps)
        made = NoisyProjectedSGD.calibrate(
            logistic_loss(norm=1.0), n=steps, dimension=d, target=TARGET, radius=4.0
        )
        made.release((rows, answers))  # compiles
        ours, theirs = best([lambda: made.release((rows, answers)), lambda: loop(rows, answers, made, rng)])  # noqa: B023
        print(
            f"{f'logistic, {d} columns':34s} {steps / ours / 1e3:8.1f} {steps / theirs / 1e3:11.1f} "
            f"{theirs / ours:6.2f}",
            flush=True,
        )


def bounds(steps):
    print(f"\n{'seconds':50s}")
    several = [Step(0.999, 1, 1 if t % sized(1000, 10) == 7 else 0) for t in range(steps)]
    print(f"{f'iterate, {steps} steps, shifts among them':50s} {seconds(lambda: iterate(several)):8.2f}")
    records = sized(30_000, 100)
    target = {"n": records, "dimension": 20, "target": TARGET, "radius": 4.0}
    for name, more in (
        ("public order", {}),
        ("5 passes", {"passes": 5}),
        ("secret order", {"secret_order": True}),
    ):
        took = seconds(lambda: NoisyProjectedSGD.calibrate(logistic_loss(norm=1.0), **target, **more))  # noqa: B023
        print(f"{f'calibrate noisy SGD, {records} records, {name}':50s} {took:8.2f}", flush=True)


def tiers(size=sized(100_000, 50)):
    values = np.arange(size)
    made = TieredGaussian.calibrate(targets=[GaussianDP(1), GaussianDP(0.5), GaussianDP(0.1)], sensitivity=1)
    one = Gaussian(1, made.sigmas[0])
    chain, alone = best([lambda: made.release(values), lambda: one.release(values)], 2)
    print(f"\nthree tiers of {size} numbers: {chain:.2f} s, {chain / alone:.1f} times one Gaussian release")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=sized(20_000, 50))
    given = parser.parse_args()
    training(given.steps)
    bounds(given.steps)
    tiers()


if __name__ == "__main__":
    main()
