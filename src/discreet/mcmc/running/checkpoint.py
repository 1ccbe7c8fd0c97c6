"""A run's file: released states and public settings, nothing else. One process at a time holds it.

Private and never written: the counts, log-odds, weights, latent assignments that a kernel forgets, and the
state of the system's generator. Of a seeded source the seed and the number of words used are kept: such a
run is not private anyway. Steps that were drawn but not yet written were seen by nobody, and are drawn again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from discreet.mcmc.kernel import State
from discreet.mcmc.running.fingerprint import CheckpointError, fingerprint
from discreet.mcmc.running.plan import ChainPlan
from discreet.place import other_names
from discreet.privacy.json import to_json

__all__ = ["Checkpoint", "CheckpointError", "settings"]

FORMAT = "discreet-chains/1"
PATIENCE = 1.0  # seconds between writes


def settings(plan: ChainPlan, seed: int | None, receipt: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kernel": hashlib.sha256(fingerprint(plan.kernel).encode()).hexdigest(),
        "name": plan.kernel.name,
        "labels": list(plan.kernel.labels),
        "steps": plan.steps,
        "chains": plan.chains,
        "guarantee": to_json(plan.guarantee),
        "seed": seed,
        "receipt": receipt,
    }


@final
class Checkpoint:
    """An SQLite file, locked while it is open; a process that dies gives it back."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._file, self._written = path, connection, time.monotonic()
        self._closed = False

    @classmethod
    def create(cls, path: str | Path, meta: dict[str, Any]) -> Self:
        place = Path(path)
        if place.exists():
            raise CheckpointError(f"{place} exists: resume it, or choose another name")
        made = cls(place, _opened(place))
        made._file.execute("CREATE TABLE rows (step INTEGER PRIMARY KEY, words INTEGER, states BLOB)")
        made._file.execute("CREATE TABLE meta (value TEXT)")
        named = {**meta, "run": secrets.token_hex(16)}  # which of several runs under one charge this is
        made._file.execute("INSERT INTO meta VALUES (?)", (json.dumps(named),))
        made._file.commit()
        return made

    @classmethod
    def open(cls, path: str | Path) -> Self:
        place = Path(path)
        if not place.exists():
            raise CheckpointError(f"there is no checkpoint at {place}")
        if shared := other_names(place.resolve()):
            raise CheckpointError(f"{shared}; what a run wrote last lies beside one of them alone")
        found = cls(place, _opened(place))
        try:
            if found.meta.get("format") == FORMAT:
                return found
        except (sqlite3.DatabaseError, ValueError):
            pass
        found.close()
        raise CheckpointError(f"{place} is not a checkpoint of {FORMAT}")

    @property
    def meta(self) -> dict[str, Any]:
        ((text,),) = self._file.execute("SELECT value FROM meta").fetchall()
        loaded: dict[str, Any] = json.loads(text)
        return loaded

    @property
    def run(self) -> str:
        """What the ledger knows the run by; "" in files of older versions."""
        return str(self.meta.get("run", ""))

    def add(self, step: int, words: int, states: State) -> None:
        """Append one state of every chain; written at most once per second."""
        blob = np.ascontiguousarray(states, dtype="<f8").tobytes()
        self._file.execute("INSERT INTO rows VALUES (?, ?, ?)", (step, words, blob))
        if time.monotonic() - self._written > PATIENCE:
            self.write()

    def write(self) -> None:
        self._file.commit()
        self._written = time.monotonic()

    def rows(self) -> tuple[list[State], int]:
        """All states so far, and how many words of a seeded source they took."""
        found = self._file.execute("SELECT step, words, states FROM rows ORDER BY step").fetchall()
        if [step for step, _, _ in found] != list(range(len(found))):
            raise CheckpointError(f"{self.path} lacks a step: it was changed since it was written")
        chains = self.meta["chains"]
        states = [np.frombuffer(blob, dtype="<f8").reshape(chains, -1).copy() for _, _, blob in found]
        return states, found[-1][1] if found else 0

    def close(self) -> None:
        """Write what is there and give the file back; asked again, do nothing."""
        if not self._closed:
            self._closed = True
            self._file.commit()
            self._file.close()


def _opened(place: Path) -> sqlite3.Connection:
    """Take the file's lock for as long as the connection lives."""
    connection = sqlite3.connect(place, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.commit()
    except sqlite3.OperationalError:
        connection.close()
        raise CheckpointError(
            f"{place} is held by another run: two continuations of one state would both have to be paid for"
        ) from None
    except sqlite3.DatabaseError:
        connection.close()
        raise CheckpointError(f"{place} is not a checkpoint of {FORMAT}") from None
    return connection
