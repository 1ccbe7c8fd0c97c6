"""Exit codes, and every failure in one line that says what to do next and quotes nothing private.

0 done · 1 refused: the budget, the target or the audit says no · 2 bad input · 3 the data, an engine or a
file failed · 4 interrupted.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from types import TracebackType

from discreet.shown import address

DONE, REFUSED, BAD_INPUT, FAILED, INTERRUPTED = range(5)

# Our own errors, by where they live; looked up only among modules already loaded, so that nothing is imported
CODES = {
    "discreet.privacy.accounting.filters:Overspent": REFUSED,
    "discreet.privacy.guarantee:Unreachable": REFUSED,
    "discreet.privacy.guarantee:NotProved": REFUSED,
    "discreet.line.after_charge:ChargeKept": FAILED,
    "discreet.tables.table:TableError": FAILED,
    "discreet.tables.table:MissingExtra": FAILED,
    "discreet.release.release:BrokenRelease": FAILED,
    "discreet.service.state.store:StateUnavailableError": FAILED,
    "discreet.release.receipt:TamperedError": FAILED,
    "discreet.release.receipt:LedgerUnavailableError": FAILED,
    "discreet.ledger.scope:ScopeRefusedError": REFUSED,
    "discreet.release.receipt:LedgerError": BAD_INPUT,
}
# Where the next step is another one here than in Python
HERE = {
    "discreet.privacy.guarantee:MixedRelations": (
        "give --relation as the budget has it (discreet ledger show; for profiles, its --graph), or charge a "
        "--scope of the other relation"
    )
}
# How Python's names are typed here
SPELLED: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"\brelation=(ADD_REMOVE|SUBSTITUTE)\b(?!\))": lambda m: f"--relation {m[1].lower()}",
    r"\b(ADD_REMOVE|SUBSTITUTE)\b(?!\))": lambda m: m[1].lower(),
    r"\bmechanisms?=\[?'(\w+)'\]?": r"--mechanism \1",
    r"\b(rows_per_unit|rank_by)\b=?": lambda m: f"--{m[1].replace('_', '-')}",
    r"\btable=…?": "--table",
    r"\bscope=\[(.*?)\]": lambda m: f"--scope {m[1].replace(', ', ',')}".replace("'", ""),
    r"\b(raise|lower)_scope\b": r"discreet ledger \1",
    r"\badd_scope\b": "discreet ledger init",
    r"\bask again with charge_id=": "run it again with --charge-id ",
    r"\bledger\.history\(\)": "discreet ledger history",
    r"(?<!ledger\.)\bhistory\(\)": "discreet ledger history",
    r"\bcharge_id\b": "--charge-id",
    r"--charge-id (['\"])observations: ": r"--observations \1",
    r"\bcolumn with clips=True\b": "column with clips = true",
    r"\bwith clips=True\b": "with discreet read --option clips=true",
    r"\bBinary\(true=([^()]*)\)": r'kind = "binary", true = \1',
    r"\blaw=['\"](\w+)['\"]": r"--option law=\1",
    r"\breading=['\"](\w+)['\"]": r"--reading \1",
    r"\bwith radius=(?=\d)": "with --prior radius=",
    r"\bchoose another (?:name|place)": "choose another --out",
}
AGAIN = "to go on without paying again, run it again with --charge-id "
BEGUN: ContextVar[str | None] = ContextVar(
    "begun", default=None
)  # the charge that a command is about to make
NOTHING_YET = "interrupted: nothing was charged and nothing was released"
HOME = str(Path(__file__).parents[2])  # the package
WITHHELD = "its own words are withheld, because they may quote rows; --debug shows where it happened"


def exit_code(error: BaseException) -> int:
    """Return the documented code of an error."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    for home, code in CODES.items():
        if _is(error, home):
            return code
    if isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError):
        return BAD_INPUT
    return BAD_INPUT if isinstance(error, ValueError | TypeError | KeyError) and ours(error) else FAILED


def _is(error: BaseException, home: str) -> bool:
    module, _, name = home.partition(":")
    return module in sys.modules and isinstance(error, getattr(sys.modules[module], name))


def one_line(error: BaseException) -> str:
    """Say what happened; words of an error that this library did not raise are not repeated."""
    if isinstance(error, KeyboardInterrupt):
        return reworded(str(error)) or unsure(BEGUN.get())
    if isinstance(error, OSError) and error.strerror and not ours(error):
        named = f" {address(error.filename)!r}" if error.filename else ""
        return f"cannot open{named}: {error.strerror.lower()}; check the path and its permissions"
    for home, words in HERE.items():
        if _is(error, home):
            return f"{str(error).partition(';')[0]}; {words}"  # the neighbours at hand, and what to type
    if not ours(error):
        return f"unexpected {type(error).__name__}; {WITHHELD}"
    if _is(error, "discreet.release.release:BrokenRelease"):
        return plain_line(" ".join(str(error).split()))  # its names are those of fields in release.json
    return reworded(str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error))


def hidden(words: str, typed: Sequence[str]) -> str:
    """Take out of a sentence what the user typed with a secret in it, however it was quoted."""
    for word in sorted(typed, key=len, reverse=True):
        value = word.partition("=")[2] if word.startswith("--") else word
        shown = address(value)
        if shown != value:
            for spelled in (value, repr(value)[1:-1], str(Path(value))):
                words = words.replace(spelled, shown)
    return words


def unsure(name: str | None) -> str:
    """Say what is known of a charge without asking the ledger."""
    if name is None:
        return NOTHING_YET
    return reworded(
        f"interrupted: discreet ledger history says whether charge {name!r} was made; {AGAIN}{name!r}"
    )


def ours(error: BaseException) -> bool:
    """Whether the error was raised by a line of this package: such words quote no row, which tests hold."""
    frame = error.__traceback__
    if frame is None:
        return False
    while frame.tb_next is not None:
        frame = frame.tb_next
    return frame.tb_frame.f_code.co_filename.startswith(HOME)


def reworded(words: str) -> str:
    """Join words to one line; exact rationals, and the name of a table, as people write them here."""
    return plain_line(" ".join(spelled(words).split()))


def spelled(words: str) -> str:
    """Replace Python's names by what is typed here."""
    for here, there in SPELLED.items():
        words = re.sub(here, there, words)
    return words


def plain_line(line: str) -> str:
    """Rewrite exact rationals only, and keep the spaces of a table."""
    return re.sub(r"Fraction\((-?\d+), (\d+)\)", lambda m: decimal(Fraction(int(m[1]), int(m[2]))), line)


def decimal(x: Fraction) -> str:
    """Write 1/10 as 0.1, 1/3 as 1/3, and what is longer at six digits, rounded up as promises are."""
    from discreet.privacy.words import number  # noqa: PLC0415 - loaded on use, not for --help

    return number(x)


def where(error: BaseException) -> list[str]:
    """Return the frames of a traceback, and the errors behind it by class: never a local variable."""
    lines = ["where it happened (innermost last; no values are shown):"]
    cause: BaseException | None = error
    while cause is not None:
        lines += [f"  {_frame(f)}" for f in traceback.extract_tb(_trace(cause))]
        words = reworded(str(cause)) if ours(cause) else "(words withheld)"
        lines.append(f"{type(cause).__module__}.{type(cause).__name__}: {words}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return lines


def _trace(error: BaseException) -> TracebackType | None:
    return error.__traceback__


def _frame(frame: traceback.FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno} in {frame.name}"
