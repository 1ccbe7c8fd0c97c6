"""The command `discreet`: parse, call, print. Nothing heavy is imported before a command runs."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT001, FBT002

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet import __version__
from discreet.cli.audit import audit
from discreet.cli.demo import demo
from discreet.cli.fit import fit
from discreet.cli.local import local
from discreet.cli.plan import plan
from discreet.cli.predict import predict
from discreet.cli.printed.errors import (
    BAD_INPUT,
    BEGUN,
    DONE,
    FAILED,
    INTERRUPTED,
    exit_code,
    hidden,
    one_line,
    unsure,
    where,
)
from discreet.cli.printed.show import VERBOSE, all_is_said, complain, own_the_process, prepare
from discreet.cli.read import read
from discreet.cli.reproduce import reproduce
from discreet.cli.schema import schema
from discreet.cli.scopes import ledger
from discreet.cli.serving.serve import serve
from discreet.cli.serving.service import service
from discreet.cli.show import show
from discreet.cli.tiers import tiers

CLICK_ERROR: type[Exception] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException" and issubclass(c, Exception)
)

BY_SIGNAL = 130  # what Typer says of Ctrl-C

HELP = """Bayesian inference that can be published.

Point it at private data, name a model, a prior and a privacy budget; get a posterior, a certificate of what
was promised, and a durable record of what was spent.

\b
Examples:
  discreet demo                                     a whole walk on bundled data, in a minute
  discreet schema init visits.parquet               write down what is public about a table
  discreet ledger init budget.db --budget approx:1,1e-6
  discreet plan --model beta_bernoulli --prior 'alpha=6,beta=12' --n 2000 --target approx:0.5,1e-7
  discreet fit job.toml
  discreet serve kept                               tables over HTTP, within budgets; see discreet service
  discreet show smokers                             what a saved release says; read and predict use it

\b
Exit codes:
  0  done
  1  refused: the budget, the target or the audit says no
  2  bad input
  3  the data, an engine or a file failed
  4  interrupted (a charge that was made is kept, and named)
"""


class Discreet(TyperGroup):
    """The root of all commands: the one place where failures become one line and an exit code."""

    typed: tuple[
        str, ...
    ] = ()  # as the user typed it: addresses among it are not repeated with their secrets

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - click's context, vendored by some versions of typer
        BEGUN.set(None)
        try:
            return super().invoke(ctx)
        except (CLICK_ERROR, typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last resort, and it says what it knows
            code = exit_code(error)
            words = hidden(one_line(error), self.typed)
            _report(error, words, code, as_json=bool(ctx.meta.get("discreet.json")))
            if ctx.params.get("debug"):
                for line in where(error):
                    complain(hidden(line, self.typed))
        raise typer.Exit(code)

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        standalone = extra.pop("standalone_mode", True)
        self.typed = tuple(sys.argv[1:] if args is None else args)
        args = [at_home(word) for word in self.typed]
        if standalone:
            prepare()
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except CLICK_ERROR as error:
            code = _misused(error, self.typed)
        except typer.Abort:
            code = BY_SIGNAL
        if code == BY_SIGNAL:  # before the command began, or after it ended
            complain(unsure(BEGUN.get()))
            code = INTERRUPTED
        if not standalone:
            return code
        sys.exit(_flushed(code if isinstance(code, int) else DONE))


def at_home(word: str) -> str:
    """Expand ~/ where the shell did not, in quotes and after --out=: it would be a folder called ~."""
    name, sign, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return f"{name}{sign}{Path(value).expanduser()}" if value.startswith("~/") else word


def _report(error: BaseException, words: str, code: int, *, as_json: bool) -> None:
    if as_json:
        from discreet.cli.printed.show import dump  # noqa: PLC0415 - only when something failed

        charge = getattr(error, "receipt_id", None)
        dump({"error": words, "kind": type(error).__name__, "exit_code": code, "charge": charge})
    with suppress(OSError):
        sys.stdout.flush()  # what was said before stays before
    complain(words)


def _flushed(code: int) -> int:
    """Write out what was said; an answer that could not be written is a failure, where there was none."""
    try:
        sys.stdout.flush()
    except OSError as error:
        complain(one_line(error))
        return code or FAILED
    return code


def _misused(error: Any, typed: Sequence[str]) -> int:  # noqa: ANN401 - click's
    """Say a misspelt option in one line; a bare command shows its help."""
    context: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(context.get_help())  # noqa: T201
        return 0
    path = context.command_path if context is not None else "discreet"
    words = " ".join(error.format_message().split())
    complain(hidden(f"{words} See: {path} --help", typed))
    return BAD_INPUT


app = typer.Typer(
    cls=Discreet,
    help=HELP,
    name="discreet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # panels would treble the time of --help
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[
        bool, typer.Option("--debug", help="On failure say where (never private values).")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say on standard error what is being done.")
    ] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that stand before a command; the help of the whole is HELP."""
    del debug  # the group looks it up when something fails
    VERBOSE.set(verbose)


app.command()(fit)
app.command()(plan)
app.command()(show)
app.command()(read)
app.command()(predict)
app.add_typer(ledger)
app.add_typer(schema)
app.command()(tiers)
app.command()(local)
app.command()(audit)
app.command(no_args_is_help=True)(reproduce)
app.command()(serve)
app.add_typer(service)
app.command()(demo)


def main() -> None:
    """Run the command line; the console script."""
    own_the_process()
    try:
        app(prog_name="discreet")
    except KeyboardInterrupt:
        complain(unsure(BEGUN.get()))
        sys.exit(INTERRUPTED)
    finally:
        all_is_said()
