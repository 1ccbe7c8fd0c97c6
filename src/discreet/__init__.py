"""discreet: Bayesian inference that can be published.

The public names, loaded on first use so that `import discreet` stays light.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from discreet.catalogue import ROWS, resolve

__version__ = "0.1.0"

_HOME = {
    "privacy.guarantee": "Guarantee Relation SUBSTITUTE ADD_REMOVE Unreachable NotProved MixedRelations",
    "privacy.arithmetic.ball": "PrecisionError",
    "privacy.kinds": "PureDP ApproxDP RenyiDP ZeroCDP GaussianDP DiscreteGaussianDP BoundedRange MetricDP "
    "MixedRange",
    "privacy.accounting.composition": "compose parallel",
    "privacy.accounting.filters": "Filter Overspent",
    "tables.table": "Table TableError MissingExtra",
    "tables.schema": "Schema Binary Categories Bounded Count Label",
    "tables.derived.columns": "col constant",
    "encoding.encoder": "Encoder EncodedRows",
    "ledger": "Ledger",
    "ledger.scope": "ScopeRefusedError",
    "release.receipt": "LedgerError LedgerUnavailableError TamperedError",
    "release.folder": "BrokenRelease",
    "release.signature": "SigningKey PublicKey BrokenKey",
    "privatise": "privatise",
    "line.after_charge": "ChargeKept",
    "line.charge": "Interrupted",
    "mcmc.running.fingerprint": "CheckpointError",
    "posteriors.read": "OnlyDraws",
    "posteriors.tables": "Disagreement",
    "posteriors.posterior": "Posterior",
    "query.text": "QueryError",
    "release.release": "Release",
    "line.tiers": "privatise_tiers",
    "line.ask": "ask ChargedAnswer",
    "line.local": "release_observations",
    "planning": "plan predict epsilon_for n_for public_records_for split",
    "mechanisms.public_data": "public_records_needed",
    "mechanisms.registry": "DirectPosterior DiffusedPosterior ConcentratedPosterior OnePosteriorSample "
    "MetricSample LaplaceLocation NoisyStatistics NoisyCounts StatisticalQuery Laplace Gaussian "
    "DiscreteLaplace DiscreteGaussian RandomizedResponse KaryRandomizedResponse "
    "Exponential ContinuousExponential PermuteAndFlip ReportNoisyMax "
    "SmoothSensitivityMedian ProposeTestRelease SampleAndAggregate TwoProfileBit "
    "OneBitCluster SmoothOneBit SmoothCategorical ObjectivePerturbation "
    "PolynomialStatistics TunedRegression DiffusedRegression ConcentratedRegression "
    "DirectRegression OneRegressionSample AdaSSP",
    "models.margin_losses": "Logistic ClippedPoisson DeclaredLoss",
    "privacy.profile_graph": "ProfileGraph",
    "sampling.source": "SystemSource SeededSource",
    "models.generalized_linear": "Feature",
    "models.regression_records": "Records",
    "release.certificate": "certificate_text",
    "statistics.bounded_statistic": "bounded",
    "statistics.cells": "counts",
    "statistics.from_schema": "model_for",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}
for _row in ROWS.values():  # every model is a public name
    _MODULE[_row.model.partition(":")[2]] = _row.model.partition(":")[0]
# Packages with public names of their own: dc.privacy.repeat, dc.learn.LogisticRegression, …
_PACKAGES = {
    name: name
    for name in [
        "audit",
        "datasets",
        "experiments",
        "learn",
        "mcmc",
        "mechanisms",
        "planning",
        "posteriors",
        "privacy",
        "query",
        "report",
        "sampling",
    ]
} | {"chains": "line.chains"}
__all__ = sorted(_MODULE)  # noqa: PLE0605 - a sorted list of strings, computed


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name in _PACKAGES:
        return importlib.import_module(f"discreet.{_PACKAGES[name]}")
    if name not in _MODULE:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return resolve(f"{_MODULE[name]}:{name}")


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES, "__version__"]


class _Package(ModuleType):
    """Keep `discreet.privatise` the function: loading the module of that name must not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "privatise":
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
