"""Where an engine puts rows that memory does not hold: a private folder that goes with its process.

A folder is locked while its process lives. The system gives the lock back even if that was killed, so whoever
opens the next folder finds those of the dead, and takes them away.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
import weakref
from pathlib import Path
from typing import final

try:
    import fcntl
except ImportError:  # Windows locks no folders: there, a killed process leaves its own
    fcntl = None  # type: ignore[assignment,unused-ignore]

PREFIX = "discreet-rows-"


@final
class Spill:
    """A private folder of this process, and the lock on it."""

    def __init__(self) -> None:
        self.path, lock = _locked()
        weakref.finalize(self, _gone, self.path, lock, os.getpid())

    def place(self) -> Path:
        """Return a new name in it, for one connection."""
        return self.path / uuid.uuid4().hex


_mine: dict[int, Spill] = {}  # by process: a forked child has its own


def spill_folder() -> Path:
    """Return a name that no other connection and no other user has; sweep behind the dead the first time."""
    if os.getpid() not in _mine:
        sweep()
        _mine[os.getpid()] = Spill()
    return _mine[os.getpid()].place()


def sweep() -> None:
    """Delete the folders of processes that ended without it: ours alone, and none that somebody holds."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = _lock(path)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _locked() -> tuple[Path, int | None]:
    """Make a folder that only its owner enters, and lock it before a sweeper does."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))  # with mode 0700
        lock = _lock(path)
        if fcntl is None or (lock is not None and path.exists()):
            return path, lock


def _lock(path: Path) -> int | None:
    """Lock a folder that is ours; None where it is not, or where its process lives."""
    if fcntl is None:
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _gone(path: Path, lock: int | None, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has the lock too, and must not delete what its parent uses
        shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)
