"""`discreet reproduce`: the papers' figures by the library's mechanisms, and their claims with verdicts."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT002, D301

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.printed.show import dump, say, table
from discreet.cli.typed import arguments as o
from discreet.experiments.registry import EXPERIMENTS, GROUPS, called, chosen
from discreet.shown import steps

LIST, ALL = "list", "all"
CHANGED = 1  # exit code where a verdict is another one than the recorded one


def _names(incomplete: str) -> list[str]:
    return [name for name in (LIST, *GROUPS, *EXPERIMENTS) if name.startswith(incomplete)]


def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…|all|thesis|claims|list", autocompletion=_names)
    ],
    out: o.Out = Path("out/figures"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points, the same curves.")] = False,
    seed: Annotated[int, typer.Option(help="For what is simulated; most figures are exact.")] = 0,
    json: o.Json = False,
) -> None:
    """Redraw published figures (PNG), write their numbers (CSV), and judge what the papers claim.

    A NAME is an experiment, a figure's number (figure-5.1, f16-figure-2, gsc17-figure-1), a claim (G20-5.T7),
    or a document (G20, GSC17, N19, F16, D14: its claims). `list` names the experiments, `claims` lists every
    claim with the verdict on record. Where a publication printed a wrong curve, it is drawn beside the right
    one. `all` also writes reproduce.html: each claim with our number, picture and verdict.

    The exit code is 1 where a verdict differs from the recorded one.

    \b
    Examples:
      discreet reproduce list
      discreet reproduce figure-4.2 figure-5.3 --out figures
      discreet reproduce G20-5.T7
      discreet reproduce F16 --quick
      discreet reproduce all --quick
    """
    from discreet.experiments.claims.claim import Work  # noqa: PLC0415 - judges are loaded when asked
    from discreet.experiments.claims.page import changed, html_page  # noqa: PLC0415
    from discreet.experiments.claims.registry import about, claims  # noqa: PLC0415

    if names == [LIST]:
        _list(json=json)
        return
    if names == ["claims"]:
        rows = [(c.name, c.where, c.says, c.recorded.value) for c in claims().values()]
        _table(("claim", "where", "what it says", "verdict"), rows, json=json)
        return
    experiments = chosen(names)
    to_judge = list(claims().values()) if ALL in names else about([*names, *experiments])
    _refuse_strangers(names, [one.name for one in to_judge], [one.document for one in to_judge])
    work = Work(out, quick=quick, seed=seed)
    for name in steps(experiments, "drawing"):
        paths = [str(path) for path in work.files(name)]
        if not json:
            say(f"{name}: {', '.join(paths)}")
    found = [(claim, claim.judge(work)) for claim in steps(to_judge, "judging")]
    verdicts = [(c.name, c.says, f.found, f.verdict.value, changed(c, f)) for c, f in found]
    if json:
        written = {name: [str(path) for path in paths] for name, paths in work.drawn.items()}
        told = {"claims": [dict(zip(FIELDS, one, strict=True)) for one in verdicts]} if found else {}
        dump({**written, **told})
    elif found:
        table(("claim", "what it says", "what we computed", "verdict"), [one[:4] for one in verdicts])
    if ALL in names:
        pictures = {
            name: [path for path in paths if path.suffix == ".png"] for name, paths in work.drawn.items()
        }
        page = out / "reproduce.html"
        page.write_text(html_page(found, pictures), encoding="utf-8")
        if not json:
            say(f"page: {page}")
    different = [name for name, *_, other in verdicts if other]
    if different:
        say(f"changed: {', '.join(different)}; docs/claims.md records another verdict")
        raise typer.Exit(CHANGED)


FIELDS = ("claim", "says", "found", "verdict", "changed")


def _refuse_strangers(names: list[str], judged: list[str], documents: list[str]) -> None:
    known = {*GROUPS, *judged, *documents}
    for name in names:
        if name not in known and called(name) is None:
            raise ValueError(
                f"no experiment, figure or claim is called {name!r}; `discreet reproduce list` names the "
                "experiments, `discreet reproduce claims` the claims"
            )


def _list(*, json: bool) -> None:
    rows = [(k, e.title, "; ".join((e.published, *e.also)), e.note) for k, e in EXPERIMENTS.items()]
    _table(("name", "title", "published", "note"), rows, json=json)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, json: bool) -> None:
    if json:
        dump([dict(zip(titles, row, strict=True)) for row in rows])
    else:
        table(titles, rows)
