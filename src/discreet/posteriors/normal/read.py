"""Noise-aware readings of normal families; clipping at the public bounds is modelled where it matters.

Laws of S given θ: `moments`, exact for any n, of records that are not clipped; `records`, n latent records,
clipped, exact for any n [Ju, Awan, Gong, Rao 2022]; `limit`, the central limit law of the sum of clipped
records [Bernstein, Sheldon 2018, 2019].
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.families.family import Family, Floats
from discreet.posteriors.base import public_source
from discreet.posteriors.cautions import FEWEST, MIXED, TAIL, cautions, judged
from discreet.posteriors.normal.chains import ChainLengths, augmented, collect, limiting
from discreet.posteriors.normal.latent_model import LatentNormal, Observed, latent
from discreet.posteriors.normal.sampled import SampledPosterior
from discreet.posteriors.normal.starts import normal_points
from discreet.posteriors.normal.unclipped import base, matters, read_unclipped
from discreet.posteriors.posterior import Diagnostics
from discreet.progress import steps as shown
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic


ROUNDS, LONGER = 2, 4  # chains that have not met are run again, so many times as long
CHAINS = {"records": augmented, "limit": limiting}
LAWS = ("moments", *CHAINS)
NAMES = {"records": "latent records, Gibbs and Metropolis", "limit": "central limit law, Metropolis"}


def read(
    release: NoisyStatistic,
    prior: Family,
    *,
    law: str | None = None,
    plan: ChainLengths | None = None,
    source: Source | None = None,
) -> SampledPosterior:
    """Read with `law`: unless given, `moments` where hardly a record seems to have been clipped.

    Otherwise records where they are few, else their limit.
    """
    observed, bits = Observed.of(release, prior), source or public_source(release, prior)
    if law == "moments" or (law is None and observed.about > latent(prior).columns):
        unclipped, share = read_unclipped(prior, observed, bits, plan=plan)
        if law == "moments" or not matters(share, observed.about):
            return unclipped
    chosen = law or ("records" if observed.few else "limit")
    model = replace(latent(prior), base=base(prior, observed))
    return run(model, observed, prior, law=chosen, plan=plan, source=bits)


def run(
    model: LatentNormal,
    observed: Observed,
    prior: Family,
    *,
    law: str,
    plan: ChainLengths | None,
    source: Source,
) -> SampledPosterior:
    """Run several chains, without a plan longer ones where they have not met, and say how they went."""
    if law not in CHAINS:
        raise ValueError(f"no law {law!r} of this release; choose one of {', '.join(LAWS)}")
    how, rng = plan or ChainLengths.suggested(law, model), np.random.default_rng(source.words(4).tolist())
    for _ in range(ROUNDS):
        pieces = CHAINS[law](model, observed, how, rng)
        out = collect(shown(pieces, "noise-aware posterior", how.pieces), how)
        theta, level, apart = model.theta(out[..., :-1]), *agreement(model, observed, out)
        held = [theta, level[..., None], *([out[..., -1:]] if observed.n is None else [])]
        found = Diagnostics(NAMES[law], how.chains, how.draws, *judged(np.concatenate(held, axis=-1)))
        if plan or (found.r_hat < 1 + (MIXED - 1) / 2 and found.ess > FEWEST):
            break
        how = ChainLengths(chains=how.chains, draws=how.draws, thin=LONGER * how.thin, burn=LONGER * how.burn)
    size = out[..., -1].astype(np.int64) if observed.n is None else None
    said = cautions(found, apart=apart, finite=bool(np.isfinite(theta).all()))
    return SampledPosterior(prior, theta, size, found, said)


def agreement(model: LatentNormal, observed: Observed, out: Floats) -> tuple[Floats, float]:
    """Ln p(Ŝ | φ, n) of every draw; and how far the draws leave Ŝ, in deviations of a sum of squares.

    Squares of Laplace noise vary √(5/2) times as much as those of normal noise, and have a longer tail.
    """
    from discreet.posteriors.normal.limit_kernel import agreement as found  # noqa: PLC0415 - loads numba

    rows = np.ascontiguousarray(out.reshape(-1, out.shape[-1]))
    level, square = np.empty(len(rows)), np.empty(len(rows))
    points = normal_points(model.columns, 0)
    found(rows, model.layout, observed.seen(model), model.grid, points, level, square)
    size = observed.noisy.size
    apart = (float(square.mean()) - size) / np.sqrt(2 * size)
    return level.reshape(out.shape[:-1]), float(apart / (TAIL if observed.power == 1 else 1.0))
