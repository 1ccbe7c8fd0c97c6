"""Private Markov chains: kernels (init, step), each with a guarantee. `discreet.line.chains` runs them."""

from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk, SimplexWalk
from discreet.mcmc.running.checkpoint import CheckpointError
from discreet.mcmc.running.endings import NoisyWeights, Resampled
from discreet.mcmc.running.plan import ChainPlan, calibrate
from discreet.mcmc.target import CellTarget, SimplexTarget

__all__ = [
    "AnnealedImportance",
    "AssignmentGibbs",
    "Barker",
    "CellTarget",
    "ChainPlan",
    "CheckpointError",
    "CoordinateWalk",
    "HiddenMarkovGibbs",
    "Metropolis",
    "Mixture",
    "MixtureGibbs",
    "NoisyWeights",
    "Plan",
    "Resampled",
    "SimplexTarget",
    "SimplexWalk",
    "calibrate",
]

Plan = ChainPlan  # what it was called first; "plan" alone is what `discreet.plan` returns
