"""The demonstration's picture: two questions about the bundled Adult data, each under one privacy budget.

The picture shows the laws that the one-draw mechanisms draw from. Those are private; they may be shown here
only because Adult is public and merely plays the part of a private table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as dc
from discreet.datasets import WORKCLASS, adult
from discreet.families.family import Family, Floats, Integers
from discreet.mechanisms.mechanism import Mechanism

BUDGET = dc.ApproxDP(0.5, 1e-6)  # for each answer; one record replaced, n public
DRAWS = 20_000  # from the private laws, for the picture alone


@dataclass(frozen=True)
class AdultQuestion:
    """What is asked, of which column, with which prior; everything here is public."""

    text: str
    model: Family
    labels: tuple[str, ...]
    truncation: float
    statistic: Integers
    n: int


@dataclass(frozen=True)
class Answer:
    """One mechanism at the budget: what it released, and the posterior behind it as draws."""

    name: str
    knob: str
    released: Floats
    draws: Floats


def questions() -> tuple[AdultQuestion, AdultQuestion]:
    """Ask who earns above $50K, and who works for whom."""
    data = adult("income", "workclass")
    n = len(data["income"])
    rich = dc.BetaBernoulli(alpha=1, beta=3)
    work = dc.DirichletCategorical([1.0] * len(WORKCLASS))
    codes = {label: code for code, label in enumerate(WORKCLASS)}
    return (
        AdultQuestion(
            "share of people who earn above $50K",
            rich,
            (">50K",),
            0.01,
            rich.statistic(data["income"] == ">50K"),
            n,
        ),
        AdultQuestion(
            "shares by class of work",
            work,
            WORKCLASS,
            1e-4,
            work.statistic([codes[label] for label in data["workclass"]]),
            n,
        ),
    )


def answers(question: AdultQuestion) -> Iterator[Answer]:
    """Calibrate every posterior mechanism to the same budget and let each release once."""
    model, n, budget = question.model, question.n, BUDGET
    diffused = dc.DiffusedPosterior.calibrate(model, n=n, target=budget)
    yield _one_draw(diffused, f"r = {float(diffused.r):.4g}", question)
    concentrated = dc.ConcentratedPosterior.calibrate(model, n=n, target=budget)
    yield _one_draw(concentrated, f"m = {float(concentrated.m):.4g}", question)
    one = dc.OnePosteriorSample.calibrate(model, n=n, target=budget, truncation=question.truncation)
    yield _one_draw(one, f"T = {float(one.temperature):.4g}", question)
    noisy = dc.NoisyStatistics.calibrate(model, n=n, target=budget)
    posterior = noisy.release(question.statistic).posterior
    knob = f"scale = {float(noisy.scale):.4g}"
    yield Answer(
        "noisy_statistics",
        knob,
        posterior.mean().values,
        posterior.sample(DRAWS).values,
    )


def _one_draw(mechanism: Mechanism, knob: str, question: AdultQuestion) -> Answer:
    released = np.atleast_1d(mechanism.release(question.statistic))
    private: Any = mechanism._private_posterior(question.statistic)  # type: ignore[attr-defined]  # noqa: SLF001
    return Answer(mechanism.name, knob, released, _table(private.sample(DRAWS)))


def _table(draws: object) -> Floats:
    array: Floats = np.asarray(draws, dtype=np.float64)
    return array.reshape(len(array), -1)
