"""Noise-aware readings of normal families; clipping at the public bounds is part of the model.

Three laws of S given θ: `records`, n latent records, exact for any n [Ju, Awan, Gong, Rao 2022]; `limit`, the
central limit law of their sum [Bernstein, Sheldon 2018, 2019]; `table`, the same in closed form, for two
parameters.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.inference.noise_aware import Diagnostics, public_source
from discreet.inference.noise_aware_normal_chains import Plan, augmented, collect, limiting
from discreet.inference.noise_aware_normal_grid import draws
from discreet.inference.noise_aware_normal_model import Observed, latent
from discreet.inference.noise_aware_normal_posterior import SampledPosterior
from discreet.inference.progress import watched
from discreet.sampling.agreement import effective_size as ess
from discreet.sampling.agreement import r_hat

if TYPE_CHECKING:
    from discreet.families.family import Family
    from discreet.inference.noise_aware_normal_model import LatentNormal
    from discreet.mechanisms.noisy_release import NoisyRelease
    from discreet.sampling.source import Source

TABLED = 8192  # points of equal mass that a table is cut into
CHAINS = {"records": augmented, "limit": limiting}
NAMES = {"records": "latent records, Gibbs and Metropolis", "limit": "central limit law, Metropolis"}


def read(
    release: NoisyRelease,
    prior: Family,
    *,
    law: str | None = None,
    plan: Plan | None = None,
    source: Source | None = None,
) -> SampledPosterior:
    """Read with `law`: unless given, records where they are few, else the table or the limit."""
    observed = Observed.of(release, prior)
    if law == "table" or (law is None and not observed.few and tabled(prior, observed)):
        return table(prior, observed)
    chosen = law or ("records" if observed.few else "limit")
    bits = source or public_source(release, prior)
    return run(latent(prior), observed, prior, law=chosen, plan=plan, source=bits)


@singledispatch
def table(prior: Family, observed: Observed) -> SampledPosterior:
    del observed
    raise ValueError(f"only NormalInverseGamma has a table, {type(prior).__name__} has {', '.join(CHAINS)}")


@table.register(NormalInverseGamma)
def _(prior: NormalInverseGamma, observed: Observed) -> SampledPosterior:
    if not tabled(prior, observed):
        raise ValueError(f"a table needs a public n; choose one of {', '.join(CHAINS)}")
    theta = draws(prior, observed, TABLED)[None]
    return SampledPosterior(prior, theta, None, Diagnostics("central limit law, by quadrature"))


def tabled(prior: Family, observed: Observed) -> bool:
    """Whether θ has two coordinates and n is public."""
    return prior.name == NormalInverseGamma.name and observed.n is not None


def run(
    model: LatentNormal, observed: Observed, prior: Family, *, law: str, plan: Plan | None, source: Source
) -> SampledPosterior:
    """Several chains, and what they say of themselves."""
    if law not in CHAINS:
        raise ValueError(f"no law {law!r} of this release; choose one of {', '.join(CHAINS)}")
    how = plan or Plan.suggested(law, model)
    rng = np.random.default_rng(source.words(4).tolist())
    pieces = CHAINS[law](model, observed, how, rng)
    out = collect(watched(pieces, how.pieces, "noise-aware posterior"), how)
    theta = model.theta(out[..., :-1])
    judged = np.concatenate([theta, out[..., -1:]], axis=-1) if observed.n is None else theta
    worst, least = float(r_hat(judged).max()), float(ess(judged).min())
    size = out[..., -1].astype(np.int64) if observed.n is None else None
    return SampledPosterior(prior, theta, size, Diagnostics(NAMES[law], how.chains, how.draws, worst, least))
