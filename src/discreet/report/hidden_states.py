"""A hidden Markov model on the page: the state of each chain at each step, and what a state looks like."""

from __future__ import annotations

import numpy as np

from discreet.catalogue import expect
from discreet.families.family import Floats
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
from discreet.release.release import Release
from discreet.report.drawn.shares import LEVEL, Shares
from discreet.report.drawn.svg import cut_to_room, line, pixels, responsive, words
from discreet.report.markup import Html, element, joined, table
from discreet.report.numbers import whole
from discreet.report.subject import quoted

MOST_CHAINS, MOST_STATES = 40, 6  # of the picture and its table
ROW, LETTER, APART = 22.0, 7.6, 14.0  # pixels


def title(model: HiddenMarkov) -> str:
    return f"Which of {whole(model.states)} states was each {quoted(model.chain)} in, and when?"


def emissions(release: Release) -> tuple[Shares, ...]:
    """Each feature within each state, then the next state given the last, as the likeliest chains say."""
    best = _posterior(release).best.pooled()
    model = best.model
    names = _names(model)
    means, intervals = best.emissions(), best.emission_intervals(LEVEL)
    tables = [
        Shares(
            x, names, release.labels.levels(x, model.size_of[x]), means[x][0], intervals[x][0], given="state"
        )
        for x in model.features
    ]
    moves = best.transitions[0, :, :-1]
    ends = np.moveaxis(np.quantile(moves, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0), 0, -1)
    heads = tuple(f"from {name}" for name in names)
    moved = Shares("next state", names, names, moves.mean(axis=0), ends, heads=heads, compared=False)
    return (*tables, moved)


def _posterior(release: Release) -> HiddenMarkovPosterior:
    return expect(HiddenMarkovPosterior, release.posterior)


def _names(model: HiddenMarkov) -> tuple[str, ...]:
    return tuple(f"state {k + 1}" for k in range(model.states))


def _chains(release: Release) -> tuple[HiddenMarkovPosterior, Floats, tuple[str, ...]]:
    """Return the posterior, the odds of the states (chains, steps, states), and the chains' names."""
    posterior = _posterior(release)
    rows = release.labels.levels(posterior.model.chain, posterior.model.chains)[:MOST_CHAINS]
    return posterior, posterior.best.pooled().assignments()[0], rows


def states(release: Release) -> Html:
    """Draw the likeliest state of each chain (a row) at each step, paler where it is less sure."""
    posterior, shares, rows = _chains(release)
    model = posterior.model
    steps = release.labels.levels(model.step, model.steps)

    def draw(width: int) -> tuple[float, Html]:
        left = 190.0 if width > 400 else 104.0
        each = (width - left - 8) / model.steps
        parts = [words(0, ROW * i + 16, cut_to_room(name, left - 8), "label") for i, name in enumerate(rows)]
        parts += [
            joined([_mark(left + each * t, ROW * i, each, shares[i, t]) for t in range(model.steps)])
            for i in range(len(rows))
        ]
        parts += _time(model.step, steps, left, each, ROW * len(rows))
        return ROW * len(rows) + 44, joined(parts)

    name = f"Likeliest state of each {quoted(model.chain)} over {quoted(model.step)}"
    rest = model.chains - len(rows)
    caption = [
        f"{name}: state 1 is the lowest bar, state {whole(model.states)} the highest; paler where less sure.",
        *([f"{whole(rest)} more are in the release file."] if rest > 0 else []),
        _agreement(posterior),
    ]
    drawn = responsive("states", name, _story(shares, rows), draw)
    return element("figure", drawn, element("figcaption", " ".join(caption)))


def _story(shares: Floats, rows: tuple[str, ...]) -> str:
    usual = shares.argmax(axis=-1)
    return "; ".join(
        f"{name}: {', '.join(f'state {k + 1} in {int((usual[i] == k).sum())}' for k in np.unique(usual[i]))}"
        for i, name in enumerate(rows)
    )


def _time(name: str, steps: tuple[str, ...], left: float, each: float, top: float) -> list[Html]:
    """Name the steps beneath the picture, every so many where there is no room for all."""
    room = left + each * len(steps)
    widest = min(max(map(len, steps)) * LETTER, 80.0) + APART
    apart = int(np.ceil(widest / each))
    marks = [
        joined(
            [
                line(left + each * (t + 0.5), top, left + each * (t + 0.5), top + 4, "axis"),
                words(left + each * (t + 0.5), top + 18, cut_to_room(steps[t], widest), "tick", "middle"),
            ]
        )
        for t in range(0, len(steps), apart)
        if left + each * (t + 0.5) + widest / 2 <= room + APART
    ]
    middle = words((left + room) / 2, top + 38, cut_to_room(name, room - left), "name", "middle")
    return [line(left, top, room, top, "axis"), *marks, middle]


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


def spent(release: Release) -> Html:
    """Count the steps that each chain was most likely in each state."""
    posterior, shares, rows = _chains(release)
    usual, model = shares.argmax(axis=-1), posterior.model
    kept = range(min(model.states, MOST_STATES))
    counts = [(name, *(whole(int((usual[i] == k).sum())) for k in kept)) for i, name in enumerate(rows)]
    caption = (
        f"For how many of {whole(model.steps)} steps of {quoted(model.step)} each {quoted(model.chain)} was "
        "most likely in each state"
    )
    return table(caption, ("", *(f"state {k + 1}" for k in kept)), counts)


def _agreement(posterior: HiddenMarkovPosterior) -> str:
    count = len(posterior.z)
    if posterior.agreed:
        return f"{whole(count)} runs from different starts agree."
    return (
        f"{whole(count)} runs from different starts found {whole(len(posterior.modes))} different answers; "
        "the likeliest is shown, and they are not averaged."
    )
