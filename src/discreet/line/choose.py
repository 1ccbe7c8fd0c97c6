"""Before the charge: which mechanisms a model has, and which options each of them takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from discreet.catalogue import row_of
from discreet.mechanisms.mechanism import ModelMechanism
from discreet.mechanisms.registry import model_mechanism, under_distance
from discreet.privacy.guarantee import Relation

FROM_THE_LINE = {"model", "n", "target", "rows_per_unit"}  # what calibrate is given by the walk, not by users


def mechanism_names(model: object) -> tuple[str, ...]:
    """Return the names users type for a model's mechanisms, default first."""
    return tuple(row_of(model).mechanisms)


def default_mechanism(model: object, relation: Relation) -> str:
    """Return the model's first mechanism; under a distance the first that is proved for one, if any is."""
    known = row_of(model).mechanisms
    proved = (name for name, home in known.items() if relation.is_distance and under_distance(home))
    return next(proved, next(iter(known)))


def mechanism_class(mechanism: str, model: object) -> type[ModelMechanism]:
    """Return the mechanism that a user named for a model."""
    known = row_of(model).mechanisms
    if mechanism not in known:
        raise ValueError(
            f"no posterior mechanism for {type(model).__name__} is called {mechanism!r}; there "
            f"{'is' if len(known) == 1 else 'are'} {', '.join(known)}"
        )
    return model_mechanism(known[mechanism])


def typed_name(kind: type[ModelMechanism], model: object) -> str:
    """Return what users call a mechanism of this model."""
    return next((name for name, home in row_of(model).mechanisms.items() if home == kind.name), kind.name)


def refuse_several(kind: type[ModelMechanism], model: object) -> None:
    """Refuse several draws of a mechanism that makes one per charge, and name those that make more."""
    if not kind.repeats:
        several = (name for name in mechanism_names(model) if mechanism_class(name, model).repeats)
        raise ValueError(
            f"{typed_name(kind, model)} makes one release per charge: leave draws out; noisy statistics are "
            "then sampled freely, and several draws at once come from "
            f"{', '.join(several) or 'none for this model'}"
        )


def refuse_strangers(mechanism: str, kind: type[ModelMechanism], options: Mapping[str, object]) -> None:
    """Say which options a mechanism takes and needs, before Python says it less clearly."""
    known = {
        name: p.default is inspect.Parameter.empty
        for name, p in inspect.signature(kind.calibrate).parameters.items()
        if name not in FROM_THE_LINE
    }
    missing = [name for name, needed in known.items() if needed and name not in options]
    if not set(options) <= set(known) or missing:
        takes = ", ".join(f"{name} (needed)" if needed else name for name, needed in known.items())
        raise ValueError(
            f"{mechanism} takes the options: {takes or 'none'}; got {', '.join(sorted(options)) or 'none'}"
        )
