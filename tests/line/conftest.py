"""A table in memory that stands in for a real one, so that every family can walk the line."""

import importlib.machinery
import sys
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from discreet.ledger import Ledger
from discreet.privacy.guarantee import SUBSTITUTE
from discreet.privacy.kinds import ApproxDP
from discreet.release.release import Release  # noqa: F401 - loads the real report before `page` replaces it
from discreet.tables.schema import Binary, Schema


@dataclass(frozen=True)
class Counted:
    values: Any
    n: int


@dataclass(frozen=True)
class Statistic:
    table: Any = field(repr=False, compare=False)
    model: Any
    relation: Any
    n: int | None
    rows_per_unit: int
    data: Any = field(repr=False)
    events: list = field(repr=False, compare=False)

    def read(self):
        self.events.append("read")
        if isinstance(self.data, BaseException):
            raise self.data
        return Counted(self.model.statistic(self.data), len(self.data))


@dataclass(frozen=True)
class InMemory:
    data: Any = field(repr=False)
    rows_per_unit: int = 1
    unit: str | None = None
    n: int | None = None
    schema: Schema = field(default=Schema({"smoker": Binary()}))
    columns: tuple = ("smoker",)
    filters: tuple = ()
    label: str = ""
    fingerprint: str = ""
    place: str = ""
    derived: dict = field(default_factory=dict)
    events: list = field(default_factory=list, repr=False, compare=False)

    def bounded(self, model, relation):
        public = (self.n or len(self.data)) if relation is SUBSTITUTE else None
        return Statistic(self, model, relation, public, self.rows_per_unit, self.data, self.events)


@pytest.fixture(autouse=True)
def page(monkeypatch):
    """One line for a report: the real page has tests of its own, and test_end_to_end writes it."""
    short = types.ModuleType("discreet.report")
    short.__spec__ = importlib.machinery.ModuleSpec("discreet.report", None)
    short.report = lambda release, _view: f"<p>{release.mechanism}</p>"
    monkeypatch.setitem(sys.modules, "discreet.report", short)


@pytest.fixture
def memory(monkeypatch):
    line = importlib.import_module("discreet.privatise")
    monkeypatch.setattr(line, "bounded", lambda table, model, relation, **_: table.bounded(model, relation))
    return InMemory


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "budget.db", budget=ApproxDP(4, 1e-5)) as opened:
        yield opened


@pytest.fixture
def smokers():
    return np.array([1, 0, 0, 1, 0] * 40)
