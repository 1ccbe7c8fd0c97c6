"""One name for a posterior draw of a family and of a regression, as `privatise` has it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from discreet.catalogue import ROWS
from discreet.families.family import Family
from discreet.mechanisms.registry import MECHANISMS

C = TypeVar("C", bound="Callable[..., Any]")


def namesake(model: object, kind: Any) -> Any:  # noqa: ANN401 - classes of MECHANISMS
    """Return the mechanism that is called as `kind` is, for models such as this."""
    if isinstance(model, Family):
        return kind
    row = ROWS.get(getattr(model, "name", ""))
    known = row.mechanisms if row is not None else {}
    if kind.name not in known:
        raise TypeError(
            f"{kind.__name__} draws from the posterior of a family or of a regression, got "
            f"{type(model).__name__}; privatise(table, model, …) chooses a mechanism for it"
        )
    return MECHANISMS[known[kind.name]]


def by_model(calibrate: C) -> C:
    """Hand a model of another kind to the namesake's calibrate, whose own options it then takes."""

    @wraps(calibrate)
    def dispatched(cls: object, model: object, **given: Any) -> Any:  # noqa: ANN401
        kind = namesake(model, cls)
        return calibrate(cls, model, **given) if kind is cls else kind.calibrate(model, **given)

    return cast("C", dispatched)


def refuse_namesakes(model: object, kind: type) -> None:
    """Refuse to build `kind` for a model whose draws are another class, and say which."""
    own = namesake(model, kind)
    if own is not kind:
        raise TypeError(
            f"{kind.__name__} is for families, and {type(model).__name__} is a regression: build "
            f"{own.__name__}, or let {kind.__name__}.calibrate(model, n=, target=) find its knob"
        )
