"""What one computing process keeps: its ledger, open tables, and statistics that were read once."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar, final

from discreet.cli.fit import chosen_rows
from discreet.cli.typed.arguments import promise
from discreet.cli.typed.job import Job, any_model_of, source_of
from discreet.ledger import Ledger
from discreet.models.model import Model
from discreet.privacy.guarantee import Guarantee
from discreet.release.json import canonical
from discreet.service.compute.orders import Inquiry
from discreet.service.settings import Settings
from discreet.service.state.registered import Registered
from discreet.statistics.bounded_statistic import BoundedStatistic, PrivateValue, bounded
from discreet.tables.schema import Schema
from discreet.tables.table import Table
from discreet.tables.without_rows import without_rows

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@final
@dataclass
class Kept(Generic[K, V]):
    """The most recently used of what is costly to make again."""

    most: int
    held: OrderedDict[K, V] = field(default_factory=OrderedDict)

    def get(self, key: K, make: Callable[[], V]) -> V:
        if key in self.held:
            self.held.move_to_end(key)
            return self.held[key]
        made = make()
        self.held[key] = made
        if len(self.held) > self.most:
            self.held.popitem(last=False)
        return made


@final
@dataclass
class Desk:
    """One process's own; made when it begins."""

    settings: Settings
    tables: Kept[tuple[str, int], Table] = field(default_factory=lambda: Kept(32))
    statistics: Kept[str, BoundedStatistic] = field(default_factory=lambda: Kept(256))
    prepared: Kept[str, Any] = field(default_factory=lambda: Kept(512))
    releases: Kept[str, Any] = field(default_factory=lambda: Kept(64))
    book: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        """Open when first asked, and again after the database was away."""
        if self.book is None:
            self.book = Ledger.open(self.settings.ledger)
        return self.book

    def table(self, registered: Registered) -> Table:
        return self.tables.get((registered.name, registered.revision), lambda: opened(registered))

    def statistic(self, question: Inquiry, model: Model, table: Table, reads: str) -> BoundedStatistic:
        """Return the statistic of a question, which is read once however often it is paid for."""
        said = asdict(question)
        said["table"] = [question.table.name, question.table.revision]
        for name in ("epsilon", "delta", "mechanism", "options"):
            said.pop(name)
        key = canonical([plain(said), reads])
        return self.statistics.get(
            key, lambda: read_once(bounded(table, model, target(question).relation, reads=reads))
        )


def plain(value: object) -> object:
    """Return JSON with fractions in it as JSON."""
    return json.loads(json.dumps(value, default=str))


def read_once(statistic: BoundedStatistic) -> BoundedStatistic:
    """Return the statistic with a query that runs when it is first asked, and remembers what succeeded."""
    found: list[PrivateValue] = []

    def query() -> PrivateValue:
        if not found:
            found.append(statistic.query())
        return found[0]

    return replace(statistic, query=query)


def opened(table: Registered) -> Table:
    """Open a registered table: names and types are compared, no value is read."""
    source, name = source_of(table.address, table.source_table)
    return Table.open(
        source,
        schema=Schema.from_dict(table.schema),
        unit=table.unit,
        rows_per_unit=table.rows_per_unit,
        table=name,
        n=table.public_n,
        label=table.name,
    )


def target(question: Inquiry) -> Guarantee:
    nothing = Fraction(question.delta) == 0
    words = f"pure:{question.epsilon}" if nothing else f"approx:{question.epsilon},{question.delta}"
    return promise(words, question.table.relation)


def job_of(question: Inquiry) -> Job:
    """Say the question in the words of `discreet fit`."""
    return Job(
        column=question.columns,
        model=question.model,
        prior=exactly(question.prior),
        mechanism=question.mechanism,
        options=exactly(question.options),
        relation=question.table.relation,
        derive=question.derive,
        where=question.where,
    )


def exactly(given: Mapping[str, object]) -> dict[str, Any]:
    """Read every double as the decimal that was written."""
    return {name: _exact(value) for name, value in given.items()}


def _exact(value: object) -> object:
    if isinstance(value, float):
        return Fraction(repr(value))
    if isinstance(value, dict):
        return exactly(value)
    return [_exact(each) for each in value] if isinstance(value, list | tuple) else value


def chosen(question: Inquiry, table: Table) -> tuple[Table, Model]:
    """Return what is asked: the columns of the table, and the model of them."""
    job = job_of(question)
    whole = chosen_rows(job, lambda: table)
    model = any_model_of(job, whole.schema)
    return (whole[question.columns] if question.columns else whole), model


def imagined(question: Inquiry) -> tuple[Table, Model]:
    """Do so with a table that has no rows, for plans."""
    said = question.table
    schema = Schema.from_dict(said.schema)
    return chosen(question, without_rows(schema, n=said.n, unit=said.unit, rows_per_unit=said.rows_per_unit))


_DESK: list[Desk] = []


def begin(settings: Settings) -> None:
    """Prepare this process."""
    _DESK[:] = [Desk(settings)]


def desk() -> Desk:
    return _DESK[0]
