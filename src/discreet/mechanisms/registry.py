"""Every mechanism by name; a class is imported when it is first asked for, so that looking is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.registry import Registry

if TYPE_CHECKING:
    from discreet.mechanisms.mechanism import Mechanism

_HOME = {
    "laplace": "laplace:Laplace",
    "discrete_laplace": "laplace:DiscreteLaplace",
    "gaussian": "gaussian:Gaussian",
    "discrete_gaussian": "gaussian:DiscreteGaussian",
    "randomized_response": "randomised_response:RandomizedResponse",
    "kary_randomized_response": "kary_randomised_response:KaryRandomizedResponse",
    "exponential": "exponential:Exponential",
    "continuous_exponential": "continuous_exponential:ContinuousExponential",
    "permute_and_flip": "permute_and_flip:PermuteAndFlip",
    "report_noisy_max": "noisy_max:ReportNoisyMax",
    "smooth_sensitivity_median": "smooth_sensitivity:SmoothSensitivityMedian",
    "propose_test_release": "propose_test_release:ProposeTestRelease",
    "clipped_mean": "clipped_mean:ClippedMean",
    "sample_and_aggregate": "sample_and_aggregate:SampleAndAggregate",
    "direct": "direct:DirectPosterior",
    "diffused": "diffused:DiffusedPosterior",
    "concentrated": "concentrated:ConcentratedPosterior",
    "one_posterior_sample": "one_posterior_sample:OnePosteriorSample",
    "noisy_statistics": "noisy_statistics:NoisyStatistics",
    "noisy_counts": "noisy_counts:NoisyCounts",
    "one_network_sample": "ops_network:OneNetworkSample",
    "posterior_draws": "posterior:PosteriorDraws",
    "statistical_query": "statistical_query:StatisticalQuery",
    "laplace_query": "statistical_query:LaplaceQuery",
    "gaussian_query": "statistical_query:GaussianQuery",
    "two_profile_bit": "profile_bits:TwoProfileBit",
    "one_bit_cluster": "profile_bits:OneBitCluster",
    "smooth_one_bit": "profile_bits:SmoothOneBit",
    "smooth_categorical": "profile_categorical:SmoothCategorical",
    "ornstein_uhlenbeck": "diffusion:OrnsteinUhlenbeck",
    "tiered_gaussian": "diffusion:TieredGaussian",
    "noisy_projected_sgd": "noisy_projected_sgd:NoisyProjectedSGD",
    "objective_perturbation": "objective_perturbation:ObjectivePerturbation",
    "polynomial_statistics": "polynomial_statistics:PolynomialStatistics",
    "adassp": "adassp:AdaSSP",
    "direct_regression": "regression_draw:DirectRegression",
    "diffused_regression": "regression_draw:DiffusedRegression",
    "concentrated_regression": "regression_draw:ConcentratedRegression",
    "tuned_regression": "regression_draw:TunedRegression",
    "regression_draws": "regression_draw:RegressionDraws",
    "one_regression_sample": "one_regression_sample:OneRegressionSample",
}
# What privatise may be asked for, by what it is the posterior of; the default first.
OF_FAMILIES = ("noisy_statistics", "direct", "diffused", "concentrated", "one_posterior_sample")
OF_COUNTS = (
    "noisy_counts",
    "one_network_sample",
)
OF_REGRESSIONS = {  # what users type → name above
    "objective_perturbation": "objective_perturbation",
    "polynomial_statistics": "polynomial_statistics",
    "tuned": "tuned_regression",
    "diffused": "diffused_regression",
    "concentrated": "concentrated_regression",
    "direct": "direct_regression",
    "one_posterior_sample": "one_regression_sample",
}
_NAME = {home.partition(":")[2]: name for name, home in _HOME.items()}


MECHANISMS: Registry[Mechanism] = Registry("discreet.mechanisms", "mechanism", _HOME)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class, by its own name
    if name not in _NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return MECHANISMS[_NAME[name]]
