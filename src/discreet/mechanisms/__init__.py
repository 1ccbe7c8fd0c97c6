"""Randomised maps with a guarantee: noise, choices, draws from posteriors."""

from discreet.lazy import public

__getattr__, __all__ = public(
    __name__,
    {
        "local.profile_categorical": "EXPECTED_CORRUPTION LARGEST_ERROR ExpectedCost SmoothCategorical",
        "noise.ornstein_uhlenbeck": "OrnsteinUhlenbeck TieredGaussian",
        "sgd.losses": "logistic_loss ridge_loss",
        "sgd.noisy_projected_sgd": "NoisyProjectedSGD",
        "regression.samplers.rejection": "draw=rejection_draw draws_within total_variation closeness nearly",
        "regression.samplers.proximal": "draw=proximal_draw",
        "regression.samplers.potential": "Potential",
    },
)
