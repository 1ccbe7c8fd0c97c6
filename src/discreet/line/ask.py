"""The query model of D14, Algorithm 1: each question is answered at a fresh posterior draw, and charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast, final

from discreet.line.charge import Book
from discreet.mechanisms.mechanism import Option
from discreet.mechanisms.registry import drawing
from discreet.models.model import Model
from discreet.posteriors.labels import Labels
from discreet.posteriors.read import DrawnPosterior
from discreet.privacy.guarantee import Guarantee
from discreet.privatise import privatise
from discreet.query.query import Query, QueryAnswer, parse
from discreet.query.vocabulary import Vocabulary
from discreet.release.release import Release
from discreet.sampling.source import Source
from discreet.statistics.bounded_statistic import bind
from discreet.tables.table import Table


@final
@dataclass(frozen=True)
class ChargedAnswer:
    """q(θ_k), and the release of θ_k that was paid for: further questions about that draw are free."""

    answer: QueryAnswer
    release: Release


def vocabulary_of(table: Table, model: Model) -> Vocabulary:
    """Return what may be asked of a model on a table, from its public schema alone."""
    chosen, bound = bind(model, table)
    return Vocabulary.of_model(bound, Labels(tuple(chosen.columns), chosen.schema.to_dict()))


def ask(
    question: str,
    table: Table,
    model: Model,
    *,
    mechanism: str,
    target: Guarantee,
    ledger: Book,
    scope: str | Sequence[str] | None = None,
    source: Source | None = None,
    charge_id: str | None = None,
    actor: str | None = None,
    **options: Option,
) -> ChargedAnswer:
    """Answer q(θ_k), θ_k one fresh draw from the posterior, at the price of one draw [D14, Algorithm 1].

    The question is read before anything is charged: one that is refused costs nothing. `mechanism` is one
    that releases draws: direct, diffused, concentrated, tuned, one_posterior_sample or one_network_sample.
    """
    query = parse(question, vocabulary_of(table, model))
    if mechanism not in drawing():
        raise ValueError(
            f"a question is answered at a posterior draw, and {mechanism!r} releases none: use "
            f"{', '.join(drawing())}; noisy statistics are released by privatise and then asked freely"
        )
    release = privatise(
        table,
        model,
        mechanism=mechanism,
        target=target,
        ledger=ledger,
        scope=scope,
        source=source,
        charge_id=charge_id,
        actor=actor,
        note=f"question: {query.text}"[:200],
        **cast("dict[str, Any]", options),
    )
    return ChargedAnswer(answer_of(query, release), release)


def answer_of(query: Query, release: Release) -> QueryAnswer:
    """Ask the draws of a release; its posterior has the names that the question was read with."""
    posterior = release.posterior
    if not isinstance(posterior, DrawnPosterior):
        raise TypeError(f"{release.mechanism} released no draws; ask its posterior: query.of(posterior)")
    return query.of(posterior)
