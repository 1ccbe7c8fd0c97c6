"""What was paid for is kept and told truly: a place tried before, a record written first, true last words."""

from __future__ import annotations

import signal
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.printed.errors import BEGUN, NOTHING_YET, one_line, reworded, unsure
from discreet.cli.printed.show import ENDS, all_is_said, complain, dump

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.release.receipt import Receipt
    from discreet.release.release import Release
    from discreet.report.promises import LedgerView


DRAWS = 1000  # in posterior.nc


def chosen_charge_id(charge_id: str | None) -> str:
    """Choose the charge's id here, so that whatever happens, the ledger can be asked about it."""
    return uuid.uuid4().hex if charge_id is None else charge_id


def draws_to_save() -> int:
    """How many draws the save can write, found out before the charge: none where ArviZ does not load."""
    from discreet.posteriors.inference_data import available  # noqa: PLC0415 - loaded on use, not for --help

    try:
        available()
    except Exception:  # noqa: BLE001 - not installed, or broken in a way of its own
        return 0
    return DRAWS


# ── from the charge to the record ───────────────────────────────────────────────────────────────────


@contextmanager
def honest(ledger: Ledger, name: str) -> Iterator[None]:
    """Turn Ctrl-C, whenever it comes, into what the ledger knows of the charge."""
    from discreet.line.charge import Interrupted  # noqa: PLC0415

    BEGUN.set(name)
    try:
        yield
    except KeyboardInterrupt:
        words = _asked(ledger, name)
    else:
        return
    raise KeyboardInterrupt(words) if words is NOTHING_YET else Interrupted(words, name)


def _asked(ledger: Ledger, name: str) -> str:
    from discreet.release.receipt import LedgerError, LedgerUnavailableError  # noqa: PLC0415

    try:
        receipt = ledger.receipt(name)
    except (LedgerUnavailableError, KeyboardInterrupt):
        return unsure(name)
    except LedgerError:  # there is none
        return NOTHING_YET
    return f"interrupted: {kept_charge(receipt)}"


def kept_charge(receipt: Receipt) -> str:
    state = "its release is in the ledger" if receipt.computed else "nothing was drawn"
    return reworded(
        f"charge {receipt.id!r} is kept and {state}: run it again with --charge-id {receipt.id!r}, which "
        "pays nothing more and gives one and the same release"
    )


def recorded(made: Mapping[Path, Release], place: Path) -> None:
    """Write the records of releases that one charge paid for; Ctrl-C cannot stop it."""
    from discreet.release.folder import write_record  # noqa: PLC0415 - loaded on use, not for --help

    with undisturbed(), lost_if_unwritten(next(iter(made.values())).receipt, place):
        for folder, release in made.items():
            write_record(release, folder)


def completed(made: Mapping[Path, Release], ledger: Ledger, place: Path, draws: int) -> None:
    """Write the rest, which may take long; Ctrl-C can stop it."""
    from discreet.release.folder import write_rest  # noqa: PLC0415

    receipt = next(iter(made.values())).receipt
    with told_if_stopped(receipt, place), spoken():
        for folder, release in made.items():
            write_rest(release, folder, draws=draws, ledger_view=_view(ledger, receipt))


def _view(ledger: Ledger, receipt: Receipt) -> LedgerView | None:
    from discreet.report import LedgerView  # noqa: PLC0415

    try:
        return LedgerView.of(*(ledger.remaining(scope) for scope in receipt.scopes))
    except Exception:  # noqa: BLE001 - the report does without
        return None


@contextmanager
def lost_if_unwritten(receipt: Receipt, place: Path) -> Iterator[None]:
    """Say what became of the charge where its release could not be written."""
    from discreet.line.after_charge import ChargeKept  # noqa: PLC0415

    try:
        yield
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
    else:
        return
    raise ChargeKept(f"{place} could not be written ({reason}): {kept_charge(receipt)}", receipt.id)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold Ctrl-C and the like back, for what takes no time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[Any, Any] = {end: signal.signal(end, signal.SIG_IGN) for end in ENDS}
    try:
        yield
    finally:
        for end, handler in before.items():
            signal.signal(end, handler)


@contextmanager
def spoken() -> Iterator[None]:
    """Say what could not be written too as the command speaks, without the line of code that warned."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", RuntimeWarning)
        yield
    for warning in heard:
        complain(reworded(str(warning.message)))


# ── after the record ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def told_if_stopped(receipt: Receipt, place: Path) -> Iterator[None]:
    """Say on Ctrl-C that the release is there: nobody must pay for it again."""
    from discreet.line.charge import Interrupted  # noqa: PLC0415

    try:
        yield
    except KeyboardInterrupt:
        pass
    else:
        return
    raise Interrupted(
        f"interrupted: charge {receipt.id!r} is kept, and its release is saved in {place}; what was not "
        "written or shown yet can be made from it at no cost",
        receipt.id,
    )


def answer(receipt: Receipt, place: Path, show: Callable[[], None], *, json: bool) -> None:
    """Show what was saved; that it cannot be shown is said, and changes nothing about its being saved."""
    with told_if_stopped(receipt, place):
        try:
            show()
            sys.stdout.flush()
            all_is_said()
        except Exception as error:  # noqa: BLE001 - the release is saved whatever this was
            words = (
                f"released {place} under charge {receipt.id!r}, but it could not be shown: {one_line(error)}"
            )
        else:
            return
        if json:
            dump({"release": str(place), "charge": receipt.id, "shown": False, "reason": words})
        complain(words)
