"""The sections about plain numbers: each with its interval; a histogram as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.catalogue import expect
from discreet.families.family import Floats
from discreet.models.plain import Histogram, MeanAndVariance
from discreet.posteriors.plain import PlainReading
from discreet.release.release import Release
from discreet.report.drawn.pictures import bars
from discreet.report.markup import Html, cautions, element, joined, paragraphs, table
from discreet.report.numbers import decimals, shown, whole
from discreet.report.subject import LEVEL, Subject, quoted

MOST = 50  # lines of the table
MOST_BARS = 24
HOW = (
    (
        "An interval of a count is as wide as the noise makes it: it holds the exact count of these records "
        "with 90 % probability, whatever they are. Where the noisy number was not possible, the nearest "
        "possible one is shown; the release file has it as it was drawn, without bias."
    ),
    (
        "These numbers are of the records at hand. What they say of others like them, beyond the noise, is a "
        "question for a model."
    ),
)


@final
@dataclass(frozen=True)
class PlainFindings:
    """What a release of plain numbers says, worked out once."""

    release: Release
    subject: Subject
    reading: PlainReading
    mean: Floats
    interval: Floats

    @classmethod
    def of(cls, release: Release) -> PlainFindings:
        """Read the numbers once."""
        reading = expect(PlainReading, release.posterior)
        title = _title(release)
        return cls(release, Subject(title, ()), reading, reading.flat_mean(), reading.flat_interval(LEVEL))

    def _said(self, i: int) -> tuple[str, str, str]:
        low, high = self.interval[i]
        places = max(0, decimals(float(high - low)) - (0 if self._moments else 1))
        mean, low_said, high_said = (shown(float(v), places) for v in (self.mean[i], low, high))
        return mean, low_said, high_said

    @property
    def _moments(self) -> bool:
        return isinstance(self.release.model, MeanAndVariance)

    def headline(self) -> str:
        """Say the first number, or the largest cell, in one sentence."""
        i = int(self.mean.argmax()) if isinstance(self.release.model, Histogram) else 0
        mean, low, high = self._said(i)
        name = quoted(self.reading.names[i])
        return f"{name} is about {mean}, and with 90 % probability between {low} and {high}."

    def picture(self) -> Html:
        if not isinstance(self.release.model, Histogram):
            return joined([])
        total = max(float(self.mean.sum()), 1.0)
        rows = [
            (name, float(x) / total)
            for name, x in list(zip(self.reading.names, self.mean, strict=True))[:MOST_BARS]
        ]
        drawn = bars("histogram", self.subject.title, rows)
        return element("figure", drawn, element("figcaption", f"Shares of all records.{_more(self.mean)}"))

    def intervals(self) -> Html:
        rows = [(name, *self._said(i)) for i, name in enumerate(self.reading.names[:MOST])]
        made = table("Numbers, with 90 % intervals", ("", "number", "from", "to"), rows, class_="many bare")
        rest = len(self.reading.names) - len(rows)
        left = [f"… and {whole(rest)} more, in the release file."] if rest > 0 else []
        return joined([made, paragraphs(*left, *HOW), cautions(*self.reading.cautions)])

    def next_record(self) -> None:
        """Plain numbers predict nothing."""


def _more(mean: Floats) -> str:
    rest = int(np.size(mean)) - MOST_BARS
    return f" The first {MOST_BARS} are shown; there are {whole(rest)} more." if rest > 0 else ""


def _title(release: Release) -> str:
    model, names = release.model, " and ".join(quoted(name) for name in release.columns)
    if isinstance(model, Histogram):
        return f"How many records are there, by {names}?"
    if isinstance(model, MeanAndVariance):
        return f"What are the mean and the variance of {names} in these records?"
    return "How many records are there?"
