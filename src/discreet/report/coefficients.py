"""The sections about a regression: every weight with its interval, and what the weights predict."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtri

from discreet.catalogue import expect
from discreet.families.family import Floats
from discreet.families.named_columns import references
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.posteriors.regression.coefficients import CoefficientDraws, Coefficients
from discreet.report.drawn.pictures import bars, drawn_rows, forest
from discreet.report.effects import Effect, clearest, effect
from discreet.report.markup import Html, cautions, element, joined, paragraphs, table
from discreet.report.numbers import decimals, shown, whole
from discreet.report.subject import LEVEL, Group, Subject, Summary, quoted, released_draws

if TYPE_CHECKING:
    from discreet.release.release import Release


MOST_WEIGHTS, MOST_BARS = 24, 10
SCALE = (
    "Each weight is how much the {} for one more unit of the column, or from {} to the level; the intercept "
    "is where all columns are 0. Columns are scaled by their public bounds to between −1 and 1 before a row "
    "longer than the norm {} is scaled down to it, and that is the scale of the picture."
)
COMPARED = "how much the {} from the middle of a column's range to its top, or from absent to present"
AWARE = (
    "The posterior is that of the weights given what was released and the law of its noise: intervals are as "
    "wide as the noise and the sampling of the records make them."
)
NAIVE = "What was released is read here as if it had no noise: the intervals are too narrow."
ONLY_DRAWS = (
    "An interval is not available. This mechanism released {} of the weights and nothing else; their "
    "posterior stays as private as the data. For intervals release by objective perturbation, which is paid "
    "for once and then read freely."
)
AVERAGED = (
    "A new record is predicted by averaging over the posterior, or over its reading made for predictions, so "
    "that what noise left uncertain makes predictions less bold."
)
DRAWN = "A new record is predicted with the weights that were released."


@final
@dataclass(frozen=True)
class CoefficientFindings:
    """What a release says about the weights, the largest first, from positive to negative."""

    release: Release
    subject: Subject
    order: tuple[int, ...]  # of the weights that are shown

    @classmethod
    def of(cls, release: Release) -> CoefficientFindings:
        model = expect(GeneralizedLinear, release.model)
        mean = expect(Coefficients, release.posterior).encoded_mean()
        largest = np.argsort(-np.abs(mean), kind="stable")[:MOST_WEIGHTS]
        order = tuple(int(i) for i in largest[np.argsort(-mean[largest], kind="stable")])
        group = Group(
            f"In predicting {_answer(model)}, the weight of",
            f"weight in predicting {_answer(model)}",
            tuple(model.names[i] for i in order),
        )
        return cls(release, Subject(_title(model), (group,)), order)

    @property
    def model(self) -> GeneralizedLinear:
        return expect(GeneralizedLinear, self.release.model)

    @property
    def read(self) -> Coefficients:
        return expect(Coefficients, self.release.posterior)

    @property
    def prior(self) -> Summary:
        """N(0, R²/d) for every weight of encoded columns, per unit of the columns."""
        units, count = self.read.units, self.model.dimension
        return self._shown(
            units.weights(np.zeros(count)), units.spread(np.eye(count) / float(self.model.strength))
        )

    @property
    def posterior(self) -> Summary | None:
        """Of the weights that are shown; None where draws are all that was released."""
        if released_draws(self.release) is not None:
            return None
        all_of_them, shown_ones = Summary.of(self.release.posterior), list(self.order)
        return Summary(
            all_of_them.mean[shown_ones], all_of_them.deviation[shown_ones], all_of_them.interval[shown_ones]
        )

    def _shown(self, mean: Floats, covariance: Floats) -> Summary:
        """Summarise normal laws of the weights that are shown."""
        chosen = list(self.order)
        spread = np.sqrt(np.maximum(np.diag(covariance), 0))
        ends = mean[:, None] + spread[:, None] * ndtri(np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
        return Summary(mean[chosen], spread[chosen], ends[chosen])

    @property
    def _compared(self) -> tuple[Summary, Summary | None]:
        """Prior and posterior of encoded columns' weights, which can be compared with each other."""
        d, chosen, read = self.model.dimension, list(self.order), self.read
        before = self._shown(np.zeros(d), np.eye(d) / float(self.model.strength))
        if released_draws(self.release) is not None:
            return before, None
        ends = read.encoded_interval(LEVEL)[chosen]
        return before, Summary(read.encoded_mean()[chosen], np.diff(ends)[:, 0] / 2, ends)

    def headline(self) -> str:
        """Say in one sentence what the clearest column does; of a draw, its largest weight."""
        group, after = self.subject.groups[0], self.posterior
        named = [i for i, place in enumerate(self.order) if place < len(self.model.design)]
        if after is None:
            compared = np.abs(self.read.encoded_mean()[list(self.order)])
            top = max(named, key=lambda i: float(compared[i]))
            mean = float(self.release.posterior.flat_mean()[self.order[top]])
            places = decimals(float(self.prior.widths[top])) + 1
            return f"{group.named(top)} was drawn from its private posterior: {shown(mean, places)}."
        top, sure = clearest(self.read.encoded_interval(LEVEL)[list(self.order)], named)
        return effect(group, after, top, _change(self.model), sure=sure)

    def picture(self) -> Html:
        group, (before, after) = self.subject.groups[0], self._compared
        meaning = COMPARED.replace("{}", _effect(self.model))
        if after is None:
            draws = expect(CoefficientDraws, self.release.posterior).encoded[:, list(self.order)]
            drawn = drawn_rows("weights", group, before, draws, most=MOST_WEIGHTS)
            return _figure(drawn, f"What was released, on the prior: {meaning}.{self._more}")
        drawn, cut = forest("weights", group, before, after, most=MOST_WEIGHTS)
        beyond = " A prior that reaches beyond the picture is cut at its border." if cut else ""
        return _figure(drawn, f"90 % intervals: {meaning}.{self._more}{beyond}")

    @property
    def _more(self) -> str:
        rest = self.model.dimension - len(self.order)
        return f" The {MOST_WEIGHTS} largest are shown; there are {whole(rest)} more." if rest > 0 else ""

    def intervals(self) -> Html:
        against = references(self.model.design)
        absent = " and ".join(f"{quoted(a)} of {quoted(c)}" for c, a in against.items()) or "absent"
        meaning = SCALE
        for words in (_effect(self.model), absent, f"{float(self.model.norm):g}"):
            meaning = meaning.replace("{}", words, 1)
        said = cautions(*self.release.posterior.cautions)
        return joined([self._table(), paragraphs(self._reading(), meaning), said])

    def _table(self) -> Html:
        group, after, before = self.subject.groups[0], self.posterior, self.prior
        mean = self.release.posterior.flat_mean()[list(self.order)]
        heads: tuple[str, ...] = ("", "released", "prior from", "prior to")
        caption, ends = f"Released, and the prior's 90 % intervals: {group.axis}", before.interval
        if after is not None:
            heads, caption = ("", "mean", "from", "to", *heads[2:]), f"90 % intervals: {group.axis}"
            ends = np.hstack([after.interval, before.interval])
        widths = (before if after is None else after).widths
        rows = [
            (label, *(shown(float(v), decimals(float(widths[i]))) for v in (mean[i], *ends[i])))
            for i, label in enumerate(group.labels)
        ]
        return table(caption, heads, rows, class_="many bare")

    def _reading(self) -> str:
        if (draws := released_draws(self.release)) is not None:
            return ONLY_DRAWS.replace("{}", "one draw" if len(draws) == 1 else f"{len(draws)} draws")
        return NAIVE if self.release.posterior.reading == "naive" else AWARE

    def next_record(self) -> Html:
        """E[y | x] where one feature is 1 and all others are 0, for the features that matter most."""
        predict, d = self.read.probability, len(self.model.design)
        chosen = [i for i in self.order if i < d]
        mean = self.read.encoded_mean()
        largest = set(sorted(chosen, key=lambda i: -abs(mean[i]))[:MOST_BARS])
        kept = [i for i in chosen if i in largest]
        base, each = float(predict(np.zeros((1, d)))[0]), predict(np.eye(d)[kept])
        said = (
            f"{DRAWN if self.posterior is None else AVERAGED} Where every number is in the middle of its "
            f"range and no level is present, {_prediction(self.model, base)}. With one feature at its top or "
            "present, and no other:"
        )
        rows = [(self.model.names[i], float(p)) for i, p in zip(kept, each, strict=True)]
        drawn = _bars(self.model, self.subject.title, rows)
        return joined([paragraphs(said), drawn])


