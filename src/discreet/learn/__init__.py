"""Private learners as scikit-learn estimators; needs the extra: pip install 'discreet[learn]'.

scikit-learn is loaded when an estimator is first touched, and not before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.learn.generalized import GeneralizedLinearRegression, PoissonRegression
    from discreet.learn.linear import LinearRegression
    from discreet.learn.logistic import LogisticRegression
    from discreet.learn.naive_bayes.categorical import CategoricalNB
    from discreet.learn.naive_bayes.gaussian import GaussianNB
    from discreet.learn.svc import LinearSVC
    from discreet.learn.trees.additive import AdditiveClassifier, AdditiveRegressor
    from discreet.learn.trees.forest import RandomForestClassifier
    from discreet.learn.without_answers.kmeans import KMeans
    from discreet.learn.without_answers.pca import PCA
    from discreet.learn.without_answers.scaler import StandardScaler

__all__ = [
    "PCA",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "CategoricalNB",
    "GaussianNB",
    "GeneralizedLinearRegression",
    "KMeans",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "PoissonRegression",
    "RandomForestClassifier",
    "StandardScaler",
]

_HOME = {
    "AdditiveClassifier": "trees.additive",
    "AdditiveRegressor": "trees.additive",
    "CategoricalNB": "naive_bayes.categorical",
    "GaussianNB": "naive_bayes.gaussian",
    "GeneralizedLinearRegression": "generalized",
    "KMeans": "without_answers.kmeans",
    "LinearRegression": "linear",
    "LinearSVC": "svc",
    "LogisticRegression": "logistic",
    "PCA": "without_answers.pca",
    "PoissonRegression": "generalized",
    "RandomForestClassifier": "trees.forest",
    "StandardScaler": "without_answers.scaler",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - an estimator
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        importlib.import_module("sklearn")
    except ImportError:
        raise ImportError(
            f"discreet.learn.{name} needs scikit-learn: pip install 'discreet[learn]'"
        ) from None
    return getattr(importlib.import_module(f"discreet.learn.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
