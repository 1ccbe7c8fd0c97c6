"""The sections about θ: the headline, the picture, the intervals, the next record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.catalogue import expect
from discreet.families.family import Family, Floats
from discreet.posteriors.posterior import FamilyPosterior
from discreet.report.drawn.density import density, drawn_on_prior
from discreet.report.drawn.pictures import MOST_ROWS, drawn_rows, forest
from discreet.report.effects import Effect, clearest, effect
from discreet.report.markup import Html, cautions, element, joined, paragraphs, table
from discreet.report.numbers import NONE, decimals, places_for, powers, shown, whole
from discreet.report.predictive import predictive
from discreet.report.subject import (
    LEVEL,
    LEVELS,
    Group,
    Law,
    Subject,
    Summary,
    noise_deviation,
    released_draws,
    shown_first,
    subject,
)

if TYPE_CHECKING:
    from discreet.release.release import Release


COMPARED = (
    "how much {} changes from the middle of a column's range to its top, or where a level is present; the "
    "intercept is in the table"
)
MOST_LINES = 25  # of a table; the rest is counted
AWARE = (
    "The posterior is that of the parameter given the noisy statistic and the law of its noise: intervals "
    "are as wide as the noise makes them."
)
NO_INTERVAL = (
    "An interval is not available. This mechanism released {} of the posterior and nothing else; the "
    "posterior itself stays as private as the data. For intervals release noisy statistics, which are paid "
    "for once and then read freely."
)


@final
@dataclass(frozen=True)
class Findings:
    """What a release says about θ, worked out once: intervals of some laws take a while."""

    release: Release
    subject: Subject
    prior: Summary
    posterior: Summary

    @classmethod
    def of(cls, release: Release) -> Findings | DrawnFindings:
        """Find the sections about a family's θ: a posterior's, or those of single draws."""
        asked, prior, draws = (
            subject(release),
            Summary.of(_family(release).in_units()),
            released_draws(release),
        )
        if draws is not None:
            return DrawnFindings(release, asked, prior, draws)
        return cls(release, asked, prior, Summary.of(release.posterior))

    @property
    def scalar(self) -> bool:
        return self.posterior.mean.size == 1

    def headline(self) -> str:
        """Say the result in one sentence."""
        group = self.subject.groups[0]
        here = self.posterior.within(group)
        if group.answer:
            top, sure = clearest(here.interval * np.array(group.per)[:, None], group.pictured)
            return effect(group, here, top, Effect(f"{group.answer} changes by"), sure=sure)
        top = shown_first(group, here.mean, 1)[0]
        places = max(0, decimals(float(here.widths[top])) - 1)
        mean, low, high = (
            shown(float(v), places, percent=group.percent) for v in (here.mean[top], *here.interval[top])
        )
        about = (
            f"is about {mean}, and with 90 % probability" if mean != NONE else "is, with 90 % probability,"
        )
        return f"{group.named(top)} {about} between {low} and {high}."

    def picture(self) -> Html:
        if self.scalar:
            return _density_figure(_family(self.release), _posterior(self.release), self.subject.groups[0])
        return joined(self._forest(f"group{i}", group) for i, group in enumerate(self.subject.groups))

    def _forest(self, name: str, group: Group) -> Html:
        before, after = (law.within(group).pictured(group) for law in (self.prior, self.posterior))
        kept = replace(group, labels=tuple(group.labels[i] for i in group.pictured))
        drawn, cut = forest(name, kept, before, after)
        axis = COMPARED.replace("{}", group.answer) if any(p != 1 for p in group.per) else group.axis
        return _figure(drawn, f"90 % intervals: {axis}.{_more(kept)}{CUT if cut else ''}")

    def intervals(self) -> Html:
        if self.scalar:
            tables = [_levels_table(_family(self.release), _posterior(self.release), self.subject.groups[0])]
        else:
            tables = [self._lines_table(group) for group in self.subject.groups]
        return joined([*tables, paragraphs(AWARE), self._noise_words()])

    def _lines_table(self, group: Group) -> Html:
        """Several numbers: one line each."""
        after, before = self.posterior.within(group), self.prior.within(group)
        chosen = shown_first(group, after.mean, MOST_LINES)
        common = places_for(after.widths[chosen])
        rows = []
        for i in chosen:
            places = common if group.percent else decimals(float(after.widths[i]))
            said = (after.mean[i], *after.interval[i], before.mean[i], *before.interval[i])
            rows.append((group.labels[i], *(shown(float(v), places, percent=group.percent) for v in said)))
        heads = ("", "mean", "from", "to", "prior mean", "prior from", "prior to")
        made = table(f"90 % intervals: {group.axis}", heads, rows, class_="many bare")
        return joined([made, _left_out(len(group.labels) - len(rows))])

    def _noise_words(self) -> Html:
        """Say what the noise is, what the naive reading would say, and what this one says against itself."""
        deviation, said = noise_deviation(self.release), []
        if self.scalar or self.subject.groups[0].ranked:
            what = "the released total" if self.scalar else "each released count"
            said = [f"The noise on {what} has a standard deviation of {powers(f'{deviation:.4g}')}."]
        if self.scalar:
            group, (low, high) = (
                self.subject.groups[0],
                self.release.read(reading="naive").flat_interval(LEVEL)[0],
            )
            places = places_for(self.posterior.widths)
            ends = (shown(float(end), places, percent=group.percent) for end in (low, high))
            said.append(f"Read as if it were exact, it would give {' to '.join(ends)}, and cover too rarely.")
        return joined([paragraphs(" ".join(said)), cautions(*self.release.posterior.cautions)])

    def next_record(self) -> Html | None:
        return predictive(self.release, self.subject, self.release.posterior)


@final
@dataclass(frozen=True)
class DrawnFindings:
    """What a release of draws says about θ: the draws, on the prior."""

    release: Release
    subject: Subject
    prior: Summary
    draws: Floats  # one per row

    def headline(self) -> str:
        group = self.subject.groups[0]
        part = self.draws[:, group.first : group.stop]
        top = shown_first(group, part.mean(axis=0), 1)[0]
        places = decimals(float(self.prior.within(group).widths[top])) + 1
        said = ", ".join(shown(float(v), places, percent=group.percent) for v in part[:4, top])
        how = "was drawn once" if len(part) == 1 else f"was drawn {len(part)} times"
        further = ", and more" if len(part) > 4 else ""
        return f"{group.named(top)} {how} from its private posterior: {said}{further}."

    def picture(self) -> Html:
        if self.draws.shape[1] == 1:
            drawn = [drawn_on_prior(_family(self.release), self.draws, self.subject.groups[0])]
        else:
            drawn = [
                drawn_rows(f"group{i}", group, self.prior.within(group), self.draws)
                for i, group in enumerate(self.subject.groups)
            ]
        pairs = zip(drawn, self.subject.groups, strict=True)
        return joined(
            _figure(made, f"What was released, on the prior.{_more(group)}") for made, group in pairs
        )

    def intervals(self) -> Html:
        count = "one draw" if len(self.draws) == 1 else f"{len(self.draws)} draws"
        tables = (_draws_table(group, self.draws) for group in self.subject.groups)
        return joined([element("p", NO_INTERVAL.replace("{}", count), class_="caution"), *tables])

    def next_record(self) -> Html:
        return paragraphs("A prediction needs the posterior, which was not released.")


def _family(release: Release) -> Family:
    return expect(Family, release.model)


def _posterior(release: Release) -> FamilyPosterior:
    return expect(FamilyPosterior, release.posterior)


# --- pictures ------------
CUT = " A prior that reaches beyond the picture is cut at its border."


def _density_figure(prior: Family, posterior: FamilyPosterior, group: Group) -> Html:
    drawn, cut = density(prior, posterior, group)
    return _figure(
        drawn, f"What was believed before (prior) and what is known now (posterior).{CUT if cut else ''}"
    )


def _more(group: Group) -> str:
    rest = len(group.labels) - MOST_ROWS
    which = "largest" if group.ranked else "first"
    return f" The {MOST_ROWS} {which} are shown; there are {whole(rest)} more." if rest > 0 else ""


def _figure(drawn: Html, caption: str) -> Html:
    return element("figure", drawn, element("figcaption", caption))


# --- tables ------------
def _levels_table(prior: Family, posterior: FamilyPosterior, group: Group) -> Html:
    """One number: several levels, posterior beside prior."""
    laws: tuple[Law, Law] = (posterior, prior)
    places = places_for(np.diff(np.ravel(posterior.interval(0.9))))

    def say(value: float) -> str:
        return shown(float(value), places, percent=group.percent)

    rows = [
        (f"{100 * level:g} %", *(say(end) for law in laws for end in np.ravel(law.interval(level))))
        for level in LEVELS
    ]
    means = [text for law in laws for text in (say(np.ravel(law.mean())[0]), "")]
    heads = ("level", "from", "to", "prior from", "prior to")
    return table(f"Intervals of the {group.axis}; first the means", heads, [("mean", *means), *rows])


def _draws_table(group: Group, draws: Floats) -> Html:
    part = draws[:, group.first : group.stop]
    chosen = shown_first(group, part.mean(axis=0), MOST_LINES)
    alone = part.shape[1] == 1  # then each draw has a row of its own
    few = part[: MOST_LINES if alone else 3]
    said = [[shown(float(v), 6, percent=group.percent) for v in draw] for draw in few]
    drawn = [f"draw {i + 1}" for i in range(len(few))]
    heads = ("", "released") if alone else ("", *drawn)
    rows = (
        [(name, *line) for name, line in zip(drawn, said, strict=True)]
        if alone
        else [(group.labels[i], *(line[i] for line in said)) for i in chosen]
    )
    further = (
        [f"{len(part) - len(few)} further draws are in the release file."] if len(part) > len(few) else []
    )
    made = table(f"Released: {group.axis}", heads, rows)
    return joined([made, _left_out(len(group.labels) - len(chosen)), paragraphs(*further)])


def _left_out(count: int) -> Html:
    return paragraphs(f"… and {whole(count)} more, in the release file.") if count > 0 else joined([])
