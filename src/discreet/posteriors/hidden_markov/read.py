"""A release of noisy counts read by the hidden Markov model: several chains, the same numbers every time."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from discreet.posteriors.hidden_markov.fit import fit
from discreet.sampling.source import SeededSource

if TYPE_CHECKING:
    from discreet.families.family import Floats
    from discreet.mechanisms.statistics.noisy_tables import NoisyCells
    from discreet.models.hidden_markov import HiddenMarkov
    from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior


def read(cells: NoisyCells, model: HiddenMarkov, reading: str) -> HiddenMarkovPosterior:
    """Fit with the usual settings; `hmm.fit` has them all as arguments."""
    text = repr((cells.noisy.tobytes(), cells.n, cells.noise, cells.scales, model))
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")  # public anyway
    return fit(cells, model, reading=reading, source=SeededSource(seed))


def variables(posterior: HiddenMarkovPosterior, draws: int) -> dict[str, Floats]:
    """At most `draws` of each Markov chain by name: states by (chain, step), tables by state."""
    kept = posterior.z.shape[1]
    chosen = np.unique(np.linspace(0, kept - 1, min(draws, kept)).astype(int))
    model, theta = posterior.model, posterior.theta[:, chosen]
    parts = np.split(theta, model.offsets[1:-1], axis=-1)
    states = posterior.z[:, chosen].reshape(len(posterior.z), len(chosen), model.chains, model.steps)
    return {
        "state": states.astype(np.float64),
        "transition": posterior.transitions[:, chosen, :-1],
        "initial": posterior.transitions[:, chosen, -1],
        **dict(zip(model.features, parts, strict=True)),
    }
