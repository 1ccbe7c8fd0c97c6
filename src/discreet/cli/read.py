"""`discreet read`: a saved release read again, under another prior or in another way."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.printed.errors import plain_line, spelled
from discreet.cli.printed.show import dump, say, table
from discreet.cli.show import readable, saved
from discreet.cli.typed import arguments as o
from discreet.cli.typed.arguments import assignments
from discreet.shown import address, cell

if TYPE_CHECKING:
    import pandas as pd

    from discreet.release.release import Release

ROWS = 40  # of the table on the terminal
LEARNT = {"family", "sizes", "design"}  # by a model from the schema
BY_NAME = ("spread", "shape", "scale")  # the prior of a linear regression that names its columns
FREE = "this reading cost nothing: the release was paid for once, and nothing private was looked at"


def read(
    folder: o.Saved,
    *,
    reading: o.Reading = None,
    prior: o.Prior = None,
    option: o.ReadingOptions = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.9,
    csv: Annotated[Path | None, typer.Option(help="Write the whole table to this file.")] = None,
    json: o.Json = False,
) -> None:
    """Read a saved release again, under another prior or in another way. Costs nothing.

    What --prior leaves out stays as it was released; bounds and columns cannot change.

    \b
    Examples:
      discreet read smokers --prior 'alpha=1,beta=1'
      discreet read smokers --reading naive
      discreet read smokers --level 0.95 --csv smokers.csv
      discreet read ages --option clips=true          values beyond the bounds were clipped to them
    """
    if not 0 < level < 1:
        raise ValueError(f"--level must lie between 0 and 1, e.g. 0.9, got {level}")
    release = saved(folder)
    if csv is not None:
        from discreet.place import new_file  # noqa: PLC0415 - loaded on use, not for --help

        csv = new_file(csv)
    model = model_under(release, prior)
    options = reading_options(option)
    with readable(folder):
        posterior = release.read(model=model, reading=reading, **options)
        summary = posterior.summary(level)
    if csv is not None:
        summary.assign(name=[cell(name) for name in summary["name"]]).to_csv(csv, index=False)
    if json:
        rows = summary.to_dict("records")
        cautions = [spelled(words) for words in posterior.cautions]
        said = {"reading": posterior.reading, "level": level, "cautions": cautions}
        dump({"release": str(folder), **said, "posterior": rows, "cost": 0, "words": FREE})
        return
    _show(summary, level)
    say(f"read     {posterior.reading}, under {plain_line(repr(posterior.model))}")
    for words in posterior.cautions:
        say(f"caution  {spelled(words)}")
    if csv is not None:
        say(f"wrote    {address(csv)}")
    say(f"free     {FREE}")


def model_under(release: Release, prior: str | None) -> Any:  # noqa: ANN401 - a model of the release's kind
    """Return the released model with other numbers in its prior; None where nothing was typed."""
    if prior is None:
        return None
    from discreet.release.json import model_from_json, model_to_json, parameter_to_json  # noqa: PLC0415

    given, before = assignments(prior, "--prior"), model_to_json(release.model)
    by_name = before.get("named") is not None
    known = list(BY_NAME) if by_name else [name for name in before if name not in LEARNT]
    strange = sorted(set(given) - set(known))
    if strange:
        raise ValueError(
            f"the prior of {release.model.name} takes {', '.join(known)}; got {', '.join(strange)}"
        )
    if by_name:
        return type(release.model)(**{**_by_name(release.model), **given})
    changed = {name: parameter_to_json(_as_long(value, before[name])) for name, value in given.items()}
    return model_from_json({**before, **changed})


def _by_name(model: Any) -> dict[str, Any]:  # noqa: ANN401 - a linear regression by name
    """Return what a linear regression was built from, the prior among it; its columns are told again."""
    columns = model.named
    said = {name: getattr(columns, name) for name in ("target", "features", "intercept", "spread")}
    return {**said, "shape": model.shape, "scale": model.scale, "radius": columns.norm}


def reading_options(typed: list[str] | None) -> dict[str, Any]:
    """Return options of a reading, decimals as doubles."""
    given = assignments(typed or (), "--option")
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in given.items()}


def _as_long(value: object, before: object) -> object:
    """Repeat one number for all of a list, so that alpha=1 gives each level its 1."""
    if isinstance(before, list) and not isinstance(value, list | str):
        return [value] * len(before)
    return value


def _show(summary: pd.DataFrame, level: float) -> None:
    """Print the first rows; columns in which nothing stands are left out."""
    shown = summary.dropna(axis=1, how="all").head(ROWS)
    titles = {"name": "", "lower": f"{level:.0%} lower", "upper": "upper", "r_hat": "R-hat", "ess": "ESS"}
    rows = [[x if isinstance(x, str) else f"{x:.6g}" for x in row] for row in shown.itertuples(index=False)]
    table([titles.get(name, name) for name in shown], rows, numbers=range(1, len(shown.columns)))
    if len(summary) > len(shown):
        say(f"… and {len(summary) - len(shown)} more rows, with --csv FILE or --json")
