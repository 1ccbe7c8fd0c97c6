"""The contract of every posterior, and what family posteriors share."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.catalogue import row_of
from discreet.families.family import Family, Floats, credible
from discreet.posteriors.labels import UNNAMED, Labels, family_names, family_variables, unique
from discreet.posteriors.noise_law import cautions as judgement
from discreet.posteriors.variables import Variable, by_variable, in_a_row, thinned
from discreet.privacy.guarantee import NotProved
from discreet.sampling.agreement import effective_size, r_hat
from discreet.sampling.source import SYSTEM, SeededSource, Source
from discreet.shown import visible

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from discreet.encoding.encoder import Encoder
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


# ── The contract of every posterior: what its parameters are called, what it says, how far to trust it.
LEVEL = 0.9
NAIVE = "the noise of the release is left out of this reading: its intervals are too narrow"
ROWS, WIDE, LONG = 20, 48, 240  # lines of a printed summary, letters of a name, letters of a model
MANY = 2000  # parameters above which printing computes means alone
AT_ONCE = 512  # parameters whose R-hat is computed at once


@final
@dataclass(frozen=True)
class Diagnostics:
    """How the posterior was computed, and how far to trust it: worst R-hat and least ESS over what was kept.

    A posterior by quadrature has no chains: `chains` is 0, R-hat 1 and ESS infinite.
    """

    method: str
    chains: int = 0
    draws: int = 0  # kept, in each chain
    r_hat: float = 1.0
    ess: float = float("inf")


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(ABC):
    """θ given what was released. Every answer has one labelled axis, `parameter`, whose labels are `names`.

    A kind of posterior says its own names and, without labels, its `flat` numbers; the rest follows here.
    """

    labels: Labels = field(default=UNNAMED, kw_only=True)  # what columns and levels are called in public

    if TYPE_CHECKING:  # fields of some kinds, properties of others

        @property
        def model(self) -> object:
            """The prior: a Family, a CountModel or a GeneralizedLinear; of a private chain its kernel."""

        @property
        def reading(self) -> str:
            """How the release was read: noise_aware, naive, exact, draws …"""

        @property
        def diagnostics(self) -> Diagnostics:
            """By what method, and what its chains say of themselves."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """Where the reading is not to be trusted, and why; empty where there is nothing to say."""
        return judgement(self.diagnostics, more=(NAIVE if self.reading == "naive" else None,))

    @property
    def modes(self) -> tuple[tuple[int, ...], ...]:
        """Groups of chains that agree, the likeliest first; empty where chains cannot differ."""
        return ()

    # --- what each kind says ------------
    @abstractmethod
    def own_names(self) -> tuple[str, ...]:
        """Name the parameters, by `labels` where these say more than the model."""

    @abstractmethod
    def flat_mean(self) -> Floats:
        """E θ, one number for each parameter."""

    @abstractmethod
    def flat_variance(self) -> Floats:
        """Var θ, parameter by parameter."""

    @abstractmethod
    def flat_interval(self, level: float) -> Floats:
        """Equal-tailed credible intervals, (parameters, 2)."""

    @abstractmethod
    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        """`size` draws of θ, (size, parameters)."""

    def chains(self) -> NDArray[Any] | None:
        """Draws as the chains made them, (chains, draws, parameters); None where no chain ran."""
        return None

    def every_chain(self) -> NDArray[Any] | None:
        """Return the draws of all chains, also of those that found another answer than the likeliest."""
        return self.chains()

    def prior_sample(self, size: int, source: Source) -> Floats | None:
        """`size` draws of θ before anything was released, (size, parameters); None where there are none."""
        del size, source
        return None

    def arrangement(self) -> tuple[Variable, ...]:
        """Say which parameters make up which variable, and what its axes are called."""
        return in_a_row("theta", ("parameter", self.names))

    # --- the same with labels ------------
    @cached_property
    def names(self) -> tuple[str, ...]:
        """A public label for each parameter, no two alike."""
        return unique(self.own_names())

    def mean(self) -> xr.DataArray:
        """E θ: (parameter)."""
        return self._labelled(self.flat_mean(), "parameter")

    def variance(self) -> xr.DataArray:
        """Var θ, parameter by parameter: (parameter)."""
        return self._labelled(self.flat_variance(), "parameter")

    def sd(self) -> xr.DataArray:
        """Return the standard deviation of each parameter: (parameter)."""
        return self._labelled(np.sqrt(self.flat_variance()), "parameter")

    def interval(self, level: float = LEVEL) -> xr.DataArray:
        """Equal-tailed credible intervals: (parameter, bound), the bounds `lower` and `upper`."""
        return self._labelled(self.flat_interval(level), "parameter", "bound", bound=["lower", "upper"])

    def sample(self, size: int, source: Source | None = None) -> xr.DataArray:
        """`size` draws of θ, free, since the release is public already: (draw, parameter)."""
        return self._labelled(self.flat_sample(size, source), "draw", "parameter")

    def _labelled(self, values: Floats, *dims: str, **coords: list[str]) -> xr.DataArray:
        from xarray import DataArray  # noqa: PLC0415 - heavy

        return DataArray(values, dims=dims, coords={"parameter": list(self.names), **coords})

    def variables(self, draws: int = 1000, source: Source | None = None) -> dict[str, xr.DataArray]:
        """Draws by variable: (chain, draw, …), the other axes called by columns and labelled by levels.

        Chains are kept apart and thinned to `draws` each; where none ran, `draws` fresh ones are one chain.
        """
        return self.beside(draws) | self.arranged(self.by_chain(draws, source))

    def by_chain(self, draws: int, source: Source | None = None) -> Floats:
        """(chains, draws, parameters)"""
        held = self.every_chain()
        return self.flat_sample(draws, source)[None] if held is None else thinned(held, draws)

    def arranged(self, held: Floats) -> dict[str, xr.DataArray]:
        """Arrange what `by_chain` or `prior_sample` gave."""
        return by_variable(self.arrangement(), held)

    def beside(self, draws: int) -> dict[str, xr.DataArray]:
        """Return what chains kept beside the parameters, `draws` of each."""
        del draws
        return {}

    def to_pandas(self, draws: int = 1000, source: Source | None = None) -> pd.DataFrame:
        """`draws` draws as a data frame: a column for each parameter, under its name."""
        import pandas as pd  # noqa: PLC0415 - heavy

        return pd.DataFrame(self.flat_sample(draws, source), columns=list(self.names))

    def plot(self, *, level: float = LEVEL, most: int = 30, ax: Axes | None = None) -> Axes:
        """Draw means and intervals, a line for each of the first `most` parameters; needs matplotlib."""
        from discreet.posteriors.forest import forest  # noqa: PLC0415 - draws posteriors

        return forest(self, level=level, most=most, ax=ax)

    def summary(self, level: float = LEVEL) -> pd.DataFrame:
        """One row for each parameter: name, mean, sd, lower and upper end, R-hat and ESS (NaN: no chains)."""
        import pandas as pd  # noqa: PLC0415 - heavy

        ends, (worst, least) = self.flat_interval(level), self._agreement()
        columns = {"mean": self.flat_mean(), "sd": np.sqrt(self.flat_variance())}
        columns |= {"lower": ends[:, 0], "upper": ends[:, 1], "r_hat": worst, "ess": least}
        return pd.DataFrame({"name": self.names, **columns})

    def _agreement(self) -> tuple[Floats, Floats]:
        """R-hat and effective size of each parameter."""
        size, held = len(self.names), self.chains()
        if held is None:
            return np.full(size, np.nan), np.full(size, np.nan)
        parts = [held[..., i : i + AT_ONCE].astype(np.float64) for i in range(0, size, AT_ONCE)]
        each = [np.concatenate([of(part) for part in parts]) for of in (r_hat, effective_size)]
        return each[0], each[1]

    def labelled(self, labels: Labels) -> Self:
        """Return the same posterior, called by the columns and levels of a release."""
        return replace(self, labels=labels)

    # --- rows of the user's own: labels in, labels out ------------
    @property
    def encoder(self) -> Encoder:
        """What encodes rows by the public schema of the release, and decodes answers into labels."""
        return self.labels.encoder

    def predict(self, rows: object, *, codes: bool = False) -> NDArray[Any]:
        """Return the likeliest label for each row, where the model can; else refuse and say why."""
        del rows, codes
        raise TypeError(row_of(self.model).unpredicted)

    def predict_proba(self, rows: object, *, codes: bool = False) -> xr.DataArray | Floats:
        """Return the probability of each label for each row, where the model can: (row, label)."""
        del rows, codes
        raise TypeError(row_of(self.model).unpredicted)

    # --- on one screen ------------
    @property
    def _verdict(self) -> str:
        return repr(self.diagnostics)

    @property
    def _head(self) -> str:
        model = repr(self.model)
        short = model if len(model) <= LONG else f"{model[:LONG]}…"
        return f"{type(self).__name__}(reading={self.reading!r}, {visible(short)}, {self._verdict})"

    def _first_rows(self) -> pd.DataFrame:
        """Return the summary's first rows, of very many parameters the means alone."""
        import pandas as pd  # noqa: PLC0415 - heavy

        if len(self.names) <= MANY:
            return self.summary().head(ROWS)
        return pd.DataFrame({"name": self.names[:ROWS], "mean": self.flat_mean()[:ROWS]})

    @property
    def _left_out(self) -> list[str]:
        rest = len(self.names) - ROWS
        return [f"… and {rest} more parameters: see summary()"] if rest > 0 else []

    def __repr__(self) -> str:
        rows = self._first_rows()
        rows["name"] = [
            visible(name) if len(name) <= WIDE else f"{visible(name[:WIDE])}…" for name in rows["name"]
        ]
        shown = rows.dropna(axis=1, how="all").to_string(
            index=False, float_format="{:.6g}".format, max_cols=8
        )
        return "\n".join(
            [self._head, shown, *self._left_out, *(f"caution: {words}" for words in self.cautions)]
        )

    def _repr_html_(self) -> str:
        shown = self._first_rows().dropna(axis=1, how="all")
        table = shown.to_html(index=False, escape=True, float_format="{:.6g}".format, max_cols=8)
        said = [self._head, *self._left_out, *(f"caution: {words}" for words in self.cautions)]
        first, *rest = (f"<p>{escape(words)}</p>" for words in said)
        return "\n".join([first, table, *rest])


