"""The straight line for a private chain: counts → plan → CHARGE for all of it → read → run → release."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from discreet import __version__
from discreet.families.family import Floats
from discreet.line.after_charge import Form, numbers, release_once, walk_once
from discreet.line.calibrate import charge_facts, provenance
from discreet.line.charge import pay
from discreet.mcmc.kernel import Counts, Kernel
from discreet.mcmc.running import run as chain
from discreet.mcmc.running.checkpoint import Checkpoint, CheckpointError, settings
from discreet.mcmc.running.fingerprint import fingerprint
from discreet.mcmc.running.plan import ChainPlan, calibrate
from discreet.mcmc.running.run import Chains
from discreet.place import dated, new_file
from discreet.posteriors.labels import Labels
from discreet.posteriors.posterior import Posterior
from discreet.posteriors.private_chain import read as read_chain
from discreet.privacy.accounting.filters import Overspent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.json import to_json
from discreet.release.receipt import LedgerError
from discreet.sampling.source import SYSTEM, Source
from discreet.statistics.bounded_statistic import PrivateValue
from discreet.statistics.cells import BoundedCounts, counts
from discreet.tables.table import Table

if TYPE_CHECKING:
    from discreet.ledger import Ledger, Receipt


__all__ = ["ChainRelease", "calibrate", "resume", "run"]

FORMAT = "discreet-chain-release/1"


@final
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ChainRelease:
    """What left: all states of all chains, the promise for each unit, and where it came from. All public."""

    chains: Chains
    guarantee: Guarantee  # of all rows of one unit, for the planned length
    n: int | None
    rows_per_unit: int
    provenance: dict[str, Any] = field(repr=False)
    receipt: Receipt
    version: str
    created: str

    @property
    def kernel(self) -> Kernel:
        return self.chains.kernel

    @property
    def draws(self) -> Floats:  # chains × (start and steps) × entries
        return self.chains.draws

    @cached_property
    def posterior(self) -> Posterior:
        """The later half of the states, read as a posterior; computed once."""
        return self.read()

    def read(
        self, *, burn: int | None = None, **options: ArrayLike
    ) -> Posterior:  # missing=, of hidden states
        """Read the states after `burn` steps; free, as often as you like."""
        labels = Labels(self.kernel.columns, json.loads(self.provenance["schema_text"]))
        return read_chain(self, burn=burn, **options).labelled(labels)

    def summary(self, burn: int | None = None) -> dict[str, dict[str, float]]:
        """Mean, deviation, R̂ and effective size, by name; half of the steps are burnt unless said."""
        return self.chains.summary(burn)

    def certificate(self) -> dict[str, Any]:
        """Say what is promised, by which theorem, for which table, as plain JSON."""
        plan = self.chains.plan
        return {
            "format": FORMAT,
            "kernel": plan.kernel.name,
            "theorem": plan.kernel.theorem,
            "columns": list(plan.kernel.columns),
            "labels": list(plan.kernel.labels),
            "temperature": str(plan.kernel.heat),
            "steps": {"planned": plan.steps, "made": self.chains.steps, "chains": plan.chains},
            "guarantee": to_json(self.guarantee),
            "n": self.n,
            "rows_per_unit": self.rows_per_unit,
            "seeded": self.chains.seeded,
            "table": {name: value for name, value in self.provenance.items() if name != "schema_text"},
            "receipt": asdict(self.receipt),
            "version": self.version,
            "created": self.created,
        }

    def save(self, path: str | Path) -> Path:
        """Write draws and certificate as one .npz; a record is not overwritten."""
        place = Path(path).expanduser()
        if place.exists():
            raise FileExistsError(
                f"{place} exists; a release is a record and is not overwritten: choose a new name"
            )
        held = io.BytesIO()
        np.savez_compressed(held, draws=self.draws, certificate=np.array(json.dumps(self.certificate())))
        part = place.with_name(f".{place.name}.part")
        part.write_bytes(held.getvalue())
        dated(part, self.created)
        os.replace(part, place)  # noqa: PTH105 - whole or not at all
        return place

    def __repr__(self) -> str:
        return f"ChainRelease({self.chains!r}, {self.guarantee!r} a unit, receipt {self.receipt.id})"


def run(
    table: Table,
    kernel: Kernel,
    *,
    steps: int,
    chains: int = 4,
    ledger: Ledger,
    scope: str | Sequence[str] | None = None,
    source: Source | None = None,
    charge_id: str | None = None,
    note: str = "",
    actor: str | None = None,
    checkpoint: str | Path | None = None,
) -> ChainRelease:
    """Run private chains on the counts of the kernel's columns, and pay for their planned length at once.

    Everything is checked, and the whole length charged, before the first private value is read. Ctrl-C ends a
    run early: what was made is returned, and `resume` makes the rest of what was paid for. Calibrate the
    kernel's temperature beforehand: `chains.calibrate(kernel, steps=…, target=…)`.
    """
    plan, statistic = ChainPlan(kernel, steps, chains), kernel_counts(table, kernel)
    rehearse(kernel, statistic.n)
    if checkpoint is not None:
        writable(plan, checkpoint)
    form = written(plan, table, statistic, seeded=source is not None and source.seeded)
    about = charge_facts(table, kernel, kernel.name, actor)
    receipt = paid(plan, statistic, ledger, scope=scope, charge_id=charge_id, note=note, about=about)
    if checkpoint is None:

        def draw(counted: PrivateValue) -> Chains:
            return chain.run(plan, counted.values, source=source)

        made = release_once(ledger, receipt, statistic.read, draw, form)
    else:
        if receipt.computed:
            raise LedgerError(f"charge {receipt.id!r} paid for another run: resume that one's checkpoint")
        # the file is there before the ledger says so, and holds no state before it does
        held = chain.begun(plan, source, checkpoint, receipt.id)
        made = walked(
            ledger, receipt, statistic, held, lambda x: chain.run(plan, x, source=source, file=held)
        )
    return chain_release(table, statistic, receipt, made)


def resume(table: Table, kernel: Kernel, checkpoint: str | Path, *, ledger: Ledger) -> ChainRelease:
    """Make the steps that were paid for and not made yet; the ledger must hold the charge, for this file.

    The file is locked while a run holds it, so that of two processes only one goes on. A copy of the file
    continued elsewhere is a second release of the same steps and would have to be paid for: do not.
    """
    statistic = kernel_counts(table, kernel)
    held = Checkpoint.open(checkpoint)
    try:
        plan, name = chain.resumable(kernel, held), held.meta["receipt"]
        receipt = receipt_of(ledger, name, unit_promise(plan, statistic))
    except BaseException:
        held.close()
        raise
    made = walked(ledger, receipt, statistic, held, lambda x: chain.resume(kernel, x, held))
    return chain_release(table, statistic, receipt, made)


def receipt_of(ledger: Ledger, name: str, promise: Guarantee) -> Receipt:
    """Find the charge that paid for a run."""
    receipt = ledger.receipt(name)
    if receipt.guarantee != json.loads(json.dumps(to_json(promise))):
        raise LedgerError(
            f"the ledger's charge {name!r} did not pay for this run; resume with its own ledger"
        )
    return receipt


# ── before the charge ───────────────────────────────────────────────────────────────────────────────


def kernel_counts(table: Table, kernel: Kernel) -> BoundedCounts:
    """Prepare the kernel's tables of counts, unread; the sizes of their columns must be the kernel's."""
    by, features = kernel.count_tables
    statistic = counts(table, features, by, kernel.relation)
    found = dict(zip(by, statistic.shapes[0][:-1], strict=True))
    found |= {name: shape[-1] for name, shape in zip(features, statistic.shapes, strict=True)}
    if tuple(found[column] for column in kernel.columns) != kernel.shape:
        sizes = ", ".join(f"{column} {found[column]}" for column in kernel.columns)
        raise ValueError(
            f"the kernel is built for {kernel.shape} codes, but the schema says {sizes} (a column has its "
            'levels, and one more where unknown = "(unknown)" adds it)'
        )
    kernel.check_size(statistic.n)
    return statistic


def rehearse(kernel: Kernel, n: int | None) -> None:
    """Make one step on made-up counts, so that a user's own functions fail before anything is paid."""
    made_up = np.zeros(kernel.cells, dtype=np.int64)
    made_up[0] = n or 0
    kernel.step(kernel.init(SYSTEM), kernel.arranged(made_up, SYSTEM), SYSTEM)


