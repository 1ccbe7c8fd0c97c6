"""`discreet audit`: attack the mechanisms, and show that the attack would notice."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.printed.errors import REFUSED
from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.shown import steps

if TYPE_CHECKING:
    from discreet.audit.case import Verdict


def audit(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="Cases, twins or mechanisms.")
    ] = None,
    *,
    zoo: Annotated[
        bool, typer.Option("--zoo", help="Attack the broken twins instead: each must be caught.")
    ] = False,
    runs: Annotated[int, typer.Option(min=1000, help="Runs a side.")] = 100_000,
    seed: Annotated[
        int | None, typer.Option(help="Repeat an audit exactly; fresh randomness without.")
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List what can be audited.")] = False,
    json: o.Json = False,
) -> None:
    """Attack mechanisms on their worst pair of data sets, on made-up data.

    A true claim is refuted with probability 1e-4 at most. Exit code 1 if a claim is refuted that should
    hold, or a broken twin holds that the runs must catch.

    \b
    Examples:
      discreet audit --list
      discreet audit randomized_response
      discreet audit noisy_statistics --runs 20000
      discreet audit --zoo
    """
    from discreet.audit.registry import CASES  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.audit.twins.registry import TWINS  # noqa: PLC0415

    if list_only:
        _list(list(CASES), {name: twin.mistake for name, twin in TWINS.items()}, json=json)
        return
    known = TWINS if zoo else {**CASES, **TWINS}
    chosen = _chosen(
        list(names or (TWINS if zoo else CASES)), list(known), list(TWINS) if zoo else list(CASES)
    )
    found = [_attack(name, seed, runs) for name in steps(chosen, "attacking")]
    wrong = [v.name for name, v in zip(chosen, found, strict=True) if v.refuted is not _must_refute(name, v)]
    if json:
        dump({"audits": [_plain(name, v) for name, v in zip(chosen, found, strict=True)], "wrong": wrong})
    else:
        rows = [_row(name, v) for name, v in zip(chosen, found, strict=True)]
        table(("audit", "ε", "δ claimed", "δ at least", "ε at least", "verdict"), rows, numbers=(1, 2, 3, 4))
        say(f"{len(wrong)} of {len(chosen)} not as they should be{': ' if wrong else ''}{', '.join(wrong)}")
    if wrong:
        raise typer.Exit(REFUSED)


def _chosen(names: list[str], known: list[str], pool: list[str]) -> list[str]:
    """Take names of cases and twins as they are; a mechanism's name stands for all its cases."""
    found: list[str] = []
    for name in names:
        own = [name] if name in known else [case for case in pool if case.partition("/")[0] == name]
        if not own:
            raise ValueError(f"no audit is called {name!r}; discreet audit --list names them")
        found += own
    return found


def _attack(name: str, seed: int | None, runs: int) -> Verdict:
    from discreet.audit.registry import run  # noqa: PLC0415
    from discreet.sampling.source import SYSTEM, SeededSource  # noqa: PLC0415

    return run([name], SYSTEM if seed is None else SeededSource(seed), runs=runs)[0]


def _must_refute(name: str, verdict: Verdict) -> bool:
    """Whether runs must catch it; a twin that only the exact profile catches may hold here."""
    from discreet.audit.twins.registry import TWINS  # noqa: PLC0415

    return name in TWINS and (2 in TWINS[name].tiers or verdict.refuted)


def _plain(name: str, v: Verdict) -> dict[str, Any]:
    return {
        "name": name,
        "epsilon": v.epsilon,
        "claimed_delta": v.claimed_delta,
        "least_delta": v.least_delta,
        "least_epsilon": v.least_epsilon,
        "refuted": v.refuted,
    }


def _row(name: str, v: Verdict) -> list[str]:
    numbers = (v.epsilon, v.claimed_delta, v.least_delta, v.least_epsilon)
    return [name, *(f"{x:.4g}" for x in numbers), "REFUTED" if v.refuted else "holds"]


def _list(cases: list[str], twins: dict[str, str], *, json: bool) -> None:
    if json:
        dump({"cases": cases, "twins": twins})
        return
    table(("audit", "what"), [*((name, "a claim of the library") for name in cases), *twins.items()])
