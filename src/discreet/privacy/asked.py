"""What a release is asked to promise, said in one of two ways: a target, or ε, δ and the relation."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.kinds import ApproxDP, PureDP


def promise(
    target: Guarantee | None,
    epsilon: Exact | None,
    delta: Exact | None,
    relation: Relation | str | None = None,
) -> Guarantee:
    """Return the target, or what ε, δ and the relation say; decimals are exact, so that 0.1 is one tenth."""
    if (target is None) == (epsilon is None):
        raise ValueError(
            "say what to promise: either target=dc.ApproxDP(1, 1e-6), or epsilon=1, delta=1e-6; "
            f"got {_given(target, delta)}"
        )
    if target is not None:
        if not isinstance(target, Guarantee):
            raise TypeError(f"target must be a guarantee, e.g. dc.ApproxDP(1, 1e-6), got {target!r}")
        if delta is not None or relation not in {None, target.relation, target.relation.value}:
            raise ValueError("delta and relation belong to epsilon=…; a target holds its own")
        return target
    neighbours = Relation(relation or "substitute") if not isinstance(relation, Relation) else relation
    assert epsilon is not None  # noqa: S101 - one of the two was given
    if delta is None or delta == 0:
        return PureDP(decimal(epsilon), relation=neighbours)
    return ApproxDP(decimal(epsilon), decimal(delta), relation=neighbours)


def _given(target: Guarantee | None, delta: Exact | None) -> str:
    if target is not None:
        return "both"
    return "neither" if delta is None else "delta without epsilon"


def promises(
    targets: Mapping[str, Guarantee] | None,
    epsilon: Mapping[str, Exact] | None,
    delta: Exact | None,
    relation: Relation | str | None = None,
) -> dict[str, Guarantee]:
    """Return the target of each audience, or what its ε and the common δ say."""
    if (targets is None) == (epsilon is None):
        raise ValueError(
            "say what to promise to each audience: either targets={'team': dc.ApproxDP(2, 1e-6), …}, or "
            f"epsilon={{'team': 2, …}}, delta=1e-6; got {'neither' if targets is None else 'both'}"
        )
    if targets is not None:
        return {name: promise(target, None, delta, relation) for name, target in targets.items()}
    return {name: promise(None, loss, delta, relation) for name, loss in (epsilon or {}).items()}


def decimal(x: Exact) -> Exact:
    """Read a float as the decimal that was written; whatever is no number is refused where it is used."""
    return Fraction(repr(x)) if isinstance(x, float) and abs(x) < float("inf") else x
