"""The demonstration: two questions about the bundled Adult data, each answered under one privacy budget.

The picture shows the laws that the one-draw mechanisms draw from. Those are private; they may be shown here
only because Adult is public and merely plays the part of a private table.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import discreet as dc
from discreet.datasets import WORKCLASS, adult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.families.family import Family, Floats, Integers
    from discreet.mechanisms.mechanism import Mechanism

BUDGET = dc.ApproxDP(0.5, 1e-6)  # for each answer; one record replaced, n public
DRAWS = 20_000  # from the private laws, for the picture alone


@dataclass(frozen=True)
class Question:
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
    epsilon: float
    released: Floats
    draws: Floats


def questions() -> tuple[Question, Question]:
    """Ask who earns above $50K, and who works for whom."""
    data = adult("income", "workclass")
    n = len(data["income"])
    rich = dc.BetaBernoulli(alpha=1, beta=3)
    work = dc.DirichletCategorical([1.0] * len(WORKCLASS))
    codes = {label: code for code, label in enumerate(WORKCLASS)}
    return (
        Question(
            "share of people who earn above $50K",
            rich,
            (">50K",),
            0.01,
            rich.statistic(data["income"] == ">50K"),
            n,
        ),
        Question(
            "shares by class of work",
            work,
            WORKCLASS,
            1e-4,
            work.statistic([codes[label] for label in data["workclass"]]),
            n,
        ),
    )


def answers(question: Question) -> Iterator[Answer]:
    """Calibrate every posterior mechanism to the same budget and let each release once."""
    model, n, budget = question.model, question.n, BUDGET
    diffused = dc.DiffusedPosterior.calibrate(model, n=n, target=budget)
    yield _one_draw(diffused, f"r = {float(diffused.r):.4g}", question)
    concentrated = dc.ConcentratedPosterior.calibrate(model, n=n, target=budget)
    yield _one_draw(concentrated, f"m = {float(concentrated.m):.4g}", question)
    one = dc.OnePosteriorSample.calibrate(model, n=n, target=budget, truncation=question.truncation)
    yield _one_draw(one, f"T = {float(one.temperature):.4g}", question)
    noisy = dc.NoisyStatistics.calibrate(model, n=n, target=budget)
    posterior = noisy.release(question.statistic).posterior()
    knob = f"scale = {float(noisy.scale):.4g}"
    yield Answer(
        "noisy_statistics",
        knob,
        noisy.guarantee.epsilon(BUDGET.slack),
        np.atleast_1d(posterior.mean()),
        _table(posterior.sample(DRAWS)),
    )


def _one_draw(mechanism: Mechanism, knob: str, question: Question) -> Answer:
    released = np.atleast_1d(mechanism.release(question.statistic))
    private: Any = mechanism._private_posterior(question.statistic)  # type: ignore[attr-defined]  # noqa: SLF001
    epsilon = mechanism.guarantee.epsilon(BUDGET.slack)
    return Answer(mechanism.name, knob, epsilon, released, _table(private.sample(DRAWS)))


def _table(draws: Any) -> Floats:  # noqa: ANN401 - (draws,) for one probability, (draws, d) for several
    array: Floats = np.asarray(draws, dtype=np.float64)
    return array.reshape(len(array), -1)


def show(question: Question, found: list[Answer]) -> str:
    """Lay the answers out as a text table: the released number and the 90 % interval it comes with."""
    truth = question.model.update(question.statistic, question.n)
    lines = [
        f"{question.text} (n = {question.n}, {BUDGET})",
        f"  {'mechanism':<22}{'knob':<18}{'spent ε':>10}   released; sd of the law it comes from",
    ]
    for answer in found:
        values = "  ".join(f"{v:.4f}" for v in answer.released[:5])
        more = " …" if len(answer.released) > 5 else ""
        spread = answer.draws.std(axis=0).max()
        lines.append(
            f"  {answer.name:<22}{answer.knob:<18}{answer.epsilon:>10.4f}   {values}{more}; {spread:.4f}"
        )
    values = "  ".join(f"{v:.4f}" for v in np.atleast_1d(truth.mean())[:5])
    spread = float(np.sqrt(np.max(truth.variance())))
    lines.append(f"  {'(not private)':<50}   {values}; {spread:.4f}")
    return "\n".join(lines)


def main() -> None:
    """Run both questions, print what was released and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    both = [(question, list(answers(question))) for question in questions()]
    for question, found in both:
        print(show(question, found), end="\n\n")  # noqa: T201 - a demonstration prints
    from discreet.experiments.adult_picture import draw  # noqa: PLC0415 - matplotlib, last

    path = draw(both, out / "adult.png")
    print(f"picture: {path}")  # noqa: T201
    print("One draw is one release: a second draw of any of the first three would cost as much again.")  # noqa: T201
    print("noisy_statistics paid once; its posterior may be sampled for ever.")  # noqa: T201


if __name__ == "__main__":
    main()
