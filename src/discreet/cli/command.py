"""The command `discreet`: parse, call, print. Nothing heavy is imported before a command runs."""

# Typer reads annotations at run time (TC), flags are options (FBT), \b keeps the lines of examples (D301)
# ruff: noqa: FBT001, FBT002

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from discreet import __version__
from discreet.cli.audit import audit
from discreet.cli.demo import demo
from discreet.cli.errors import BAD_INPUT, exit_code, one_line, where
from discreet.cli.fit import fit
from discreet.cli.ledger import ledger
from discreet.cli.local import local
from discreet.cli.plan import plan
from discreet.cli.reproduce import reproduce
from discreet.cli.schema import schema
from discreet.cli.show import VERBOSE
from discreet.cli.tiers import tiers

if TYPE_CHECKING:
    from collections.abc import Sequence

CLICK_ERROR: type[Exception] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException" and issubclass(c, Exception)
)

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

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - click's context, vendored by some versions of typer
        try:
            return super().invoke(ctx)
        except (CLICK_ERROR, typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last resort, and it says what it knows
            code = exit_code(error)
            _report(error, one_line(error), code, as_json=bool(ctx.meta.get("discreet.json")))
            if ctx.params.get("debug"):
                print(where(error), file=sys.stderr)  # noqa: T201
        raise typer.Exit(code)

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        standalone = extra.pop("standalone_mode", True)
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except CLICK_ERROR as error:
            code = _misused(error)
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _report(error: BaseException, words: str, code: int, *, as_json: bool) -> None:
    if as_json:
        from discreet.cli.show import dump  # noqa: PLC0415 - only when something failed

        charge = getattr(error, "receipt_id", None)
        dump({"error": words, "kind": type(error).__name__, "exit_code": code, "charge": charge})
    sys.stdout.flush()  # what was said before stays before
    print(f"discreet: {words}", file=sys.stderr)  # noqa: T201


def _misused(error: Any) -> int:  # noqa: ANN401 - click's
    """Say a misspelt option in one line; a bare command shows its help."""
    context: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(context.get_help())  # noqa: T201
        return 0
    path = context.command_path if context is not None else "discreet"
    words = " ".join(error.format_message().split())
    print(f"discreet: {words} See: {path} --help", file=sys.stderr)  # noqa: T201
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
app.add_typer(ledger)
app.add_typer(schema)
app.command()(tiers)
app.command()(local)
app.command()(audit)
app.command(no_args_is_help=True)(reproduce)
app.command()(demo)


def main() -> None:
    """Run the command line; the console script."""
    app(prog_name="discreet")
