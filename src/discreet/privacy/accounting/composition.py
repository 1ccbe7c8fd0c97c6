"""Sequential and parallel composition. Answers take the tightest valid bound and say which it was."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from flint import arb

from discreet.privacy.accounting.conversions import above
from discreet.privacy.accounting.tightest import Core, Counted, total
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.guarantee import (
    Guarantee,
    MixedRelations,
    NotProved,
    Relation,
    group_size,
    nonnegative,
    probability,
    renyi_order,
    same_relation,
)


def compose(*guarantees: Guarantee) -> Guarantee:
    """Cost of all of them on the same records, each chosen after seeing the earlier answers.

    One closed kind stays itself (Σρ, √Σμ², exactly); anything else keeps its parts as a Composition, so that
    no tightness is lost before a question is asked.
    """
    return compose_counted((g, 1) for g in guarantees)


def repeat(guarantee: Guarantee, times: int) -> Guarantee:
    """Cost of `times` uses of one guarantee; the number of parts kept does not grow."""
    return compose_counted([(guarantee, repetitions(times))])


def repetitions(times: int) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise ValueError(f"a composition needs a whole number of uses, at least 1, got {times}")
    return times


def compose_counted(parts: Iterable[tuple[Guarantee, int]]) -> Guarantee:
    """Compose with multiplicities: flatten, fold closed kinds exactly, sort, so that order never matters."""
    flat = [
        (leaf, n * m) for g, n in parts for leaf, m in (g.parts if isinstance(g, Composition) else ((g, 1),))
    ]
    relation = _common(flat)
    counts: Counter[Guarantee] = Counter()
    closed: dict[type[Guarantee], Guarantee] = {}
    for guarantee, times in flat:
        kind = type(guarantee)
        folded = guarantee.folded(times, closed.get(kind))
        if folded is None:
            counts[guarantee] += times
        else:
            closed[kind] = folded
    pieces = [*counts.items(), *((g, 1) for g in closed.values())]
    if len(pieces) == 1 and pieces[0][1] == 1:
        return pieces[0][0]
    pieces.sort(key=lambda piece: (type(piece[0]).__name__, repr(piece[0])))
    return Composition(tuple(pieces), relation=relation)


def _common(parts: Iterable[tuple[Guarantee, int]]) -> Relation:
    """Return the relation of all uses; two uses of one promise are two."""
    return same_relation(*(g for g, n in parts for _ in range(min(n, 2))))


@final
@dataclass(frozen=True, repr=False)
class Composition(Guarantee):
    """Parts used on the same records, as a multiset. Built by compose.

    ε(δ) is the least of: the basic sum, advanced composition [KOV15 Thm 3.5], optimal composition [KOV15
    Thm 3.3], the sum of Rényi curves converted over all orders, the sum of zCDP costs. (ε_i, δ_i) parts first
    give up their disclosing events: D = 1 − Π(1 − δ_i), and the rest answers at (δ − D)/(1 − D).
    """

    parts: Counted

    def __post_init__(self) -> None:
        """Refuse what compose would not build, from JSON too."""
        for _, n in self.parts:
            repetitions(n)
        if _common(self.parts) != self.relation:
            raise MixedRelations(f"a composition about {self.relation.name} holds parts about others")

    # ── the questions ──

    def epsilon(self, delta: Exact) -> float:
        return min(self.bounds(delta).values())

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        core = Core.of(self.parts)
        rest = core.delta(asked)
        return min(1.0, above(lambda: core.disclosed() + (1 - core.disclosed()) * arb(rest)))

    def bounds(self, delta: Exact) -> dict[str, float]:
        """Every valid ε at this δ, by the name of its theorem; ∞ where the theorem does not apply."""
        asked = probability("delta", delta)
        core = Core.of(self.parts)
        remaining = core.remaining(asked)
        return dict.fromkeys(("basic",), math.inf) if remaining < 0 else core.bounds(remaining)

    def method(self, delta: Exact) -> str:
        """Name the bound that ε(δ) comes from: basic, advanced, optimal, renyi or zcdp."""
        found = self.bounds(delta)
        return min(found, key=lambda name: found[name])

    def explain(self, delta: Exact) -> str:
        """Say in one line which bound won, and what the others gave."""
        found = self.bounds(delta)
        best = min(found, key=lambda name: found[name])
        others = ", ".join(f"{name} {value:.6g}" for name, value in found.items() if name != best)
        count = sum(n for _, n in self.parts)
        head = f"ε = {found[best]:.6g} at δ = {float(delta):.6g} by {best} composition of {count} parts"
        return f"{head} ({others})" if others else head

    def renyi(self, order: Exact) -> float:
        """Σ D_α, adaptively too [M17 Prop. 1]."""
        values = [(g.renyi(renyi_order(order)), n) for g, n in self.parts]
        return total(values)

    @property
    def order_limit(self) -> float:
        return min(g.order_limit for g, _ in self.parts)

    @property
    def zcdp_bound(self) -> float:
        return total([(g.zcdp_bound, n) for g, n in self.parts])

    @property
    def gdp_bound(self) -> float:
        bounds = [(g.gdp_bound, n) for g, n in self.parts]
        if any(mu == math.inf for mu, _ in bounds):
            return math.inf
        square = sum((n * Fraction(mu) ** 2 for mu, n in bounds), Fraction(0))
        return above(lambda: ball(square).sqrt())

    @property
    def range_bound(self) -> float:
        """2Σε: the interval of an adaptively chosen part may move, but never leaves [−ε_i, ε_i]."""
        return total([(g.epsilon(0), 2 * n) for g, n in self.parts])

    def group(self, k: int) -> Guarantee:
        """Each part for k records at once."""
        return compose_counted((g.group(k), n) for g, n in self.parts)

    def substituted(self) -> Self:
        return type(self)(tuple((g.substituted(), n) for g, n in self.parts))

    def implied_by(self, other: Guarantee) -> bool:
        """Proved where every use in `other` is one of the uses here; more is not known."""
        mine = Counter(dict(self.parts))
        theirs = Counter(dict(other.parts)) if isinstance(other, Composition) else Counter({other: 1})
        return theirs <= mine


# ── disjoint records ────────────────────────────────────────────────────────────────────────────────


def parallel(*guarantees: Guarantee) -> Guarantee:
    """Cost of mechanisms that see disjoint parts of the data: the worst of them, not the sum [McSherry 2009].

    Under ADD_REMOVE one record touches one part. Under SUBSTITUTE the split must be by a public index or a
    key that a substitution cannot change; a split by a private value moves a record from one part to another,
    which is a change in two parts: compose two ADD_REMOVE guarantees instead.
    """
    relation = same_relation(*guarantees)
    if relation.is_distance:
        raise NotProved(
            f"under {relation.name} nothing is proved of disjoint parts: a distance between tables need not "
            "be the sum of those between their parts; compose the guarantees, whose costs add up"
        )
    leaves = {leaf for g in guarantees for leaf in (g.parts if isinstance(g, Worst) else (g,))}
    ordered = sorted(leaves, key=lambda g: (type(g).__name__, repr(g)))
    kept: list[Guarantee] = []
    for g in ordered:
        if not any(g <= other for other in kept):
            kept = [other for other in kept if not other <= g] + [g]
    return kept[0] if len(kept) == 1 else Worst(tuple(kept), relation=relation)


@final
@dataclass(frozen=True, repr=False)
class Worst(Guarantee):
    """Each pair of neighbours is covered by one of these; every answer is their worst. Built by parallel."""

    parts: tuple[Guarantee, ...]

    def __post_init__(self) -> None:
        if same_relation(*self.parts) != self.relation:
            raise MixedRelations(f"a promise about {self.relation.name} holds parts about others")

    def epsilon(self, delta: Exact) -> float:
        return max(g.epsilon(delta) for g in self.parts)

    def delta(self, epsilon: Exact) -> float:
        return max(g.delta(epsilon) for g in self.parts)

    def renyi(self, order: Exact) -> float:
        return max(g.renyi(order) for g in self.parts)

    @property
    def order_limit(self) -> float:
        return min(g.order_limit for g in self.parts)

    @property
    def zcdp_bound(self) -> float:
        return max(g.zcdp_bound for g in self.parts)

    @property
    def gdp_bound(self) -> float:
        return max(g.gdp_bound for g in self.parts)

    @property
    def range_bound(self) -> float:
        return max(g.range_bound for g in self.parts)

    def group(self, k: int) -> Guarantee:
        """K records fall into the disjoint parts; each way to do so costs the composition of its groups."""
        ways = _splits(group_size(k), len(self.parts))
        return parallel(
            *(compose(*(g.group(n) for g, n in zip(self.parts, way, strict=True) if n)) for way in ways)
        )

    def substituted(self) -> Self:
        return type(self)(tuple(g.substituted() for g in self.parts))

    def implied_by(self, other: Guarantee) -> bool:
        return any(other <= g for g in self.parts)


def _splits(k: int, bins: int) -> Iterator[tuple[int, ...]]:
    if bins == 1:
        yield (k,)
        return
    for first in range(k + 1):
        yield from ((first, *rest) for rest in _splits(k - first, bins - 1))