# --- words ------------
def _logistic(model: GeneralizedLinear) -> bool:
    return model.loss.name == "logistic"


def _answer(model: GeneralizedLinear) -> str:
    wanted = getattr(model, "labels", (False, True))[1] if _logistic(model) else True
    return quoted(model.target) if wanted is True else f"{quoted(model.target)} = {quoted(str(wanted))}"


def _title(model: GeneralizedLinear) -> str:
    return (
        f"What makes {_answer(model)} likely?"
        if _logistic(model)
        else f"What does {_answer(model)} depend on?"
    )


def _effect(model: GeneralizedLinear) -> str:
    grown = {
        "logistic": f"log odds of {_answer(model)} grow",
        "clipped_poisson": f"logarithm of the rate of {_answer(model)} grows",
    }
    return grown.get(model.loss.name, f"prediction of {_answer(model)} grows")


def _change(model: GeneralizedLinear) -> Effect:
    grown = {
        "logistic": f"the odds of {_answer(model)} are multiplied by",
        "clipped_poisson": f"the rate of {_answer(model)} is multiplied by",
    }
    if model.loss.name in grown:
        return Effect(grown[model.loss.name], exp)
    return Effect(f"the prediction of {_answer(model)} changes by")


def _prediction(model: GeneralizedLinear, value: float) -> str:
    if _logistic(model):
        return f"{_answer(model)} has a probability of {100 * value:.1f} %"
    return f"{_answer(model)} is expected to be {value:.4g}"


def _bars(model: GeneralizedLinear, title: str, rows: list[tuple[str, float]]) -> Html:
    if _logistic(model):
        return element("figure", bars("predictive", title, rows))
    return table(f"Expected {_answer(model)}", ("", "expected"), [(name, f"{v:.4g}") for name, v in rows])


def _figure(drawn: Html, caption: str) -> Html:
    return element("figure", drawn, element("figcaption", caption))
