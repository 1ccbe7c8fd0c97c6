"""Every mechanism by name; a class is imported when it is first asked for, so that looking is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.registry import Registry

if TYPE_CHECKING:
    from discreet.mechanisms.mechanism import Mechanism

_HOME = {
    "laplace": "noise.laplace:Laplace",
    "discrete_laplace": "noise.laplace:DiscreteLaplace",
    "gaussian": "noise.gaussian:Gaussian",
    "discrete_gaussian": "noise.gaussian:DiscreteGaussian",
    "randomized_response": "local.randomised_response:RandomizedResponse",
    "kary_randomized_response": "local.kary_randomised_response:KaryRandomizedResponse",
    "exponential": "choice.exponential:Exponential",
    "continuous_exponential": "choice.continuous_exponential:ContinuousExponential",
    "permute_and_flip": "choice.permute_and_flip:PermuteAndFlip",
    "report_noisy_max": "choice.noisy_max:ReportNoisyMax",
    "smooth_sensitivity_median": "sensitivity.smooth_sensitivity:SmoothSensitivityMedian",
    "propose_test_release": "sensitivity.propose_test_release:ProposeTestRelease",
    "clipped_mean": "noise.clipped_mean:ClippedMean",
    "sample_and_aggregate": "sensitivity.sample_and_aggregate:SampleAndAggregate",
    "direct": "posterior.direct:DirectPosterior",
    "diffused": "posterior.diffused:DiffusedPosterior",
    "concentrated": "posterior.concentrated:ConcentratedPosterior",
    "one_posterior_sample": "posterior.one_posterior_sample:OnePosteriorSample",
    "noisy_statistics": "statistics.noisy_statistics:NoisyStatistics",
    "noisy_counts": "statistics.noisy_counts:NoisyCounts",
    "one_network_sample": "posterior.network_sample:OneNetworkSample",
    "posterior_draws": "posterior.draw:PosteriorDraws",
    "statistical_query": "posterior.statistical_query:StatisticalQuery",
    "laplace_query": "posterior.statistical_query:LaplaceQuery",
    "gaussian_query": "posterior.statistical_query:GaussianQuery",
    "two_profile_bit": "local.profile_bits:TwoProfileBit",
    "one_bit_cluster": "local.profile_bits:OneBitCluster",
    "smooth_one_bit": "local.profile_bits:SmoothOneBit",
    "smooth_categorical": "local.profile_categorical:SmoothCategorical",
    "ornstein_uhlenbeck": "noise.ornstein_uhlenbeck:OrnsteinUhlenbeck",
    "tiered_gaussian": "noise.ornstein_uhlenbeck:TieredGaussian",
    "noisy_projected_sgd": "sgd.noisy_projected_sgd:NoisyProjectedSGD",
    "objective_perturbation": "regression.objective_perturbation:ObjectivePerturbation",
    "polynomial_statistics": "regression.polynomial_statistics:PolynomialStatistics",
    "adassp": "regression.adassp:AdaSSP",
    "direct_regression": "regression.draws:DirectRegression",
    "diffused_regression": "regression.draws:DiffusedRegression",
    "concentrated_regression": "regression.draws:ConcentratedRegression",
    "tuned_regression": "regression.draws:TunedRegression",
    "regression_draws": "regression.draws:RegressionDraws",
    "one_regression_sample": "regression.one_sample:OneRegressionSample",
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
