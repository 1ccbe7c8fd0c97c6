"""Smaller losses by mixing, coupling, iteration and subsampling."""

from discreet.lazy import public

__getattr__, __all__ = public(
    __name__,
    {
        "mixing": "FiniteKernel amplify dobrushin doeblin local_epsilon ultra_mixing",
        "couplings": "GaussianShift LaplaceShift two_steps",
        "iteration": "Step iterate published_iteration",
        "near_exact_sampler": "approximate",
        "subsampling": "subsampled subsampled_gaussian",
        "noisy_sgd": "NoisySGD",
        "langevin": "Langevin",
        "random_scan": "secret_scan visible_scan",
    },
)
