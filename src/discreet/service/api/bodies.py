"""What may be sent: every text and list has a longest, every number its range; with examples."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

Name = Annotated[str, Field(min_length=1, max_length=100)]
Epsilon = Annotated[Decimal, Field(gt=0, le=1000, max_digits=30, allow_inf_nan=False)]
Delta = Annotated[Decimal, Field(ge=0, lt=1, max_digits=60, allow_inf_nan=False)]


def _of_characters(said: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse halves of characters, which nothing could write again; other texts refuse them anyway."""
    try:
        json.dumps(said, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a text holds half a character") from None
    return said


Free = Annotated[dict[str, JsonValue], AfterValidator(_of_characters)]
Relation = Literal["substitute", "add_remove"]
ASKED = {
    "table": "census",
    "columns": ["income"],
    "model": "beta_bernoulli",
    "prior": {"alpha": 1, "beta": 1},
    "epsilon": 0.1,
    "delta": 0,
}


def _examples(*examples: dict[str, object]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [*examples]})  # type: ignore[list-item]


class SignIn(BaseModel):
    """A token, once, for a session of the page."""

    model_config = _examples({"token": "discreet_…"})
    token: Annotated[str, Field(min_length=1, max_length=200)]


class Ask(BaseModel):
    """A question about a table, and the promise under which it would be answered."""

    model_config = _examples(ASKED)
    table: Name
    columns: Annotated[list[Name], Field(max_length=50)] = []
    model: Name
    prior: Annotated[Free, Field(max_length=50)] = {}
    epsilon: Epsilon
    delta: Delta = Decimal(0)
    options: Annotated[Free, Field(max_length=20)] = {}
    mechanism: Name | None = None
    derive: Annotated[dict[Name, Annotated[str, Field(max_length=500)]], Field(max_length=20)] = {}
    where: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=20)] = []


class AskPlan(Ask):
    """A question to plan: with `mechanisms` only these."""

    model_config = _examples(ASKED)
    mechanisms: Annotated[list[Name], Field(max_length=20)] = []


class AskRelease(Ask):
    """A question to pay for."""

    model_config = _examples({**ASKED, "mechanism": "noisy_statistics", "note": "first look"})
    note: Annotated[str, Field(max_length=1000)] = ""


class AskQuery(BaseModel):
    """A query on θ: of a release that was paid for, or of a table, answered by one fresh draw."""

    model_config = _examples(
        {"query": "p > 0.2", "release": "0123456789abcdef0123456789abcdef"}, {"query": "p / (1 - p)", **ASKED}
    )
    query: Annotated[str, Field(min_length=1, max_length=2000)]
    release: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    table: Name | None = None
    columns: Annotated[list[Name], Field(max_length=50)] = []
    model: Name | None = None
    prior: Annotated[Free, Field(max_length=50)] = {}
    epsilon: Epsilon | None = None
    delta: Delta = Decimal(0)
    options: Annotated[Free, Field(max_length=20)] = {}
    mechanism: Name | None = None
    note: Annotated[str, Field(max_length=1000)] = ""


class NewTable(BaseModel):
    """A private table: where it lives and all that is public of it."""

    model_config = _examples(
        {
            "name": "visits",
            "address": "/srv/private/visits.parquet",
            "schema": {"columns": {"smoker": {"kind": "binary"}}},
            "n": 2000,
        }
    )
    name: Name
    address: Annotated[str, Field(min_length=1, max_length=1000)]
    declared: Annotated[dict[str, JsonValue], Field(alias="schema")]
    n: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    label: Annotated[str, Field(max_length=200)] = ""
    source_table: Name | None = None
    unit: Name | None = None
    rows_per_unit: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    relation: Relation = "substitute"
    models: list[Name] = []
    requires: list[Literal["table", "analyst", "group"]] = ["table", "analyst"]


class NewPerson(BaseModel):
    """Somebody who may sign in."""

    model_config = _examples({"name": "ada", "groups": ["epidemiology"]})
    name: Name
    groups: Annotated[list[Name], Field(max_length=50)] = []
    role: Literal["owner", "analyst"] = "analyst"


class NewToken(BaseModel):
    """A token for somebody, which lasts so many days."""

    model_config = _examples({"analyst": "ada", "days": 30})
    analyst: Name
    days: Annotated[float, Field(gt=0, le=3660)] = 90


class NewBudget(BaseModel):
    """A budget: of a table, an analyst or a group."""

    model_config = _examples({"kind": "table", "owner": "visits", "epsilon": 1, "delta": 1e-6})
    kind: Literal["table", "analyst", "group"]
    owner: Name
    epsilon: Epsilon
    delta: Delta = Decimal(0)
    relation: Relation = "substitute"


class BudgetChange(BaseModel):
    """What becomes of a budget, and why; lowered and raised to these amounts."""

    model_config = _examples(
        {"action": "close", "reason": "the study ended"},
        {"action": "raise", "epsilon": 2, "delta": 1e-6, "reason": "a second year was granted"},
    )
    action: Literal["close", "reopen", "lower", "raise"]
    reason: Annotated[str, Field(min_length=1, max_length=1000)]
    epsilon: Epsilon | None = None
    delta: Delta = Decimal(0)


class Decision(BaseModel):
    """What a second person says to a request."""

    model_config = _examples({"decision": "approve", "reason": "as agreed on Monday"})
    decision: Literal["approve", "reject"]
    reason: Annotated[str, Field(min_length=1, max_length=1000)]
