"""Private learners as scikit-learn estimators; needs the extra: pip install 'discreet[learn]'.

scikit-learn is loaded when an estimator is first touched, and not before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.learn.categorical_bayes import CategoricalNB
    from discreet.learn.gaussian_bayes import GaussianNB
    from discreet.learn.generalized import GeneralizedLinearRegression, PoissonRegression
    from discreet.learn.linear import LinearRegression
    from discreet.learn.logistic import LogisticRegression

__all__ = [
    "CategoricalNB",
    "GaussianNB",
    "GeneralizedLinearRegression",
    "LinearRegression",
    "LogisticRegression",
    "PoissonRegression",
]

_HOME = {
    "CategoricalNB": "categorical_bayes",
    "GaussianNB": "gaussian_bayes",
    "GeneralizedLinearRegression": "generalized",
    "LinearRegression": "linear",
    "LogisticRegression": "logistic",
    "PoissonRegression": "generalized",
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
