"""At most k rows per unit: a systematic sample of the unit's sorted rows, from a start that a hash gives.

Rank r of M is taken iff (r·k + s) mod M < k, s = mix(unit) mod M: exactly k ranks if k < M, each equally
often over s. The choice reads no other unit. Rows that tie are equal, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ibis

from discreet.tables.codes import how_often
from discreet.tables.rows import UNIT

if TYPE_CHECKING:
    from ibis.expr import types as ir


WEIGHT = "discreet_weight"
PRIME = 2**31 - 1
ROUNDS = (  # (multiplier, public salt, prime): linear maps mix when their moduli alternate
    (1_588_635_695, 1_013_904_223, 2**31 - 1),
    (1_117_695_901, 1_664_525_881, 2**31 - 19),
    (1_703_900_269, 374_761_393, 2**31 - 61),
)
LAST = 4  # characters of a text that are mixed


def mix(unit: ir.Value) -> ir.Value:
    """Mix portably to 31 bits: products stay below 2^62, and h occurs once, so that SQL stays short."""
    return _rounds(_residue(unit)) if unit.type().is_integer() else _text(unit)


def _residue(x: ir.Value) -> ir.Value:
    """X mod p in {0, …, p−1}: engines disagree on the sign of a negative remainder."""
    return ((x % PRIME).cast("int64") + PRIME) % PRIME


def _rounds(h: ir.Value) -> ir.Value:
    for multiplier, salt, prime in ROUNDS:
        h = (h * multiplier + salt) % prime
    return h


def _text(unit: ir.Value) -> ir.Value:
    """Horner over the length and the last code points; texts that collide merely share their start."""
    length = unit.length().cast("int64")
    h = length
    for back in range(LAST):
        at = (length > back).ifelse(length - 1 - back, 0).cast("int32")
        point = (length > back).ifelse(unit.substr(at, 1).ascii_str().cast("int64"), 0)
        h = (h * 1_114_129 + point) % PRIME
    return _rounds(h)


def taken(below: ir.Value, total: ir.Value, k: int, start: ir.Value) -> ir.Value:
    """Return how many of the ranks 0, …, below−1 of `total` are taken; all of them where total ≤ k."""
    first = start + total - k  # not negative where it is used
    some = (first + below * k) // total - first // total
    return (total <= k).ifelse(below, some).cast("int64")


def weighted(rows: ir.Table, names: Sequence[str], k: int) -> ir.Table:
    """Rows with equal cells → one, WEIGHT = how many of them count."""
    cells = rows.group_by([UNIT, *names]).aggregate(discreet_m=rows.count())
    inside = ibis.window(group_by=UNIT, order_by=list(names), preceding=None, following=0)
    total = cells.discreet_m.sum().over(ibis.window(group_by=UNIT)).cast("int64")
    upto = cells.discreet_m.sum().over(inside).cast("int64")
    ranked = cells.mutate(discreet_total=total, discreet_upto=upto)
    return ranked.select(*names, **{WEIGHT: _between(ranked, k)})


def _between(ranked: ir.Table, k: int) -> ir.Value:
    total, upto = ranked.discreet_total, ranked.discreet_upto
    start = mix(ranked[UNIT]) % total
    return taken(upto, total, k, start) - taken(upto - ranked.discreet_m.cast("int64"), total, k, start)


def sampled(rows: ir.Table, names: Sequence[str], k: int) -> ir.Table:
    """Rows that count; the rank is a window's, for cells too many to count."""
    rank = ibis.row_number().over(ibis.window(group_by=UNIT, order_by=list(names))).cast("int64")
    ranked = rows.mutate(
        discreet_rank=rank, discreet_total=rows.count().over(ibis.window(group_by=UNIT)).cast("int64")
    )
    start = mix(ranked[UNIT]) % ranked.discreet_total
    counts = (ranked.discreet_rank * k + start) % ranked.discreet_total < k
    return ranked.filter((ranked.discreet_total <= k) | counts).select(*names)


def split_by_code(rows: ir.Table, name: str, labels: Sequence[int], size: int, k: int) -> ir.Table:
    """Few codes: the counts of each unit in one pass; then how many of each declared code are taken.

    Columns c0, c1, …; the first value is not counted but is what the others leave of the total.
    """
    each = {f"v{v}": how_often(rows[name] == v) for v in range(1, len(labels))}
    units = rows.group_by(UNIT).aggregate(discreet_total=rows.count().cast("int64"), **each)
    values = {v: units[f"v{v}"] for v in range(1, len(labels))}
    values[0] = units.discreet_total - sum(values.values())
    zero = ibis.literal(0, type="int64")
    counts = {f"c{c}": sum((values[v] for v, at in enumerate(labels) if at == c), zero) for c in range(size)}
    units = units.select("discreet_total", discreet_start=mix(units[UNIT]) % units.discreet_total, **counts)
    columns, below, before = {}, zero, zero
    for code in range(size):
        below += units[f"c{code}"]
        upto = taken(below, units.discreet_total, k, units.discreet_start)
        columns[f"c{code}"], before = upto - before, upto
    return units.select(**columns)
