"""A hidden Markov model on the page: the state of every chain at every step, and what a state looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.catalogue import expect
from discreet.families.family import Floats
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
from discreet.report.drawn.shares import LEVEL, Shares
from discreet.report.drawn.svg import cut_to_room, line, pixels, responsive, words
from discreet.report.markup import Html, element, joined
from discreet.report.numbers import whole
from discreet.report.subject import quoted

if TYPE_CHECKING:
    from discreet.models.hidden_markov import HiddenMarkov
    from discreet.release.release import Release

MOST_CHAINS = 40
ROW = 22.0


def emissions(release: Release) -> tuple[Shares, ...]:
    """Each feature within each state, then the next state given the last, as the likeliest chains say."""
    best = _posterior(release).best.pooled()
    model = best.model
    names = _names(model)
    means, intervals = best.emissions(), best.emission_intervals(LEVEL)
    tables = [
        Shares(x, names, release.labels.levels(x, model.size_of[x]), means[x][0], intervals[x][0])
        for x in model.features
    ]
    moves = best.transitions[0, :, :-1]
    ends = np.quantile(moves, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    given = tuple(f"from {name}" for name in names)
    return (*tables, Shares("next state", given, names, moves.mean(axis=0), np.moveaxis(ends, 0, -1)))


def _posterior(release: Release) -> HiddenMarkovPosterior:
    return expect(HiddenMarkovPosterior, release.posterior)


def _names(model: HiddenMarkov) -> tuple[str, ...]:
    return tuple(f"state {k + 1}" for k in range(model.states))


def states(release: Release) -> Html:
    """Draw the likeliest state of each chain (a row) at each step, paler where it is less sure."""
    posterior = _posterior(release)
    model = posterior.model
    shares = posterior.best.pooled().assignments()[0]  # (chains, steps, states)
    rows = release.labels.levels(model.chain, model.chains)[:MOST_CHAINS]

    def draw(width: int) -> tuple[float, Html]:
        left = 150.0 if width > 400 else 92.0
        each = (width - left - 8) / model.steps
        parts = [words(0, ROW * i + 16, cut_to_room(name, left - 8), "label") for i, name in enumerate(rows)]
        parts += [
            joined([_mark(left + each * t, ROW * i, each, shares[i, t]) for t in range(model.steps)])
            for i in range(len(rows))
        ]
        return ROW * len(rows) + 4, joined(parts)

    usual = shares.argmax(axis=-1)
    story = "; ".join(
        f"{name}: {', '.join(f'state {k + 1} in {int((usual[i] == k).sum())}' for k in np.unique(usual[i]))}"
        for i, name in enumerate(rows)
    )
    title = f"Likeliest state of each {quoted(model.chain)} over {quoted(model.step)}"
    rest = model.chains - len(rows)
    caption = [
        f"{title}: state 1 lowest, state {whole(model.states)} highest, paler where less sure.",
        *([f"{whole(rest)} more are in the release file."] if rest > 0 else []),
        _agreement(posterior),
    ]
    return element(
        "figure", responsive("states", title, story, draw), element("figcaption", " ".join(caption))
    )


def _mark(x: float, top: float, width: float, shares: Floats) -> Html:
    """Draw a bar as high as the number of the state."""
    k, count = int(shares.argmax()), shares.size
    height = (ROW - 4) * (k + 1) / count
    return joined(
        [
            line(x, top + ROW - 1, x + width, top + ROW - 1, "grid"),
            element(
                "rect",
                class_="fill",
                x=pixels(x),
                y=pixels(top + ROW - 1 - height),
                width=pixels(max(width - 0.4, 0.4)),
                height=pixels(height),
                fill_opacity=f"{0.15 + 0.75 * float(shares.max()):.2f}",
            ),
        ]
    )


def _agreement(posterior: HiddenMarkovPosterior) -> str:
    count = len(posterior.z)
    if posterior.agreed:
        return f"{whole(count)} runs from different starts agree."
    return (
        f"{whole(count)} runs from different starts found {whole(len(posterior.modes))} different answers; "
        "the likeliest is shown, and they are not averaged."
    )
