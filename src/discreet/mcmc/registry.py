"""Every kernel by name."""

from __future__ import annotations

from discreet.mcmc.annealed import AnnealedImportance
from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs
from discreet.mcmc.kernel import Kernel
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture_gibbs import MixtureGibbs

KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel
    for kernel in (MixtureGibbs, AssignmentGibbs, Barker, Metropolis, AnnealedImportance, HiddenMarkovGibbs)
}