def writable(plan: ChainPlan, checkpoint: str | Path) -> None:
    """Refuse a file that is there or cannot be written, or a kernel that it could not tell from another."""
    if Path(checkpoint).exists():
        raise CheckpointError(f"{checkpoint} exists: resume it, or choose another name")
    new_file(checkpoint)
    settings(plan, None, "")


def unit_promise(plan: ChainPlan, statistic: BoundedCounts) -> Guarantee:
    return plan.guarantee.group(statistic.rows_per_unit)


def paid(
    plan: ChainPlan,
    statistic: BoundedCounts,
    ledger: Ledger,
    *,
    scope: str | Sequence[str] | None,
    charge_id: str | None,
    note: str,
    about: Mapping[str, Any],
) -> Receipt:
    """Charge the whole length, or refuse and say how many steps would fit."""
    try:
        return pay(
            ledger, unit_promise(plan, statistic), scope=scope, charge_id=charge_id, note=note, about=about
        )
    except Overspent as refused:
        fits = plan.longest(_fitting(ledger, statistic, scope))
        message = f"{plan.steps} steps of {plan.chains} chains do not fit the budget: {_instead(plan, fits)}"
        raise Overspent(f"{message}; {refused}") from None


def _fitting(
    ledger: Ledger, statistic: BoundedCounts, scope: str | Sequence[str] | None
) -> Callable[[Guarantee], bool]:
    return lambda promise: ledger.admits(promise.group(statistic.rows_per_unit), scopes=scope)


