"""The sections about a model of counts: each table of probabilities as strips of shade, and in numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import final

import numpy as np

from discreet.catalogue import expect, row_of
from discreet.families.family import Floats
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.mixture import Mixture
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts.naive_bayes import NaiveBayesPosterior
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.read import OnlyDraws
from discreet.posteriors.tables import ProbabilityTable, TablePosterior, split
from discreet.release.release import Release
from discreet.report.drawn.shares import LEVEL, Shares, numbers, strips
from discreet.report.markup import Html, cautions, joined, paragraphs, table
from discreet.report.numbers import decimals, shown, whole
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
        """Say the largest difference between groups in one sentence; without groups, the largest share."""
        compared = [one for one in self.tables if one.compared and len(one.groups) > 1]
        if not compared:
            return _largest(self.tables[0])
        return max(map(Contrast.of, compared)).sentence()

    def picture(self) -> Html:
        drawn = (strips(f"table{i}", one) for i, one in enumerate(self.tables[:MOST_TABLES]))
        own = row_of(self.release.model).load("report", "first")
        first = "" if own is None else own(self.release)
        return joined([first, *drawn, _left_out(len(self.tables) - MOST_TABLES)])

    def intervals(self) -> Html:
        posterior = self.release.posterior
        said = [READ.get(posterior.reading, ""), *self._empty(posterior)]
        made = (numbers(one) for one in self.tables[:MOST_TABLES])
        own = row_of(self.release.model).load("report", "last")
        last = "" if own is None else own(self.release)
        return joined([paragraphs(*filter(None, said)), cautions(*posterior.cautions), *made, last])

    def _empty(self, posterior: Posterior) -> list[str]:
        """Say how many cells have probably no record in them: they are allowed, and the prior fills them."""
        if not isinstance(posterior, NaiveBayesPosterior):
            return []
        odds = np.concatenate([np.ravel(p) for p in posterior.empty().values()])
        few = int((odds > 0.5).sum())
        return [
            f"{whole(few)} of the {whole(odds.size)} cells probably have no record; what is shown of them "
            "comes from the prior."
            if few
            else f"Each of the {whole(odds.size)} cells probably has at least one record."
        ]

    def next_record(self) -> Html | None:
        say = row_of(self.release.model).load("report", "next")
        return None if say is None else say(self.release)


@final
@dataclass(frozen=True)
class Contrast:
    """The level whose share differs most between two groups, by what the intervals leave between them."""

    one: Shares
    sure: bool  # whether the intervals leave something between them
    size: float  # that, or the difference of the means
    level: int
    most: int  # the group where its share is largest
    least: int

    @classmethod
    def of(cls, one: Shares) -> Contrast:
        read = np.isfinite(one.interval).all()
        low, high = (one.interval[..., 0], one.interval[..., 1]) if read else (one.mean, one.mean)
        return max(cls._between(one, low, high, sure=True), cls._between(one, one.mean, one.mean, sure=False))

    @classmethod
    def _between(cls, one: Shares, low: Floats, high: Floats, *, sure: bool) -> Contrast:
        """Find the pair of groups and the level where low of the one exceeds high of the other most."""
        gaps = low[:, None, :] - high[None, :, :]
        gaps[np.arange(len(gaps)), np.arange(len(gaps))] = -np.inf
        most, least, level = np.unravel_index(int(gaps.argmax()), gaps.shape)
        size = float(gaps[most, least, level])
        return cls(one, sure and size > 0, size, int(level), int(most), int(least))

    def __lt__(self, other: Contrast) -> bool:
        """Order by certainty first, then by size."""
        return (self.sure, self.size) < (other.sure, other.size)

    def sentence(self) -> str:
        name, level = quoted(self.one.name), quoted(self.one.levels[self.level])
        sure = "" if self.sure else "No difference is beyond doubt; the largest is this: "
        most, least = (_share(self.one, group, self.level) for group in (self.most, self.least))
        where, other = (_within(self.one.groups[group]) for group in (self.most, self.least))
        return f"{sure}{name} is {level} in {most} of records {where}, and in {least} of those {other}."


def _share(one: Shares, group: int, level: int) -> str:
    """Say a share, with its interval where there is one."""
    low, high = one.interval[group, level]
    places = max(0, decimals(float(high - low)) - 1)
    mean, *ends = (shown(float(v), places, percent=True) for v in (one.mean[group, level], low, high))
    about = f"about {mean} (with 90 % probability between {ends[0]} and {ends[1]})"
    return about if np.isfinite(low) else mean


def _within(group: str) -> str:
    return f"where {group}" if " = " in group else f"in {group}"


def _largest(one: Shares) -> str:
    level = int(one.mean[0].argmax())
    return f"{quoted(one.name)} is {quoted(one.levels[level])} in {_share(one, 0, level)} of records."


# ── names ───────────────────────────────────────────────────────────────────────────────────────────


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
    parents = [axis for axis in table.axes[:-1] if not axis.words]
    heads = product(*(axis.levels for axis in parents)) if parents else ()
    return Shares(
        table.name,
        groups,
        levels,
        mean.reshape(shape),
        interval.reshape(*shape, 2),
        given=", ".join(axis.name for axis in parents),
        heads=tuple(map(", ".join, heads)),
    )


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
