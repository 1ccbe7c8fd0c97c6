"""A release of noisy counts read by the hidden Markov model: several chains, the same numbers every time."""

from __future__ import annotations

import hashlib

from discreet.mechanisms.statistics.noisy_tables import NoisyCells
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.fit import fit
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
from discreet.sampling.source import SeededSource


def read(cells: NoisyCells, model: HiddenMarkov, reading: str) -> HiddenMarkovPosterior:
    """Fit with the usual settings; `hmm.fit` has them all as arguments."""
    text = repr((cells.noisy.tobytes(), cells.n, cells.noise, cells.scales, model))
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")  # public anyway
    return fit(cells, model, reading=reading, source=SeededSource(seed))
