"""`discreet demo`: plan, fit, certificate, report, ledger, and a refusal, on real data that is bundled."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT002, D301

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.printed.errors import DONE, INTERRUPTED, REFUSED, plain_line
from discreet.cli.printed.show import complain, dump, heading, lines, say
from discreet.cli.typed import arguments as o
from discreet.place import new_folder
from discreet.shown import bar

SCHEMA = """\
# What is public about the Adult census extract: its answer sheet, not its answers.
[columns.income]
kind = "binary"
true = ">50K"

[columns.workclass]
kind = "categories"
unknown = "(unknown)"  # one more category for everything else, "?" too
levels = [
  "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay",
  "Never-worked",
]
"""
BUDGET, PRICE, RECORDS = "approx:1,1e-6", "approx:0.45,1e-7", "48842"
INCOME = [
    "--schema",
    "adult.toml",
    "--column",
    "income",
    "--model",
    "beta_bernoulli",
    "--prior",
    "alpha=1,beta=3",
]
WORK = [
    "--schema",
    "adult.toml",
    "--column",
    "workclass",
    "--model",
    "dirichlet_categorical",
    "--prior",
    "alpha=1",
]
PAY = ["--target", PRICE, "--ledger", "budget.db", "--out"]


def demo(
    out: o.Out = Path("out"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw an earlier demonstration away first.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Walk the whole line on bundled census data: plan, fit, certificate, report, ledger, refusal. A minute.

    Its budget is as durable as any: run again in the same folder it is refused (exit code 1); --fresh starts
    over. Everything it types can be typed by hand.

    \b
    Examples:
      discreet demo
      discreet demo --out /tmp/demo --fresh
    """
    folder = out / "demo"
    if fresh and folder.exists():
        _throw_away(folder)
    if not folder.exists():
        new_folder(folder)  # before anything is charged
    folder.mkdir(parents=True, exist_ok=True)
    with as_file(files("discreet.datasets") / "adult.parquet") as data:
        walked = _walk(folder, data, quiet=json)
    if json:
        dump(walked)
    if not walked["released"]:
        raise typer.Exit(REFUSED)


def _throw_away(folder: Path) -> None:
    """Delete an earlier demonstration, and no other folder of that name."""
    if folder.is_symlink() or not {"adult.toml", "budget.db"} <= {path.name for path in folder.iterdir()}:
        raise FileExistsError(
            f"{folder} is not an earlier demonstration, and was left alone: choose another --out"
        )
    shutil.rmtree(folder)


def _walk(folder: Path, data: Path, *, quiet: bool) -> dict[str, Any]:
    (folder / "adult.toml").write_text(SCHEMA, encoding="utf-8")
    before = {path.name for path in folder.iterdir() if path.is_dir()}
    attempt = f"income-{len(before) + 1}" if "income" in before else "income"
    steps = [
        ("What is public", ["schema", "check", "adult.toml", str(data)], DONE),
        ("A budget for this table, kept on disk", ["ledger", "init", "budget.db", "--budget", BUDGET], DONE),
        (
            "What to expect, before anything is spent",
            ["plan", *INCOME, "--n", RECORDS, "--target", PRICE],
            DONE,
        ),
        ("Who earns above $50K?", ["fit", str(data), *INCOME, *PAY, attempt], DONE),
        (
            "Who works for whom?",
            ["fit", str(data), *WORK, *PAY, attempt.replace("income", "workclass")],
            DONE,
        ),
        ("Again? The budget says no", ["fit", str(data), *INCOME, *PAY, "once-more"], REFUSED),
        ("Every charge is on record", ["ledger", "history", "budget.db"], DONE),
        ("And nobody changed it", ["ledger", "verify", "budget.db"], DONE),
    ]
    with contextlib.chdir(folder):
        for title, arguments, expected in steps:
            code = _step(title, arguments, quiet=quiet)
            if code == REFUSED and expected == DONE:
                return _refused(folder, quiet=quiet)
            if code == INTERRUPTED:
                raise KeyboardInterrupt(
                    f"interrupted; what was charged: discreet ledger history {folder / 'budget.db'}"
                )
            if code != expected:
                raise RuntimeError(f"discreet {shlex.join(arguments)} ended with {code}, not {expected}")
    return _told(folder, attempt, quiet=quiet)


def _step(title: str, arguments: list[str], *, quiet: bool) -> int:
    """Run one command as a user would type it, in this process."""
    from discreet.cli import app  # noqa: PLC0415 - the command runs itself

    with _silence() if quiet else contextlib.nullcontext():
        say()
        heading(title)
        say(f"$ discreet {shlex.join(arguments)}")
        code = typer.main.get_command(app).main(arguments, prog_name="discreet", standalone_mode=False)
    return int(code or DONE)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _refused(folder: Path, *, quiet: bool) -> dict[str, Any]:
    """Say so when an earlier run spent the budget."""
    words = (
        f"an earlier demonstration spent this budget, and its releases are in {folder}; "
        "to start over: discreet demo --fresh"
    )
    if not quiet:
        lines(f"\n{words}")
    return {"released": False, "reason": words, "folder": str(folder)}


def _told(folder: Path, attempt: str, *, quiet: bool) -> dict[str, Any]:
    from discreet.cli.printed.release import summary  # noqa: PLC0415
    from discreet.release.certificate import certificate_text  # noqa: PLC0415 - loaded on use, not for --help
    from discreet.release.release import Release  # noqa: PLC0415

    release = Release.load(folder / attempt)
    picture = _picture(folder)
    report = folder / attempt / "report.html"
    if not quiet:
        lines("\n".join(["", *map(plain_line, certificate_text(release.certificate()).splitlines())]))
        say(f"report   {report}")
        say(f"picture  {picture or 'none; it needs matplotlib: pip install discreet[plots]'}")
    return {
        "released": True,
        "posterior": summary(release),
        "certificate": release.certificate(),
        "report": str(report),
        "picture": None if picture is None else str(picture),
        "folder": str(folder),
    }


def _picture(folder: Path) -> Path | None:
    """Draw every mechanism at one price, beside the truth: to be seen only because these data are public."""
    from importlib.util import find_spec  # noqa: PLC0415

    if find_spec("matplotlib") is None:
        return None
    from discreet.experiments.adult import answers, questions  # noqa: PLC0415
    from discreet.experiments.adult_picture import draw  # noqa: PLC0415

    try:
        with bar("drawing every mechanism at one price"):
            return draw(
                [(question, list(answers(question))) for question in questions()], folder / "adult.png"
            )
    except Exception as error:  # noqa: BLE001 - what was released is saved without it
        complain(f"adult.png was left out ({type(error).__name__})")
        return None
