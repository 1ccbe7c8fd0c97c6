"""A private chain of the hidden Markov model as a posterior: its states are released, and reading is free."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.chain import unread_cells
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior

Floats = NDArray[np.float64]


class ReleasedKernel(Protocol):
    """A kernel of the layer that sees private counts, as far as its runs are read."""

    name: ClassVar[str]
    no_posterior: ClassVar[str]

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def heat(self) -> Fraction: ...
    def told(self, draws: Floats) -> tuple[Sequence[str], Floats]: ...


class ReleasedChains(Protocol):
    """What the runs of private chains return (`line.chains`, `mcmc.running.run`), as far as it is read."""

    @property
    def draws(self) -> Floats: ...  # (chains, start and steps, entries)

    @property
    def kernel(self) -> ReleasedKernel: ...


def read(
    release: ReleasedChains, *, burn: int | None = None, missing: ArrayLike | None = None
) -> HiddenMarkovPosterior:
    """Return the assignments, tables and predictions of a run of HiddenMarkovGibbs, its labels resolved.

    A draw is a state (z, θ) after `burn` sweeps, half of them unless said; A and π₀ are their means given z,
    Dirichlet(α + moves of z). What is sampled is the tempered, truncated posterior, wider than the posterior.
    The log joint is private and was not released, so that no chain is likelier than another: it is 0 here.
    `missing`, public booleans (chains, steps), names cells that had no records to read: see `hmm.fit`.
    """
    model = _model(release.kernel)
    kept = release.draws[:, 1 + burnt(release.draws.shape[1] - 1, burn) :]
    places = model.chains * model.steps
    z = kept[..., :places].astype(np.int16)
    return HiddenMarkovPosterior.of(
        model=model,
        reading="one posterior sample",
        kernel=release.kernel.name,
        z=z,
        theta=kept[..., places:].reshape(*z.shape[:2], model.states, -1),
        transitions=transition_means(z, model),
        log_joint=np.zeros(z.shape[:2]),
        warm_up=0,
        missing=unread_cells(missing, model),
        notes=(f"tempered at T = {float(release.kernel.heat):.3g}: a record weighs 1/T",),
    )


def transition_means(z: NDArray[Any], model: HiddenMarkov) -> Floats:
    """(chains, draws, K+1, K): E[A | z] and, last, E[π₀ | z], rows (α + n_{a→b})/(Kα + n_{a→·})"""
    K = model.states
    paths = z.reshape(-1, model.chains, model.steps).astype(np.int64)
    counts = np.zeros((len(paths), K + 1, K))
    draw = np.arange(len(paths))[:, None, None]
    np.add.at(counts, (draw, paths[:, :, :-1], paths[:, :, 1:]), 1)
    np.add.at(counts[:, K], (draw[..., 0], paths[:, :, 0]), 1)
    counts += float(model.transition)
    means = counts / counts.sum(axis=2, keepdims=True)
    return np.asarray(means.reshape(*z.shape[:2], K + 1, K))


def _model(kernel: ReleasedKernel) -> HiddenMarkov:
    model = getattr(kernel, "model", None)
    if not isinstance(model, HiddenMarkov):
        raise TypeError(
            f"this run is of {kernel.name}, and only a run of hidden_markov_gibbs has hidden states; read "
            "another chain by its .draws and .summary()"
        )
    return model


def burnt(steps: int, burn: int | None) -> int:
    """Return how many steps are left out: half, unless said."""
    cut = steps // 2 if burn is None else burn
    if not (isinstance(cut, int) and 0 <= cut < steps):
        raise ValueError(
            f"burn must leave at least one of the {steps} sweeps that were made, got burn={burn!r}"
        )
    return cut
