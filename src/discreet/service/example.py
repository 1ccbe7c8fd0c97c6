"""A filled example: two bundled tables, two owners, two analysts, budgets. `make serve` serves it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from discreet.service.budgets import BudgetName
from discreet.service.compute.owned import add_budget
from discreet.service.settings import Settings
from discreet.service.state.people import ANALYST, OWNER, add_person, issue
from discreet.service.state.registered import Registered, register
from discreet.service.state.store import StateStore

SEX = {"kind": "categories", "levels": ["Female", "Male"]}
WORK = (
    "Private",
    "Self-emp-not-inc",
    "Self-emp-inc",
    "Federal-gov",
    "Local-gov",
    "State-gov",
    "Without-pay",
)
CENSUS: Mapping[str, Any] = {
    "columns": {
        "income": {"kind": "binary", "true": ">50K"},
        "age": {"kind": "bounded", "lower": 17, "upper": 90},
        "hours_per_week": {"kind": "bounded", "lower": 0, "upper": 99},
        "sex": SEX,
        "workclass": {"kind": "categories", "unknown": "(unknown)", "levels": [*WORK, "Never-worked"]},
    }
}
SHELLS: Mapping[str, Any] = {
    "columns": {
        "sex": {"kind": "categories", "levels": ["F", "I", "M"]},
        "length": {"kind": "bounded", "lower": 0, "upper": 1},
        "rings": {"kind": "count", "max": 30},
    }
}
PEOPLE = {"grace": OWNER, "mary": OWNER, "ada": ANALYST, "blaise": ANALYST}
BUDGETS = (
    ("table", "census", "10", "1e-5"),
    ("table", "shells", "2", "1e-5"),
    ("analyst", "ada", "4", "1e-5"),
    ("analyst", "blaise", "1", "1e-6"),
    ("analyst", "grace", "1", "1e-6"),
    ("group", "statisticians", "6", "1e-5"),
)


def fill(settings: Settings, state: StateStore) -> dict[str, str]:
    """Enter people, tables and budgets; return each person's token."""
    state.upgrade()
    home = files("discreet.datasets")
    census = {
        "address": str(home / "adult.parquet"),
        "schema": CENSUS,
        "n": 48_842,
        "label": "Census of 1994",
    }
    shells = {"address": str(home / "abalone.parquet"), "schema": SHELLS, "n": 4177, "label": "Abalone"}
    tokens = {}
    for name, role in PEOPLE.items():
        add_person(state, name, role, ["statisticians"] if role == ANALYST else [])
        tokens[name] = issue(state, name)[1]
    for kind, owner, epsilon, delta in BUDGETS:
        add_budget(settings, BudgetName.checked(kind, owner), f"approx:{epsilon},{delta}")
    for name, said in (("census", census), ("shells", shells)):
        register(state, Registered(name=name, **said))  # type: ignore[arg-type]
    return tokens
