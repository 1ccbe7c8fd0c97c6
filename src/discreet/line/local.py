"""The straight line of the local model: a column of observations → randomised, one by one, and paid for.

Everything happens where the observations live; only the released column leaves. An observation is released
once: the set it belongs to has a public name, under which the ledger keeps the only release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from discreet.line.after_charge import numbers, release_once
from discreet.line.calibrate import LONGEST
from discreet.line.charge import pay
from discreet.mechanisms.local.profile_base import ProfileMechanism
from discreet.mechanisms.registry import no_posterior
from discreet.privacy.accounting.composition import repeat
from discreet.privacy.amplification.mixing import Row
from discreet.privacy.guarantee import Guarantee, NotProved
from discreet.privacy.profile_graph import ProfileGraph
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source
from discreet.shown import visible
from discreet.tables.opening.named import place_of

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.ledger import Ledger, Receipt


@final
@dataclass(frozen=True)
class LocalRelease:
    """Randomised observations in the order of the rows, what was promised for them, and the receipt."""

    values: NDArray[np.int64]  # places in `graph.labels`
    graph: ProfileGraph
    guarantee: Guarantee
    receipt: Receipt
    seeded: bool
    mechanism: str

    @property
    def posterior(self) -> NoReturn:
        """Refused, with the reason: there is no prior of what was observed."""
        raise NotProved(no_posterior(self.mechanism))

    @property
    def labels(self) -> NDArray[Any]:
        return np.array(self.graph.labels, dtype=object)[self.values]


def release_observations(
    data: object,
    mechanism: ProfileMechanism,
    *,
    column: str,
    profile: str,
    observations: str,
    ledger: Ledger,
    unknown: str | None = None,
    per_source: int = 1,
    scope: str | Sequence[str] | None = None,
    source: Source | None = None,
    actor: str | None = None,
) -> LocalRelease:
    """Randomise a column, each row by the kernel of its own profile, and charge for one source's rows.

    `profile` is the column that names each row's profile, which is what stays secret; or one profile of the
    graph, when all rows are of that one. That a row has none of the graph's is as secret as which it has:
    such a row leaves as a fresh draw from the released law of `unknown`, whatever was observed: hidden among
    the rows of that profile, and as well as they are from its neighbours. `observations` names the set for
    good: asked for again it gives what was released, and another mechanism for it is refused. A source with k
    rows in it loses kε: say so with `per_source`.
    """
    from discreet.tables.opening.sources import column_reader  # noqa: PLC0415 - loads Ibis

    if per_source < 1 or not observations.strip():
        raise ValueError("name the set of observations, and say how many rows one source has at most (≥ 1)")
    graph = mechanism.graph
    own = graph.place(profile) if profile in graph.names else _stranger(graph, unknown)
    read = column_reader(data, (column,) if profile in graph.names else (column, profile))
    promise = repeat(mechanism.guarantee, per_source)
    bits = source or SYSTEM
    asked = {"column": column, "profile": profile, "unknown": unknown, "seeded": bits.seeded}
    form = numbers({**asked, **_described(mechanism)})
    said = {
        "data": visible(observations)[:LONGEST],
        "place": place_of(data, None),
        "columns": [visible(column)[:LONGEST]],
        "mechanism": mechanism.name,
        "actor": actor,
    }
    about = {name: value for name, value in said.items() if value}
    receipt = pay(ledger, promise, scope=scope, charge_id=charge_name(observations), about=about)

    def draw(found: dict[str, NDArray[Any]]) -> NDArray[np.uint32]:
        values = np.maximum(_places(found[column], graph.labels), 0)
        places = _profiles(found, graph, profile, values.size)
        released = _randomised(mechanism, values, places, bits)
        nobody = places < 0
        released[nobody] = fresh(mechanism.outputs[own], int(nobody.sum()), bits)
        return released.astype(np.uint32)

    released = release_once(ledger, receipt, read, draw, form).astype(np.int64)
    paid = replace(receipt, computed=True, replay=False)
    return LocalRelease(released, graph, promise, paid, bits.seeded, mechanism.name)


def _described(mechanism: ProfileMechanism) -> dict[str, Any]:
    """Say which mechanism this is: its kind, its graph, and the laws that it releases."""
    graph = mechanism.graph
    laws = [[str(share) for share in law] for law in mechanism.outputs]
    return {"mechanism": mechanism.name, "profiles": graph.names, "labels": graph.labels, "laws": laws}


def _stranger(graph: ProfileGraph, unknown: str | None) -> int:
    """Return the profile whose law rows of none are given; without one nothing is read or charged."""
    if unknown not in graph.names:
        raise ValueError(
            "a column of profiles may hold names that the graph lacks, and whether it does is private: "
            f"say as which profile such rows are released with unknown=, one of {', '.join(graph.names)}; "
            f"got {unknown!r}"
        )
    return graph.place(unknown)


def fresh(law: Row, size: int, source: Source) -> NDArray[np.int64]:
    """Draw from a law of rationals exactly, value after value: P(y | none before) = q_y/(1 − Σ_{x<y} q_x)."""
    drawn, left = np.full(size, len(law) - 1, dtype=np.int64), np.arange(size)
    rest = Fraction(1)
    for y, share in enumerate(law[:-1]):
        hit = exact.bernoulli(source, share / rest, left.size) if rest > 0 else np.zeros(left.size, bool)
        drawn[left[hit]] = y
        left, rest = left[~hit], rest - share
    return drawn


def charge_name(observations: str) -> str:
    """Return the charge's id: a set of observations is paid for, and released, once."""
    return f"observations: {observations}"


def _profiles(found: dict[str, Any], graph: ProfileGraph, profile: str, size: int) -> NDArray[np.int64]:
    if profile in graph.names:
        return np.full(size, graph.place(profile))
    return _places(found[profile], graph.names)  # −1: none of them


def _places(column: pa.Array, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Find texts by their bytes; in arrays of NumPy each would take as much room as the longest."""
    import pyarrow as pa  # noqa: PLC0415 - heavy
    from pyarrow import compute  # noqa: PLC0415

    found = compute.index_in(column, value_set=pa.array(names, column.type))
    return np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)


def _randomised(
    mechanism: ProfileMechanism, values: NDArray[np.int64], places: NDArray[np.int64], source: Source
) -> NDArray[np.int64]:
    released = np.empty_like(values)
    for place in range(len(mechanism.graph.names)):  # all of them, so that the bits drawn tell nothing
        mine = places == place
        released[mine] = mechanism.release(values[mine], source, profile=place)
    return released
