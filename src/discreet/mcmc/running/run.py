"""Run chains: progress, agreement and spend as they go; stop with Ctrl-C, resume from the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, final

import numpy as np

from discreet.mcmc.kernel import Counts, Kernel, State
from discreet.mcmc.running.checkpoint import Checkpoint, CheckpointError, settings
from discreet.mcmc.running.plan import ChainPlan
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.agreement import effective_size, r_hat
from discreet.sampling.source import SYSTEM, SeededSource, Source, Words
from discreet.shown import Advance, bar


@final
@dataclass(frozen=True, eq=False, repr=False)
class Chains:
    """Released states, chains × (start and steps) × entries. Public: whatever is read from it is free."""

    plan: ChainPlan
    draws: State
    seeded: bool

    def __post_init__(self) -> None:
        self.draws.flags.writeable = False

    @property
    def kernel(self) -> Kernel:
        return self.plan.kernel

    @property
    def labels(self) -> tuple[str, ...]:
        return self.kernel.labels

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return int(self.draws.shape[1]) - 1

    @property
    def complete(self) -> bool:
        return self.steps == self.plan.steps

    @property
    def guarantee(self) -> Guarantee:
        """What the planned length promises, which is what was paid for."""
        return self.plan.guarantee

    @property
    def spent(self) -> Guarantee | None:
        """What the steps made so far promise; None before the first."""
        return self.plan.after(self.steps) if self.steps else None

    def after(self, burn: int) -> State:
        """Draws without the start and the first `burn` steps."""
        return self.draws[:, 1 + burn :]

    def r_hat(self, burn: int = 0) -> dict[str, float]:
        """R̂ of every quantity the kernel tells of; ∞ where chains stand still apart."""
        return self._by_name(r_hat, burn)

    def effective_size(self, burn: int = 0) -> dict[str, float]:
        return self._by_name(effective_size, burn)

    def summary(self, burn: int | None = None) -> dict[str, dict[str, float]]:
        """Mean, deviation, R̂ and effective size by name; half of the steps are burnt unless said.

        Of classes and states only what no renaming of them moves: a label has no mean, and one chain's
        second state may be another's first.
        """
        cut = self.steps // 2 if burn is None else burn
        columns = {"mean": _mean, "sd": _deviation, "r_hat": r_hat, "ess": effective_size}
        each = {name: self._by_name(of, cut) for name, of in columns.items()}
        return {x: {name: each[name][x] for name in columns} for x in each["mean"]}

    def _by_name(self, of: Callable[[State], State], burn: int) -> dict[str, float]:
        names, values = self.kernel.told(self.after(burn))
        return dict(zip(names, of(values).tolist(), strict=True))

    def __repr__(self) -> str:
        state = "" if self.complete else f", STOPPED after {self.steps}"
        seeded = ", SEEDED: not private" if self.seeded else ""
        return (
            f"Chains({self.plan.kernel.name}, {self.plan.chains} chains of {self.plan.steps} steps{state}, "
            f"{self.guarantee}{seeded})"
        )


def _mean(draws: State) -> State:
    return np.asarray(draws.mean(axis=(0, 1)))


def _deviation(draws: State) -> State:
    return np.asarray(draws.std(axis=(0, 1)))


class Journal(Protocol):
    """Where released states go as they are made."""

    def add(self, step: int, words: int, states: State) -> None: ...

    def close(self) -> None: ...


@final
class Unwritten:
    """No file: the states stay in memory."""

    def add(self, step: int, words: int, states: State) -> None:
        pass

    def close(self) -> None:
        pass


@final
@dataclass
class Used(Source):
    """A seeded source that counts its words, so that a run can go on at the same one."""

    inner: SeededSource
    count: int = 0
    seeded: ClassVar[bool] = True

    def words(self, count: int) -> Words:
        self.count += count
        return self.inner.words(count)


def run(
    plan: ChainPlan,
    counts: Counts,
    *,
    source: Source | None = None,
    file: str | Path | Checkpoint | None = None,
) -> Chains:
    """Make the planned steps on these counts. Pays nothing: discreet.line.chains.run charges first.

    Ctrl-C ends the run after the last whole step, and what was made is returned (and is in the file).
    """
    random: Source = Used(source) if isinstance(source, SeededSource) else source or SYSTEM
    if file is None:
        journal: Journal = Unwritten()
    else:
        journal = file if isinstance(file, Checkpoint) else begun(plan, source, file)
    return _made(_Walk(plan, random, journal, []), counts, 0)


def begun(plan: ChainPlan, source: Source | None, file: str | Path, receipt: str = "") -> Checkpoint:
    """Start the file of a run: what is public of it, and no state yet."""
    seed = source.seed if isinstance(source, SeededSource) else None
    if source is not None and source.seeded and seed is None:
        raise CheckpointError(
            "a file can be continued with a SeededSource or the system's randomness; this source is neither"
        )
    return Checkpoint.create(file, settings(plan, seed, receipt))


def resume(kernel: Kernel, counts: Counts, file: str | Path | Checkpoint) -> Chains:
    """Go on where the file ends: with a seeded source bit for bit, else with fresh randomness."""
    held = file if isinstance(file, Checkpoint) else Checkpoint.open(file)
    try:
        plan = resumable(kernel, held)
        rows, words = held.rows()
        seed = held.meta["seed"]
    except BaseException:
        held.close()
        raise
    random: Source = SYSTEM if seed is None else Used(SeededSource(seed))
    return _made(_Walk(plan, random, held, rows), counts, words)


def resumable(kernel: Kernel, held: Checkpoint) -> ChainPlan:
    """Return the plan of a checkpoint, if it is of this kernel."""
    meta = held.meta
    if meta["seed"] is None and not kernel.memoryless:
        raise CheckpointError(
            "this kernel's records stood in a secret order that was kept nowhere: it cannot go on in another "
            "process; start a new run, or use a kernel whose state is all it needs"
        )
    plan = ChainPlan(kernel, meta["steps"], meta["chains"])
    if settings(plan, meta["seed"], meta["receipt"]) != {k: v for k, v in meta.items() if k != "run"}:
        raise CheckpointError(
            f"{held.path} was begun with another kernel or other settings, a {meta['name']} whose "
            f"temperature, target or walk differ from those of this {kernel.name}: give the kernel as it was "
            "then"
        )
    return plan


@final
@dataclass
class _Walk:
    """A run under way."""

    plan: ChainPlan
    source: Source
    journal: Journal
    rows: list[State]

    def keep(self, states: State) -> None:
        words = self.source.count if isinstance(self.source, Used) else 0
        self.journal.add(len(self.rows), words, states)
        self.rows.append(states)

    def forward(self, private: Counts, advance: Advance) -> None:
        kernel, source = self.plan.kernel, self.source
        if not self.rows:
            self.keep(np.stack([kernel.init(source) for _ in range(self.plan.chains)]))
        advance(len(self.rows) - 1)  # of a run that is resumed
        while len(self.rows) <= self.plan.steps:
            self.keep(np.stack([kernel.step(x, private, source) for x in self.rows[-1]]))
            advance(label=lambda: status(self.plan, self.rows))


def _made(walk: _Walk, counts: Counts, words: int) -> Chains:
    """Finish a run, or as much of it as Ctrl-C leaves."""
    try:
        # the first words of a source: a resumed seeded run finds the same arrangement
        private = walk.plan.kernel.arranged(counts, walk.source)
        _skip(walk.source, words)
        with bar(walk.plan.kernel.name, walk.plan.steps) as advance:
            walk.forward(private, advance)
    except KeyboardInterrupt:
        if not walk.rows:
            raise
    finally:
        walk.journal.close()
    return Chains(walk.plan, np.stack(walk.rows, axis=1), walk.source.seeded)


def _skip(source: Source, words: int) -> None:
    if isinstance(source, Used):
        while source.count < words:
            source.words(min(words - source.count, 2**20))


# ── progress ────────────────────────────────────────────────────────────────────────────────────────


def status(plan: ChainPlan, rows: list[State]) -> str:
    """Worst R̂ and least effective size of the later half, and the spend so far at δ = 10⁻⁶."""
    _, recent = plan.kernel.told(np.stack(rows[len(rows) // 2 :], axis=1))
    agreement, sizes = (x[~np.isnan(x)] for x in (r_hat(recent), effective_size(recent)))
    worst = agreement.max() if agreement.size else np.nan
    least = sizes.min() if sizes.size else np.nan
    spent = plan.after(len(rows) - 1).epsilon(1e-6) if len(rows) > 1 else 0.0
    return f"{plan.kernel.name}: R̂ {worst:.3f}, ESS {least:.0f}, spent ε {spent:.3g} at δ 1e-6"
