"""Every mechanism by name; a class is imported when it is first asked for, so that looking is cheap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.catalogue import COUNTS, FAMILY, GROUPS, NUMBERS, REGRESSION, Registry

if TYPE_CHECKING:
    from discreet.mechanisms.mechanism import Mechanism, ModelMechanism


class OneDraw(NamedTuple):
    """Of a posterior draw: knobs at which it is audited, and what then multiplies the prior and a record."""

    knobs: Mapping[str, float]
    prior: float = 1
    record: float = 1


class MechanismRow(NamedTuple):
    """Where a mechanism stands and, if `privatise` may be asked for it, for which models and by what name."""

    home: str
    offered_to: str = ""  # a kind of model: a family, a model of counts or a regression
    typed: str = ""  # what users type, where that is not its own name
    draw: OneDraw | None = None  # of a family's posterior, wherever a worst pair is proved
    relations: tuple[str, ...] = ()  # that have an audit case of their own
    draws: bool = False  # it releases draws of θ, at which a question can be answered
    under_distance: str = ""  # the row whose promise the same draw keeps under a metric
    no_posterior: str = ""  # why what it releases has none, in the words that users are shown


NO_PRIOR = (
    "randomised observations have no posterior, as no prior was declared for what was observed: read them by "
    "discreet.posteriors.frequencies, which estimates the share of each value with intervals that hold, or "
    "under a model of your own from .values"
)

# The first that is offered to a kind of model is its default.
_ROWS = {
    "laplace": MechanismRow("noise.laplace:Laplace"),
    "discrete_laplace": MechanismRow("noise.laplace:DiscreteLaplace"),
    "gaussian": MechanismRow("noise.gaussian:Gaussian"),
    "discrete_gaussian": MechanismRow("noise.gaussian:DiscreteGaussian"),
    "randomized_response": MechanismRow("local.randomised_response:RandomizedResponse"),
    "kary_randomized_response": MechanismRow("local.kary_randomised_response:KaryRandomizedResponse"),
    "exponential": MechanismRow("choice.exponential:Exponential"),
    "continuous_exponential": MechanismRow("choice.continuous_exponential:ContinuousExponential"),
    "permute_and_flip": MechanismRow("choice.permute_and_flip:PermuteAndFlip"),
    "report_noisy_max": MechanismRow("choice.noisy_max:ReportNoisyMax"),
    "smooth_sensitivity_median": MechanismRow("sensitivity.smooth_sensitivity:SmoothSensitivityMedian"),
    "propose_test_release": MechanismRow("sensitivity.propose_test_release:ProposeTestRelease"),
    "clipped_mean": MechanismRow("noise.clipped_mean:ClippedMean"),
    "sample_and_aggregate": MechanismRow("sensitivity.sample_and_aggregate:SampleAndAggregate"),
    "posterior_draws": MechanismRow("posterior.draw:PosteriorDraws"),
    "laplace_location": MechanismRow("posterior.laplace_location:LaplaceLocation"),
    "metric_sample": MechanismRow("posterior.metric_sample:MetricSample", draws=True),
    "statistical_query": MechanismRow("posterior.statistical_query:StatisticalQuery"),
    "laplace_query": MechanismRow("posterior.statistical_query:LaplaceQuery"),
    "gaussian_query": MechanismRow("posterior.statistical_query:GaussianQuery"),
    "two_profile_bit": MechanismRow("local.profile_bits:TwoProfileBit", no_posterior=NO_PRIOR),
    "one_bit_cluster": MechanismRow("local.profile_bits:OneBitCluster", no_posterior=NO_PRIOR),
    "smooth_one_bit": MechanismRow("local.profile_bits:SmoothOneBit", no_posterior=NO_PRIOR),
    "smooth_categorical": MechanismRow("local.profile_categorical:SmoothCategorical", no_posterior=NO_PRIOR),
    "ornstein_uhlenbeck": MechanismRow("noise.ornstein_uhlenbeck:OrnsteinUhlenbeck"),
    "tiered_gaussian": MechanismRow("noise.ornstein_uhlenbeck:TieredGaussian"),
    "noisy_projected_sgd": MechanismRow("sgd.noisy_projected_sgd:NoisyProjectedSGD"),
    "noisy_blocks": MechanismRow("learners.noisy_blocks:NoisyBlocks"),
    "adassp": MechanismRow("regression.adassp:AdaSSP"),
    "regression_draws": MechanismRow("regression.draws:RegressionDraws"),
    "noisy_statistics": MechanismRow(
        "statistics.noisy_statistics:NoisyStatistics", FAMILY, relations=("add_remove",)
    ),
    "direct": MechanismRow(
        "posterior.direct:DirectPosterior", FAMILY, draw=OneDraw({}), relations=("add_remove",), draws=True
    ),
    "diffused": MechanismRow(
        "posterior.diffused:DiffusedPosterior", FAMILY, draw=OneDraw({"r": 0.5}, record=0.5), draws=True
    ),
    "concentrated": MechanismRow(
        "posterior.concentrated:ConcentratedPosterior", FAMILY, draw=OneDraw({"m": 0.5}, prior=2), draws=True
    ),
    "one_posterior_sample": MechanismRow(
        "posterior.one_posterior_sample:OnePosteriorSample",
        FAMILY,
        draws=True,
        under_distance="metric_sample",
    ),
    "noisy_counts": MechanismRow("statistics.noisy_counts:NoisyCounts", COUNTS, relations=("add_remove",)),
    "one_network_sample": MechanismRow(
        "posterior.network_sample:OneNetworkSample", COUNTS, draws=True, under_distance="metric_sample"
    ),
    "noisy_numbers": MechanismRow(
        "statistics.noisy_numbers:NoisyNumbers", NUMBERS, relations=("add_remove",)
    ),
    "grouped_statistics": MechanismRow(
        "statistics.grouped_statistics:GroupedStatistics",
        GROUPS,
        "noisy_statistics",
        relations=("add_remove", "substitute"),
    ),
    "objective_perturbation": MechanismRow(
        "regression.objective_perturbation:ObjectivePerturbation", REGRESSION, relations=("substitute",)
    ),
    "polynomial_statistics": MechanismRow(
        "regression.polynomial_statistics:PolynomialStatistics", REGRESSION, relations=("substitute",)
    ),
    "tuned_regression": MechanismRow("regression.draws:TunedRegression", REGRESSION, "tuned", draws=True),
    "diffused_regression": MechanismRow(
        "regression.draws:DiffusedRegression", REGRESSION, "diffused", draws=True
    ),
    "concentrated_regression": MechanismRow(
        "regression.draws:ConcentratedRegression", REGRESSION, "concentrated", draws=True
    ),
    "direct_regression": MechanismRow("regression.draws:DirectRegression", REGRESSION, "direct", draws=True),
    "one_regression_sample": MechanismRow(
        "regression.one_sample:OneRegressionSample", REGRESSION, "one_posterior_sample", draws=True
    ),
}
_NAME = {row.home.partition(":")[2]: name for name, row in _ROWS.items()}

MECHANISMS: Registry[Mechanism] = Registry(
    "mechanism", {name: f"mechanisms.{row.home}" for name, row in _ROWS.items()}
)


def model_mechanism(name: str) -> type[ModelMechanism]:
    """Return a mechanism that is offered to some kind of model, by its registry name."""
    from discreet.mechanisms.mechanism import ModelMechanism  # noqa: PLC0415 - looking at names stays cheap

    kind = MECHANISMS[name]
    if not issubclass(kind, ModelMechanism):
        raise TypeError(f"{kind.__name__} releases no statistic of a model")
    return kind


def no_posterior(name: str) -> str:
    """Say why what a mechanism releases has no posterior; empty where it has one."""
    return _ROWS[name].no_posterior


def offered_to(kind: str) -> dict[str, str]:
    """Map the names users type to registry names, for models of a kind; the default first."""
    return {row.typed or name: name for name, row in _ROWS.items() if row.offered_to == kind}


def drawing() -> tuple[str, ...]:
    """List the mechanisms that release draws of θ, by the names that users type."""
    typed = (row.typed or name for name, row in _ROWS.items() if row.draws and row.offered_to)
    return tuple(dict.fromkeys(typed))


def under_distance(name: str) -> str:
    """Name the mechanism that makes the same draw with a promise under a metric; "" where there is none."""
    return _ROWS[name].under_distance


def single_draws() -> dict[str, OneDraw]:
    """Map the mechanisms that draw once from a family's posterior to how they are audited."""
    return {name: row.draw for name, row in _ROWS.items() if row.draw is not None}


def has_own_case(name: str, relation: str) -> bool:
    """Whether an audit attacks the mechanism under this relation in particular."""
    return name in _ROWS and relation in _ROWS[name].relations


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class, by its own name
    if name not in _NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return MECHANISMS[_NAME[name]]
