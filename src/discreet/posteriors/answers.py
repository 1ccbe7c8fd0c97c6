"""Posteriors of latent classes, whose chains may find several answers: grouped, compared, never averaged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats
from discreet.posteriors.posterior import Sampled, generator
from discreet.posteriors.tables import ProbabilityTable, TableAxis, TablePosterior
from discreet.sampling.source import Source

AGREED = 0.9  # chains of one mode agree at least this much …
SPREADS = 6.0  # … and their mean log joints differ by no more than this many standard deviations of a draw's


class Disagreement(ValueError):  # noqa: N818 - a fact about the fit, said in the user's words
    """One answer was asked of chains that give several; the message says how to choose."""


class Answers(Sampled, TablePosterior):
    """Draws by chain, labels resolved; moments, intervals and draws are of the likeliest group of chains."""

    HELD: ClassVar[tuple[str, ...]]  # fields whose first axis counts the chains

    @property
    @abstractmethod
    def agreement(self) -> Floats:
        """(chains, chains): how far two chains tell the same, 1 where they do."""

    @property
    @abstractmethod
    def kept_log_joint(self) -> Floats:
        """Log joint of the draws that were kept, (chains, draws); comparable within one fit only."""

    @abstractmethod
    def flat_chains(self) -> Floats:
        """Draws of all tables by every chain: (chains, draws, parameters)."""

    @abstractmethod
    def concentration(self, table: ProbabilityTable) -> float:
        """Return the entry of the Dirichlet prior of each row of a table."""

    def prior_sample(self, size: int, source: Source) -> Floats:
        """Draw every row of every table from its Dirichlet prior."""
        rng, parts = generator(source), []
        for table in self.layout():
            *rows, levels = table.shape
            alpha = np.full(levels, self.concentration(table))
            parts.append(rng.dirichlet(alpha, (size, prod(rows))).reshape(size, -1))
        return np.concatenate(parts, axis=1)

    def every_chain(self) -> Floats:
        return self.flat_chains()

    def chains(self) -> NDArray[np.float64]:
        return self.flat_chains() if self.agreed else self.best.flat_chains()

    @property
    def level(self) -> Floats:
        """Mean log joint of each chain; compare it with its own spread, not with 0."""
        return np.asarray(self.kept_log_joint.mean(axis=1))

    @cached_property
    def modes(self) -> tuple[tuple[int, ...], ...]:
        """Groups of chains that agree, the likeliest group first; more than one means several answers."""
        left, groups = [int(i) for i in np.argsort(-self.level)], []
        gap = SPREADS * float(np.median(self.kept_log_joint.std(axis=1)))
        while left:
            near = self.level[left[0]] - self.level <= gap
            group = [i for i in left if (near[i] and self.agreement[left[0], i] >= AGREED) or i == left[0]]
            groups.append(tuple(group))
            left = [i for i in left if i not in group]
        return tuple(groups)

    @property
    def agreed(self) -> bool:
        return len(self.modes) == 1

    def only(self, chains: Sequence[int]) -> Self:
        """Return the same fit, told by these chains alone."""
        pick = list(chains)
        return replace(self, **{name: getattr(self, name)[pick] for name in self.HELD})

    @cached_property
    def best(self) -> Self:
        """Return the fit as the likeliest group of agreeing chains tells it."""
        return self.only(self.modes[0])

    def settled(self) -> Self:
        """Return the fit without its warm-up."""
        return self

    def pooled(self) -> Self:
        """All chains as one, if they agree."""
        if not self.agreed:
            raise Disagreement(
                f"the chains found {len(self.modes)} different answers {self.modes}, so their average is "
                "none of them: read .modes, .agreement and .level, then take .best or .only(chains)"
            )
        kept = self.settled()
        each = {name: getattr(kept, name) for name in self.HELD}
        return replace(kept, **{name: x.reshape(1, -1, *x.shape[2:]) for name, x in each.items()})

    @property
    def _several(self) -> tuple[str, ...]:
        found = f"the chains found {len(self.modes)} different answers, and the likeliest is shown"
        return () if self.agreed else (found,)

    @property
    def _verdict(self) -> str:
        answers = "one answer" if self.agreed else f"{len(self.modes)} DIFFERENT ANSWERS {self.modes}"
        return f"{answers}, {self.diagnostics!r}"


def hidden(what: str, count: int, taken: Sequence[str], word: str = "") -> TableAxis:
    """Return the axis of hidden classes or states, under a name that no column has."""
    name = f"{word}{what}"
    while name in taken:
        name = f"hidden {name}"
    levels = tuple(f"{what} {k + 1}" for k in range(count))
    return TableAxis(name, levels, tuple(f"{word}{level}" for level in levels))
