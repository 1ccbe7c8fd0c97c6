"""Amplification in pictures: bounds beside the truth, our split beside the published one, and a trainer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.datasets import adult
from discreet.experiments.thesis.figure import finish, new_figure, write_numbers
from discreet.mechanisms.noise.gaussian import Gaussian
from discreet.mechanisms.sgd.losses import logistic_loss
from discreet.mechanisms.sgd.noisy_projected_sgd import NoisyProjectedSGD
from discreet.privacy.amplification.iteration import Step, geometric, iterate, published_iteration
from discreet.privacy.amplification.noisy_sgd import NoisySGD
from discreet.privacy.kinds import ApproxDP
from discreet.sampling.source import SeededSource

Floats = NDArray[np.float64]


ORDER = 2.0
TARGET = ApproxDP(1, 1e-5)
RADIUS, EPOCHS = 12.0, 5
PUBLIC = 500  # records of the test half that play the part of public ones
# Documented levels and bounds (public), none read off the rows
NUMBERS = {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99)}
GROUPS = {
    "marital_status": (
        "Married-civ-spouse",
        "Divorced",
        "Never-married",
        "Separated",
        "Widowed",
        "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    "relationship": ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    "sex": ("Female", "Male"),
}


def figures(out: Path, seed: int, quick: bool) -> tuple[Path, ...]:  # noqa: FBT001
    """Draw all of them."""
    return (*iteration(out), *indices(out), *trainer(out, seed, 1 if quick else 20))


def iteration(out: Path) -> tuple[Path, ...]:
    """Rényi bounds of r noisy contractions: ours is exact for linear maps."""
    rows = [_bounds(factor, r) for factor in (0.5, 0.9, 1.0) for r in (1, 2, 3, 5, 8, 13, 21, 34, 55)]
    figure = new_figure(7, 4.4)
    axes = figure.subplots()
    for factor, colour in ((0.5, "#0072B2"), (0.9, "#009E73"), (1.0, "#D55E00")):
        mine = [row for row in rows if row[0] == factor]
        steps = [row[1] for row in mine]
        axes.plot(steps, [row[2] for row in mine], color=colour, label=f"ours, L = {factor}")
        axes.plot(
            steps, [row[3] for row in mine], "o", color=colour, markersize=4, label=f"truth, L = {factor}"
        )
        axes.plot(steps, [row[4] for row in mine], "--", color=colour, label=f"published, L = {factor}")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="noisy steps after the record",
        ylabel=f"Rényi divergence, order {ORDER:g}",
    )
    axes.set_title("Amplification by iteration: bound, truth (linear maps), published bound")
    axes.legend(frameon=False, fontsize=8, ncols=3)
    titles = ("lipschitz", "steps", "ours", "truth_of_linear_maps", "published")
    return finish(figure, out / "amplification-iteration.png"), write_numbers(
        out / "amplification-iteration.csv", titles, rows
    )


def _bounds(factor: float, r: int) -> tuple[float, int, float, float, float]:
    ours = iterate([Step(factor, 1)] * r, start=1).renyi(ORDER)
    truth = ORDER * float(geometric(1, factor, 1, r)) / 2
    return factor, r, ours, truth, published_iteration(r, factor, 1, 1, ORDER)


def indices(out: Path) -> tuple[Path, ...]:
    """Noisy SGD over 100 records: what each place in the order costs."""
    runs = {rho: NoisySGD(n=100, step=1, sigma=2, lipschitz=1, smooth=1, strong=rho) for rho in (0.0, 0.1)}
    rows = [
        (rho, i, run.at_index(i).renyi(ORDER), run.published(i, ORDER))
        for rho, run in runs.items()
        for i in range(1, 101)
    ]
    figure = new_figure(7, 4.4)
    axes = figure.subplots()
    for rho, colour in ((0.0, "#D55E00"), (0.1, "#0072B2")):
        mine = [row for row in rows if row[0] == rho]
        axes.plot([r[1] for r in mine], [r[2] for r in mine], color=colour, label=f"ours, ρ = {rho}")
        axes.plot(
            [r[1] for r in mine], [r[3] for r in mine], "--", color=colour, label=f"published, ρ = {rho}"
        )
    axes.set(yscale="log", xlabel="place of the record", ylabel=f"Rényi divergence, order {ORDER:g}")
    axes.set_title("Noisy SGD, 100 records: the price of each place")
    axes.legend(frameon=False, fontsize=9)
    return finish(figure, out / "amplification-sgd.png"), write_numbers(
        out / "amplification-sgd.csv", ("strong", "place", "ours", "published"), rows
    )


def encoded() -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Adult as rows of norm at most 1, answers ±1, and which rows train; every level and bound is public."""
    data = adult(*NUMBERS, *GROUPS, "income", "split")
    parts = [np.clip((data[c] - low) / (high - low), 0, 1)[:, None] for c, (low, high) in NUMBERS.items()]
    parts += [np.stack([data[c] == level for level in levels], axis=1) for c, levels in GROUPS.items()]
    rows = np.hstack([np.ones((len(data["income"]), 1)), *parts]).astype(np.float64)
    longest = np.sqrt(1 + len(NUMBERS) + len(GROUPS))
    return rows / longest, np.where(data["income"] == ">50K", 1.0, -1.0), data["split"] == "train"


