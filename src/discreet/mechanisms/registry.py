"""Every mechanism by name; a class is imported when it is first asked for, so that looking is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.catalogue import COUNTS, FAMILY, REGRESSION, Registry

if TYPE_CHECKING:
    from discreet.mechanisms.mechanism import Mechanism


class MechanismRow(NamedTuple):
    """Where a mechanism stands and, if `privatise` may be asked for it, for which models and by what name."""

    home: str
    offered_to: str = ""  # a kind of model: a family, a model of counts or a regression
    typed: str = ""  # what users type, where that is not its own name
    audit: str = (
        ""  # of a posterior draw: (n) → how to build it for an audit, what it does to prior and record
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
    "statistical_query": MechanismRow("posterior.statistical_query:StatisticalQuery"),
    "laplace_query": MechanismRow("posterior.statistical_query:LaplaceQuery"),
    "gaussian_query": MechanismRow("posterior.statistical_query:GaussianQuery"),
    "two_profile_bit": MechanismRow("local.profile_bits:TwoProfileBit"),
    "one_bit_cluster": MechanismRow("local.profile_bits:OneBitCluster"),
    "smooth_one_bit": MechanismRow("local.profile_bits:SmoothOneBit"),
    "smooth_categorical": MechanismRow("local.profile_categorical:SmoothCategorical"),
    "ornstein_uhlenbeck": MechanismRow("noise.ornstein_uhlenbeck:OrnsteinUhlenbeck"),
    "tiered_gaussian": MechanismRow("noise.ornstein_uhlenbeck:TieredGaussian"),
    "noisy_projected_sgd": MechanismRow("sgd.noisy_projected_sgd:NoisyProjectedSGD"),
    "adassp": MechanismRow("regression.adassp:AdaSSP"),
    "regression_draws": MechanismRow("regression.draws:RegressionDraws"),
    "noisy_statistics": MechanismRow("statistics.noisy_statistics:NoisyStatistics", FAMILY),
    "direct": MechanismRow("posterior.direct:DirectPosterior", FAMILY),
    "diffused": MechanismRow("posterior.diffused:DiffusedPosterior", FAMILY),
    "concentrated": MechanismRow("posterior.concentrated:ConcentratedPosterior", FAMILY),
    "one_posterior_sample": MechanismRow("posterior.one_posterior_sample:OnePosteriorSample", FAMILY),
    "noisy_counts": MechanismRow("statistics.noisy_counts:NoisyCounts", COUNTS),
    "one_network_sample": MechanismRow("posterior.network_sample:OneNetworkSample", COUNTS),
    "objective_perturbation": MechanismRow(
        "regression.objective_perturbation:ObjectivePerturbation", REGRESSION
    ),
    "polynomial_statistics": MechanismRow(
        "regression.polynomial_statistics:PolynomialStatistics", REGRESSION
    ),
    "tuned_regression": MechanismRow("regression.draws:TunedRegression", REGRESSION, "tuned"),
    "diffused_regression": MechanismRow("regression.draws:DiffusedRegression", REGRESSION, "diffused"),
    "concentrated_regression": MechanismRow(
        "regression.draws:ConcentratedRegression", REGRESSION, "concentrated"
    ),
    "direct_regression": MechanismRow("regression.draws:DirectRegression", REGRESSION, "direct"),
    "one_regression_sample": MechanismRow(
        "regression.one_sample:OneRegressionSample", REGRESSION, "one_posterior_sample"
    ),
}
_NAME = {row.home.partition(":")[2]: name for name, row in _ROWS.items()}

MECHANISMS: Registry[Mechanism] = Registry(
    "mechanism", {name: f"mechanisms.{row.home}" for name, row in _ROWS.items()}
)


def offered_to(kind: str) -> dict[str, str]:
    """Map the names users type to registry names, for models of a kind; the default first."""
    return {row.typed or name: name for name, row in _ROWS.items() if row.offered_to == kind}


def audited() -> dict[str, str]:
    """Map the posterior draws that say themselves how to audit them to where they say it."""
    return {name: f"mechanisms.{row.audit}" for name, row in _ROWS.items() if row.audit}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class, by its own name
    if name not in _NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return MECHANISMS[_NAME[name]]
