"""The four classifications of the regression experiments: rows by public bounds and levels, answers ±1.

Every bound is documented or round; nothing is standardised by the rows themselves, which would be private.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.datasets import WORKCLASS, abalone, adult
from discreet.datasets.event_log import VARIABLE
from discreet.families.family import Integers
from discreet.models.generalized_linear import BayesianLogisticRegression, Feature
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import Records, signed_moments

DIGITS = "mnist_3v8.npz"
MARGIN = 20  # R·norm: how far from 0 the log-odds of a row are thought to come
FIRST = 3133  # shells that the data set's documentation trains on
OLD = 9  # an abalone of more rings is old: half of them, and the usual split

# Documented levels (public).
EDUCATION = (
    "Bachelors", "Some-college", "11th", "HS-grad", "Prof-school", "Assoc-acdm", "Assoc-voc", "9th",
    "7th-8th", "12th", "Masters", "1st-4th", "10th", "Doctorate", "5th-6th", "Preschool",
)  # fmt: skip
MARITAL = (
    "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
    "Married-AF-spouse",
)  # fmt: skip
OCCUPATION = (
    "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
    "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
    "Priv-house-serv", "Protective-serv", "Armed-Forces", "?",
)  # fmt: skip
RELATIONSHIP = ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")
RACE = ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black")
COUNTRY = (
    "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)",
    "India", "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy",
    "Poland", "Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos",
    "Ecuador", "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand",
    "Yugoslavia", "El-Salvador", "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands", "?",
)  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class RowSplit:
    """Encoded features and answers, to train on and to test on."""

    model: BayesianLogisticRegression
    train: tuple[Floats, Floats]
    test: tuple[Floats, Floats]

    @cached_property
    def records(self) -> Records:
        return Records.of(self.model, *self.train)

    @cached_property
    def moments(self) -> Integers:
        return signed_moments(self.model, *self.train)

    @cached_property
    def unseen(self) -> Records:
        return Records.of(self.model, *self.test)


@final
@dataclass(frozen=True, eq=False)
class Task:
    """Features as their public bounds encode them, answers ±1, and the model of them."""

    name: str
    model: BayesianLogisticRegression
    features: Floats
    answers: Floats
    train: NDArray[np.bool_] | None = None  # as published; otherwise three of four at random

    @property
    def n(self) -> int:
        return len(self.answers)

    @property
    def trained(self) -> int:
        """How many records there are to train on."""
        return 3 * self.n // 4 if self.train is None else int(self.train.sum())

    def split(self, rng: np.random.Generator) -> RowSplit:
        """Part what to train on from what to test on; a published split is made once."""
        if self.train is not None:
            return self._published
        train = np.zeros(self.n, np.bool_)
        train[rng.permutation(self.n)[: self.trained]] = True
        return self._parted(train)

    @cached_property
    def _published(self) -> RowSplit:
        return self._parted(np.asarray(self.train))

    def _parted(self, train: NDArray[np.bool_]) -> RowSplit:
        return RowSplit(
            self.model,
            (self.features[train], self.answers[train]),
            (self.features[~train], self.answers[~train]),
        )

    def thinned(self, every: int) -> Task:
        """Return the task with one record in `every`, evenly taken."""
        train = None if self.train is None else self.train[::every]
        return replace(self, features=self.features[::every], answers=self.answers[::every], train=train)


def _numbers(
    columns: Mapping[str, NDArray[Any]], bounds: Mapping[str, tuple[float, float]]
) -> tuple[list[Feature], list[Floats]]:
    design = [Feature(name, (low + high) / 2, (high - low) / 2) for name, (low, high) in bounds.items()]
    return design, [(columns[f.column].astype(float) - f.centre) / f.half for f in design]


def _levels(
    columns: Mapping[str, NDArray[Any]], levels: Mapping[str, Sequence[str]]
) -> tuple[list[Feature], list[Floats]]:
    design = [Feature(name, level=level) for name, known in levels.items() for level in known]
    return design, [(columns[f.column] == f.level).astype(float) for f in design]


def modelled(target: str, design: Sequence[Feature], norm: float) -> BayesianLogisticRegression:
    """Return the logistic regression with rows in a ball of that radius."""
    names = tuple(dict.fromkeys(feature.column for feature in design))
    radius = MARGIN / Fraction(norm)
    return BayesianLogisticRegression(target, names, norm=Fraction(norm), radius=radius).bind(design)


SHELL = {
    "length": (0.0, 1.0),
    "diameter": (0.0, 1.0),
    "height": (0.0, 0.5),
    "whole_weight": (0.0, 3.0),
    "shucked_weight": (0.0, 2.0),
    "viscera_weight": (0.0, 1.0),
    "shell_weight": (0.0, 1.5),
}
CENSUS = {
    "age": (17.0, 90.0),
    "education_num": (1.0, 16.0),
    "capital_gain": (0.0, 99999.0),
    "capital_loss": (0.0, 5000.0),
    "hours_per_week": (1.0, 99.0),
}
ANSWERS = {
    "workclass": WORKCLASS,
    "education": EDUCATION,
    "marital_status": MARITAL,
    "occupation": OCCUPATION,
    "relationship": RELATIONSHIP,
    "race": RACE,
    "sex": ("Female", "Male"),
    "native_country": COUNTRY,
}


@cache
def shells() -> Task:
    """Abalone: more than nine rings, from sex and seven measurements, on the documented split."""
    data = abalone(*SHELL, "sex", "rings")
    design, columns = _numbers(data, SHELL)
    more, indicators = _levels(data, {"sex": ("F", "I", "M")})
    x = np.stack(columns + indicators, axis=1)
    y, first = np.where(data["rings"] > OLD, 1.0, -1.0), np.arange(len(x)) < FIRST
    return Task("Abalone", modelled("rings", design + more, 2.0), x, y, first)


@cache
def census() -> Task:
    """Adult: an income above 50 000 dollars, from five numbers and eight answers, on the published split."""
    data = adult(*CENSUS, *ANSWERS, "income", "split")
    design, columns = _numbers(data, CENSUS)
    more, indicators = _levels(data, ANSWERS)
    x, y = np.stack(columns + indicators, axis=1), np.where(data["income"] == ">50K", 1.0, -1.0)
    return Task("Adult", modelled("income", design + more, 3.0), x, y, data["split"] == "train")


@cache
def digits() -> Task | None:
    """MNIST, 3 against 8, on the published split; None where the folder DISCREET_DATA has no such file."""
    path = Path(os.environ.get(VARIABLE) or "") / DIGITS
    if not os.environ.get(VARIABLE) or not path.is_file():
        return None
    with np.load(path) as file:
        parts = [file[name] for name in ("X_train", "X_test", "y_train", "y_test")]
    x = np.concatenate(parts[:2]).reshape(-1, 784) / 255.0
    y = np.where(np.concatenate(parts[2:]) == 8, 1.0, -1.0)
    design = [Feature(f"pixel {i}", 0.0, 255.0) for i in range(x.shape[1])]
    return Task("MNIST 3 vs 8", modelled("digit", design, 8.0), x, y, np.arange(len(x)) < len(parts[0]))