def settings(n: int, dimension: int) -> dict[str, NoisyProjectedSGD]:
    """ε ≤ 1 for the worst record: five epochs in a public order, public steps at the end, a secret order."""
    loss = logistic_loss(norm=1.0)

    def made(sigma: float, passes: int = EPOCHS) -> Callable[..., NoisyProjectedSGD]:
        step = usual(n * passes, dimension, sigma)
        return partial(
            NoisyProjectedSGD.calibrate,
            loss,
            n=n,
            dimension=dimension,
            target=TARGET,
            radius=RADIUS,
            step=step,
            passes=passes,
        )

    alone = float(Gaussian.calibrate(target=TARGET, sensitivity=2).sigma)
    return {
        f"{EPOCHS} epochs, public order": made(alone)(),
        f"{EPOCHS} epochs, then {PUBLIC} public steps": made(alone / np.sqrt(PUBLIC + 1))(
            public_steps=PUBLIC
        ),
        "1 epoch, secret order": made(alone / 4, passes=1)(secret_order=True),
    }


def usual(steps: int, dimension: int, sigma: float) -> float:
    """η = R/√(T(C² + dσ²)), C = 1: a public rule, whatever the data."""
    return RADIUS / float(np.sqrt(steps * (1 + dimension * sigma**2)))


def trainer(out: Path, seed: int, repeats: int) -> tuple[Path, ...]:
    """Test error on Adult with (1, 1e-5) for the worst record, beside accounting that amplifies nothing."""
    rows, answers, train = encoded()
    X, y, held = rows[train], answers[train], ~train
    public = (rows[held][:PUBLIC], answers[held][:PUBLIC])
    test = (rows[held][PUBLIC:], answers[held][PUBLIC:])
    found = {
        "not private": [_error(_plain(X, y), test)],
        "guess the majority": [float((test[1] > 0).mean())],
        f"{EPOCHS} epochs, every step accounted": [_error(w, test) for w in _dp_sgd(X, y, seed, repeats)],
    }
    for name, mechanism in settings(*X.shape).items():
        given = public if mechanism.run.public_steps else None
        drawn = [mechanism.release((X, y), SeededSource(seed + k), public=given) for k in range(repeats)]
        found[name] = [_error(w, test) for w in drawn]
    lines = [(name, float(np.mean(e)), float(np.std(e)) / len(e) ** 0.5, len(e)) for name, e in found.items()]
    figure = new_figure(8, 3.6)
    axes = figure.subplots()
    axes.barh([r[0] for r in lines], [r[1] for r in lines], xerr=[r[2] for r in lines], color="#0072B2")
    axes.invert_yaxis()
    axes.set(xlabel="test error", xlim=(0, None))
    axes.set_title("Noisy SGD on Adult, (1, 1e-5) for the worst record")
    titles = ("method", "test_error", "standard_error", "runs")
    return finish(figure, out / "amplification-trainer.png"), write_numbers(
        out / "amplification-trainer.csv", titles, lines
    )


def _plain(X: Floats, y: Floats) -> Floats:
    """Logistic regression without privacy, by Newton's method with a little ridge."""
    w = np.zeros(X.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(y * (X @ w)))
        hessian = (X * (p * (1 - p))[:, None]).T @ X + 1e-3 * np.eye(X.shape[1])
        w = w + np.linalg.solve(hessian, X.T @ (y * p) - 1e-3 * w)
    return w


def _dp_sgd(X: Floats, y: Floats, seed: int, repeats: int) -> Floats:
    """Average iterates of noisy SGD with the noise that showing every step needs; plain doubles."""
    import numba  # noqa: PLC0415 - compiles on first use

    walk, rng = numba.njit(_epoch), np.random.default_rng(seed)
    sigma = float(Gaussian.calibrate(target=TARGET, sensitivity=2).sigma) * EPOCHS**0.5
    X, steps = np.ascontiguousarray(X), len(X) * EPOCHS
    step, averages = usual(steps, X.shape[1], sigma), []
    for _ in range(repeats):
        w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for _ in range(EPOCHS):
            w, total = walk(X, y, rng.normal(scale=sigma, size=X.shape), w, total, step)
        averages.append(total / steps)
    return np.array(averages)


def _epoch(  # noqa: PLR0917
    X: Floats, y: Floats, noise: Floats, w: Floats, total: Floats, step: float
) -> tuple[Floats, Floats]:
    for i in range(len(y)):  # compiled by numba
        pull = -y[i] * X[i] / (1 + np.exp(y[i] * np.dot(X[i], w)))
        w = w - step * (pull + noise[i])
        length = np.sqrt(np.dot(w, w))
        if length > RADIUS:
            w = w * (RADIUS / length)
        total = total + w
    return w, total


def _error(w: Floats, test: tuple[Floats, Floats]) -> float:
    return float((np.sign(test[0] @ w) != test[1]).mean())
