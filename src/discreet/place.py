"""Where something will be written: tried before anything is paid, so that what was paid for has a place."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from discreet.shown import address

ROOM = 2**22  # bytes that must be free: records and reports are smaller, unless a model has very many cells
KEPT = "a release is a record and is not overwritten: choose another name"
TAKEN = "nothing is overwritten: name another file"


def new_folder(path: str | Path) -> Path:
    """Refuse a folder that could not be put in place whole: taken, no folder of its own, no right or no room.

    A folder with some bytes in it is moved there and away again; nothing of it is left.
    """
    target = Path(path).expanduser()
    _refuse_taken(target, empty_folder=True)
    if target.is_mount() or target.name in {"", ".."} or Path.cwd().is_relative_to(target.resolve()):
        raise FileExistsError(
            f"{address(target)} is a mount point or the folder that you are in, which cannot be replaced: "
            f"name a new folder inside of it, e.g. {address(target / 'release')}"
        )
    with _explained(target), _parents(target.parent), _beside(target) as made:
        (made / "whole").mkdir()
        _fill(made / "whole" / "room")
        before = target.is_dir()
        if before:
            target.rename(made / "before")
        try:
            os.replace(made / "whole", target)  # noqa: PTH105 - as the save will do it
            os.replace(target, made / "whole")  # noqa: PTH105
        finally:
            if before:
                (made / "before").rename(target)
    return target


def new_folders(path: str | Path, names: Sequence[str]) -> dict[str, Path]:
    """Refuse a folder that could not take a folder of each name."""
    target = Path(path).expanduser()
    _refuse_taken(target, empty_folder=True)
    return {name: new_folder(target / name) for name in names}


def new_file(path: str | Path) -> Path:
    """Refuse a file that could not be written whole: taken, into no folder, no right or no room."""
    target = Path(path).expanduser()
    _refuse_taken(target, empty_folder=False)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {address(target.parent)}: make it first")
    with _explained(target), _beside(target) as made:
        _fill(made / "room")
        os.replace(made / "room", target)  # noqa: PTH105 - as the save will do it
        target.unlink()
    return target


def dated(path: Path, when: str) -> None:
    """Give a file the public time of its release: its own would tell how long reading and drawing took."""
    seconds = datetime.fromisoformat(when).timestamp()
    os.utime(path, (seconds, seconds))


def other_names(file: Path) -> str | None:
    """Say why a file may have another name than this one, beside which SQLite's log of it would not lie.

    SQLite keeps what was committed last in files beside the path that it was given. Under two names of one
    file there are two such logs, and each writer sees, and keeps, its own alone.
    """
    if file.stat().st_nlink > 1:
        return f"{address(file)} has more than one hard link: remove the others"
    if file.is_mount() or str(file) in _mount_points():
        return f"{address(file)} is mounted by itself: mount the folder that it lies in"
    return None


def _mount_points() -> set[str]:
    """Read the mount points of this process, those of single files too; none where Linux does not tell."""
    try:
        lines = (
            Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        )
    except OSError:
        return set()
    places = (line.split(" ")[4] for line in lines)  # blanks and backslashes are written \\040, \\134
    return {re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place) for place in places}


def _refuse_taken(target: Path, *, empty_folder: bool) -> None:
    if address(target) != str(target):  # it would be shown, with the password in it
        raise ValueError(f"{address(target)} is an address, not a place: name a path on this machine")
    if target.is_symlink():
        raise FileExistsError(f"{address(target)} is a symbolic link: name the place that it leads to")
    with _explained(target):
        free = not target.exists() or (empty_folder and target.is_dir() and not any(target.iterdir()))
    if not free:
        raise FileExistsError(f"{address(target)} exists; {KEPT if empty_folder else TAKEN}")


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:  # something on the way is a file
        raise FileExistsError(
            f"{address(target)} cannot be made: part of its path is a file, not a folder"
        ) from None
    except NotADirectoryError:
        raise FileExistsError(
            f"{address(target)} cannot be made: part of its path is a file, not a folder"
        ) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise OSError(
            f"{address(target)} cannot be written ({reason}; {ROOM // 2**20} MiB must be free): "
            "nothing was charged; make room, or choose another place"
        ) from None


@contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Make the folders on the way, and take away again those that were not there."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for part in missing:
            part.rmdir()


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=".release-", dir=target.parent) as made:
        yield Path(made)


def _fill(path: Path) -> None:
    with path.open("wb") as file:
        file.write(bytes(ROOM))
        file.flush()
        os.fsync(file.fileno())  # some systems find out only now