class Sampled(Posterior):
    """A posterior that is held as draws of Markov chains, or of several swarms."""

    @abstractmethod
    def chains(self) -> NDArray[Any]:
        """(chains, draws, parameters)"""

    def _all(self) -> NDArray[Any]:
        held = self.chains()
        return held.reshape(-1, held.shape[-1])

    def flat_mean(self) -> Floats:
        return np.asarray(self._all().mean(axis=0, dtype=np.float64))

    def flat_variance(self) -> Floats:
        return np.asarray(self._all().var(axis=0, dtype=np.float64))

    def flat_interval(self, level: float) -> Floats:
        return np.asarray(np.quantile(self._all(), credible(level), axis=0).T, dtype=np.float64)

    def flat_sample(self, size: int, source: Source | None = None) -> Floats:
        """Choose among the draws that were kept, evenly and with repetition."""
        held = self._all()
        drawn: Floats = held[generator(source).integers(len(held), size=size)].astype(np.float64)
        return drawn


def generator(source: Source | None = None) -> np.random.Generator:
    """Return a generator for what is public already, seeded from a source."""
    return np.random.default_rng((source or SYSTEM).words(4).tolist())


# ── The posterior of θ given the noisy statistic and the law of its noise: p(θ | Ŝ) ∝ p(θ) Σ_S p(S|θ)
# p(Ŝ|S).
# [BS18, BS19; Ju et al. 2022]. Ŝ is data, not S: nothing is projected, and a negative count says what it
# says. The catalogue names the reader of each family, a function `read(release, prior, **options) ->
# NoiseAware`.
READING = "noise_aware"


