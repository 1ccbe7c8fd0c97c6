# mypy: disable-error-code="no-any-return,misc"
"""Compilation of kernels: every kernel comes through here, cached under a digest of all kernel sources.

numba's own cache looks only at the file of the cached function. Of a callee or a constant in another file it
keeps the old machine code, and no draw may come from a bound that has been withdrawn.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

try:
    import fcntl
except ImportError:  # Windows: two workers may there compile the same kernel twice
    fcntl = None  # type: ignore[assignment]


# All that is compiled into some kernel: functions, and files that only hold their constants.
SOURCES = (
    "compiled",
    "posteriors.network.exchange_kernel",
    "posteriors.network.kernel",
    "posteriors.counts.kernel",
    "posteriors.hidden_markov.kernels.paths",
    "posteriors.hidden_markov.kernels.scores",
    "posteriors.hidden_markov.exact_counts",
    "posteriors.hidden_markov.noisy_count_law",
    "posteriors.hidden_markov.kernels.noisy_moves",
    "posteriors.mixture.kernel",
    "posteriors.normal.augment_kernel",
    "posteriors.normal.moments_kernel",
    "posteriors.normal.algebra_kernel",
    "posteriors.normal.limit_kernel",
    "mechanisms.regression.samplers.kernels",
    "sampling.in_bulk.attempts",
    "sampling.in_bulk.elementary",
    "sampling.in_bulk.kernels",
    "sampling.in_bulk.simplex_kernels",
    "sampling.in_bulk.strips",
    "statistics.kernel",
    "tables.opening.csv_kernel",
)
KEPT = 7 * 24 * 3600  # seconds: an older version may be running beside this one


def digest(package: Path) -> str:
    """Fingerprint of every kernel source and of what compiles it"""
    texts = [(package / f"{name.replace('.', '/')}.py").read_bytes() for name in SOURCES]
    compilers = f"{numba.__version__} {np.__version__}".encode()
    return hashlib.sha256(b"\0".join([compilers, *texts])).hexdigest()[:16]


@cache
def place() -> Path | None:
    """Where machine code is kept: as NUMBA_CACHE_DIR says, beside the package, at home, or nowhere (None)."""
    package = Path(__file__).parent
    own = hashlib.sha256(str(package).encode()).hexdigest()[:16]
    told = [Path(numba.config.CACHE_DIR) / f"discreet-{own}"] if numba.config.CACHE_DIR else []
    try:
        name = f"kernels-{digest(package)}"
        homes = [*told, package / "__pycache__", Path.home() / ".cache" / "discreet" / own]
    except (OSError, RuntimeError):  # no sources are installed, or nobody has a home
        return None
    return next((home / name for home in homes if _is_ours(home / name)), None)


def _is_ours(folder: Path) -> bool:
    """Make the folder, private to its owner, and clear away what older sources left; false if it cannot."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        before = time.time() - KEPT
        for other in folder.parent.glob("kernels-*"):
            if other != folder and other.stat().st_mtime < before:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        return False
    return True


class _Cache(FunctionCache):
    """numba's cache, for many processes at once: each kernel is compiled by one, and one at a time writes.

    numba itself numbers its files by what it last read, and compiles in every process that finds none.
    """

    def save_overload(self, sig: Any, data: Any) -> None:  # noqa: ANN401 - numba's own types
        # a full disk costs the next process its compilation, never this one its answer
        with suppress(OSError), _alone(Path(self.cache_path), "lock"):
            super().save_overload(sig, data)

    def once(self, dispatcher: Any, sig: Any) -> Any:  # noqa: ANN401 - numba's own types
        """Compile as numba does, while other processes that want the same kernel wait, and then load it.

        Every kernel has a lock of its own, and numba's own comes first: a caller compiles its callees, never
        the reverse, so that nobody waits in a circle. The system frees what a dead process held.
        """
        name = f"{self._impl.filename_base}.lock"
        with global_compiler_lock, ExitStack() as held:
            with suppress(OSError):
                held.enter_context(_alone(Path(self.cache_path), name))
            return type(dispatcher).compile(dispatcher, sig)


@contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as held:
        if fcntl is not None:
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: ANN401 - numba's functions carry no types
    """numba.njit with the cache of this package."""
    if function is None:
        return partial(njit, **options)
    name = function.__module__.removeprefix("discreet.")
    if name not in SOURCES:
        raise RuntimeError(f"{name} holds a kernel: add it to SOURCES in discreet/compiled.py")
    dispatcher = numba.njit(**options)(function)
    if place() is not None:
        with _told(str(place())):
            dispatcher._cache = _Cache(function)  # noqa: SLF001 - as its enable_caching does
            dispatcher.compile = partial(dispatcher._cache.once, dispatcher)  # noqa: SLF001
    return dispatcher


@contextmanager
def _told(folder: str) -> Iterator[None]:
    """Numba reads where to cache from its settings while a cache is made, and only then."""
    names = {"CACHE_DIR": folder, "CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    before = {name: getattr(numba.config, name, "") for name in names}
    vars(numba.config).update(names)
    try:
        yield
    finally:
        vars(numba.config).update(before)


# IEEE arithmetic as written: never fast-math, and division by zero gives an infinity.
kernel = partial(njit, error_model="numpy", nogil=True)
inlined = partial(njit, error_model="numpy", inline="always")  # into the callers
