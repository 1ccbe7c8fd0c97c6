"""The sections about a model of counts: each table of probabilities as strips of shade, and in numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from discreet.catalogue import expect, row_of
from discreet.families.family import Floats
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.mixture import Mixture
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts.naive_bayes import NaiveBayesPosterior
from discreet.posteriors.hidden_markov.posterior import HiddenMarkovPosterior
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.read import OnlyDraws
from discreet.posteriors.tables import ProbabilityTable, TablePosterior, split
from discreet.release.release import Release
from discreet.report.drawn.pictures import LEVEL, Shares, numbers, strips
from discreet.report.drawn.svg import cut_to_room, line, pixels, responsive, words
from discreet.report.markup import Html, element, joined, paragraphs, table
from discreet.report.numbers import NONE, decimals, shown, whole
from discreet.report.subject import Subject, quoted

MOST_TABLES = 24
READ = {
    "noise_aware": (
        "The noise is part of the model: every interval allows for it, and for the sampling of the records. "
        "A noisy count below zero was read as what it is, a small count with noise on it."
    ),
    "naive": (
        "The noisy counts are read here as if they were exact, negative ones as zero. The intervals do not "
        "widen for the noise, and with few records they cover less often than they say."
    ),
    "draws": (
        "One draw of the posterior was released and nothing else: intervals would need the posterior, which "
        "stays as private as the data. Noisy counts are paid for once and then read freely."
    ),
}


@final
@dataclass(frozen=True)
class CellFindings:
    """What a release of noisy counts says, worked out once."""

    release: Release
    subject: Subject
    tables: tuple[Shares, ...]

    @classmethod
    def of(cls, release: Release) -> CellFindings:
        model = release.model
        row = row_of(model)
        tables = (row.load("report", "tables") or _tables)(release)
        title = (row.load("report", "title") or _title)(model)
        return cls(release, Subject(title, ()), tables)

    def headline(self) -> str:
        """Say the largest share of the first table in one sentence."""
        first = self.tables[0]
        group, level = np.unravel_index(int(first.mean.argmax()), first.mean.shape)
        places = max(0, decimals(float(np.diff(first.interval[group, level])[0])) - 1)
        mean, low, high = (
            shown(float(v), places, percent=True)
            for v in (first.mean[group, level], *first.interval[group, level])
        )
        within = f" given {first.groups[group]}" if len(first.groups) > 1 else ""
        about = f"about {mean}, and with 90 % probability between {low} and {high}" if low != NONE else mean
        what = f"the share of {quoted(first.levels[level])}"
        return f"Among the values of {quoted(first.name)}{within}, {what} is {about}."

    def picture(self) -> Html:
        drawn = (strips(f"table{i}", one) for i, one in enumerate(self.tables[:MOST_TABLES]))
        own = row_of(self.release.model).load("report", "first")
        first = "" if own is None else own(self.release)
        return joined([first, *drawn, _left_out(len(self.tables) - MOST_TABLES)])

    def intervals(self) -> Html:
        posterior = self.release.posterior
        said = [READ.get(posterior.reading, ""), *self._empty(posterior), *_noted(posterior)]
        made = (numbers(one) for one in self.tables[:MOST_TABLES])
        return joined([paragraphs(*filter(None, said)), *made])

    def _empty(self, posterior: Posterior) -> list[str]:
        """Say how many cells have probably no record in them: they are allowed, and the prior fills them."""
        if not isinstance(posterior, NaiveBayesPosterior):
            return []
        odds = np.concatenate([np.ravel(p) for p in posterior.empty().values()])
        few = int((odds > 0.5).sum())
        return [
            f"{whole(few)} of the {whole(odds.size)} cells have more probably no record than some; there the "
            "prior speaks."
            if few
            else f"Each of the {whole(odds.size)} cells more probably has a record than none."
        ]

    def next_record(self) -> Html | None:
        say = row_of(self.release.model).load("report", "next")
        return None if say is None else say(self.release)


# ── names ───────────────────────────────────────────────────────────────────────────────────────────


def _noted(posterior: Posterior) -> list[str]:
    """Repeat what the fit says of itself, as sentences."""
    return [f"{note[0].upper()}{note[1:]}." for note in posterior.cautions]


def _tables(release: Release) -> tuple[Shares, ...]:
    """One table for each of the model's, by the name its posterior gives it."""
    posterior = expect(TablePosterior, release.posterior)
    layout = posterior.layout()
    means, ends = split(layout, posterior.flat_mean()), split(layout, _intervals(posterior), axis=0)
    return tuple(_shares(*each) for each in zip(layout, means, ends, strict=True))


def mixture_tables(release: Release) -> tuple[Shares, ...]:
    """Weights of the classes, then each feature within each class, as the likeliest group of chains says."""
    weights, *features = _tables(release)
    return replace(weights, name="weight"), *features


def _intervals(posterior: TablePosterior) -> Floats:
    try:
        return posterior.flat_interval(LEVEL)
    except OnlyDraws:
        return np.full((len(posterior.names), 2), np.nan)


def _shares(table: ProbabilityTable, mean: Floats, interval: Floats) -> Shares:
    groups, levels = table.rows, table.axes[-1].levels
    shape = (len(groups), len(levels))
    return Shares(table.name, groups, levels, mean.reshape(shape), interval.reshape(*shape, 2))


def states_title(model: HiddenMarkov) -> str:
    return f"In which of {whole(model.states)} states is each {quoted(model.chain)}?"


def kinds_title(model: Mixture) -> str:
    return f"Which {whole(model.components)} kinds of records are there?"


def label_title(model: NaiveBayes) -> str:
    return f"What tells the values of {quoted(model.label)} apart?"


def network_title(model: BayesianNetwork) -> str:
    return f"How do {whole(len(model.columns))} columns depend on each other?"


def _title(model: object) -> str:
    del model
    return "What was counted"


def _left_out(count: int) -> Html:
    return paragraphs(f"… and {whole(count)} more tables, in the release file.") if count > 0 else joined([])


# ── the next record ─────────────────────────────────────────────────────────────────────────────────


def information(release: Release) -> Html:
    """How much each column says about the label: I(y; x_d) in bits, over draws of the posterior."""
    posterior = expect(NaiveBayesPosterior, release.posterior)
    label = posterior.model.label
    rows = sorted(
        ((feature, *bits) for feature, bits in posterior.information(LEVEL).items()), key=lambda row: -row[1]
    )
    said = [(name, *(f"{v:.3f}" for v in numbers)) for name, *numbers in rows]
    made = table(
        f"Information about {quoted(label)} in bits, 90 % intervals", ("", "mean", "from", "to"), said
    )
    how = (
        f"A new record's {quoted(label)} is predicted by averaging over the posterior (predict_proba), so "
        "that what the noise left uncertain makes predictions less bold. Alone, the columns tell this much:"
    )
    return joined([paragraphs(how), made])


# ── A hidden Markov model on the page: the state of every chain at every step, and what a state looks like.
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
