"""Smaller losses by mixing, coupling, iteration and subsampling."""

from discreet.lazy import public

__getattr__, __all__ = public(
    __name__,
    {
        "mixing": "FiniteKernel amplify dobrushin doeblin local_epsilon ultra_mixing approximate "
        "secret_scan visible_scan",
        "couplings": "GaussianShift LaplaceShift two_steps",
        "iteration": "Step iterate published_iteration Langevin",
        "subsampling": "subsampled subsampled_gaussian",
        "noisy_sgd": "NoisySGD",
    },
)