def _instead(plan: ChainPlan, fits: int) -> str:
    if plan.kernel.length is not None:
        return "lower its inverse temperatures, or the number of particles"
    if fits == 0:
        return "not even one step fits; calibrate a higher temperature, or run fewer chains"
    return f"{fits} step{'s' if fits > 1 else ''} would fit, or more at a higher temperature"


def written(plan: ChainPlan, table: Table, statistic: BoundedCounts, *, seeded: bool) -> Form[Chains, Chains]:
    """Write all states of a run whose only record is the ledger."""
    kernel, place = plan.kernel, provenance(table)
    asked: dict[str, Any] = {"kernel": kernel.name, "labels": kernel.labels, "temperature": str(kernel.heat)}
    asked |= {"steps": plan.steps, "chains": plan.chains, "seeded": seeded, "setting": _setting(kernel)}
    asked |= {"n": statistic.n, "rows_per_unit": statistic.rows_per_unit, "unit": place["unit"]}
    states = numbers({**asked, "schema_hash": place["schema_hash"], "selection": place["selection"]})
    return Form(
        lambda receipt, made: states.write(receipt, made.draws),
        lambda bodies: chain.Chains(plan, states.load(bodies), seeded),
    )


def _setting(kernel: Kernel) -> str | None:
    """Return a digest of all that the kernel is made of; None where that cannot be told."""
    try:
        return hashlib.sha256(fingerprint(kernel).encode()).hexdigest()
    except CheckpointError:
        return None


# ── after the charge ────────────────────────────────────────────────────────────────────────────────


def walked(
    ledger: Ledger,
    receipt: Receipt,
    statistic: BoundedCounts,
    held: Checkpoint,
    walk: Callable[[Counts], Chains],
) -> Chains:
    """Let the run of a file go on, and give the file back however it ends."""

    def go_on(counted: PrivateValue) -> Chains:
        try:
            return walk(counted.values)
        finally:
            held.close()  # writes what is left: of a failure nothing may pass, as of any other

    try:
        return walk_once(ledger, receipt, held.run, statistic.read, go_on)
    finally:
        held.close()


def chain_release(table: Table, statistic: BoundedCounts, receipt: Receipt, made: Chains) -> ChainRelease:
    return ChainRelease(
        chains=made,
        guarantee=unit_promise(made.plan, statistic),
        n=statistic.n,
        rows_per_unit=statistic.rows_per_unit,
        provenance=provenance(table),
        receipt=replace(receipt, computed=True, replay=False),
        version=__version__,
        created=receipt.at,  # from before anything was read
    )
