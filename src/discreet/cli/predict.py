"""`discreet predict`: labels for rows of one's own, from a saved release."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: D301

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.printed.saving import spoken
from discreet.cli.printed.show import complain, dump
from discreet.cli.read import model_under, reading_options
from discreet.cli.show import readable, saved
from discreet.cli.typed import arguments as o
from discreet.shown import address, cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.encoding.encoder import Encoder
    from discreet.models.model import Model
    from discreet.posteriors.posterior import Posterior

Rows = dict[str, Any]  # column → values


def predict(
    folder: o.Saved,
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help="A .csv or .parquet file with labels in it.")],
    *,
    out: Annotated[Path | None, typer.Option(help="The CSV file to write; else standard output.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every label.")] = False,
    target: Annotated[str | None, typer.Option(help="The column to predict, of a network.")] = None,
    given: Annotated[
        str | None,
        typer.Option(metavar="NAME[,NAME]", help="For a network: predict from these columns only."),
    ] = None,
    reading: o.Reading = None,
    prior: o.Prior = None,
    option: o.ReadingOptions = None,
    json: o.Json = False,
) -> None:
    """Predict a label for each row, and write it behind the row's own columns. Costs nothing.

    Rows hold the labels and numbers of the public schema; what is missing or not declared goes where the
    schema sends it. Derived columns are computed. The rows are yours: nothing of them is kept.

    \b
    Examples:
      discreet predict income new.csv --out predicted.csv
      discreet predict income new.parquet --out predicted.csv --proba
      discreet predict network new.csv --target smoker --given ward,age_band
    """
    import numpy as np  # noqa: PLC0415 - loaded on use, not for --help

    from discreet.place import new_file  # noqa: PLC0415 - loaded on use, not for --help

    if not rows.is_file():
        raise FileNotFoundError(f"there is no file {address(rows)}; ROWS is a .csv or .parquet file")
    release = saved(folder)
    place = None if out is None else new_file(out)
    model = model_under(release, prior)
    options = reading_options(option)
    with readable(folder):
        posterior = release.read(model=model, reading=reading, **options)
    asked: dict[str, Any] = {} if target is None else {"target": target}
    asked |= {} if given is None else {"given": [name.strip() for name in given.split(",")]}
    refuse_unasked(release.model, asked)
    with spoken():
        held = rows_of(rows, release.encoder)
        answers = answered(posterior, held, asked, proba=proba)
    taken = {name: f"{name} of the release" if name in held else name for name in answers}
    columns = {**held, **{taken[name]: values for name, values in answers.items()}}
    if json:
        dump({name: np.asarray(values).tolist() for name, values in columns.items()})
        return
    write(columns, place)
    complain(
        f"predicted {len(answers['predicted'])} rows{'' if place is None else f' into {address(place)}'}"
    )


def refuse_unasked(model: Model, asked: dict[str, Any]) -> None:
    """Refuse --target and --given of a model that has one answer, and a network without --target."""
    from discreet.models.bayes_net import BayesianNetwork  # noqa: PLC0415 - loaded on use, not for --help

    if not isinstance(model, BayesianNetwork):
        if asked:
            raise ValueError(
                f"--target and --given choose among the columns of a network; {model.name} predicts one "
                "thing: leave them out"
            )
    elif "target" not in asked:
        raise ValueError(
            f"a network predicts any of its columns: add --target, one of {', '.join(model.nodes)}"
        )


def answered(
    posterior: Posterior, rows: Rows, asked: dict[str, Any], *, proba: bool
) -> dict[str, NDArray[Any]]:
    """Return the predicted label of each row and, if asked for, the probability of each."""
    import numpy as np  # noqa: PLC0415 - loaded on use, not for --help

    found = {"predicted": posterior.predict(rows, **asked)}
    if proba:
        shares = posterior.predict_proba(rows, **asked)
        labels = shares[shares.dims[-1]].values.tolist()  # type: ignore[union-attr]
        found |= {f"P({label})": np.asarray(shares)[:, i] for i, label in enumerate(labels)}
    return found


def rows_of(path: Path, encoder: Encoder) -> Rows:
    """Read all columns of a file: of a CSV file as the schema declares them, of Parquet as they are typed."""
    if path.suffix.lower() in {".parquet", ".pq"}:
        from pyarrow import parquet  # noqa: PLC0415 - heavy

        return dict(parquet.read_table(path).to_pydict())
    from discreet.tables.opening.csv_file import CsvFile  # noqa: PLC0415 - compiled

    file = CsvFile.open(str(path), ())
    batches = list(file.batches())
    texts = {name: [x for batch in batches for x in batch.column(name).to_pylist()] for name in file.columns}
    return encoder.typed(texts)


def write(columns: Rows, place: Path | None) -> None:
    """Write a CSV file; texts that a spreadsheet would run are made safe."""
    import numpy as np  # noqa: PLC0415 - loaded on use, not for --help

    size = len(next(iter(columns.values()), ()))
    opened = nullcontext(sys.stdout) if place is None else place.open("w", newline="", encoding="utf-8")
    with opened as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([cell(name) for name in columns])
        values: Sequence[Sequence[Any]] = [np.asarray(x, dtype=object).tolist() for x in columns.values()]
        for i in range(size):
            writer.writerow([_written(column[i]) for column in values])


def _written(value: object) -> str:
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    return cell(str(value))