class FamilyPosterior(Posterior):
    """θ of a family given a release: its names are the family's parameters, its records the family's."""

    prior: Family

    @property
    def model(self) -> Family:
        return self.prior

    def own_names(self) -> tuple[str, ...]:
        return family_names(self.prior, int(np.size(self.prior.mean())), self.labels)

    def arrangement(self) -> tuple[Variable, ...]:
        return family_variables(self.prior, int(np.size(self.prior.mean())), self.labels)

    def prior_sample(self, size: int, source: Source) -> Floats:
        return np.asarray(self.prior.sample(size, source), dtype=np.float64).reshape(size, -1)

    @abstractmethod
    def log_predictive(self, x: ArrayLike) -> Floats:
        """Log posterior-predictive mass or density of single observations, of the unclipped likelihood."""

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log density of θ, where it is cheap."""
        del theta
        raise NotProved(f"no density of a noise-aware {type(self.prior).__name__} posterior; use its draws")


class NoiseAware(FamilyPosterior):
    """θ | Ŝ with the noise accounted for; frozen and public."""

    @property
    def reading(self) -> str:
        return READING


def public_source(release: NoisyStatistic, prior: Family) -> SeededSource:
    """Bits fixed by what is public anyway: reading one release twice gives the same numbers."""
    text = repr((release.noisy, release.n, release.joint, release.noise, release.scale, prior))
    return SeededSource(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
